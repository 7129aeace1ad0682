"""The bench's mutants of barriers: their edits, and the replay that proves kernels right, without the checker."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .test_phases import BACK, ELECTED, MULTICAST, RELAXED, RING, TENSOR, TURNS

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).parent / "cases"
RIGHT = (
    "k07_to_peer",
    "b51_sts_ok",
    "b68_tmastore_reuse_ok",
    "c70_tma_once",
    "f10_mma_ring_ok",
    "i54_q_generic_then_tma_kv",
)
WRONG = {
    "k07b_to_peer_no_fence": "no proxy fence",
    "k07c_to_peer_no_sync": "does not wait",
    "b53_sts_nobar": "does not wait",
    "b55d_fence_elected_after_bar": "no proxy fence",
    "c77_wrong_barrier": "does not wait",
    "f14_mma_ring_war": "not ordered",
    "i34b_bulk_plain_nowait": "does not wait",
}
COUNTS = {"count + 1": 4, "count - 1": 2, "init deleted": 4, "parity flipped": 2, "bytes + 16": 1}


def bench(name: str) -> ModuleType:
    """A module of the benchmarks."""
    folder = str(ROOT / "bench")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def why(text: str) -> str:
    """Why a kernel is not proven right; empty if it is."""
    (kernel,) = bench("kernel_statements").kernels(text)
    found: str = bench("block_replay").is_right(kernel, (7,))[0]
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_the_replay_proves_a_right_case(name: str) -> None:
    assert why((CASES / f"{name}.ptx").read_text()) == ""


@pytest.mark.parametrize("name", WRONG)
def test_the_replay_refutes_a_wrong_case(name: str) -> None:
    assert WRONG[name] in why((CASES / f"{name}.ptx").read_text())


@pytest.mark.parametrize("kernel", [RING, TURNS, BACK, RELAXED])
def test_the_replay_proves_kernels_with_phases(kernel: str) -> None:
    assert why(kernel) == ""


def test_another_schedule_may_differ() -> None:
    """Nothing is proven where an arrival may fall into another phase, or a phase may pass before its wait."""
    assert "earlier phase" in why(RING.replace("b64 [%r31],128", "b64 [%r31],96"))
    unwaited = ELECTED.replace("@!%p3 bra CW;", "").replace("try_wait.parity.shared::cta.b64 %p3,[%r23]",
                                                           "try_wait.parity.shared::cta.b64 %p9,[%r24]")  # fmt: skip
    assert why(unwaited)


def test_arrivals_that_nobody_waits_for_order_nothing() -> None:
    turns = (CASES / "k06_turns.ptx").read_text()
    assert why(turns) == ""
    assert why(turns.replace("bar.sync %r50,256;", "")) == ""
    assert "earlier phase" in why(turns.replace("bar.sync %r50,256;", "@%p4 bar.sync 1,256;"))


def test_each_edit_changes_one_statement_and_no_line() -> None:
    (kernel,) = bench("kernel_statements").kernels(RING)
    edits = list(bench("barrier_edits").barrier_edits(kernel, RING))
    kinds = [edit.kind for edit in edits]
    assert {kind: kinds.count(kind) for kind in COUNTS} == COUNTS
    for edit in edits:
        changed = [a != b for a, b in zip(RING.split("\n"), edit.text.split("\n"), strict=True)]
        assert sum(changed) == 1, edit.kind


def test_a_miss_is_told_with_its_place() -> None:
    mutants = bench("barrier_mutants")
    made = [
        one for one in mutants.mutants("ring.ptx", RING) if one.kind in ("barrier id changed", "count - 1")
    ]
    found = [str(mutants.outcome(one)) for one in made]
    assert any("ring.ptx:23: barrier id changed: equivalent" in line for line in found)
    assert sum("caught: likely barrier-count" in line for line in found) == 2


def test_as_many_of_each_kind_are_drawn_by_the_seed() -> None:
    mutants = bench("barrier_mutants")
    made = list(mutants.mutants("ring.ptx", RING))
    kinds = {one.kind for one in made}
    drawn = [mutants.drawn(made, 1, seed) for seed in range(8)]
    assert all(sorted(one.kind for one in some) == sorted(kinds) for some in drawn)
    assert drawn[0] == mutants.drawn(made, 1, 0)
    assert len({tuple(one.line for one in some) for some in drawn}) > 1
    assert len(mutants.drawn(made, 0, 0)) == len(made)


def test_a_block_that_may_end_before_its_bulk_stores_is_not_called_equivalent() -> None:
    """The text does not say that a thread waits for its bulk stores before it exits."""
    mutants = bench("barrier_mutants")
    text = (CASES / "b68_tmastore_reuse_ok.ptx").read_text()
    made = {one.line: one for one in mutants.mutants("k.ptx", text) if one.kind == "bulk wait deleted"}
    column, why = mutants.judged(made[max(made)])
    assert (column, "whether a block may end" in why) == ("open", True)
    found = mutants.outcome(made[max(made)])
    assert (found.column, "bulk-store-unwaited" in found.why) == ("reading", True)
    assert mutants.judged(made[min(made)])[0] == "missed"  # had the checker not caught it


def test_a_block_without_a_size_has_one_with_which_it_is_right() -> None:
    original = bench("barrier_mutants").original
    text = TWICE.replace("OTHER", "st.shared.b32 [%r3+4],%r3;")
    known = original(text, "k")
    assert ("not ordered" in known.why, known.kernel.threads) == (True, 64)
    known = original(text.replace(".reqntid 64, 1, 1", ""), "k")
    assert (known.why, known.unwaited, known.kernel.threads) == ("", 0, 32)


def test_threads_that_write_the_same_by_one_statement() -> None:
    """Compilers spread copies of a value so; another statement, or another round, may write another."""
    text = TWICE.replace("OTHER", "")
    assert why(text) == ""
    assert why(text.replace("bar.sync 0;", "ld.shared.b32 %r4,[%r3];")) == ""  # what its own warp has written
    assert "not ordered" in why(
        text.replace("bar.sync 0;", "ld.shared.b32 %r4,[%r3+4]; st.shared.b32 [%r3],%r4;")
    )
    assert "not ordered" in why(TWICE.replace("OTHER", "st.shared.b32 [%r3+4],%r3;"))


def test_a_branch_that_passes_nothing_by_may_go_either_way() -> None:
    branch = "ld.global.u32 %r5,[%d1];\nsetp.eq.u32 %p1,%r5,0;\n@%p1 bra N;\nadd.u32 %r6,%r5,1;\nDO\nN:\n"
    text = TWICE.replace("OTHER", branch)
    assert why(text.replace("DO", "")) == ""
    assert "not known" in why(text.replace("DO", "bar.sync 0;"))


TWICE = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[512];
.visible .entry k()
.reqntid 64, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<2>; .reg .pred %p<2>;
mov.u32 %r1,%tid.x; and.b32 %r2,%r1,31; shl.b32 %r2,%r2,3; mov.u32 %r3,tile; add.u32 %r3,%r3,%r2;
OTHER
st.shared.v2.b32 [%r3],{%r3,%r3};
bar.sync 0;
ret;
}
"""


