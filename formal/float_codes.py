"""What a bit pattern of an element type stands for, by its format alone, as terms that no model has made."""

from __future__ import annotations

from dataclasses import dataclass

from ..spec.numerics_records import Format
from .smt.terms import And, BitVecVal, Extract, If, Or, Term, ZeroExt

__all__ = ["FloatCode"]


@dataclass(frozen=True)
class FloatCode:
    """A symbolic bit pattern of a format with a sign, cut into its fields."""

    format: Format
    code: Term

    @property
    def sign(self) -> Term:
        """The highest bit."""
        highest = self.code.size() - 1
        return Extract(highest, highest, self.code)

    @property
    def field(self) -> Term:
        """The bits of the exponent."""
        low = self.format.ignored + self.format.fraction
        return Extract(low + self.format.exponent - 1, low, self.code)

    @property
    def fraction(self) -> Term:
        """The bits of the fraction."""
        low = self.format.ignored
        return Extract(low + self.format.fraction - 1, low, self.code)

    @property
    def _full(self) -> Term:
        return self.field == -1

    @property
    def nan(self) -> Term:
        """It is not a number."""
        if self.format.specials == "none":
            return And(self.field == 0, self.field != 0)
        return And(self._full, self.fraction != 0 if self.format.specials == "ieee" else self.fraction == -1)

    @property
    def finite(self) -> Term:
        """It is a number, and not an infinity."""
        if self.format.specials == "none":
            return Or(self.field == 0, self.field != 0)
        if self.format.specials == "ieee":
            return self.field != -1
        return Or(self.field != -1, self.fraction != -1)

    def significand(self, width: int) -> Term:
        """The integer that the exponent scales, in so many bits: a subnormal number has no leading one."""
        fraction = ZeroExt(width - self.format.fraction, self.fraction)
        return If(self.field == 0, fraction, fraction + (1 << self.format.fraction))

    def exponent(self, width: int) -> Term:
        """The coded exponent, in so many bits; that of subnormal numbers is the least normal one."""
        field = ZeroExt(width - self.format.exponent, self.field)
        return If(self.field == 0, BitVecVal(1, width), field)
