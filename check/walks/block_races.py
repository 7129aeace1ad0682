"""Which accesses of shared memory does nothing order, among the acts of many threads of a block?

Every access is complete at some point: a load or store at once, a cp.async at its thread's wait, a bulk copy
at a wait on its mbarrier, a bulk store at its thread's wait for bulk groups. A later access of the same bytes
must come after that point: in the same thread, or behind a barrier. A bulk store, which reads through
the async proxy, needs a proxy fence after a store, too.

Barriers that threads meet at are followed. Phases of mbarriers are not: two threads count as ordered if one
has arrived at an mbarrier since, and the other has waited for one. Warps that have not waited for the same
phases, or have met others at barriers that threads pass by, may take turns: nobody knows which of them comes
first. A thread that waits for the first phase of an mbarrier to which nothing ever happens does nothing any
more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from ..ptx.operation import GENERIC_WRITES, READS
from ..values.block_threads import WARP
from ..values.lane_numbers import LaneNumbers, Numbers, number_at
from .block_accesses import (
    ACCESS_CLASS,
    BlockAccess,
    BlockRace,
    meeting_statements,
    units_of,
)
from .block_walk import BlockAct

__all__ = ["races"]

_ADDRESSES = 1 << 32


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


def races(
    acts: Sequence[BlockAct], threads: Sequence[int], endless: frozenset[int] = frozenset()
) -> Iterator[BlockRace]:
    """The races among the acts of a walk, each pair of statements once. `endless`: the waits that never end,
    by the identity of their acts.
    """
    seen: set[tuple[str, int, int]] = set()
    meeting = meeting_statements(acts)
    if not meeting:
        return
    bearing = [act for act in acts if act.kind not in ACCESS_CLASS or act.statement in meeting]
    for race in _BlockOrder(threads, endless).run(bearing):
        key = race.what, race.first.act.statement, race.second.act.statement
        if key not in seen:
            seen.add(key)
            yield race


def _numbers(act: BlockAct) -> Iterator[int | None]:
    """The numbers of the barriers that threads come to at an act."""
    return (number_at(act.barrier, lane) for lane in act.lanes)


class _BlockOrder:
    """What the threads have accessed, and how they were ordered since."""

    def __init__(self, threads: Sequence[int], endless: frozenset[int]) -> None:
        self.endless = endless
        count = len(threads)
        self.warps = [thread // WARP for thread in threads]
        self.copies = _CopyGroups([0] * count)
        self.drains = _CopyGroups([0] * count)
        self.made: dict[int, Sequence[BlockAccess]] = {}  # by position of an act: those of all threads
        # By class and unit: the last access of each statement and thread.
        self.units: tuple[dict[int, dict[tuple[int, int], BlockAccess]], ...] = ({}, {}, {})
        self.fences: list[list[int]] = [[] for _ in threads]
        # By warp: one thread may arrive, or wait, for all of its warp, which meets before or after that.
        self.releases: dict[int, list[int]] = defaultdict(list)
        self.acquires: dict[int, int] = {}  # the position of the last one
        self.passed: set[int | None] = set()  # the barriers that some threads arrive at, and pass by
        self.turns: dict[int, int] = defaultdict(int)  # by warp: what it has waited for, by its number here
        self._histories: dict[tuple[object, ...], int] = {}  # what warps have waited for, numbered
        self.meets: list[tuple[int, frozenset[int]]] = []
        self.awaits: list[tuple[int, Numbers]] = []
        self.waits: list[tuple[int, int]] = []  # positions and statements that a finding shows
        self.stuck: set[int] = set()  # threads that wait for ever

    def run(self, acts: Sequence[BlockAct]) -> Iterator[BlockRace]:
        self.passed = {number for act in acts if act.kind == "pass" for number in _numbers(act)}
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
            case "arrive" | "pass":
                for lane in act.lanes:
                    self.releases[self.warps[lane]].append(position)
            case "await":
                self.awaits.append((position, act.barrier))
                if id(act) in self.endless:
                    self.stuck.update(act.lanes)
                for lane in act.lanes:
                    self.acquires[self.warps[lane]] = position
                self._take_turns(act)
            case "meet":
                self._meet(act, position)
            case _:
                return
        self.waits.append((position, act.statement))

    def _take_turns(self, act: BlockAct) -> None:
        """Remember which phase each warp waits for. Where nobody knows the mbarrier, it is the warp's own."""
        for warp, lane in {self.warps[lane]: lane for lane in act.lanes}.items():
            number = number_at(act.barrier, lane)
            if number is None and isinstance(act.barrier, LaneNumbers):
                number = ~warp
            self.turns[warp] = self._history(self.turns[warp], number, number_at(act.parity, lane))

    def _history(self, *waited: object) -> int:
        """The number of what warps have waited for: the same only for the same."""
        return self._histories.setdefault(waited, len(self._histories) + 1)

    def _meet(self, act: BlockAct, position: int) -> None:
        """Threads meet at the barrier of one number; one whose number is unknown may be any."""
        by_number: dict[int | None, list[int]] = defaultdict(list)
        for lane in act.lanes:
            by_number[number_at(act.barrier, lane)].append(lane)
            self.releases[self.warps[lane]].append(position)
            self.acquires[self.warps[lane]] = position
        if isinstance(act.barrier, LaneNumbers) and None in by_number:
            by_number = {None: list(act.lanes)}
        for number, lanes in by_number.items():
            self.meets.append((position, frozenset(lanes)))
            warps = {self.warps[lane] for lane in lanes}
            turns = {self.turns[warp] for warp in warps}
            turn = turns.pop() if len(turns) == 1 else self._history(frozenset(turns))
            if number in self.passed:
                turn = self._history(turn, number)
            self.turns.update(dict.fromkeys(warps, turn))

    def _forget(self) -> None:
        for units in self.units:
            units.clear()
        self.copies.pending.clear()
        self.drains.pending.clear()

    def _access(self, act: BlockAct, position: int) -> Iterator[BlockRace]:
        made: list[BlockAccess] = []
        for lane in act.lanes:
            low = number_at(act.low, lane)
            if low is not None and lane not in self.stuck:
                one = BlockAccess(act, lane, low, low + act.width, position)
                one.units = units_of(one)
                made.append(one)
        self.made[position] = made
        if made and (doubtful := self._doubtful(made)):
            for access in made:
                yield from self._judged(access, doubtful)
        for access in made:
            self._remember(access)

    def _doubtful(self, made: Sequence[BlockAccess]) -> frozenset[int]:
        """The acts before some accesses, by identity, that are not surely ordered before all of them."""
        mine = self.units[ACCESS_CLASS[made[0].act.kind]]
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
        return frozenset(
            act for act, before in met.items() if not self._all_ordered(self.made[before.position], made)
        )

    def _all_ordered(self, firsts: Sequence[BlockAccess], seconds: Sequence[BlockAccess]) -> bool:
        """Whether `_what` is surely None for accesses of one act and those of another one."""
        first, second = firsts[0].act, seconds[0].act
        one, two = first.kind, second.kind
        if one in READS and two in READS:
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
        if (two == "drain" and one in GENERIC_WRITES) or (two == "fill" and one == "load"):
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
        units = self.units[ACCESS_CLASS[kind]]
        for unit in access.units:
            if (there := units.get(unit)) is None:
                there = units[unit] = {}
            there[key] = access

    def _judged(self, access: BlockAccess, doubtful: frozenset[int]) -> Iterator[BlockRace]:
        """The races of an access with those of some acts before it, one for each of their statements."""
        seen: set[int] = set()  # statements
        judged: set[BlockAccess] = set()
        mine = self.units[ACCESS_CLASS[access.act.kind]]
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
        if second.act.kind == "drain" and first.act.kind in GENERIC_WRITES:
            yield from ((one, second) for one in self._stored_beside(first, second))
        elif first.act.kind == "drain" and second.act.kind in GENERIC_WRITES:
            yield from ((first, one) for one in self._stored_beside(second, first))

    def _stored_beside(self, write: BlockAccess, drain: BlockAccess) -> Iterator[BlockAccess]:
        """The writes of other threads by the same act, of what a bulk store is taken to store for all."""
        stored = self._stored_for_all(drain)
        beside = self.made[write.position]
        return (one for one in beside if one.lane != write.lane and one.low in stored)

    def _stored_for_all(self, access: BlockAccess) -> range:
        """The bytes that a bulk store of unknown size stores, which one warp alone starts for others.

        Where several warps each start one, and the PTX shows which do, each stores the bytes up to where the
        next one begins, and the last one as many. Where other threads hold another address for it than the
        one that starts it, each warp has a part of its own, and this run lets one of them alone store.
        """
        act = access.act
        if not act.is_open:
            return range(0)
        if len({self.warps[lane] for lane in act.lanes}) == 1:
            alone = not isinstance(act.low, LaneNumbers) or len({*act.low.values} - {None}) == 1
            return range(_ADDRESSES if alone else 0)
        lows = sorted(one.low for one in self.made[access.position])
        apart = min(after - before for before, after in pairwise(lows)) if act.certain and lows[1:] else 0
        return range(access.low, access.low + apart)

    def _between(self, first: BlockAccess, second: BlockAccess) -> tuple[int, ...]:
        """The statements between two accesses that might have ordered them."""
        found = [s for at, s in self.waits if first.position < at < second.position]
        return tuple(dict.fromkeys(found))

    def _what(self, first: BlockAccess, second: BlockAccess) -> str | None:
        """Why two accesses of the same bytes are not ordered; None if they are, or may be."""
        one, two = first.act.kind, second.act.kind
        if ACCESS_CLASS[one] == ACCESS_CLASS[two] or (one in READS and two in READS):
            return None  # which of two copies comes last is a question of the pipeline's phases
        if second.lane not in first.act.path and first.lane not in second.act.path:
            return None  # threads of different roles: barriers with phases order them
        if first.complete is None:
            return self._incomplete(first, second)
        if not self._ordered(first, second):
            return None if self._alternate(first, second) else "unsynchronised"
        if two == "drain" and one in GENERIC_WRITES:
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

    def _alternate(self, first: BlockAccess, second: BlockAccess) -> bool:
        """Whether the two warps may take turns: they have not waited for the same, and not met since."""
        return self.turns[self.warps[first.lane]] != self.turns[self.warps[second.lane]]

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
