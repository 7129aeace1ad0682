"""What the head of a kernel leaves open, and what its parameters decide, keeps no fault from being told: blocks whose
greatest size stands there, a cluster in which each block reaches itself alone, and ways that a parameter decides.

Each wrong kernel is one slip away from a right one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

RING = (Path(__file__).parent / "cases" / "k01_phase_bits.ptx").read_text()
ARRIVAL = "mbarrier.arrive.shared::cta.b64 _,[%r24];"
FAR = (
    "mov.u32 %r50,RANK; SLIP mapa.shared::cluster.u32 %r51,%r24,%r50; "
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r51];"
)
FEWER = "mbarrier.init.shared::cta.b64 [%r31+8],128;"


def found(text: str) -> set[tuple[str, str]]:
    return {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings}


def loud(text: str) -> set[str]:
    return {rule for tier, rule in found(text) if tier in ("error", "likely")}


def reaching(rank: str, slip: str = "") -> str:
    """The ring, whose consumers arrive in the block of some rank of their cluster."""
    assert ARRIVAL in RING
    return RING.replace(ARRIVAL, FAR.replace("RANK", rank).replace("SLIP", slip))


def test_a_block_that_reaches_itself_is_alone() -> None:
    """The mbarrier counts one thread more than arrive there: nobody else can."""
    assert FEWER in RING
    for rank, told in (("%cluster_ctarank", True), ("1", False)):
        right = reaching(rank)
        wrong = right.replace(FEWER, FEWER.replace("128", "129"))
        assert right != wrong
        assert loud(right) == (set() if told else {"cluster-ended"})
        assert ("barrier-stuck" in loud(wrong)) is told


def test_a_rank_that_is_changed_is_not_the_own_one() -> None:
    wrong = reaching("%cluster_ctarank", "xor.b32 %r50,%r50,1;").replace(FEWER, FEWER.replace("128", "129"))
    assert "barrier-stuck" not in loud(wrong)


MEETING = "mov.u32 %r40,%ntid.x; SLIP bar.sync 3,%r40;\n"


@pytest.mark.parametrize("head", [".maxntid 160, 1, 1", ".reqntid 160, 1, 1"])
def test_a_barrier_that_counts_the_threads_of_a_block(head: str) -> None:
    """Whatever size a block has, all of its threads meet there, and 32 more are never there."""
    text = RING.replace(".reqntid 160, 1, 1", head).replace("bar.sync 0;", MEETING + "bar.sync 0;", 1)
    assert not loud(text.replace("SLIP", ""))
    assert "barrier-stuck" in loud(text.replace("SLIP", "add.u32 %r40,%r40,32;"))


# A parameter decides which of two barriers threads meet at before all else.
DECIDED = "setp.gt.u32 %p12,%r0,9;\n@%p12 bra M;\nbar.sync 4;\nbra O;\nM:\nbar.sync 5;\nO:\n"
INIT = "mbarrier.init.shared::cta.b64 [%r30+8],1;\n"


def test_no_number_of_a_parameter_brings_an_init_that_is_not_there() -> None:
    text = RING.replace("mov.u32 %r10,0;", DECIDED + "mov.u32 %r10,0;", 1)
    assert text != RING
    assert INIT in text
    assert not loud(text)
    assert ("likely", "barrier-uninitialised") in found(text.replace(INIT, ""))
    guarded = text.replace(INIT, f"setp.lt.u32 %p13,%r0,10;\n@%p13 {INIT}")
    assert "barrier-uninitialised" not in loud(guarded)  # with few rounds it is there
