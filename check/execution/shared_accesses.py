"""Which pairs of accesses of shared memory by warps does nothing order?

An access of a warp has a number, that of the warp's acts. It happens before another warp's access if that
warp has seen the number. A product reads until its group was waited for; a bulk copy writes until its
mbarrier's phase was waited for; cp.async writes until its own warp has waited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..memory.byte_regions import FAR, ByteRegion
from ..memory.matrices import may_take
from .barriers import Landing
from .byte_index import ByteIndex
from .clocks import Clock
from .timed_accesses import PhaseRace, TimedRead, TimedWrite

__all__ = ["SharedAccesses"]

_FENCES = 64  # of a warp that are remembered
# By warp: the last of its acts that some warps have all seen, and had at their proxy fences (None: no fence).
_Known = tuple[Sequence[int], Sequence[int] | None]


@dataclass(slots=True)
class _Fence:
    """A proxy fence of a warp: the number of the act, and what its warp had seen, also of phases' ends."""

    act: int
    seen: list[int]
    complete: dict[int, int]


@dataclass(eq=False, slots=True)
class _LastRead:
    """Some bytes that some warps read by a product, and the last time that they did."""

    last: TimedRead


@dataclass(eq=False, slots=True)
class _LastWrite:
    """Some bytes that a statement writes (by a store: of one warp), and the last time that it did."""

    last: TimedWrite

    def is_again(self, write: TimedWrite) -> bool:
        """Whether a write is of the same bytes by the same statement."""
        last = self.last
        return (
            last.statement == write.statement
            and last.region == write.region
            and (write.kind != "store" or last.warp == write.warp)
        )


