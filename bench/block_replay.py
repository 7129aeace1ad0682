"""Prove that a kernel is right, with numbers: no schedule of its warps has a race, or waits for ever.

The traces of all warps (`warp_traces.py`) are replayed in one schedule, with vector clocks. Two accesses of
the same bytes that no clock orders are a race. Every arrival, and every wait, must be ordered behind all that
could let it fall into another phase. Then every schedule has the same phases, and the same order; so none has
a race, and all come to the end. Threads of one warp count as ordered. The blocks of a cluster, where the text
says how many there are, are replayed together; what one does to another must happen before that one may end.
Parameters have a few numbers each, in turn: with others the proof says nothing. Threads that write the same
bytes by one statement, in the same round, count as writing the same: compilers spread copies of a value so.
A thread that reads what its warp has written so need not wait for the others.
A named barrier orders nobody if threads only arrive at it: its phases may be any.

Whether a block may end while its bulk stores read its shared memory is left open, as the text leaves it open:
shared memory has the lifetime of its block (2.3), a completion mechanism "must be used to wait for the
completion" of bulk copies (9.7.9.25.2), and nothing says that a thread must have waited before it exits. So
these stores are counted.

A tensor map says how many bytes a tensor copy brings. So it is taken to bring what its phase expects, and
what each such phase expects is told: a kernel that expects something else of the same copies is not right, if
this one is.

With `lanes` every thread is replayed by itself, and the threads of a warp are ordered by barriers only: by
bar.warp.sync, and also by every instruction with .sync if `lanes` is "sync" (the text says that threads wait
there for each other, and not that what they have written is then visible).

This module shares no code with `check/`, because it judges the checker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import prod
from typing import NamedTuple

from kernel_statements import Kernel, NoTrace
from shared_footprints import GRANULE
from warp_traces import BLOCK, LONGEST, Lanes, TooLong, WarpEvent, outcomes, traces

__all__ = ["SIZES", "Flaw", "Proof", "is_right", "prove", "reached"]

SIZES = (448, 7, 3)
_WARPGROUP = 4  # warps
_LONGER = 25_000  # statements of a warp that may count, where no trace ends sooner
_LONG = 16  # accesses of a granule
_WIDEST = 1 << 15  # bytes that a copy of unknown size brings, at most
_ASYNC = frozenset(("bulk", "drain", "mma"))  # accesses through the async proxy
_READS = frozenset(("read", "drain", "mma"))


class Flaw(Exception):
    """Why a kernel is not proven right."""


class Proof(NamedTuple):
    """What a replay tells of a right kernel: how many bulk stores no thread has waited for, and how many
    bytes each phase with tensor copies expects, by the replay's number of parameters, mbarrier and phase.
    """

    unwaited: int = 0
    boxes: frozenset[tuple[int, object, int, int]] = frozenset()


@dataclass
class _Clock:
    """What a warp knows: of each warp, how many of its events; which operations are complete; and of each
    barrier, how many phases. `begun` counts the events of each warp that come first in every schedule,
    whether or not what they did is known: a copy ends behind all that led to it.
    """

    seen: list[int]
    complete: int = 0
    phases: dict[object, int] = field(default_factory=dict)
    begun: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begun = self.begun or self.seen[:]

    def copy(self) -> _Clock:
        return _Clock(self.seen[:], self.complete, dict(self.phases), self.begun[:])

    def join(self, other: _Clock) -> None:
        self.seen = [max(pair) for pair in zip(self.seen, other.seen, strict=True)]
        self.begun = [max(pair) for pair in zip(self.begun, other.begun, strict=True)]
        self.complete |= other.complete
        for barrier, phases in other.phases.items():
            if phases > self.phases.get(barrier, 0):
                self.phases[barrier] = phases


@dataclass
class _Phase:
    """A phase under way: arrivals and bytes that it lacks, and what its end makes known."""

    lacks: int
    clock: _Clock
    expected: int = 0
    landed: int = 0
    open: bool = False  # a copy of unknown size is on its way


@dataclass
class _Barrier:
    """An mbarrier, or a named barrier."""

    name: object
    count: int
    phase: _Phase
    ended: list[_Clock] = field(default_factory=list)
    inits: tuple[int, int] | None = None  # warp and time
    # Waits: the warp, its time, and the phase behind which it goes on.
    waits: list[tuple[int, int, int]] = field(default_factory=list)


class _Access(NamedTuple):
    """What some lanes of a warp do to bytes, at one statement."""

    kind: str
    warp: int
    time: int
    bit: int  # of an operation that goes on by itself; 0: it is complete at once
    statement: int
    round: int  # how often the warp had executed the statement

    def is_again(self, other: _Access) -> bool:
        """Whether both are by one statement in one round, of several warps."""
        return self.statement == other.statement and self.round == other.round


class _Replay:
    """`together`: a wgmma is one operation of its warpgroup. So what waits for it knows that all four warps
    have issued it, and that it is complete for all of them.
    """

    def __init__(self, kernel: Kernel, found: Sequence[Sequence[WarpEvent]], together: bool) -> None:
        self.threads = kernel.threads
        self.blocks = prod(kernel.cluster)
        self.width = len(found) // self.blocks  # warps of a block
        self.together = together
        self.products: dict[tuple[int, int, int], int] = {}  # by warpgroup, statement and round
        self.issued: dict[int, dict[int, _Clock]] = {}  # by product: by warp, what it knew when it issued it
        self.published: dict[int, _Clock] = {}  # by warp: at its last memory fence
        # What is done to another block: that block, the warp and its time, and the bit of a copy.
        self.remote: list[tuple[int, int, int, int]] = []
        self.traces = found
        self.clocks = [_Clock([0] * len(found)) for _ in found]
        self.barriers: dict[object, _Barrier] = {}
        # By granule: accesses, each with the bytes of the granule that it touches, as a mask.
        self.units: dict[int, list[tuple[_Access, int]]] = {}
        self.long: dict[int, int] = {}  # how many of them are looked through for those that are over
        self.ended: set[int] = set()  # warps
        self.fences: list[list[_Clock]] = [[] for _ in found]
        self.bits = (1 << number for number in count())
        self.under_way: dict[str, list[list[int]]] = {
            kind: [[] for _ in found] for kind in ("mma", "copy", "drain")
        }
        self.groups: dict[str, list[list[list[int]]]] = {
            kind: [[] for _ in found] for kind in ("mma", "copy", "drain")
        }
        self.left = [0] * self.blocks  # threads that have come to the end
        self.heeded = {  # named barriers for which some thread waits
            ("named", warp // self.width, event.lanes[0][0])
            for warp, trace in enumerate(found)
            for event in trace
            if event.kind == "meet" and event.lanes[0][2]
        }
        self.met: dict[tuple[object, int], int] = {}  # by barrier and warp: the phase
        self.rounds: Counter[tuple[int, int]] = Counter()  # by warp and statement
        self.boxes: dict[tuple[object, int], int] = {}  # bytes that are expected, by mbarrier and phase
        self.lanes = 1 if len(found) == kernel.threads * self.blocks else 32  # threads of a trace

    def run(self) -> int:
        """Replay; raises Flaw at a race, at a wait for ever, or where another schedule may differ. Returns
        how many bulk stores no thread has waited for.
        """
        places = [0] * len(self.traces)
        ended = self.ended
        while len(ended) < len(self.traces):
            moved = False
            for warp, trace in enumerate(self.traces):
                while places[warp] < len(trace) and self._step(warp, trace[places[warp]]):
                    places[warp] += 1
                    moved = True
                if places[warp] == len(trace) and warp not in ended:
                    ended.add(warp)
                    left = self.threads - self.lanes * (warp % self.width)
                    self.left[warp // self.width] += min(self.lanes, left)
                    moved = True
            if moved or self._settle():
                continue
            vain = [
                warp
                for warp in range(len(places))
                if warp not in ended and self.traces[warp][places[warp]].once
            ]
            if not vain:
                raise Flaw("warps wait for ever")
            for warp in vain:  # these tries fail
                places[warp] += 1
        self._check_waits()
        self._check_ends()
        committed = (group for groups in self.groups["drain"] for group in groups)
        return sum(map(len, (*committed, *self.under_way["drain"])))

    def _settle(self) -> bool:
        """Let copies of unknown size land, and let those who have left count at barriers for all."""
        for barrier in self.barriers.values():
            phase = barrier.phase
            if phase.open and not phase.lacks:
                self._end(barrier)
                return True
            if (
                isinstance(barrier.name, tuple)
                and barrier.name[0] != "warp"
                and 0 < phase.lacks < barrier.count
            ):
                kind, block = barrier.name[:2]
                if phase.lacks <= (self.left[block] if kind == "named" else sum(self.left)):
                    self._end(barrier)
                    return True
        return False

    def _check_ends(self) -> None:
        """What is done to another block must be known to some warp there before it ends."""
        for block, warp, time, bit in self.remote:
            ends = self.clocks[block * self.width : (block + 1) * self.width]
            if all(clock.seen[warp] < time and not clock.complete & bit for clock in ends):
                raise Flaw("a block may end before another one has done with it")

    def _visit(self, warp: int, clock: _Clock, place: int, bit: int = 0) -> None:
        """Remember what a warp does to another block."""
        if place // BLOCK != warp // self.width:
            self.remote.append((place // BLOCK, warp, clock.seen[warp] + 1, bit))

    def _check_waits(self) -> None:
        """The phase behind a wait's own cannot end before the wait is over."""
        for barrier in self.barriers.values():
            for warp, time, target in barrier.waits:
                behind = target + 1
                if behind < len(barrier.ended) and barrier.ended[behind].begun[warp] < time:
                    raise Flaw("a phase may pass before a wait for it")

    # One event

    def _step(self, warp: int, event: WarpEvent) -> bool:
        """Do an event; False if the warp must wait before it."""
        clock = self.clocks[warp]
        blocked = getattr(self, "_" + event.kind.replace("-", "_"))(warp, clock, event)
        if blocked is False:
            return False
        clock.seen[warp] += 1
        clock.begun[warp] = clock.seen[warp]
        self.rounds[warp, event.statement] += 1
        return True

    def _init(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        for address, number in event.lanes:
            if number <= 0:
                raise Flaw("an mbarrier for nobody")
            barrier = _Barrier(address, number, _Phase(number, _Clock([0] * len(self.traces))))
            barrier.inits = warp, clock.seen[warp] + 1
            self.barriers[address] = barrier

    def _mbarrier(self, warp: int, clock: _Clock, address: int) -> _Barrier | None:
        barrier = self.barriers.get(address)
        if barrier is None:
            return None
        assert barrier.inits is not None
        init, time = barrier.inits
        if init != warp and clock.seen[init] < time:
            raise Flaw("an mbarrier is used before its init is known")
        return barrier

    def _arrive(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        if any(self._mbarrier(warp, clock, words[0]) is None for words in event.lanes):
            return False
        for address, number, expected in event.lanes:
            barrier = self.barriers[address]
            self._visit(warp, clock, address)
            if expected % GRANULE:
                raise Flaw("bytes that no copy brings")
            self._check_phase(barrier, clock)
            barrier.phase.expected += expected
            self._count(barrier, clock, warp, number)
        return None

    def _expect(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        return self._arrive(warp, clock, event)

    def _check_phase(self, barrier: _Barrier, clock: _Clock) -> None:
        """In every schedule, the phase under way is this one: the last one is known to have ended."""
        if clock.phases.get(barrier.name, 0) < len(barrier.ended):
            raise Flaw("an arrival may fall into an earlier phase")

    def _publish(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self.published[warp] = clock.copy()

    def _count(self, barrier: _Barrier, clock: _Clock, warp: int, number: int, relaxed: bool = False) -> None:
        if number > barrier.phase.lacks:
            raise Flaw("more arrive than are counted")
        told = clock.copy()
        if relaxed:  # it makes known what the last fence did, and that it has happened
            fenced = self.published.get(warp, _Clock([0] * len(self.traces)))
            told = replace(fenced.copy(), phases=told.phases, begun=told.begun)
        else:
            told.seen[warp] += 1
        told.begun[warp] = clock.seen[warp] + 1
        barrier.phase.clock.join(told)
        barrier.phase.lacks -= number
        self._maybe(barrier)

    def _maybe(self, barrier: _Barrier) -> None:
        phase = barrier.phase
        if not phase.lacks and phase.expected == phase.landed and not phase.open:
            self._end(barrier)

    def _end(self, barrier: _Barrier) -> None:
        clock = barrier.phase.clock
        if barrier.phase.open:
            self.boxes[barrier.name, len(barrier.ended)] = barrier.phase.expected
        barrier.ended.append(clock)
        clock.phases[barrier.name] = len(barrier.ended)
        barrier.phase = _Phase(barrier.count, _Clock([0] * len(self.traces)))

    def _await(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        for words in event.lanes:
            barrier = self._mbarrier(warp, clock, words[0])
            if barrier is None:
                return False
            known = clock.phases.get(barrier.name, 0)
            target = known if known % 2 == words[1] else known - 1
            if len(barrier.ended) <= target:
                return False
        for address, parity in event.lanes:
            barrier = self.barriers[address]
            known = clock.phases.get(address, 0)
            target = known if known % 2 == parity else known - 1
            barrier.waits.append((warp, clock.seen[warp] + 1, target))
            if target >= 0:
                clock.join(barrier.ended[target])
        return None

    def _meet(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        number, threads, waits = event.lanes[0]
        name = "named", warp // self.width, number
        if any(words != event.lanes[0] for words in event.lanes):
            raise Flaw("lanes of a warp meet at different barriers")
        return self._meeting(warp, clock, event, name, threads or self.threads, waits, True)

    def _gather(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        """Threads of one warp meet: those of a mask; each is replayed by itself."""
        first, mask = event.lanes[0]
        name = "warp", warp // self.width, first, mask
        return self._meeting(warp, clock, event, name, mask.bit_count(), True, True)

    def _cluster(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        arrives, relaxed = event.lanes[0]
        threads = self.threads * self.blocks
        return self._meeting(warp, clock, event, ("cluster", 0), threads, not arrives, arrives, relaxed)

    def _meeting(
        self,
        warp: int,
        clock: _Clock,
        event: WarpEvent,
        name: object,
        count: int,
        waits: bool,
        arrives: bool,
        relaxed: bool = False,
    ) -> bool | None:
        barrier = self.barriers.get(name)
        if barrier is None or (barrier.count != count and barrier.phase.lacks == barrier.count):
            before = barrier.ended if barrier is not None else []
            barrier = _Barrier(name, count, _Phase(count, _Clock([0] * len(self.traces))), before)
            self.barriers[name] = barrier
        if barrier.count != count:
            raise Flaw("two counts for one phase")
        phase = self.met.get((name, warp), -1)
        if arrives and (phase < 0 or not waits or name == ("cluster", 0)):
            if event.kind != "meet" or name in self.heeded:
                self._check_phase(barrier, clock)
            phase = self.met[name, warp] = len(barrier.ended)
            self._count(barrier, clock, warp, len(event.lanes), relaxed)
        if waits:
            if phase < 0:
                raise Flaw("a wait at a barrier without an arrival")
            if len(barrier.ended) <= phase:
                return False
            clock.join(barrier.ended[phase])
            self.met[name, warp] = -1
        elif name != ("cluster", 0):
            self.met[name, warp] = -1
        return None

    # Groups of operations that go on by themselves

    def _commit_of(self, kind: str, warp: int) -> None:
        self.groups[kind][warp].append(self.under_way[kind][warp])
        self.under_way[kind][warp] = []

    def _wait_of(self, kind: str, warp: int, clock: _Clock, left: int) -> None:
        groups = self.groups[kind][warp]
        if left < 0:
            self._commit_of(kind, warp)
            left = 0
        while len(groups) > left:
            for bit in groups.pop(0):
                clock.complete |= bit

    def _commit(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._commit_of("mma", warp)

    def _wait(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        left, groups = event.lanes[0][0], self.groups["mma"][warp]
        issued = [self.issued[bit] for group in groups[: max(len(groups) - left, 0)] for bit in group]
        if self.together:
            if any(len(warps) < _WARPGROUP for warps in issued):
                return False
            for told in (told for warps in issued for told in warps.values()):
                clock.join(told)
        self._wait_of("mma", warp, clock, left)
        return None

    def _copy_commit(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._commit_of("copy", warp)

    def _copy_wait(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._wait_of("copy", warp, clock, event.lanes[0][0])

    def _bulk_commit(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._commit_of("drain", warp)

    def _bulk_wait(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._wait_of("drain", warp, clock, event.lanes[0][0])

    def _copy_arrive(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        if any(self._mbarrier(warp, clock, words[0]) is None for words in event.lanes):
            return False
        done = 0
        for bits in (*self.groups["copy"][warp], self.under_way["copy"][warp]):
            for bit in bits:
                done |= bit
        for address, quiet in event.lanes:
            barrier = self.barriers[address]
            self._check_phase(barrier, clock)
            if not quiet:
                raise Flaw("an arrival of copies that is counted twice")
            told = clock.copy()
            told.complete |= done
            self._count(barrier, told, warp, 1)
        return None

    # Accesses

    def _proxy(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        fenced = clock.copy()
        fenced.seen[warp] += 1
        self.fences[warp].append(fenced)

    def _read(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._access("read", warp, clock, event, event.lanes)

    def _write(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        self._access("write", warp, clock, event, event.lanes)

    def _update(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        raise Flaw("an atomic operation")

    def _copy(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        for low, size in event.lanes:
            bit = next(self.bits)
            self.under_way["copy"][warp].append(bit)
            self._access("copy", warp, clock, event, [(low, low + size)], bit)

    def _bulk(self, warp: int, clock: _Clock, event: WarpEvent) -> bool | None:
        if any(self._mbarrier(warp, clock, words[2]) is None for words in event.lanes):
            return False
        for low, size, address, source in event.lanes:
            barrier = self.barriers[address]
            self._check_phase(barrier, clock)
            bit = next(self.bits)
            self._visit(warp, clock, low, bit)
            told = _Clock([0] * len(self.traces), bit, dict(clock.phases), clock.begun[:])
            barrier.phase.clock.join(told)
            high = low + (size if size is not None else self._room(low))
            self._access("bulk", warp, clock, event, [(low, high)], bit)
            if source is not None:
                self._access("drain", warp, clock, event, [(source, source + high - low)], bit)
            if size is None:
                barrier.phase.open = True
            else:
                barrier.phase.landed += size
                self._maybe(barrier)
        return None

    def _room(self, low: int) -> int:
        """What a copy of unknown size brings: up to where another begins."""
        starts = self._starts
        beyond = next((start for start in starts if start > low), low + _WIDEST)
        return min(beyond - low, _WIDEST)

    @property
    def _starts(self) -> list[int]:
        if not hasattr(self, "_known_starts"):
            found = {
                words[0]
                for trace in self.traces
                for event in trace
                if event.kind in ("bulk", "drain")
                for words in event.lanes
            }
            self._known_starts = sorted(found)
        return self._known_starts

    def _drain(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        for low, size in event.lanes:
            bit = next(self.bits)
            self.under_way["drain"][warp].append(bit)
            high = low + (size if size is not None else self._room(low))
            self._access("drain", warp, clock, event, [(low, high)], bit)

    def _mma(self, warp: int, clock: _Clock, event: WarpEvent) -> None:
        (granules,) = event.lanes[0]
        key = warp // _WARPGROUP, event.statement, self.rounds[warp, event.statement]
        bit = self.products[key] if self.together and key in self.products else next(self.bits)
        self.products[key] = bit
        told = self.issued.setdefault(bit, {})[warp] = clock.copy()
        told.seen[warp] += 1
        self.under_way["mma"][warp].append(bit)
        places = [(granule * GRANULE, (granule + 1) * GRANULE) for granule in granules]
        self._access("mma", warp, clock, event, places, bit)

    def _access(
        self,
        kind: str,
        warp: int,
        clock: _Clock,
        event: WarpEvent,
        places: Iterable[tuple[int, ...]],
        bit: int = 0,
    ) -> None:
        """Bytes from each place's first to before its last are touched."""
        rounds = self.rounds[warp, event.statement]
        access = _Access(kind, warp, clock.seen[warp] + 1, bit, event.statement, rounds)
        flaws: dict[_Access, str] = {}
        known: _Clock | None = None
        for unit, mask in _masks(places).items():
            before = self.units.setdefault(unit, [])
            if len(before) > self.long.get(unit, _LONG):
                known = known or self._known_to_all()
                before = [(other, touched) for other, touched in before if not self._is_over(other, known)]
                self.long[unit] = len(before) + _LONG
            kept = []
            for other, touched in before:
                if touched & mask:
                    if other not in flaws:
                        flaws[other] = self._flaw(other, access, clock)
                    if flaws[other] and not self._is_same(other, access, touched & mask, before):
                        raise Flaw(flaws[other])
                again = other.statement == event.statement and other.warp == warp and other.kind == kind
                done = not other.bit or clock.complete & other.bit
                if not (again and done and not touched & ~mask):
                    kept.append((other, touched))
            kept.append((access, mask))
            self.units[unit] = kept

    def _known_to_all(self) -> _Clock:
        """What all warps know that have not come to their end."""
        live = [self.clocks[warp] for warp in range(len(self.clocks)) if warp not in self.ended]
        known = _Clock([min(times) for times in zip(*(clock.seen for clock in live), strict=True)], -1)
        for clock in live:
            known.complete &= clock.complete
        return known

    def _is_over(self, access: _Access, known: _Clock) -> bool:
        """Whether whatever comes is ordered behind an access, fences of its own warp included."""
        if not known.complete & access.bit if access.bit else known.seen[access.warp] < access.time:
            return False
        return access.kind not in ("write", "copy") or self._is_fenced(access, access.warp, known)

    @staticmethod
    def _is_same(first: _Access, second: _Access, both: int, others: Sequence[tuple[_Access, int]]) -> bool:
        """Whether two accesses write the same, or one reads what its own warp has written there, too. `both`
        are the bytes that both touch.
        """
        if first.is_again(second):
            return True
        kinds = {first.kind: first, second.kind: second}
        if kinds.keys() != {"read", "write"} or first.warp == second.warp:
            return False
        read, write = kinds["read"], kinds["write"]
        return any(
            own.warp == read.warp and own.is_again(write) and own.time < read.time and not both & ~touched
            for own, touched in others
        )

    def _flaw(self, first: _Access, second: _Access, clock: _Clock) -> str:
        """Why the second access must not come behind the first; empty if it may."""
        if first.kind in _READS and second.kind in _READS:
            return ""
        if first.bit:
            if not clock.complete & first.bit:
                return f"statement {second.statement} does not wait for {first.statement}"
        elif first.warp != second.warp and clock.seen[first.warp] < first.time:
            return f"statement {second.statement} is not ordered behind {first.statement}"
        generic = first.kind in ("write", "copy")
        if generic and second.kind in _ASYNC and not self._is_fenced(first, second.warp, clock):
            return f"no proxy fence between {first.statement} and {second.statement}"
        return ""

    def _is_fenced(self, first: _Access, reader: int, clock: _Clock) -> bool:
        """Whether the writer or the reader has a proxy fence behind an access, which a clock knows."""
        for warp in {first.warp, reader}:
            for fence in self.fences[warp]:
                if fence.seen[warp] > clock.seen[warp]:
                    break
                if fence.complete & first.bit if first.bit else fence.seen[first.warp] >= first.time:
                    return True
        return False


def _masks(places: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """By granule, which of its bytes some places hold."""
    masks: dict[int, int] = {}
    for low, high in places:
        for unit in range(low // GRANULE, (high - 1) // GRANULE + 1):
            start = unit * GRANULE
            first, last = max(low - start, 0), min(high - start, GRANULE)
            masks[unit] = masks.get(unit, 0) | (1 << last) - (1 << first)
    return masks


def prove(kernel: Kernel, sizes: Sequence[int] = SIZES, together: bool = False, lanes: Lanes = "") -> Proof:
    """Raises Flaw, or NoTrace, where a kernel is not proven right with each of some sizes. Returns how many
    bulk stores no thread has waited for, at most, and what phases expect. `together` is as in a replay.
    """
    left = 0
    boxes: set[tuple[int, object, int, int]] = set()
    followed: list[list[list[WarpEvent]]] = []
    for longest in (LONGEST, _LONGER):
        for size, tries in product(sorted(sizes), outcomes(kernel)):
            try:
                found = traces(kernel, size, lanes, longest, tries)
            except TooLong:
                continue
            if found not in followed:
                followed.append(found)
                replay = _Replay(kernel, found, together)
                left = max(left, replay.run())
                boxes |= {(size, *phase, expected) for phase, expected in replay.boxes.items()}
        if followed:
            break
    else:
        raise NoTrace("no trace ends")
    return Proof(left, frozenset(boxes))


def reached(kernel: Kernel, size: int) -> frozenset[int]:
    """The statements that count and that some warp comes to."""
    for longest in (LONGEST, _LONGER):
        try:
            return frozenset(e.statement for trace in traces(kernel, size, longest=longest) for e in trace)
        except TooLong:
            continue
        except NoTrace:
            break
    return frozenset()


def is_right(
    kernel: Kernel, sizes: Sequence[int] = SIZES, together: bool = False, lanes: Lanes = ""
) -> tuple[str, Proof]:
    """Why a kernel is not proven right, empty if it is; and what the replay tells of it."""
    try:
        return "", prove(kernel, sizes, together, lanes)
    except (Flaw, NoTrace) as error:
        return str(error) or type(error).__name__, Proof()