def test_what_nobody_proves_is_not_called_equivalent() -> None:
    """The original is not proven right."""
    mutants = bench("barrier_mutants")
    unknown = RING.replace(
        "setp.lt.u32 %p1,%r1,128;", "ld.volatile.global.u32 %r3,[%d3]; setp.lt.u32 %p1,%r1,%r3;"
    )
    made = mutants.BarrierMutant("k.ptx", unknown, "k", "count + 1", 1, unknown)
    assert mutants.judged(made) == (
        "not judged",
        "the original is not proven right: the predicate %p1 is not known",
    )
    wrong = next(one for one in mutants.mutants("k.ptx", RING) if one.kind == "parity flipped")
    assert mutants.judged(wrong)[0] == "missed"  # had the checker not caught it


def test_a_tensor_copy_brings_what_the_original_expects() -> None:
    """A tensor map says how many bytes it brings; that the original is right says so, too."""
    mutants = bench("barrier_mutants")
    made = [one for one in mutants.mutants("k.ptx", TENSOR) if one.kind.startswith("bytes")]
    assert len(made) >= 2
    for one in made:
        assert mutants.judged(one) == (
            "missed",
            "a phase expects other bytes than in the original, of the same tensor copies",
        )
    assert (
        why(
            TENSOR.replace("shared::cluster.global", "shared::cta.global").replace(
                ".version 8.0", ".version 8.6"
            )
        )
        == ""
    )
    (kernel,) = bench("kernel_statements").kernels(TENSOR)
    _, told = bench("block_replay").is_right(kernel, (7,))
    assert {bytes_ for *_, bytes_ in told.boxes} == {9216}


