"""ptxmma check: the order of accesses, tested with every litmus test and the patterns of real kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding
from ptxmma.gen.litmus.litmus_ptx import module
from ptxmma.gen.litmus.litmus_tests import SuiteLitmus, suite
from ptxmma.spec.ordering import ordering

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[32768];\n"
REGISTERS = ".reg .b32 %r<100>;\n.reg .f32 %f<100>;\n.reg .b64 %rd<50>;\n.reg .pred %p<20>;\n"
REGISTER_RULES = {
    "first-fence",
    "register-fence",
    "accumulator-in-flight",
    "a-written-in-flight",
    "accumulator-as-a",
    "a-as-accumulator",
    "uncommitted-at-wait",
    "wait-too-shallow",
}


def found(body: str, tiers: tuple[str, ...] = ("error", "likely")) -> list[tuple[str, str]]:
    report = check_text(
        f"{HEAD}.visible .entry k()\n.reqntid 128, 1, 1\n{{\n{REGISTERS}{body}\nret;\n}}\n", "k.ptx"
    )
    assert not report.faults
    return [(f.tier, f.rule) for f in report.findings if f.tier in tiers]


def verdicts(tests: Iterable[SuiteLitmus]) -> Iterator[tuple[SuiteLitmus, tuple[Finding, ...]]]:
    for test in tests:
        report = check_text(module([test.kernel]), test.name)
        assert not report.faults
        yield test, report.findings


def test_what_a_litmus_test_calls_defined_is_not_flagged() -> None:
    tests = [test for test in suite() if not test.hazards]
    assert len(tests) > 200
    wrong = [
        t.name for t, findings in verdicts(tests) if any(f.tier in ("error", "likely") for f in findings)
    ]
    assert wrong == []


def test_every_fault_of_registers_in_a_litmus_test_is_an_error() -> None:
    tests = [test for test in suite() if test.hazards and set(test.hazards) <= REGISTER_RULES]
    assert len(tests) > 200
    missed = [t.name for t, findings in verdicts(tests) if not any(f.tier == "error" for f in findings)]
    assert missed == []


def test_an_error_names_a_rule_of_the_litmus_test_and_has_its_witness() -> None:
    tests = [test for test in suite() if test.hazards and set(test.hazards) <= REGISTER_RULES][::7]
    judged = list(verdicts(tests))
    assert len(judged) > 20
    for test, findings in judged:
        errors = [finding for finding in findings if finding.tier == "error"]
        assert errors, test.name
        for finding in errors:
            assert finding.rule in REGISTER_RULES, test.name
            assert finding.witness and len(finding.schedules) == 2, test.name
            assert finding.section == ordering().rules[finding.rule].section


def test_what_only_the_text_forbids_is_no_error() -> None:
    known = ordering().rules
    tests = [t for t in suite() if t.hazards and all(known[h].effect == "text" for h in t.hazards)]
    assert tests
    for test, findings in verdicts(tests):
        assert not [f for f in findings if f.tier == "error"], test.name


LATE_FENCES = {f"{write}-{mma}-2-proxy-fence-late" for write in ("store", "copy") for mma in ("mma", "mma-b")}


def test_a_load_and_a_store_without_the_wait_between_them_are_an_error() -> None:
    """Of two stores nobody knows whether they store the same."""
    tests = [
        test
        for test in suite()
        if test.hazards == ("shared-unsynchronised",)
        and "load" in test.name
        and "mbarrier" in module([test.kernel])
    ]
    assert len(tests) > 4
    missed = [t.name for t, findings in verdicts(tests) if not any(f.tier == "error" for f in findings)]
    assert missed == []


def test_a_proxy_fence_behind_the_arrival_is_not_known_to_the_copy() -> None:
    """The threads of one warp count as ordered: there, the fence stands in front of the copy."""
    tests = [test for test in suite() if test.hazards == ("proxy-fence-copy",) and "fence-late" in test.name]
    assert len(tests) > 6
    missed = {t.name for t, findings in verdicts(tests) if not any(f.tier == "error" for f in findings)}
    assert missed == {f"{write}-bulk-1-proxy-fence-late" for write in ("store", "copy")}


def test_a_proxy_fence_in_front_of_the_wait_is_no_fence() -> None:
    """A warp that fences before it knows of the others' stores fences its own; of both ends, none helps."""
    tests = [test for test in suite() if test.name in LATE_FENCES]
    assert len(tests) == len(LATE_FENCES)
    for test, findings in verdicts(tests):
        assert ("error", "proxy-fence") in {(f.tier, f.rule) for f in findings}, test.name


