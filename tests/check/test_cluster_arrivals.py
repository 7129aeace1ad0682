"""Arrivals at the cluster's barrier, and at mbarriers of a block that may end before them.

"Each thread must arrive at the barrier only once before the barrier completes" (9.7.13.3). A block has its shared
memory only as long as it executes (5.1.7).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
ARRIVE, WAIT = "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"
MEET = ARRIVE + WAIT
LANES = "@%p1 barrier.cluster.arrive; @!%p1 barrier.cluster.arrive;"
BY_LANES = "barrier.cluster.arrive; barrier.cluster.wait;"
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 16 .b8 sm[64];
.visible .entry k()
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>;
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; setp.ne.u32 %p1,%r1,0; mov.u32 %r3,%cluster_ctarank; setp.ne.u32 %p2,%r3,0;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],2;
@!%p1 fence.mbarrier_init.release.cluster;
START
@%p1 bra SENT;
mapa.shared::cluster.u32 %r4,%r2,0;
mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r4];
SENT:
BEHIND
END
ret;
}
"""
# Block 0 waits for both arrivals.
LEADER = "@%p2 bra PAST; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3,[%r2],0; @!%p3 bra W; PAST:"


def tiers(start: str, behind: str, end: str, kernel: str = KERNEL) -> set[tuple[str, str]]:
    text = kernel.replace("START", start).replace("BEHIND", behind).replace("END", end)
    return loud(text)


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (MEET, False),
        (MEET + MEET, False),
        (ARRIVE + MEET, True),
        (MEET + ARRIVE + MEET, True),
        # The second warp waits, and tells the first one of that.
        (ARRIVE + "setp.lt.u32 %p4,%r1,32; @%p4 bra A;" + WAIT + "A: bar.sync 0;" + MEET, False),
        (ARRIVE + "setp.lt.u32 %p4,%r1,32; @%p4 bra A;" + WAIT + "A:" + MEET, True),
        # Lanes of a warp arrive one after the other, each of them once; or the first lane twice.
        (MEET + LANES + "barrier.cluster.wait;", False),
        (MEET + LANES + "@!%p1 barrier.cluster.arrive; barrier.cluster.wait;", True),
        (f"@%p1 bra A; {BY_LANES} bra B; A: {BY_LANES} B: {BY_LANES}", False),
        (f"@%p1 bra A; {BY_LANES} barrier.cluster.arrive; bra B; A: {BY_LANES} B: {BY_LANES}", True),
    ],
    ids=[
        "once", "twice, with waits", "again", "again, later", "who knows of a wait", "who does not",
        "lanes", "a lane again", "lanes on two ways", "a lane again on its way",
    ],
)  # fmt: skip
def test_arrivals_before_the_barrier_has_completed(start: str, again: bool) -> None:
    found = tiers(start, LEADER, MEET)
    assert (("likely", "barrier-count") in found) == again
    assert again or not found


@pytest.mark.parametrize(
    ("behind", "end", "ends"),
    [
        (LEADER, MEET, False),
        (LEADER, "", False),  # it is what block 0 waits for
        ("", MEET, False),
        ("", "", True),
        ("", "bar.sync 0;", True),
        ("", ARRIVE, True),
        (LEADER.replace("@%p2", "@!%p2"), "", True),  # block 1 waits, for what comes to block 0
    ],
    ids=[
        "waits, and meets",
        "waits",
        "meets",
        "neither",
        "meets its own threads",
        "only arrives",
        "the other waits",
    ],
)
def test_a_block_that_may_end_before_others_arrive(behind: str, end: str, ends: bool) -> None:
    found = tiers(MEET, behind, end)
    stuck = {("likely", "barrier-stuck")}
    assert found - stuck == ({("likely", "cluster-ended")} if ends and not found & stuck else set())
    assert bool(found) == ends


def test_an_mbarrier_that_ends_after_the_wait_for_an_arrival() -> None:
    """What a relaxed arrival makes known is nothing; but that it has come, who waits for its phase knows."""
    inval = "bar.sync 0; @%p1 bra LAST; mbarrier.inval.shared::cta.b64 [%r2]; LAST:"
    assert tiers(MEET, LEADER + inval, "") == set()
    for leader in (LEADER, LEADER.replace("acquire", "relaxed")):
        relaxed = KERNEL.replace("arrive.release", "arrive.relaxed")
        assert tiers(MEET, leader + inval, "", relaxed) == set()
    assert tiers(MEET, inval, "") == {("likely", "cluster-ended")}


