"""The records of spec/arithmetic/*.yaml: what sums of products come to on a chip family, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Source
from .nodes import Formula

__all__ = [
    "ArithmeticFile",
    "ArithmeticModel",
    "ArithmeticRow",
    "ArithmeticStage",
    "ArithmeticStep",
    "ChipCodes",
]


@dataclass(frozen=True)
class ArithmeticStage:
    """A step of a model: formulas with names, for each of what it is about."""

    id: str
    """The stage's name.
    Noticed by: readers. Example: `cut`. Refuses: `[cut]` (text, not a list)."""
    each: Literal["element", "product", "addend", "term", "result"]
    """What the formulas are computed for: each element of A and B and each addend, each product, each addend,
    products and addends alike, or once.
    Noticed by: loader, tests. Example: `term`. Refuses: `block` (not in the list)."""
    what: str
    """What the stage does, in a sentence.
    Noticed by: readers. Example: `the magnitude of each term is cut toward zero`. Refuses: `[cut]` (text, not
    a list)."""
    let: Mapping[str, Formula]
    """The formulas by name, in order; each sees the names before it.
    Noticed by: tests. Example: `{kept: "significand >> 3"}`. Refuses: `{kept: "nosuch + 1"}` (no stage before
    it has that name)."""
    reduce: Literal["greatest", "sum"] | None = None
    """What is taken of each formula over all terms; none if it does not stand.
    Noticed by: loader, tests. Example: `sum`. Refuses: `product` (not in the list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticModel:
    """How products and addends become a sum, in stages."""

    what: str
    """What the model does, in a sentence.
    Noticed by: readers. Example: `products are added exactly`. Refuses: `null` (text must stand)."""
    integers: Mapping[str, str]
    """The integers that a step gives the model, each with what it means.
    Noticed by: loader, readers. Example: `{window: how many binary places a term keeps}`. Refuses:
    `[window]` (names, each with a sentence)."""
    stages: tuple[ArithmeticStage, ...]
    """The stages, in order; the last one is about the result and gives its `code`.
    Noticed by: loader, tests. Example: `[]`. Refuses: `[]` (no stage gives the code of the result)."""
    offset: int = 0
    """What exponents are raised by, so that none is negative; formulas call it `offset`.
    Every value that the loader takes gives the same bits.
    Noticed by: loader, readers. Example: `4096`. Refuses: `much` (an integer)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticStep:
    """One sum on the way to an element of D: which products and addends, by which model."""

    id: str
    """The name under which later steps add the sum; the last step gives D.
    Noticed by: loader, tests. Example: `products`. Refuses: `[a]` (text, not a list)."""
    model: str
    """The model.
    Noticed by: loader, tests. Example: `window`. Refuses: `nosuch` (there is no such model)."""
    adds: tuple[str, ...]
    """What is added to the products, in the first block: `C`, `zero`, or the sums of earlier steps.
    Noticed by: loader, tests. Example: `[C]`. Refuses: `[nosuch]` (no earlier step has that name)."""
    integers: Mapping[str, Formula]
    """What each of the model's integers is, over the names that `when` of the row sees.
    Noticed by: tests. Example: `{window: "25"}`. Refuses: `{nosuch: "25"}` (not an integer of the model)."""
    block: Formula | None = None
    """Which block product number `i` belongs to, from 1 on; 0 for none. The sum of a block is added in the
    next one. Without it the step has no products.
    Noticed by: tests. Example: `"i // 8 + 1"`. Refuses: `"i + 2"` (no product is in block 1)."""
    type: str | None = None
    """The type of the sum, of every block; D's if it does not stand.
    Noticed by: tests. Example: `f32`. Refuses: `f33` (there is no such element type)."""
    word: Literal[64, 128] = 64
    """How many bits are enough for every value of the model.
    Noticed by: loader. Example: `64`. Refuses: `32` (not in the list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticRow:
    """Which variants have a sum of some steps, and how it came to be known."""

    id: str
    """The row's name.
    Noticed by: loader. Example: `mma.float`. Refuses: `[a]` (text, not a list)."""
    instructions: tuple[str, ...]
    """The instructions.
    Noticed by: loader, tests. Example: `[mma, mma.sp]`. Refuses: `[nosuch]` (no instruction is called so)."""
    when: Formula
    """The variants, over their fields and over a, b, c and d, the types of A, B, C and D.
    Noticed by: tests. Example: `"d == f16"`. Refuses: `"d == nosuch"` (no variant is such)."""
    source: Source
    """The sections that leave it open, and how it was found.
    Example: `{section: "9.7.14.5.14", origin: measured}`. Refuses: `9.7` (a mapping)."""
    steps: tuple[ArithmeticStep, ...]
    """The steps, in order; the last one gives D.
    Noticed by: loader, tests. Example: `[]`. Refuses: `[]` (a row has a step)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ChipCodes:
    """What metadata codes of one coding do on a chip, valid or not."""

    what: str
    """What a code does, in a sentence.
    Noticed by: readers. Example: `each index names a column of its own`. Refuses: `[column]` (text, not a
    list)."""
    source: Source
    """The sections that call some codes invalid, and how it was found.
    Example: `{section: "9.7.15.6.1", origin: measured}`. Refuses: `9.7` (a mapping)."""
    pieces: int
    """Of how many parts of elements of B one that is met is put together.
    Noticed by: loader, tests. Example: `2`. Refuses: `two` (an integer)."""
    part: Formula
    """Which part of the chunk, over `code`, `slot` and `piece`; valid codes give the parts of one element.
    Noticed by: loader, tests. Example: `"(code >> 2*slot) & 3"`. Refuses: `"nosuch & 3"` (only code, slot and
    piece)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticFile:
    """spec/arithmetic/*.yaml."""

    family: str
    """The name of the chip family.
    Noticed by: readers. Example: `sm_90`. Refuses: `null` (text must stand)."""
    targets: tuple[str, ...]
    """The targets of its chips; each has one file at most.
    Noticed by: loader, tests. Example: `[sm_90, sm_90a]`. Refuses: `[sm_91]` (there is no such target)."""
    models: Mapping[str, ArithmeticModel]
    """The models by name.
    Noticed by: loader. Example: `{}`. Refuses: `[window]` (names, each with a model)."""
    rows: tuple[ArithmeticRow, ...]
    """The rows. A variant belongs to one of them, or its arithmetic is not known.
    Noticed by: tests. Example: `[]`. Refuses: `{window: 1}` (a list)."""
    codes: Mapping[str, ChipCodes]
    """What metadata codes do, by the coding (spec/sparsity.yaml).
    Noticed by: loader, tests. Example: `{}`. Refuses: `{"3:4": {}}` (there is no such coding)."""
    place: Place = field(default=Place("", 0, 0), compare=False)
