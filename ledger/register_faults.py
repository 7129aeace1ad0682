"""Faults of the register: what explains nothing recorded, what explains too much, and what is not explained.

Every case stands in the record with the verdicts that it lists, and every recorded case is listed. Each
release, version, target, row, value of a field and written part of points explains a recorded disagreement,
and they cover nothing that is recorded as agreement.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from ..spec.errors import Place
from ..spec.gates import EffectiveGate
from ..spec.legality import Judge
from ..spec.nodes import Version
from ..spec.statements import Statement
from ..spec.workers import over_jobs
from .contradiction_file import Contradiction, MinimalCase, Points, alternatives
from .contradictions import ContradictionRegister, Pointed, written_out_points
from .covered_points import CoveredPoints, read
from .records import bits_of
from .register_record import AskedCase, RegisterRecord, ReleaseObservations

__all__ = ["RegisterFault", "RegisterFaults"]

T = TypeVar("T")


@dataclass(frozen=True)
class RegisterFault:
    """Something in the register that the record contradicts, or that nothing recorded shows."""

    place: Place | None
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


@dataclass(frozen=True)
class _AskedRelease:
    """One release's settings, and in which of them it did what with each statement, as bitmaps."""

    release: str
    settings: tuple[tuple[Version, str], ...]
    accepted: Mapping[str, Sequence[int]]
    died: Mapping[str, Sequence[int]]
    beside: Mapping[str, Sequence[int]]
    known: dict[object, int] = field(default_factory=dict, compare=False)

    def where(self, key: object, holds: Iterable[bool]) -> int:
        """The bitmap of the settings for which something holds, remembered by a key."""
        if key not in self.known:
            self.known[key] = sum(1 << place for place, one in enumerate(holds) if one)
        return self.known[key]

    def opened(
        self, gate: EffectiveGate | None, since: Version | None = None, like: str | None = None
    ) -> int:
        """The settings in which a gate is open, under another version or on another target."""
        if gate is None:
            return 0
        key = gate, since, like
        return self.where(key, (gate.opens(since or ptx, like or target) for ptx, target in self.settings))

    def reached(self, pointed: Pointed) -> int:
        """The settings that points are about."""
        if self.release not in pointed.releases:
            return 0
        key = pointed.versions, pointed.targets
        return self.where(
            key, (ptx in pointed.versions and target in pointed.targets for ptx, target in self.settings)
        )


@dataclass
class _Shown:
    """What points explain, as settings by statement and release; `uses`: the parts that explain any."""

    explained: dict[tuple[int, int], int] = field(default_factory=dict)
    wrong: dict[tuple[int, int], int] = field(default_factory=dict)
    uses: set[object] = field(default_factory=set)
    contradicted: str = ""


