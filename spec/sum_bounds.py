"""How far a floating-point sum of a chip may be from the exact sum of its terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import ceil

from .chip_arithmetic import FACTORS, ZERO, ChipArithmetic, SumBlock
from .lazy_dataclass import dataclass
from .numerics_records import Format
from .patterns import greatest
from .specification import Specification

__all__ = ["SumBound", "bound_of", "greatest_loss", "losing", "sum_bound", "top_loss"]

# Integers of models: binary places of a window, digits kept of its sum, and how it is rounded.
_WINDOW, _DIGITS, _NEAREST, _MODE = "window", "digits", "nearest", "mode"
_HUNDREDTHS = 100  # a bound in short has two decimals


@dataclass(frozen=True)
class SumBound:
    """|sum - exact| <= cut * 2^(e - window) + u - 2^(e - window); with `nearest`, cut * 2^(e - window) + u/2.

    `e` is the greatest exponent of the terms, and the one at which the window begins at least; u is one unit
    of the sum's significant digit number `digits`, of the last place of its type at least, and 2^(e - window)
    at least. All terms together lose `cut` at most, and some lose all of it. Without a window, nothing is cut
    before the sum is rounded, which loses less than u. It holds where no sum is too large for its type.
    """

    cut: Fraction
    window: int | None
    digits: int
    nearest: bool

    @property
    def text(self) -> str:
        """The bound in short: `15 * 2^(e - 25) + u24`, whose factor is rounded up."""
        unit = f"u{self.digits}" + "/2" * self.nearest
        if self.window is None:
            return unit
        factor = ceil((self.cut - (not self.nearest)) * _HUNDREDTHS)
        return f"{factor / _HUNDREDTHS:g} * 2^(e - {self.window}) + {unit}"

    def value(self, window_unit: Fraction, unit: Fraction) -> Fraction:
        """The bound as a number, of a sum whose last digit is a multiple of `unit`."""
        if self.nearest or self.window is None:
            return self.cut * window_unit + (unit / 2 if self.nearest else unit)
        return self.cut * window_unit + max(unit - window_unit, Fraction(0))


def sum_bound(
    factors: Sequence[Format],
    products: int,
    addends: Sequence[Format],
    integers: Mapping[str, int],
    result: Format,
) -> SumBound | None:
    """The bound of so many products, and of addends of some types, by the integers of their model.

    None where one term is a number of the result's type.
    """
    window, digits = integers.get(_WINDOW), result.fraction + 1
    nearest = integers.get(_NEAREST, 0) == 1 or integers.get(_MODE) == 0
    if window is None:
        alone = factors if products else addends
        if products + len(addends) == 1 and _holds(result, alone):
            return None
        return SumBound(Fraction(0), None, digits, nearest)
    cut = Fraction(0)
    if products:
        cut = products * greatest_loss(factors) + max(_on_top(factors, addends, window))
    return SumBound(cut, window, min(integers.get(_DIGITS, digits), digits), nearest)


def bound_of(specification: Specification, arithmetic: ChipArithmetic, block: SumBlock) -> SumBound | None:
    """How far a block's sum may be from the exact sum of its terms; None where it is always exact."""
    form = specification.formats.get(block.result)
    if form is None:
        return None
    factors = [specification.formats[arithmetic.types[part]] for part in FACTORS if block.products]
    added = zip(block.addends, block.types, strict=True)
    addends = [specification.formats[element] for number, element in added if number != ZERO]
    return sum_bound(factors, len(block.products), addends, block.integers, form)


def losing(factors: Sequence[Format]) -> Iterator[tuple[int, int, int]]:
    """Significands of two factors (or of one number), and how many places of their product are cut away,
    with which a product loses as much of the last place before them as one can; the fewest places first.
    """
    most = [(2 << form.fraction) - 1 for form in factors]
    return iter(_losing(most[0], most[1] if most[1:] else 1))


@cache
def _losing(first: int, second: int) -> tuple[tuple[int, int, int], ...]:
    """The same, of significands up to two numbers: what is left to a whole is tried upward."""
    places = (first * second).bit_length()
    for left in range(1, 1 << places):  # the loss is 1 - left / 2^places
        found = [
            (x, number // x, cut)
            for cut in range(1, places + 1)
            if (left << cut) % (1 << places) == 0
            for number in range((1 << cut) - (left << cut >> places), first * second + 1, 1 << cut)
            for x in range(-(-number // second), min(first, number) + 1)
            if number % x == 0
        ]
        if found:
            return tuple(found)
    return ()


def greatest_loss(factors: Sequence[Format]) -> Fraction:
    """The greatest part of the window's last place that a product of two factors, or a number, may lose."""
    x, y, cut = next(losing(factors))
    return Fraction(x * y % (1 << cut), 1 << cut)


def _on_top(factors: Sequence[Format], addends: Sequence[Format], window: int) -> Iterator[Fraction]:
    """What n products and the addends lose at most beyond n times what a product may lose: where the window
    begins at a product, and where it begins at an addend (of which there is one), or at neither.
    """
    yield sum((greatest_loss([form]) for form in addends), top_loss(factors, window) - greatest_loss(factors))
    for form in addends:
        yield top_loss([form], window)


def top_loss(term: Sequence[Format], window: int) -> Fraction:
    """What a term loses at most where the window begins at it: nothing, if the window has all its places."""
    below = sum(form.fraction for form in term) - window
    return Fraction((1 << below) - 1, 1 << below) if below > 0 else Fraction(0)


def _holds(result: Format, factors: Sequence[Format]) -> bool:
    """Whether every product of two factors, or every number, is a number of the result's type."""
    digits = sum(form.fraction + 1 for form in factors)
    last = sum(1 - form.bias - form.fraction for form in factors)
    most = Fraction(1)
    for form in factors:
        most *= greatest(form)
    return (
        digits <= result.fraction + 1
        and last >= 1 - result.bias - result.fraction
        and most <= greatest(result)
    )
