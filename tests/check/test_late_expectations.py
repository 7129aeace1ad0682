"""Bytes that are expected of a phase of an mbarrier that may have ended by then.

A phase is complete when its pending arrivals and its bytes come to zero (9.7.13.15.6). So who expects bytes of it
must come before an arrival that it lacks, or before bytes that it lacks; or else the bytes may be those of the next
phase, and this one ends without them.
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
.visible .entry k(.param .u64 in)
.reqntid 96, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0; setp.eq.u32 %p2,%r1,32;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+8192],COUNT;
bar.sync 0;
@%p1 bra SECOND;
FIRST
SECOND:
MEET
@!%p2 bra WAIT;
OTHER
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+8192],0; @!%p3 bra WAIT;
ld.shared.b32 %r4,[%r2]; ld.shared.b32 %r5,[%r2+4096];
ret;
}
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,[%r2+8192];"
EXPECT = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2+8192],1024;"
BOTH = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+8192],1024;"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d1],1024,[%r2+8192];"
UPPER = COPY.replace("[%r2],", "[%r2+4096],")
DROP = "mbarrier.arrive_drop.shared::cta.b64 _,[%r2+8192];"
SYNC = "bar.sync 1;"
LATE = {("likely", "barrier-count")}


def tiers(first: str, other: str, count: int, meet: str = "") -> set[tuple[str, str]]:
    text = KERNEL.replace("FIRST", first).replace("OTHER", other).replace("COUNT", str(count))
    return loud(text.replace("MEET", meet))


@pytest.mark.parametrize(
    ("first", "other", "count", "meet", "late"),
    [
        (EXPECT + ARRIVE + COPY, BOTH + UPPER, 2, "", False),
        (ARRIVE + EXPECT + COPY, BOTH + UPPER, 2, "", True),
        (ARRIVE + EXPECT + COPY, ARRIVE, 2, "", True),
        (BOTH + EXPECT + COPY + UPPER, ARRIVE, 2, "", False),  # the bytes of the first copy are lacking
        (BOTH + COPY + EXPECT + UPPER, ARRIVE, 2, "", True),  # they may have come
        (BOTH + EXPECT + COPY + UPPER, "", 1, "", False),
        (EXPECT + COPY, ARRIVE, 1, SYNC, False),  # who arrives knows of it
        (EXPECT + COPY, ARRIVE, 1, "", True),
        (EXPECT + COPY, ARRIVE, 1, "bar.warp.sync -1;", True),
        (EXPECT + COPY + EXPECT + UPPER + ARRIVE, "", 1, "", False),
        # Threads that drop out leave the phase that goes on with as many arrivals.
        (EXPECT + COPY + DROP, DROP, 2, "", False),
        (DROP + EXPECT + COPY, DROP, 2, "", True),
    ],
    ids=[
        "before its arrival", "behind its arrival", "other without bytes", "behind bytes", "behind their copy",
        "one arrival, behind bytes", "ordered", "not ordered", "another warp's barrier",
        "two before the arrival", "before it drops out", "behind that",
    ],
)  # fmt: skip
def test_bytes_of_a_phase_that_may_have_ended(
    first: str, other: str, count: int, meet: str, late: bool
) -> None:
    assert tiers(first, other, count, meet) == (LATE if late else set())


def test_a_phase_that_surely_ends_with_the_bytes_of_its_copy() -> None:
    """With one arrival, an execution shows it: the bytes are of the next phase, for which nobody waits."""
    assert tiers(BOTH + COPY + EXPECT + UPPER, "", 1) == {("error", "copy-incomplete")}
