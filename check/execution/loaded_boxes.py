"""Phases that expect fewer bytes than threads load of the boxes that their tensor copies bring.

The PTX does not show how many bytes a box has. What threads load in a row from where one begins, and nothing
else has written, is taken to be its own, up to where another copy begins or an mbarrier lies. Products may be
larger than a box, and load what they do not use. So a phase is told only if it expects at most half, or a
whole box less.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from .access_records import GenericAccess, in_a_row
from .barriers import Mbarrier
from .clocks import Clock
from .timed_accesses import TimedWrite
from .warp_acts import Short

__all__ = ["LoadedBoxes"]

_PHASES = 2  # of each mbarrier: later ones are like these


@dataclass(slots=True)
class _LoadedBox:
    """A tensor copy, and what threads have loaded from its place on, a bit for each byte."""

    copy: TimedWrite
    loaded: int = 0
    statement: int = -1


@dataclass(slots=True)
class LoadedBoxes:
    """The boxes that a block copies, and what its threads load of each."""

    _places: list[int] = field(default_factory=list)  # where copies begin
    _now: dict[int, _LoadedBox | None] = field(default_factory=dict)  # by place: the last one, if it counts
    _boxes: list[_LoadedBox] = field(default_factory=list)
    _written: int = 0  # bytes that something else has written

    def begin(self, copy: TimedWrite, boxed: bool) -> None:
        """A bulk copy begins; `boxed`: one whose size the PTX does not show, and only this block gets it."""
        place = copy.region.low
        if place not in self._now:
            insort(self._places, place)
        counts = boxed and copy.landing is not None and copy.landing.phase < _PHASES
        self._now[place] = box = _LoadedBox(copy) if counts else None
        if box is not None:
            self._boxes.append(box)

    def write(self, access: GenericAccess) -> None:
        """Something else writes."""
        if self._boxes:
            self._written |= access.bytes.flags << access.bytes.start

    def load(self, access: GenericAccess, clock: Clock) -> None:
        """Threads of a warp with a clock load."""
        if not self._boxes or access.placed:
            return
        start, flags, _ = access.bytes
        first = max(bisect_right(self._places, start) - 1, 0)
        for place in self._places[first : bisect_left(self._places, start + flags.bit_length())]:
            box = self._now[place]
            if box is not None and box.copy.complete(clock):
                box.loaded |= access.bytes.behind(place)
                box.statement = access.statement if box.statement < 0 else box.statement

    def short(self, barriers: Mapping[int, Mbarrier]) -> dict[int, Short]:
        """By load: the phases that expect fewer bytes."""
        ends = sorted({*self._places, *barriers})
        boxes: dict[tuple[int, int], list[_LoadedBox]] = {}
        for box in self._boxes:
            landing = box.copy.landing
            if landing is not None:
                boxes.setdefault((landing.barrier, landing.phase), []).append(box)
        found = {}
        for address, barrier in barriers.items():
            for filled in barrier.filled:
                some = boxes.get((address, filled.copies[0].phase), [])
                sizes = [self._size(box, ends) for box in some]
                if len(some) != len(filled.copies) or not all(sizes):
                    continue  # some go elsewhere, too, or are not loaded
                read = sum(sizes)
                if filled.expected <= read - min(*sizes, (read + 1) // 2):
                    load = some[0].statement
                    found[load] = Short(load, filled.expected, read, doubtful=True, loads=True)
        return found

    def _size(self, box: _LoadedBox, ends: list[int]) -> int:
        """How many bytes in a row threads have loaded of a box."""
        place = box.copy.region.low
        after = bisect_right(ends, place)
        own = box.loaded & ~(self._written >> place)
        if after < len(ends):
            own &= (1 << ends[after] - place) - 1
        return in_a_row(own)