# Traps of real kernels

FENCE = "wgmma.fence.sync.aligned;\n"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;\n"
MMA_A = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, %rd2, 1, 1, 1, 0;\n"
COMMIT = "wgmma.commit_group.sync.aligned;\n"
WAIT = "wgmma.wait_group.sync.aligned 0;\n"
USE = "add.f32 %f9, %f0, %f1;\n"


def wait(n: int) -> str:
    return f"wgmma.wait_group.sync.aligned {n};\n"


def test_a_stage_as_it_should_be() -> None:
    assert found(FENCE + MMA + MMA + COMMIT + WAIT + USE, ("error", "likely", "reading")) == []


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (MMA + COMMIT + WAIT + USE, "first-fence"),
        (FENCE + MMA + COMMIT + USE, "accumulator-in-flight"),
        (FENCE + MMA + WAIT + USE, "accumulator-in-flight"),
        (FENCE + MMA + COMMIT + MMA + COMMIT + wait(1) + USE, "accumulator-in-flight"),
        (FENCE + MMA_A + COMMIT + "add.u32 %r0, %r8, %r9;\n" + WAIT, "a-written-in-flight"),
        (FENCE + MMA + COMMIT + WAIT + "mul.f32 %f0, %f0, %f8;\n" + MMA + COMMIT + WAIT, "register-fence"),
        (FENCE + MMA_A + COMMIT + WAIT + "mov.u32 %r0, 1;\n" + MMA_A + COMMIT + WAIT, "register-fence"),
    ],
)
def test_faults_of_straight_code(body: str, rule: str) -> None:
    tiers = found(body)
    assert tiers and tiers[0][0] == "error"
    assert {
        "accumulator-in-flight": {"accumulator-in-flight", "uncommitted-at-wait", "wait-too-shallow"}
    }.get(rule, {rule}) & {name for _, name in tiers}


def test_a_constant_between_the_fence_and_the_first_use_depends_on_a_reading() -> None:
    body = FENCE + "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\n" + MMA + COMMIT + WAIT
    assert found(body) == []
    assert found(body, ("reading",)) == [("reading", "register-fence")]


def test_a_constant_where_no_fence_stands_before_is_an_error() -> None:
    body = "mov.f32 %f0, 0f00000000;\n" + MMA + COMMIT + WAIT
    assert found(body) == [("error", "first-fence")]


def test_a_copy_that_nobody_reads_before_the_wait() -> None:
    """Undefined by the letter, and the message says that coalescing makes it harmless."""
    body = FENCE + MMA + COMMIT + "mov.f32 %f20, %f0;\n" + WAIT
    assert found(body + "add.f32 %f9, %f20, %f20;\n") == [("error", "accumulator-in-flight")]
    assert found(body) == []
    assert found(body, ("reading",)) == [("reading", "accumulator-in-flight")]


def test_a_copy_that_is_read_before_the_wait() -> None:
    body = FENCE + MMA + COMMIT + "mov.f32 %f20, %f0;\nadd.f32 %f9, %f20, %f20;\n" + WAIT
    assert found(body) == [("error", "accumulator-in-flight")]


