"""Does an entry of contradictions.yaml explain a statement? It does if the rest is legal without its change.

Legality is asked once for each statement, as the gate of the variant that it spells; the gate answers for
every version and target.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from ..assemblers.asking import register_types
from ..spec.gates import EffectiveGate
from ..spec.legality import Judge
from ..spec.model import Form
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.statements import Argument, Statement, SyntaxFault, arguments, read_statement
from ..spec.variants import ABSENT, Variant
from .contradiction_file import Points, written_out

__all__ = ["CoveredPoints", "Covers", "among", "spelled"]

_CHOICE = re.compile(r"<([^<>]*\|[^<>]*)>")


@dataclass(frozen=True)
class Covers:
    """Some points cover a statement, wherever one of the gates of the legal statement is open.

    Without gates: under every version and on every target of the points.
    """

    points: Points
    gates: tuple[EffectiveGate, ...] | None

    def at(self, ptx: Version, target: str) -> bool:
        """Whether they cover it under a version and on a target."""
        if self.gates is None:
            return True
        ptx, target = self.points.since or ptx, self.points.like or target
        return any(gate.opens(ptx, target) for gate in self.gates)


@dataclass(frozen=True)
class _Legal:
    """A legal statement's variant, the form of its operands, and its gate."""

    variant: Variant
    form: Form
    gate: EffectiveGate


@dataclass(frozen=True)
class CoveredPoints:
    """Which points cover a statement, by the specification."""

    specification: Specification

    def of(self, points: Points, text: str) -> Covers | None:
        """When points cover a statement; None when they never do, or when the statement cannot be read."""
        statement = _read(text)
        if statement is None:
            return None
        if points.statements:
            return Covers(points, None) if spelled(statement) in _listed(points.statements) else None
        gates = tuple(dict.fromkeys(self._gates(points, statement)))
        return Covers(points, gates) if gates else None

    def _gates(self, points: Points, statement: Statement) -> Iterator[EffectiveGate]:
        """The gates of the legal statements that result from undoing the one change."""
        if points.operand is not None:
            yield from self._operand_gates(points, statement)
            return
        for undone in _qualifiers_undone(points, statement):
            legal = self._legal(points, undone)
            if legal is not None:
                yield legal.gate

    def _operand_gates(self, points: Points, statement: Statement) -> Iterator[EffectiveGate]:
        """The same if an operand is written otherwise: the operand of that name in the form that fits."""
        try:
            given = arguments(statement.operands)
        except SyntaxFault:
            return
        texts = _operand_texts(statement.operands)
        undone = _elements_undone if points.elements else _operand_undone
        for place, (argument, text) in enumerate(zip(given, texts, strict=True)):
            instead = undone(points, argument, text, statement.declared)
            if instead is None:
                continue
            operands = [*texts[:place], instead, *texts[place + 1 :]]
            legal = self._legal(points, replace(statement, operands=", ".join(operands)))
            if legal is not None and legal.form.operands[place] == points.operand:
                yield legal.gate

    def _legal(self, points: Points, statement: Statement) -> _Legal | None:
        """The legal statement, if it is one of the rows and fields of the points; otherwise None."""
        verdict = self._anywhere.judge_statement(statement)
        variant, form = verdict.variant, verdict.form
        if variant is None or form is None or not among(points, variant):
            return None
        if not all(reason.code.startswith("gate.") for reason in verdict.reasons):
            return None
        gates = [*variant.row.gates_on(variant.fields), *([form.gate] if form.gate else [])]
        return _Legal(variant, form, self.specification.isa.effective(gates))

    @cached_property
    def _anywhere(self) -> Judge:
        """A judge of the newest version and any target, so that only gates depend on version and target."""
        return self.specification.judge()


def among(points: Points, variant: Variant) -> bool:
    """Whether a variant has one of the listed rows and the listed fields."""
    name = variant.row.family.instruction.instruction
    if name != points.instruction or variant.row.row.id not in points.rows:
        return False
    return all(variant.fields.get(field) in listed.values for field, listed in points.fields.items())


