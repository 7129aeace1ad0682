"""contradictions.yaml as it is written: the typed model of its entries, and how it is read and checked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from ..assemblers.asking import kernel
from ..spec.constants import SyntaxFault
from ..spec.errors import Place, SpecError
from ..spec.model import Instruction
from ..spec.nodes import Scalars, Version, compose, structure
from ..spec.specification import Specification
from ..spec.statements import arguments, read_statement
from .listed import Listed, ListedVersions, expanded, known_names, releases_of
from .literal_classes import THE_LEGAL, is_class
from .register_questions import ExplainedPeer, MinimalQuestion, check_questions

__all__ = [
    "FILES",
    "Contradiction",
    "ContradictionFile",
    "Decision",
    "Direction",
    "Everywhere",
    "MinimalCase",
    "Party",
    "Points",
    "alternatives",
    "asked_alternatives",
    "check_contradiction",
    "check_contradictions",
    "operand_texts",
    "read_contradictions",
    "written_out",
    "written_qualifiers",
]

Direction = Literal["accepted", "refused", "died"]
_NAME = "contradictions.yaml"
_CHIP = re.compile(r"[A-Z]{1,2}\d{2,3}\b")  # as NVIDIA names them: a letter or two, and a number
_CHOICE = re.compile(r"<([^<>]*\|[^<>]*)>")
_SHORT = "||"  # between choices that are asked about one by one
_OPERANDS = re.compile(r",(?![^{}]*\})")
_REPEATED = re.compile(r"%([a-z]+)\*(\d+)")


@dataclass(frozen=True)
class Party:
    """Who says what, and where: the text, an assembler, a chip, or another public source."""

    where: str
    """Where it says so: a section of the text or a part of a PTX ISA, a ptxas, a chip, or else a file of a
    public source.
    Noticed by: readers. Example: `"9.7.15.6.1"`. Refuses: `[H200]` (one text)."""
    says: str
    """What it says, in a sentence.
    Noticed by: readers. Example: `refuses 2 and 3 for k16 and k32`. Refuses: `null` (text must stand)."""

    @property
    def who(self) -> Literal["text", "assembler", "silicon", "source"]:
        """The kind of party, which its place shows."""
        if "ptxas" in self.where:
            return "assembler"
        if _CHIP.match(self.where):
            return "silicon"
        return "text" if self.where[:1].isdigit() or "PTX ISA" in self.where else "source"


@dataclass(frozen=True)
class MinimalCase:
    """A minimal statement with the verdict of each release, and with that of the specification."""

    statement: str
    """One PTX statement; `{%f*4}` is short for `{%f0,%f1,%f2,%f3}`.
    Noticed by: observations.
    Example: `"wgmma.fence.sync.aligned;"`. Refuses: `[a, b]` (one text)."""
    ptx: Version
    """The `.version` of the file that holds it.
    Noticed by: observations.
    Example: `"8.0"`. Refuses: `8.0` (a version is quoted)."""
    target: str
    """The `.target` of the file that holds it.
    Noticed by: observations.
    Example: `sm_90a`. Refuses: `sm_81` (not a target of specs.yaml)."""
    specification: Literal["legal", "illegal"] | None
    """What `ptxmma legal` says; null where the statement is not one of its instructions.
    Noticed by: observations.
    Example: `legal`. Refuses: `maybe` (not one of the verdicts)."""
    accepted: Listed = ()
    """The releases of ptxas that accept it.
    Noticed by: observations.
    Example: `{first: 12.0.140}`. Refuses: `["*"]` (a wildcard)."""
    refused: Listed = ()
    """The releases that refuse it.
    Noticed by: observations.
    Example: `[11.7.99, {first: 12.5.82}]`. Refuses: `[11.7.98]` (not a release of specs.yaml)."""
    died: Listed = ()
    """The releases that die of it.
    Noticed by: observations.
    Example: `{first: 11.7.99, last: 12.2.140}`. Refuses: `{last: 12.2.140}` (a range has a first)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

    @property
    def text(self) -> str:
        """The statement written out."""
        return written_out(self.statement)

    @property
    def file(self) -> str:
        """A whole PTX file that holds the statement."""
        return kernel([self.text], self.ptx, self.target)

    def verdicts(self, releases: Sequence[str]) -> Iterator[tuple[str, Direction]]:
        """The verdict of each of these releases that was asked."""
        listed: tuple[tuple[Direction, Listed], ...] = (
            ("accepted", self.accepted),
            ("refused", self.refused),
            ("died", self.died),
        )
        for verdict, those in listed:
            for release in expanded(those, releases, "release", self.place):
                yield release, verdict


