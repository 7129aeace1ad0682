"""How the arrivals and bytes of one barrier can be parted into phases.

A phase ends as soon as it lacks no arrival and no byte. Mostly it is enough to say which members are in which
phase. Where some order of a phase's members would end it too early, or let an arrival come when none is
pending, each order in which that does not happen, or does, is a way of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["PhaseMember", "PhasePlace", "Phases", "partitions"]

PhasePlace = tuple[int, int]
_Members = frozenset["PhaseMember"]
_Before = Mapping[PhasePlace, frozenset[PhasePlace]]  # by member: those that surely come before it


@dataclass(frozen=True, slots=True)
class PhaseMember:
    """A step that changes what a phase lacks, as (thread, step): its arrivals, and the bytes that it
    expects.
    """

    place: PhasePlace
    arrivals: int
    expected: int


@dataclass(frozen=True)
class Phases:
    """The members of every phase, the last of which has not ended; `excess_in`: the arrivals that came when
    too few were pending, with their phase; `sequences`: pairs of members whose order matters, the first of
    them earlier.
    """

    all: tuple[tuple[PhaseMember, ...], ...]
    excess_in: tuple[tuple[int, PhaseMember], ...]
    sequences: tuple[tuple[PhaseMember, PhaseMember], ...]

    @property
    def ended(self) -> int:
        """How many phases have ended."""
        return len(self.all) - 1

    @property
    def excess(self) -> tuple[PhaseMember, ...]:
        """The arrivals that came when too few were pending."""
        return tuple(member for _, member in self.excess_in)

    def of(self, place: PhasePlace) -> int:
        """The phase of a member."""
        return next(
            number for number, members in enumerate(self.all) for one in members if one.place == place
        )


def partitions(members: Sequence[PhaseMember], before: _Before, count: int) -> Iterator[Phases]:
    """Every way to part the members of a barrier of `count` arrivals into phases."""
    yield from _from(frozenset(members), before, count, Phases((), (), ()))


def _from(rest: _Members, before: _Before, count: int, found: Phases) -> Iterator[Phases]:
    """Every way to part the rest into phases behind those that are found."""
    number = len(found.all)
    for members, sequence, ends in _phases(rest, before, count):
        excess = _Lacks(count).behind(sequence).excess
        pairs = itertools.pairwise(sequence)
        joined = Phases(
            (*found.all, tuple(sorted(members - {*excess}, key=_place))),
            (*found.excess_in, *((number, member) for member in excess)),
            (*found.sequences, *pairs),
        )
        if ends:
            yield from _from(rest - members, before, count, joined)
        else:
            yield joined


@dataclass(frozen=True)
class _Lacks:
    """What a phase lacks, and the arrivals that were too many."""

    pending: int
    bytes: int = 0
    excess: tuple[PhaseMember, ...] = ()

    @property
    def nothing(self) -> bool:
        return self.pending == 0 and self.bytes == 0

    def after(self, member: PhaseMember) -> _Lacks:
        """What it lacks after one more member; an arrival too many changes nothing."""
        if member.arrivals > self.pending:
            return _Lacks(self.pending, self.bytes, (*self.excess, member))
        return _Lacks(self.pending - member.arrivals, self.bytes + member.expected, self.excess)

    def behind(self, sequence: Sequence[PhaseMember]) -> _Lacks:
        """What it lacks after some more."""
        lacks = self
        for member in sequence:
            lacks = lacks.after(member)
        return lacks


def _phases(
    rest: _Members, before: _Before, count: int
) -> Iterator[tuple[_Members, tuple[PhaseMember, ...], bool]]:
    """The phases that the rest can begin with: the members, their sequence if it matters, and whether it
    ends.

    All of the rest is a phase that does not end, if some order of it lets none end.
    """
    ending: set[_Members] = set()
    whole = False  # whether some order of the rest ends no phase
    tangled: set[_Members] = set()  # that have an arrival too many in some order
    known = {(frozenset[PhaseMember](), frozenset[PhaseMember]())}
    waiting = [(frozenset[PhaseMember](), _Lacks(count))]
    while waiting:
        taken, lacks = waiting.pop()
        whole |= taken == rest
        for member in _next(rest, taken, before):
            more, left = taken | {member}, lacks.after(member)
            if left.excess:
                tangled.add(more)
            if left.nothing:
                ending.add(more)
            elif (more, frozenset(left.excess)) not in known:
                known.add((more, frozenset(left.excess)))
                waiting.append((more, left))
    for members in sorted(ending, key=lambda one: sorted(map(_place, one))):
        if any(other < members for other in ending) or any(other <= members for other in tangled):
            yield from ((members, sequence, True) for sequence in _sequences(members, before, count, True))
        else:
            yield members, (), True
    if whole:
        if ending or tangled:
            yield from ((rest, sequence, False) for sequence in _sequences(rest, before, count, False))
        else:
            yield rest, (), False


def _sequences(
    members: _Members, before: _Before, count: int, ends: bool
) -> Iterator[tuple[PhaseMember, ...]]:
    """The orders of the members in which a phase ends with the last one, or in which none ends."""
    waiting: list[tuple[tuple[PhaseMember, ...], _Lacks]] = [((), _Lacks(count))]
    while waiting:
        sequence, lacks = waiting.pop()
        if len(sequence) == len(members):
            if lacks.nothing == ends:
                yield sequence
        elif not lacks.nothing:
            for member in _next(members, frozenset(sequence), before):
                waiting.append(((*sequence, member), lacks.after(member)))


def _next(rest: _Members, taken: _Members, before: _Before) -> Iterator[PhaseMember]:
    """The members that can come after those that are taken."""
    left = {member.place for member in rest - taken}
    return (member for member in rest - taken if before[member.place].isdisjoint(left))


def _place(member: PhaseMember) -> PhasePlace:
    return member.place
