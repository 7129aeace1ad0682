"""Boxes of tensor copies: their bytes are those that phases expect, as far as the places of the copies show it.

The whole box is written until the phase is complete (9.7.9.25.5, 9.7.13.15.5): a stage may be released only behind
the last load of it, not only of its first bytes.
"""

from __future__ import annotations

import pytest

from ptxmma.check.execution.barriers import Mbarrier
from ptxmma.check.execution.box_sizes import BoxSizes
from ptxmma.check.execution.clocks import Clock

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .u32 n)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<8>; .reg .f32 %f<8>;
mov.b64 %d1,ma; mov.b64 %d2,mb; ld.param.u32 %r9,[n]; mov.u32 %r8,0;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0; and.b32 %r12,%r1,31; shl.b32 %r12,%r12,4;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16384],1;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16392],1;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16400],32;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16408],32;
bar.sync 0;
mov.u32 %r3,0; mov.u32 %r4,0; setp.ge.u32 %p2,%r1,32; @%p2 bra TAKE;
@%p1 bra DONE; mov.u32 %r4,1;
FILL: shl.b32 %r5,%r3,3; add.u32 %r5,%r5,%r2; shl.b32 %r6,%r3,STAGE; add.u32 %r6,%r6,%r2;
PE: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r5+16400],%r4; @!%p3 bra PE;
add.u32 %r7,%r5,16384;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r7],EXPECTED;
COPIES
xor.b32 %r3,%r3,1; setp.eq.u32 %p4,%r3,0; @%p4 xor.b32 %r4,%r4,1;
add.u32 %r8,%r8,1; setp.lt.u32 %p5,%r8,%r9; @%p5 bra FILL; bra DONE;
TAKE: shl.b32 %r5,%r3,3; add.u32 %r5,%r5,%r2; shl.b32 %r6,%r3,STAGE; add.u32 %r6,%r6,%r2; add.u32 %r6,%r6,%r12;
PF: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r5+16384],%r4; @!%p3 bra PF;
BODY
xor.b32 %r3,%r3,1; setp.eq.u32 %p4,%r3,0; @%p4 xor.b32 %r4,%r4,1;
add.u32 %r8,%r8,1; setp.lt.u32 %p5,%r8,%r9; @%p5 bra TAKE;
DONE: ret;
}
"""
COPY = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r6],[%d1,{%r8,%r3}],[%r7];"
)
SECOND = COPY.replace("%d1", "%d2").replace("[%r6]", "[%r6+1024]")
AGAIN = COPY.replace("[%r6]", "[%r6+1024]")
RELEASE = "mbarrier.arrive.shared::cta.b64 _,[%r5+16400];"
FIRST = "ld.shared.v4.b32 {%r16,%r17,%r18,%r19},[%r6];"  # bytes 0 to 511 of the stage
LAST = "ld.shared.v4.b32 {%r20,%r21,%r22,%r23},[%r6+1536];"
EARLY, LATE = FIRST + RELEASE + LAST, FIRST + LAST + RELEASE
FOUND = {("likely", "shared-unsynchronised")}


def tiers(copies: str, expected: int, body: str, stage: int = 11) -> set[tuple[str, str]]:
    text = KERNEL.replace("COPIES", copies).replace("EXPECTED", str(expected)).replace("BODY", body)
    return loud(text.replace("STAGE", str(stage)))


@pytest.mark.parametrize(
    ("copies", "expected", "stage"),
    [(COPY, 2048, 11), (COPY + SECOND, 2048, 11), (COPY + AGAIN, 2048, 11), (COPY, 2048, 12)],
    ids=["one box", "two boxes", "one box twice", "a hole behind it"],
)
def test_the_last_bytes_of_a_stage_are_loaded_behind_its_release(
    copies: str, expected: int, stage: int
) -> None:
    assert tiers(copies, expected, EARLY, stage) == FOUND
    assert tiers(copies, expected, LATE, stage) == set()


@pytest.mark.parametrize(
    ("copies", "expected", "stage"),
    [(COPY, 1536, 11), (COPY + SECOND, 2048, 12), (COPY + SECOND, 1536, 11)],
    ids=["a smaller box", "room behind the second one", "room in the stage"],
)
def test_bytes_that_no_box_surely_has(copies: str, expected: int, stage: int) -> None:
    """The last bytes may be no copy's: who loads them late is not accused."""
    assert tiers(copies, expected, EARLY, stage) == set()
    assert tiers(copies, expected, LATE, stage) == set()


def _ended(address: int, *phases: tuple[tuple[str, ...], int]) -> Mbarrier:
    """An mbarrier with phases that waited for boxes, and the bytes that each expected."""
    barrier = Mbarrier(address, 1, 0, 1, 0, 1)
    for boxes, expected in phases:
        for box in boxes:
            barrier.copy(None, box)
        barrier.arrive(Clock(1), (0, 1), 1, expected)
        barrier.settle()
    return barrier


def test_sizes_follow_from_what_phases_expect_and_where_copies_begin() -> None:
    sizes = BoxSizes()
    for box, place in (("a", 0), ("b", 1024), ("a", 2048), ("b", 3072)):
        assert sizes.begin(box, place, ()) is None
    barriers = (_ended(4096, (("a", "b"), 2048)),)
    assert sizes.begin("a", 0, barriers) == 1024 and sizes.begin("b", 1024, barriers) == 1024
    assert sizes.begin("a", 9000, barriers) is None  # nothing has been there before


@pytest.mark.parametrize(
    ("boxes", "expected", "size"),
    [
        (("a", "b"), 1536, None),  # either may be the smaller one
        (("a",), 2048, None),  # there is no room for as many
        (("a",), 512, 512),
        (("a", "a"), 1024, 512),
        (("a", "a"), 1032, None),
        (("c",), 512, None),
    ],
)
def test_sizes_that_phases_do_not_show(boxes: tuple[str, ...], expected: int, size: int | None) -> None:
    sizes = BoxSizes()
    for box, place in (("a", 0), ("b", 1024), ("a", 2048)):
        sizes.begin(box, place, ())
    assert sizes.begin("a", 0, (_ended(4096, (boxes, expected)),)) == size
