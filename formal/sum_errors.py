"""How far a sum may be from the exact sum of its terms: the bound that `ptxmma numerics` prints, proven.

The bound holds for any number of terms. No product and no addend loses more of the window's last place than
its significands allow; each product adds no more than that to what all before it may have lost; the term at
which the window begins loses only what lies below the window's places; what rounding loses is added once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import lcm

from ..spec.chip_arithmetic import constants_of
from ..spec.numerics_records import Format
from ..spec.sum_bounds import SumBound, greatest_loss, sum_bound, top_loss
from .float_codes import FloatCode
from .smt.obligations import refuting
from .smt.terms import (
    UGE,
    UGT,
    ULE,
    ULT,
    And,
    BitVecs,
    BitVecVal,
    Extract,
    If,
    Ints,
    LShR,
    Not,
    Or,
    Term,
    ZeroExt,
)
from .sum_rounding import SumRounding
from .symbolic_sums import SymbolicSum

__all__ = ["SumErrors"]

_WINDOW, _FLOOR = "window", "floor"
_SIGNED = ("plus", "minus")
_SIGNIFICANDS = 1 << 32  # more than that of any term
_LossClaim = tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]


@dataclass(frozen=True)
class SumErrors:
    """What the floating-point sums of one shape lose."""

    sums: SymbolicSum

    def claims(self) -> Iterator[_LossClaim]:
        """Each claim: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        factors, addends = shape.factors, shape.addends
        if _WINDOW in shape.constants:
            yield "where the window begins", ("term",), (), self._begins
            yield "what lies below it", ("term",), (), self._below
            yield "what a term keeps", ("term",), (), self._kept
            for element in dict.fromkeys((*factors, *addends)):
                short = partial(self._short, element)
                yield f"significands of {element}", ("element",), (element,), short
            yield "what a product loses", ("product", "term"), factors, self._product
            for element in addends:
                addend = partial(self._addend, element)
                yield f"what {element} loses", ("addend", "term"), (element,), addend
        for zeros in sorted(shape.zeros):
            about = " of products alone" if zeros else ""
            bound = self._bound(1, zeros)
            if bound is None:
                terms = ("product", "addend", "term", "result")
                types = (*factors, *addends, shape.result)
                yield f"one term{about}", terms, types, partial(self._alone, zeros)
            if bound is not None and bound.window is not None:
                stages = ("element", "product", "addend", "term")
                types = factors if zeros else addends
                yield f"the floor{about}", stages, types, partial(self._low, zeros)
            if self._bound(shape.products, zeros) is not None:
                types = (*factors, *("" if zeros else addends), shape.result)
                added = partial(self._added, zeros)
                yield f"all terms and the rounding{about}", ("term", "result"), types, added

    def _bound(self, products: int, zeros: bool) -> SumBound | None:
        """The bound of so many products, and of the addends where they are not zeros."""
        shape = self.sums.shape
        forms = self._forms
        factors = forms(shape.factors)
        addends = () if zeros else forms(shape.addends)
        count = products if factors else 0
        return sum_bound(factors, count, addends, dict(shape.integers), *forms((shape.result,)))

    def _forms(self, elements: Sequence[str]) -> tuple[Format, ...]:
        return tuple(self.sums.specification.formats[element] for element in elements)

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

    def _short(self, element: str) -> str:
        """An element has more significant digits than its format, or it is not a number and has some."""
        code = self.sums.element("code", element)
        form = self.sums.specification.formats[element]
        found = self.sums.decoded("any", element, code)["any_significand"]
        most = If(FloatCode(form, code).finite, self.sums.number(2 << form.fraction), self.sums.number(1))
        return refuting(UGE(found, most))

    def _product(self) -> str:
        """A product loses more of the window's last place than the bound says, wherever it is cut; or it
        has other places than its factors, or more than the window where it loses nothing on top.
        """
        forms = self._forms(self.sums.shape.factors)
        a, b = (BitVecs(name, form.fraction + 1)[0] for name, form in zip("ab", forms, strict=True))
        word = self.sums.shape.word
        given = {
            "a_significand": ZeroExt(word - a.size(), a),
            "b_significand": ZeroExt(word - b.size(), b),
        }
        found = self.sums.derived(("significand", "places"), given, each="product")
        width = a.size() + b.size()
        exact = ZeroExt(width - a.size(), a) * ZeroExt(width - b.size(), b)
        other = found["significand"] != ZeroExt(word - width, exact)
        return refuting(Or(other, self._loses(exact, forms), self._places(found["places"], forms)))

    def _addend(self, element: str) -> str:
        """The same of an addend."""
        forms = self._forms((element,))
        width = forms[0].fraction + 1
        (c,) = BitVecs("c", width)
        known = constants_of(self.sums.specification, element)
        given = self.sums.numbers({f"c_{name}": value for name, value in known.items()})
        given["c_significand"] = ZeroExt(self.sums.shape.word - width, c)
        found = self.sums.derived(("significand", "places"), given, each="addend")
        other = found["significand"] != given["c_significand"]
        return refuting(Or(other, self._loses(c, forms), self._places(found["places"], forms)))

    def _loses(self, exact: Term, forms: Sequence[Format]) -> Term:
        """More is lost of a number of places than the bound says, by how many places are cut away.

        Of a number that has fewer digits than are cut away, less than a half is lost.
        """
        most = greatest_loss(forms)
        more = []
        for cut in range(1, exact.size() + 1):
            allowed = most * (1 << cut) // 1
            if allowed < (1 << cut) - 1:
                more.append(UGT(Extract(cut - 1, 0, exact), BitVecVal(int(allowed), cut)))
        return Or(*more, 2 * most < 1)

    def _places(self, places: Term, forms: Sequence[Format]) -> Term:
        """The places are not those of the numbers."""
        return places != sum(form.fraction for form in forms)

    def _low(self, zeros: bool) -> str:
        """An addend that is not zero lies below the floor; or, of products alone, one that lies there has
        places below the window.
        """
        shape, word = self.sums.shape, self.sums.shape.word
        floor = shape.model.offset - shape.constants[_FLOOR]
        if not zeros:
            beneath = []
            for number, element in enumerate(shape.addends):
                code = self.sums.element(f"code{number}", element)
                form = FloatCode(self.sums.specification.formats[element], code)
                found = self.sums.addend(code, element)
                low = And(found["significand"] != 0, ULT(found["exponent"], floor))
                beneath.append(And(form.finite, low))
            return refuting(Or(*beneath))
        codes = [self.sums.element(name, element) for name, element in zip("ab", shape.factors, strict=True)]
        forms = self._forms(shape.factors)
        finite = [FloatCode(form, code).finite for form, code in zip(forms, codes, strict=True)]
        found = self.sums.product(codes[0], codes[1])
        last = found["exponent"] + shape.constants[_WINDOW] - found["places"]
        return refuting(*finite, ULT(last, BitVecVal(floor, word)))

    def _alone(self, zeros: bool) -> str:
        """A term alone, beside zeros, is rounded."""
        shape = self.sums.shape
        forms = self._forms(shape.factors if shape.factors else shape.addends)
        digits = sum(form.fraction + 1 for form in forms)
        names = "significand exponent places negative nan infinite"
        term = dict(zip(names.split(), BitVecs(names, shape.word), strict=True))
        missing = [name for name in self.sums.read_of_terms() if name not in term]
        term |= {name: self.sums.number(0) for name in missing}
        others = [self.sums.addend(self.sums.number(0), one) for one in shape.addends if zeros]
        reduced = self.sums.reduced([term | self.sums.fixed(), *others])
        least = shape.model.offset + sum(1 - form.bias - form.fraction for form in forms)
        most = shape.model.offset + sum((1 << form.exponent) - 1 - form.bias for form in forms)
        rest = self.sums.result(reduced)["rest"]
        return refuting(
            ULT(term["significand"], 1 << digits),
            term["places"] == sum(form.fraction for form in forms),
            UGE(term["exponent"], least),
            ULE(term["exponent"], most),
            ULE(term["negative"], 1),
            rest != 0,
        )

    def _added(self, zeros: bool) -> str:
        """One product more adds more than its greatest loss to what is lost; or the bound of all terms is
        less than what they and the rounding may lose. In integers: `unit` is one of the sum's last digit, and
        counts units of the window, as `rounding` does; losses count a part of that.
        """
        shape = self.sums.shape
        first, second = self._bound(1, zeros), self._bound(2, zeros)
        assert first is not None and second is not None
        forms = [] if zeros else [self._forms((element,)) for element in shape.addends]
        factors = self._forms(shape.factors)
        window = first.window
        count, before, loss, unit, rounding = Ints("count before loss unit rounding")
        nearest = SumRounding(self.sums).mode == "rn"
        last = 2 * rounding if nearest else rounding + 1
        back = 0 - 2 * rounding if nearest else 1 - rounding
        rounded = And(unit >= 1, count >= 1, last <= unit, back <= unit)
        if window is None:
            limit = unit if first.nearest else 2 * unit
            beyond = Or(2 * rounding > limit, 0 - 2 * rounding > limit)
            return refuting(rounded, beyond, logic="QF_LIA")
        product, on_top = greatest_loss(factors), top_loss(factors, window)
        addends = sum(map(greatest_loss, forms), Fraction(0))
        heads = [top_loss(form, window) for form in forms]
        parts = [product, on_top, addends, *heads, first.cut, second.cut]
        scale = lcm(*(part.denominator for part in parts))
        one = int(product * scale)

        def within(value: Term, most: Term | int) -> Term:
            return And(value <= most, value >= 0 - most)

        more = And(
            within(before, count * one), within(loss, one), Not(within(before + loss, count * one + one))
        )
        led = And(within(before, count * one - one + int(on_top * scale)), within(loss, int(addends * scale)))
        cases = [led]
        for head in heads:
            cases.append(And(within(before, count * one), within(loss, int(head * scale))))
        per = int((second.cut - first.cut) * scale)
        cut = count * per + (int(first.cut * scale) - per)
        limit = 2 * cut + (scale * unit if first.nearest else 2 * scale * unit - 2 * scale)
        total = 2 * before + 2 * loss + 2 * scale * rounding
        beyond = And(rounded, Or(*cases), Or(total > limit, 0 - total > limit))
        return refuting(Or(And(count >= 0, more), beyond), logic="QF_LIA")