@dataclass(frozen=True)
class Points:
    """Statements on which specification and assembler disagree, and what the assembler does with them.

    They are the legal statements of some rows, changed in one respect; or they are listed.
    """

    direction: Direction
    """What the assembler does with them.
    Noticed by: observations.
    Example: `accepted`. Refuses: `taken` (not one of the verdicts)."""
    instruction: str
    """The instruction that they are spelled as.
    Noticed by: observations.
    Example: `mma.sp`. Refuses: `mma.ps` (not an instruction of the specification)."""
    releases: Listed
    """The releases of ptxas that do so.
    Noticed by: observations.
    Example: `{first: 11.8.89}`. Refuses: `any` (a wildcard)."""
    ptx: ListedVersions
    """The versions under which they do so.
    Noticed by: observations.
    Example: `{first: "7.1", last: "8.8"}`. Refuses: `["7.1", 7.2]` (a version is quoted)."""
    targets: Listed
    """The targets on which they do so; a range goes by the order of specs.yaml.
    Noticed by: observations.
    Example: `[sm_89, {first: sm_120}]`. Refuses: `[]` (not one target)."""
    rows: tuple[str, ...] = ()
    """The rows whose legal statements are changed, each by its id.
    Noticed by: observations.
    Example: `[m16n8k32.f16]`. Refuses: `["m16n8k32.*"]` (a wildcard)."""
    statements: tuple[str, ...] = ()
    """Where no row is near, the statements, up to the numbers of registers; `<row|col>` stands for both, and
    so does `<row||col>`, of which each is only asked about beside the first of the others.
    Noticed by: observations.
    Example: `["wgmma.fence.sync.<row|col>;"]`. Refuses: `text` (a list)."""
    fields: Mapping[str, Scalars] = field(default_factory=dict)
    """Only the statements of the rows that have one of these values in each of these fields.
    Noticed by: observations.
    Example: `{dtype: [f32]}`. Refuses: `{dtype: []}` (not one value)."""
    operand: str | None = None
    """The operand that is written otherwise than is legal.
    Noticed by: observations.
    Example: `sp-meta`. Refuses: `[e, f]` (one operand)."""
    written: tuple[str, ...] = ()
    """How the operand is written. `<integer>` is any integer literal that is legal there; `<32 bits>` is one
    of more bits, which counts by the low 32; `<multiple of 32>` is one of 32 bits, and not 0. A literal of
    floating point stands for all of its width. Several operands may stand there, with `<it>` for the one as
    it is legal.
    Noticed by: observations.
    Example: `["2", "3"]`. Refuses: `[2, 3]` (texts)."""
    elements: tuple[str, ...] = ()
    """What stands in place of some of the elements of a vector, or of a plain operand. A register stands for
    all of its type, a special one for all special ones of its type, a literal for all of its kind.
    Noticed by: observations.
    Example: `["%p0"]`. Refuses: `"%p0"` (a list)."""
    runs: tuple[int, ...] = ()
    """The elements count where their type is not the only one in a run of neighbours. These are the lengths
    of the runs, each of which the assembler types by itself; 0 is the rest of the vector. Registers behind
    the last run may have any type.
    Noticed by: observations.
    Example: `[2, 2]`. Refuses: `2` (a list)."""
    twice: bool = False
    """Whether they are the statements that write one register twice.
    Noticed by: observations.
    Example: `true`. Refuses: `r` (true or false)."""
    surplus: tuple[str, ...] = ()
    """Qualifiers that stand beside the legal ones.
    Noticed by: observations.
    Example: `[row, col]`. Refuses: `row` (a list)."""
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    """Qualifiers as they are written, each with the legal one that it stands for; `none` is an absent one,
    `s8.s8` are neighbours, and `<x8|x16>` stands for both.
    Noticed by: observations.
    Example: `{none: f16}`. Refuses: `[f16]` (a mapping)."""
    since: Version | None = None
    """The version from which on the statements are legal: they are taken before it.
    Noticed by: observations.
    Example: `"7.8"`. Refuses: `7.8` (a version is quoted)."""
    like: str | None = None
    """The older target as which one is taken that is too new for the version.
    Noticed by: observations.
    Example: `sm_87`. Refuses: `[sm_87]` (one target)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Everywhere:
    """Qualifiers that an assembler ignores on every instruction, wherever they stand behind its name."""

    surplus: tuple[str, ...]
    """The qualifiers, which stand beside the legal ones.
    Noticed by: observations.
    Example: `[finite, normal]`. Refuses: `finite` (a list)."""
    releases: Listed
    """The releases of ptxas that ignore them.
    Noticed by: observations.
    Example: `{first: 12.2.140}`. Refuses: `any` (a wildcard)."""
    ptx: ListedVersions
    """The versions under which they do so.
    Noticed by: observations.
    Example: `{first: "6.0"}`. Refuses: `["7.1", 7.2]` (a version is quoted)."""
    targets: Listed
    """The targets on which they do so.
    Noticed by: observations.
    Example: `{first: sm_70}`. Refuses: `[]` (not one target)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Decision:
    """Which party the specification follows, and why."""

    takes: Literal["text", "assembler", "silicon", "source"]
    """The party.
    Noticed by: tests.
    Example: `text`. Refuses: `both` (not one of the kinds)."""
    why: str
    """The reason.
    Noticed by: readers.
    Example: `the table and the assembler agree`. Refuses: `null` (a reason must stand)."""


