"""What becomes of a sum when all its terms have the other sign: its own sign changes alone; and where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from .float_codes import FloatCode
from .smt.obligations import by_cases, refuting
from .smt.terms import UGT, ULE, BitVec, Not, Or, Term, ZeroExt
from .symbolic_sums import SumNames, SymbolicSum

__all__ = ["SumSigns"]

_PAIRS = (("plus", "minus"), ("plus_infinity", "minus_infinity"), ("any_positive", "any_negative"))
_OPPOSITE = {name: other for one, two in _PAIRS for name, other in ((one, two), (two, one))}
_MODE, _UPWARDS = "mode", {2: 3, 3: 2}  # rounding down, and up
_DIGITS = ("field", "shift", "whole", "rest", "half")  # what SumRounding shows of a sum's magnitude
_SIGN, _FLAGS = "negative", ("nan", "infinite")  # of a term; each is 0 or 1
_ANY = "any"  # prefix of an element


@dataclass(frozen=True)
class SumSigns:
    """The sums of one shape, and those of terms with the other signs."""

    sums: SymbolicSum

    @property
    def _floating(self) -> bool:
        return self.sums.shape.result in self.sums.specification.formats

    @property
    def _bits(self) -> int:
        return self.sums.specification.index.types[self.sums.shape.result].bits

    def claims(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]]:
        """Each claim that holds: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        if self._floating:
            for element in dict.fromkeys((*shape.factors, *shape.addends)):
                yield element, ("element",), (element,), partial(self._element, element)
            for each in ("product", "addend"):
                yield each, (each,), (), partial(self._term, each)
            yield "what is taken of terms", ("term",), (), self._turned
            yield "the sum", ("result",), (shape.result,), self._rounded

    def exceptions(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Each kind of sum whose sign alone does not change, by what it is about; an example is asked for."""
        if self._floating:
            yield "a zero keeps its sign", self._zero
            if dict(self.sums.shape.integers).get(_MODE) in _UPWARDS:
                yield "it is rounded in one direction", self._directed
        elif dict(self.sums.shape.integers).get("clamps"):
            yield "it is clamped", self._clamped

    def _element(self, element: str) -> str:
        """A number of the other sign, or one that is negated, differs in more than its sign."""
        code = self.sums.element("code", element)
        read = [name.partition("_")[2] for each in ("product", "addend") for name in self.sums.read_of(each)]
        one, *others = (
            self.sums.decoded(_ANY, element, pattern, negated)
            for pattern, negated in ((code, 0), (code, 1), (code ^ 1 << code.size() - 1, 0))
        )
        rest = sorted({f"{_ANY}_{name}" for name in read} & one.keys() - {f"{_ANY}_{_SIGN}"})
        sign = f"{_ANY}_{_SIGN}"
        faults = [one[sign] ^ 1 != other[sign] for other in others]
        faults += [one[name] != other[name] for other in others for name in rest]
        form = self.sums.specification.formats[element]
        return refuting(Not(FloatCode(form, code).nan), Or(UGT(one[sign], 1), *faults))

    def _term(self, each: str) -> str:
        """A product (or an addend) of an element with the other sign differs in more than its sign, whatever
        the types of elements are.
        """
        word, fixed = self.sums.shape.word, self.sums.numbers(self.sums.shape.constants)
        names = {name: BitVec(name, word) for name in self.sums.read_of(each) if name not in fixed}
        one, *others = (
            self.sums.staged(each, fixed | names | turned)
            for turned in ({}, *({name: names[name] ^ 1} for name in names if name.endswith(_SIGN)))
        )
        rest = (
            one[name] != other[name]
            for other in others
            for name in sorted(one.keys() - names.keys() - fixed.keys() - {_SIGN})
        )
        return refuting(Or(*(one[_SIGN] ^ 1 != other[_SIGN] for other in others), *rest))

    def _turned(self) -> str:
        """Of a term with the other sign, not the same is taken with positive and negative exchanged."""
        word, negative = self.sums.shape.word, BitVec(_SIGN, 1)
        term = {name: BitVec(name, word) for name in self.sums.read_of_terms()} | self.sums.fixed()
        assumed = self.sums.any_sums("sums")
        one, other = (
            self.sums.reduced([term | {_SIGN: ZeroExt(word - 1, sign)}], assumed)
            for sign in (negative, ~negative)
        )
        small = [ULE(term[name], 1) for name in _FLAGS if name in term]
        faults = Or(*(one[name] != other[_OPPOSITE.get(name, name)] for name in one))
        return refuting(*small, by_cases(negative, 2, faults))

    def _rounded(self) -> str:
        """Of the same digits, the code of a sum with the other sign (and rounded in the opposite direction)
        differs in more than its sign. Models with one zero may have a zero in place of both. Of sums that are
        rounded down and of those that are rounded up, this is one claim.
        """
        word, negative = self.sums.shape.word, BitVec(_SIGN, 1)
        known = {name: self.sums.number(0) for name in self.sums.reductions}
        known |= {name: BitVec(name, word) for name in _DIGITS}
        mode = dict(self.sums.shape.integers).get(_MODE)
        modes = sorted((mode, _UPWARDS[mode])) if mode in _UPWARDS else ()
        down, up = ({_MODE: self.sums.number(each)} for each in modes) if modes else ({}, {})
        one = self._code({**known, **down, _SIGN: ZeroExt(word - 1, negative)})
        other = self._code({**known, **up, _SIGN: ZeroExt(word - 1, ~negative)})
        none = False if mode is not None else one | other == 0
        return refuting(by_cases(negative, 2, Not(Or(one ^ other == 1 << self._bits - 1, none))))

    def _code(self, given: SumNames) -> Term:
        return self.sums.derived(("code",), given)["code"]

    def _both(self) -> tuple[SumNames, Term, Term]:
        """What is taken of terms, and the codes of it and of the terms with the other signs."""
        taken = self.sums.any_sums("sums")
        turned = {name: taken[_OPPOSITE.get(name, name)] for name in taken}
        return taken, self._code(taken), self._code(turned)

    def _clamped(self) -> str:
        """The least integer, and with the other sign one less than its magnitude."""
        return self._example({"minus": 1 << self._bits - 1}, (1 << self._bits) - 1)

    def _zero(self) -> str:
        """1 - 1 is the same zero as -1 + 1."""
        return self._example({"plus": 1, "minus": 1, "any_positive": 1, "any_negative": 1}, 0)

    def _directed(self) -> str:
        """A sum of a digit more than fits: its last place differs, too."""
        digits = self.sums.specification.formats[self.sums.shape.result].fraction + 5
        return self._example({"minus": (1 << digits) + 1, "any_negative": 1}, (1 << self._bits - 1) + 1)

    def _example(self, values: Mapping[str, int], apart: int) -> str:
        """The codes of a sum and of that with the other signs differ in these bits."""
        taken, one, other = self._both()
        known = {**values, "top": self.sums.shape.model.offset}
        return refuting(*(taken[name] == known.get(name, 0) for name in taken), one ^ other == apart)
