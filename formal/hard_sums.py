"""Sums that lose almost all that they may: how near errors come to their bound, found with the definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ..spec.chip_arithmetic import FACTORS, ZERO, C, ChipArithmetic, SumBlock
from ..spec.dot_product import DotProduct, ElementCode
from ..spec.errors import Question
from ..spec.patterns import decode, encode, greatest
from ..spec.specification import Specification
from ..spec.sum_bounds import SumBound, bound_of

__all__ = ["HardSum"]

_HIGHEST = 60  # exponent of the greatest terms; no window or result reaches from there to its end
_SPARE = 4  # binary places between the greatest terms and the greatest number
_GREAT = ((1, 1), (3, 3))  # significands of a great product: the second makes a sum of a digit more
_COUNTS = (1, 2, 4)  # of great products


@dataclass(frozen=True)
class HardSum:
    """Sums of a block with a window: some great products, one just below the last place of the result, which
    leaves as much as possible to rounding, and all others, with C, just below the window.
    """

    specification: Specification
    arithmetic: ChipArithmetic
    block: SumBlock

    def comes_to(self, part: Fraction) -> bool:
        """Whether the error of such a sum comes to so much of its bound."""
        found = (self._part(factors, count) for factors in _GREAT for count in _COUNTS)
        return any(one is not None and one >= part for one in found)

    def _part(self, factors: tuple[int, int], count: int) -> Fraction | None:
        """The part with so many great products; None where a type does not have the numbers."""
        bound, formats = bound_of(self.specification, self.block), self.specification.formats
        assert bound is not None and bound.window is not None
        ends = [_exponent(greatest(formats[self.arithmetic.types[part]])) for part in FACTORS]
        top = min(_exponent(greatest(formats[self.block.result])) - _SPARE, sum(ends), _HIGHEST)
        quantum = top - bound.window
        places = top - sum(number.bit_length() - 1 for number in factors)
        sum_ = count * factors[0] * factors[1] * Fraction(2) ** places
        digits = _exponent(sum_) - bound.digits + 1 - bound.nearest - quantum
        pairs = [self._pair(*factors, places)] * count
        if digits > 0:
            pairs.append(self._small(quantum + digits))
        pairs += [self._small(quantum)] * (len(self.block.products) - len(pairs))
        found = [pair for pair in pairs if pair is not None]
        if len(found) < len(pairs):
            return None
        return self._error(bound, [a for a, _ in found], [b for _, b in found], quantum)

    def _error(self, bound: SumBound, a: list[int], b: list[int], quantum: int) -> Fraction:
        """The part of its bound that the error of a sum comes to."""
        kind = self.block.types[0]
        adds_zero = self.block.addends == (ZERO,)
        c = 0 if adds_zero else self._below(kind, quantum)
        block = replace(self.block, addends=(ZERO if adds_zero else C,), products=tuple(range(len(a))))
        definition = DotProduct(self.specification, replace(self.arithmetic, blocks=(block,)))
        code = definition.code([ElementCode(one) for one in a], [ElementCode(one) for one in b], c)
        found = self._value(block.result, code)
        exact = self._value(kind, c)
        types = self.arithmetic.types
        for x, y in zip(a, b, strict=True):
            exact += self._value(types["A"], x) * self._value(types["B"], y)
        last = _exponent(found) - bound.digits + 1 - bound.nearest
        return abs(exact - found) / (bound.terms * Fraction(2) ** quantum + Fraction(2) ** last)

    def _pair(self, x: int, y: int, exponent: int) -> tuple[int, int] | None:
        """The codes of an element of A and one of B, whose product is x * y * 2^exponent, if any."""
        for step in range(2 * _HIGHEST):
            first = exponent // 2 + (step // 2 + 1 if step % 2 else -(step // 2))
            a = self._code("A", x * Fraction(2) ** first)
            b = self._code("B", y * Fraction(2) ** (exponent - first))
            if a is not None and b is not None:
                return a, b
        return None

    def _small(self, exponent: int) -> tuple[int, int] | None:
        """The codes of two elements whose product is as near below 2^exponent as the types have it."""
        found = (self._pair(x, y, exponent - digits) for x, y, digits in self._nearest)
        return next((pair for pair in found if pair is not None), None)

    @cached_property
    def _nearest(self) -> list[tuple[int, int, int]]:
        """Significands with a product just below a power of two, and that power; the nearest first."""
        first, second = (2 << self._fraction(part) for part in FACTORS)
        found = []
        for digits in range(1, (first * second).bit_length()):
            pairs = ((x, min(second - 1, ((1 << digits) - 1) // x)) for x in range(1, first))
            x, y = max(pairs, key=lambda pair: pair[0] * pair[1])
            found.append((x, y, digits))
        return sorted(found, key=lambda one: Fraction(one[0] * one[1], 1 << one[2]), reverse=True)

    def _below(self, element: str, exponent: int) -> int:
        """The code of a number just below 2^exponent, or of zero."""
        form = self.specification.formats[element]
        for digits in range(form.fraction + 1, 0, -1):
            value = ((1 << digits) - 1) * Fraction(2) ** (exponent - digits)
            code = encode(form, value)
            if decode(form, code) == value:
                return code
        return 0

    def _fraction(self, part: str) -> int:
        return self.specification.formats[self.arithmetic.types[part]].fraction

    def _code(self, part: str, value: Fraction) -> int | None:
        form = self.specification.formats[self.arithmetic.types[part]]
        try:
            code = encode(form, value)
        except Question:  # it is beyond the greatest number
            return None
        return code if decode(form, code) == value else None

    def _value(self, element: str, code: int) -> Fraction:
        found = decode(self.specification.formats[element], code)
        assert isinstance(found, Fraction)
        return found


def _exponent(value: Fraction) -> int:
    """The exponent of a number's first digit."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess - (value < Fraction(2) ** guess)
