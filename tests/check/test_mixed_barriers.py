"""Two warpgroups at one named barrier for 128 threads: any four of the eight warps complete a phase, so that no warp
knows of any other one. With a barrier for each warpgroup, or for all threads, the same kernel is right.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[4096];
.visible .entry k(.param .u64 out)
.reqntid 256, 1, 1
{
.reg .b64 %d<4>; .reg .f32 %f<4>; .reg .b32 %r<16>; .reg .pred %p<3>;
ld.param.u64 %d1,[out];
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; shr.u32 %r3,%r1,7; add.u32 %r4,%r3,1;
shl.b32 %r5,%r1,4; add.u32 %r6,%r2,%r5; xor.b32 %r7,%r5,OTHER; add.u32 %r7,%r2,%r7;
st.shared.b32 [%r6],%r1; setp.eq.u32 %p1,%r1,5;
BARRIER
ld.shared.b32 %r8,[%r7];
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r8,%r8},{%r8},{%f0,%f1,%f2,%f3};
st.global.f32 [%d1],%f0;
ret;
}
"""
HERE, THERE = "1024", "2048"  # the word of another warp of the warpgroup, and of the other warpgroup


def accusations(barrier: str, other: str) -> set[str]:
    found = check_text(KERNEL.replace("BARRIER", barrier).replace("OTHER", other), "k.ptx").findings
    return {one.rule for one in found if one.tier != "info"}


@pytest.mark.parametrize("other", [HERE, THERE])
def test_one_barrier_for_two_warpgroups_orders_no_warps(other: str) -> None:
    assert accusations("bar.sync 1,128;", other) == {"shared-unsynchronised"}


def test_each_warpgroup_has_its_own() -> None:
    assert accusations("bar.sync %r4,128;", HERE) == set()
    assert accusations("bar.sync %r4,128;", THERE) == {"shared-unsynchronised"}


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "bar.sync 1,256;"])
@pytest.mark.parametrize("other", [HERE, THERE])
def test_all_threads_meet(barrier: str, other: str) -> None:
    assert accusations(barrier, other) == set()


def test_a_warp_that_meets_alone_needs_no_other() -> None:
    assert accusations("bar.sync 1,32;", "16") == set()


# 9.7.13.1: barrier.red.popc.u32 d, a{, b}, {!}c; barrier.red.op.pred p, a{, b}, {!}c;
@pytest.mark.parametrize(
    "barrier",
    [
        "barrier.cta.red.popc.u32 %r9,NAME,COUNT,%p1;",
        "barrier.red.popc.aligned.u32 %r9,NAME,COUNT,!%p1;",
        "bar.red.or.pred %p2,NAME,COUNT,!%p1;",
        "bar.cta.red.and.pred %p2,NAME,COUNT,%p1;",
    ],
)
def test_a_barrier_that_reduces_counts_threads_before_its_last_operand(barrier: str) -> None:
    def told(name: str, count: str, other: str) -> set[str]:
        return accusations(barrier.replace("NAME", name).replace("COUNT,", count), other)

    assert told("%r4", "128,", HERE) == set()
    assert told("%r4", "128,", THERE) == {"shared-unsynchronised"}
    assert told("1", "128,", HERE) == {"shared-unsynchronised"}
    assert told("1", "256,", THERE) == set()
    assert told("1", "", THERE) == set()


@pytest.mark.parametrize(
    "found",
    [
        "redux.sync.max.u32 %r4,%r4,-1;",
        "setp.ne.u32 %p1,%r3,0; vote.sync.all.pred %p2,%p1,-1; selp.u32 %r4,2,1,%p2;",
        "setp.ne.u32 %p1,%r3,0; vote.sync.any.pred %p2,!%p1,-1; selp.u32 %r4,1,2,%p2;",
    ],
)
def test_what_the_threads_of_a_warp_find_together(found: str) -> None:
    """Where all of them hold the same, it is the number of each: here 1 or 2, by warpgroup."""
    assert accusations(f"{found} bar.sync %r4,128;", HERE) == set()
    assert accusations(f"{found} bar.sync %r4,128;", THERE) == {"shared-unsynchronised"}


def test_what_threads_find_together_that_hold_different_numbers() -> None:
    """It is not followed: no execution gets past the barrier, and nobody is accused."""
    assert accusations("redux.sync.max.u32 %r4,%r1,-1; bar.sync %r4,128;", THERE) == set()
