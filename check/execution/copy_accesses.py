"""Copies and bulk stores of a block's warps against what other threads do with the same bytes.

A cp.async is complete for threads that know its thread's wait, or the phase that it arrives at; a bulk copy
for those that know its phase; a bulk store for those that know its thread's wait for bulk groups. Two bulk
copies are not judged here (`shared_accesses.py` does), nor are two warps that copy by one statement: they may
copy the same.

What a block copies into another one of the cluster, it gets from there, too: the other blocks are taken to do
the same. It is read here until the other block is known to have waited for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from ..memory.byte_regions import ByteRegion
from ..memory.shared_memory import WIDEST, fences_shared
from ..ptx.operands import Address
from ..ptx.operation import READS
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import by_number
from ..walks.stored_data import StoredData
from ..walks.walk_steps import WalkStep
from .access_records import LINE, AccessedBytes, GenericAccess, GenericRace, accessed, both_access
from .act_operands import is_doubtful, shown_number
from .barriers import Landing, Mbarrier
from .box_sizes import BoxSizes
from .byte_index import ByteIndex
from .clocks import Clock
from .generic_accesses import GenericActs
from .loaded_boxes import LoadedBoxes
from .thread_bytes import SHARED_BYTES
from .thread_groups import ThreadGroup
from .timed_accesses import NEVER, TimedWrite
from .warp_accesses import warp_accesses
from .warp_lanes import LaneAccess, LaneAddresses, met_between
from .warps import ExecutedWarp, GroupWait, lanes_of

__all__ = ["CopyActs"]

_GROUPS = frozenset(("copy-commit", "copy-wait"))
_DRAINS = ("global", "shared")  # the spaces of a bulk store, the destination first
_WHOLE = 3  # operands of a cp.async without a size of the source, which pads with zeros, or a policy
_MANY = 32  # copies whose bytes are forgotten at once: to find the bytes of those that stay takes a while


@dataclass(slots=True, eq=False)
class _Copy:
    """A copy or bulk store by threads of a warp: its bytes, and when it is complete. `fenced`: no proxy fence
    is needed before a bulk copy into its bytes. `shared`: it is between two blocks. `origin` says what each
    thread copies where, None if that is unknown.
    """

    access: GenericAccess
    warp: int
    write: TimedWrite
    fenced: bool
    shared: bool = False
    origin: Hashable = None


@dataclass(slots=True, eq=False)
class _GenericWrite:
    """A store or cp.async: the number of a store among its warp's acts, or else the copy. `fences` are the
    proxy fences behind it, each by its warp and its number among that one's acts. `stored`: what each lane
    stores; `met`: how often the lanes of the warp had met before. `left`: lanes for which no fence of their
    warp follows, where others have executed one.
    """

    access: GenericAccess
    warp: int
    act: int
    copy: _Copy | None = None
    fences: list[tuple[int, int]] = field(default_factory=list)
    stored: LaneAccess | None = None
    met: int = 0
    left: int = 0

    def is_before(self, warp: int, clock: Clock) -> bool:
        """Whether a warp with a clock knows that the write is complete."""
        if self.copy is not None:
            return self.copy.write.complete(clock)
        return self.warp == warp or clock.seen[self.warp] >= self.act

    def is_left(self, access: GenericAccess) -> bool:
        """Whether another access has bytes of the lanes that no fence of their warp follows."""
        return self.stored is not None and self.stored.touches(self.left, access)

    def is_fenced(self, clock: Clock) -> bool:
        """Whether a clock knows of a proxy fence behind the write."""
        return any(clock.seen[warp] >= act for warp, act in self.fences)


class CopyActs(GenericActs):
    """The warps and barriers of a block, its ordinary accesses of shared memory, its copies and bulk stores.
    `fills`: there are bulk copies into shared memory; `drains`: there are bulk stores; `maps`, `together` and
    `data` are as in GenericActs.
    """

    skips = GenericActs.skips - _GROUPS

    def __init__(
        self,
        threads: int,
        fills: bool,
        drains: bool,
        maps: bool = False,
        together: bool = False,
        data: StoredData | None = None,
    ) -> None:
        super().__init__(threads, maps, together, data)
        self.fills = fills
        self.fenced = fills or drains
        self._clocks = [warp.clock for warp in self.warps]
        # By warp: of copies that it has not waited for, what its lanes access.
        self._by_lane: list[dict[TimedWrite, tuple[GenericAccess, int, LaneAddresses]]]
        self._by_lane = [{} for _ in range(self.count)]
        # By warp: the bulk stores that it has not waited for.
        self._by_store: list[dict[TimedWrite, LaneAccess]] = [{} for _ in range(self.count)]
        self._landings: dict[tuple[int, int], list[_Copy]] = {}  # bulk copies, by mbarrier and phase
        self.copy_races: dict[tuple[str, int, int], GenericRace] = {}
        self._copies: ByteIndex[_Copy] = ByteIndex()
        self._copied = 0  # a bit for each line that some of them access
        self._boxes = BoxSizes()
        self.loaded_boxes = LoadedBoxes()
        self._forgotten: list[AccessedBytes] = []  # of copies, that `_copied` still has
        self._unfenced: list[_GenericWrite] = []  # no proxy fence is behind them
        self._fenced: dict[tuple[int, int, AccessedBytes], _GenericWrite] = {}  # some warps may not know
        self._drains: list[list[TimedWrite]] = [[] for _ in range(self.count)]  # by warp, not committed
        self._drain_groups: list[deque[list[TimedWrite]]] = [deque() for _ in range(self.count)]

    def act(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterable[GroupWait]:
        """Do a statement in some threads of a group; what they wait for, if they do not go on at once."""
        statement = step.statement
        match statement.does:
            case "copy":
                self._start(group, step, threads, "copy", statement.address, statement.bytes)
            case "copy-commit" | "copy-wait":
                self._grouping(step, threads)
            case "bulk-copy" if statement.operation.way == _DRAINS:
                self._drain(group, step, threads)
            case "bulk-commit":
                for warp in by_warp(threads):
                    self._drain_groups[warp].append(self._drains[warp])
                    self._drains[warp] = []
            case "bulk-wait":
                left = statement.left
                for warp in by_warp(threads):
                    while len(self._drain_groups[warp]) > left:
                        self._drained(self._drain_groups[warp].popleft(), warp, step.position)
            case "proxy-fence" if fences_shared(statement):
                self._forget_fenced()
                for warp, some in by_warp(threads).items():
                    self._fence(warp, group, step, lanes_of(some))
                return super().act(group, step, threads)
            case _:
                return super().act(group, step, threads)
        return ()

    def _start(
        self,
        group: ThreadGroup,
        step: WalkStep,
        threads: tuple[int, ...],
        does: str,
        address: Address | None,
        size: int | None,
    ) -> None:
        """cp.async, or a bulk store, by threads that know its address; of few bytes if that is unknown."""
        statement, registers, width = step.statement, group.registers, size or WIDEST
        if address is None or registers.is_remote(address, statement.scope):
            return
        base = registers.base(address, statement.scope)
        placed = registers.is_placed(address, statement.scope)
        self.scattered |= base is None and does == "copy"
        # where a bulk store goes to in global memory is no matter here
        doubtful = group.doubtful or placed if does == "drain" else is_doubtful(group, step)
        doubtful |= step.guard in registers.assumed
        if base is None:
            self._locate(group, step, False)
            return
        if does == "copy" and not (doubtful or placed):
            self._align(step, base, threads)
        at, copies = step.position, does == "copy"
        fenced = not (self.fills and copies)
        asks_data = self.clashes.data is not None and copies
        accesses = warp_accesses(at, does, base, threads, width, address.offset, None, doubtful, placed)
        self._locate(group, step, bool(accesses))
        source = self._source(group, step) if copies else None
        for warp, some, region, access, places in accesses:
            act = self.warps[warp].clock.seen[warp]
            write = TimedWrite(at, does, region, doubtful, warp, act, lanes_of(some))
            if asks_data:
                access = access._replace(data=self.clashes.written_data(step, registers, some))
            origin = None if source is None else (source, base, address.offset, width, some)
            made = _Copy(access, warp, write, fenced, origin=origin)
            if copies:
                self.clashes.write(access)
                self.objects.hold(access)
                self.loaded_boxes.write(access)
            self._hold(warp, access, origin)
            if not copies:
                self._hold_unfenced(warp, access, "unfenced-store")
                stored = self.within.drain(warp, access, width, places, size is None)
                self._by_store[warp][write] = stored
            self._put(made)
            (self.warps[warp].copies if copies else self._drains[warp]).append(write)
            if copies:
                self.within.access(warp, access, statement, places)
                self._by_lane[warp][write] = access, width, places

    @staticmethod
    def _source(group: ThreadGroup, step: WalkStep) -> Hashable:
        """What says from where a thread copies, the same only where it is the same address: a register that
        one statement before writes, in this round of its loops. None if it is no such register.
        """
        source, code = step.statement.source, group.registers.steps.code
        if source is None or source.base is None or len(step.statement.operands) > _WHOLE:
            return None
        names = code.unique((source.base,), step.statement.scope)
        made = [index for name in names for index in code.definitions.get(name, ())]
        if len(made) != 1 or made[0] >= step.position:
            return None
        return made[0], source.offset, tuple(sorted(group.rounds.items()))

    def _drain(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Bulk stores of as many bytes as each thread says."""
        statement = step.statement
        sizes = shown_number(group, statement, statement.operation.action.size, 0)
        for size, some in by_number(sizes, threads).items():
            self._start(group, step, some, "drain", statement.source, size or None)

    def _drained(self, stores: Sequence[TimedWrite], warp: int, wait: int) -> None:
        """A warp has waited for bulk stores at a statement: nothing is written here."""
        super()._land(stores, warp)
        for store in stores:
            self.within.drained(warp, wait, self._by_store[warp].pop(store))

    def _land(self, writes: Sequence[TimedWrite], warp: int) -> None:
        """A warp has waited for copies."""
        super()._land(writes, warp)
        for write in writes:
            if write in self._by_lane[warp]:
                self.within.landed(warp, *self._by_lane[warp].pop(write))

    def _copies_arrive(
        self, warp: ExecutedWarp, number: int, barrier: Mbarrier, step: WalkStep, threads: int
    ) -> None:
        super()._copies_arrive(warp, number, barrier, step, threads)
        self._by_lane[number].clear()  # no thread waits for them by itself

    def _begin(self, write: TimedWrite) -> None:
        """A bulk copy into shared memory; what products read is not judged."""
        region = write.region
        is_known = region.is_known if self.blocks == 1 else region.is_bounded
        self.scattered |= write.landing is None or write.landing.size is None or not is_known
        if is_known:
            alone = self.blocks == 1 and self._peers is None and not write.elsewhere
            self.loaded_boxes.begin(
                write, alone and write.landing is not None and write.landing.box is not None
            )
        if write.landing is None or not is_known or write.elsewhere:
            return
        box = None if write.landing.size is not None else write.landing.box
        assumed = _assumed_size(write)
        size = assumed or self._boxes.begin(box, region.low, self.mbarriers.values())
        doubtful = write.doubtful or size is not None
        if size is not None and self.blocks == 1:
            write.region = region = region._replace(high=region.low + size)
        flags = (1 << region.high - region.low) - 1
        filled = accessed(region.low, flags)
        placed = write.doubtful or assumed is not None
        access = GenericAccess(write.statement, "fill", filled, doubtful, placed)
        self.clashes.write(access)
        self._hold(write.warp, access)
        if write.known is not None:
            self._hold_lone(write.warp, access, write.known)
        self._hold_unfenced(write.warp, access, "unfenced")
        made = _Copy(access, write.warp, write, True)
        self.within.fill(write.warp, access, write.lanes.bit_length() - 1)
        self._landings.setdefault((write.landing.barrier, write.landing.phase), []).append(made)
        self._put(made)

    def awaited(self, step: WalkStep, threads: tuple[int, ...], address: int, phase: int) -> None:
        """Threads of a warp have waited for bulk copies: where these are not all, others have not, unless the
        warp has known before that the copies are complete.
        """
        warp = threads[0] // WARP
        if len(threads) < min(WARP, self.threads - warp * WARP):
            for one in self._landings.get((address, phase), ()):
                if not one.write.complete(self.warps[warp].clock):
                    self.within.awaited(warp, step.position, one.access, threads)

    def _send_bytes(
        self, group: ThreadGroup, step: WalkStep, thread: int, landing: Landing, remote: bool
    ) -> None:
        """A copy of known bytes between blocks: read here, and written there by the same address."""
        statement, registers = step.statement, group.registers
        if registers.is_remote(statement.source, statement.scope):
            return
        read = self._sent(group, step, thread, landing, "drain", statement.source)
        written = self._sent(group, step, thread, landing, "fill", statement.address)
        if read is not None and written is not None:
            read.write.peer, written.write.peer = remote, not remote
            read.shared = written.shared = True
            self._put_source(read)
            self._hold_there(written.warp, written.access, "reduce" in statement.operation.words)
            self._put(written)

    def _read_source(self, group: ThreadGroup, step: WalkStep, thread: int, landing: Landing) -> None:
        read = self._sent(group, step, thread, landing, "drain", step.statement.source)
        if read is not None:
            self._put_source(read)

    def _sent(
        self,
        group: ThreadGroup,
        step: WalkStep,
        thread: int,
        landing: Landing,
        does: str,
        address: Address | None,
    ) -> _Copy | None:
        """What a copy of known bytes between blocks does at one of its two addresses."""
        start = group.registers.at(address, step.statement.scope, thread)
        if landing.size is None or start is None or address is None:
            return None
        registers, warp = group.registers, thread // WARP
        placed = registers.is_placed(address, step.statement.scope)
        doubtful = group.doubtful or step.guard in registers.assumed or placed
        region = ByteRegion("shared", start, start + landing.size)
        act, lanes = self.warps[warp].clock.seen[warp], lanes_of((thread,))
        write = TimedWrite(step.position, does, region, doubtful, warp, act, lanes, landing=landing)
        bytes_ = accessed(start, (1 << landing.size) - 1)
        access = GenericAccess(step.position, does, bytes_, doubtful, placed)
        return _Copy(access, warp, write, True)

    def _put_source(self, read: _Copy) -> None:
        """Hold what a copy between blocks reads against what stands there, and remember it."""
        self._hold(read.warp, read.access)
        self._hold_unfenced(read.warp, read.access, "unfenced-store")
        self._put(read)

    def _hold_there(self, warp: int, access: GenericAccess, reduces: bool) -> None:
        """Hold a copy into another block against what that block does with the bytes, and gets into them."""
        if self._peers is not None:
            self._find_elsewhere(self._peers.filled(warp, access), warp, access)
        told = self.warps[warp].clock.told
        start, flags, _ = access.bytes
        for one in self._copies.meeting(start, start + flags.bit_length()):
            landing = one.write.landing
            if not one.shared or one.access.does == "drain" or reduces or landing is None:
                continue
            if not 0 <= landing.phase < told.get(landing.barrier, 0) and one.access.meets(access):
                self._race("incomplete", one.warp, one.access, warp, access, True)

    def _judge(self, warp: int, access: GenericAccess) -> None:
        """Hold an ordinary access against those of other warps, and against copies."""
        self._hold_copies(warp, access)
        super()._judge(warp, access)
        if access.does == "load":
            self.loaded_boxes.load(access, self.warps[warp].clock)
        else:
            self.loaded_boxes.write(access)
        if self.fenced and access.does == "store":
            stored, met = self.within.stored(warp, access.statement), self.within.meetings[warp]
            act = self.warps[warp].clock.seen[warp]
            self._unfenced.append(_GenericWrite(access, warp, act, stored=stored, met=met))

    # What is held against what

    def _hold(self, warp: int, access: GenericAccess, origin: Hashable = None) -> None:
        """Hold a copy or bulk store against what other warps load and store, and against copies."""
        seen, drains = self.warps[warp].clock.seen, access.does == "drain"
        start, flags, lines = access.bytes
        self._hold_untold(warp, access)
        near = self.recent.written_lines | (0 if drains else self.recent.loaded_lines)
        for other, span in self._unseen(seen) if near & lines else ():
            if not (span.written_lines | (0 if drains else span.loaded_lines)) & lines:
                continue
            written = span.stored | span.updated
            touched = written if drains else written | span.loaded
            if not touched >> start & flags:
                continue
            for before in span.accesses:
                if before.does != "load" or not drains:
                    self._race("unsynchronised", other, before, warp, access)
        self._hold_copies(warp, access, origin)

    def _hold_lone(self, warp: int, access: GenericAccess, known: Clock) -> None:
        """Hold a bulk copy against what its warp knows that others did, and the lane that starts it does not
        know.
        """
        start, flags, _ = access.bytes
        seen, doubted = self.warps[warp].clock.seen, access._replace(doubtful=True)
        for other, span in self._unseen(known.seen):
            if span.act <= seen[other] and (span.stored | span.updated | span.loaded) >> start & flags:
                for before in span.accesses:
                    self._race("unsynchronised", other, before, warp, doubted)

    def _hold_copies(self, warp: int, access: GenericAccess, origin: Hashable = None) -> None:
        """Hold an access against copies and bulk stores that are not complete for its warp. `origin`: from
        where it copies, and where to; one copy more of the same changes nothing.
        """
        start, flags, lines = access.bytes
        if not self._copied & lines:
            return
        clock = self.warps[warp].clock
        for one in self._copies.meeting(start, start + flags.bit_length()):
            before = one.access
            if one.write.complete(clock):
                if self._is_known(one):
                    self._forget(one)
                continue
            if before.does in READS and access.does in READS:
                continue
            if origin is not None and one.origin == origin and one.warp == warp:
                continue
            if before.does == access.does and self._same(one, warp, access):
                if before.does == "copy" and before.meets(access):
                    self.clashes.hold(one.warp, before, warp, access)
                continue
            if before.meets(access):
                self._race(self._why(one), one.warp, before, warp, access, one.shared)

    def _forget(self, known: _Copy) -> None:
        """A copy or bulk store that every warp knows to be complete is not looked at again."""
        self._copies.drop(known, known.write.region)
        self._forgotten.append(known.access.bytes)
        if len(self._forgotten) < _MANY:
            return
        lines = 0
        for bytes_ in self._forgotten:
            lines |= bytes_.lines
        self._forgotten.clear()
        self._copied &= ~lines
        low, high = (lines & -lines).bit_length() - 1, lines.bit_length()
        for one in self._copies.meeting(LINE * low, LINE * high):  # some may access the same lines
            self._copied |= one.access.bytes.lines

    def _is_known(self, one: _Copy) -> bool:
        """Whether every warp knows that a copy or bulk store is complete."""
        return all(map(one.write.complete, self._clocks))

    @staticmethod
    def _same(one: _Copy, warp: int, access: GenericAccess) -> bool:
        """Whether two warps copy by one statement; or a bulk copy brings the PTX does not show how much."""
        if access.does == "fill" and (one.write.landing is None or one.write.landing.size is None):
            return True
        return one.warp != warp and one.access.statement == access.statement

    @staticmethod
    def _why(one: _Copy) -> str:
        """Why a copy or bulk store is not complete for another thread."""
        if one.access.does == "drain":
            return "draining" if one.write.end == NEVER else "unsynchronised"
        waited = one.write.landing is None and one.write.end != NEVER
        return "unsynchronised" if waited else "incomplete"

    def _hold_unfenced(self, warp: int, access: GenericAccess, what: str) -> None:
        """Hold a bulk copy or bulk store against generic writes before it, if its warp knows of no proxy
        fence behind them; what is told is not told again.
        """
        clock, doubted = self.warps[warp].clock, access._replace(doubtful=True)

        def is_told(write: _GenericWrite) -> bool:
            if write.copy is not None and what == "unfenced-store":
                return False
            if not write.access.meets(access) or write.is_fenced(clock) or not write.is_before(warp, clock):
                return False
            partly = write.left and write.stored is not None
            if partly and (write.met == self.within.meetings[write.warp] or not write.is_left(access)):
                return False  # where they have not met, that is told of the store itself
            self._race(what, write.warp, write.access, warp, doubted if partly else access)
            return True

        self._unfenced = [write for write in self._unfenced if not is_told(write)]
        for key in [key for key, write in self._fenced.items() if is_told(write)]:
            del self._fenced[key]

    def _race(
        self,
        what: str,
        other: int,
        before: GenericAccess,
        warp: int,
        access: GenericAccess,
        shared: bool = False,
    ) -> None:
        """A pair that nothing orders; `shared`: unless other blocks do something else."""
        region = both_access(before, access)
        if shared and region is not None:
            pair = before.statement, access.statement
            race = GenericRace(*pair, (other, warp), region, True, before.placed or access.placed, what)
            self.elsewhere.setdefault(pair, race)
            return
        key = what, before.statement, access.statement
        doubtful = before.doubtful or access.doubtful
        if region and (key not in self.copy_races or (self.copy_races[key].doubtful and not doubtful)):
            pair, placed = (before.statement, access.statement), before.placed or access.placed
            self.copy_races[key] = GenericRace(*pair, (other, warp), region, doubtful, placed, what)

    # What is remembered

    def _put(self, made: _Copy) -> None:
        if self.count == 1 and made.access.does != "drain":
            self.put_bytes(made.access)
        self._copies.put(made, made.write.region)
        self._copied |= made.access.bytes.lines
        if not made.fenced:
            self._unfenced.append(_GenericWrite(made.access, made.warp, made.write.act, made))

    def _fence(self, warp: int, group: ThreadGroup, step: WalkStep, lanes: int) -> None:
        """A proxy fence of lanes of a warp, its next act: it follows the generic writes that they know."""
        clock = self.warps[warp].clock
        fence = warp, clock.seen[warp] + 1
        unfenced = []
        for write in self._unfenced:
            if write.is_before(warp, clock) and not self._leaves(write, warp, group, step, lanes):
                write.fences.append(fence)
                self._fenced[write.access.statement, write.warp, write.access.bytes] = write
            else:
                unfenced.append(write)
        self._unfenced = unfenced
        for write in self._fenced.values():
            if not write.is_fenced(clock) and write.is_before(warp, clock) and write.fences[-1] != fence:
                write.fences.append(fence)

    def _leaves(
        self, write: _GenericWrite, warp: int, group: ThreadGroup, step: WalkStep, lanes: int
    ) -> bool:
        """Lanes execute a fence, behind a store of their warp: remember for which of its lanes that is none,
        since the two have not met; whether there are such.
        """
        if write.stored is None or write.warp != warp or write.met != self.within.meetings[warp]:
            return False
        if group.doubtful or met_between(group.registers.steps, write.access.statement, step.position):
            return False
        write.left = (write.left or write.stored.lanes) & ~lanes
        return bool(write.left)

    def _forget_fenced(self) -> None:
        """Writes behind which every warp knows of a proxy fence are not looked at again."""
        self._fenced = {
            key: write for key, write in self._fenced.items() if not all(map(write.is_fenced, self._clocks))
        }


def _assumed_size(write: TimedWrite) -> int | None:
    """How many bytes a copy brings by an assumed number, if so many fit into shared memory."""
    size = write.assumed
    return size if size is not None and 0 < size < SHARED_BYTES - write.region.low else None