class SharedAccesses:
    """What is read and written, and the races among it. `clocks`: those of the warps. `repeated`: bulk copies
    into the same bytes of which one phase tells, where a parameter says that a loop starts both.
    """

    def __init__(self, clocks: Sequence[Clock]) -> None:
        self.clocks = clocks
        self._reads: dict[tuple[int, ByteRegion, int], _LastRead] = {}  # by statement, bytes, and first warp
        self.races: dict[tuple[str, int, int], PhaseRace] = {}
        self.repeated: dict[tuple[int, int], PhaseRace] = {}
        # By mbarrier and phase: what products read of what its copies fill.
        self.filled: dict[tuple[int, int], dict[ByteRegion, TimedRead]] = {}
        self.ordered: set[tuple[int, int]] = set()  # pairs of statements on the same bytes
        self._unfenced: dict[int, list[TimedWrite]] = {}  # by warp: its stores with no fence since
        self._fences: dict[int, list[_Fence]] = {}
        self._at: dict[int, list[_LastWrite]] = {}  # writes by their first byte
        self._written: ByteIndex[_LastWrite] = ByteIndex()
        self._read: ByteIndex[_LastRead] = ByteIndex()
        self._count = 0  # of writes
        self._is_filled = False  # by some bulk copy

    def fence(self, warp: int, lanes: int) -> None:
        """A proxy fence by lanes of a warp."""
        clock = self.clocks[warp]
        clock.seen[warp] += 1
        left = []
        for write in self._unfenced.get(warp, ()):
            write.lanes &= ~lanes
            if write.lanes:
                left.append(write)
            else:
                write.fenced = clock.seen[warp]
        self._unfenced[warp] = left
        known = self._fences.setdefault(warp, [])
        known.append(_Fence(clock.seen[warp], clock.seen[:], dict(clock.complete)))
        del known[:-_FENCES]

    def read(self, read: TimedRead) -> None:
        """A product reads a matrix."""
        if read.region.high > FAR or read.region.base is None:
            return
        met = [one.last for one in self._written.meeting(read.region.low, read.region.high)]
        if met:
            self._fills(met, read)
            self._hold(met, read)
        key = read.statement, read.region, min(read.began)
        known = self._reads.get(key)
        if known is None:
            known = self._reads[key] = _LastRead(read)
            self._read.put(known, read.region)
        known.last = read

    def _hold(self, met: Sequence[TimedWrite], read: TimedRead) -> None:
        """Hold a product against the writes of its bytes."""
        clocks = {warp: self.clocks[warp] for warp in read.began}
        copied = max([write.order for write in met if write.kind == "bulk"], default=0)
        readers = sum([1 << warp for warp in clocks])
        known: _Known | None = None
        for write in met:
            if write.kind != "bulk" and write.order <= copied:
                continue  # a copy that came later brought other bytes
            if write.ordered & readers == readers:
                self.ordered.add((write.statement, read.statement))
                continue
            known = known or self._known(clocks)
            if _is_behind(write, known, clocks):
                self.ordered.add((write.statement, read.statement))
                write.ordered |= readers
            elif self._after_write(write, read, clocks):
                write.ordered |= readers

    def _known(self, clocks: Mapping[int, Clock]) -> _Known:
        """What all warps of a product have seen, and had seen at their last proxy fences."""
        seen = [clock.seen for clock in clocks.values()]
        fences = [self._fences.get(warp) for warp in clocks]
        fenced = [known[-1].seen for known in fences if known]
        return _least(seen), _least(fenced) if len(fenced) == len(seen) else None

    def _fills(self, met: list[TimedWrite], read: TimedRead) -> None:
        """Remember which phase's copies fill what a product reads, if those of one phase fill all of it; and
        the rows of what they fill.
        """
        landings = [write.landing for write in met]
        for one in landings:
            if one is not None and not read.doubtful:
                one.row = min(one.row or read.row, read.row)
        first = landings[0] if landings else None
        if first is None or first.size is not None or read.doubtful:
            return
        phase = first.barrier, first.phase
        if all(one is not None and (one.barrier, one.phase) == phase for one in landings):
            self.filled.setdefault(phase, {})[read.region] = read

    def _after_write(self, write: TimedWrite, read: TimedRead, clocks: Mapping[int, Clock]) -> bool:
        """Whether a write is ordered before a product; if not, that is a race."""
        own = write.warp if write.kind == "store" else -1
        others = [clock for warp, clock in clocks.items() if warp != own]
        lacking = len(others) - sum(map(write.complete, others))
        unfenced = write.kind != "bulk" and not lacking and not self._fenced(write, clocks)
        if (lacking or unfenced) and not _share(read, write):
            return False
        if lacking:
            what = "unseen" if write.kind == "store" else "early-read"
            partly = lacking < len(others)
            self._found(what, write, read.statement, read.region, read.doubtful, partly)
        elif unfenced:
            self._found("unfenced", write, read.statement, read.region, read.doubtful)
        else:
            self.ordered.add((write.statement, read.statement))
            return True
        return False

    def _fenced(self, write: TimedWrite, clocks: Mapping[int, Clock]) -> bool:
        """Whether a proxy fence stands between a write and a product, by whichever thread. A fence orders a
        copy that is complete: its mbarrier tells it, or its warp has waited.
        """
        if write.landing is not None:
            return self._copy_fenced(write.landing, clocks)
        own = [(write.warp, write.fenced)]
        if _reach(own, clocks):
            return True
        made = write.act if write.kind == "store" else write.end
        behind = [
            (warp, fence.act)
            for warp, fences in self._fences.items()
            if warp != write.warp
            for fence in fences
            if fence.seen[write.warp] >= made
        ]
        return _reach([*own, *behind], clocks)

    def _copy_fenced(self, landing: Landing, clocks: Mapping[int, Clock]) -> bool:
        """Whether a thread that knew a cp.async to be complete, by its mbarrier, executed a proxy fence."""
        fences = [
            (warp, fence.act)
            for warp, fences in self._fences.items()
            for fence in fences
            if fence.complete.get(landing.barrier, 0) > landing.phase
        ]
        return _reach(fences, clocks)

    def write(self, write: TimedWrite) -> None:
        """A write begins."""
        clock = self.clocks[write.warp]
        for one in self._read.meeting(write.region.low, write.region.high):
            read = one.last
            if not self._before_write(read, write, clock):
                del self._reads[read.statement, read.region, min(read.began)]
                self._read.drop(one, read.region)
        self._is_filled |= write.kind == "bulk"
        if self._is_filled:
            self._hold_copies(write, clock)
        self._count += 1
        write.order = self._count
        if write.kind == "store":
            self._unfenced.setdefault(write.warp, []).append(write)
        self._replace(write)

    def _hold_copies(self, write: TimedWrite, clock: Clock) -> None:
        """Hold a write against the bulk copies before it, and a bulk copy against stores, too."""
        for one in self._written.meeting(write.region.low, write.region.high):
            other = one.last
            if other.complete(clock):
                continue
            assumed = write.doubtful or write.repeats > other.repeats
            if assumed and _are_of_one_phase(other, write):
                pair = other.statement, write.statement
                self.repeated[pair] = PhaseRace("rewritten", *pair, write.region, write.region, reads="none")
                continue
            if other.kind == "bulk" and (write.kind != "bulk" or _surely_meet(other, write)):
                self._found("rewritten", other, write.statement, write.region, write.doubtful, reads="none")
            elif other.kind == "store" and write.kind == "bulk":
                self._found("unseen", other, write.statement, write.region, write.doubtful, reads="none")

    def _before_write(self, read: TimedRead, write: TimedWrite, clock: Clock) -> bool:
        """Hold a write against a product before it; whether other warps may execute the same store, which are
        to be held against that, too.
        """
        if read.written not in (-1, write.statement):
            return False
        unended = read.unended(clock)
        alone = not unended and write.known is not None
        if alone and write.known is not None:
            unended = read.unended(write.known)
        if write.elsewhere and not unended and len(read.blind(clock)) == len(read.began):
            self._found("elsewhere", write, read.statement, read.region, read.doubtful, False, "first")
            return False
        partly = len(unended) < len(read.began)
        if unended and not _share(read, write):
            return True
        if unended:
            begun = any(clock.seen[warp] >= act for warp, act in read.began.items())
            what = "overwritten" if begun or write.kind != "store" else "unseen"
            doubtful = read.doubtful or alone
            self._found(what, write, read.statement, read.region, doubtful, partly, "first", alone)
        else:
            self.ordered.add((read.statement, write.statement))
        read.written = write.statement
        return partly and write.kind != "bulk"

    def _replace(self, write: TimedWrite) -> None:
        """Remember a write in the place of those whose bytes it overwrites."""
        at = write.region.low
        before = self._at.get(at, ())
        if len(before) == 1 and before[0].is_again(write):
            before[0].last = write
            return
        clock = self.clocks[write.warp]
        kept = [
            other
            for other in before
            if other.last.region.high > write.region.high
            or other.last.statement == write.statement
            or _may_come(other.last, clock)
        ]
        if len(kept) < len(before):
            for other in before:
                if other not in kept:
                    self._written.drop(other, other.last.region)
        for other in kept:
            if other.is_again(write):
                other.last = write
                break
        else:
            kept.append(_LastWrite(write))
            self._written.put(kept[-1], write.region)
        self._at[at] = kept

    def _found(
        self,
        what: str,
        write: TimedWrite,
        other: int,
        region: ByteRegion,
        doubtful: bool,
        partly: bool = False,
        reads: Literal["first", "second", "none"] = "second",
        alone: bool = False,
    ) -> None:
        first, second = (other, write.statement) if reads == "first" else (write.statement, other)
        doubtful = doubtful or write.doubtful
        if self._is_surer((what, first, second), doubtful, partly):
            landing = None if write.landing is None else (write.landing.barrier, write.warp)
            self._keep(
                PhaseRace(what, first, second, write.region, region, doubtful, partly, reads, landing, alone)
            )

    def _is_surer(self, key: tuple[str, int, int], doubtful: bool, partly: bool) -> bool:
        """Whether a race is surer than the one that is known between the same statements."""
        known = self.races.get(key)
        return known is None or (known.doubtful, known.partly) > (doubtful, partly)

    def _keep(self, race: PhaseRace) -> None:
        """Remember a race: of two between the same statements, the surer one."""
        key = race.what, race.first, race.second
        if self._is_surer(key, race.doubtful, race.partly):
            self.races[key] = race

    def ended(self, reads: Iterable[TimedRead], warp: int) -> None:
        """A warp has waited for products."""
        act = self.clocks[warp].seen[warp]
        for read in reads:
            read.ended[warp] = act

    def landed(self, writes: Iterable[TimedWrite], warp: int) -> None:
        """A warp has waited for its copies."""
        clock = self.clocks[warp]
        for write in writes:
            write.end = clock.seen[warp]
            self._unfenced.setdefault(warp, []).append(write)

    def __iter__(self) -> Iterator[PhaseRace]:
        return iter(self.races.values())


