"""Threads whose role is read back from shared memory, where another thread wrote it."""

from __future__ import annotations

import pytest

from .test_phases import RING, tiers

WRITES = "st.shared.b32 [%r2+132000],0;\nst.shared.b8 [%r2+132004],1;\n"
READS = """shr.u32 %r40,%r1,5; add.u32 %r40,%r2,%r40;
ld.shared.u8 %r43,[%r40+132000];
setp.ne.u32 %p1,%r43,1;
@%p1 bra CL;
"""
DECIDES = "setp.lt.u32 %p1,%r1,128;\n@%p1 bra CL;\n"
# As RING; thread 0 writes the role of each warp before the barrier.
ROLES = RING.replace("NI:\n", f"{WRITES}NI:\n").replace(DECIDES, READS)
WAIT = "mbarrier.try_wait.parity.shared::cta.b64"
SLIPS = {
    "the producer does not wait": (f"{WAIT} %p3,[%r24],%r14;\n@!%p3 bra PW;", ""),
    "the producer waits for the other parity": ("xor.b32 %r14,%r12,1;", "mov.b32 %r14,%r12;"),
    "a consumer does not count": ("b64 [%r31],128", "b64 [%r31],127"),
    "nobody arrives": ("mbarrier.arrive.shared::cta.b64 _,[%r24];", ""),
}


def test_the_right_kernel_passes() -> None:
    assert tiers(ROLES) == set()


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found(slip: str) -> None:
    old, new = SLIPS[slip]
    assert ROLES.count(old) == 1
    assert {tier for tier, _ in tiers(ROLES.replace(old, new))} & {"error", "likely"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("st.shared.b8 [%r2+132004],1;", "st.shared.b8 [%r2+132004],%r43;"),  # nobody knows the number
        (
            "st.shared.b8 [%r2+132004],1;",
            "ld.global.u32 %r44,[%d3];\nst.shared.b8 [%r44],1;",
        ),  # nor the place
        (
            f"{WRITES}NI:\n",
            "NI:\nst.shared.b32 [%r2+132000],0;\nst.shared.b8 [%r2+132004],%r1;\n",
        ),  # all write
    ],
)
def test_a_role_that_is_not_known_accuses_nobody(old: str, new: str) -> None:
    text = ROLES.replace(f"{WAIT} %p3,[%r24],%r14;\n@!%p3 bra PW;", "")
    assert tiers(text) > set()
    assert text.count(old) == 1
    assert tiers(text.replace(old, new)) == set()