COPIED = FENCE + MMA_A + COMMIT + "mov.f32 %f20, %f0;\n"
READ = "add.f32 %f9, %f20, %f20;\n"


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (FENCE + MMA_A + COMMIT + WAIT, [("reading", "accumulator-in-flight")]),
        (FENCE + MMA_A + COMMIT + WAIT + READ, [("error", "accumulator-in-flight")]),
        (wait(1) + FENCE + MMA_A + COMMIT + WAIT + READ, [("error", "accumulator-in-flight")]),
        (FENCE + MMA_A + COMMIT + READ + WAIT, [("error", "accumulator-in-flight")]),
        (FENCE + MMA_A + COMMIT + "mov.f32 %f20, 0f00000000;\n" + WAIT + READ, []),
    ],
    ids=[
        "nothing reads the copy",
        "it is read behind the wait",
        "a wait that leaves the group pending",
        "it is read before the wait",
        "it is written anew",
    ],
)
def test_a_copy_and_another_product_on_what_was_copied(behind: str, expected: list[tuple[str, str]]) -> None:
    """Where the copy is read, no assembler coalesces it: the message does not call it harmless."""
    body = f"{COPIED}{behind}ret;\n"
    report = check_text(f"{HEAD}.visible .entry k()\n.reqntid 128\n{{\n{REGISTERS}{body}}}\n", "k.ptx")
    told = [one for one in report.findings if one.tier != "info"]
    assert [(one.tier, one.rule) for one in told] == expected
    assert all(("harmless" in one.message) == (one.tier == "reading") for one in told)


def test_a_loop_that_copies_an_accumulator_in_every_round_and_does_not_read_the_copy() -> None:
    """As Triton writes down what its wait depends on. The product of the next round is right."""
    loop = "L:\n" + FENCE + MMA_A + COMMIT + "mov.f32 %f20, %f0;\n" + wait(1) + "@%p1 bra L;\n" + WAIT + USE
    tiers = "error", "likely", "reading"
    assert set(found(loop, tiers)) == {("reading", "accumulator-in-flight")}
    assert found(loop.replace("mov.f32 %f20, %f0;\n", ""), tiers) == []


def test_groups_in_flight_across_a_back_edge() -> None:
    loop = "L:\n" + FENCE + MMA_A + COMMIT + wait(1) + "setp.lt.u32 %p1, %r9, %r8;\n@%p1 bra L;\n"
    assert found(loop + WAIT + USE) == []
    assert found(loop + USE)[0][0] == "error"


def test_a_register_rewritten_in_the_next_round_of_a_loop() -> None:
    loop = "L:\ncvt.rn.f16x2.f32 %r0, %f8, %f9;\n" + FENCE + MMA_A + COMMIT + wait(1) + "@%p1 bra L;\n" + WAIT
    assert found(loop) == [("error", "a-written-in-flight")]
    assert found(loop.replace(wait(1), wait(0))) == []


def test_a_fence_hoisted_out_of_a_loop_is_legal() -> None:
    loop = FENCE + "L:\n" + MMA + COMMIT + WAIT + "@%p1 bra L;\n" + USE
    assert found(loop, ("error", "likely", "reading")) == []


def test_the_path_around_a_wait_counts() -> None:
    body = FENCE + MMA + COMMIT + "@%p1 bra L;\n" + WAIT + "L:\n" + USE
    assert found(body)[0][0] == "error"


def test_a_guarded_wait_may_not_wait() -> None:
    assert found(FENCE + MMA + COMMIT + "@%p1 " + WAIT + USE)[0][0] == "error"


def test_each_wgmma_in_a_scope_of_its_own() -> None:
    scoped = "{ .reg .pred p;\nsetp.ne.b32 p, %r9, 0;\n" + MMA.replace(" 1, 1, 1", " p, 1, 1") + "}\n"
    assert found(FENCE + scoped + scoped + COMMIT + WAIT + USE, ("error", "likely", "reading")) == []


def test_an_unknown_instruction_that_touches_an_accumulator_is_reported() -> None:
    assert found(FENCE + MMA + COMMIT + "frobnicate.f32 %f0, %f9;\n" + WAIT)[0][0] in ("error", "likely")


# Shared memory

