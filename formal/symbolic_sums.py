"""A model of sums read as bit-vectors: the stages of spec/dot_product.py, of symbolic elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..spec.arithmetic_records import ArithmeticStage
from ..spec.chip_arithmetic import FACTORS, constants_of
from ..spec.expressions import names
from ..spec.specification import Specification
from .smt.bitvectors import BitVectors
from .smt.integers import Integers
from .smt.terms import UGE, BitVec, BitVecVal, If, IntVal, Term, ZeroExt
from .sum_shapes import SumShape

__all__ = ["SumNames", "SymbolicSum", "taken"]

SumNames = Mapping[str, Term]
_FIRST, _SECOND = (part.lower() for part in FACTORS)
_ADDEND, _RESULT = "c", "d"


@dataclass(frozen=True)
class SymbolicSum:
    """The sums of one shape. Every value is a bit-vector of the shape's word, which no value exceeds."""

    specification: Specification
    shape: SumShape

    def element(self, name: str, element: str) -> Term:
        """A symbolic bit pattern of an element type."""
        return BitVec(name, self.specification.index.types[element].bits)

    def product(self, a: Term, b: Term, negated: tuple[int, int] = (0, 0)) -> SumNames:
        """The names of a product of two bit patterns, which an instruction may negate."""
        first, second = self.shape.factors
        known = self.decoded(_FIRST, first, a, negated[0]) | self.decoded(_SECOND, second, b, negated[1])
        return self.staged("product", self.fixed() | known)

    def addend(self, code: Term, element: str) -> SumNames:
        """The names of an addend, which has a bit pattern of a type."""
        return self.staged("addend", self.fixed() | self.decoded(_ADDEND, element, code))

    def decoded(self, prefix: str, element: str, code: Term, negated: int = 0) -> dict[str, Term]:
        """The names of an element, each with a prefix."""
        given = self.shape.constants
        known = given | constants_of(self.specification, element) | {"negated": negated}
        scope = self.numbers(known)
        scope["code"] = (
            ZeroExt(self.shape.word - code.size(), code) if code.size() < self.shape.word else code
        )
        self.staged("element", scope)
        return {f"{prefix}_{name}": value for name, value in scope.items() if name not in given}

    def number(self, value: int) -> Term:
        """An integer."""
        return BitVecVal(value, self.shape.word)

    def read_of(self, each: str) -> tuple[str, ...]:
        """The names that the stages of one kind read, apart from their own."""
        stages = [stage for stage in self.shape.model.stages if stage.each == each]
        own = {name for stage in stages for name in stage.let}
        read = (names(formula.tree) for stage in stages for formula in stage.let.values())
        return tuple(sorted(frozenset[str]().union(*read) - own))

    def read_of_terms(self) -> tuple[str, ...]:
        """The names of a product, or an addend, on which a sum depends."""
        fixed = self.fixed()
        return tuple(name for name in self.read_of("term") if name not in fixed)

    def reduced(self, terms: Sequence[SumNames], assumed: SumNames | None = None) -> SumNames:
        """What is taken over some terms; later stages see `assumed`, if it stands, in place of it."""
        scopes = [dict(term) for term in terms]
        found: dict[str, Term] = {}
        for stage in self.shape.model.stages:
            if stage.each == "term":
                for scope in scopes:
                    scope |= found if assumed is None else {name: assumed[name] for name in found}
                    self._let(stage, scope)
                if stage.reduce:
                    found |= {name: taken(stage, [scope[name] for scope in scopes]) for name in stage.let}
        return found

    def result(self, reduced: SumNames) -> SumNames:
        """The names of the sum, among them `code`."""
        return self.staged("result", self.fixed() | dict(reduced))

    def derived(
        self, wanted: Sequence[str], given: SumNames, integers: bool = False, each: str = "result"
    ) -> SumNames:
        """Some names of the sum (or of each term), and what they need; the given names are not what their
        formulas say. With `integers`, names are integers that no word bounds.
        """
        stages = [stage for stage in self.shape.model.stages if stage.each == each]
        formulas = {name: formula for stage in stages for name, formula in stage.let.items()}
        needed = set(wanted)
        for name in reversed(formulas):
            if name in needed - given.keys():
                needed |= names(formulas[name].tree)
        known = self.known()
        fixed = {n: IntVal(v) for n, v in known.items()} if integers else self.fixed()
        scope = fixed | dict(given)
        for name, formula in formulas.items():
            if name in needed - given.keys():
                algebra = Integers(scope) if integers else BitVectors(self.shape.word, scope)
                scope[name] = algebra.read(formula.tree)
        return scope

    def length(self, number: Term) -> Term:
        """How many binary digits a number has."""
        return BitVectors(self.shape.word, {}).bits(number)

    @property
    def reductions(self) -> frozenset[str]:
        """The names of what is taken over terms."""
        return frozenset(one for stage in self.shape.model.stages if stage.reduce for one in stage.let)

    def any_sums(self, name: str) -> SumNames:
        """Any values in place of what is taken over terms."""
        return {one: BitVec(f"{name}.{one}", self.shape.word) for one in sorted(self.reductions)}

    def fixed(self) -> dict[str, Term]:
        """What all stages know."""
        return self.numbers(self.known())

    def numbers(self, values: Mapping[str, int]) -> dict[str, Term]:
        """Integers by name."""
        return {name: self.number(value) for name, value in values.items()}

    def known(self) -> dict[str, int]:
        """The integers that all stages know, by name."""
        given = self.shape.constants
        types = dict(zip((_FIRST, _SECOND), self.shape.factors, strict=False)) | {_RESULT: self.shape.result}
        for prefix, element in types.items():
            known = constants_of(self.specification, element)
            given |= {f"{prefix}_{name}": value for name, value in known.items()}
        return given

    def staged(self, each: str, scope: dict[str, Term]) -> dict[str, Term]:
        """The scope, with the names that the stages of one kind give."""
        for stage in self.shape.model.stages:
            if stage.each == each:
                self._let(stage, scope)
        return scope

    def _let(self, stage: ArithmeticStage, scope: dict[str, Term]) -> None:
        for name, formula in stage.let.items():
            scope[name] = BitVectors(self.shape.word, scope).read(formula.tree)


def taken(stage: ArithmeticStage, values: Sequence[Term]) -> Term:
    """What a stage takes of a formula's values over all terms."""
    found = values[0]
    for value in values[1:]:
        found = If(UGE(found, value), found, value) if stage.reduce == "greatest" else found + value
    return found
