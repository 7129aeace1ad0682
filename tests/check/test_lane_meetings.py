"""bar.warp.sync waits until all threads of its mask have executed one with the same mask (9.7.13.2): one lane waits
for an mbarrier, and others of its warp, which would arrive there, wait for it.
"""

from __future__ import annotations

import pytest

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 16 .b8 sm[1024];
.visible .entry k(.param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; setp.ne.u32 %p1,%r1,0; and.b32 %r3,%r1,31; setp.ne.u32 %p2,%r3,0;
shr.u32 %r4,%r1,5; shl.b32 %r4,%r4,3; add.u32 %r4,%r4,%r2;
@!%p2 mbarrier.init.shared::cta.b64 [%r4],31;
bar.sync 0;
@%p2 bra OTHERS;
W: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r4],0; @!%p3 bra W;
LANE
bra JOIN;
OTHERS:
BODY
JOIN:
END
ret;
}
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,[%r4];"
ALL, REST = "bar.warp.sync -1;", "bar.warp.sync 0xfffffffe;"
STUCK = {("error", "barrier-stuck")}


def tiers(lane: str, body: str, end: str, threads: int = 32) -> set[tuple[str, str]]:
    text = KERNEL.replace("LANE", lane).replace("BODY", body).replace("END", end)
    return loud(text.replace("THREADS", str(threads)))


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    ("lane", "body", "end", "stuck"),
    [
        ("", ARRIVE, ALL, False),
        ("", ARRIVE + ALL, ALL, False),  # it meets the first one at the end, and the second one not at all
        ("", ALL + ARRIVE, "", True),
        ("", ALL + ARRIVE, ALL, True),
        (ALL, ALL + ARRIVE, "", True),
        (ALL, ARRIVE + ALL, "", False),
        ("", REST + ARRIVE, "", False),
        ("", REST + ARRIVE, ALL, False),
        ("", ARRIVE + REST, ALL, False),
        ("", "", ALL + "@%p2 " + ARRIVE, True),
        ("", "@%p2 " + ARRIVE, "@%p2 " + REST, False),
    ],
    ids=[
        "arrival, then all meet", "meet before, too", "meet, then arrival", "and meet again", "one each, too early",
        "one each", "without the lane", "without it, then all", "arrival, without it, then all",
        "behind the join, too early", "behind the join",
    ],
)  # fmt: skip
def test_lanes_wait_for_the_one_that_waits(lane: str, body: str, end: str, stuck: bool, threads: int) -> None:
    assert tiers(lane, body, end, threads) == (STUCK if stuck else set())


def test_lanes_that_have_ended_are_not_waited_for() -> None:
    assert tiers("", "setp.gt.u32 %p4,%r3,15; @%p4 bra GONE; bar.warp.sync -1; GONE: " + ARRIVE, "") == STUCK
    ends = "setp.gt.u32 %p4,%r3,15; @!%p4 bra STAY; " + ARRIVE + " exit; STAY: bar.warp.sync 0xfffe; "
    assert tiers("", ends + ARRIVE, "") == set()
    # Lane 0 is one of the mask.
    assert tiers("", ends.replace("0xfffe", "0xffff") + ARRIVE, "") == STUCK


def test_halves_with_masks_of_their_own() -> None:
    half = "setp.gt.u32 %p4,%r3,15; @%p4 bra HIGH; bar.warp.sync MASK; bra SENT; HIGH: bar.warp.sync 0xffff0000; SENT: "
    assert tiers("", half.replace("MASK", "0x0000fffe") + ARRIVE, "") == set()
    assert tiers("", half.replace("MASK", "0x0000ffff") + ARRIVE, "") == STUCK
