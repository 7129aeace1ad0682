"""Addresses of mbarriers with the bit cleared by which the two blocks of a pair differ on a chip.

Each of two blocks copies into its own shared memory, waits, and tells the first one. With .cta_group::2 the mbarrier may lie in the other
block of the pair, and then both copies signal that of the first block. Without it, a copy signals the mbarrier of the
block into which it copies: Mojo clears the bit for all copies. What must be found was written down
before the checker ran.
"""

from __future__ import annotations

import pytest

from .changed_kernels import loud

KERNEL = """.version 8.7
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[2048];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<3>;
mov.u32 %r1,%tid.x; mov.u32 %r2,full; mov.u32 %r3,tile; mov.b64 %d1,map; mov.u32 %r0,0;
setp.eq.u32 %p1,%r1,0;
@%p1 mbarrier.init.shared::cta.b64 [%r2],1;
@%p1 mbarrier.init.shared::cta.b64 [done],2;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait;
MASK
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2],1024;
@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytesPAIR [%r3],[%d1,{%r0,%r0}],[%r4];
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0;
@!%p2 bra FULL;
shl.b32 %r5,%r1,5; add.u32 %r5,%r5,%r3;
ld.shared.b32 %r6,[%r5];
mov.u32 %r7,done; mapa.shared::cluster.u32 %r8,%r7,0;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r8];
ld.param.u64 %d0,[out];
st.global.b32 [%d0],%r6;
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
"""
OWN, CLEARED, ALIGNED = "mov.u32 %r4,%r2;", "and.b32 %r4,%r2,-16777217;", "and.b32 %r4,%r2,-16777224;"
STUCK = {"barrier-stuck"}


@pytest.mark.parametrize(
    ("mask", "pair", "rules"),
    [
        pytest.param(OWN, "", set(), id="own"),
        pytest.param(CLEARED, "", set(), id="cleared"),
        pytest.param(ALIGNED, "", set(), id="cleared, with bits that are 0"),
        pytest.param(OWN, ".cta_group::2", set(), id="own, of a pair"),
        pytest.param(CLEARED, ".cta_group::2", STUCK, id="cleared, of a pair"),
        pytest.param(ALIGNED, ".cta_group::2", STUCK, id="cleared, with bits that are 0, of a pair"),
    ],
)
def test_whose_mbarrier_is_signalled(mask: str, pair: str, rules: set[str]) -> None:
    assert {rule for _, rule in loud(KERNEL.replace("MASK", mask).replace("PAIR", pair))} == rules
