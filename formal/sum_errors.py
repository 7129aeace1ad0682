"""How far a sum may be from the exact sum of its terms: the bound that `ptxmma numerics` prints, proven.

The bound holds for any number of terms: a term loses less than one unit of the window, so each term adds a
unit to what all before it may have lost; and what rounding loses is added once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..spec.sum_bounds import sum_bound
from .smt.obligations import refuting
from .smt.terms import UGE, ULE, ULT, And, BitVecs, If, Ints, LShR, Not, Or
from .sum_rounding import SumRounding
from .symbolic_sums import SymbolicSum

__all__ = ["SumErrors"]

_WINDOW, _FLOOR = "window", "floor"
_SIGNED = ("plus", "minus")
_SIGNIFICANDS = 1 << 32  # more than that of any term


@dataclass(frozen=True)
class SumErrors:
    """What the floating-point sums of one shape lose."""

    sums: SymbolicSum

    def claims(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]]:
        """Each claim: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        if _WINDOW in self.sums.shape.constants:
            yield "where the window begins", ("term",), (), self._begins
            yield "what lies below it", ("term",), (), self._below
            yield "what a term keeps", ("term",), (), self._kept
        yield (
            "all terms and the rounding",
            ("result",),
            (str(shape.products + len(shape.addends)), shape.result),
            self._added,
        )

    def _begins(self) -> str:
        """The window does not begin at its only term, or at its floor where that is above the term."""
        names = "significand exponent places negative nan infinite"
        term = dict(zip(names.split(), BitVecs(names, self.sums.shape.word), strict=True))
        floor = self.sums.shape.model.offset - self.sums.shape.constants[_FLOOR]
        top = self.sums.reduced([term | self.sums.fixed()])["top"]
        begins = If(UGE(term["exponent"], floor), term["exponent"], floor)
        return refuting(Not(If(term["significand"] == 0, top == floor, top == begins)))

    def _below(self) -> str:
        """`below` is not how many places of a term's significand lie below the window. In integers."""
        exponent, places, top = Ints("exponent places top")
        given = {"exponent": exponent, "places": places, "top": top}
        below = self.sums.derived(("below",), given, integers=True, each="term")["below"]
        return refuting(exponent <= top, below != places + top - exponent, logic="QF_LIA")

    def _kept(self) -> str:
        """Not the digits of a term above `below` are kept, or they do not count by its sign."""
        word, zero = self.sums.shape.word, self.sums.number(0)
        significand, below, negative = BitVecs("significand below negative", word)
        given = {"significand": significand, "below": below, "negative": negative}
        found = self.sums.derived(("kept", *_SIGNED), given, each="term")
        raised = significand << self.sums.shape.constants[_WINDOW]
        kept = LShR(raised, If(ULT(below, word), below, word - 1))
        nothing = LShR(raised, word - 1) == 0  # what is farther below the window than a word is lost
        plus, minus = (found[name] for name in _SIGNED)
        signed = And(plus == If(negative == 0, kept, zero), minus == If(negative == 0, zero, kept))
        return refuting(ULE(negative, 1), ULT(significand, _SIGNIFICANDS), Not(And(nothing, signed)))

    def _added(self) -> str:
        """One term more adds more than a unit of the window to what is lost; or the bound of all terms is
        less than what they and the rounding may lose. In integers; the last digit's unit is 2 * `half`.
        """
        shape = self.sums.shape
        terms = shape.products + len(shape.addends)
        bound = sum_bound(terms, dict(shape.integers), self.sums.specification.formats[shape.result])
        unit, before, lost, loss, half, rounding = Ints("unit before lost loss half rounding")
        cut = If(loss > 0, loss, 0 - loss) < unit if bound.window is not None else loss == 0
        limit = before + unit if bound.window is not None else before
        step = And(lost <= before, lost >= 0 - before, cut)
        more = And(step, Or(lost + loss > limit, lost + loss < 0 - limit))
        every = terms * unit if bound.window is not None else 0 * unit
        last = half if bound.nearest else 2 * half
        most = half if SumRounding(self.sums).mode == "rn" else 2 * half - 1
        rounded = And(rounding <= most, rounding >= 0 - most)
        total = lost + rounding
        outside = Or(total > every + last, total < 0 - (every + last))
        beyond = And(lost <= every, lost >= 0 - every, rounded, outside)
        return refuting(unit > 0, half > 0, Or(more, beyond), logic="QF_LIA")
