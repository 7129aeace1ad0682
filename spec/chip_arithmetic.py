"""What one variant's sums come to on a chip family: its model, the integers, the blocks of products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .arithmetic_records import ArithmeticFile, ArithmeticModel, ArithmeticRow
from .lazy_dataclass import dataclass
from .nodes import Formula
from .parts import element_type
from .specification import Specification
from .variants import Variant

__all__ = [
    "PARTS",
    "ChipArithmetic",
    "SumBlock",
    "constants_of",
    "evaluated",
    "matching_rows",
    "of_row",
    "products_of",
]

PARTS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class SumBlock:
    """Products that are added at once, by number, with the types of A, B, what is added, and the result."""

    products: tuple[int, ...]
    types: Mapping[str, str]


@dataclass(frozen=True)
class ChipArithmetic:
    """What one variant's sums come to on a chip family: its row, its model, the integers, the blocks."""

    family: str
    row: ArithmeticRow
    model: ArithmeticModel
    types: Mapping[str, str]
    integers: Mapping[str, int]
    blocks: tuple[SumBlock, ...]

    @property
    def products(self) -> int:
        """How many products an element of D has."""
        return sum(len(block.products) for block in self.blocks)


def constants_of(specification: Specification, element: str) -> dict[str, int]:
    """What formulas know of an element type."""
    known = specification.index.types[element]
    form = specification.formats.get(element)
    return {
        "width": known.bits,
        "signed": int(known.kind == "signed") if form is None else int(form.signed),
        "exponent_bits": form.exponent if form else 0,
        "fraction_bits": form.fraction if form else 0,
        "bias": form.bias if form else 0,
        "ignored": form.ignored if form else 0,
        "infinities": int(form is not None and form.specials == "ieee"),
        "nans": int(form is not None and form.specials == "nan"),
    }


def products_of(specification: Specification, variant: Variant) -> int:
    """How many products an element of D has: K, or what the metadata leaves of it where A is sparse."""
    k = int(variant.fields["k"])
    if not variant.row.row.sparsity:
        return k
    sparsity = specification.sparsity_of(variant)
    return k * sparsity.slots // sparsity.chunk


def fields_of(variant: Variant) -> dict[str, str | int]:
    """The names that a row's formulas see: a variant's fields, and the types of A, B, C and D."""
    return {**variant.fields, **{part.lower(): element_type(variant, part) for part in PARTS}}


def evaluated(variant: Variant, formula: Formula, **more: int) -> int:
    """A row's formula for a variant."""
    return variant.row.evaluate(formula, {**fields_of(variant), **more})


def matching_rows(family: ArithmeticFile, variant: Variant) -> Iterator[ArithmeticRow]:
    """The rows of a family that a variant belongs to: one, if its arithmetic is known."""
    instruction = variant.instruction.instruction
    for row in family.rows:
        if instruction in row.instructions and evaluated(variant, row.when):
            yield row


def of_row(
    specification: Specification, family: ArithmeticFile, row: ArithmeticRow, variant: Variant
) -> ChipArithmetic:
    """The arithmetic that a row gives a variant."""
    types = {part: element_type(variant, part) for part in PARTS}
    count = products_of(specification, variant)
    numbers = [evaluated(variant, row.block, i=i) for i in range(count)]
    blocks = [tuple(i for i in range(count) if numbers[i] == block) for block in range(max(numbers) + 1)]
    carried = row.carry or types["D"]
    last = len(blocks) - 1
    return ChipArithmetic(
        family.family,
        row,
        family.models[row.model],
        types,
        {name: evaluated(variant, formula) for name, formula in row.integers.items()},
        tuple(
            SumBlock(
                products,
                {
                    **types,
                    "C": types["C"] if block == 0 else carried,
                    "D": types["D"] if block == last else carried,
                },
            )
            for block, products in enumerate(blocks)
        ),
    )
