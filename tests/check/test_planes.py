"""Kernels whose threads read %tid.y or %tid.z, and whose head does not say how the threads of a block lie."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .test_generic_accesses import SWAP
from .test_phases import RING, tiers

RACE = ("likely", "shared-unsynchronised")
# Thread (x, y) or (x, 0, z) is number x + 32·y; or x + the extent along x · y.
LITERAL = "mov.u32 %r1,%tid.y; shl.b32 %r1,%r1,5; mov.u32 %r20,%tid.x; add.u32 %r1,%r1,%r20;"
EXTENT = "mov.u32 %r1,%tid.y; mov.u32 %r21,%ntid.x; mov.u32 %r20,%tid.x; mad.lo.u32 %r1,%r1,%r21,%r20;"
MEETS = "bar.sync 0;\n"


def plane(number: str, head: str = "", text: str = SWAP) -> str:
    """A kernel whose threads have a number of their own making, in a block of unknown shape."""
    assert text.count(".reqntid") == 1 and text.count("mov.u32 %r1,%tid.x;") == 1
    lines = [head if line.startswith(".reqntid") else line for line in text.splitlines()]
    return "\n".join(lines).replace("mov.u32 %r1,%tid.x;", number).replace("bar.sync 1, 128;", "bar.sync 1;")


ALL_LOAD = "xor.b32 %r4,%r1,%r1;"  # what thread 0 has stored


@pytest.mark.parametrize("number", [LITERAL, LITERAL.replace("tid.y", "tid.z"), EXTENT])
@pytest.mark.parametrize("head", ["", ".maxntid 128, 1, 1", ".maxntid 256"])
def test_what_no_usual_shape_makes_right_is_likely(number: str, head: str) -> None:
    right = plane(number, head).replace("xor.b32 %r4,%r1,64;", ALL_LOAD)
    assert tiers(right) == set()
    assert tiers(right.replace(MEETS, "")) == {RACE}
    assert tiers(right.replace("bar.sync 1;", "")) == {RACE}
    (found, *_) = check_text(right.replace(MEETS, ""), "k.ptx").findings
    assert "so it is with each usual shape of a block" in found.message


@pytest.mark.parametrize("head", [".maxntid 256, 1, 1", ""])
def test_one_shape_that_is_right_clears_the_kernel(head: str) -> None:
    """Threads of one warp exchange, which has 32 threads along x, or 8."""
    wide = plane(LITERAL, head).replace("xor.b32 %r4,%r1,64;", "xor.b32 %r4,%r1,16;")
    narrow = wide.replace("shl.b32 %r1,%r1,5;", "shl.b32 %r1,%r1,3;")
    for text in (wide, narrow):
        assert text.count(MEETS) == 1
        assert tiers(text.replace(MEETS, "bar.warp.sync -1;\n")) == set()


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("32, 4, 1", ("error", RACE[1])),
        ("64, 2, 1", ("error", RACE[1])),
        ("32, 1, 1", ("likely", "warp-unsynchronised")),
    ],
)
def test_the_shape_that_the_head_says_is_the_one(shape: str, found: tuple[str, str]) -> None:
    text = plane(LITERAL, f".reqntid {shape}").replace("xor.b32 %r4,%r1,64;", ALL_LOAD)
    assert tiers(text) == set()
    assert tiers(text.replace(MEETS, "")) == {found}


def test_phases_of_a_block_of_unknown_shape() -> None:
    right = plane(LITERAL, "", RING)
    assert tiers(right) == set()
    never = right.replace("mbarrier.init.shared::cta.b64 [%r31],128;\n", "")
    assert never != right and tiers(never) == {("likely", "barrier-uninitialised")}
    assert "no usual shape of a block is right" in check_text(never, "k.ptx").findings[0].message
