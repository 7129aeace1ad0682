"""Where the text, assemblers, silicon and other sources disagree, each with a PTX file that anybody can run.

An entry's cases are statements with the verdict of every release that was asked. Its points, where it has
any, are disagreements between the specification and an assembler that remain: each departs in one respect
from what the specification calls legal, and the rows, releases, versions and targets are all listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from ..assemblers.asking import kernel, register_types
from ..assemblers.classification import StatementOutcome, classify
from ..assemblers.toolchains import Ptxas, locate
from ..spec.api import judge, load
from ..spec.errors import Place, Question, SpecError
from ..spec.legality import Verdict
from ..spec.loading import ROOT
from ..spec.nodes import Scalars, Version, compose, nearest, structure
from ..spec.specification import Specification
from ..spec.statements import Argument, Statement, SyntaxFault, arguments, read_statement
from ..spec.variants import ABSENT, Variant
from .records import in_order

__all__ = [
    "FILES",
    "Contradiction",
    "ContradictionFile",
    "ContradictionRegister",
    "MinimalCase",
    "MinimalCaseResult",
    "Party",
    "Points",
    "register",
]

Direction = Literal["accepted", "refused", "died"]
_NAME = "contradictions.yaml"
_REPEATED = re.compile(r"%([a-z]+)\*(\d+)")
_CHOICE = re.compile(r"<([^<>]*\|[^<>]*)>")
_WILDCARDS = frozenset("*?") | {"any", "all"}


@dataclass(frozen=True)
class Party:
    """Who says what, and where: the text, an assembler, a chip, or another public source."""

    who: Literal["text", "assembler", "silicon", "source"]
    where: str
    says: str


@dataclass(frozen=True)
class MinimalCase:
    """A minimal statement with the verdict of each release, and with that of the specification.

    `{%f*4}` is short for `{%f0,%f1,%f2,%f3}`. `words` stand in what ptxas says of a refusal.
    """

    statement: str
    ptx: Version
    target: str
    specification: Literal["legal", "illegal"] | None
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    died: tuple[str, ...] = ()
    words: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)

    @property
    def text(self) -> str:
        """The statement written out."""
        return written_out(self.statement)

    @property
    def file(self) -> str:
        """A whole PTX file that holds the statement."""
        return kernel([self.text], self.ptx, self.target)

    def verdicts(self) -> Iterator[tuple[str, Direction]]:
        """Every release with its verdict."""
        for release in self.accepted:
            yield release, "accepted"
        for release in self.refused:
            yield release, "refused"
        for release in self.died:
            yield release, "died"


@dataclass(frozen=True)
class Points:
    """Statements on which specification and assembler disagree, and what the assembler does with them.

    They are the legal statements of the rows (with these fields), changed in one respect: an operand
    written otherwise than in the legal form that `instead` shows, or `elements` of a vector (or a plain
    operand) each written so where `instead` would be legal (no `instead`: the specification calls what is
    written legal), `surplus` qualifiers, a version before the one `since` which it is legal, a target that
    is too new for the version and taken `like` an older one, or `qualifiers` each in place of a legal one
    (`none` for one that is absent). Where no row is near, the `statements` themselves are listed, up to the
    numbers of registers; `<row|col>` in one is short for one with each.
    """

    direction: Direction
    instruction: str
    releases: tuple[str, ...]
    ptx: tuple[Version, ...]
    targets: tuple[str, ...]
    rows: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    fields: Mapping[str, Scalars] = field(default_factory=dict)
    operand: str | None = None
    written: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    instead: str | None = None
    surplus: tuple[str, ...] = ()
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    since: Version | None = None
    like: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Decision:
    """Which party the specification follows, and why."""

    takes: Literal["text", "assembler", "silicon", "source"]
    why: str


@dataclass(frozen=True)
class Contradiction:
    """One disagreement: the parties, the section it is about, a second witness, and the reading taken."""

    title: str
    section: str
    parties: tuple[Party, ...]
    witness: Party
    reading: Decision
    cases: tuple[MinimalCase, ...]
    points: tuple[Points, ...] = ()
    place: Place = field(default=Place("", 0, 0), compare=False)

    @property
    def kind(self) -> str:
        """The kinds of the parties, as `text, assembler`."""
        return ", ".join(dict.fromkeys(party.who for party in self.parties))


@dataclass(frozen=True)
class ContradictionFile:
    """contradictions.yaml: every entry by its id, which never changes, and lists for entries to refer to."""

    releases: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, tuple[Version, ...]]
    targets: Mapping[str, tuple[str, ...]]
    contradictions: Mapping[str, Contradiction]


FILES: Mapping[str, type] = {_NAME: ContradictionFile}


@dataclass(frozen=True)
class MinimalCaseResult:
    """A case asked of one release again: what is recorded, and what it does now."""

    id: str
    case: MinimalCase
    release: str
    recorded: Direction
    outcome: StatementOutcome

    @property
    def shows(self) -> bool:
        """Whether it still does what is recorded, for the reason that is recorded."""
        if self.outcome.verdict != self.recorded:
            return False
        return self.recorded != "refused" or (self.case.words or "") in self.outcome.words


@dataclass(frozen=True)
class ContradictionRegister:
    """Every entry, and what it explains."""

    specification: Specification
    entries: Mapping[str, Contradiction]

    def entry(self, identifier: str) -> Contradiction:
        """The entry of an id; raises Question with the nearest."""
        if identifier not in self.entries:
            guess = nearest(identifier, self.entries)
            hint = f"; did you mean {guess}?" if guess else ""
            raise Question(f"no contradiction has the id {identifier!r}{hint}")
        return self.entries[identifier]

    def explains(
        self, instruction: str, statement: str, release: str, ptx: Version, target: str, direction: Direction
    ) -> str | None:
        """The id of the entry that explains why a release accepts, refuses or dies of a statement.

        `direction` is what the assembler does; the specification says otherwise. None: nothing explains it.
        """
        read = _read(statement)
        if read is None:
            return None
        for identifier, points in self._pointing.get((instruction, direction), ()):
            asked = release in points.releases and ptx in points.ptx and target in points.targets
            if asked and _covers(points, read, ptx, target):
                return identifier
        return None

    def expected(self, release: str, ptx: Version, target: str, operands: bool = True) -> frozenset[str]:
        """The ids that must explain something when a release is asked under a version and a target.

        Without `operands` only mnemonics are varied there, and points of operands cannot show.
        """
        return frozenset(
            identifier
            for listed in self._pointing.values()
            for identifier, points in listed
            if release in points.releases and ptx in points.ptx and target in points.targets
            if operands or points.operand is None
            if self._possible(points, ptx, target)
        )

    def concerns(self, identifier: str) -> frozenset[str]:
        """The instructions that the points of an entry are about."""
        return frozenset(points.instruction for points in self.entry(identifier).points)

    def _possible(self, points: Points, ptx: Version, target: str) -> bool:
        """Whether any statement of the rows is legal there, so that a changed one can disagree."""
        ptx, target = points.since or ptx, points.like or target
        gates = self._gates.get(points.place, frozenset())
        return not points.rows or any(
            since <= ptx and (removed is None or ptx < removed)
            for begins, removed in gates
            for name, since in begins
            if name == target
        )

    def run(
        self, identifiers: Sequence[str], find: Callable[[str], Ptxas] = locate
    ) -> tuple[list[MinimalCaseResult], list[str]]:
        """Ask every release that can be had about the cases again; the results, and the releases missing.

        Raises Question when none can be had.
        """
        wanted: dict[str, dict[tuple[Version, str], list[tuple[str, MinimalCase, Direction]]]] = {}
        for identifier in identifiers:
            for case in self.entry(identifier).cases:
                for release, verdict in case.verdicts():
                    asked = wanted.setdefault(release, {}).setdefault((case.ptx, case.target), [])
                    asked.append((identifier, case, verdict))
        results: list[MinimalCaseResult] = []
        missing: list[str] = []
        for release in sorted(wanted, key=in_order):
            try:
                ptxas = find(release)
            except Question:
                missing.append(release)
                continue
            for (ptx, target), asked in wanted[release].items():
                outcomes = classify(ptxas, [case.text for _, case, _ in asked], ptx, target)
                results += [
                    MinimalCaseResult(identifier, case, release, verdict, outcome)
                    for (identifier, case, verdict), outcome in zip(asked, outcomes, strict=True)
                ]
        if not results:
            raise Question(f"none of the releases is here: {', '.join(missing)}")
        return results, missing

    @cached_property
    def _gates(self) -> Mapping[Place, frozenset[tuple[tuple[tuple[str, Version], ...], Version | None]]]:
        """By points: since when on which target, and until when, their rows have statements."""
        found = {}
        for listed in self._pointing.values():
            for _, points in listed:
                variants = self.specification.families[points.instruction].variants()
                found[points.place] = frozenset(
                    (variant.gate.targets, variant.gate.removed)
                    for variant in variants
                    if _among(points, variant)
                )
        return found

    @cached_property
    def _pointing(self) -> Mapping[tuple[str, Direction], list[tuple[str, Points]]]:
        found: dict[tuple[str, Direction], list[tuple[str, Points]]] = {}
        for identifier, entry in self.entries.items():
            for points in entry.points:
                found.setdefault((points.instruction, points.direction), []).append((identifier, points))
        return found


def written_out(text: str) -> str:
    """A statement or an operand with every `%f*4` written out."""
    return _REPEATED.sub(lambda m: ",".join(f"%{m[1]}{i}" for i in range(int(m[2]))), text)


def alternatives(text: str) -> list[str]:
    """A statement with each of the choices in `<row|col>`."""
    found = _CHOICE.search(text)
    if found is None:
        return [text]
    chosen = (text[: found.start()] + choice + text[found.end() :] for choice in found[1].split("|"))
    return [each for one in chosen for each in alternatives(one)]


@cache
def register(root: Path = ROOT) -> ContradictionRegister:
    """The register, checked against the specification; raises SpecError at what is wrong in the file."""
    specification = load()
    file = structure(compose(root / _NAME, _NAME), ContradictionFile, _NAME)
    for identifier, entry in file.contradictions.items():
        _check(identifier, entry, specification)
    return ContradictionRegister(specification, file.contradictions)


def _read(text: str) -> Statement | None:
    """A statement with the types of its registers; None when it cannot be read."""
    try:
        statement = read_statement(text)
    except SyntaxFault:
        return None
    own = statement.declared
    return replace(statement, declared={**register_types(), **own} if own else register_types())


def _covers(points: Points, statement: Statement, ptx: Version, target: str) -> bool:
    """Whether a statement is one of the points: legal once the one change is undone."""
    if points.statements:
        return _spelled(statement) in _listed(points.statements)
    if points.operand is not None:
        return _operand_covered(points, statement, ptx, target)
    if points.qualifiers:
        return _qualifiers_covered(points, statement, ptx, target)
    if points.surplus:
        return _surplus_covered(points, statement, ptx, target)
    return _legal(points, statement, points.since or ptx, points.like or target)


@cache
def _listed(statements: tuple[str, ...]) -> frozenset[tuple[object, ...] | None]:
    """What tells the listed statements apart from all others."""
    every = [text for statement in statements for text in alternatives(statement)]
    return frozenset(_spelled(read_statement(written_out(text))) for text in every)


@cache
def _forms(written: tuple[str, ...]) -> frozenset[tuple[object, ...]]:
    """What tells the operands written apart from others."""
    types = register_types()
    return frozenset(_form(arguments(text)[0], text, types) for text in map(written_out, written))


def _spelled(statement: Statement) -> tuple[object, ...] | None:
    """What tells statements apart, apart from the numbers of registers; None when it cannot be read."""
    types = register_types()
    try:
        given = arguments(statement.operands)
    except SyntaxFault:
        return None
    texts = _operand_texts(statement.operands)
    forms = tuple(_form(a, text, types) for a, text in zip(given, texts, strict=True))
    return statement.guard, statement.mnemonic, forms


def _surplus_covered(points: Points, statement: Statement, ptx: Version, target: str) -> bool:
    """Whether the statement is legal without surplus qualifiers."""
    tokens = statement.mnemonic.split(".")
    for place in range(len(tokens) - 1, 0, -1):
        if tokens[place] in points.surplus:
            less = replace(statement, mnemonic=".".join(tokens[:place] + tokens[place + 1 :]))
            if _legal(points, less, ptx, target) or _surplus_covered(points, less, ptx, target):
                return True
    return False


def _qualifiers_covered(points: Points, statement: Statement, ptx: Version, target: str) -> bool:
    """Whether the statement has all these qualifiers, and is legal with those in their place."""
    tokens = statement.mnemonic.split(".")
    for written, instead in points.qualifiers.items():
        if written == ABSENT:
            tokens.append(instead)
        elif tokens.count(written) == 1:
            tokens[tokens.index(written)] = instead
        else:
            return False
    return _legal(points, replace(statement, mnemonic=".".join(tokens)), ptx, target)


def _operand_covered(points: Points, statement: Statement, ptx: Version, target: str) -> bool:
    """Whether the operand is written so, and the statement with the legal form instead is legal."""
    try:
        given = arguments(statement.operands)
    except SyntaxFault:
        return False
    types = statement.declared
    texts = _operand_texts(statement.operands)
    undone = _elements_undone if points.elements else _operand_undone
    for place, (argument, text) in enumerate(zip(given, texts, strict=True)):
        instead = undone(points, argument, text, types)
        if instead is None:
            continue
        operands = [*texts[:place], instead, *texts[place + 1 :]]
        changed = replace(statement, operands=", ".join(operands))
        verdict = _verdict(changed, ptx, target)
        if verdict.form is None or len(verdict.form.operands) != len(given):
            continue
        if verdict.form.operands[place] == points.operand and _legal(points, changed, ptx, target):
            return True
    return False


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


def _legal(points: Points, statement: Statement, ptx: Version, target: str) -> bool:
    """Whether the specification calls a statement legal and it is of the rows and fields listed."""
    verdict = _verdict(statement, ptx, target)
    variant = verdict.variant
    return verdict.verdict == "legal" and variant is not None and _among(points, variant)


def _among(points: Points, variant: Variant) -> bool:
    """Whether a variant is of the rows and fields listed."""
    name = variant.row.family.instruction.instruction
    if name != points.instruction or variant.row.row.id not in points.rows:
        return False
    return all(variant.fields.get(field) in listed.values for field, listed in points.fields.items())


def _verdict(statement: Statement, ptx: Version, target: str) -> Verdict:
    return judge(str(ptx), target).judge_statement(statement)


def _form(argument: Argument, text: str, types: Mapping[str, str]) -> tuple[object, ...]:
    """What tells written operands apart: kind, value, and the types of the registers, not their numbers."""
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


def _check(identifier: str, entry: Contradiction, specification: Specification) -> None:
    """Raise SpecError at what an entry names that does not exist, and at whatever is not written out."""
    if len(entry.parties) < 2:
        raise SpecError(f"{identifier} has one party; it takes two to disagree", entry.place)
    if not entry.cases:
        raise SpecError(f"{identifier} has no case", entry.place, "a minimal statement")
    releases = [a.version for release in specification.index.releases for a in release.assemblers]
    targets = specification.index.targets
    for case in entry.cases:
        listed = [release for release, _ in case.verdicts()]
        _known(listed, releases, "release", case.place)
        _known([case.target], targets, "target", case.place)
        if len(set(listed)) < len(listed) or not listed:
            raise SpecError("each release has one verdict, and one release at least", case.place)
    for points in entry.points:
        _known(points.releases, releases, "release", points.place)
        _known(points.targets, targets, "target", points.place)
        _known([points.instruction], specification.instructions, "instruction", points.place)
        rows = {row.id: row for row in specification.instructions[points.instruction].rows}
        if points.rows or not points.statements:
            _known(points.rows, rows, "row", points.place)
        changes = (
            points.statements,
            points.operand,
            points.surplus,
            points.qualifiers,
            points.since,
            points.like,
        )
        if sum(map(bool, changes)) != 1 or bool(points.operand) != (
            bool(points.written) != bool(points.elements)
        ):
            raise SpecError(
                "points change one thing",
                points.place,
                "statements, operand with written or elements, surplus, qualifiers, since or like",
            )
        for values in points.fields.values():
            _known(map(str, values.values), None, "value", values.place)


def _known(names: Iterable[str], known: Collection[str] | None, what: str, place: Place) -> None:
    """Raise SpecError at a list that is empty or names what does not exist: a wildcard, above all."""
    listed = list(names)
    if not listed:
        raise SpecError(f"no {what} is listed", place, f"each {what} by name")
    for name in listed:
        if known is not None and name in known:
            continue
        if any(sign in name for sign in "*?") or name in _WILDCARDS:
            raise SpecError(f"{name!r} is a wildcard", place, f"each {what} by name")
        if known is not None:
            raise SpecError(f"unknown {what} {name!r}", place, nearest(name, known) or f"each {what} by name")