@dataclass(frozen=True)
class Contradiction:
    """One disagreement: its parties, a second witness, the party that the specification follows, cases."""

    title: str
    """What disagrees, in a sentence.
    Noticed by: readers.
    Example: `a shape of mma with .f64 is printed .m8n84`. Refuses: `null` (text must stand)."""
    section: str
    """The sections of the manual that it is about.
    Noticed by: readers. Example: `"9.7.15.6.3"`. Refuses: `["9.7.15.6.3"]` (one text)."""
    parties: tuple[Party, ...]
    """The parties, two at least.
    Noticed by: tests.
    Example: `[{where: "9.7.14", says: both}, {where: ptxas, says: one}]`.
    Refuses: `text` (a list)."""
    witness: Party
    """Somebody else who says something about it.
    Noticed by: tests.
    Example: `{where: H200, says: the layout is a bijection}`. Refuses: `H200` (a mapping)."""
    reading: Decision
    """The party that the specification follows.
    Noticed by: tests.
    Example: `{takes: assembler, why: every release agrees}`. Refuses: `assembler` (a mapping)."""
    cases: tuple[MinimalCase, ...] = ()
    """Minimal statements that show it; one at least, or a question.
    Noticed by: observations.
    Example: `[{statement: "wgmma.fence.sync;", ptx: "8.0", target: sm_90a, specification: legal,
    accepted: [12.0.140]}]`.
    Refuses: `[]` (not one case)."""
    points: tuple[Points, ...] = ()
    """Where the specification and an assembler still disagree.
    Noticed by: observations.
    Example: `[{direction: accepted, instruction: mma, releases: [11.7.99], ptx: ["7.0"], targets: [sm_80],
    rows: [m8n8k4.f16], surplus: [row]}]`.
    Refuses: `mma` (a list)."""
    everywhere: tuple[Everywhere, ...] = ()
    """What an assembler ignores on every instruction.
    Noticed by: observations.
    Example: `[{surplus: [finite], releases: [11.7.99], ptx: {first: "6.0"}, targets: [sm_70]}]`.
    Refuses: `finite` (a list)."""
    questions: tuple[MinimalQuestion, ...] = ()
    """Minimal cases that are not statements.
    Noticed by: tests.
    Example: `[{asks: the step of N, answers: {"9.7.18.4.1": "8", TVM 0.27: "16"}}]`.
    Refuses: `text` (a list)."""
    peers: tuple[ExplainedPeer, ...] = ()
    """The recorded observations of peers that differ for this reason.
    Noticed by: observations.
    Example: `[]`. Refuses: `triton` (a list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

    @property
    def kind(self) -> str:
        """The kinds of the parties, as `text, assembler`."""
        return ", ".join(dict.fromkeys(party.who for party in self.parties))


@dataclass(frozen=True)
class ContradictionFile:
    """contradictions.yaml: where text, assemblers, silicon and other sources disagree."""

    contradictions: Mapping[str, Contradiction]
    """Every entry by its id, which is never changed or used again.
    Noticed by: observations, tests.
    Example: `{}`. Refuses: `[]` (a mapping)."""


FILES: Mapping[str, type] = {_NAME: ContradictionFile}


def written_out(text: str) -> str:
    """A statement or an operand with every `%f*4` written out."""
    return _REPEATED.sub(lambda m: ",".join(f"%{m[1]}{i}" for i in range(int(m[2]))), text)


def read_contradictions(root: Path, specification: Specification) -> Mapping[str, Contradiction]:
    """Every entry of a checkout by its id; raises SpecError at what is wrong in the file."""
    named = specification.index.contradictions
    node = compose(root / named.text, named.text, named.place)
    file = structure(node, ContradictionFile, named.text)
    check_contradictions(file.contradictions, specification)
    return file.contradictions


def check_contradictions(entries: Mapping[str, Contradiction], specification: Specification) -> None:
    """Raise SpecError at what any entry names that does not exist."""
    for identifier, entry in entries.items():
        check_contradiction(identifier, entry, specification)


def check_contradiction(identifier: str, entry: Contradiction, specification: Specification) -> None:
    """Raise SpecError at what an entry names that does not exist, and at whatever is not written out."""
    once(entry.parties, "party", entry.place)
    once([(case.ptx, case.target, case.text) for case in entry.cases], "case", entry.place)
    once(entry.points, "points", entry.place)
    once(entry.everywhere, "list of what is ignored", entry.place)
    if len(entry.parties) < 2:
        raise SpecError(f"{identifier} has one party; it takes two to disagree", entry.place)
    kinds = dict.fromkeys(party.who for party in (*entry.parties, entry.witness))
    if entry.reading.takes not in kinds:
        raise SpecError(
            f"{identifier} follows {entry.reading.takes}, who says nothing there",
            entry.place,
            ", ".join(kinds),
        )
    if not (entry.cases or entry.questions):
        raise SpecError(f"{identifier} has no case", entry.place, "a minimal statement, or a question")
    check_questions(entry.questions)
    once(entry.questions, "question", entry.place)
    once(entry.peers, "peer", entry.place)
    index = specification.index
    for case in entry.cases:
        listed = [release for release, _ in case.verdicts(releases_of(index))]
        known_names([case.target], index.targets, "target", case.place)
        if len(set(listed)) < len(listed) or not listed:
            raise SpecError("each release has one verdict, and one release at least", case.place)
    for points in entry.points:
        _check_points(points, specification)
    for ignored in entry.everywhere:
        _check_settings(ignored, specification)
        once(ignored.surplus, "part", ignored.place)
        if not ignored.surplus:
            raise SpecError("nothing is ignored", ignored.place, "one qualifier at least")


def _check_settings(listing: Points | Everywhere, specification: Specification) -> None:
    """Raise SpecError at a release, version or target that does not exist, and where none is listed."""
    index = specification.index
    for listed, known, what in (
        (listing.releases, releases_of(index), "release"),
        (listing.targets, tuple(index.targets), "target"),
    ):
        if not expanded(listed, known, what, listing.place):
            raise SpecError(f"no {what} is listed", listing.place, f"each {what} by name, or a range")
    if not expanded(listing.ptx, specification.isa.versions, "version", listing.place):
        raise SpecError("no version is listed", listing.place, "each version, or a range")


def _check_points(points: Points, specification: Specification) -> None:
    """Raise SpecError at what points name that does not exist, and where they change more than one thing."""
    index = specification.index
    _check_settings(points, specification)
    known_names([points.instruction], specification.instructions, "instruction", points.place)
    instruction = specification.instructions[points.instruction]
    rows = {row.id: row for row in instruction.rows}
    for row in points.rows:
        if row not in rows:
            _check_lost(instruction, row, points.place)
    if points.rows or not points.statements:
        known_names(points.rows, rows, f"row of {instruction.place.file}", points.place)
    changes = (
        points.statements,
        points.operand,
        points.twice,
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
            "statements, operand with written or elements, twice, surplus, qualifiers, since or like",
        )
    for name, values in points.fields.items():
        known_names(map(str, values.values), None, "value", values.place)
        views = specification.families[points.instruction].rows
        domains = [view.domains for view in views if view.row.id in points.rows]
        if not any(name in domain for domain in domains):
            raise SpecError(f"no row has the field {name!r}", values.place, ", ".join(domains[0]))
        for value in values.values:
            if not any(value in domain.get(name, ()) for domain in domains):
                raise SpecError(
                    f"no row has {value!r} in the field {name!r}", values.place, "a value of the rows"
                )
    if points.runs and not points.elements:
        raise SpecError("runs are about elements, and none are listed", points.place, "elements, or no runs")
    if any(length < 0 for length in points.runs) or 0 in points.runs[:-1]:
        raise SpecError("a run is not that long", points.place, "1 or more registers; the last one may be 0")
    if points.like is not None:
        known_names([points.like], index.targets, "target", points.place)
    listed_parts: tuple[tuple[str, ...], ...] = (
        points.rows,
        points.statements,
        points.written,
        points.elements,
        points.surplus,
    )
    for parts in listed_parts:
        once(parts, "part", points.place)
    operands = [part for text in points.written for part in operand_texts(text) or [text]]
    for text in (*points.statements, *(text for text in operands if not is_class(text))):
        _check_readable(text, bool(points.statements), points.place)


def _check_lost(instruction: Instruction, row: str, named: Place) -> None:
    """Raise SpecError where an instruction has lost a row: the row's statements are recorded."""
    from .assembler_record import load_records  # only a file that lacks a row needs the records

    claim = f"{instruction.instruction}/{row}"
    releases = [record.release for record in load_records() if claim in record.rows]
    if releases:
        raise SpecError(
            f"{instruction.instruction} has lost its row {row!r}, of which statements are recorded with "
            f"ptxas {releases[0]} to {releases[-1]} and spelled by nothing",
            instruction.rows[0].place,
            f"the row, which {named} names too",
        )


