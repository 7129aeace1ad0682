"""The accesses of shared memory by the threads of a walk, and which statements' accesses may meet at all."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..values.lane_numbers import LaneNumbers
from .block_walk import BlockAct

__all__ = [
    "ACCESS_CLASS",
    "BlockAccess",
    "BlockRace",
    "meeting_statements",
    "units_of",
]

_UNIT = 16  # bytes: accesses are remembered by such units of memory
_BOX = 128  # bytes: a box of a tensor is hardly ever smaller; the PTX does not show its size
_WIDE = 1 << 12  # bytes: of a wider access, as many at its beginning and its end are remembered
# Accesses of one class are not judged against one another.
ACCESS_CLASS = {"load": 0, "store": 0, "update": 0, "copy": 1, "fill": 1, "drain": 2}


@dataclass(slots=True, eq=False)
class BlockAccess:
    """An access by one thread. `complete` is the position of the act that makes it complete, if one has.

    `group` counts the groups that its thread had committed before it. `arrival` is the position of the act
    by which its thread arrives at an mbarrier for it.
    """

    act: BlockAct
    lane: int
    low: int
    high: int
    position: int
    complete: int | None = None
    group: int = 0
    arrival: int | None = None
    units: Sequence[int] = ()  # of memory, of _UNIT bytes

    @property
    def end(self) -> int:
        """The end of its bytes; a box of a tensor counts as at least _BOX bytes."""
        return max(self.high, self.low + _BOX) if self.act.kind == "drain" and self.act.is_open else self.high

    def meets(self, other: BlockAccess) -> bool:
        """Whether the two have bytes in common, if boxes are as large as usual."""
        return self.low < other.end and other.low < self.end

    def surely_meets(self, other: BlockAccess) -> bool:
        """Whether they have some in common, however large boxes are."""
        return self.low < other.high and other.low < self.high


@dataclass(frozen=True, slots=True)
class BlockRace:
    """Two accesses of the same bytes that nothing orders.

    what: `incomplete` (a copy, then any access), `draining` (a bulk store, then a write), `unsynchronised`
    (no barrier stands between), `unfenced` (a store, then a bulk store, and no proxy fence between),
    `fenced-late` (only the thread that starts the bulk store executes one), `unfenced-load` (a load, then a
    bulk copy into the bytes, and no proxy fence between).
    """

    what: str
    first: BlockAccess
    second: BlockAccess
    between: tuple[int, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether a run goes so, with the numbers that the PTX shows."""
        return self.first.act.certain and self.second.act.certain and self.first.surely_meets(self.second)


def meeting_statements(acts: Sequence[BlockAct]) -> set[int]:
    """The statements whose accesses may meet those of another class: see ACCESS_CLASS."""
    hulls: dict[int, tuple[int, int, int]] = {}
    for act in acts:
        if act.kind in ACCESS_CLASS:
            known = act.low.values if isinstance(act.low, LaneNumbers) else (act.low,)
            lows = [low for low in known if low is not None]
            low, high = (
                min(lows, default=0),
                max(lows, default=0) + max(act.width, _BOX if act.is_open else 0),
            )
            _, before, behind = hulls.get(act.statement, (0, low, high))
            hulls[act.statement] = ACCESS_CLASS[act.kind], min(low, before), max(high, behind)
    taken = {kind: _union((low, high) for k, low, high in hulls.values() if k == kind) for kind in range(3)}
    return {
        statement
        for statement, (kind, low, high) in hulls.items()
        if any(_meets(taken[other], low, high) for other in range(3) if other != kind)
    }


def _union(hulls: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of bytes, sorted, none of which meets another."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(hulls):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _meets(union: list[tuple[int, int]], low: int, high: int) -> bool:
    """Whether a range has bytes in common with some others."""
    at = bisect_right(union, (high - 1, high)) - 1
    return at >= 0 and union[at][1] > low


def units_of(access: BlockAccess) -> Sequence[int]:
    """The units of memory that an access touches; of a wide one those at both ends."""
    low, high = access.low // _UNIT, (access.end - 1) // _UNIT
    most = _WIDE // _UNIT
    if high - low <= 2 * most:
        return range(low, high + 1)
    return (*range(low, low + most), *range(high - most, high + 1))
