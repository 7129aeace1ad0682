"""Sums that lose all that they may: inputs whose errors reach their bound, found with the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

from ..spec.chip_arithmetic import FACTORS, ZERO, C, ChipArithmetic, SumBlock
from ..spec.dot_product import BlockSteps, DotProduct, ElementCode
from ..spec.errors import Question
from ..spec.numerics_records import Format
from ..spec.patterns import decode, encode, greatest
from ..spec.specification import Specification
from ..spec.sum_bounds import SumBound, bound_of, losing

__all__ = ["HardSum", "HardestErrors"]

_HIGHEST = 60  # exponent of the greatest terms; no window or result reaches from there to its end
_SPARE = 2  # binary places between the greatest terms and the greatest number
_GREAT = ((1, 1), (3, 3))  # significands of a great product: the second makes a sum of a digit more
_COUNTS = (1, 2)  # of great products
_FEW, _ADDEND = 3, -1  # elements of A that are not zero where nothing is cut; what stands for C there
_Pair = tuple[int, int]


@dataclass(frozen=True)
class HardestErrors:
    """The greatest errors that were found, of one sum: what the cut terms lose, in units of the window's last
    place; what rounding loses, as a part of what it may; and how far an error of both is below the bound, in
    units of the window's last place (without a window: of the result's least number).
    """

    cut: Fraction
    rounded: Fraction
    left: Fraction


@dataclass(frozen=True)
class HardSum:
    """Floating-point sums of a block of an arithmetic that lose as much as they may."""

    specification: Specification
    arithmetic: ChipArithmetic
    block: SumBlock

    @cached_property
    def bound(self) -> SumBound:
        """How far such a sum may be from the exact one."""
        found = bound_of(self.specification, self.arithmetic, self.block)
        assert found is not None
        return found

    @cached_property
    def hardest(self) -> HardestErrors:
        """The greatest errors of all sums that are tried."""
        sums = self._rounded() if self.bound.window is None else map(self._added, self._arranged())
        cut, rounded, left = zip(*(one for one in sums if one is not None), strict=True)
        return HardestErrors(max(cut), max(rounded), min(left))

    def _arranged(self) -> Iterator[tuple[list[_Pair | None], Fraction]]:
        """Products and an addend: great terms, at most one that rounding cuts away, and small ones just below
        the window. The window begins at the products; or at the addend, and all products are small.
        """
        count = len(self.block.products)
        window = Fraction(2) ** self._last
        yield [self._small] * count, self._below(Fraction(2) ** (self._top + 1))
        for factors, times in product((*_GREAT, *self._halfway), _COUNTS):
            last = self._top - sum(one.bit_length() - 1 for one in factors)
            great = [self._pair(*factors, last)] * times
            sum_ = times * factors[0] * factors[1] * Fraction(2) ** last
            unit = Fraction(2) ** (_exponent(sum_) - self.bound.digits + 1)
            away = [(self._just_below(unit), self._below(unit))]
            if self.bound.nearest:
                half = _exponent(unit) - 1
                away = [(self._pair(1, 1, half), self._halved(unit / 2, window)), (None, unit / 2)]
            few = [self._small] * (count - times)
            yield great + few, self._below(window)
            for between, addend in away:
                yield great + few, addend
                yield [*great, between, *few[1:]], self._below(window)

    def _added(self, terms: tuple[list[_Pair | None], Fraction]) -> tuple[Fraction, ...] | None:
        """What such a sum loses; None where a type does not have one of the numbers."""
        pairs = [pair for pair in terms[0] if pair is not None]
        c = _encoded(self._addend, terms[1]) if self._addend else 0
        if len(pairs) < len(self.block.products) or c is None:
            return None
        a, b = ([ElementCode(pair[part]) for pair in pairs] for part in range(2))
        (steps,) = self._alone.steps(a, b, c)
        return self._lost(steps, self._exact(pairs) + self._value(steps.block.types[0], c))

    def _lost(self, steps: BlockSteps, exact: Fraction) -> tuple[Fraction, ...]:
        """What a sum loses of the exact sum of its terms."""
        names, form = steps.result, self._result
        found = self._value(steps.block.result, steps.code)
        least = Fraction(2) ** (1 - form.bias - form.fraction)
        digit = Fraction(2) ** (_exponent(found) - self.bound.digits + 1) if found else least
        unit, window = max(digit, least), least
        kept = exact
        if self.bound.window is not None:
            window = Fraction(2) ** (names["top"] - names["offset"] - self.bound.window)
            kept = (names["plus"] - names["minus"]) * window
        most = unit / 2 if self.bound.nearest else unit - window
        rounded = abs(kept - found) / most if most > 0 else Fraction(0)
        left = (self.bound.value(window, unit) - abs(exact - found)) / window
        return abs(exact - kept) / window, rounded, left

    def _rounded(self) -> Iterator[tuple[Fraction, ...]]:
        """Whole elements of D of a few terms, of which rounding halves one, or leaves as good as nothing."""
        forms = self.specification.formats
        results = {forms[block.result] for block in self.arithmetic.blocks}
        halves = {Fraction(1, 2 << form.fraction) for form in results}
        least = Fraction(2) ** (1 - self._result.bias - self._result.fraction)
        values = [Fraction(1), *sorted(halves), least, -least]
        definition = DotProduct(self.specification, self.arithmetic)
        zero = [ElementCode(0)] * self.arithmetic.products
        one, number = self._code("B", Fraction(1)), self.arithmetic.blocks.index(self.block)
        assert one is not None
        for places in combinations((*range(len(zero))[:_FEW], _ADDEND), 2):
            for chosen in product(values, repeat=2):
                terms = dict(zip(places, chosen, strict=True))
                c = self._code("C", terms.pop(_ADDEND, Fraction(0)))
                codes = {place: self._code("A", value) for place, value in terms.items()}
                if c is not None and None not in codes.values():
                    a = [ElementCode(codes.get(i) or 0) for i in range(len(zero))]
                    steps = list(definition.steps(a, [ElementCode(one)] * len(zero), c))[number]
                    exact = sum((terms.get(i, Fraction(0)) for i in self.block.products), Fraction(0))
                    added = zip(steps.block.types, steps.addends, strict=True)
                    exact += sum(self._value(kind, code) for kind, code in added)
                    if exact > Fraction(1, 2):
                        yield self._lost(steps, exact)

    @cached_property
    def _forms(self) -> tuple[Format, ...]:
        """The formats of A and B."""
        return tuple(self.specification.formats[self.arithmetic.types[part]] for part in FACTORS)

    @cached_property
    def _alone(self) -> DotProduct:
        """The block alone: it adds C in place of what other blocks sum up."""
        addends = (C if self._addend else ZERO,)
        block = replace(self.block, addends=addends, products=tuple(range(len(self.block.products))))
        return DotProduct(self.specification, replace(self.arithmetic, blocks=(block,)))

    @property
    def _addend(self) -> Format | None:
        """The format of the addend that is not zero, if there is one."""
        added = zip(self.block.addends, self.block.types, strict=True)
        return next((self.specification.formats[kind] for number, kind in added if number != ZERO), None)

    @property
    def _result(self) -> Format:
        return self.specification.formats[self.block.result]

    @cached_property
    def _top(self) -> int:
        """The exponent of the great terms."""
        ends = [_exponent(greatest(form)) for form in self._forms]
        return min(_exponent(greatest(self._result)) - _SPARE, sum(ends), _HIGHEST)

    @property
    def _last(self) -> int:
        """The exponent of the window's last place."""
        assert self.bound.window is not None
        return self._top - self.bound.window

    @cached_property
    def _halfway(self) -> tuple[_Pair, ...]:
        """Significands of a product of one digit more than the result has, above an even one, if any."""
        if self.bound.nearest:
            first, second = (2 << form.fraction for form in self._forms)
            for x in range(1, first, 2):
                for y in range(-(-(1 << self.bound.digits) // x) | 1, second, 2):
                    if (x * y).bit_length() == self.bound.digits + 1 and x * y & 2 == 0:
                        return ((x, y),)
        return ()

    @cached_property
    def _small(self) -> _Pair | None:
        """A product that lies below the window, or reaches into it, and loses as much as one can."""
        found = (self._pair(x, y, self._last - cut) for x, y, cut in losing(self._forms))
        return next((pair for pair in found if pair is not None), None)

    def _just_below(self, power: Fraction) -> _Pair | None:
        """A product just below a power of two."""
        above = ((x, y, (x * y).bit_length()) for x, y, _ in losing(self._forms))
        found = (self._pair(x, y, _exponent(power) - digits) for x, y, digits in above)
        return next((pair for pair in found if pair is not None), None)

    def _pair(self, x: int, y: int, exponent: int) -> _Pair | None:
        """The codes of an element of A and one of B, whose product is x * y * 2^exponent, if any."""
        for step in range(2 * _HIGHEST):
            first = exponent // 2 + (step // 2 + 1 if step % 2 else -(step // 2))
            a = self._code("A", x * Fraction(2) ** first)
            b = self._code("B", y * Fraction(2) ** (exponent - first))
            if a is not None and b is not None:
                return a, b
        return None

    def _below(self, power: Fraction) -> Fraction:
        """The greatest number of the addend's digits below a power of two."""
        form = self._addend
        return Fraction(0) if form is None else power * (1 - Fraction(1, 2 << form.fraction))

    def _halved(self, half: Fraction, window: Fraction) -> Fraction:
        """A number of which half a unit is left in the window, and as much as possible is cut."""
        form = self._addend
        last = half if form is None else half / (1 << form.fraction)
        return half + max(window - last, Fraction(0))

    def _code(self, part: str, value: Fraction) -> int | None:
        return _encoded(self.specification.formats[self.arithmetic.types[part]], value)

    def _exact(self, pairs: Sequence[_Pair]) -> Fraction:
        """The sum of products."""
        a, b = (self.arithmetic.types[part] for part in FACTORS)
        return sum((self._value(a, x) * self._value(b, y) for x, y in pairs), Fraction(0))

    def _value(self, element: str, code: int) -> Fraction:
        found = decode(self.specification.formats[element], code)
        assert isinstance(found, Fraction)
        return found


def _encoded(form: Format, value: Fraction) -> int | None:
    """The code of a number; None if the format does not have it."""
    try:
        code = encode(form, value)
    except Question:  # it is beyond the greatest number
        return None
    return code if decode(form, code) == value else None


def _exponent(value: Fraction) -> int:
    """The exponent of a number's first digit."""
    number = abs(value)
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess - (number < Fraction(2) ** guess)
