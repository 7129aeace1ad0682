"""Numbers that threads take from one lane of their warp are numbers of one thread: a warp and its warpgroup, each
by shfl.sync.idx from lane 0 (9.7.9.6), decide together which ways can be taken.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/paths", "check/memory/allocations.py")
# As FlashMLA writes it: one warp allocates, and deallocates in the branch of its warpgroup (9.7.16.7.1).
KERNEL = """
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 n)
SHAPE
{
.reg .pred %p<9>; .reg .b32 %r<20>;
.shared .align 16 .b8 smem[64];
mov.u32 %r1,%tid.x;
shr.u32 %r2,%r1,5;
shfl.sync.idx.b32 %r3|%p1,%r2,0,31,-1;
shr.u32 %r4,%r1,7;
shfl.sync.idx.b32 %r5|%p2,%r4,0,31,-1;
mov.u32 %r6,smem; mov.u32 %r7,512;
setp.ne.s32 %p3,%r3,WARP;
@%p3 bra NONE;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6],%r7;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
NONE:
bar.sync 0;
setp.ne.s32 %p4,%r5,GROUP;
@%p4 bra DONE;
setp.ne.s32 %p5,%r3,WARP;
@%p5 bra DONE;
ld.shared.u32 %r8,[smem];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8,%r7;
DONE:
ret;
}
"""
KEPT = {("error", "allocation-kept")}


def found(text: str, warp: int, group: int, shape: str = ".maxntid 384") -> set[tuple[str, str]]:
    text = text.replace("SHAPE", shape).replace("WARP", str(warp)).replace("GROUP", str(group))
    report = check_text(text, "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier != "info"}


@pytest.mark.parametrize("shape", [".maxntid 384", ".reqntid 384, 1, 1", ".reqntid 96, 4, 1"])
@pytest.mark.parametrize(
    ("warp", "group", "kept"),
    [(0, 0, False), (5, 1, False), (0, 1, True), (5, 0, True)],
    ids=["first", "second", "another group", "another warp"],
)
def test_the_warp_that_allocates_comes_to_the_branch_of_its_warpgroup(
    shape: str, warp: int, group: int, kept: bool
) -> None:
    """Nobody comes to a deallocation behind a warp's number and another warpgroup's."""
    if shape == ".reqntid 96, 4, 1" and (warp or group):
        pytest.skip("%tid.x stays below 96: no thread has such numbers")
    assert found(KERNEL, warp, group, shape) == (KEPT if kept else set())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%r5|%p2,%r4,0,31", "%r5|%p2,%r4,%r20,31"),  # nobody knows from which lane
        ("%r5|%p2,%r4,0,31", "%r5|%p2,%r4,0,15"),  # of each half of the warp
        ("shr.u32 %r4,%r1,7;", "shr.u32 %r4,%r1,7; @%p8 mov.u32 %r4,1;"),  # a lane may have come another way
        ("shfl.sync.idx.b32 %r5", "shfl.sync.bfly.b32 %r5"),
    ],
    ids=["lane", "half", "way", "butterfly"],
)
def test_other_numbers_show_nothing(old: str, new: str) -> None:
    """The warpgroup's number may be any: a way past the deallocation is not ruled out."""
    text = KERNEL.replace(old, new).replace("%r<20>", "%r<21>")
    assert KERNEL.count(old) == 1
    assert found(text, 0, 0) == KEPT


@pytest.mark.parametrize(
    ("condition", "kept"),
    [("setp.ne.s32 %p4,%r1,0;", True), ("setp.gt.u32 %p4,%r1,31;", False), ("setp.gt.u32 %p4,%r1,30;", True)],
    ids=["one thread", "its warp", "all but one"],
)
def test_a_lane_of_a_line_is_near_the_thread(condition: str, kept: bool) -> None:
    """Along x the threads of warp 0 are 0 to 31."""
    text = KERNEL.replace("setp.ne.s32 %p4,%r5,GROUP;", condition)
    assert (found(text, 0, 0, ".reqntid 384, 1, 1") & KEPT == KEPT) == kept
