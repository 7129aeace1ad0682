"""What points of the register explain of what is recorded, alone and together; and what they say wrongly."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..spec.gates import EffectiveGate
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.statements import Statement
from .asked_settings import AskedRelease, asked_release
from .compound_points import Compound, CompoundPoints
from .contradiction_file import Points
from .covered_points import CoveredPoints, read
from .pointed import Pointed
from .records import bits_of
from .register_record import RegisterRecord

__all__ = ["Shown", "ShownPoints"]


@dataclass
class Shown:
    """What points explain, as settings by statement and release; `uses`: the parts that explain any."""

    explained: dict[tuple[int, int], int] = field(default_factory=dict)
    uses: set[object] = field(default_factory=set)
    contradicted: str = ""


@dataclass(frozen=True)
class ShownPoints:
    """What is recorded of the register's statements, and what points explain of it.

    `every` are all points of the register, of which some explain together what none explains alone.
    """

    specification: Specification
    record: RegisterRecord
    every: tuple[Pointed, ...]

    def of(self, pointed: Pointed) -> Shown:
        """What points explain alone."""
        key = id(pointed.points)  # quicker than to compare points
        for one, known in self._known.get(key, ()):
            if one.points is pointed.points and one.entry == pointed.entry:
                return known
        found = self.found(pointed)
        self.keep(pointed, found)
        return found

    def keep(self, pointed: Pointed, shown: Shown) -> None:
        """Remember what points explain."""
        self._known.setdefault(id(pointed.points), []).append((pointed, shown))

    @cached_property
    def _known(self) -> dict[int, list[tuple[Pointed, Shown]]]:
        return {}

    def found(self, pointed: Pointed) -> Shown:
        """The same, worked out."""
        points, shown = pointed.points, Shown()
        name = points.instruction
        before = _before(points.since, self.specification.isa.versions)
        for number, text in enumerate(self.record.statements.get(name, ())):
            covers = self.covering.of_statement(points, self._statements[text])
            for place, asked in enumerate(self.asked) if covers else ():
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
                    wrong &= region
                    if wrong and not shown.contradicted:
                        wrong &= ~self._excused(pointed, text, asked)
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
        for place, asked in enumerate(self.asked):
            every = [settings for (_, other), settings in shown.explained.items() if other == place]
            settings = functools.reduce(int.__or__, every, 0)
            for bit in bits_of(settings):
                ptx, target = asked.settings[bit]
                shown.uses |= {("version", str(ptx)), ("target", target)}
        return shown

    def _excused(self, pointed: Pointed, text: str, asked: AskedRelease) -> int:
        """The settings in which a statement is refused for another reason, although points let it pass."""
        if pointed.points.direction != "accepted":
            return 0
        settings = 0
        for undone in self.covering.undone(pointed.points, self._statements[text]):
            for other in self._refusing.get(pointed.points.instruction, ()):
                for undoing in self.covering.undoings(other.points, undone):
                    if undoing.gate is not None:
                        settings |= asked.covered((pointed, other), undoing.gate)
        return settings

    @cached_property
    def _refusing(self) -> Mapping[str, list[Pointed]]:
        """By instruction, the points about what is not accepted."""
        found: dict[str, list[Pointed]] = {}
        for pointed in self.every:
            if pointed.points.direction != "accepted":
                found.setdefault(pointed.points.instruction, []).append(pointed)
        return found

    # All of them.

    def explained(self, name: str, number: int, every: Iterable[Pointed]) -> dict[int, int]:
        """By release, the settings in which points explain what was done with a statement, each alone."""
        found: dict[int, int] = {}
        for pointed in every:
            if pointed.points.instruction == name:
                own = self.of(pointed).explained
                for place in range(len(self.asked)):
                    if (number, place) in own:
                        found[place] = found.get(place, 0) | own[number, place]
        return found

    def left(self, name: str, number: int, place: int, rest: int, every: Sequence[Pointed]) -> int:
        """Of settings in which specification and release differ, those that no points explain together."""
        asked, statement = self.asked[place], self._statements[self.record.statements[name][number]]
        taken = asked.accepted[name][number]
        if not rest & taken:
            return rest
        known = {id(one) for one in every}
        for compound in self._compounds(name).of(statement):
            if all(id(one) in known for one in compound.chain):
                rest &= ~(taken & self._covered(compound, asked))
        if rest & taken and any(id(one) not in self._own for one in every):
            own = [one for one in every if one.points.instruction == name]
            for compound in CompoundPoints(self.covering, own).of(statement):
                rest &= ~(taken & self._covered(compound, asked))
        return rest

    def _covered(self, compound: Compound, asked: AskedRelease) -> int:
        return asked.covered(compound.chain, compound.gate) if compound.accepted else 0

    @cached_property
    def _own(self) -> frozenset[int]:
        return frozenset(map(id, self.every))

    def _compounds(self, name: str) -> CompoundPoints:
        if name not in self._compounding:
            own = [one for one in self.every if one.points.instruction == name]
            self._compounding[name] = CompoundPoints(self.covering, own)
        return self._compounding[name]

    @cached_property
    def _compounding(self) -> dict[str, CompoundPoints]:
        return {}

    # What is recorded.

    def differing(self, name: str, number: int, asked: AskedRelease) -> int:
        """The settings in which specification and release differ about a statement."""
        if number >= len(asked.accepted.get(name, ())):
            return 0
        return asked.accepted[name][number] ^ asked.opened(self._gate(name, number))

    @cached_property
    def asked(self) -> tuple[AskedRelease, ...]:
        """What every release did."""
        return tuple(asked_release(self.specification, one) for one in self.record.releases)

    @cached_property
    def covering(self) -> CoveredPoints:
        """Which points cover a statement."""
        return CoveredPoints(self.specification)

    @cached_property
    def _statements(self) -> Mapping[str, Statement]:
        every = (text for listed in self.record.statements.values() for text in listed)
        return {text: found for text in every if (found := read(text)) is not None}

    def _gate(self, name: str, number: int) -> EffectiveGate | None:
        """When a recorded statement is legal."""
        return self._gates[name][number]

    @cached_property
    def _gates(self) -> Mapping[str, Sequence[EffectiveGate | None]]:
        judge, read_of = self.specification.judge(), self._statements
        return {
            name: [judge.gate_of(read_of[text]) for text in every]
            for name, every in self.record.statements.items()
        }


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
