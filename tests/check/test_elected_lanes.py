"""Which lane elect.sync and shfl.sync.idx choose, as an execution follows it.

elect.sync elects a lane of its mask that has not exited; its first result is that lane's number. shfl.sync.idx
brings the number of a lane of the thread's own part of the warp (9.7.9.6).
"""

from __future__ import annotations

import pytest

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sm[8192];
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; and.b32 %r3,%r1,31; setp.ne.u32 %p1,%r1,0; setp.lt.u32 %p2,%r3,16;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+4096],COUNT;
bar.sync 0;
CHOOSE
@!%p3 bra WAIT;
shr.u32 %r4,%r1,3; shl.b32 %r4,%r4,8; add.u32 %r4,%r4,%r2;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+4096],256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4],[%d1],256,[%r2+4096];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p4,[%r2+4096],0; @!%p4 bra WAIT;
ret;
}
"""
STUCK = {("error", "barrier-stuck")}
UPPER = "mov.pred %p3,0; @%p2 bra WAIT; elect.sync RESULT|%p3,0xffff0000;"
LANE = "setp.eq.u32 %p3,%r3,%r5;"


def tiers(choose: str, count: int) -> set[tuple[str, str]]:
    return loud(KERNEL.replace("CHOOSE", choose).replace("COUNT", str(count)))


@pytest.mark.parametrize(
    ("choose", "arrivals"),
    [
        (UPPER.replace("RESULT", "_"), 2),
        (UPPER.replace("RESULT", "%r5") + LANE, 2),
        ("elect.sync %r5|%p3,-1;" + LANE, 2),
        ("shfl.sync.idx.b32 %r5,%r3,0,0x1f,-1;" + LANE, 2),
        ("shfl.sync.idx.b32 %r5,%r3,0,0x101f,-1;" + LANE, 4),  # one lane of each half
        ("shfl.sync.idx.b32 %r5,%r3,16,0x101f,-1;" + LANE, 4),
        ("shfl.sync.idx.b32 %r5,%r3,0,0x181f,-1;" + LANE, 8),  # and of each quarter
    ],
    ids=["of a half", "its number", "its number, of all", "of the warp", "of halves", "of upper lanes", "of quarters"],
)  # fmt: skip
def test_which_lane_is_chosen(choose: str, arrivals: int) -> None:
    assert tiers(choose, arrivals) == set()
    assert tiers(choose, arrivals + 1) == STUCK


def test_a_lane_that_has_exited_is_not_elected() -> None:
    """Another one is; the text does not say which."""
    assert tiers("setp.lt.u32 %p5,%r3,8; @%p5 exit; elect.sync _|%p3,-1;", 2) == set()
    assert tiers("setp.gt.u32 %p5,%r3,8; @%p5 exit; elect.sync _|%p3,-1;", 3) == STUCK