ADDRESSES = (
    "mov.u32 %r30, tile;\nmov.u32 %r31, %tid.x;\nshl.b32 %r32, %r31, 4;\nadd.u32 %r33, %r30, %r32;\n"
    "shr.u32 %r34, %r30, 4;\ncvt.u64.u32 %rd3, %r34;\nor.b64 %rd1, %rd3, 0x4000004000000000;\n"
    "add.u32 %r35, %r30, 8192;\nshr.u32 %r36, %r35, 4;\ncvt.u64.u32 %rd4, %r36;\nor.b64 %rd2, %rd4, 0x4000004000000000;\n"
)
STORE = "st.shared.v4.b32 [%r33], {%r0,%r1,%r2,%r3};\n"
PROXY = "fence.proxy.async.shared::cta;\n"
BARRIER = "bar.sync 0;\n"
TAIL = FENCE + MMA + COMMIT + WAIT
COPY = "cp.async.cg.shared.global [%r33], [%rd9], 16;\ncp.async.commit_group;\n"


def test_a_store_fenced_by_its_writer() -> None:
    assert found(ADDRESSES + STORE + PROXY + BARRIER + TAIL, ("error", "likely", "reading")) == []


def test_a_store_without_a_proxy_fence() -> None:
    assert found(ADDRESSES + STORE + BARRIER + TAIL) == [("error", "proxy-fence")]


def test_wgmma_fence_is_no_proxy_fence() -> None:
    assert found(ADDRESSES + STORE + FENCE + BARRIER + TAIL) == [("error", "proxy-fence")]


def test_a_proxy_fence_by_the_consumer_depends_on_a_reading() -> None:
    body = ADDRESSES + STORE + BARRIER + PROXY + TAIL
    assert found(body) == []
    assert found(body, ("reading",)) == [("reading", "proxy-fence")]


def test_a_store_elsewhere_is_no_matter() -> None:
    assert found(ADDRESSES + STORE.replace("[%r33]", "[%r33+16384]") + BARRIER + TAIL) == []


@pytest.mark.parametrize("number", [0x4000004000010002, 0x400000400000FFFE])
def test_fields_and_an_offset_added_to_an_address(number: int) -> None:
    """32 bytes behind the address and 32 before it, which borrows from the fields."""
    body = ADDRESSES.replace("or.b64 %rd1, %rd3, 0x4000004000000000", f"add.s64 %rd1, %rd3, {number}")
    assert body != ADDRESSES
    assert found(body + STORE.replace("[%r33]", "[%r33+16384]") + BARRIER + TAIL) == []
    assert found(body + STORE + BARRIER + TAIL) == [("error", "proxy-fence")]


def test_a_proxy_fence_before_the_copy_is_complete_does_not_cover_it() -> None:
    waited = "cp.async.wait_group 0;\n"
    assert found(ADDRESSES + COPY + PROXY + waited + BARRIER + TAIL) == [("error", "proxy-fence")]
    assert found(ADDRESSES + COPY + waited + PROXY + BARRIER + TAIL) == []


def test_a_stage_overwritten_while_a_wgmma_reads_it() -> None:
    body = ADDRESSES + STORE + PROXY + BARRIER + FENCE + MMA + COMMIT + "HERE" + BARRIER + STORE + WAIT
    assert ("error", "shared-overwritten") in found(body.replace("HERE", ""))
    assert found(body.replace("HERE", WAIT)) == []


def test_a_pipeline_that_waits_for_too_few() -> None:
    def kernel(n: int) -> str:
        return (
            ADDRESSES
            + "mov.u32 %r40, 0;\nL:\nand.b32 %r41, %r40, 1;\nshl.b32 %r42, %r41, 10;\nadd.u32 %r43, %r30, %r42;\n"
            "add.u32 %r43, %r43, %r32;\nshr.u32 %r44, %r42, 4;\ncvt.u64.u32 %rd5, %r44;\nadd.u64 %rd6, %rd1, %rd5;\n"
            + STORE.replace("%r33", "%r43")
            + PROXY
            + BARRIER
            + FENCE
            + MMA.replace("%rd1", "%rd6")
            + COMMIT
            + wait(n)
            + BARRIER
            + "add.u32 %r40, %r40, 1;\nsetp.lt.u32 %p1, %r40, %r8;\n@%p1 bra L;\n"
            + WAIT
        )

    assert ("likely", "shared-overwritten") in found(kernel(2))


