"""How a model gives a sum to its type, step by step, against what rounding means.

The sum is `total` * 2^(`quantum` - `offset`). Together the claims say that the nearest number of the type (or
the next one in a direction) is given: `total` is what the terms come to, with the digits that are kept;
`field` is the exponent of its first digit, and `shift` places lie below the last digit of the type (or the
sum is shifted to the `left`); `whole` and `rest` are the digits above and below; and the code is `whole`, or
one more, as the rounding asks. Each claim assumes of names what those before it have shown, so that no solver
needs to look at a whole sum at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..spec.numerics_records import Format
from .float_codes import FloatCode
from .smt.integers import length_of
from .smt.obligations import by_cases, refuting
from .smt.terms import (
    SLE,
    UGE,
    UGT,
    ULE,
    ULT,
    And,
    BitVec,
    BitVecs,
    BitVecVal,
    BoolVal,
    Extract,
    If,
    Int,
    LShR,
    Not,
    Or,
    Term,
    ZeroExt,
)
from .symbolic_sums import SumNames, SymbolicSum

__all__ = ["MODES", "SumRounding"]

MODES = ("rn", "rz", "rm", "rp")  # by the integer `mode` of a model that rounds as IEEE 754 has it
_MODE, _NEAREST, _DIGITS = "mode", "nearest", "digits"
_PLUS, _MINUS = "plus", "minus"
_POSITIVE, _NEGATIVE = "any_positive", "any_negative"
_FIELDS = 1 << 14  # more than any exponent of a sum


@dataclass(frozen=True)
class SumRounding:
    """The last stage of the sums of one shape, whose result is a floating-point number."""

    sums: SymbolicSum

    def claims(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Each claim by what it is about."""
        claims = [self.difference, self.length, self.place, self.above, self.short, self.beyond, self.nearest]
        if self.digits:
            claims += [self.kept, self.surplus]
        return ((claim.__name__, claim) for claim in claims)

    @property
    def format(self) -> Format:
        """The format of the result."""
        return self.sums.specification.formats[self.sums.shape.result]

    @property
    def mode(self) -> str:
        """How sums are rounded."""
        integers = dict(self.sums.shape.integers)
        return MODES[integers[_MODE]] if _MODE in integers else "rn" if integers[_NEAREST] else "rz"

    @property
    def digits(self) -> int:
        """How many digits of the sum are kept, where the model says so; 0 where it does not."""
        return dict(self.sums.shape.integers).get(_DIGITS, 0)

    @property
    def ieee(self) -> bool:
        """Whether signs of zeros, and what is too large, are as IEEE 754 has them."""
        return _MODE in dict(self.sums.shape.integers)

    def difference(self) -> str:
        """`total` (or `sum`, of which some digits are kept) or `negative` is not that of the terms' sum."""
        reduced = self.sums.any_sums("sums")
        plus, minus = reduced[_PLUS], reduced[_MINUS]
        name = "sum" if self.digits else "total"
        found = self.sums.derived((name, "negative"), reduced)
        exact = If(UGT(minus, plus), minus - plus, plus - minus)
        zero = found["negative"] == 0
        if self.ieee:
            downward = And(reduced[_NEGATIVE] == 1, self.mode == "rm")
            zero = (found["negative"] == 1) == Or(reduced[_POSITIVE] == 0, downward)
        sign = If(exact == 0, zero, (found["negative"] == 1) == UGT(minus, plus))
        return refuting(Not(And(found[name] == exact, sign, ULE(found["negative"], 1))))

    def kept(self) -> str:
        """`total` is not `sum` without so many last digits as `surplus` says."""
        whole, surplus = BitVecs("sum surplus", self.sums.shape.word)
        total = self.sums.derived(("total",), {"sum": whole, "surplus": surplus})["total"]
        return refuting(total != LShR(whole, surplus) << surplus)

    def surplus(self) -> str:
        """`surplus` is not how many digits the sum has beyond those that are kept. In integers."""
        digits = length_of(Int("sum"))
        surplus = self.sums.derived(("surplus",), {"sum": Int("sum")}, integers=True)["surplus"]
        beyond = digits - self.digits
        return refuting(digits >= 0, surplus != If(beyond > 0, beyond, 0), logic="QF_LIA")

    def length(self) -> str:
        """The number of binary digits is not the place of the first digit."""
        total = BitVec("total", self.sums.shape.word)
        return refuting(total != 0, LShR(total, self.sums.length(total) - 1) != 1)

    def place(self) -> str:
        """`field` is not the exponent of the sum's first digit, or of subnormal numbers; or the sum is not
        shifted to it. In integers.
        """
        shape, form = self.sums.shape, self.format
        total, digits = Int("total"), length_of(Int("total"))
        reduced = {name: Int(name) for name in sorted(self.sums.reductions)}
        wanted = ("quantum", "field", "left", "shift")
        found = self.sums.derived(wanted, {**reduced, "total": total}, integers=True)
        field, left, shift = found["field"], found["left"], found["shift"]
        below = field + shape.model.offset - found["quantum"] - form.bias - form.fraction
        surplus = digits - (form.fraction + 1)
        right = And(left == 0, shift == If(below < shape.word, below, shape.word - 1))
        placed = If(below > 0, right, And(left == 0 - below, shift == 0))
        subnormal, normal = And(field == 1, surplus <= below), And(field > 1, surplus == below)
        return refuting(
            total >= 0,
            If(total == 0, digits == 0, digits > 0),
            Not(And(placed, If(total == 0, field == 1, Or(subnormal, normal)))),
            logic="QF_LIA",
        )

    def above(self) -> str:
        """Where places lie below the last digit: `whole` and `rest` are not the digits above and below."""
        word, number = self.sums.shape.word, self.sums.number
        total, field = BitVecs("total field", word)
        length, shift = self._few("length", word), self._few("shift", word)
        found = self._digits({"total": total, "left": number(0), "shift": shift, "field": field})
        whole, rest, half, one = found["whole"], found["rest"], found["half"], number(1)
        surplus = length - (self.format.fraction + 1)
        cut = And(whole == LShR(total, shift), rest == total & (one << shift) - 1)
        halved = half == If(shift == 0, number(0), one << shift - 1)
        placed = Or(And(field == 1, SLE(surplus, shift)), And(UGT(field, 1), surplus == shift))
        known = (LShR(total, length - 1) == 1, placed, ULT(shift, word))
        return refuting(*known, ULE(length, word), Not(And(cut, halved, self._fits(found))))

    def short(self) -> str:
        """Where the sum is shifted to the left: it is by as many places as the type has digits, or more.

        It is shifted by less, since it has a digit.
        """
        left = self._few("left", max(self.sums.shape.word, self.format.fraction))
        return refuting(*self._moved(left), UGT(left, self.format.fraction))

    def beyond(self) -> str:
        """Where the sum is shifted so: `whole` is not the sum with zeros behind it."""
        left = self._few("left", self.format.fraction)
        number = self.sums.number
        total, field = BitVecs("total field", self.sums.shape.word)
        found = self._digits({"total": total, "left": left, "shift": number(0), "field": field})
        same = And(LShR(found["whole"], left) == total, found["rest"] == 0)
        wrong = And(*self._moved(left), Not(And(same, self._fits(found))))
        return refuting(by_cases(left.args[0], self.format.fraction + 1, wrong))

    def _moved(self, left: Term) -> tuple[Term, ...]:
        """The sum has a digit, and is shifted to the left until that is the first one of the type, or until
        `field` is that of subnormal numbers.
        """
        word = self.sums.shape.word
        total, field = BitVecs("total field", word)
        length = self._few("length", max(word, self.format.fraction))
        surplus, below = length - (self.format.fraction + 1), self.sums.number(0) - left
        placed = Or(And(field == 1, SLE(surplus, below)), And(UGT(field, 1), surplus == below))
        return LShR(total, length - 1) == 1, placed, left != 0

    def _few(self, name: str, most: int) -> Term:
        """A number of places, of no more bits than `most` has, as a word."""
        few = most.bit_length()
        return ZeroExt(self.sums.shape.word - few, BitVec(name, few))

    def _digits(self, given: Mapping[str, Term]) -> SumNames:
        return self.sums.derived(("whole", "rest", "half"), given)

    def _fits(self, found: SumNames) -> Term:
        """`whole` has the digits of the type: a first one, unless the number is subnormal."""
        whole, fraction = found["whole"], self.format.fraction
        return And(ULT(whole, 2 << fraction), Or(found["field"] == 1, UGE(whole, 1 << fraction)))

    def nearest(self) -> str:
        """The code is not the number next to `whole` and `rest` that the rounding asks for.

        A sum beyond the greatest number is an infinity, or the greatest number where IEEE 754 has it so.
        """
        shape, form = self.sums.shape, self.format
        field, whole, rest, half = BitVecs("field whole rest half", shape.word)
        shift, negative = BitVec("shift", shape.word), BitVec("negative", 1)
        sign = ZeroExt(shape.word - 1, negative)
        given = {"field": field, "whole": whole, "rest": rest, "half": half, "shift": shift, "negative": sign}
        code = self._finite(given)
        significand, exponent = code.significand(shape.word), code.exponent(shape.word)
        last, full = (1 << form.exponent) - 2, (2 << form.fraction) - 1  # exponent, significand
        up = {
            "rn": Or(UGT(rest, half), And(shift != 0, rest == half, Extract(0, 0, whole) == 1)),
            "rz": BoolVal(False),
            "rm": And(rest != 0, negative == 1),
            "rp": And(rest != 0, negative == 0),
        }[self.mode]
        inward = {
            "rn": BoolVal(False),
            "rz": BoolVal(True),
            "rm": negative == 0,
            "rp": negative == 1,
        }[self.mode]
        beyond = Or(UGT(field, last), And(field == last, whole == full, up))
        carried = And(exponent == field + 1, significand == 1 << form.fraction)
        more = If(whole == full, carried, And(exponent == field, significand == whole + 1))
        same = And(exponent == field, significand == whole)
        greatest = And(exponent == last, significand == full)
        infinite = And(Not(code.finite), Not(code.nan))
        given_number = If(beyond, If(And(self.ieee, inward), greatest, infinite), If(up, more, same))
        signed = code.sign == (negative if self.ieee else If(significand == 0, BitVecVal(0, 1), negative))
        return refuting(
            UGE(field, 1),
            ULT(field, _FIELDS),
            ULT(whole, 2 << form.fraction),
            Or(field == 1, UGE(whole, 1 << form.fraction)),
            If(shift == 0, And(half == 0, rest == 0), And(half != 0, ULT(rest, half + half))),
            ULT(half, 1 << shape.word - 2),
            Not(And(given_number, signed)),
        )

    def _finite(self, given: Mapping[str, Term]) -> FloatCode:
        """The code of a sum with no infinity and no NaN."""
        flags = {name: self.sums.number(0) for name in sorted(self.sums.reductions)}
        code = self.sums.derived(("code",), {**flags, **given})["code"]
        bits = self.sums.specification.index.types[self.sums.shape.result].bits
        return FloatCode(self.format, Extract(bits - 1, 0, code))
