"""One lane waits until a stage is free, and other lanes of its warp start copies into it: they must have met since.

A wait makes known to the thread that executes it what others did before they arrived (9.7.13.15.16); to others of its
warp, bar.warp.sync makes that known (9.7.13.2).
"""

from __future__ import annotations

import pytest

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid THREADS, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .f32 %f<8>;
ld.param.u64 %d1,[in]; ld.param.u32 %r9,[n]; mov.u32 %r8,0;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0; and.b32 %r12,%r1,31; shl.b32 %r13,%r12,8;
mul.wide.u32 %d3,%r12,256; add.s64 %d1,%d1,%d3;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16384],1;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16392],USERS;
bar.sync 0;
mov.u32 %r4,0; setp.lt.u32 %p2,%r1,USERS; @%p2 bra TAKE;
mov.u32 %r4,1; setp.ne.u32 %p1,%r12,0; add.u32 %r13,%r13,%r2;
FILL:
BODY
xor.b32 %r4,%r4,1; add.u32 %r8,%r8,1; setp.lt.u32 %p5,%r8,%r9; @%p5 bra FILL; bra DONE;
TAKE:
PF: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+16384],%r4; @!%p3 bra PF;
USE
mbarrier.arrive.shared::cta.b64 _,[%r2+16392];
xor.b32 %r4,%r4,1; add.u32 %r8,%r8,1; setp.lt.u32 %p5,%r8,%r9; @%p5 bra TAKE;
DONE: ret;
}
"""
LOAD = "ld.shared.v4.b32 {%r16,%r17,%r18,%r19},[%r2+512];"
MULTIPLY = """
mov.b64 %d6,0x0000001000080000; and.b32 %r20,%r2,0x3ffff; shr.u32 %r20,%r20,4; cvt.u64.u32 %d7,%r20; or.b64 %d6,%d6,%d7;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d6,%d6,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
WAIT = "PE: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+16392],%r4; @!%p3 bra PE;\n"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+16384],8192;\n"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13],[%d1],256,[%r2+16384];\n"
ALONE = "@%p1 bra GO;\n" + WAIT + EXPECT + "GO:\n"
MEET = "bar.warp.sync -1;\n"
SHUFFLE = "shfl.sync.idx.b32 %r21,%r12,0,31,-1;\n"
HALF = "setp.lt.u32 %p4,%r12,16; @%p4 bra HALF;\n" + WAIT + "HALF:\n"


@pytest.mark.parametrize("use", [LOAD, MULTIPLY], ids=["loads", "products"])
@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (ALONE + COPY, True),
        (ALONE + MEET + COPY, False),
        (ALONE + "bar.sync 1,32;\n" + COPY, False),
        (MEET + ALONE + COPY, True),
        (WAIT + "@!%p1 " + EXPECT + COPY, False),  # all of them wait
        (HALF + "@!%p1 " + EXPECT + COPY, True),
        (HALF + MEET + "@!%p1 " + EXPECT + COPY, False),
        (ALONE + WAIT.replace("PE", "PA") + COPY, False),
        (ALONE + "@%p1 bra NEXT;\n" + COPY.replace("256", "8192") + "NEXT:\n", False),  # it copies alone
        (ALONE + SHUFFLE + COPY, False),  # whether that is a barrier is a reading of the text
    ],
    ids=[
        "lane 0 waits", "and all meet", "and all meet at a named barrier", "meet before", "all wait", "half of them",
        "half, and all meet", "lane 0, then all", "lane 0 copies", "a shuffle",
    ],
)  # fmt: skip
def test_lanes_copy_behind_the_wait_of_another(body: str, wrong: bool, use: str) -> None:
    users = 32 if use == LOAD else 128
    text = KERNEL.replace("BODY", body).replace("USE\n", use + "\n").replace("USERS", str(users))
    found = loud(text.replace("THREADS", str(users + 32)))
    rule = "shared-unsynchronised" if use == LOAD else "shared-overwritten"
    assert found == ({("likely", rule)} if wrong else set())