def test_the_threads_of_a_warp_are_replayed_one_by_one() -> None:
    """A barrier of the warp orders them by the text; .sync of ldmatrix by one reading of it only."""
    mutants, right = bench("barrier_mutants"), bench("block_replay").is_right
    text = (CASES / "m07_quads.ptx").read_text()
    without = text.replace("bar.warp.sync \t-1;", "")
    assert without != text
    for some, lanes, said in (
        (text, "barriers", ""),
        (text, "sync", ""),
        (without, "sync", ""),
        (without, "barriers", "not ordered"),
        (without, "", ""),  # a warp as one
    ):
        (kernel,) = bench("kernel_statements").kernels(some)
        found = right(kernel, (7,), lanes=lanes)[0]
        assert said in found and bool(said) == bool(found)
    half = text.replace("bar.warp.sync \t-1;", "setp.lt.u32 %p1,%r1,16;\n@%p1 bar.warp.sync \t65535;")
    (kernel,) = bench("kernel_statements").kernels(half)
    assert "not ordered" in right(kernel, (7,), lanes="barriers")[0]
    (made,) = mutants.mutants("k.ptx", text)
    assert mutants.judged(made)[0] == "open"


def test_what_is_reported_as_a_reading_is_right_by_another_one() -> None:
    """What the replay proves right under no reading is not let pass as one."""
    mutants = bench("barrier_mutants")
    text = (CASES / "b68_tmastore_reuse_ok.ptx").read_text()
    made = {one.line: one for one in mutants.mutants("k.ptx", text) if one.kind == "bar.sync deleted"}
    column, why = mutants.judged(made[min(made)])
    assert (column, "if a wait of one warp covers" in why) == ("open", True)
    assert mutants.judged(made[max(made)])[0] == "missed"  # had the checker not caught it
    assert list(mutants.shares([mutants.BarrierOutcome(made[min(made)], column, "") for column in (
        "caught", "caught", "missed", "reading", "not judged", "equivalent")])) == [
        "2 of 3 mutants that are judged wrong are caught: 66.67%",
        "3 of 5 mutants that are not proven equivalent are caught, or called undefined under the readings "
        "by which they are: 60.00%",
    ]  # fmt: skip


# Two blocks of a cluster: each copies one part of a stage to both, and each consumer releases it in both.
PAIR = (
    MULTICAST.replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{", 1)
    .replace(
        "xor.b32 %r14,%r12,1;", "xor.b32 %r14,%r12,1; mov.u32 %r44,%cluster_ctarank; setp.eq.u32 %p12,%r44,0;"
    )
    .replace(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r21]",
        "@%p12 COPY [%r21]",
    )
    .replace(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r41]",
        "@!%p12 COPY [%r41]",
    )
    .replace("COPY", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster")
    .replace("barrier.cluster.arrive; ", "barrier.cluster.arrive.aligned;\n")
    .replace("barrier.cluster.wait;", "barrier.cluster.wait.aligned;")
)


