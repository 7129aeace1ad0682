"""Which accesses of shared memory does nothing order, among the acts of many threads of a block?

Every access is complete at some point: a load or store at once, a cp.async at its thread's wait, a bulk copy
at a wait on its mbarrier, a bulk store at its thread's wait for bulk groups. A later access of the same bytes
must come after that point: in the same thread, or behind a barrier. A bulk store, which reads through
the async proxy, needs a proxy fence after a store, too.

Barriers that threads meet at are followed. Phases of mbarriers are not: two threads count as ordered if one
has arrived at an mbarrier since, and the other has waited for one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ..values.block_threads import WARP
from ..values.lane_numbers import LaneNumbers, Numbers, number_at
from .block_walk import BlockAct

__all__ = ["BlockAccess", "BlockRace", "races"]

_UNIT = 16  # bytes: accesses are remembered by such units of memory
_BOX = 128  # bytes: a box of a tensor is hardly ever smaller; the PTX does not show its size
_WIDE = 1 << 12  # bytes: of a wider access, as many at its beginning and its end are remembered
# Accesses of one class are not judged against one another.
_CLASS = {"load": 0, "store": 0, "update": 0, "copy": 1, "fill": 1, "drain": 2}
_READS = frozenset(("load", "drain"))
_WRITES_GENERIC = frozenset(("store", "update", "copy"))


@dataclass(slots=True, eq=False)
class BlockAccess:
    """An access by one thread. `complete` is the position of the act that makes it complete, if one has.

    `group` counts the groups that its thread had committed before it. `arrival` is the position of the act
    by which its thread arrives at an mbarrier for it. `beside` are the accesses of all threads by the same
    act.
    """

    act: BlockAct
    lane: int
    low: int
    high: int
    position: int
    complete: int | None = None
    group: int = 0
    arrival: int | None = None
    beside: list[BlockAccess] = field(default_factory=list)
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


@dataclass(slots=True)
class _CopyGroups:
    """The groups that each thread has committed, and the accesses that no wait has covered."""

    committed: list[int]
    pending: dict[int, list[BlockAccess]] = field(default_factory=lambda: defaultdict(list))

    def commit(self, act: BlockAct) -> None:
        for lane in act.lanes:
            self.committed[lane] += 1

    def wait(self, act: BlockAct, position: int) -> None:
        for lane in act.lanes:
            left = []
            for one in self.pending.get(lane, ()):
                if act.n < 0 or self.committed[lane] - one.group > act.n:
                    one.complete = position
                else:
                    left.append(one)
            self.pending[lane] = left


def races(acts: Sequence[BlockAct], threads: Sequence[int]) -> Iterator[BlockRace]:
    """The races among the acts of a walk, each pair of statements once."""
    seen: set[tuple[str, int, int]] = set()
    meeting = _meeting(acts)
    if not meeting:
        return
    bearing = [act for act in acts if act.kind not in _CLASS or act.statement in meeting]
    for race in _BlockOrder(threads).run(bearing):
        key = race.what, race.first.act.statement, race.second.act.statement
        if key not in seen:
            seen.add(key)
            yield race


def _meeting(acts: Sequence[BlockAct]) -> set[int]:
    """The statements whose accesses may meet those of another class: see _CLASS."""
    hulls: dict[int, tuple[int, int, int]] = {}
    for act in acts:
        if act.kind in _CLASS:
            known = act.low.values if isinstance(act.low, LaneNumbers) else (act.low,)
            lows = [low for low in known if low is not None]
            low, high = (
                min(lows, default=0),
                max(lows, default=0) + max(act.width, _BOX if act.is_open else 0),
            )
            _, before, behind = hulls.get(act.statement, (0, low, high))
            hulls[act.statement] = _CLASS[act.kind], min(low, before), max(high, behind)
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


class _BlockOrder:
    """What the threads have accessed, and how they were ordered since."""

    def __init__(self, threads: Sequence[int]) -> None:
        count = len(threads)
        self.warps = [thread // WARP for thread in threads]
        self.copies = _CopyGroups([0] * count)
        self.drains = _CopyGroups([0] * count)
        # By class and unit: the last access of each statement and thread.
        self.units: tuple[dict[int, dict[tuple[int, int], BlockAccess]], ...] = ({}, {}, {})
        self.fences: list[list[int]] = [[] for _ in threads]
        # By warp: one thread may arrive, or wait, for all of its warp, which meets before or after that.
        self.releases: dict[int, list[int]] = defaultdict(list)
        self.acquires: dict[int, int] = {}  # the position of the last one
        self.meets: list[tuple[int, frozenset[int]]] = []
        self.awaits: list[tuple[int, Numbers]] = []
        self.waits: list[tuple[int, int]] = []  # positions and statements that a finding shows

    def run(self, acts: Sequence[BlockAct]) -> Iterator[BlockRace]:
        for position, act in enumerate(acts):
            match act.kind:
                case "load" | "store" | "update" | "copy" | "fill" | "drain":
                    yield from self._access(act, position)
                case "cut":
                    self._forget()
                case _:
                    self._order(act, position)

    def _order(self, act: BlockAct, position: int) -> None:
        """What orders accesses."""
        match act.kind:
            case "copy-commit":
                self.copies.commit(act)
            case "copy-wait":
                self.copies.wait(act, position)
            case "copy-arrive":
                for lane in act.lanes:
                    for one in self.copies.pending.pop(lane, ()):
                        one.arrival = position
                    self.releases[self.warps[lane]].append(position)
            case "bulk-commit":
                self.drains.commit(act)
            case "bulk-wait":
                self.drains.wait(act, position)
            case "proxy-fence":
                for lane in act.lanes:
                    self.fences[lane].append(position)
            case "arrive":
                for lane in act.lanes:
                    self.releases[self.warps[lane]].append(position)
            case "await":
                self.awaits.append((position, act.barrier))
                for lane in act.lanes:
                    self.acquires[self.warps[lane]] = position
            case "meet":
                self._meet(act, position)
            case _:
                return
        self.waits.append((position, act.statement))

    def _meet(self, act: BlockAct, position: int) -> None:
        """Threads meet at the barrier of one number; one whose number is unknown may be any."""
        by_number: dict[int | None, list[int]] = defaultdict(list)
        for lane in act.lanes:
            by_number[number_at(act.barrier, lane)].append(lane)
            self.releases[self.warps[lane]].append(position)
            self.acquires[self.warps[lane]] = position
        if isinstance(act.barrier, LaneNumbers) and None in by_number:
            by_number = {None: list(act.lanes)}
        self.meets += ((position, frozenset(lanes)) for lanes in by_number.values())

    def _forget(self) -> None:
        for units in self.units:
            units.clear()
        self.copies.pending.clear()
        self.drains.pending.clear()

    def _access(self, act: BlockAct, position: int) -> Iterator[BlockRace]:
        made: list[BlockAccess] = []
        for lane in act.lanes:
            low = number_at(act.low, lane)
            if low is not None:
                one = BlockAccess(act, lane, low, low + act.width, position, beside=made)
                one.units = _units(one)
                made.append(one)
        if made and (doubtful := self._doubtful(made)):
            for access in made:
                yield from self._judged(access, doubtful)
        for access in made:
            self._remember(access)

    def _doubtful(self, made: Sequence[BlockAccess]) -> frozenset[int]:
        """The acts before some accesses, by identity, that are not surely ordered before all of them."""
        mine = self.units[_CLASS[made[0].act.kind]]
        others = [units for units in self.units if units and units is not mine]
        if not others:
            return frozenset()
        touched = {unit for access in made for unit in access.units}
        met = {
            id(before.act): before
            for units in others
            for unit in touched & units.keys()
            for before in units[unit].values()
        }
        return frozenset(act for act, before in met.items() if not self._all_ordered(before.beside, made))

    def _all_ordered(self, firsts: Sequence[BlockAccess], seconds: Sequence[BlockAccess]) -> bool:
        """Whether `_what` is surely None for accesses of one act and those of another one."""
        first, second = firsts[0].act, seconds[0].act
        one, two = first.kind, second.kind
        if one in _READS and two in _READS:
            return True
        if first.path.isdisjoint(second.lanes) and second.path.isdisjoint(first.lanes):
            return True
        since = -1
        for access in firsts:
            if access.complete is None:
                return False
            since = max(since, access.complete)
        if not self._all_meet(since, first, second):
            return False
        if (two == "drain" and one in _WRITES_GENERIC) or (two == "fill" and one == "load"):
            for access in firsts:
                assert access.complete is not None
                fences = self.fences[access.lane]
                at = bisect_right(fences, access.complete)
                if at == len(fences):
                    return False
                since = max(since, fences[at])
            return self._all_meet(since, first, second)
        return True

    def _all_meet(self, since: int, first: BlockAct, second: BlockAct) -> bool:
        """Whether the threads of two acts are surely ordered behind a position."""
        warps = {self.warps[lane] for lane in first.lanes}
        others = {self.warps[lane] for lane in second.lanes}
        if warps == others and len(warps) == 1:
            return True
        for position, lanes in reversed(self.meets):
            if position <= since:
                break
            if lanes.issuperset(first.lanes) and lanes.issuperset(second.lanes):
                return True
        acquired = min(self.acquires.get(warp, -1) for warp in others)
        for warp in warps:
            releases = self.releases[warp]
            after = bisect_right(releases, since)
            if after == len(releases) or releases[after] > acquired:
                return False
        return True

    def _remember(self, access: BlockAccess) -> None:
        kind, lane = access.act.kind, access.lane
        if kind == "copy":
            access.group = self.copies.committed[lane]
            self.copies.pending[lane].append(access)
        elif kind == "drain":
            access.group = self.drains.committed[lane]
            self.drains.pending[lane].append(access)
        elif kind != "fill":
            access.complete = access.position
        key = access.act.statement, lane
        units = self.units[_CLASS[kind]]
        for unit in access.units:
            if (there := units.get(unit)) is None:
                there = units[unit] = {}
            there[key] = access

    def _judged(self, access: BlockAccess, doubtful: frozenset[int]) -> Iterator[BlockRace]:
        """The races of an access with those of some acts before it, one for each of their statements."""
        seen: set[int] = set()  # statements
        judged: set[BlockAccess] = set()
        mine = self.units[_CLASS[access.act.kind]]
        others = [units for units in self.units if units and units is not mine]
        for unit in access.units if others else ():
            for before in chain.from_iterable(units[unit].values() for units in others if unit in units):
                if before in judged or id(before.act) not in doubtful:
                    continue
                judged.add(before)
                statement = before.act.statement
                if statement in seen or not before.meets(access):
                    continue
                for first, second in self._pairs(before, access):
                    what = self._what(first, second)
                    if what is not None:
                        seen.add(statement)
                        yield BlockRace(what, first, second, self._between(first, second))
                        break

    def _pairs(self, first: BlockAccess, second: BlockAccess) -> Iterator[tuple[BlockAccess, BlockAccess]]:
        """Two accesses that meet. Where one warp alone starts a bulk store of unknown size, and it begins at
        what a statement writes, it is taken to store what other warps write by that statement, too.
        """
        yield first, second
        if self._stores_for_all(second) and first.act.kind in _WRITES_GENERIC:
            yield from ((one, second) for one in first.beside if one.lane != first.lane)
        elif self._stores_for_all(first) and second.act.kind in _WRITES_GENERIC:
            yield from ((first, one) for one in second.beside if one.lane != second.lane)

    def _stores_for_all(self, access: BlockAccess) -> bool:
        """Whether an access is a bulk store of unknown size that only threads of one warp start.

        Where other threads hold another address for it, each warp has a part of its own, and this run lets
        one of them alone store.
        """
        act = access.act
        if act.kind != "drain" or not act.is_open or len({self.warps[lane] for lane in act.lanes}) != 1:
            return False
        return not isinstance(act.low, LaneNumbers) or len({*act.low.values} - {None}) == 1

    def _between(self, first: BlockAccess, second: BlockAccess) -> tuple[int, ...]:
        """The statements between two accesses that might have ordered them."""
        found = [s for at, s in self.waits if first.position < at < second.position]
        return tuple(dict.fromkeys(found))

    def _what(self, first: BlockAccess, second: BlockAccess) -> str | None:
        """Why two accesses of the same bytes are not ordered; None if they are, or may be."""
        one, two = first.act.kind, second.act.kind
        if _CLASS[one] == _CLASS[two] or (one in _READS and two in _READS):
            return None  # which of two copies comes last is a question of the pipeline's phases
        if second.lane not in first.act.path and first.lane not in second.act.path:
            return None  # threads of different roles: barriers with phases order them
        if first.complete is None:
            return self._incomplete(first, second)
        if not self._ordered(first, second):
            return "unsynchronised"
        if two == "drain" and one in _WRITES_GENERIC:
            return self._unfenced(first, second)
        if two == "fill" and one == "load" and self._unfenced(first, second):
            return "unfenced-load"
        return None

    def _incomplete(self, first: BlockAccess, second: BlockAccess) -> str | None:
        """An access that is not complete: by its own thread's waits, or by anyone's at its mbarrier."""
        match first.act.kind:
            case "copy":
                awaited = first.arrival is not None and self._acquired(second) > first.arrival
                return None if awaited else "incomplete"
            case "fill":
                number = number_at(first.act.barrier, first.lane)
                awaited = any(
                    at > first.position
                    and (number is None or isinstance(b, LaneNumbers) or b in (None, number))
                    for at, b in self.awaits
                )
                return None if awaited else "incomplete"
        return "draining"

    def _ordered(self, first: BlockAccess, second: BlockAccess) -> bool:
        """Whether the first access is complete before the second, so far as barriers say, or may say."""
        assert first.complete is not None
        if self.warps[first.lane] == self.warps[second.lane]:
            return True  # of one thread; or of one warp, whose threads are not judged against one another
        for position, lanes in reversed(self.meets):
            if position <= first.complete:
                break
            if first.lane in lanes and second.lane in lanes:
                return True
        releases = self.releases[self.warps[first.lane]]
        after = bisect_right(releases, first.complete)
        return after < len(releases) and self._acquired(second) >= releases[after]

    def _acquired(self, access: BlockAccess) -> int:
        """The position of the last act by which the access's warp learned of others'."""
        return self.acquires.get(self.warps[access.lane], -1)

    def _unfenced(self, first: BlockAccess, second: BlockAccess) -> str | None:
        """Whether a proxy fence stands between a store and a bulk store, and in which thread."""
        assert first.complete is not None
        mine, theirs = self.fences[first.lane], self.fences[second.lane]
        at = bisect_right(mine, first.complete)
        if at < len(mine) and (first.lane == second.lane or self._meets_after(mine[at], first, second)):
            return None
        at = bisect_right(theirs, first.complete)
        return "fenced-late" if at < len(theirs) else "unfenced"

    def _meets_after(self, fence: int, first: BlockAccess, second: BlockAccess) -> bool:
        """Whether the two threads are ordered behind a fence of the first one."""
        moved = BlockAccess(first.act, first.lane, first.low, first.high, fence, fence)
        return self._ordered(moved, second)


def _units(access: BlockAccess) -> Sequence[int]:
    """The units of memory that an access touches; of a wide one those at both ends."""
    low, high = access.low // _UNIT, (access.end - 1) // _UNIT
    most = _WIDE // _UNIT
    if high - low <= 2 * most:
        return range(low, high + 1)
    return (*range(low, low + most), *range(high - most, high + 1))
