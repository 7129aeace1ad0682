"""Which columns the zero-column mask zeroes, typed from 9.7.16.4.3: the table of parts and its examples."""

from __future__ import annotations

import random

import pytest

from ptxmma.spec.column_masks import mask_of, shown_columns, zeroed_columns
from ptxmma.spec.descriptor import encode
from ptxmma.spec.errors import Question
from ptxmma.spec.memory_records import Descriptor
from ptxmma.spec.specification import Specification

WATCHES = ("spec/descriptors.yaml",)

# Example: M, start counts and first spans (part 0 first), the mask's enable bit, skip span, use span, shift, and
# the lowest bits of each part's mask, the lowest first.
EXAMPLES = [
    (128, (0, 0, 0, 0), (0, 0, 0, 0), 0, 4, 3, 0, ["00000000000000"]),
    (128, (0, 0, 0, 0), (0, 0, 0, 0), 1, 2, 3, 0, ["00001110000111"]),
    (64, (0, 0, 0, 0), (1, 0, 0, 0), 1, 2, 3, 0, ["11100001110000111", "00001110000111" + "0000"]),
    (
        32,
        (0, 1, 2, 1),
        (1, 1, 0, 0),
        1,
        2,
        3,
        2,
        ["11100001110000", "1100001110000", "001110000111", "0001110000111"],
    ),
]
# The table of coverage: the first column of each part, in eighths of N.
COVERAGE = {128: (0,), 64: (0, 4), 32: (0, 2, 4, 6)}


def test_the_values_of_n(specification: Specification) -> None:
    """N of tcgen05.mma.ws is 64, 128 or 256 (the table of shapes), and a mask is about all of its columns."""
    columns = specification.descriptors["tcgen05.zero-columns"].columns
    assert columns is not None and list(columns.counts.values) == [64, 128, 256]


@pytest.fixture(name="mask")
def _mask(specification: Specification) -> Descriptor:
    return specification.descriptors["tcgen05.zero-columns"]


def word_of(
    starts: tuple[int, ...], firsts: tuple[int, ...], enable: int, skip: int, use: int, shift: int = 0
) -> int:
    low = sum(start << 8 * i for i, start in enumerate(starts)) + sum(
        f << 32 + i for i, f in enumerate(firsts)
    )
    return low | enable << 39 | skip << 40 | use << 48 | shift << 56


@pytest.mark.parametrize("columns", [64, 128, 256])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_text(mask: Descriptor, columns: int, example: tuple[object, ...]) -> None:
    m, *fields, wanted = example
    assert isinstance(m, int) and isinstance(wanted, list)
    word = word_of(*fields)  # type: ignore[arg-type]
    found = set(zeroed_columns(mask, word, columns, {"M": m}))
    assert len(wanted) == len(COVERAGE[m])
    for eighths, bits in zip(COVERAGE[m], wanted, strict=True):
        begin = columns * eighths // 8
        shown = "".join(str(int(begin + i in found)) for i in range(len(bits)))
        shown = shown[: columns // len(wanted)]
        assert shown == bits[: len(shown)]
    again = mask_of(mask, found, columns, {"M": m})
    assert set(zeroed_columns(mask, again, columns, {"M": m})) == found


def test_the_shortest_mask(mask: Descriptor) -> None:
    assert mask_of(mask, range(4, 7), 64, {"M": 128}) == word_of((53,), (0,), 1, 2, 56)  # used: 4, then 57
    wanted = [16 * part + i for part in range(4) for i in (0, 1, 6, 7, 8, 13, 14, 15)]
    assert mask_of(mask, wanted, 64, {"M": 32}) == word_of((1, 1, 1, 1), (1, 1, 1, 1), 1, 2, 3)
    nothing = mask_of(mask, [], 64, {"M": 32})
    assert nothing >> 39 & 1 == 0 and zeroed_columns(mask, nothing, 64, {"M": 32}) == ()
    whole = mask_of(mask, range(256), 256, {"M": 128})
    assert whole == word_of((0,), (1,), 1, 255, 0)


def test_columns_that_a_mask_zeroes_have_a_mask_and_no_others_have(mask: Descriptor) -> None:
    """Parts of 16 columns by hand: spans of both kinds in turns, the first cut at its beginning."""
    made = random.Random(18)
    for _ in range(60):
        zeros, used = made.randint(1, 20), made.randint(1, 20)
        firsts = tuple(made.randint(0, 1) for _ in range(4))
        starts = tuple(made.randrange(zeros if first else used) for first in firsts)
        wanted = set()
        for part in range(4):
            pair = [1] * zeros + [0] * used if firsts[part] else [0] * used + [1] * zeros
            bits = (pair * 40)[starts[part] :][:16]
            wanted |= {16 * part + i for i, bit in enumerate(bits) if bit}
        word = word_of(starts, firsts, 1, zeros - 1, used - 1)
        assert set(zeroed_columns(mask, word, 64, {"M": 32})) == wanted
        assert set(zeroed_columns(mask, mask_of(mask, wanted, 64, {"M": 32}), 64, {"M": 32})) == wanted
    for none in ([4, 5, 9], [1, 2, 3, 20, 24], [3, 19, 20, 21, 22, 27]):
        with pytest.raises(Question, match="no mask zeroes exactly the columns"):
            mask_of(mask, none, 64, {"M": 32})


def test_what_cannot_be_asked(mask: Descriptor, specification: Specification) -> None:
    with pytest.raises(Question, match="96 columns: there must be 64 or 128 or 256"):
        zeroed_columns(mask, 0, 96, {"M": 64})
    with pytest.raises(Question, match="the columns 0 to 63 only"):
        mask_of(mask, [64], 64, {"M": 64})
    with pytest.raises(Question, match="is not a mask of columns"):
        zeroed_columns(specification.descriptors["wgmma"], 0, 64, {})
    assert shown_columns([8, 0, 1, 2]) == "0-2, 8" and shown_columns([]) == "none"
    assert encode(mask, {"skip-span": 2, "use-span": 3}) == word_of((), (), 0, 2, 3)


def test_what_the_record_says(mask: Descriptor) -> None:
    columns = mask.columns
    assert columns is not None and columns.parts.text == "128 // M"
    assert columns.counts.values == (64, 128, 256)
    assert (columns.start, columns.first) == ("start-count-{part}", "first-span-{part}")
    assert list(columns.inverse) == [
        *("start-count-{part}", "first-span-{part}", "non-zero-mask", "skip-span", "use-span")
    ]
