"""Each block of a cluster copies its half of a tile to both blocks, and so completes bytes at the other block's
mbarrier: that must be initialised before, which only a barrier of the cluster shows.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b16 %h<2>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r3,%r2,16384; mov.u32 %r4,%cluster_ctarank;
setp.ne.u32 %p1,%r1,0; @%p1 bra NI;
mbarrier.init.shared::cta.b64 [%r3],1;
fence.mbarrier_init.release.cluster;
NI: BARRIER
mul.lo.u32 %r5,%r4,4096; add.u32 %r5,%r2,%r5; MASK
@%p1 bra NC;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r3],8192;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5],[%d1],4096,[%r3],%h1;
NC:
TRY: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r3],0; @!%p2 bra TRY;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""
BOTH = "mov.b16 %h1,3;"
ITS_OWN = "cvt.u16.u32 %h1,%r4; add.u16 %h1,%h1,1;"
WHOLE = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
RELAXED = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;"


def accusations(barrier: str, mask: str = BOTH) -> set[tuple[str, str]]:
    text = KERNEL.replace("BARRIER", barrier).replace("MASK", mask)
    if mask == ITS_OWN:
        text = text.replace("4096", "8192")
    return {(one.rule, one.tier) for one in check_text(text, "k.ptx").findings if one.tier != "info"}


@pytest.mark.parametrize("barrier", [WHOLE, RELAXED, "bar.sync 0; " + WHOLE])
def test_the_cluster_meets_first(barrier: str) -> None:
    assert accusations(barrier) == set()


def test_a_barrier_of_the_block_says_nothing_of_another_block() -> None:
    assert accusations("bar.sync 0;") == {("barrier-unpublished", "likely")}


def test_a_copy_to_the_own_block_alone_needs_no_more() -> None:
    assert accusations("bar.sync 0;", ITS_OWN) == set()