def _read(text: str) -> Statement | None:
    """A statement with the types of its registers; None when it cannot be read."""
    try:
        statement = read_statement(text)
    except SyntaxFault:
        return None
    own = statement.declared
    return replace(statement, declared={**register_types(), **own} if own else register_types())


@cache
def _listed(statements: tuple[str, ...]) -> frozenset[tuple[object, ...] | None]:
    """The keys of the listed statements."""
    every = [text for statement in statements for text in alternatives(statement)]
    return frozenset(spelled(read_statement(written_out(text))) for text in every)


@cache
def _forms(written: tuple[str, ...]) -> frozenset[tuple[object, ...]]:
    """The keys of the listed operands."""
    types = register_types()
    return frozenset(_form(arguments(text)[0], text, types) for text in map(written_out, written))


def spelled(statement: Statement) -> tuple[object, ...] | None:
    """A statement's key, in which the numbers of registers do not count; None when it cannot be read."""
    types = register_types()
    try:
        given = arguments(statement.operands)
    except SyntaxFault:
        return None
    texts = _operand_texts(statement.operands)
    forms = tuple(_form(a, text, types) for a, text in zip(given, texts, strict=True))
    return statement.guard, statement.mnemonic, forms


def _qualifiers_undone(points: Points, statement: Statement) -> Iterator[Statement]:
    """The statement with legal qualifiers; unchanged if the points change a version or a target."""
    tokens = statement.mnemonic.split(".")
    if points.surplus:
        for fewer in _fewer(tokens, frozenset(points.surplus)):
            yield replace(statement, mnemonic=".".join(fewer))
        return
    for written, instead in points.qualifiers.items():
        if written == ABSENT:
            tokens.append(instead)
        elif tokens.count(written) == 1:
            tokens[tokens.index(written)] = instead
        else:
            return
    yield replace(statement, mnemonic=".".join(tokens))


def _fewer(tokens: list[str], surplus: frozenset[str]) -> Iterator[list[str]]:
    """Every list of the qualifiers without one or more of the surplus ones."""
    places = [place for place in range(1, len(tokens)) if tokens[place] in surplus]
    for count in range(1, len(places) + 1):
        for gone in itertools.combinations(places, count):
            yield [token for place, token in enumerate(tokens) if place not in gone]


def _operand_undone(points: Points, argument: Argument, text: str, types: Mapping[str, str]) -> str | None:
    """The operand as it is legal; None when it is not one of those written."""
    if _form(argument, text, types) not in _forms(points.written):
        return None
    return text if points.instead is None else written_out(points.instead)


def _elements_undone(points: Points, argument: Argument, text: str, types: Mapping[str, str]) -> str | None:
    """The operand with what is legal in place of each such element; None when it has none."""
    vector = argument.shape == "vector"
    parts = list(argument.registers) if vector else [text]
    listed = {types.get(element, element) for element in points.elements}
    places = [place for place, part in enumerate(parts) if types.get(part, part) in listed]
    if not places:
        return None
    for place in places if points.instead is not None else ():
        parts[place] = points.instead or ""
    return "{" + ", ".join(parts) + "}" if vector else parts[0]


def _form(argument: Argument, text: str, types: Mapping[str, str]) -> tuple[object, ...]:
    """An operand's key: kind, value, and the types of its registers, not their numbers."""
    literal = text if argument.shape == "float" else ""
    return (
        argument.shape,
        argument.value,
        literal,
        tuple(types.get(name, name) for name in argument.registers),
    )


def _operand_texts(operands: str) -> list[str]:
    """The operands' texts, split at the commas outside braces."""
    return [part.strip() for part in re.split(r",(?![^{}]*\})", operands) if part.strip()]


def alternatives(text: str) -> list[str]:
    """A statement with each of the choices in `<row|col>`."""
    found = _CHOICE.search(text)
    if found is None:
        return [text]
    chosen = (text[: found.start()] + choice + text[found.end() :] for choice in found[1].split("|"))
    return [each for one in chosen for each in alternatives(one)]
