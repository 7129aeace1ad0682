"""A copy for the next step is guarded by what also ends the loop: in the last round none is left behind. The number of
steps comes from memory, in a loop around that one. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 list, .param .u64 .ptr .global map, .param .u32 n, .param .u64 out)
.reqntid 128
{
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %d<12>; .reg .f32 %f<4>;
ld.param.b64 %d1,[list]; ld.param.b64 %d2,[map]; ld.param.b64 %d4,[out]; ld.param.b32 %r4,[n];
mov.u32 %r0,%tid.x; setp.eq.u32 %p1,%r0,0; mov.u32 %r1,smem; add.u32 %r3,%r1,32768; mov.b32 %r20,0; mov.b32 %r21,0;
TILE:
ld.global.b32 %r2,[%d1]; add.s64 %d1,%d1,4;
@%p1 st.shared.b32 [%r1],%r21;
fence.proxy.async.shared::cta;
@%p1 mbarrier.init.shared::cta.b64 [%r3],1;
@%p1 mbarrier.init.shared::cta.b64 [%r3+8],1;
bar.sync 0;
setp.gt.s32 %p3,%r2,0; and.pred %p4,%p1,%p3;
@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r3],8192;
fence.proxy.async.shared::cta;
bar.sync 0;
mov.b32 %r5,0;
@%p4 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1],[%d2,{%r5,%r20}],[%r3];
mov.b32 %f0,0f00000000; mov.b32 %f1,%f0; mov.b32 %f2,%f0; mov.b32 %f3,%f0;
setp.lt.s32 %p5,%r2,1; @%p5 bra SKIP;
LEAST
mov.b32 %r8,0; mov.b32 %r9,0; mov.b32 %r10,0;
STEP:
setp.lt.s32 %p8,%r8,%r7;
shl.b32 %r11,%r9,3; add.s32 %r12,%r3,%r11;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p6,[%r12],%r10; @!%p6 bra WAIT;
shl.b32 %r13,%r9,13; add.s32 %r13,%r1,%r13; bfe.u32 %r17,%r13,4,14; cvt.u64.u32 %d5,%r17; or.b64 %d5,%d5,4611686293305294848;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d5,%d5,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1;
bar.sync 0;
xor.b32 %r9,%r9,1; setp.eq.s32 %p9,%r9,0; selp.b32 %r14,1,0,%p9; xor.b32 %r10,%r10,%r14;
shl.b32 %r15,%r9,3; add.s32 %r15,%r3,%r15; shl.b32 %r16,%r9,13; add.s32 %r16,%r1,%r16;
and.pred %p10,%p1,%p8;
@%p10 mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r15],8192;
bar.sync 0;
@%p10 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r16],[%d2,{%r8,%r20}],[%r15];
add.s32 %r8,%r8,1; setp.ne.s32 %p11,%r8,%r2; @%p11 bra STEP;
SKIP:
wgmma.wait_group.sync.aligned 0;
bar.sync 0;
@%p1 mbarrier.inval.shared::cta.b64 [%r3]; @%p1 mbarrier.inval.shared::cta.b64 [%r3+8];
bar.sync 0;
cvt.u64.u32 %d6,%r0; shl.b64 %d6,%d6,2; add.s64 %d7,%d4,%d6;
st.global.f32 [%d7],%f0;
add.s32 %r20,%r20,1; setp.lt.s32 %p7,%r20,%r4; @%p7 bra TILE;
ret;
}
"""


@pytest.mark.parametrize(
    ("least", "found"),
    [
        ("sub.s32 %r7,%r2,1;", False),
        ("add.s32 %r7,%r2,-1;", False),
        ("mov.b32 %r6,%r2; sub.s32 %r7,%r6,1;", False),
        ("mov.b32 %r7,%r2;", True),  # one slip: the last round copies, too, and nobody waits for that
        ("add.s32 %r7,%r2,1;", True),
    ],
)
def test_the_last_round(least: str, found: bool) -> None:
    loud = [
        one.rule
        for one in check_text(KERNEL.replace("LEAST", least), "k.ptx").findings
        if one.tier in ("error", "likely")
    ]
    assert ("copy-incomplete" in loud) == found, loud
    assert found or not loud
