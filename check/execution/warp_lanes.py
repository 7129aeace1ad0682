"""Accesses of shared memory by the lanes of one warp that no barrier of the warp orders.

A load of the whole warp brings what any lane has stored to others: which lane receives which bytes is not
looked at. Whether such a load is a barrier, or another instruction that lanes execute together, is a reading
of the text (switch warp-sync). Of other accesses it is known which lane accesses which bytes. What a lane has
stored itself, it may load; what several have updated, it may not. Two updates need no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..ptx.dataflow import closure
from ..ptx.decode import DecodedStatement
from ..ptx.operation import READS, Operation
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import Numbers, number_at
from ..walks.walk_steps import WalkStep, WalkSteps
from .access_records import GenericAccess, GenericRace, accessed, both_access, in_a_row
from .thread_groups import ThreadGroup
from .warps import lanes_of

__all__ = ["LANES", "WITHIN", "LaneAccess", "LaneAddresses", "WarpLanes", "is_together", "met_between"]

# A race under one reading only: the lanes execute the load, or something before it, together.
WITHIN = "within"
LANES = "lanes"  # nothing stands between two accesses
_ORDERS = frozenset(("meet", "await"))
_TELLS = frozenset(("arrive", "copy-arrive", "memory-fence"))  # another lane may learn of what is before
_FULL = (1 << WARP) - 1
LanePlaces = tuple[tuple[int, int], ...]  # lanes, each with where its access begins


def is_together(operation: Operation) -> bool:
    """Whether all lanes of a warp execute an instruction together, and it is none that is a barrier."""
    return "sync" in operation.words and operation.does not in _ORDERS


class LaneAddresses(NamedTuple):
    """Where the threads of a warp access memory, by a register and an offset: most are never asked for."""

    base: Numbers
    threads: Sequence[int]
    offset: int

    def places(self) -> LanePlaces | None:
        """Where the access of each begins; None where that is not known."""
        found = []
        for thread in self.threads:
            place = number_at(self.base, thread)
            if place is None:
                return None
            found.append((thread % WARP, place + self.offset))
        return tuple(found)


@lru_cache(maxsize=1 << 11)
def _crossing(
    first: LanePlaces,
    size: int,
    second: LanePlaces,
    other_size: int,
    own: bool,
    met: tuple[int, ...],
    told: int,
) -> tuple[int, int, int, int] | None:
    """Two lanes whose accesses have a byte in common, the first one's before the second one's, and that have
    not met; and from where to where they have. `own`: but for bytes that the second one has accessed itself.
    `told`: lanes of whose accesses others may know.
    """
    mine = dict(first) if own else {}
    for lane, low in second:
        for other, start in first:
            begin, end = max(low, start), min(low + other_size, start + size)
            if begin >= end or lane == other or told >> other & 1:
                continue
            if any(mask >> lane & mask >> other & 1 for mask in met):
                continue
            if lane not in mine or not mine[lane] <= begin < end <= mine[lane] + size:
                return other, lane, begin, end
    return None


@dataclass(slots=True, eq=False)
class LaneAccess:
    """An access by lanes of a warp, of `size` bytes at each of some `addresses`; None: they do so together.
    `met`: the lanes that have met since. `told`: those of which others may know, by a fence or an arrival.
    """

    access: GenericAccess
    addresses: LaneAddresses | None
    size: int
    met: list[int] = field(default_factory=list)
    told: int = 0

    @property
    def places(self) -> LanePlaces | None:
        """Where each accesses the bytes; None if they do so together, or it is not known."""
        return None if self.addresses is None else self.addresses.places()

    @property
    def lanes(self) -> int:
        """The lanes that access something, a bit for each."""
        return 0 if self.addresses is None else lanes_of(tuple(self.addresses.threads))

    def touches(self, lanes: int, access: GenericAccess) -> bool:
        """Whether some of its lanes have a byte in common with another access."""
        one = (1 << self.size) - 1
        return any(
            lanes >> lane & 1 and access.bytes.behind(place) & one for lane, place in self.places or ()
        )

    def meet(self, lanes: int) -> None:
        """Some lanes meet: they know what those know that they have met before."""
        for mask in [mask for mask in self.met if mask & lanes]:
            self.met.remove(mask)
            lanes |= mask
        self.met.append(lanes)


def _whole(access: GenericAccess, threads: tuple[int, ...]) -> LaneAccess:
    """An access that each of some lanes makes as a whole."""
    start, flags, _ = access.bytes
    return LaneAccess(access, LaneAddresses(start, threads, 0), flags.bit_length())


@dataclass(slots=True)
class _WarpRecord:
    """What the lanes of a warp have written and loaded since all met last, by statement; bulk copies and bulk
    stores that one waits for by their first byte, too. `parted`: they have met while others took another way,
    so it is not known who has met whom.
    """

    written: dict[tuple[int, int | None], LaneAccess] = field(default_factory=dict)
    loaded: dict[tuple[int, int | None], LaneAccess] = field(default_factory=dict)
    written_lines: int = 0
    loaded_lines: int = 0
    parted: bool = False
    before: list[LaneAccess] = field(default_factory=list)  # what they had written when all met

    def clear(self) -> None:
        """All of them meet."""
        if self.written:
            self.before = list(self.written.values())
        self.written.clear()
        self.loaded.clear()
        self.written_lines = self.loaded_lines = 0

    def row(self, start: int) -> int:
        """How many bytes in a row they have written from an address on: since all met, or else before."""
        return _row(self.written.values(), start) or _row(self.before, start)

    def __iter__(self) -> Iterator[LaneAccess]:
        yield from self.written.values()
        yield from self.loaded.values()


def _row(written: Iterable[LaneAccess], start: int) -> int:
    return in_a_row(reduce(or_, (one.access.bytes.behind(start) for one in written), 0))


class WarpLanes:
    """What the lanes of each warp of a block have accessed since they met last."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.races: dict[tuple[int, int], GenericRace] = {}
        self.meetings = [0] * -(-threads // WARP)  # by warp: how often lanes have met, or told others
        self._warps: Sequence[_WarpRecord] = [_WarpRecord() for _ in range(-(-threads // WARP))]

    def order(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Threads meet, or tell others what they have done."""
        statement = step.statement
        if statement.does in _TELLS:
            for warp, some in by_warp(threads).items():
                self.meetings[warp] += 1
                for before in self._warps[warp]:
                    before.told |= lanes_of(some)
        elif statement.does in _ORDERS:
            masks: Numbers = None
            if statement.operation.action.barrier == "warp":
                masks = group.registers.value(statement.operands[0], statement.scope)
            for warp, some in by_warp(threads).items():
                self._meet(warp, some, masks)

    def _meet(self, warp: int, threads: tuple[int, ...], masks: Numbers) -> None:
        """Lanes of a warp meet: those of a mask, or all if it is not known."""
        lanes = self._warps[warp]
        self.meetings[warp] += 1
        known = {None} if masks is None else {number_at(masks, thread) for thread in threads}
        if None in known:
            lanes.clear()
            return
        there = _FULL >> max(WARP * (warp + 1) - self.threads, 0)
        asked = {mask & there for mask in known if mask is not None}
        lanes.parted |= any(mask & ~lanes_of(threads) for mask in asked)
        if lanes.parted or there in asked:
            lanes.clear()
            return
        for before in lanes:
            for mask in asked:
                before.meet(mask)

    def access(
        self, warp: int, access: GenericAccess, statement: DecodedStatement, addresses: LaneAddresses
    ) -> None:
        """A load, a store, an update, or the start of a copy by threads of a warp."""
        lanes, does, lines = self._warps[warp], access.does, access.bytes.lines
        together = is_together(statement.operation)
        written, loaded = lanes.written_lines & lines, lanes.loaded_lines & lines
        if (does == "copy" and not loaded) or (does == "load" and together and not written):
            return  # it meets nothing, and nothing later asks for it
        now = LaneAccess(access, None if together else addresses, statement.bytes or 0)
        if does == "load":
            for before in lanes.written.values() if written else ():
                self._hold(warp, before, now, together)
            if not together:
                lanes.loaded[access.statement, None] = now
                lanes.loaded_lines |= lines
            return
        rivals = list(lanes.loaded.values()) if loaded else []
        if does != "copy" and written:
            rivals += [one for one in lanes.written.values() if "update" in (one.access.does, does)]
        for before in rivals:
            self._hold(warp, before, now, False)
        if does != "copy":
            self._put(lanes, now)

    def untold(
        self, warp: int, threads: tuple[int, ...], statement: int, steps: WalkSteps
    ) -> Iterator[tuple[int, GenericAccess]]:
        """What lanes of a warp have accessed that have not met the threads of it that arrive at a barrier, at
        a statement: the arrival does not tell it. It comes with the first of these lanes.
        """
        lanes = self._warps[warp]
        if lanes.parted or len(threads) >= min(WARP, self.threads - warp * WARP):
            return
        arriving = lanes_of(threads)
        for before in lanes:
            access = before.access
            if access.doubtful or access.placed:
                continue
            known = arriving | before.told | sum(mask for mask in before.met if mask & arriving)
            rest = [(lane, low) for lane, low in before.places or () if not known >> lane & 1]
            if rest and not met_between(steps, access.statement, statement):
                start, one = min(low for _, low in rest), (1 << before.size) - 1
                flags = reduce(or_, (one << low - start for _, low in rest))
                yield rest[0][0], access._replace(bytes=accessed(start, flags), doubtful=True)

    def landed(self, warp: int, access: GenericAccess, size: int, addresses: LaneAddresses) -> None:
        """Threads of a warp have waited for what they copied."""
        self._put(self._warps[warp], LaneAccess(access, addresses, size))

    def fill(self, warp: int, access: GenericAccess, lane: int) -> None:
        """A lane of a warp starts a bulk copy into bytes that others may have loaded."""
        lanes, now = self._warps[warp], _whole(access, (lane,))
        for before in lanes.loaded.values() if lanes.loaded_lines & access.bytes.lines else ():
            self._hold(warp, before, now, False)

    def drain(
        self, warp: int, access: GenericAccess, size: int, addresses: LaneAddresses, boxed: bool
    ) -> LaneAccess:
        """Threads of a warp start bulk stores, of so many bytes each. `boxed`: at least; then one thread is
        taken to store all that stands in a row there and that the warp has written before.
        """
        lanes = self._warps[warp]
        if boxed and len(addresses.threads) == 1:
            size = max(lanes.row(access.bytes.start), size)
            access = access._replace(bytes=accessed(access.bytes.start, (1 << size) - 1))
        now = LaneAccess(access, addresses, size)
        for before in lanes.written.values() if lanes.written_lines & access.bytes.lines else ():
            self._hold(warp, before, now, False)
        return now

    def drained(self, warp: int, wait: int, stored: LaneAccess) -> None:
        """Threads of a warp have waited at a statement for their bulk stores."""
        lanes, access = self._warps[warp], stored.access._replace(statement=wait)
        lanes.loaded[wait, access.bytes.start] = replace(stored, access=access, met=[])
        lanes.loaded_lines |= access.bytes.lines

    def stored(self, warp: int, statement: int) -> LaneAccess | None:
        """What the lanes of a warp have stored last at a statement, if each knows what it stores itself."""
        found = self._warps[warp].written.get((statement, None))
        return None if found is None or found.addresses is None else found

    def awaited(self, warp: int, wait: int, copy: GenericAccess, threads: tuple[int, ...]) -> None:
        """Threads of a warp have waited at a statement for a bulk copy, each of them for all of it."""
        now = _whole(copy._replace(statement=wait), threads)
        now.meet(lanes_of(threads))
        self._put(self._warps[warp], now, copy.bytes.start)

    @staticmethod
    def _put(lanes: _WarpRecord, now: LaneAccess, start: int | None = None) -> None:
        """Remember what is written: of copies that one statement waits for, each by its `start`."""
        lanes.written[now.access.statement, start] = now
        lanes.written_lines |= now.access.bytes.lines

    def _hold(self, warp: int, before: LaneAccess, now: LaneAccess, together: bool) -> None:
        """Hold an access against one before it; `together`: it is a load of the whole warp."""
        first, second = before.access, now.access
        pair = first.statement, second.statement
        if pair in self.races or not first.meets(second):
            return
        doubtful, placed = first.doubtful or second.doubtful, first.placed or second.placed
        region = both_access(first, second)
        assert region is not None
        if together:
            if not before.met:
                self.races[pair] = GenericRace(*pair, (warp, warp), region, doubtful, placed, WITHIN)
            return
        if doubtful or placed or self._warps[warp].parted or not first.conflicts(second):
            return
        race = GenericRace(*pair, (warp, warp), region, False, False, LANES)
        places, others = before.places, now.places
        if places is None and others is not None and not (before.met or before.told):
            self.races[pair] = race  # no lane knows which bytes it has stored itself
        elif places is not None and others is not None:
            low = places[0][1]
            ends = (tuple((lane, at - low) for lane, at in one) for one in (places, others))
            own = first.does != "update" and second.does in READS
            met = tuple(sorted(before.met))
            found = _crossing(next(ends), before.size, next(ends), now.size, own, met, before.told)
            if found is not None:
                other, lane, begin, end = found
                region = ByteRegion("shared", begin + low, end + low)
                self.races[pair] = race._replace(region=region, lanes=(other, lane))


def met_between(steps: WalkSteps, first: int, second: int) -> bool:
    """Whether lanes of a warp execute an instruction together on some way from a statement to another one."""
    pair = first, second
    if pair not in steps.met_between:
        steps.met_between[pair] = _are_met_between(steps, first, second)
    return steps.met_between[pair]


def _are_met_between(steps: WalkSteps, first: int, second: int) -> bool:
    blocks = steps.flow.blocks
    start, end = steps.flow.block_of(first), steps.flow.block_of(second)
    if start == end and first < second:
        return _is_met(steps, first + 1, second)
    ends = {start, end}
    ahead = closure(blocks[start].successors, lambda one: () if one in ends else blocks[one].successors)
    behind = closure(blocks[end].predecessors, lambda one: () if one in ends else blocks[one].predecessors)
    return (
        _is_met(steps, first + 1, blocks[start].end)
        or _is_met(steps, blocks[end].start, second)
        or any(_is_met(steps, blocks[one].start, blocks[one].end) for one in (ahead & behind) - ends)
    )


def _is_met(steps: WalkSteps, start: int, end: int) -> bool:
    return any(is_together(steps.code.operation(index)) for index in range(start, end))
