"""What infinities and NaNs make of a sum, by the fields of codes alone, against the flags of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .float_codes import FloatCode
from .smt.obligations import refuting
from .smt.terms import (
    ULE,
    And,
    BitVec,
    BitVecVal,
    Extract,
    If,
    Not,
    Or,
    Term,
)
from .symbolic_sums import SumNames, SymbolicSum

__all__ = ["SumSpecials"]

_PAYLOAD, _NAN_CODE, _WINDOW = "payload", "nan_code", "window"
_ANY_NAN, _PLUS, _MINUS = "any_nan", "plus_infinity", "minus_infinity"
_SpecialClaim = tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]


@dataclass(frozen=True)
class SumSpecials:
    """The sums of one shape, whose result is a floating-point number."""

    sums: SymbolicSum

    def claims(self) -> Iterator[_SpecialClaim]:
        """Each claim: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        if shape.factors:
            yield "products", ("element", "product"), shape.factors, self._product
        for element in dict.fromkeys(shape.addends):

            def added(element: str = element) -> str:
                return self._addend(element)

            yield f"the addend {element}", ("element", "addend"), (element,), added
        yield "terms", ("term",), (), self._term
        yield "the result", ("result",), (shape.result,), self._result
        if shape.constants.get(_PAYLOAD) and shape.factors and shape.addends:
            types = (*shape.factors, *shape.addends, shape.result)
            yield "which NaN", ("element", "product", "addend", "term", "result"), types, self._which

    def _form(self, element: str, code: Term) -> FloatCode:
        return FloatCode(self.sums.specification.formats[element], code)

    def _product(self) -> str:
        """A product with a NaN, or of an infinity and a zero, is not a NaN, or another one not what it is."""
        codes = [
            self.sums.element(name, one)
            for name, one in zip(("first", "second"), self.sums.shape.factors, strict=True)
        ]
        a, b = (
            self._form(element, code) for element, code in zip(self.sums.shape.factors, codes, strict=True)
        )
        nan = Or(a.nan, b.nan, And(_infinite(a), _zero(b)), And(_zero(a), _infinite(b)))
        infinite = And(Or(_infinite(a), _infinite(b)), Not(nan))
        return self._wrong(self.sums.product(codes[0], codes[1]), nan, infinite, a.sign ^ b.sign)

    def _addend(self, element: str) -> str:
        """An addend is what its code says."""
        code = self.sums.element("code", element)
        form = self._form(element, code)
        return self._wrong(self.sums.addend(code, element), form.nan, _infinite(form), form.sign)

    def _wrong(self, found: SumNames, nan: Term, infinite: Term, sign: Term) -> str:
        flags = {"nan": nan, "infinite": infinite, "negative": sign == 1}
        return refuting(Or(*(found[name] != self._flag(holds) for name, holds in flags.items())))

    def _flag(self, holds: Term) -> Term:
        return If(holds, self.sums.number(1), self.sums.number(0))

    def _term(self) -> str:
        """What is taken over terms does not have the NaN or the infinity of one."""
        word = self.sums.shape.word
        term = {name: BitVec(name, word) for name in self.sums.read_of_terms()}
        nan, infinite, negative = (term[name] for name in ("nan", "infinite", "negative"))
        found = self.sums.reduced([term | self.sums.fixed()])
        wrong = Or(
            found[_ANY_NAN] != nan,
            found[_PLUS] != self._flag(And(infinite == 1, negative == 0)),
            found[_MINUS] != self._flag(And(infinite == 1, negative == 1)),
        )
        return refuting(*(ULE(one, 1) for one in (nan, infinite, negative)), wrong)

    def _code(self, reduced: SumNames) -> Term:
        """The code, of a sum that would be any number without infinities and NaNs."""
        any_number = {name: BitVec(name, self.sums.shape.word) for name in ("finite", "magnitude")}
        code = self.sums.derived(("code",), {**reduced, **any_number})["code"]
        return Extract(self.sums.specification.index.types[self.sums.shape.result].bits - 1, 0, code)

    def _result(self) -> str:
        """A NaN, or infinities of both signs, do not make a NaN; or others not what is left of them."""
        flags = self.sums.any_sums("sums")
        nan, plus, minus = (flags[name] for name in (_ANY_NAN, _PLUS, _MINUS))
        code = self._code(flags)
        found = self._form(self.sums.shape.result, code)
        number = Extract(code.size() - 1, 0, BitVec("finite", self.sums.shape.word))
        same = code == number
        if _WINDOW in self.sums.shape.constants:  # a zero has no sign
            same = If(BitVec("magnitude", self.sums.shape.word) == 0, code == 0, same)
        invalid, infinite = Or(nan == 1, And(plus == 1, minus == 1)), Or(plus == 1, minus == 1)
        signed = And(Not(found.finite), Not(found.nan), found.sign == Extract(0, 0, minus))
        wanted = If(invalid, found.nan, If(infinite, signed, same))
        quiet = BitVecVal(self.sums.shape.constants[_NAN_CODE], code.size())
        given = [
            Or(one == 0, self._form(self.sums.shape.result, Extract(code.size() - 1, 0, one)).nan)
            for name, one in flags.items()
            if name.endswith("_nan") and name != _ANY_NAN and self.sums.shape.constants.get(_PAYLOAD)
        ]
        known = [ULE(one, 1) for one in (nan, plus, minus)]
        return refuting(*known, *given, Not(And(wanted, self._form(self.sums.shape.result, quiet).nan)))

    def _which(self) -> str:
        """The NaN of B, else of the addend, else of A, is not kept with its highest fraction bit set."""
        shape = self.sums.shape
        names, types = ("first", "second", "addend"), (*shape.factors, *shape.addends[:1])
        codes = [self.sums.element(name, one) for name, one in zip(names, types, strict=True)]
        forms = [self._form(element, code) for element, code in zip(types, codes, strict=True)]
        terms = [self.sums.product(codes[0], codes[1]), self.sums.addend(codes[2], types[2])]
        reduced = self.sums.reduced(terms)
        found = self._code({name: reduced[name] for name in self.sums.reductions})
        quiet = [code | 1 << form.format.fraction - 1 for code, form in zip(codes, forms, strict=True)]
        a, b, c = forms
        kept = If(b.nan, quiet[1], If(c.nan, quiet[2], quiet[0]))
        return refuting(Or(a.nan, b.nan, c.nan), found != kept)


def _infinite(form: FloatCode) -> Term:
    return And(Not(form.finite), Not(form.nan))


def _zero(form: FloatCode) -> Term:
    return And(form.field == 0, form.fraction == 0)
