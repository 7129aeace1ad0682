"""Why a fused sum is rounded as the exact sum is, though what is far below is one bit in it.

A term that is cut keeps its whole places, and their last one is 1 where anything is lost. All other terms end
three places higher, so the sum is odd there, and lies between the same even numbers as the exact sum. The
sum has places enough for its type's last place, and half of it, to be even numbers.

Exact sums are written here in halves of the last place that is kept: where anything is lost, the exact sum is
put in the middle between two whole numbers of places. No comparison with a whole number tells the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .float_codes import FloatCode
from .smt.integers import length_of
from .smt.obligations import by_cases, refuting
from .smt.terms import UGE, ULE, ULT, And, BitVecs, If, Int, Ints, LShR, Not, Or, Term
from .symbolic_sums import SymbolicSum

__all__ = ["SumTails"]

_WINDOW = "window"
_ANY = "any"  # prefix of an element that is alone
_SIGNED, _SPECIAL = ("plus", "minus"), ("any_nan", "plus_infinity", "minus_infinity")
_MORE = 3  # places that a sum of two terms has beyond theirs


@dataclass(frozen=True)
class SumTails:
    """The sums of one shape, whose model has no window and adds two terms at most."""

    sums: SymbolicSum

    def claims(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]]:
        """Each claim: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        if _WINDOW in shape.constants:
            return
        for element in dict.fromkeys((*shape.factors, *shape.addends)):

            def normal(element: str = element) -> str:
                return self._normal(element)

            yield f"the first digit of {element}", ("element",), (element,), normal
        if shape.factors:
            yield "the first digit of a product", ("product",), shape.factors, self._product
        if shape.products + len(shape.addends) > 1:
            types = (" x ".join(shape.factors), *shape.addends, shape.result)
            yield "what a term keeps", ("term",), (), self._kept
            yield "how far a term is cut", ("term",), (), self._by
            yield "what is near is whole", ("term",), types, self._near
            yield "the sum is odd where anything is lost", (), (), self._odd
            yield "the digits of a sum of which anything is lost", ("term",), types, self._long
            yield "the last place of the result", ("result",), types, self._placed
        if shape.factors and shape.addends:
            types = (*shape.factors, *shape.addends)
            yield "a product of zero", ("element", "product", "addend", "term"), types, self._nothing

    @property
    def _most(self) -> int:
        """The greatest number of binary places that a term has."""
        formats, shape = self.sums.specification.formats, self.sums.shape
        products = [sum(formats[element].fraction for element in shape.factors)] if shape.factors else []
        return max([*products, *(formats[element].fraction for element in shape.addends)])

    def _normal(self, element: str) -> str:
        """The significand of a number other than zero does not have its first digit before the point."""
        code = self.sums.element("code", element)
        form = FloatCode(self.sums.specification.formats[element], code)
        significand = self.sums.decoded(_ANY, element, code)[f"{_ANY}_significand"]
        first = And(UGE(significand, 1 << form.format.fraction), ULT(significand, 2 << form.format.fraction))
        zero = And(form.field == 0, form.fraction == 0)
        return refuting(form.finite, Not(If(zero, significand == 0, first)))

    def _product(self) -> str:
        """A product of such significands does not have one digit before the point, or two. In integers."""
        formats, shape = self.sums.specification.formats, self.sums.shape
        ends = [1 << formats[element].fraction for element in shape.factors]
        given = dict(zip(("a_significand", "b_significand"), Ints("first second"), strict=True))
        found = self.sums.derived(("significand",), given, integers=True, each="product")["significand"]
        held = [And(one >= end, one < 2 * end) for one, end in zip(given.values(), ends, strict=True)]
        least = ends[0] * ends[1]
        return refuting(*held, Or(found < least, found >= 4 * least), logic="QF_NIA")

    def _kept(self) -> str:
        """A term does not keep its places above `by`, with 1 in the last one where any digit is lost; where
        it is cut as far as a word goes, it is not one bit.
        """
        word, number = self.sums.shape.word, self.sums.number
        whole, by = BitVecs("whole by", word)

        def kept(by: Term) -> Term:
            return self.sums.derived(("kept",), {"whole_term": whole, "by": by}, each="term")["kept"]

        above, below = LShR(whole, by), whole & (number(1) << by) - 1
        near = And(ULT(by, word), kept(by) != If(below != 0, above | 1, above))
        bit = If(whole != 0, number(1), number(0))
        return refuting(Or(near, And(ULT(whole, 1 << word - 1), kept(number(word - 1)) != bit)))

    def _by(self) -> str:
        """`by` is not how far a term is below, or as far as a word goes. In integers."""
        far, word = Int("far"), self.sums.shape.word
        by = self.sums.derived(("by",), {"far": far}, integers=True, each="term")["by"]
        return refuting(far >= 0, by != If(far < word, far, word - 1), logic="QF_LIA")

    def _near(self) -> str:
        """A term that is no more than three places below the greatest loses a digit."""
        significand, places, far = BitVecs("significand places far", self.sums.shape.word)
        given = {"significand": significand, "places": places, "most_places": self.sums.number(self._most)}
        given |= {"far": far}
        found = self.sums.derived(("whole_term", "kept"), given, each="term")
        limited = And(ULE(places, self._most), ULT(significand, 4 << self._most))
        loses = (found["kept"] << far) != found["whole_term"]
        return refuting(limited, by_cases(far, _MORE + 1, loses))

    def _odd(self) -> str:
        """The sum and the exact sum are not on the same side of an even number. In integers."""
        near, above, last, lost, even = Ints("near above last lost even")
        faults = []
        for sign in (1, -1):
            whole = 2 * above + last
            total = 2 * near + sign * If(lost == 1, 2 * above + 1, whole)
            exact = 4 * near + sign * (2 * whole + lost)  # in halves
            faults += [
                (total < 2 * even) != (exact < 4 * even),
                (total == 2 * even) != (exact == 4 * even),
            ]
        bits = [And(one >= 0, one <= 1) for one in (last, lost)]
        return refuting(*bits, near >= 0, above >= 0, Or(*faults), logic="QF_LIA")

    def _long(self) -> str:
        """A sum that loses a digit of one term has fewer digits than two before the places of both."""
        word, most = self.sums.shape.word, self._most
        near, whole, far = BitVecs("near whole far", word)
        kept = self.sums.derived(("kept",), {"whole_term": whole, "far": far}, each="term")["kept"]
        known = (
            UGE(near, 1 << most + _MORE),  # its first digit is before the point
            ULT(near, 4 << most + _MORE),
            ULT(whole, 4 << most + _MORE),
            UGE(far, _MORE + 1),
        )
        return refuting(*known, Or(ULT(near, kept), ULT(near - kept, 1 << most + _MORE - 1)))

    def _placed(self) -> str:
        """The last place of the type is not two places, or more, above that of such a sum. In integers."""
        total, digits = Int("total"), length_of(Int("total"))
        reduced = {name: Int(name) for name in sorted(self.sums.reductions)}
        found = self.sums.derived(("left", "shift"), {**reduced, "total": total}, integers=True)
        return refuting(
            total > 0,
            digits >= self._most + _MORE,
            reduced["most_places"] == self._most,
            Not(And(found["left"] <= 0, found["shift"] >= 2)),
            logic="QF_LIA",
        )

    def _nothing(self) -> str:
        """A product of zero and a number is added to another number, and it is not that number alone which
        is rounded: the sum has something of the product, or begins elsewhere.
        """
        shape = self.sums.shape
        types = (*shape.factors, shape.addends[0])
        codes = [
            self.sums.element(name, element)
            for name, element in zip(("zero", "other", "addend"), types, strict=True)
        ]
        formats = [self.sums.specification.formats[element] for element in types]
        a, b, c = (FloatCode(form, code) for form, code in zip(formats, codes, strict=True))
        product, addend = self.sums.product(codes[0], codes[1]), self.sums.addend(codes[2], types[2])
        sums = self.sums.reduced([product], self.sums.any_sums("sums"))
        added = [sums[name] != 0 for name in (*_SIGNED, *_SPECIAL)]
        elsewhere = self.sums.reduced([product, addend])["top"] != addend["c_exponent"]
        zero = And(a.field == 0, a.fraction == 0)
        number = And(c.finite, Or(c.field != 0, c.fraction != 0))
        return refuting(zero, b.finite, number, Or(*added, elsewhere))
