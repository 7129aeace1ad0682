"""Named barriers of kernels that neither copy nor name an mbarrier: waits that never end, and counts that differ.

All threads of a barrier must name the same count, and a phase ends once so many have arrived (bar, 9.7.13.1). Each
kernel of WRONG is one slip apart from a right one.
"""

from __future__ import annotations

import pytest

from .test_phases import tiers

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 out,.param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1,[out]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; and.b32 %r6,%r1,63;
mov.u32 %r2,tile; shl.b32 %r3,%r6,4; add.u32 %r3,%r2,%r3;
setp.ge.u32 %p1,%r1,64; mov.u32 %r5,0;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
"""
# Half of the threads fill a buffer, the others read it: barrier 1 says that it is full, barrier 2 that it is free.
RING = (
    HEAD
    + """
@%p1 bra READ;
FILL:
bar.sync 2, 128;
st.shared.v4.b32 [%r3],{%r1,%r1,%r1,%r1};
bar.arrive 1, 128;
add.u32 %r5,%r5,1; setp.lt.u32 %p2,%r5,%r0;
@%p2 bra FILL;
bra DONE;
READ:
bar.arrive 2, 128;
bar.sync 1, 128;
ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r3];
add.u32 %r5,%r5,1; setp.lt.u32 %p2,%r5,%r0;
@%p2 bra READ;
DONE:
ret;
}
"""
)
# Each half meets at a barrier of its own.
HALVES = (
    HEAD
    + """
@%p1 bra UPPER;
bar.sync 1, 64;
bra DONE;
UPPER:
bar.sync 2, 64;
DONE:
bar.sync 0;
ret;
}
"""
)
# One barrier with a count, at which both halves meet by different statements.
BOTH = HALVES.replace("bar.sync 1, 64", "bar.sync 1, 128").replace("bar.sync 2, 64", "bar.sync 1, 128")
STUCK = ("error", "barrier-stuck")
WRONG = {
    "freed only once it is full": (
        RING,
        "bar.arrive 2, 128;\nbar.sync 1, 128;\n",
        "bar.sync 1, 128;\nbar.arrive 2, 128;\n",
        STUCK,
    ),
    "nobody frees it": (RING, "bar.arrive 2, 128;\n", "", STUCK),
    "nobody fills it": (RING, "bar.arrive 1, 128;\n", "", STUCK),
    "another name": (RING, "bar.arrive 1, 128;\n", "bar.arrive 3, 128;\n", STUCK),
    "half of the threads come": (HALVES, "bar.sync 1, 64;", "bar.sync 1, 128;", STUCK),
    "one half meets the whole": (HALVES, "bar.sync 2, 64;", "bar.sync 2;", STUCK),
    "another count": (
        BOTH,
        "bra DONE;\nUPPER:\nbar.sync 1, 128;",
        "bra DONE;\nUPPER:\nbar.sync 1, 96;",
        None,
    ),
}


@pytest.mark.parametrize("right", [RING, HALVES, BOTH])
def test_the_right_ones(right: str) -> None:
    assert tiers(right) == set()


@pytest.mark.parametrize("slip", WRONG)
def test_a_slip_is_told(slip: str) -> None:
    right, old, new, expected = WRONG[slip]
    assert right.count(old) == 1
    found = tiers(right.replace(old, new))
    assert expected in found if expected is not None else {tier for tier, _ in found} == {"error"}, found


@pytest.mark.parametrize("count", ["64", "96"])
def test_counts_that_differ_are_told(count: str) -> None:
    found = tiers(RING.replace("bar.arrive 1, 128", f"bar.arrive 1, {count}"))
    assert "error" in {tier for tier, _ in found}


def test_nothing_is_said_of_kernels_without_tensor_cores() -> None:
    stuck = RING.replace("bar.arrive 1, 128;\n", "")
    plain = "\n".join(line for line in stuck.splitlines() if "mma" not in line)
    assert STUCK in tiers(stuck)
    assert tiers(plain) == set()
