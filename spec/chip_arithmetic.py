"""What one variant's sums come to on a chip family: blocks of products and addends, each with its model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .arithmetic_records import ArithmeticFile, ArithmeticModel, ArithmeticRow, ArithmeticStep
from .expressions import names
from .lazy_dataclass import dataclass
from .parts import element_type
from .specification import Specification
from .variants import RowView, Variant

__all__ = [
    "ADDENDS",
    "FACTORS",
    "PARTS",
    "ZERO",
    "C",
    "ChipArithmetic",
    "SumBlock",
    "block_constants",
    "constants_of",
    "matching_rows",
    "of_row",
    "products_of",
]

FACTORS = ("A", "B")
PARTS = (*FACTORS, "C", "D")
C, ZERO = -1, -2  # addends that are not the sum of an earlier block
ADDENDS = {"C": C, "zero": ZERO}


@dataclass(frozen=True)
class SumBlock:
    """Terms that are added at once: products by number; and addends, the sums of earlier blocks by number, or
    C or ZERO, each with its type. The sum has the type `result`.
    """

    step: ArithmeticStep
    model: ArithmeticModel
    integers: Mapping[str, int]
    products: tuple[int, ...]
    addends: tuple[int, ...]
    types: tuple[str, ...]
    result: str

    @property
    def names(self) -> dict[str, int]:
        """What the formulas of all stages see beside types."""
        return {"word": self.step.word, "offset": self.model.offset, **self.integers}


@dataclass(frozen=True)
class ChipArithmetic:
    """One variant on a chip family: the types of A, B, C and D, and the blocks, of which the last gives D."""

    family: str
    row: ArithmeticRow
    types: Mapping[str, str]
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


def block_constants(
    specification: Specification, arithmetic: ChipArithmetic, block: SumBlock
) -> dict[str, int]:
    """What all stages of a block know: its word, its integers, and the types of A, B and the sum."""
    found = block.names
    named = {"A": arithmetic.types["A"], "B": arithmetic.types["B"], "D": block.result}
    for part, element in named.items():
        known = constants_of(specification, element)
        found |= {f"{part.lower()}_{name}": value for name, value in known.items()}
    return found


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


def matching_rows(family: ArithmeticFile, variant: Variant) -> Iterator[ArithmeticRow]:
    """The rows of a family that a variant belongs to: one, if its arithmetic is known."""
    instruction, fields = variant.instruction.instruction, fields_of(variant)
    for row in family.rows:
        if instruction in row.instructions and variant.row.evaluate(row.when, fields):
            yield row


def of_row(
    specification: Specification, family: ArithmeticFile, row: ArithmeticRow, variant: Variant
) -> ChipArithmetic:
    """The arithmetic that a row gives a variant."""
    fields = fields_of(variant)
    types = {part: str(fields[part.lower()]) for part in PARTS}
    count = products_of(specification, variant)
    blocks: list[SumBlock] = []
    sums: dict[str, int] = dict(ADDENDS)  # by name, which block gives a sum
    for step in row.steps:
        integers = {name: variant.row.evaluate(formula, fields) for name, formula in step.integers.items()}
        addends = [sums[name] for name in step.adds]
        result = step.type or types["D"]
        for products in _groups(step, variant.row, fields, count):
            of_addends = [_type(addend, types["C"], result, blocks) for addend in addends]
            model = family.models[step.model]
            blocks.append(
                SumBlock(step, model, integers, products, tuple(addends), tuple(of_addends), result)
            )
            addends = [len(blocks) - 1]
        sums[step.id] = len(blocks) - 1
    return ChipArithmetic(family.family, row, types, tuple(blocks))


def _groups(
    step: ArithmeticStep, row: RowView, fields: Mapping[str, str | int], count: int
) -> list[tuple[int, ...]]:
    """The products of each block of a step."""
    if step.block is None:
        return [()]
    if "i" in names(step.block.tree):
        numbers = [row.evaluate(step.block, {**fields, "i": i}) for i in range(count)]
    else:
        numbers = [row.evaluate(step.block, fields)] * count
    last = max(numbers)
    return [tuple(i for i in range(count) if numbers[i] == block) for block in range(1, last + 1)]


def _type(addend: int, c: str, result: str, blocks: list[SumBlock]) -> str:
    """The type of an addend; a zero is of the sum's."""
    return c if addend == C else result if addend == ZERO else blocks[addend].result
