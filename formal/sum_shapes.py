"""The kinds of sums that a chip family's arithmetic is made of: a model, its integers, the types of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..spec.arithmetic_records import ArithmeticFile, ArithmeticModel
from ..spec.chip_arithmetic import FACTORS, C, ChipArithmetic, SumBlock, matching_rows, of_row
from ..spec.parts import computes
from ..spec.specification import Specification
from ..spec.variants import Variant

__all__ = ["SumShape", "float_sums", "longest_sums", "sum_shapes"]


@dataclass(frozen=True)
class SumShape:
    """What sums have in common: their model, its word and integers, and the types.

    `factors` are the types of A and B, nothing where there are no products; `addends` those of the addends,
    `result` that of the sum. `products` is the greatest number of products that are added at once. `sparse`
    says whether A is sparse, and `clamped` whether the text clamps the result, by variants.
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

    @property
    def constants(self) -> dict[str, int]:
        """What all stages know beside the types."""
        return {"word": self.word, "offset": self.model.offset, **dict(self.integers)}

    def __str__(self) -> str:
        words = " + ".join(filter(None, (" x ".join(self.factors), *self.addends)))
        given = ", ".join(f"{name} {value}" for name, value in self.integers)
        return f"{words} -> {self.result} ({self.name}: {given})"


def sum_shapes(specification: Specification, family: ArithmeticFile) -> tuple[SumShape, ...]:
    """Every shape of a family's sums."""
    found: dict[SumShape, SumShape] = {}
    for variant, arithmetic in _arithmetics(specification, family):
        sparse = bool(variant.row.row.sparsity)
        clamped = variant.fields.get("satfinite") == "satfinite"
        for block in arithmetic.blocks:
            shape = _shape(arithmetic, block)
            known = found.get(shape, shape)
            found[shape] = replace(
                known,
                products=max(known.products, len(block.products)),
                sparse=known.sparse | {sparse},
                clamped=known.clamped | {clamped},
            )
    return tuple(found.values())


def float_sums(specification: Specification, family: ArithmeticFile) -> Iterator[ChipArithmetic]:
    """Arithmetics of floating-point sums of one block with C, each kind of A, integers and result once."""
    seen: set[object] = set()
    for _, arithmetic in _arithmetics(specification, family):
        block = arithmetic.blocks[0]
        several = len(block.products) > 1 and block.addends == (C,) and block.types == (block.result,)
        if len(arithmetic.blocks) == 1 and several and block.result in specification.formats:
            key = (arithmetic.types["A"], *block.integers.values(), block.result)
            if key not in seen:
                seen.add(key)
                yield arithmetic


def longest_sums(
    specification: Specification, family: ArithmeticFile
) -> Mapping[SumShape, tuple[ChipArithmetic, SumBlock]]:
    """Of every shape of a family's sums, the arithmetic and the block with the most products."""
    found: dict[SumShape, tuple[ChipArithmetic, SumBlock]] = {}
    for _, arithmetic in _arithmetics(specification, family):
        for block in arithmetic.blocks:
            shape = _shape(arithmetic, block)
            if shape not in found or len(found[shape][1].products) < len(block.products):
                found[shape] = arithmetic, block
    return found


def _shape(arithmetic: ChipArithmetic, block: SumBlock) -> SumShape:
    factors = tuple(arithmetic.types[part] for part in FACTORS) if block.products else ()
    step = block.step
    integers = tuple(block.integers.items())
    return SumShape(block.model, step.model, step.word, integers, factors, block.types, block.result)


def _arithmetics(
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