def test_the_blocks_of_a_cluster_are_replayed_together() -> None:
    assert why(PAIR) == ""
    last = PAIR.rindex("barrier.cluster.wait.aligned;")
    assert "may end before" in why(PAIR[:last] + PAIR[last:].replace("barrier.cluster.wait.aligned;", ""))
    assert "without an arrival" in why(
        PAIR[: last - 35] + PAIR[last - 35 :].replace("barrier.cluster.arrive.aligned;", "")
    )
    own = PAIR.replace("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r43];", "")
    assert why(own) and why(PAIR.replace(",3;", ",2;")) and why(PAIR.replace("%r24,1;\n", "%r24,0;\n"))
    assert "lacks" in why(PAIR.replace(",3;", ",7;"))


def test_a_relaxed_arrival_tells_what_the_last_fence_did() -> None:
    assert "init is known" in why(RELAXED.replace("fence.mbarrier_init.release.cluster;", ""))


def test_a_product_of_a_warpgroup_that_one_warp_waits_for() -> None:
    """One thread releases a stage behind its own warp's wait: right where that wait is its warpgroup's."""
    released = ELECTED.replace("bar.sync 1,128;\n", "")
    known = bench("barrier_mutants").original(released, "k")
    assert (known.why, known.together) == ("", True)
    assert bench("barrier_mutants").original(ELECTED, "k").together is False
    early = released.replace("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;")
    assert bench("barrier_mutants").original(early, "k").why


def test_nothing_is_equivalent_that_no_thread_comes_to() -> None:
    """The loop's odd last round, say; a number with which threads come there is tried, too."""
    mutants = bench("barrier_mutants")
    head, body = "mov.u32 %r4,8;", "setp.CMP.u32 %p1,%r4,5;\n@%p1 bra N;\nbar.sync 0;\nN:"
    text = TWICE.replace("OTHER", f"{head}\n{body}")
    for compare, column in (("ge", "not judged"), ("lt", "equivalent")):
        made = [
            one for one in mutants.mutants("k.ptx", text.replace("CMP", compare)) if "deleted" in one.kind
        ]
        assert mutants.judged(made[0])[0] == column
    sized = (
        text.replace("k()", "k(.param .u32 n)").replace(head, "ld.param.u32 %r4,[n];").replace("CMP", "ne")
    )
    sized = sized.replace("5;", "9;")
    made = [one for one in mutants.mutants("k.ptx", sized) if "deleted" in one.kind]
    assert mutants.judged(made[0])[0] == "equivalent"
    (kernel,) = bench("kernel_statements").kernels(sized)
    _, sizes = mutants.coming_to(
        sized, "k", next(i for i, s in enumerate(kernel.statements) if s.name == "bar.sync")
    )
    assert 9 in sizes


def test_a_parameter_with_a_fraction_is_compared() -> None:
    text = TWICE.replace(
        "OTHER", "ld.param.f32 %f1,[x]; setp.gt.f32 %p1,%f1,0f00000000;\n@%p1 bra N;\nbar.sync 0;\nN:"
    )
    assert why(text.replace("k()", "k(.param .f32 x)").replace(".pred", ".f32 %f<2>; .reg .pred")) == ""


BRANCH = "setp.{} %p1,{};\n@%p1 bra N;\nbar.sync 0;\nN:"
REALS = ".f32 %f<4>; .reg .f64 %g<4>; .reg .b16 %h<2>; .reg .pred"


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("mov.f32 %f1,0f3F800000; mul.f32 %f2,%f1,0f40400000; cvt.rzi.s32.f32 %r4,%f2;", True),
        ("mov.b32 %f1,%r0; cvt.f64.f32 %g1,%f1; add.f64 %g2,%g1,0d3FE0000000000000;", False),  # of nothing
        ("mov.b16 %h1,15360; cvt.f32.f16 %f1,%h1; cvt.rzi.s32.f32 %r4,%f1;", True),
    ],
)
def test_fractions_decide_branches(words: str, known: bool) -> None:
    """1.0 times 3.0 is 3, and the half-precision number 0x3c00 is 1; what nobody wrote is not known."""
    compared = "eq.f64" if "%g2" in words else "eq.s32"
    branch = BRANCH.format(compared, "%g2,0d0000000000000000" if "%g2" in words else "%r4,99")
    text = TWICE.replace(".pred", REALS).replace("OTHER", f"{words}\n{branch}")
    assert ("not known" in why(text)) is not known
    if known:
        value = 3 if "0f40400000" in words else 1
        (kernel,) = bench("kernel_statements").kernels(text.replace("%r4,99", f"%r4,{value}"))
        at = [s.name for s in kernel.statements].index("bar.sync")
        assert at not in bench("block_replay").reached(kernel, 7)