LOADS = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 16 .b8 sm[256];
.visible .entry k(.param .u64 out)
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .b32 %r<16>; .reg .b64 %d<4>; .reg .f32 %f<8>; .reg .pred %p<4>;
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; mov.u32 %r3,%cluster_ctarank; xor.b32 %r3,%r3,1; mad.lo.u32 %r4,%r1,4,%r2;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
st.shared.b32 [%r4],%r1;
START
mapa.shared::cluster.u32 %r5,%r4,%r3; ld.shared::cluster.b32 %r6,[%r5];
END
ld.param.u64 %d1,[out]; mad.wide.u32 %d1,%r1,4,%d1; st.global.b32 [%d1],%r6;
ret;
}
"""


@pytest.mark.parametrize(
    ("start", "end", "rules"),
    [
        (MEET, MEET, set()),
        (ARRIVE + MEET, MEET, {"barrier-count"}),
        (MEET + ARRIVE, MEET, {"barrier-count"}),
        (MEET + ARRIVE, WAIT, {"cluster-ended"}),  # it arrives before it loads
        (MEET + WAIT, MEET, {"barrier-stuck"}),
        (WAIT, MEET, {"barrier-stuck"}),  # nobody has arrived
        (WAIT + ARRIVE, MEET, {"barrier-stuck"}),
        ("setp.lt.u32 %p1,%r1,32; @%p1 barrier.cluster.arrive.aligned;" + WAIT, MEET, {"barrier-stuck"}),
        (
            "setp.lt.u32 %p1,%r1,32; @%p1 barrier.cluster.arrive.aligned; @%p1 bra ON;"
            + ARRIVE
            + "ON:"
            + WAIT,
            MEET,
            set(),
        ),
    ],
    ids=[
        "right",
        "again",
        "again, later",
        "arrives early",
        "waits twice",
        "waits only",
        "waits first",
        "one warp waits only",
        "each warp arrives at its own place",
    ],
)
def test_a_cluster_that_meets_without_mbarriers(start: str, end: str, rules: set[str]) -> None:
    report = check_text(LOADS.replace("START", start).replace("END", end), "k.ptx")
    assert not report.faults
    assert {one.rule for one in report.findings if one.tier in ("error", "likely")} == rules


@pytest.mark.parametrize("waits", [WAIT, WAIT + WAIT], ids=["once", "twice"])
def test_threads_that_wait_at_the_barrier_and_never_arrive(waits: str) -> None:
    text = LOADS.replace("mapa.shared::cluster.u32 %r5,%r4,%r3; ld.shared::cluster.b32 %r6,[%r5];", "")
    text = text.replace("st.shared.b32 [%r4],%r1;", "")
    assert loud(text.replace("START", "").replace("END", waits)) == {("error", "barrier-stuck")}


OUTSIDE = {("likely", "cluster-ended")}


@pytest.mark.parametrize(
    ("rank", "found"),
    [
        ("xor.b32 %r7,%r3,1;", set()),  # %r3 is the other block
        ("mov.u32 %r7,%r3;", set()),
        ("add.u32 %r7,%r3,1;", OUTSIDE),
        ("mov.u32 %r7,2;", OUTSIDE),
        ("add.u32 %r7,%r3,1; and.b32 %r7,%r7,1;", set()),
        ("mov.u32 %r7,%cluster_nctarank;", OUTSIDE),
        ("mov.u32 %r7,%cluster_nctarank; sub.u32 %r7,%r7,1;", set()),
        ("ld.global.u32 %r7,[%d2];", set()),  # nobody knows
    ],
    ids=["its own", "the other", "the next one", "two", "the next one, around", "how many", "the last one", "unknown"],
)  # fmt: skip
@pytest.mark.parametrize(
    "access",
    [
        "ld.shared::cluster.b32 %r6,[%r5];",
        "@%p1 ld.shared::cluster.b32 %r6,[%r5+4];",
        "mov.u32 %r6,0; @!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r5+128];",
    ],
    ids=["load", "load by some", "arrival"],
)
def test_a_block_that_the_cluster_does_not_have(rank: str, found: set[tuple[str, str]], access: str) -> None:
    """A rank that is mapped, and is no address of an access, is no matter."""
    arrives = "mbarrier" in access
    text = LOADS.replace("ld.shared::cluster.b32 %r6,[%r5];", access).replace("%r5,%r4,%r3", "%r5,%r8,%r7")
    text = text.replace("st.shared.b32 [%r4],%r1;", "setp.ne.u32 %p1,%r1,0; mov.u32 %r8,%r2;" + rank)
    init = "@!%p1 mbarrier.init.shared::cta.b64 [%r2+128],2;" if arrives else "st.shared.b32 [%r4],%r1;"
    text = text.replace("START", init + MEET).replace("END", MEET)
    told = loud(text)
    assert told == found or (found and ("likely", "cluster-ended") in told and arrives)
    assert loud(text.replace(access, "mov.u32 %r6,0;")) == set()
