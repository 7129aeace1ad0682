"""The kinds of sums that a chip family's arithmetic is made of: a model, its integers, the types of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..spec.arithmetic_records import ArithmeticFile, ArithmeticModel
from ..spec.chip_arithmetic import FACTORS, ZERO, C, ChipArithmetic, SumBlock, matching_rows, of_row
from ..spec.parts import computes
from ..spec.specification import Specification
from ..spec.variants import Variant
from .kept import kept

__all__ = ["FamilySums", "SumShape", "block_shape", "family_arithmetics", "family_sums"]


@dataclass(frozen=True)
class SumShape:
    """What sums have in common: their model, its word and integers, and the types.

    `factors` are the types of A and B, nothing where there are no products; `addends` those of the addends,
    `result` that of the sum. `products` is the greatest number of products that are added at once. `sparse`
    says whether A is sparse, and `clamped` whether the text clamps the result, by variants; `zeros` whether
    the addends are zeros, by blocks.
    """

    model: ArithmeticModel = field(repr=False, compare=False)
    name: str
    word: int
    integers: tuple[tuple[str, int], ...]
    factors: tuple[str, ...]
    addends: tuple[str, ...]
    result: str
    products: int = field(default=0, compare=False)
    sparse: frozenset[bool] = field(default=frozenset(), compare=False)
    clamped: frozenset[bool] = field(default=frozenset(), compare=False)
    zeros: frozenset[bool] = field(default=frozenset(), compare=False)

    @property
    def constants(self) -> dict[str, int]:
        """What all stages know beside the types."""
        return {"word": self.word, "offset": self.model.offset, **dict(self.integers)}

    def __str__(self) -> str:
        words = " + ".join(filter(None, (" x ".join(self.factors), *self.addends)))
        given = ", ".join(f"{name} {value}" for name, value in self.integers)
        return f"{words} -> {self.result} ({self.name}: {given})"


@dataclass(frozen=True)
class FamilySums:
    """All sums of a chip family.

    `shapes` has every shape; `longest` the arithmetic and the block of each with the most products; `floats`
    an arithmetic of each kind of floating-point sums of one block with C, by the kind's name; `of_rows` the
    shapes and kinds of each row of the specification, by its id.
    """

    shapes: tuple[SumShape, ...]
    longest: Mapping[SumShape, tuple[ChipArithmetic, SumBlock]]
    floats: Mapping[str, ChipArithmetic]
    of_rows: Mapping[str, frozenset[str]]


@kept
def family_sums(specification: Specification, family: ArithmeticFile) -> FamilySums:
    """All sums of a family. Kept."""
    shapes: dict[SumShape, SumShape] = {}
    longest: dict[SumShape, tuple[ChipArithmetic, SumBlock]] = {}
    floats: dict[str, ChipArithmetic] = {}
    of_rows: dict[str, set[str]] = {}
    for variant, arithmetic in family_arithmetics(specification, family):
        of_row = of_rows.setdefault(variant.row.id, set())
        sparse = bool(variant.row.row.sparsity)
        clamped = variant.fields.get("satfinite") == "satfinite"
        for block in arithmetic.blocks:
            shape = block_shape(arithmetic, block)
            known = shapes.get(shape, shape)
            shapes[shape] = replace(
                known,
                products=max(known.products, len(block.products)),
                sparse=known.sparse | {sparse},
                clamped=known.clamped | {clamped},
                zeros=known.zeros | {ZERO in block.addends},
            )
            if shape not in longest or len(longest[shape][1].products) < len(block.products):
                longest[shape] = arithmetic, block
            of_row.add(str(shape))
        kind = _float_kind(specification, arithmetic)
        if kind is not None:
            floats.setdefault(kind, arithmetic)
            of_row.add(kind)
    rows = {row: frozenset(names) for row, names in of_rows.items()}
    return FamilySums(tuple(shapes.values()), longest, floats, rows)


def _float_kind(specification: Specification, arithmetic: ChipArithmetic) -> str | None:
    """The name of a kind of floating-point sums of one block, several products and C: the type of A, the
    result, the model and its integers. None for other sums.
    """
    block = arithmetic.blocks[0]
    several = len(block.products) > 1 and block.addends == (C,) and block.types == (block.result,)
    if len(arithmetic.blocks) > 1 or not several or block.result not in specification.formats:
        return None
    integers = ", ".join(f"{name} {value}" for name, value in block.integers.items())
    return f"{arithmetic.types[FACTORS[0]]} and C -> {block.result} ({block.step.model}: {integers})"


def block_shape(arithmetic: ChipArithmetic, block: SumBlock) -> SumShape:
    """What a block of sums has in common with others."""
    factors = tuple(arithmetic.types[part] for part in FACTORS) if block.products else ()
    step = block.step
    integers = tuple(block.integers.items())
    return SumShape(block.model, step.model, step.word, integers, factors, block.types, block.result)


def family_arithmetics(
    specification: Specification, family: ArithmeticFile
) -> Iterator[tuple[Variant, ChipArithmetic]]:
    """The arithmetic of every variant on a family's chips, those that differ in N alone once."""
    for one in specification.families.values():
        for view in one.rows if computes(one.instruction) else ():
            seen = set()
            for variant in view.variants():
                key = tuple(value for name, value in variant.fields.items() if name != "n")
                if key not in seen and not set(family.targets).isdisjoint(dict(variant.gate.targets)):
                    seen.add(key)
                    for row in matching_rows(family, variant):
                        yield variant, of_row(specification, family, row, variant)
