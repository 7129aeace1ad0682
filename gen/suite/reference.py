"""The reference: D = A*B + C on bit patterns, computed exactly, where the text allows one D only.

Matrices are row-major lists of bit patterns; nothing here knows where an instruction keeps an element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from random import Random

from ...formal.plans import Computation, Draw, InputPlan, arithmetic
from ...spec.errors import Question
from ...spec.parts import element_type
from ...spec.patterns import decode, encode
from ...spec.sparse import decompress_row
from ...spec.sparsity_records import Sparsity
from ...spec.specification import Specification
from ...spec.variants import Variant

__all__ = ["Reference", "drawn"]

NumberMatrix = Sequence[Sequence[int]]


class Reference:
    """What one variant computes, exactly; raises Question for a variant that computes no product."""

    def __init__(self, specification: Specification, variant: Variant) -> None:
        self.specification = specification
        self.variant = variant
        self.computed: Computation = arithmetic(specification, variant)
        self.types = {letter: element_type(variant, letter) for letter in "ABCD"}
        self.sparsity: Sparsity | None = (
            specification.sparsity_of(variant) if variant.row.row.sparsity else None
        )

    def value(self, letter: str, pattern: int) -> Fraction:
        """The value of a bit pattern of A, B, C or D; raises Question for a NaN or an infinity."""
        return _value(self.specification, self.types[letter], pattern)

    def pattern(self, letter: str, value: Fraction) -> int:
        """The pattern of a value of A, B or C; raises Question where the type does not have it."""
        return _pattern(self.specification, self.types[letter], value)

    def result(
        self,
        a: NumberMatrix,
        b: NumberMatrix,
        c: NumberMatrix | None = None,
        *,
        codes: NumberMatrix | None = None,
        negate_a: bool = False,
        negate_b: bool = False,
        scale_a: NumberMatrix | None = None,
        scale_b: NumberMatrix | None = None,
    ) -> list[list[int]]:
        """D as bit patterns. A is M x K (sparse: packed, with a code for each row and chunk), B K x N,
        C and D M x N; without C, D = A*B. Scale factors are M x S and S x N.

        Raises Question where the text leaves the result open: it must be rounded, and nothing says how.
        """
        rows = [[self.value("A", x) * (-1 if negate_a else 1) for x in row] for row in a]
        columns = [
            [self.value("B", x) * (-1 if negate_b else 1) for x in column] for column in zip(*b, strict=True)
        ]
        if self.sparsity is not None:
            rows = self._decompressed(rows, codes)
        if scale_a is not None and scale_b is not None:
            scale = element_type(self.variant, "scale-a")
            rows = [self._scaled(scale, row, by) for row, by in zip(rows, scale_a, strict=True)]
            factors = list(zip(*scale_b, strict=True))
            columns = [self._scaled(scale, col, by) for col, by in zip(columns, factors, strict=True)]
        product = self._product()
        added = [[Fraction(0)] * len(columns)] * len(rows)
        if c is not None:
            added = [[self.value("C", x) for x in row] for row in c]
        return [
            [self._stored(product(row, col) + more) for col, more in zip(columns, line, strict=True)]
            for row, line in zip(rows, added, strict=True)
        ]

    def same(self, one: int, other: int) -> bool:
        """Whether two patterns of D are the same result: the sign of a zero is not specified."""
        return one == other or self.value("D", one) == self.value("D", other) == 0

    def _decompressed(
        self, rows: Sequence[Sequence[Fraction]], codes: NumberMatrix | None
    ) -> list[list[Fraction]]:
        if self.sparsity is None or codes is None:
            raise Question(f"{self.variant.mnemonic} is sparse; its A goes with metadata codes")
        valid = self.specification.codes_of(self.variant)
        return [
            decompress_row(self.sparsity, row, coded, valid, Fraction(0), f"row {number}")
            for number, (row, coded) in enumerate(zip(rows, codes, strict=True))
        ]

    def _scaled(self, scale: str, line: Sequence[Fraction], factors: Iterable[int]) -> list[Fraction]:
        values = [_value(self.specification, scale, factor) for factor in factors]
        chunk = len(line) // len(values)
        return [element * values[place // chunk] for place, element in enumerate(line)]

    def _product(self) -> Callable[[Sequence[Fraction], Sequence[Fraction]], Fraction]:
        match self.computed.operation:
            case None:
                return _dot
            case "xor":
                return lambda row, col: Fraction(sum(x != y for x, y in zip(row, col, strict=True)))
            case "and":
                return lambda row, col: Fraction(sum(bool(x and y) for x, y in zip(row, col, strict=True)))
            case other:
                raise Question(f"the operation .{other} is not known")

    def _stored(self, total: Fraction) -> int:
        held = self.computed.d
        if held.integer:
            low, high = held.low, held.greatest
            number = min(max(int(total), low), high) if self.computed.satfinite else int(total)
            return number & ((high << 1) | 1)
        form = self.specification.formats[self.types["D"]]
        pattern = encode(form, total, self.computed.rounding or "rn")
        if self.computed.rounding is None and decode(form, pattern) != total:
            raise Question(
                f"the result {total} is not a value of {self.types['D']}; the text leaves its rounding open"
            )
        return pattern


def _dot(row: Sequence[Fraction], column: Sequence[Fraction]) -> Fraction:
    """The sum of products, in integers over one denominator."""
    below = max((x.denominator for x in row), default=1), max((x.denominator for x in column), default=1)
    left = [x.numerator * (below[0] // x.denominator) for x in row]
    right = [x.numerator * (below[1] // x.denominator) for x in column]
    return Fraction(sum(map(int.__mul__, left, right)), below[0] * below[1])


def _value(specification: Specification, name: str, pattern: int) -> Fraction:
    form = specification.formats.get(name)
    if form is None:
        element = specification.index.types[name]
        signed = element.kind == "signed" and pattern >> (element.bits - 1) & 1
        return Fraction(pattern - (1 << element.bits) if signed else pattern)
    value = decode(form, pattern)
    if not isinstance(value, Fraction):
        raise Question(f"the pattern {pattern:#x} of {name} is {value}; the reference takes numbers only")
    return value


def _pattern(specification: Specification, name: str, value: Fraction) -> int:
    form = specification.formats.get(name)
    if form is None:
        bits = specification.index.types[name].bits
        pattern = int(value) & ((1 << bits) - 1)
    else:
        pattern = encode(form, value)
    if _value(specification, name, pattern) != value:
        raise Question(f"{value} is not a value of {name}")
    return pattern


def drawn(
    reference: Reference, plan: InputPlan, letter: str, rows: int, columns: int, random: Random
) -> NumberMatrix:
    """A matrix A, B or C of bit patterns as a plan has it; A may be packed."""
    draw: Draw = {"A": plan.a, "B": plan.b, "C": plan.c}[letter]
    unit = Fraction(2) ** draw.exponent

    def element() -> int:
        pattern = reference.pattern(letter, random.randint(draw.low, draw.high) * unit)
        return pattern | (random.getrandbits(plan.garbage) if letter in "AB" and plan.garbage else 0)

    matrix = [[element() for _ in range(columns)] for _ in range(rows)]
    if letter == "A" and plan.nonzero is not None:
        zero = reference.pattern("A", Fraction(0))
        for row in matrix:
            kept = random.sample(range(columns), min(plan.nonzero, columns))
            row[:] = [value if place in kept else zero for place, value in enumerate(row)]
    return matrix
