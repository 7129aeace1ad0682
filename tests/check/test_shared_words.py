"""Threads whose role is read back from shared memory, where another thread wrote it."""

from __future__ import annotations

import pytest

from .test_generic_accesses import RACE, in_the_place
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
    "vector",
    [
        "st.shared.v2.b32 [%r2+132000],{0, 1};",
        "mov.b32 %r44,1;\nst.shared.v2.b32 [%r2+132000],{0, %r44};",
        "mov.b32 %r44,1;\nmov.b64 %d7,{0, %r44};\nst.shared.b64 [%r2+132000],%d7;",
    ],
)
def test_a_role_in_a_vector_with_literals(vector: str) -> None:
    text = ROLES.replace(WRITES, vector + "\n")
    assert tiers(text) == set()
    assert tiers(text.replace(*SLIPS["the producer does not wait"])) == {("error", "copy-incomplete")}


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
            "NI:\nst.shared.b32 [%r2+132000],0;\nst.shared.b8 [%r2+132004],%r43;\n",
        ),  # all write
    ],
)
def test_a_role_that_is_not_known_accuses_nobody(old: str, new: str) -> None:
    text = ROLES.replace(f"{WAIT} %p3,[%r24],%r14;\n@!%p3 bra PW;", "")
    assert tiers(text) > set()
    assert text.count(old) == 1
    assert tiers(text.replace(old, new)) == set()


# A word that is 0 at first; warps read it back, and if it still is, nothing orders what they do.
WORD = """
setp.eq.u32 %p3,%r1,0;
@%p3 st.shared.b32 [%r2+8192],0;
bar.sync 0;
ld.global.u32 %r20,[%d1];
setp.gt.u32 %p4,%r20,7;
@!%p3 bra SET;
WRITES
SET: bar.sync 0;
ld.shared.b32 %r21,[%r2+8192];
setp.ne.u32 %p5,%r21,0;
@%p5 bra ORDERED;
st.shared.b32 [%r3],%r1;
ld.shared.b32 %r22,[%r4];
ORDERED:
"""
NEVER_ZERO = {
    "under two guards": "@%p4 st.shared.b32 [%r2+8192],1; @!%p4 st.shared.b32 [%r2+8192],2;",
    "on two branches": "@%p4 bra TWO; st.shared.b32 [%r2+8192],1; bra SET;\nTWO: st.shared.b32 [%r2+8192],2;",
    "by a generic address": "cvt.u64.u32 %d2,%r2; cvta.shared.u64 %d2,%d2; st.b32 [%d2+8192],1;",
}


@pytest.mark.parametrize("writes", NEVER_ZERO)
def test_a_word_that_threads_may_overwrite_is_not_known(writes: str) -> None:
    assert tiers(in_the_place(WORD.replace("WRITES", NEVER_ZERO[writes]))) == set()
    assert tiers(in_the_place(WORD.replace("WRITES", "st.shared.b32 [%r2+8192],0;"))) == {RACE}
