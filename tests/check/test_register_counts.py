"""setmaxnreg: "The same setmaxnreg instruction must be executed by all warps in a warpgroup." (PTX ISA 9.7.19.5)

Before that the text calls it a hint about the registers of the executing warp, and compilers let single warps
execute it: that is a reading. A part of a warp executes no instruction with .aligned.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n)
.reqntid 384, 1, 1
{
.reg .b32 %r<8>; .reg .pred %p<4>;
mov.u32 %r1,%tid.x; ld.param.u32 %r2,[n];
BODY
wgmma.fence.sync.aligned;
ret;
}
"""
ROLES = (
    "@%p1 bra A;\nsetmaxnreg.inc.sync.aligned.u32 232;\nbra B;\nA:\nsetmaxnreg.dec.sync.aligned.u32 40;\nB:"
)
ONE = "@!%p1 bra B;\nsetmaxnreg.dec.sync.aligned.u32 40;\nB:"


def found(body: str) -> list[tuple[str, str, int]]:
    report = check_text(KERNEL.replace("BODY", body), "k.ptx")
    assert not report.not_judged
    return [(one.tier, one.rule, one.place.line) for one in report.findings]


@pytest.mark.parametrize("warpgroup", [128, 256])
@pytest.mark.parametrize("rest", [ROLES, ONE])
def test_whole_warpgroups_change_their_registers(warpgroup: int, rest: str) -> None:
    assert found(f"setp.lt.u32 %p1,%r1,{warpgroup};\n{rest}") == []


@pytest.mark.parametrize("threads", [32, 96, 160])
def test_some_warps_of_a_warpgroup_do_not(threads: int) -> None:
    body = f"setp.lt.u32 %p1,%r1,{threads};\n"
    wrong = ("reading", "aligned-divergent")
    assert found(body + ROLES) == [(*wrong, 11), (*wrong, 14)]
    assert found(body + ONE) == [(*wrong, 11)]


def test_a_reading_hides_nothing() -> None:
    """A wait for products behind the same branch, and a thread that is elected behind it."""
    some = "setp.lt.u32 %p1,%r1,32;\n"
    waits = ONE.replace("B:", "wgmma.wait_group.sync.aligned 0;\nB:")
    assert found(some + waits) == [("error", "aligned-divergent", 12)]
    elected = ONE.replace("B;\n", "B;\nelect.sync %r3|%p2,-1; @!%p2 bra B;\n", 1)
    assert found(some + elected) == [("error", "aligned-divergent", 12)]


@pytest.mark.parametrize(("setting", "tiers"), [("together", ["error"]), ("each", [])])
def test_a_reading_can_be_chosen(setting: str, tiers: list[str]) -> None:
    text = KERNEL.replace("BODY", f"setp.lt.u32 %p1,%r1,32;\n{ONE}")
    report = check_text(text, "k.ptx", readings={"register-warps": setting})
    assert [one.tier for one in report.findings] == tiers


def test_some_threads_of_a_warp_do_not() -> None:
    assert found(f"and.b32 %r3,%r1,31; setp.lt.u32 %p1,%r3,16;\n{ONE}") == [
        ("error", "aligned-divergent", 11)
    ]


def test_a_condition_that_all_threads_have() -> None:
    assert found(f"setp.lt.u32 %p1,%r2,16;\n{ONE}") == []


def test_what_is_not_known_to_differ_is_not_told() -> None:
    """Compilers know conditions that the PTX does not show."""
    loaded = "shl.b32 %r4,%r1,2; cvt.u64.u32 %d1,%r4; ld.global.u32 %r3,[%d1]; setp.lt.u32 %p1,%r3,16;\n"
    assert found(loaded.replace("shl", ".reg .b64 %d<2>; shl") + ONE) == []


@pytest.mark.parametrize(("threads", "lines"), [(32, [11]), (96, [11]), (128, []), (256, [])])
def test_a_kernel_without_products(threads: int, lines: list[int]) -> None:
    """Nothing else of the kernel is about tensor cores; what rests on an assumption is not told there."""
    text = KERNEL.replace("wgmma.fence.sync.aligned;\n", "")
    text = text.replace("BODY", f"setp.lt.u32 %p1,%r1,{threads};\n{ONE}")
    told = [(one.tier, one.rule, one.place.line) for one in check_text(text, "k.ptx").findings]
    assert told == [("reading", "aligned-divergent", line) for line in lines]
    assert not check_text(text.replace(".reqntid 384, 1, 1\n", ""), "k.ptx").findings