def test_a_word_of_global_memory_may_have_a_number() -> None:
    """The original is launched with a word with which it is right."""
    mutants = bench("barrier_mutants")
    loaded = "ld.global.u32 %r4,[%d1];\n" + BRANCH.format("eq.u32", "%r4,0")
    known = mutants.original(TWICE.replace("OTHER", loaded), "k")
    assert (known.why, known.kernel.word) == ("", 1)
    volatile = loaded.replace("ld.global", "ld.volatile.global")
    assert "not known" in mutants.original(TWICE.replace("OTHER", volatile), "k").why


def test_a_cluster_without_a_shape_has_one_with_which_the_kernel_is_right() -> None:
    known = bench("barrier_mutants").original(PAIR.replace(".reqnctapercluster 2, 1, 1\n", ""), "k")
    assert (known.why, known.kernel.cluster) == ("", (1, 2, 1))  # the first one of two blocks that is tried


def test_a_statement_that_other_blocks_of_the_grid_come_to() -> None:
    mutants = bench("barrier_mutants")
    text = TWICE.replace("OTHER", "mov.u32 %r4,%ctaid.y;\n" + BRANCH.format("ne.u32", "%r4,4"))
    (kernel,) = bench("kernel_statements").kernels(text)
    at = [s.name for s in kernel.statements].index("bar.sync")
    other, sizes = mutants.coming_to(text, "k", at)
    assert (other.first, bool(sizes)) == ((0, 4, 0), True)


def test_a_try_that_nobody_repeats_may_fail() -> None:
    """It may fail where it could succeed, and it fails where it cannot; a wait that is repeated must succeed."""
    wait = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2,[%r7],%r1;\n@!%p2 bra WAIT;\n"
    head = "mbarrier.init.shared::cta.b64 [%r7],1; mov.u32 %r1,0;\n"
    one = TWICE.replace(".reqntid 64", ".reqntid 1").replace("%p<2>", "%p<4>")
    one = one.replace(".shared", ".shared .align 8 .b64 bar;\n.shared", 1)
    one = one.replace("OTHER", f"mov.u32 %r7,bar; {head}TRIED")
    tried = "mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r7],%r1;\n"
    assert why(one.replace("TRIED", tried)) == ""
    assert "for ever" in why(one.replace("TRIED", wait))
    assert "for ever" in why(one.replace("TRIED", f"{tried}@%p3 bra DONE;\n{wait}DONE:\n"))
    arrived = "mbarrier.arrive.shared::cta.b64 _,[%r7];\n"
    assert why(one.replace("TRIED", f"{arrived}{tried}@%p3 bra DONE;\n{wait}DONE:\n")) == ""


def test_a_copy_comes_behind_the_waits_that_led_to_it() -> None:
    """Its end does not tell what they saw, but no schedule has it before them."""
    assert why((CASES / "k08_remote_release.ptx").read_text()) == ""


def test_bytes_that_the_host_passes_may_be_others() -> None:
    text = TENSOR.replace("ld.param.u32 %r0,[n];", "ld.param.u32 %r0,[n]; ld.param.u32 %r50,[n];")
    passed = text.replace("_,[%r23],9216", "_,[%r23],%r50")
    computed = passed.replace("ld.param.u32 %r50,[n];", "ld.param.u32 %r50,[n]; add.u32 %r50,%r50,16;")
    mutants = bench("barrier_mutants")
    for kernel, is_passed in ((passed, True), (computed, False), (text, False)):
        (found,) = bench("kernel_statements").kernels(kernel)
        (expects,) = (at for at, one in enumerate(found.statements) if "expect_tx" in one.name)
        assert mutants.is_passed(found, expects) == is_passed