def once(listed: Sequence[object], what: str, place: Place) -> None:
    """Raise SpecError at what is listed twice."""
    for number, one in enumerate(listed):
        if one in listed[:number]:
            raise SpecError(f"a {what} stands twice", place, f"each {what} once")


def _check_readable(text: str, statement: bool, place: Place) -> None:
    """Raise SpecError at a statement or an operand that cannot be read."""
    try:
        if statement:
            for one in alternatives(text):
                arguments(read_statement(written_out(one)).operands)
        elif text != THE_LEGAL and len(arguments(written_out(text))) != 1:
            raise SpecError(f"{text!r} is not one operand", place, "one operand as a statement has it")
    except SyntaxFault as fault:
        raise SpecError(f"{text!r} cannot be read: {fault}", place, "PTX") from None


def alternatives(text: str) -> list[str]:
    """A statement with each of the choices in `<row|col>`."""
    found = _CHOICE.search(text)
    if found is None:
        return [text]
    chosen = (text[: found.start()] + choice + text[found.end() :] for choice in _choices(found[1]))
    return [each for one in chosen for each in alternatives(one)]


def asked_alternatives(text: str) -> list[str]:
    """Those that are asked about: of choices in `<row||col>` each beside the first ones of the others."""
    short = [found for found in _CHOICE.finditer(text) if _SHORT in found[1]]
    asked = [text]
    for place in (None, *range(len(short))):
        for number in range(1, len(_choices(short[place][1])) if place is not None else 2):
            parts, end = [], 0
            for at, found in enumerate(short):
                parts += [text[end : found.start()], _choices(found[1])[number if at == place else 0]]
                end = found.end()
            asked.append("".join(parts) + text[end:])
    return [each for one in dict.fromkeys(asked[1:]) for each in alternatives(one)]


def _choices(choice: str) -> list[str]:
    return choice.split(_SHORT if _SHORT in choice else "|")


@lru_cache(maxsize=1 << 14)
def operand_texts(text: str) -> tuple[str, ...]:
    """Several operands, each as it is written: split at the commas outside braces."""
    return tuple(part.strip() for part in _OPERANDS.split(text) if part.strip())


def written_qualifiers(qualifiers: Mapping[str, str]) -> list[dict[str, str]]:
    """Qualifiers as they are written and as they are legal, with each of the choices in them."""
    each = [
        [(written, legal) for written in alternatives(one) for legal in alternatives(other)]
        for one, other in qualifiers.items()
    ]
    return [dict(pairs) for pairs in itertools.product(*each)]
