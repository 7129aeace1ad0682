"""Faults of the register: what explains nothing recorded, what explains too much, and what is not explained.

Every case stands in the record with the verdicts that it lists, and every recorded case is listed. Each
release, version, target, row, value of a field and written part of points explains a recorded disagreement,
which no other points explain, and they cover nothing that is recorded as agreement.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..spec.errors import Place
from ..spec.legality import Judge
from ..spec.workers import over_jobs
from .contradiction_file import (
    Contradiction,
    Everywhere,
    MinimalCase,
    Points,
    alternatives,
    asked_alternatives,
)
from .contradictions import ContradictionRegister
from .covered_points import read
from .pointed import Pointed, every_pointed, on_every_instruction, written_out_points
from .records import bits_of
from .register_record import AskedCase, RegisterRecord
from .shown_points import Shown, ShownPoints

__all__ = ["RegisterFault", "RegisterFaults"]


@dataclass(frozen=True)
class RegisterFault:
    """Something in the register that the record contradicts, or that nothing recorded shows."""

    place: Place | None
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


@dataclass(frozen=True)
class RegisterFaults:
    """The faults of a register by a record, and those that a change of one entry would bring."""

    register: ContradictionRegister
    record: RegisterRecord

    def every(self) -> Iterator[RegisterFault]:
        """Every fault, in the order of the file; then what is recorded and not in the register."""
        shown = self._shown
        for one, found in zip(self.pointed, over_jobs(self.pointed, shown.found), strict=True):
            shown.keep(one, found)
        for faults in over_jobs(list(self.register.entries), self._alone):
            yield from faults
        yield from self._twice(self.pointed, self.pointed)
        names = sorted({*self.record.statements, *(one.points.instruction for one in self.pointed)})
        for faults in over_jobs(names, self._together):
            yield from faults
        yield from self._unlisted(self.register.entries.values())

    def after(self, identifier: str, entry: Contradiction | None) -> RegisterFault | None:
        """The first fault that another entry of this id would bring, or the loss of the entry."""
        old = self.register.entries.get(identifier)
        if entry is not None:
            found = next(self._of_entry(identifier, entry, old), None)
            if found is not None:
                return found
        before = [one for one in self.pointed if one.entry == identifier]
        written = list(self._pointed(identifier, entry)) if entry else []
        now = [next((one for one in before if one == other), other) for other in written]
        new = [one for one in now if one not in before]
        every = [*(one for one in self.pointed if one.entry != identifier), *now]
        needless = next(itertools.chain(self._twice(new, every), self._needless(new, every)), None)
        if needless is not None:
            return needless
        missing = next(self._unexplained(every, self._lost(before, now)), None)
        if missing is not None:
            return missing
        entries = [one for name, one in self.register.entries.items() if name != identifier]
        if entry is not None:
            entries.append(entry)
        if old is None or entry is None or _keys(old) != _keys(entry):
            return next(self._unlisted(entries), None)
        return None

    def _lost(self, before: Sequence[Pointed], now: Sequence[Pointed]) -> Mapping[str, set[int]]:
        """By instruction, the statements of which some points explained more before."""
        lost: dict[str, set[int]] = {}
        for one in before:
            name = one.points.instruction
            for (number, place), settings in self._shown.of(one).explained.items():
                if one not in now and settings & ~self._shown.explained(name, number, now).get(place, 0):
                    lost.setdefault(name, set()).add(number)
        return lost

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
        for ignored in entry.everywhere:
            if old is None or ignored not in old.everywhere:
                yield from self._of_ignored(identifier, ignored)

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
        yield from every_pointed(self.register.specification, identifier, entry)

    def _of_points(self, identifier: str, points: Points) -> Iterator[RegisterFault]:
        pointed = written_out_points(self.register.specification, identifier, points)
        shown = self._shown.of(pointed)
        if shown.contradicted:
            yield _contradicted(identifier, points.place, shown)
        for what, one in self._listed(pointed):
            if (what, one) not in shown.uses:
                yield _idle(identifier, points.place, what, one)

        for name in points.fields:
            rest = {field: values for field, values in points.fields.items() if field != name}
            wider = self._shown.found(replace(pointed, points=replace(points, fields=rest)))
            if not wider.contradicted and wider.explained == shown.explained:
                yield RegisterFault(points.place, f"{identifier}: the field {name} leaves nothing out")

    def _of_ignored(self, identifier: str, ignored: Everywhere) -> Iterator[RegisterFault]:
        """The faults of what is ignored everywhere: each instruction shows it, and some show each part."""
        uses: set[object] = set()
        specification = self.register.specification
        for points in on_every_instruction(specification, ignored):
            pointed = written_out_points(specification, identifier, points)
            shown = self._shown.of(pointed)
            uses |= shown.uses
            if shown.contradicted:
                yield _contradicted(identifier, ignored.place, shown)
            if not shown.explained:
                yield _idle(identifier, ignored.place, "instruction", points.instruction)
        for what, one in self._listed(replace(pointed, points=replace(points, rows=()))):
            if (what, one) not in uses:
                yield _idle(identifier, ignored.place, what, one)

    def _listed(self, pointed: Pointed) -> Iterator[tuple[str, object]]:
        """Everything that points list, of which each must explain something."""
        points, recorded = pointed.points, [one.release for one in self.record.releases if one.settings]
        yield from (("release", release) for release in recorded if release in pointed.releases)
        yield from (("version", str(version)) for version in sorted(pointed.versions))
        yield from (("target", target) for target in sorted(pointed.targets))
        yield from (("row", row) for row in points.rows)
        qualifiers = (text for one in points.qualifiers for text in alternatives(one))
        written = (*points.written, *points.elements, *points.surplus, *qualifiers)
        yield from (("part", part) for part in written)
        for statement in points.statements:
            yield from (("part", text) for text in asked_alternatives(statement))
        for name, listed in points.fields.items():
            yield from ((f"value of {name}", value) for value in listed.values)
        if points.since is not None:
            yield "since", str(points.since)

    def _twice(self, some: Iterable[Pointed], every: Sequence[Pointed]) -> Iterator[RegisterFault]:
        """Points that explain what others explain, too: one of the two says nothing."""
        some = list(some)
        wanted: dict[str, set[tuple[int, int]]] = {}
        for pointed in some:
            wanted.setdefault(pointed.points.instruction, set()).update(self._shown.of(pointed).explained)
        claimed: dict[tuple[str, int, int], list[tuple[Pointed, int]]] = {}
        for pointed in every:
            name = pointed.points.instruction
            explained = self._shown.of(pointed).explained if name in wanted else {}
            for key in explained.keys() & wanted.get(name, set()):
                claimed.setdefault((name, *key), []).append((pointed, explained[key]))
        for pointed in some:
            name = pointed.points.instruction
            for (number, place), settings in self._shown.of(pointed).explained.items():
                for other, theirs in claimed[name, number, place]:
                    if other is not pointed and settings & theirs:
                        ptx, target = self._shown.asked[place].settings[next(bits_of(settings & theirs))]
                        where = f"ptxas {self._shown.asked[place].release}, PTX {ptx}, {target}"
                        text = self.record.statements[name][number]
                        what = f"{pointed.entry} explains what {other.entry} explains: {where}: {text}"
                        yield RegisterFault(pointed.points.place, what)
                        break
                else:
                    continue
                break

    def _alone(self, identifier: str) -> list[RegisterFault]:
        """The faults of one entry by itself."""
        return list(self._of_entry(identifier, self.register.entries[identifier]))

    def _together(self, instruction: str) -> list[RegisterFault]:
        """The faults of one instruction's points together."""
        own = [one for one in self.pointed if one.points.instruction == instruction]
        numbers = range(len(self.record.statements.get(instruction, ())))
        return [*self._needless(own, own), *self._unexplained(own, {instruction: set(numbers)})]

    def _needless(self, some: Iterable[Pointed], every: Sequence[Pointed]) -> Iterator[RegisterFault]:
        """Points without which the others, alone and together, explain everything that these explain."""
        shown = self._shown
        for pointed in some:
            name, others = pointed.points.instruction, [one for one in every if one is not pointed]
            left = (
                shown.left(name, number, place, rest, others)
                for (number, place), settings in shown.of(pointed).explained.items()
                if (rest := settings & ~shown.explained(name, number, others).get(place, 0))
            )
            if not any(left):
                what = f"{pointed.entry}: other points explain together all that these explain"
                yield RegisterFault(pointed.points.place, what)

    def _unexplained(
        self, every: Sequence[Pointed], concerned: Mapping[str, set[int]]
    ) -> Iterator[RegisterFault]:
        """The recorded disagreements that no points explain, of some statements."""
        shown = self._shown
        for name, statements in self.record.statements.items():
            for number in sorted(concerned.get(name, ())):
                explained = shown.explained(name, number, every)
                for place, asked in enumerate(shown.asked):
                    rest = shown.differing(name, number, asked) & ~explained.get(place, 0)
                    rest = shown.left(name, number, place, rest, every) if rest else 0
                    if rest:
                        bit = next(bits_of(rest))
                        ptx, target = asked.settings[bit]
                        said = "accepts" if asked.accepted[name][number] >> bit & 1 else "does not take"
                        where = f"ptxas {asked.release}, PTX {ptx}, {target}"
                        yield RegisterFault(
                            None, f"{where} {said}, and no entry explains: {statements[number]}"
                        )

    @cached_property
    def _shown(self) -> ShownPoints:
        return ShownPoints(self.register.specification, self.record, self.pointed)


def _contradicted(identifier: str, place: Place, shown: Shown) -> RegisterFault:
    return RegisterFault(place, f"{identifier} covers what is recorded otherwise: {shown.contradicted}")


def _idle(identifier: str, place: Place, what: str, one: object) -> RegisterFault:
    return RegisterFault(place, f"{identifier}: the {what} {one} explains nothing that is recorded")


def _keys(entry: Contradiction) -> set[AskedCase]:
    """The cases of an entry as they are asked."""
    return {(str(case.ptx), case.target, case.text) for case in entry.cases}