def _share(read: TimedRead, write: TimedWrite) -> bool:
    """Whether some lane may write what a product reads: its matrices have gaps, where those of others lie."""
    if read.matrices is None or write.stores is None:
        return True
    granules = write.stores.granules
    return granules is None or may_take(*read.matrices, granules)


def _may_come(write: TimedWrite, clock: Clock) -> bool:
    """Whether a store may come after one by a warp with a clock: nothing orders it before that."""
    return write.kind == "store" and not write.complete(clock)


def _least(seen: Sequence[Sequence[int]]) -> Sequence[int]:
    """By warp: the last of its acts that some warps have all seen."""
    return seen[0] if len(seen) == 1 else list(map(min, *seen))


def _is_behind(write: TimedWrite, known: _Known, clocks: Mapping[int, Clock]) -> bool:
    """Whether all warps of a product know that a write is complete, and of a proxy fence behind it: of the
    writer's, or each has executed its own. So it is with most writes; what is known of others is asked.
    """
    if write.landing is not None or write.kind == "bulk":
        return False
    (seen, fenced), warp = known, write.warp
    made = write.act if write.kind == "store" else write.end
    if seen[warp] < made:
        return False
    if seen[warp] >= write.fenced:
        return True
    own = clocks.get(warp)  # what it stored itself, its own fence must follow
    return fenced is not None and fenced[warp] >= made and (own is None or own.seen[warp] >= write.fenced)


def _surely_meet(first: TimedWrite, second: TimedWrite) -> bool:
    """Whether two bulk copies whose regions meet write the same bytes: the PTX shows how many each brings, or
    else they begin at one place.
    """
    sized = (one.landing is not None and one.landing.size is not None for one in (first, second))
    return first.region == second.region or all(sized)


def _are_of_one_phase(first: TimedWrite, second: TimedWrite) -> bool:
    """Whether one phase tells of two bulk copies of a warp, from one tensor. Into the same bytes nobody means
    to start both: where a parameter says how often a loop does so, the host says once.
    """
    if first.landing is None or second.landing is None:
        return False
    if first.warp != second.warp or first.tensor != second.tensor:
        return False
    return (first.landing.barrier, first.landing.phase) == (second.landing.barrier, second.landing.phase)


def _reach(fences: Collection[tuple[int, int]], clocks: Mapping[int, Clock]) -> bool:
    """Whether each warp of a product is behind one of some fences, by their warps and acts."""
    for clock in clocks.values():
        seen = clock.seen
        for warp, act in fences:
            if seen[warp] >= act:
                break
        else:
            return False
    return True
