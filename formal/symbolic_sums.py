"""A model of sums read as bit-vectors: the stages of spec/dot_product.py, of symbolic elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..spec.arithmetic_records import ArithmeticStage
from ..spec.chip_arithmetic import FACTORS, constants_of
from ..spec.expressions import names
from ..spec.specification import Specification
from .smt.bitvectors import BitVectors
from .smt.terms import UGE, BitVec, BitVecVal, If, Term, ZeroExt
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

    def product(self, a: Term, b: Term) -> SumNames:
        """The names of a product of two bit patterns."""
        first, second = self.shape.factors
        known = self.decoded(_FIRST, first, a) | self.decoded(_SECOND, second, b)
        return self._staged("product", self._fixed() | known)

    def addend(self, code: Term, element: str) -> SumNames:
        """The names of an addend, which has a bit pattern of a type."""
        return self._staged("addend", self._fixed() | self.decoded(_ADDEND, element, code))

    def decoded(self, prefix: str, element: str, code: Term) -> dict[str, Term]:
        """The names of an element, each with a prefix."""
        given = self.shape.constants
        known = given | constants_of(self.specification, element) | {"negated": 0}
        scope = {name: self.number(value) for name, value in known.items()}
        scope["code"] = (
            ZeroExt(self.shape.word - code.size(), code) if code.size() < self.shape.word else code
        )
        self._staged("element", scope)
        return {f"{prefix}_{name}": value for name, value in scope.items() if name not in given}

    def number(self, value: int) -> Term:
        """An integer."""
        return BitVecVal(value, self.shape.word)

    def read_of_terms(self) -> tuple[str, ...]:
        """The names of a product, or an addend, on which a sum depends."""
        stages = [stage for stage in self.shape.model.stages if stage.each == "term"]
        own = {name for stage in stages for name in stage.let} | set(self._fixed())
        read = (names(formula.tree) for stage in stages for formula in stage.let.values())
        return tuple(sorted(frozenset[str]().union(*read) - own))

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
        return self._staged("result", self._fixed() | dict(reduced))

    @property
    def reductions(self) -> frozenset[str]:
        """The names of what is taken over terms."""
        return frozenset(one for stage in self.shape.model.stages if stage.reduce for one in stage.let)

    def any_sums(self, name: str) -> SumNames:
        """Any values in place of what is taken over terms."""
        return {one: BitVec(f"{name}.{one}", self.shape.word) for one in sorted(self.reductions)}

    def _fixed(self) -> dict[str, Term]:
        given = self.shape.constants
        types = dict(zip((_FIRST, _SECOND), self.shape.factors, strict=False)) | {_RESULT: self.shape.result}
        for prefix, element in types.items():
            known = constants_of(self.specification, element)
            given |= {f"{prefix}_{name}": value for name, value in known.items()}
        return {name: self.number(value) for name, value in given.items()}

    def _staged(self, each: str, scope: dict[str, Term]) -> dict[str, Term]:
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