@dataclass(frozen=True)
class RegisterFaults:
    """The faults of a register by a record, and those that a change of one entry would bring."""

    register: ContradictionRegister
    record: RegisterRecord

    def every(self) -> Iterator[RegisterFault]:
        """Every fault, in the order of the file; then what is recorded and not in the register."""
        for one, shown in zip(self.pointed, over_jobs(self.pointed, self._explained), strict=True):
            self._known.setdefault(id(one.points), []).append((one, shown))
        for identifier, entry in self.register.entries.items():
            yield from self._of_entry(identifier, entry)
        yield from self._unexplained(self.pointed)
        yield from self._unlisted(self.register.entries.values())

    def after(self, identifier: str, entry: Contradiction | None) -> RegisterFault | None:
        """The first fault that another entry of this id would bring, or the loss of the entry."""
        old = self.register.entries.get(identifier)
        if entry is not None:
            found = next(self._of_entry(identifier, entry, old), None)
            if found is not None:
                return found
        before = [one for one in self.pointed if one.entry == identifier]
        now = list(self._pointed(identifier, entry)) if entry else []
        kept = [one for one in self.pointed if one.entry != identifier]
        concerned: dict[str, set[int]] = {}
        for one in before:
            if not any(one == other for other in now):
                shown = concerned.setdefault(one.points.instruction, set())
                shown.update(number for number, _ in self._shown(one).explained)
        missing = next(self._unexplained([*kept, *now], concerned), None)
        if missing is not None:
            return missing
        entries = [one for name, one in self.register.entries.items() if name != identifier]
        if entry is not None:
            entries.append(entry)
        if old is None or entry is None or _keys(old) != _keys(entry):
            return next(self._unlisted(entries), None)
        return None

    # Cases.

    def _of_entry(
        self, identifier: str, entry: Contradiction, old: Contradiction | None = None
    ) -> Iterator[RegisterFault]:
        """The faults of one entry, without those of cases and points that the old entry has, too."""
        for case in entry.cases:
            if old is None or case not in old.cases:
                yield from self._of_case(identifier, case)
        for points in entry.points:
            if old is None or points not in old.points:
                yield from self._of_points(identifier, points)

    def _of_case(self, identifier: str, case: MinimalCase) -> Iterator[RegisterFault]:
        listed = dict(self.register.verdicts(case))
        key = str(case.ptx), case.target, case.text
        if case.specification is not None:
            says = self._says(case)
            if says != case.specification:
                what = f"{identifier}: a case is {says}, not {case.specification}: {case.text}"
                yield RegisterFault(case.place, what)
        for release in self.record.releases:
            seen = release.cases.get(key)
            said = listed.get(release.release)
            if said != (seen[0] if seen else None):
                shown = f"{seen[0]} ({seen[1]})" if seen and seen[1] else seen[0] if seen else "unrecorded"
                what = f"{identifier}: {said or 'nothing'} is listed for ptxas {release.release}"
                yield RegisterFault(case.place, f"{what}, and it is {shown}: {case.text}")

    def _says(self, case: MinimalCase) -> str:
        statement = read(case.text)
        if statement is None:
            return "unreadable"
        key = str(case.ptx), case.target
        if key not in self._judges:
            self._judges[key] = self.register.specification.judge(*key)
        return self._judges[key].judge_statement(statement).verdict

    @cached_property
    def _judges(self) -> dict[tuple[str, str], Judge]:
        return {}

    def _unlisted(self, entries: Iterable[Contradiction]) -> Iterator[RegisterFault]:
        """The recorded cases that no entry has."""
        listed = set().union(*map(_keys, entries))
        for case in self.record.cases:
            if case not in listed:
                yield RegisterFault(None, f"a case is recorded that no entry has: {' '.join(case)}")

    # Points.

    @cached_property
    def pointed(self) -> tuple[Pointed, ...]:
        """All points of the register with their ranges written out."""
        entries = self.register.entries.items()
        return tuple(one for identifier, entry in entries for one in self._pointed(identifier, entry))

    def _pointed(self, identifier: str, entry: Contradiction) -> Iterator[Pointed]:
        for points in entry.points:
            yield written_out_points(self.register.specification, identifier, points)

    def _of_points(self, identifier: str, points: Points) -> Iterator[RegisterFault]:
        pointed = written_out_points(self.register.specification, identifier, points)
        shown = self._shown(pointed)
        if shown.contradicted:
            yield RegisterFault(
                points.place, f"{identifier} covers what is recorded otherwise: {shown.contradicted}"
            )
        for what, one in self._listed(pointed):
            if (what, one) not in shown.uses:
                yield RegisterFault(
                    points.place, f"{identifier}: the {what} {one} explains nothing that is recorded"
                )

    def _listed(self, pointed: Pointed) -> Iterator[tuple[str, object]]:
        """Everything that points list, of which each must explain something."""
        points, recorded = pointed.points, [one.release for one in self.record.releases if one.settings]
        yield from (("release", release) for release in recorded if release in pointed.releases)
        yield from (("version", str(version)) for version in sorted(pointed.versions))
        yield from (("target", target) for target in sorted(pointed.targets))
        yield from (("row", row) for row in points.rows)
        written = (*points.written, *points.elements, *points.surplus, *points.qualifiers)
        yield from (("part", part) for part in written)
        for statement in points.statements:
            yield from (("part", text) for text in alternatives(statement))
        for name, listed in points.fields.items():
            yield from ((f"value of {name}", value) for value in listed.values)
        if points.since is not None:
            yield "since", str(points.since)

    def _unexplained(
        self, every: Iterable[Pointed], concerned: Mapping[str, set[int]] | None = None
    ) -> Iterator[RegisterFault]:
        """The recorded disagreements that no points explain, of some statements or of all."""
        explained: dict[tuple[str, int, int], int] = {}
        for pointed in every:
            name = pointed.points.instruction
            if concerned is None or name in concerned:
                for (number, release), settings in self._shown(pointed).explained.items():
                    key = name, number, release
                    explained[key] = explained.get(key, 0) | settings
        for name, statements in self.record.statements.items():
            if concerned is not None and name not in concerned:
                continue
            for number in range(len(statements)) if concerned is None else sorted(concerned[name]):
                for place, asked in enumerate(self._asked):
                    rest = self._differing(name, number, asked) & ~explained.get((name, number, place), 0)
                    if rest:
                        bit = next(bits_of(rest))
                        ptx, target = asked.settings[bit]
                        said = "accepts" if asked.accepted[name][number] >> bit & 1 else "does not take"
                        where = f"ptxas {asked.release}, PTX {ptx}, {target}"
                        yield RegisterFault(
                            None, f"{where} {said}, and no entry explains: {statements[number]}"
                        )

    def _differing(self, name: str, number: int, asked: _AskedRelease) -> int:
        """The settings in which specification and release differ about a statement."""
        if number >= len(asked.accepted.get(name, ())):
            return 0
        differing = asked.accepted[name][number] ^ asked.opened(self._gate(name, number))
        return differing & ~asked.beside[name][number]

    def _shown(self, pointed: Pointed) -> _Shown:
        """What points explain of what is recorded."""
        key = id(pointed.points)  # quicker than to compare points
        for one, known in self._known.get(key, ()):
            if one.points is pointed.points and one.entry == pointed.entry:
                return known
        found = self._explained(pointed)
        self._known.setdefault(key, []).append((pointed, found))
        return found

    @cached_property
    def _known(self) -> dict[int, list[tuple[Pointed, _Shown]]]:
        return {}

    def _explained(self, pointed: Pointed) -> _Shown:
        points, shown = pointed.points, _Shown()
        name = points.instruction
        before = _before(points.since, self.register.specification.isa.versions)
        for number, text in enumerate(self.record.statements.get(name, ())):
            covers = self._covering.of_statement(points, self._statements[text])
            for place, asked in enumerate(self._asked) if covers else ():
                if number >= len(asked.accepted.get(name, ())):
                    continue
                reached = asked.reached(pointed)
                taken, dead = asked.accepted[name][number], asked.died[name][number]
                legal = asked.opened(self._gate(name, number))
                for undoing in covers.undoings if covers and reached else ():
                    gate, region = undoing.gate, reached
                    if gate is not None:
                        region &= asked.opened(gate, points.since, points.like)
                    right, wrong = _direction(points, taken, dead, legal)
                    wrong &= region & ~asked.beside[name][number]
                    if wrong:
                        key = number, place
                        shown.wrong[key] = shown.wrong.get(key, 0) | wrong
                    if wrong and not shown.contradicted:
                        ptx, target = asked.settings[next(bits_of(wrong))]
                        shown.contradicted = f"ptxas {asked.release}, PTX {ptx}, {target}: {text}"
                    explains = region & right
                    if not explains:
                        continue
                    key = number, place
                    shown.explained[key] = shown.explained.get(key, 0) | explains
                    shown.uses.add(("release", asked.release))
                    shown.uses.update(("part", part) for part in undoing.parts)
                    if undoing.variant is not None:
                        shown.uses.add(("row", undoing.variant.row.row.id))
                        fields = undoing.variant.fields
                        shown.uses.update((f"value of {one}", fields.get(one)) for one in points.fields)
                    if before is not None and explains & ~asked.opened(gate, before, points.like):
                        shown.uses.add(("since", str(points.since)))
        for place, asked in enumerate(self._asked):
            every = [settings for (_, other), settings in shown.explained.items() if other == place]
            settings = functools.reduce(int.__or__, every, 0)
            for bit in bits_of(settings):
                ptx, target = asked.settings[bit]
                shown.uses |= {("version", str(ptx)), ("target", target)}
        return shown

    # What is recorded.

    def with_beside(self) -> RegisterRecord:
        """The record, with what no entry explains and what contradicts an entry set aside in `beside`."""
        record = self.record
        for place, observed in enumerate(self.record.releases):
            found: dict[str, dict[int, int]] = {}
            for pointed in self.pointed:
                own = found.setdefault(pointed.points.instruction, {})
                for (number, release), settings in self._shown(pointed).wrong.items():
                    if release == place:
                        own[number] = own.get(number, 0) | settings
            for name, statements in self.record.statements.items():
                own = found.setdefault(name, {})
                for number in range(len(statements)):
                    rest = self._rest(name, number, place)
                    if rest:
                        own[number] = own.get(number, 0) | rest
            bitmaps = {}
            for name, own in found.items():
                by_statement = [own.get(number, 0) for number in range(observed.asked.get(name, 0))]
                bitmaps[name] = tuple(_turned(by_statement, len(observed.settings)))
            record = record.with_release(replace(observed, beside=bitmaps))
        return record

    def _rest(self, name: str, number: int, place: int) -> int:
        """The settings in which a release differs about a statement, and nothing explains it."""
        rest = self._differing(name, number, self._asked[place])
        for pointed in self.pointed:
            if rest and pointed.points.instruction == name:
                rest &= ~self._shown(pointed).explained.get((number, place), 0)
        return rest

    @cached_property
    def _covering(self) -> CoveredPoints:
        return CoveredPoints(self.register.specification)

    @cached_property
    def _statements(self) -> Mapping[str, Statement]:
        every = (text for listed in self.record.statements.values() for text in listed)
        return {text: found for text in every if (found := read(text)) is not None}

    def _gate(self, name: str, number: int) -> EffectiveGate | None:
        """When a recorded statement is legal."""
        return self._gates[name][number]

    @cached_property
    def _gates(self) -> Mapping[str, Sequence[EffectiveGate | None]]:
        judge, read_of = self.register.specification.judge(), self._statements
        return {
            name: [judge.gate_of(read_of[text]) for text in every]
            for name, every in self.record.statements.items()
        }

    @cached_property
    def _asked(self) -> tuple[_AskedRelease, ...]:
        return tuple(map(self._of_release, self.record.releases))

    def _of_release(self, observed: ReleaseObservations) -> _AskedRelease:
        versions = {str(version): version for version in self.register.specification.isa.versions}
        known = [place for place, (ptx, _) in enumerate(observed.settings) if ptx in versions]
        settings = tuple((versions[observed.settings[p][0]], observed.settings[p][1]) for p in known)
        accepted, died, beside = (
            {
                name: _turned([observed.of(bitmaps, name)[place] for place in known], count)
                for name, count in observed.asked.items()
            }
            for bitmaps in (observed.accepted, observed.died, observed.beside)
        )
        return _AskedRelease(observed.release, settings, accepted, died, beside)


