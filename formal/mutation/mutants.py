"""Mutants of the specification's expressions, each with one change, and their outcomes.

A mutant is refused by the loader, proven equal to the original as a function, refuted by a theorem, or it
survives. An enumeration without a solver then says what a survivor is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ...spec.errors import Question, SpecError
from ...spec.expressions import Binary, Compare, Connective, Expression, Negation, Number, Where, source
from ...spec.nodes import Formula
from ...spec.specification import Specification
from ..catalogue import obligations
from ..smt.solvers import ask
from .subjects import MutationSubject, subjects

__all__ = ["Mutant", "MutantOutcome", "Mutation", "mutants", "subjects"]

_OPERATORS: Mapping[str, tuple[str, ...]] = {
    "+": ("-", "*", "|", "^"),
    "-": ("+", "^"),
    "*": ("+", "//", "<<"),
    "//": ("%", "*", ">>"),
    "%": ("//", "*", "&"),
    "&": ("|", "^", "%"),
    "|": ("&", "^", "+"),
    "^": ("&", "|", "+"),
    "<<": (">>", "*"),
    ">>": ("<<", "//"),
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def mutants(tree: Expression) -> Iterator[Expression]:
    """Every expression that differs from `tree` in one integer or one operator."""
    seen = {tree}
    for mutant in _changed(tree):
        if mutant not in seen:
            seen.add(mutant)
            yield mutant


def _changed(tree: Expression) -> Iterator[Expression]:
    match tree:
        case Number(value):
            wanted = (value + 1, value - 1, 2 * value, value // 2)
            yield from (Number(other) for other in wanted if other >= 0)
        case Binary(op, left, right):
            yield from (Binary(other, left, right) for other in _OPERATORS[op])
        case Compare(op, left, right):
            yield from (Compare(other, left, right) for other in _COMPARISONS)
        case Connective(op, left, right):
            yield Connective("or" if op == "and" else "and", left, right)
        case Negation(operand):
            yield operand
        case Where(condition, then, otherwise):
            yield Where(condition, otherwise, then)
    for field in fields(tree):
        child: object = getattr(tree, field.name)
        if isinstance(child, Expression):
            for changed in _changed(child):
                part: dict[str, Any] = {field.name: changed}
                yield replace(tree, **part)


@dataclass(frozen=True)
class Mutant:
    """One formula of one subject, and its changed version."""

    subject: MutationSubject
    field: str
    key: str | None
    old: Formula
    new: Expression

    @property
    def name(self) -> str:
        """Which formula: "wgmma.d map.row"."""
        return f"{self.subject.name} {self.field}{f'.{self.key}' if self.key else ''}"

    def __str__(self) -> str:
        return f"{self.name}: {source(self.old.tree)} → {source(self.new)}"

    def put(self, specification: Specification) -> Specification:
        """The specification with this one change."""
        record: Any = self.subject.record(specification)
        value: Any = Formula(source(self.new), self.new, self.old.place)
        if self.key is not None:
            value = {**getattr(record, self.field), self.key: value}
        mutated = self.subject.put(specification, replace(record, **{self.field: value}))
        mutated.derive_from(specification)
        return mutated


@dataclass(frozen=True)
class MutantOutcome:
    """The outcome of a mutant, and what decided it: the loader, a solver, a theorem or an enumeration.

    A survivor that is `sound` is another map of the same kind; one that is not shows a hole in the
    theorems.
    """

    mutant: Mutant
    verdict: Literal["refused", "equal", "refuted", "unknown", "survivor"]
    by: str
    sound: bool = True


class Mutation:
    """The mutation run over one specification, by one solver; proofs of the original are kept."""

    def __init__(self, specification: Specification, solver: str = "z3", milliseconds: int = 20_000) -> None:
        self.specification = specification
        self.solver = solver
        self.milliseconds = milliseconds
        self._statuses: dict[str, str] = {}

    def _status(self, smt: str) -> str:
        if smt not in self._statuses:
            self._statuses[smt] = ask(self.solver, smt, self.milliseconds).status
        return self._statuses[smt]

    def mutants(self, subject: MutationSubject) -> Iterator[Mutant]:
        """Every mutant of every formula of a subject."""
        record = subject.record(self.specification)
        for field in fields(record):
            value = getattr(record, field.name)
            found = value if isinstance(value, Mapping) else {None: value}
            for key, formula in found.items():
                if isinstance(formula, Formula):
                    for tree in mutants(formula.tree):
                        yield Mutant(subject, field.name, key, formula, tree)

    def run(self, subject: MutationSubject) -> Iterator[MutantOutcome]:
        """The outcome of every mutant of a subject; raises Question when the original is not proven."""
        concerned = subject.parts(self.specification)
        for part, obligation in obligations(self.specification, concerned.__contains__):
            if self._status(obligation.smt) != obligation.expects:
                raise Question(f"{obligation.theorem} of {obligation.subject} ({part}) is not proven")
        for mutant in self.mutants(subject):
            yield self.judge(mutant)

    def judge(self, mutant: Mutant) -> MutantOutcome:
        """The outcome of one mutant; it names the first theorem that refutes the mutant."""
        subject = mutant.subject
        try:
            mutated = mutant.put(self.specification)
            subject.check(mutated)
        except SpecError as error:
            return MutantOutcome(mutant, "refused", error.what)
        unknown = ""
        for smt in subject.differences(self.specification, mutated):
            status = self._status(smt)
            if status == "sat":
                break
            if status == "unknown":
                unknown = "equality"
        else:
            if not unknown:
                return MutantOutcome(mutant, "equal", self.solver)
        concerned = subject.parts(self.specification)
        for _, obligation in obligations(mutated, concerned.__contains__):
            status = self._status(obligation.smt)
            if status == "unknown":
                unknown = unknown or obligation.theorem
            elif status != obligation.expects:
                return MutantOutcome(mutant, "refuted", obligation.theorem)
        if unknown:
            return MutantOutcome(mutant, "unknown", unknown)
        sound, what = subject.enumerate(self.specification, mutated)
        return MutantOutcome(mutant, "survivor", what, sound)
