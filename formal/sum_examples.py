"""Least inputs that show what sums on a chip are not: found by trying, with the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ..spec.chip_arithmetic import C, ChipArithmetic
from ..spec.dot_product import DotProduct, ElementCode
from ..spec.errors import Question
from ..spec.patterns import decode, encode
from ..spec.specification import Specification

__all__ = ["FloatSums", "SumExample"]

_MOST_PLACES = 64  # below the greatest term
_SCALES = (0, 8, -8, 4, -4)  # of the terms, in powers of two
_Factors = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class SumExample:
    """Products and an addend, two results that differ, and how many places lie between the terms."""

    products: tuple[_Factors, ...]
    addend: Fraction
    one: Fraction
    other: Fraction
    places: int


@dataclass(frozen=True)
class FloatSums:
    """Floating-point sums of one block of an arithmetic, of two products or fewer, and an addend."""

    specification: Specification
    arithmetic: ChipArithmetic

    @cached_property
    def _definitions(self) -> tuple[DotProduct, ...]:
        """The sum of one product and C, and that of two."""
        block = self.arithmetic.blocks[0]
        short = [replace(block, products=tuple(range(count)), addends=(C,)) for count in (1, 2)]
        known = [replace(self.arithmetic, blocks=(one,)) for one in short]
        return tuple(DotProduct(self.specification, one) for one in known)

    def split(self) -> SumExample | None:
        """Two products, one that cancels C and one far below it: added at once, and one after the other."""
        for places in range(1, _MOST_PLACES):
            for scale in _SCALES:
                greatest, least = Fraction(2) ** scale, Fraction(2) ** (scale - places)
                products = (-greatest, Fraction(1)), (least, Fraction(1))
                at_once = self._sum(products, greatest)
                first = None if at_once is None else self._sum(products[:1], greatest)
                apart = None if first is None else self._sum(products[1:], first)
                if at_once is not None and apart is not None:
                    if at_once != apart:
                        return SumExample(products, greatest, at_once, apart, places)
                    break
        return None

    def factored(self) -> SumExample | None:
        """One of two products is made of other factors, and is the same: the sum becomes less."""
        for places in range(1, _MOST_PLACES):
            for one, other in self._equal():
                product = one[0] * one[1]
                products = one, (-one[0], one[1])
                before = self._sum(products, product / 2**places)
                after = None if before is None else self._sum((other, products[1]), product / 2**places)
                if before is not None and after is not None and after < before:
                    return SumExample((*products, other), product / 2**places, before, after, places)
        return None

    def _equal(self) -> Iterator[tuple[_Factors, _Factors]]:
        """Pairs of factors with one product, whose exponents come to less in the first pair."""
        half, least = Fraction(3, 2), self._least
        for scale in (Fraction(1), Fraction(256)):
            yield (half * scale, half), (2 * scale, Fraction(9, 8))
            yield (least * 16, scale), (least, scale * 16)

    @property
    def _least(self) -> Fraction:
        """The least positive number of A's type."""
        form = self.specification.formats[self.arithmetic.types["A"]]
        value = decode(form, 1 << form.ignored)
        return value if isinstance(value, Fraction) else Fraction(1)

    def _sum(self, products: Sequence[_Factors], addend: Fraction) -> Fraction | None:
        """The sum; None where a type does not have one of the numbers, or the sum is not finite."""
        types, definition = self.arithmetic.types, self._definitions[len(products) - 1]
        a = [self._code(types["A"], one) for one, _ in products]
        b = [self._code(types["B"], other) for _, other in products]
        c = self._code(self.arithmetic.blocks[0].types[0], addend)
        if c is None or None in a or None in b:
            return None
        first, second = ([ElementCode(code) for code in codes if code is not None] for codes in (a, b))
        code = definition.code(first, second, c)
        found = decode(self.specification.formats[self.arithmetic.blocks[0].result], code)
        return found if isinstance(found, Fraction) else None

    def _code(self, element: str, value: Fraction) -> int | None:
        form = self.specification.formats[element]
        try:
            code = encode(form, value)
        except Question:  # it is beyond the greatest number
            return None
        return code if decode(form, code) == value else None
