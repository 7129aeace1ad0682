"""Allocations of tensor memory, loads from it, and qualifiers of a whole kernel: small kernels by the text."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

ROOT = Path(__file__).parents[2]
WATCHES = ("spec/effects.yaml", "spec/instructions/tcgen05.*.yaml")
HEAD = """.version 8.8
.target sm_103a
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u32 n, .param .u64 flags)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>;
.reg .b64 %rd<4>;
.reg .pred %p<8>;
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 32;
ld.param.u32 %r9, [n];
setp.eq.u32 %p3, %r9, 0;
"""
MAKE = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 64;\n"
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;\n"
ENOUGH = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
ADDRESS = "ld.shared.b32 %r3, [tile];\n"
MADE = f"@%p1 bra MADE;\n{MAKE}MADE:\nbar.sync 0;\n{ADDRESS}"
FREED = f"@%p1 bra FREED;\n{FREE}FREED:\n"
MET = "bar.sync 0;\n"  # nobody loads what is deallocated
ALL = f"""setp.lt.u32 %p4, %r1, 32;
setp.ge.u32 %p6, %r1, 96;
@%p4 {MAKE.replace("[tile], 64", "[tile+4], 512")}bar.sync 0;
ld.shared.b32 %r8, [tile+4];
"""
ALL_FREED = "bar.sync 0;\n@%p4 " + FREE.replace("%r3, 64", "%r8, 512")
LOAD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r4,%r5}, [%r3];\n"
WAIT = "tcgen05.wait::ld.sync.aligned;\n"
KEPT, OVER, LATE = ("error", "allocation-kept"), ("error", "allocation-freed"), ("error", "allocation-late")
OTHER = ("reading", "allocation-warp")
READ, WRITTEN = ("info", "tensor-load-read"), ("reading", "tensor-load-overwritten")

ALLOCATIONS = {
    "one warp allocates and deallocates": (MADE + FREED, []),
    "under guards": (f"setp.lt.u32 %p5, %r1, 32;\n@%p5 {MAKE}bar.sync 0;\n{ADDRESS}@%p5 {FREE}", []),
    "no deallocation": (MADE, [KEPT]),
    "an early end": (MADE + "@%p3 exit;\n" + FREED, [KEPT]),
    "an early end before": ("@%p3 ret;\n" + MADE + FREED, []),
    "an early trap": (MADE + "@%p3 trap;\n" + FREED, []),
    "a trap in the place of deallocation": (MADE + "trap;\n", []),
    "under another condition": (MADE + f"@%p3 bra FREED;\n{FREE}FREED:\n", [KEPT]),
    "twice": (MADE + f"@%p1 bra FREED;\n{FREE}{FREE}FREED:\n", [OVER]),
    "twice for one parameter": (MADE + f"@%p1 bra FREED;\n{FREE}@%p3 {FREE}FREED:\n", [OVER]),
    "one of two on each way": (MADE + f"@%p1 bra FREED;\n@%p3 {FREE}@!%p3 {FREE}FREED:\n", []),
    "all columns, and then more": (ALL + MADE + FREED + ALL_FREED, [LATE]),
    "all columns, and more once these are deallocated": (ALL + ALL_FREED + MADE + FREED, []),
    "half of all columns, and then more": ((ALL + MADE + FREED + ALL_FREED).replace("512", "256"), []),
    "all columns, and more where another warp may have deallocated these": (
        ALL + ALL_FREED.replace("@%p4 ", "@%p6 ") + MADE + FREED,
        [],
    ),
    "fewer columns": (MADE + FREED.replace("64", "32"), [KEPT]),
    "more columns": (MADE + FREED.replace("64", "128"), [OVER]),
    "in two halves": (MADE + f"@%p1 bra FREED;\n{(FREE * 2).replace('64', '32')}FREED:\n", []),
    "the columns are not known": ((MADE + FREED).replace(" 64;", " %r9;"), []),
    "the columns are not known, and no deallocation": (MADE.replace(" 64;", " %r9;"), [KEPT]),
    "another address": (MADE.replace("%r3", "%r2") + "add.u32 %r3, %r2, 32;\n" + FREED, [("likely", OVER[1])]),
    "the same address, computed": (MADE.replace("%r3", "%r2") + "add.u32 %r3, %r2, 0;\n" + FREED, []),
    "another address, in the same register": (
        MADE + f"add.u32 %r3, %r3, 32;\n@!%p1 {FREE}",
        [("likely", OVER[1])],
    ),
    "the same address, added to and taken from": (MADE + f"add.u32 %r3, %r3, 32;\nadd.u32 %r3, %r3, -32;\n@!%p1 {FREE}", []),
    "maybe another address, in the same register": (MADE + f"@%p3 add.u32 %r3, %r3, 32;\n@!%p1 {FREE}", []),
    "in every round": (
        f"@%p1 bra DONE;\nmov.u32 %r7, 0;\nAGAIN:\n{MAKE}{ADDRESS}{FREE}add.u32 %r7, %r7, 1;\n"
        "setp.lt.u32 %p4, %r7, %r9;\n@%p4 bra AGAIN;\nDONE:\n",
        [],
    ),
    "allocated in every round": (
        f"@%p1 bra DONE;\nmov.u32 %r7, 0;\nAGAIN:\n{MAKE}{ADDRESS}add.u32 %r7, %r7, 1;\n"
        f"setp.lt.u32 %p4, %r7, %r9;\n@%p4 bra AGAIN;\n{FREE}DONE:\n",
        [KEPT],
    ),
    "behind the end of allocation": (ENOUGH.join(MADE.split(MAKE)[:1]) + ENOUGH + MAKE + MADE.split(MAKE)[1] + FREED, [LATE]),
    "before the end of allocation": (MADE.replace(MAKE, MAKE + ENOUGH) + FREED, []),
    "a larger one later": (
        f"@%p1 bra DONE;\n{MAKE}{MAKE.replace('64', '128')}{ADDRESS}{FREE}{FREE.replace('64', '128')}DONE:\n",
        [LATE],
    ),
    "a smaller one later": (
        f"@%p1 bra DONE;\n{MAKE.replace('64', '128')}{MAKE}{ADDRESS}{FREE}{FREE.replace('64', '128')}DONE:\n",
        [],
    ),
    "another warp": (MADE + "shr.u32 %r5, %r1, 5;\nsetp.ne.u32 %p1, %r5, 1;\n" + FREED, [OTHER]),
    "another warp and count": (
        MADE + "shr.u32 %r5, %r1, 5;\nsetp.ne.u32 %p1, %r5, 1;\n" + FREED.replace("64", "32"),
        [("likely", KEPT[1]), OTHER],
    ),
    "another warp, in every round": (
        f"mov.u32 %r7, 0;\nAGAIN:\nbar.sync 0;\n{MADE}shr.u32 %r5, %r1, 5;\nsetp.ne.u32 %p2, %r5, 1;\n"
        + FREED.replace("%p1", "%p2")
        + "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p4, %r7, %r9;\n@%p4 bra AGAIN;\n",
        [],
    ),
    "another warp, twice": (
        MADE + "shr.u32 %r5, %r1, 5;\nsetp.ne.u32 %p1, %r5, 1;\n" + FREED.replace(FREE, FREE * 2),
        [OTHER, ("likely", OVER[1])],
    ),
    "under a flag that is loaded twice": (
        "ld.param.u64 %rd1, [flags];\nld.global.u32 %r6, [%rd1];\nsetp.ne.u32 %p1, %r6, 0;\n"
        + MADE
        + "ld.global.u32 %r6, [%rd1];\nsetp.ne.u32 %p1, %r6, 0;\n"
        + FREED,
        [("likely", KEPT[1])],
    ),
    "only a deallocation": (ADDRESS + FREED, []),
}  # fmt: skip
LOADS = {
    "waited for": (f"{LOAD}{WAIT}add.u32 %r6, %r4, %r5;\nmov.u32 %r4, 0;\n", []),
    "read first": (f"{LOAD}add.u32 %r6, %r4, %r5;\n{WAIT}", [READ]),
    "read, then written": (f"{LOAD}add.u32 %r6, %r4, %r5;\nmov.u32 %r4, 0;\n", [READ]),
    "written first": (f"{LOAD}mov.u32 %r4, 0;\n{WAIT}add.u32 %r6, %r4, %r5;\n", [WRITTEN]),
    "loaded twice": (f"{LOAD}{LOAD}{WAIT}add.u32 %r6, %r4, %r5;\n", [WRITTEN]),
    "the reduced value": (
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r4,%r5}, %r6, [%r3];\nadd.u32 %r7, %r6, 1;\n",
        [READ],
    ),
    "a wait for stores": (f"{LOAD}tcgen05.wait::st.sync.aligned;\nadd.u32 %r6, %r4, %r5;\n", [READ]),
    "both under one guard": (f"@%p3 {LOAD}@%p3 {WAIT}mov.u32 %r4, 1;\nadd.u32 %r6, %r4, 1;\n", []),
    "a wait under another guard": (f"{LOAD}@%p3 {WAIT}mov.u32 %r4, 1;\nadd.u32 %r6, %r4, 1;\n", [WRITTEN]),
    "a wait on one way": (f"{LOAD}@%p3 bra SKIP;\n{WAIT}SKIP:\nadd.u32 %r6, %r4, %r5;\n", [READ]),
    "never read": (f"{LOAD}mov.u32 %r4, 0;\n", []),
    "other registers": (f"{LOAD}mov.u32 %r6, 1;\nadd.u32 %r6, %r6, %r9;\n{WAIT}", []),
}


def found(body: str, head: str = HEAD) -> list[tuple[str, str]]:
    report = check_text(f"{head}{body}ret;\n}}\n", "k.ptx")
    assert not report.faults
    return [(one.tier, one.rule) for one in report.findings if one.rule != "aligned-unknown"]


@pytest.mark.parametrize("name", ALLOCATIONS)
def test_allocations(name: str) -> None:
    body, expected = ALLOCATIONS[name]
    assert found(body) == expected


@pytest.mark.parametrize("name", LOADS)
def test_registers_of_loads(name: str) -> None:
    body, expected = LOADS[name]
    assert found(MADE + body + MET + FREED) == expected


@pytest.mark.parametrize(
    "made", ["mov.u32 %r3;", "add.u32 %r3, %r4;", "ld.shared.b32 %r3;", "mov.u32 %r3, %r3;"]
)
def test_an_address_that_is_spelled_wrong_is_not_followed(made: str) -> None:
    assert found(MADE.replace(ADDRESS, f"{made}\n") + FREED) == []


def test_a_path_is_shown() -> None:
    report = check_text(f"{HEAD}{MADE}@%p3 exit;\n{FREED}ret;\n}}\n", "k.ptx")
    (kept,) = report.findings
    assert "64 columns are not deallocated where the kernel ends (line 20)" in kept.message
    assert [(moment.place.line, moment.says) for moment in kept.witness] == [
        (16, "allocates 64 columns"),
        (20, "ends the kernel"),
    ]
    assert kept.place.line == 16 and kept.section == "9.7.16.7.1"
    (written,) = check_text(
        f"{HEAD}{MADE}{LOAD}mov.u32 %r5, 0;\nst.shared.u32 [tile+16], %r5;\n{MET}{FREED}ret;\n}}\n", "k.ptx"
    ).findings
    assert [moment.place.line for moment in written.witness] == [20, 21]
    assert written.schedules[0] == tuple(reversed(written.schedules[1]))
    assert written.readings == ((("load-registers", "true"),),)


def test_a_reading_settles_what_it_is_about() -> None:
    text = f"{HEAD}{MADE}{LOAD}mov.u32 %r5, 0;\nst.shared.u32 [tile+16], %r5;\n{MET}{FREED}ret;\n}}\n"
    tiers = {
        setting: [f.tier for f in check_text(text, "k.ptx", readings={"load-registers": setting}).findings]
        for setting in ("every", "true")
    }
    assert tiers == {"every": [], "true": ["error"]}


def test_a_function_that_the_file_does_not_hold_may_deallocate_and_wait() -> None:
    head = HEAD.replace(".visible", ".extern .func f;\n.visible")
    assert found(f"{MADE}call f;\n", head) == []
    assert found(f"{MADE}{LOAD}call f;\nmov.u32 %r4, 0;\n{FREED}", head) == []
    remarks = [one.message for one in check_text(f"{head}{MADE}call f;\nret;\n}}\n", "k.ptx").not_judged]
    assert any("allocations of k (1 statement)" in one and "may deallocate" in one for one in remarks)


def test_a_failed_assertion_deallocates_nothing_and_ends_the_launch() -> None:
    """Ways through it need no judgement; the others are judged."""
    head = HEAD.replace(".visible", ".extern .func __assertfail;\n.visible")
    fails = "@%p3 bra WELL;\ncall __assertfail;\ntrap;\nWELL:\n"
    for freed, expected in ((FREED, []), ("", [("error", "allocation-kept")])):
        body = f"{MADE}{fails}{freed}"
        assert found(body, head) == expected
        remarks = check_text(f"{head}{body}ret;\n}}\n", "k.ptx").not_judged
        assert not any("may deallocate" in one.message for one in remarks)


def test_a_function_of_the_file_is_followed() -> None:
    """It deallocates for the kernel that calls it."""
    body = ".func f()\n{\n.reg .b32 %r<9>;\n" + ADDRESS + FREE + "ret;\n}\n"
    head = HEAD.replace(".visible", body + ".visible")
    assert found(f"{MADE}@%p1 bra FREED;\ncall f;\nFREED:\n", head) == []
    assert found(MADE, head) == [KEPT]


def test_one_kernel_has_one_group() -> None:
    mixed = (MADE + FREED).replace("dealloc.cta_group::1", "dealloc.cta_group::2")
    report = check_text(f"{HEAD}{mixed}ret;\n}}\n", "k.ptx")
    (finding,) = report.findings
    assert (finding.tier, finding.rule, finding.place.line) == ("error", "qualifier-mixed", 21)
    assert "has .cta_group::2, and line 16 has .cta_group::1" in finding.message
    other = HEAD.split("{", 1)[1]
    kernels = f"{HEAD}{MADE}{FREED}ret;\n}}\n.visible .entry other(.param .u32 n)\n{{{other}"
    both = (MADE + FREED).replace("cta_group::1", "cta_group::2")
    assert check_text(f"{kernels}{both}ret;\n}}\n", "k.ptx").findings == ()


def test_what_is_left_open_is_said_once() -> None:
    store = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r4,%r5};\ntcgen05.wait::st.sync.aligned;\n"
    head = HEAD.replace(".reqntid 128, 1, 1\n", "")  # so nobody follows the threads
    (remark,) = check_text(f"{head}{MADE}{LOAD}{WAIT}{store}{FREED}ret;\n}}\n", "k.ptx").not_judged
    assert (remark.instruction, remark.statements, remark.place.line) == ("tcgen05", 6, 15)
    left = (
        "where accesses of tensor memory lie, their order, and that of what is read of shared memory, where no "
        "execution follows them,"
    )
    assert remark.why == f"{left} was not judged yet"


def test_what_mutants_of_a_right_kernel_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """bench/tensor_mutants.py spoils it in every way that it knows."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    mutants = importlib.import_module("tensor_mutants")
    text = (ROOT / "tests/check/cases/n01_tensor_ok.ptx").read_text()
    (kernel,) = importlib.import_module("kernel_statements").kernels(text)
    before = check_text(text, "k.ptx")
    told = {
        kind: mutants.tier(before, check_text(changed, "k.ptx"))
        for kind, _, changed in mutants.spoilt(text, kernel)
    }
    assert told == {
        "wait for loads deleted": "info",
        "wait for loads moved behind a use": "info",
        "register of a load written": "reading",
        "deallocation deleted": "error",
        "deallocation twice": "error",
        "other number of columns": "error",
        "other group": "error",
        "permit given up first": "error",
    }
