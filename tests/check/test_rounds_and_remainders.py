"""What a loop leaves in flight depends on how many rounds it has, and what stands behind it on what is left over: the
number of rounds is a parameter, and a fault that some numbers of it show is found. What must be found was written down
before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# A ring of three stages, two copies ahead; behind the loop, results go into the first stage.
RING = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 shm[];
.visible .entry k(.param .u64 pa, .param .u64 pc, .param .u32 pk)
.reqntid 128, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<64>; .reg .f32 %f<16>; .reg .b64 %d<24>;
ld.param.u64 %d1,[pa]; ld.param.u64 %d3,[pc]; ld.param.u32 %r1,[pk];
mov.u32 %r2,%tid.x; mov.u32 %r5,shm; shl.b32 %r3,%r2,4; add.s32 %r12,%r5,%r3;
mul.wide.u32 %d4,%r2,16; add.s64 %d5,%d1,%d4; mov.f32 %f0,0f00000000;
cp.async.cg.shared.global [%r12],[%d5],16; cp.async.commit_group;
cp.async.cg.shared.global [%r12+2048],[%d5+2048],16; cp.async.commit_group;
mov.u32 %r31,0; mov.u32 %r32,4096; mov.u32 %r33,0;
LOOP:
cp.async.wait_group 1;
bar.sync 0;
add.s64 %d5,%d5,2048; add.s32 %r34,%r12,%r32;
cp.async.cg.shared.global [%r34],[%d5+2048],16; cp.async.commit_group;
add.s32 %r36,%r12,%r31;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r40,%r41,%r42,%r43},[%r36];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r40,%r41,%r42,%r43},{%r40,%r41},{%f0,%f0,%f0,%f0};
setp.eq.s32 %p1,%r31,4096; add.s32 %r31,%r31,2048; selp.b32 %r31,0,%r31,%p1;
setp.eq.s32 %p2,%r32,4096; add.s32 %r32,%r32,2048; selp.b32 %r32,0,%r32,%p2;
add.s32 %r33,%r33,1; setp.lt.s32 %p3,%r33,ROUNDS; @%p3 bra LOOP;
BEHIND
st.shared.v2.f32 [%r12],{%f0,%f1};
bar.sync 0;
ld.shared.v4.f32 {%f8,%f9,%f10,%f11},[%r12];
add.s64 %d7,%d3,%d4; st.global.v4.f32 [%d7],{%f8,%f9,%f10,%f11};
ret;
}
"""
DRAINED = "cp.async.wait_group 0; bar.sync 0;"


@pytest.mark.parametrize("rounds", ["2", "3", "%r1"])
def test_copies_in_flight_meet_what_stands_behind_the_loop(rounds: str) -> None:
    """After two or three rounds a copy into the first stage is in flight."""
    text = RING.replace("ROUNDS", rounds)
    found = check_text(text.replace("BEHIND", ""), "k.ptx").findings
    assert "copy-incomplete" in {one.rule for one in found if one.tier == "error"}
    right = check_text(text.replace("BEHIND", DRAINED), "k.ptx").findings
    assert not [one for one in right if one.tier in ("error", "likely")]


# The last elements of K, fewer than a step, are stored by the threads themselves.
REST = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pc, .param .u32 pk)
.maxntid 64, 1, 1
{
.reg .pred %p<12>; .reg .b32 %r<64>; .reg .f32 %f<8>; .reg .b64 %d<24>;
.shared .align 16 .b8 sm[2048];
ld.param.u64 %d1,[pa]; ld.param.u64 %d2,[pc]; ld.param.u32 %r1,[pk];
mov.u32 %r3,%tid.x; mul.wide.u32 %d3,%r3,32; add.s64 %d4,%d1,%d3;
mov.u32 %r8,sm; shl.b32 %r9,%r3,5; add.s32 %r10,%r8,%r9;
and.b32 %r12,%r3,15; shl.b32 %r14,%r12,6; add.s32 %r17,%r8,%r14; xor.b32 %r18,%r14,1024; add.s32 %r19,%r8,%r18;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
and.b32 %r20,%r1,-32; mov.u32 %r21,0;
setp.lt.s32 %p1,%r1,32; @%p1 bra REM;
MAIN:
cp.async.cg.shared.global [%r10],[%d4],16; cp.async.cg.shared.global [%r10+16],[%d4+16],16;
cp.async.wait_all;
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33},[%r17];
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r34,%r35},[%r19];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r30,%r31,%r32,%r33},{%r34,%r35},{%f0,%f1,%f2,%f3};
add.s64 %d4,%d4,64; add.s32 %r21,%r21,32;
setp.lt.s32 %p2,%r21,%r20;
EARLY
bar.sync 0;
@%p2 bra MAIN;
REM:
and.b32 %r42,%r1,31; setp.eq.s32 %p3,%r42,0; @%p3 bra OUT;
st.shared.v4.b32 [%r10],{%r3,%r3,%r3,%r3}; st.shared.v4.b32 [%r10+16],{%r3,%r3,%r3,%r3};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33},[%r17];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r30,%r31,%r32,%r33},{%r30,%r31},{%f0,%f1,%f2,%f3};
OUT:
add.s64 %d7,%d2,%d3; st.global.v4.f32 [%d7],{%f0,%f1,%f2,%f3};
ret;
}
"""


@pytest.mark.parametrize(("early", "found"), [("", False), ("@!%p2 bra REM;", True)])
def test_what_is_left_over_is_stored_while_others_read(early: str, found: bool) -> None:
    """A last round that leaves before the barrier lets fast threads store what slow ones still read."""
    told = check_text(REST.replace("EARLY", early), "k.ptx").findings
    assert ("shared-unsynchronised" in {one.rule for one in told if one.tier in ("error", "likely")}) == found
