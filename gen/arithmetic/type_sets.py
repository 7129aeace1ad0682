"""Every kind of sum that instructions have on a chip: its steps, where 1 is lost, how far off it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ...spec.arithmetic import arithmetic_of
from ...spec.chip_arithmetic import ADDENDS, FACTORS, ChipArithmetic, SumBlock
from ...spec.dot_product import DotProduct, ElementCode
from ...spec.patterns import encode, greatest
from ...spec.specification import Specification
from ...spec.sum_bounds import SumBound, bound_of
from ...spec.variants import Variant
from .element_codes import code_of, value_of

__all__ = [
    "Growth",
    "SumKind",
    "TypeSet",
    "addend_names",
    "growth_text",
    "growths_of",
    "sum_kinds",
    "type_sets",
]


@dataclass(frozen=True)
class Growth:
    """Up to which number a sum of ones grows, and what 1 * 1 makes of it then: the same, or less.

    `last` is None where it grows up to the greatest number; `first` is what 1 * 1 makes of 0.
    """

    first: Fraction
    last: int | None = None
    wraps: bool = False


def growth_text(one_times_one: str, last: int | None, wraps: bool) -> str:
    """Where 1 is lost, in words."""
    if one_times_one != "1":
        return f"1 * 1 is {one_times_one}"
    if last is None:
        return "never"
    for number, rest in ((last, ""), (last + 1, " - 1")):
        if number & number - 1 == 0:
            return f"{'wraps at ' if wraps else ''}2^{number.bit_length() - 1}{rest}"
    return f"{'wraps at ' if wraps else ''}{last}"


@dataclass(frozen=True)
class TypeSet:
    """Variants of one instruction whose sums are the same."""

    instruction: str
    variants: tuple[Variant, ...]
    arithmetic: ChipArithmetic

    @property
    def variant(self) -> Variant:
        """One of them, which stands for all."""
        return self.variants[0]

    @property
    def mnemonics(self) -> int:
        """How many they are."""
        return len(self.variants)


def type_sets(specification: Specification, variants: Iterable[Variant], target: str) -> Iterator[TypeSet]:
    """The type sets of variants that have sums; raises Question for one whose arithmetic is not known."""
    known: dict[object, ChipArithmetic] = {}
    found: dict[object, tuple[ChipArithmetic, list[Variant]]] = {}
    for variant in variants:
        name = variant.instruction.instruction
        fields = (name, *(item for item in variant.fields.items() if item[0] not in ("m", "n")))
        if fields not in known:  # sums do not depend on how many rows and columns D has
            known[fields] = arithmetic_of(variant, target)
        arithmetic = known[fields]
        blocks = tuple(_told_apart(block) for block in arithmetic.blocks)
        key = name, arithmetic.row.id, *arithmetic.types.values(), blocks
        found.setdefault(key, (arithmetic, []))[1].append(variant)
    for arithmetic, alike in found.values():
        yield TypeSet(alike[0].instruction.instruction, tuple(alike), arithmetic)


@dataclass(frozen=True)
class SumKind:
    """What one set of types keeps and loses on a chip: a row of `ptxmma numerics`.

    `mnemonic` is one of the `mnemonics` variants that have these sums; `types` are those of A, B, C and D.
    `bounds` says of each floating-point sum on the way to D that may lose anything, in order, how far off.
    `one_is_lost_at` is the least n, in C, of which n + 1 * 1 is not more than n; None where there is none.
    `wraps` says whether it is less then.
    """

    row: str
    instruction: str
    mnemonic: str
    mnemonics: int
    types: Mapping[str, str]
    products: int
    bounds: tuple[SumBound, ...]
    one_is_lost_at: int | None
    wraps: bool


def sum_kinds(specification: Specification, variants: Iterable[Variant], target: str) -> Iterator[SumKind]:
    """Every kind of sum of variants; raises Question for one whose arithmetic is not known."""
    found = list(type_sets(specification, variants, target))
    growths = growths_of(specification, (one.arithmetic for one in found))
    for one, growth in zip(found, growths, strict=True):
        arithmetic = one.arithmetic
        bounds = (bound_of(specification, arithmetic, block) for block in arithmetic.blocks)
        yield SumKind(
            arithmetic.row.id,
            one.instruction,
            one.variant.mnemonic,
            one.mnemonics,
            arithmetic.types,
            arithmetic.products,
            tuple(bound for bound in bounds if bound is not None),
            growth.last,
            growth.wraps,
        )


def _told_apart(block: SumBlock, products: int | None = None) -> tuple[object, ...]:
    """What tells a block from others; of its products, the first ones."""
    integers = tuple(block.integers.values())
    return block.step.id, integers, block.products[:products], block.addends, block.types, block.result


def addend_names(arithmetic: ChipArithmetic, block: SumBlock) -> tuple[str, ...]:
    """What a block adds to its products: C, zero, or the sum of a step by its name."""
    fixed = {number: name for name, number in ADDENDS.items()}
    return tuple(
        fixed[number] if number in fixed else arithmetic.blocks[number].step.id for number in block.addends
    )


def growths_of(specification: Specification, every: Iterable[ChipArithmetic]) -> Iterator[Growth]:
    """How far sums of ones grow; sums that differ in the number of products alone are asked once."""
    known: dict[object, Growth] = {}
    for arithmetic in every:
        blocks = tuple(_told_apart(block, 1) for block in arithmetic.blocks)
        key = arithmetic.row.id, *arithmetic.types.values(), blocks
        if key not in known:
            known[key] = _growth(specification, arithmetic)
        yield known[key]


def _growth(specification: Specification, arithmetic: ChipArithmetic) -> Growth:
    """How far a sum of ones grows, by the definition: the least n of which n + 1 * 1 is not more than n.

    It is found by doubling and bisection: from some n on, no sum grows. C is the n, in C's own type.
    """
    sums = _OnesSum(specification, arithmetic)
    first = sums.after(0)
    assert isinstance(first, Fraction)
    most = sums.greatest()
    if first <= 0 or sums.grows(most):
        return Growth(first)
    low, high = 0, 1
    while high < most and sums.grows(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sums.grows(middle) else (low, middle)
    return Growth(first, high, sums.after(high) != high)


@dataclass(frozen=True)
class _OnesSum:
    """n + 1 * 1 as a chip computes it; of each block's products one is left, for the others would be 0."""

    specification: Specification
    arithmetic: ChipArithmetic

    @cached_property
    def _ones(self) -> tuple[DotProduct, list[ElementCode], list[ElementCode]]:
        """The definition, and the elements of A and of B: 1, and zeros."""
        arithmetic = self.arithmetic
        a, b = (
            [
                ElementCode(code_of(self.specification, arithmetic.types[part], text, part))
                for text in ("1", *["0"] * (arithmetic.products - 1))
            ]
            for part in FACTORS
        )
        blocks = tuple(replace(block, products=block.products[:1]) for block in arithmetic.blocks)
        return DotProduct(self.specification, replace(arithmetic, blocks=blocks)), a, b

    def after(self, n: int) -> Fraction | str:
        """What D is when C is n, or the next number of C's type below it."""
        definition, a, b = self._ones
        return value_of(self.specification, self.arithmetic.types["D"], definition.code(a, b, self._code(n)))

    def grows(self, n: int) -> bool:
        """Whether D is more than C, which is n or the next number below it."""
        after = self.after(n)
        before = value_of(self.specification, self.arithmetic.types["C"], self._code(n))
        return after == "inf" or (
            isinstance(after, Fraction) and isinstance(before, Fraction) and after > before
        )

    def greatest(self) -> int:
        """The greatest number that C and D both may be."""
        return min(self._greatest(self.arithmetic.types[part]) for part in ("C", "D"))

    def _greatest(self, element: str) -> int:
        form = self.specification.formats.get(element)
        if form is not None:
            return int(greatest(form))
        kind = self.specification.index.types[element]
        return (1 << kind.bits - (kind.kind == "signed")) - 1

    def _code(self, n: int) -> int:
        form = self.specification.formats.get(self.arithmetic.types["C"])
        return n if form is None else encode(form, Fraction(n), "rz")