def _direction(points: Points, taken: int, dead: int, legal: int) -> tuple[int, int]:
    """The settings in which a statement disagrees as the points say, and those in which it agrees instead."""
    if points.direction == "accepted":
        return taken & ~legal, ~taken & ~legal
    if points.direction == "refused":
        return legal & ~taken & ~dead, legal & taken
    return legal & dead, legal & ~dead


def _before(since: Version | None, versions: Sequence[Version]) -> Version | None:
    """The version before another."""
    ordered = sorted(versions)
    return ordered[ordered.index(since) - 1] if since in ordered[1:] else None


def _turned(bitmaps: Sequence[int], count: int) -> list[int]:
    """Bitmaps of statements by setting, as bitmaps of settings by statement."""
    if not bitmaps or not count:
        return [0] * count
    size = (count + 7) // 8
    packed = np.frombuffer(b"".join(one.to_bytes(size, "little") for one in bitmaps), np.uint8)
    bits = np.unpackbits(packed.reshape(len(bitmaps), size), axis=1, count=count, bitorder="little")
    turned = np.packbits(bits.T, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in turned]


def _keys(entry: Contradiction) -> set[AskedCase]:
    """The cases of an entry as they are asked."""
    return {(str(case.ptx), case.target, case.text) for case in entry.cases}