def test_a_stage_that_only_the_own_warp_has_waited_for() -> None:
    body = ADDRESSES + STORE + PROXY + BARRIER + FENCE + MMA + COMMIT
    assert found(body + BARRIER + WAIT + STORE) == []
    assert found(body + BARRIER + WAIT + STORE, ("reading",)) == [("reading", "shared-overwritten")]
    assert found(body + WAIT + BARRIER + STORE) == []


def test_a_store_where_a_copy_is_on_its_way() -> None:
    body = ADDRESSES + COPY + "HERE" + BARRIER + PROXY + STORE + PROXY + BARRIER + TAIL
    assert ("error", "copy-incomplete") in found(body.replace("HERE", ""))
    assert found(body.replace("HERE", "cp.async.wait_group 0;\n")) == []


def test_a_copy_left_in_flight_behind_its_loop() -> None:
    """The loop's last copies may be in either stage, whichever the walk leaves them in."""
    loop = (
        "mov.u32 %r40, 0;\nL:\nand.b32 %r41, %r40, 1;\nshl.b32 %r42, %r41, 14;\nadd.u32 %r43, %r33, %r42;\n"
        "shr.u32 %r44, %r42, 4;\ncvt.u64.u32 %rd5, %r44;\nadd.u64 %rd6, %rd1, %rd5;\n"
        "cp.async.wait_group 0;\n"
        + PROXY
        + BARRIER
        + FENCE
        + MMA.replace("%rd1", "%rd6")
        + COMMIT
        + WAIT
        + BARRIER
    )
    again = (
        "xor.b32 %r45, %r42, 16384;\nadd.u32 %r46, %r33, %r45;\n"
        + COPY.replace("%r33", "%r46")
        + "add.u32 %r40, %r40, 1;\n"
        "setp.lt.u32 %p1, %r40, 5;\n@%p1 bra L;\n"
    )
    for place in ("%r33", "%r33+16384"):
        end = BARRIER + STORE.replace("%r33", place)
        ((tier, rule),) = found(ADDRESSES + COPY + loop + again + end)
        assert rule == "copy-incomplete" and tier in ("error", "likely")  # an error where the walk leaves it
        assert found(ADDRESSES + COPY + loop + again + "cp.async.wait_group 0;\n" + end) == []


def test_a_bulk_copy_over_what_was_stored() -> None:
    bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r30], [%rd9], 16, [%r35];\n"
    assert ("likely", "proxy-fence-copy") in found(ADDRESSES + STORE + BARRIER + bulk + TAIL)
    assert ("likely", "proxy-fence-copy") not in found(ADDRESSES + STORE + PROXY + BARRIER + bulk + TAIL)


# What ptxas makes of it


def test_what_ptxas_will_serialise_or_repair_is_told() -> None:
    tiers = ("info",)
    assert found(FENCE + MMA + COMMIT + USE + WAIT, tiers) == [("info", "serialised")]
    assert found(FENCE + "mov.f32 %f0, 0f00000000;\n" + MMA + COMMIT + WAIT, tiers) == [("info", "repaired")]
    call = "{ .param .b32 p;\nst.param.b32 [p], 3;\ncall.uni outside, (p);\n}\n"
    assert found(FENCE + MMA + COMMIT + call + WAIT, tiers) == [("info", "serialised")]
    assert found(FENCE + MMA + COMMIT + WAIT + USE, tiers) == []


def test_a_fence_or_a_wait_that_does_nothing_is_told() -> None:
    assert found(FENCE + FENCE + MMA + COMMIT + WAIT + USE, ("info",)) == [("info", "redundant-fence")]
    assert found(FENCE + MMA + COMMIT + WAIT + WAIT + USE, ("info",)) == [("info", "redundant-wait")]
