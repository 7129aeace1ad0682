"""Multicast by masks that are computed from a block's place in its cluster: who fills which bytes of which block.

A copy writes the same place in each block of its mask, and completes bytes at the mbarrier there (9.7.9.25.4). Two
blocks that fill the same bytes of one write them at once.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
KERNEL = f"""
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid THREADS, 1, 1
.explicitcluster
.reqnctapercluster SHAPE
{{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1,[in]; mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0;
mov.u32 %r3,%cluster_ctarank; mov.u32 %r4,%cluster_ctaid.x; mov.u32 %r5,%cluster_ctaid.y; mov.u32 %r6,1;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+8192],1;
@!%p1 fence.mbarrier_init.release.cluster;
{MEET}
@%p1 bra PF;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+8192],EXPECTED;
MASK cvt.u16.u32 %h1,%r10;
PART shl.b32 %r11,%r11,10; add.u32 %r12,%r2,%r11; cvt.u64.u32 %d2,%r11; add.s64 %d1,%d1,%d2;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r12],[%d1],1024,[%r2+8192],%h1;
PF: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3,[%r2+8192],0; @!%p3 bra PF;
setp.ge.u32 %p2,%r1,128; @%p2 bra OUT;
mov.b64 %d6,0x0000001000080000; and.b32 %r20,%r2,0x3ffff; shr.u32 %r20,%r20,4; cvt.u64.u32 %d7,%r20; or.b64 %d6,%d6,%d7;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0,%f1,%f2,%f3}},%d6,%d6,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
OUT: {MEET}
ret;
}}
"""
PAIR, SQUARE = "2, 1, 1", "2, 2, 1"
BOTH = "xor.b32 %r10,%r3,1; shl.b32 %r10,%r6,%r10; shl.b32 %r13,%r6,%r3; or.b32 %r10,%r10,%r13;"
OWN, OTHER = "shl.b32 %r10,%r6,%r3;", "xor.b32 %r10,%r3,1; shl.b32 %r10,%r6,%r10;"
ROW = "shl.b32 %r13,%r5,1; mov.u32 %r10,3; shl.b32 %r10,%r10,%r13;"  # the blocks with the same y
COLUMN = "mov.u32 %r10,5; shl.b32 %r10,%r10,%r4;"  # those with the same x
BY_RANK, BY_X, BY_Y, ALIKE = "mov.u32 %r11,%r3;", "mov.u32 %r11,%r4;", "mov.u32 %r11,%r5;", "mov.u32 %r11,0;"


@pytest.mark.parametrize("threads", [128, 160])  # of the last warp, no warpgroup has the rest
@pytest.mark.parametrize(
    ("shape", "mask", "part", "expected", "rules"),
    [
        (PAIR, BOTH, BY_RANK, 2048, set()),
        (PAIR, "mov.u32 %r10,3;", BY_RANK, 2048, set()),
        (PAIR, OWN, BY_RANK, 2048, {"barrier-stuck"}),
        (PAIR, OTHER, BY_RANK, 2048, {"barrier-stuck"}),
        (PAIR, BOTH, ALIKE, 2048, {"copy-incomplete"}),
        (SQUARE, ROW, BY_X, 2048, set()),
        (SQUARE, COLUMN, BY_Y, 2048, set()),
        (SQUARE, ROW, BY_Y, 2048, {"copy-incomplete"}),
        (SQUARE, COLUMN, BY_X, 2048, {"copy-incomplete"}),
        (SQUARE, "mov.u32 %r10,15;", BY_RANK, 4096, set()),
        (SQUARE, ROW, BY_X, 4096, {"barrier-stuck"}),
    ],
    ids=[
        "both", "both, as a number", "own", "other", "the same bytes", "row", "column", "a row's bytes by column",
        "a column's bytes by row", "all", "row, expects those of all",
    ],
)  # fmt: skip
def test_who_fills_which_bytes(
    shape: str, mask: str, part: str, expected: int, rules: set[str], threads: int
) -> None:
    text = KERNEL.replace("SHAPE", shape).replace("MASK", mask).replace("PART", part)
    report = check_text(text.replace("EXPECTED", str(expected)).replace("THREADS", str(threads)), "k.ptx")
    assert not report.faults
    assert {one.rule for one in report.findings if one.tier in ("error", "likely")} == rules
