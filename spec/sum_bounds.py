"""How far a floating-point sum of a chip may be from the exact sum of its terms."""

from __future__ import annotations

from collections.abc import Mapping

from .chip_arithmetic import ZERO, SumBlock
from .lazy_dataclass import dataclass
from .numerics_records import Format
from .specification import Specification

__all__ = ["SumBound", "bound_of", "sum_bound"]

# Integers of models: binary places of a window, digits kept of its sum, and how it is rounded.
_WINDOW, _DIGITS, _NEAREST, _MODE = "window", "digits", "nearest", "mode"


@dataclass(frozen=True)
class SumBound:
    """|sum - exact| <= terms * 2^(e - window) + one unit of the sum's significant digit number `digits`.

    `e` is the greatest exponent of the terms, and the one at which the window begins at least. Without a
    window, nothing is cut before the sum is rounded. `nearest`: half a unit is enough. It holds where no sum
    is too large for its type.
    """

    terms: int
    window: int | None
    digits: int
    nearest: bool

    @property
    def text(self) -> str:
        """The bound in short: `9 * 2^(e - 25) + u24/2`; u24 is one unit of the 24th significant digit."""
        unit = f"u{self.digits}" + "/2" * self.nearest
        return unit if self.window is None else f"{self.terms} * 2^(e - {self.window}) + {unit}"


def sum_bound(terms: int, integers: Mapping[str, int], form: Format) -> SumBound:
    """The bound of so many terms, by the integers of their model and the format of the sum."""
    digits = form.fraction + 1
    nearest = integers.get(_NEAREST, 0) == 1 or integers.get(_MODE) == 0
    return SumBound(terms, integers.get(_WINDOW), min(integers.get(_DIGITS, digits), digits), nearest)


def bound_of(specification: Specification, block: SumBlock) -> SumBound | None:
    """How far a block's sum may be from the exact sum of its terms; None where it is an integer."""
    form = specification.formats.get(block.result)
    if form is None:
        return None
    terms = len(block.products) + sum(number != ZERO for number in block.addends)
    return sum_bound(terms, block.integers, form)
