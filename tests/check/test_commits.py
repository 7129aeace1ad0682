"""tcgen05.commit arrives once at the mbarrier that it names, when earlier tcgen05 operations of its thread are
complete (9.7.16.12.1): so waits that lack it, or anything else, are found. What a commit tells several blocks of
a cluster is not judged where the PTX does not say how many it has; nothing is said of the waits of such kernels.
Pairs of blocks are executed together (test_block_pairs.py).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid 96, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<4>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.eq.u32 %p1,%r1,0; ld.param.u64 %rd1,[in];
@%p1 mbarrier.init.shared::cta.b64 [%r2],COUNT;
@%p1 mbarrier.init.shared::cta.b64 [%r2+8],1;
bar.sync 0;
BODY
ret;
}
"""
COMMIT = "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];"
ELSEWHERE = COMMIT.replace("[%r2]", "[%r2+8]")
PLAIN = COMMIT.replace(".shared::cluster", "")  # a generic address
MULTICAST = COMMIT.replace("cluster.b64", "cluster.multicast::cluster.b64").replace("];", "],3;")
PAIR = COMMIT.replace("cta_group::1", "cta_group::2")
PAIR_BEHIND = MULTICAST.replace("cta_group::1", "cta_group::2").replace(",3;", ",12;")
ARRIVE = "@%p1 mbarrier.arrive.shared::cta.b64 _,[%r2];"
WAIT = "V0: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0; @!%p2 bra V0;"
AGAIN = "V1: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],1; @!%p2 bra V1;"
ONE = "@!%p1 bra E; BODY E:"
MAPPED = "mov.u32 %r3,%cluster_ctarank; xor.b32 %r3,%r3,1; mapa.shared::cluster.u32 %r4,%r2,%r3;"


def found(body: str, count: int = 1) -> set[tuple[str, str]]:
    text = KERNEL.replace("BODY", body).replace("COUNT", str(count))
    findings = check_text(text, "k.ptx").findings
    return {(one.rule, one.tier) for one in findings if one.tier in ("error", "likely")}


STUCK = {("barrier-stuck", "error")}


@pytest.mark.parametrize(
    ("body", "count", "expected"),
    [
        (COMMIT + WAIT, 1, set()),
        (PLAIN + WAIT, 1, set()),
        (ELSEWHERE + WAIT, 1, STUCK),
        (COMMIT + WAIT, 2, STUCK),
        (COMMIT + ARRIVE + WAIT, 2, set()),
        (COMMIT + WAIT + AGAIN, 1, STUCK),
        (COMMIT + WAIT + COMMIT + AGAIN, 1, set()),
        (COMMIT.replace("@%p1 ", "") + WAIT, 96, set()),  # each thread that executes it
        (COMMIT + "bar.sync 1,96;", 1, set()),
        (COMMIT + "bar.sync 1,128;", 1, STUCK),
        (COMMIT.replace("[%r2]", "[%r2+16]") + WAIT, 1, {("barrier-uninitialised", "error")}),
    ],
    ids=[
        "right",
        "a generic address",
        "at another mbarrier",
        "one of two arrivals",
        "two of two",
        "a phase too many",
        "two phases",
        "by every thread",
        "a barrier beside it",
        "a barrier that is stuck beside it",
        "at none",
    ],
)
def test_a_commit_arrives_once(body: str, count: int, expected: set[tuple[str, str]]) -> None:
    assert found(body, count) == expected


@pytest.mark.parametrize("count", [1, 2])
def test_what_several_blocks_are_told_is_left_open(count: int) -> None:
    assert not found(MULTICAST + WAIT, count)
    assert not found(MULTICAST + WAIT + "bar.sync 1,96;", count)
    first = f"setp.lt.u32 %p3,%r1,32; @%p3 bra X; bar.sync 1,96; bra E; X: {WAIT} bar.sync 1,96; E:"
    assert not found(MULTICAST + first, count)


def test_a_commit_of_a_pair_arrives_once() -> None:
    """Without a mask it arrives in the block whose mbarrier it names."""
    assert not found(PAIR + WAIT, 1)
    assert found(PAIR + WAIT, 2) == {("barrier-stuck", "likely")}


@pytest.mark.parametrize(
    ("commit", "said"),
    [(COMMIT, False), (MULTICAST, True), (PAIR, False), (PAIR_BEHIND, True)],
    ids=["plain", "multicast", "of a pair", "of more blocks than a pair has"],
)
def test_what_is_left_open_is_said_aloud(commit: str, said: bool) -> None:
    report = check_text(KERNEL.replace("BODY", commit + WAIT).replace("COUNT", "1"), "k.ptx")
    assert ("tcgen05.commit" in {one.instruction for one in report.not_judged}) == said


@pytest.mark.parametrize("commit", [MULTICAST, PAIR], ids=["multicast", "of a pair"])
def test_what_no_phase_can_end_is_judged_beside_it(commit: str) -> None:
    """Another block may do something at an mbarrier, and nothing else."""
    assert {rule for rule, _ in found(commit + "bar.sync 1,128;")} == {"barrier-stuck"}
    assert {rule for rule, _ in found(commit + WAIT.replace("[%r2]", "[%r2+16]"))} == {
        "barrier-uninitialised"
    }


def test_a_commit_at_a_mapped_mbarrier() -> None:
    """The other block does the same here."""
    assert not found(MAPPED + COMMIT.replace("[%r2]", "[%r4]") + WAIT)


def test_the_mbarrier_must_be_known_to_be_initialised() -> None:
    late = "@%p1 mbarrier.init.shared::cta.b64 [%r2+16],1; MEET setp.eq.u32 %p3,%r1,64;"
    commit = late + COMMIT.replace("%p1", "%p3").replace("[%r2]", "[%r2+16]")
    assert not found(commit.replace("MEET", "bar.sync 0;"))
    assert found(commit.replace("MEET", "")) == {("barrier-unpublished", "error")}


def test_a_thread_does_not_know_when_its_commit_arrives() -> None:
    """It may pass a wait for the phase before, or come to it too late."""
    right = ONE.replace("BODY", COMMIT + WAIT)
    assert not found(right)
    assert found(right.replace("[%r2],0", "[%r2],1")) == STUCK
    text = KERNEL.replace("BODY", right.replace("[%r2],0", "[%r2],1")).replace("COUNT", "1")
    (finding,) = (one for one in check_text(text, "k.ptx").findings if one.tier == "error")
    assert "a thread that comes early does not wait" in finding.message


COPY = """
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+8],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+1024],[%rd1],1024,[%r2+8];
"""
FULL = """setp.ge.u32 %p4,%r1,64; @%p4 bra X; setp.ge.u32 %p4,%r1,32; @%p4 bra C;
@!%p1 bra X; COPY WAIT COPY bra X;
C: setp.ne.u32 %p5,%r1,32; @%p5 bra X;
V2: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2+8],0; @!%p2 bra V2;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2]; X:
""".replace("COPY", COPY)


@pytest.mark.parametrize(("wait", "expected"), [(WAIT, set()), ("", {("copy-incomplete", "error")})])
def test_a_commit_releases_a_stage(wait: str, expected: set[tuple[str, str]]) -> None:
    """It comes behind the wait for the copy, so who waits for it may copy again."""
    assert found(FULL.replace("WAIT", wait)) == expected
