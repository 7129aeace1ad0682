"""The records of spec/arithmetic/*.yaml: what sums of products come to on a chip family, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Source
from .nodes import Formula

__all__ = ["ArithmeticFile", "ArithmeticModel", "ArithmeticRow", "ArithmeticStage"]


@dataclass(frozen=True)
class ArithmeticStage:
    """A step of a model: formulas with names, for each of what it is about."""

    id: str
    """The stage's name.
    Noticed by: readers. Example: `cut`. Refuses: `[cut]` (text, not a list)."""
    each: Literal["element", "product", "addend", "term", "result"]
    """What the formulas are computed for: each element of A, B and C, each product, the C that is added, each
    product and the addend alike, or once a block.
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
    """What is taken of each formula over all terms of a block; none if it does not stand.
    Noticed by: loader, tests. Example: `sum`. Refuses: `product` (not in the list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticModel:
    """How products and an addend become an element of D, in stages."""

    what: str
    """What the model does, in a sentence.
    Noticed by: readers. Example: `products are added exactly`. Refuses: `null` (text must stand)."""
    word: Literal[64, 128]
    """How many bits are enough for every value.
    Noticed by: loader. Example: `64`. Refuses: `32` (not in the list)."""
    integers: Mapping[str, str]
    """The integers that a row gives the model, each with what it means.
    Noticed by: loader. Example: `{window: how many binary places a term keeps}`. Refuses: `[window]` (names,
    each with a sentence)."""
    stages: tuple[ArithmeticStage, ...]
    """The stages, in order; the last one is about the result and gives its `code`.
    Noticed by: loader, tests. Example: `[]`. Refuses: `[]` (no stage gives the code of the result)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ArithmeticRow:
    """Which variants a model is about, with its integers for them, and how it came to be known."""

    id: str
    """The row's name.
    Noticed by: loader. Example: `mma.float`. Refuses: `[a]` (text, not a list)."""
    instructions: tuple[str, ...]
    """The instructions.
    Noticed by: loader, tests. Example: `[mma, mma.sp]`. Refuses: `[nosuch]` (no instruction is called so)."""
    when: Formula
    """The variants, over their fields and over a, b, c and d, the types of A, B, C and D.
    Noticed by: tests. Example: `"d == f16"`. Refuses: `"d == nosuch"` (no variant is such)."""
    model: str
    """The model.
    Noticed by: loader, tests. Example: `window`. Refuses: `nosuch` (there is no such model)."""
    integers: Mapping[str, Formula]
    """What each of the model's integers is, over the same names as `when`.
    Noticed by: tests. Example: `{window: "25"}`. Refuses: `{nosuch: "25"}` (not an integer of the model)."""
    block: Formula
    """Which block product number `i` belongs to; C is added in block 0, a block's result in the next one.
    Noticed by: tests. Example: `"i // 8"`. Refuses: `"i + 1"` (no product is in block 0)."""
    source: Source
    """The sections that leave it open, and how it was found.
    Example: `{section: "9.7.14.5.14", origin: measured}`. Refuses: `9.7` (a mapping)."""
    carry: str | None = None
    """The type in which the result of a block is handed to the next; D's if it does not stand.
    Noticed by: tests. Example: `f32`. Refuses: `f33` (there is no such element type)."""
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
    place: Place = field(default=Place("", 0, 0), compare=False)
