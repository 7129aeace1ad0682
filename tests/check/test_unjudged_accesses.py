"""Accesses of shared memory that `check` does not judge, it says aloud: where the PTX does not show where they
lie, or which way threads go to them.

The first kernel of each pair lacks a barrier (9.7.13.1) that the second has. What is not shown hides that.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import FileReport, check_text

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 1024 .b8 tile[8192];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 64, 1, 1
{
.local .align 4 .b8 kept[8];
.reg .f32 %f<8>; .reg .b64 %d<4>; .reg .pred %p<8>; .reg .b32 %r<32>;
ld.param.u64 %d1,[in]; ld.param.u32 %r9,[n]; mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r4,%r3,%r2;
xor.b32 %r5,%r2,512; add.u32 %r5,%r3,%r5;
BEFORE
st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r1};
BARRIER
ld.shared.v4.b32 {%r11,%r12,%r13,%r14},[%r5];
BEHIND
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r11,%r12},{%r13},{%f0,%f1,%f2,%f3};
ret;
}
"""
MEET = "bar.sync 0;"
SPILLED = "st.local.u32 [kept],%r5; ld.local.u32 %r5,[kept];"
GIVEN = "ld.global.u32 %r15,[%d1]; setp.eq.u32 %p1,%r15,0; @%p1 bra BACK;"
BACK = "bar.sync 0; BACK: st.shared.b32 [%r4+4096],%r1; bar.sync 0; ld.shared.b32 %r16,[%r5+4096];"
PARAMETER = "setp.eq.u32 %p1,%r9,3; @%p1 bra BACK;"


def checked(before: str, barrier: str, behind: str) -> FileReport:
    text = KERNEL.replace("BEFORE", before).replace("BARRIER", barrier).replace("BEHIND", behind)
    report = check_text(text, "k.ptx")
    assert not report.faults
    return report


def loud(report: FileReport) -> set[str]:
    return {one.rule for one in report.findings if one.tier in ("error", "likely")}


def test_what_is_shown_is_judged() -> None:
    assert loud(checked("", "", "")) == {"shared-unsynchronised"}
    right = checked("", MEET, "")
    assert not loud(right) and not right.not_judged


@pytest.mark.parametrize("barrier", ["", MEET])
def test_an_address_from_local_memory(barrier: str) -> None:
    report = checked(SPILLED, barrier, "")
    assert not loud(report)
    (remark,) = report.not_judged
    assert remark.instruction == "shared memory of k" and remark.statements == 1
    assert remark.why.startswith("where these accesses lie comes from memory")


@pytest.mark.parametrize("barrier", ["", MEET])
def test_a_way_that_memory_decides(barrier: str) -> None:
    report = checked(GIVEN, barrier, BACK)
    assert not loud(report)
    (remark,) = report.not_judged
    assert remark.instruction == "shared memory of k" and remark.statements == 4
    assert remark.why.startswith("what decides which way threads go here comes from memory")


def test_a_way_that_a_parameter_decides_is_followed() -> None:
    assert loud(checked(PARAMETER, "", BACK)) == {"shared-unsynchronised"}
    right = checked(PARAMETER, MEET, BACK)
    assert not loud(right) and not right.not_judged


PLACED = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u32 n, .param .u32 m, .param .u64 in)
.reqntid 128, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<4>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; ld.param.u32 %r3,[n]; ld.param.u32 %r8,[m]; ld.param.u64 %rd1,[in];
mad.lo.u32 %r4,%r1,16,%r2; mad.wide.u32 %rd2,%r1,16,%rd1; add.u32 %r6,%r4,%r3;
setp.gt.s32 %p1,%r3,%r8;
@%p1 bra E;
cp.async.cg.shared.global [%r6],[%rd2],16;
cp.async.wait_all;
bar.sync 0;
ld.shared.u32 %r7,[%r4];
st.global.u32 [%rd2],%r7;
E: ret;
}
"""


def test_a_way_that_a_place_decides() -> None:
    """A parameter is an offset in shared memory, and is compared with another one: no number suits both."""
    (remark,) = check_text(PLACED, "k.ptx").not_judged
    assert remark.why.startswith(
        "what decides which way threads go here comes from a parameter that places something in shared memory"
    )
