"""Accesses of tensor memory by the warps of a block, and the pairs of them that nothing orders (9.7.16.6).

A load or store is complete for its own warp behind the warp's wait, and for others that know of that wait.
A product, a copy or a shift is complete for warps that know of a phase of an mbarrier at which a commit
behind it arrives: of each warp, a clock also counts those that are known to be complete. Those that a warp
knows to be issued execute in their order (9.7.16.6.2 lists the pairs), but for one pair: a product that reads
what another one leaves. By the letter, what orders two warps stands between two fences for tensor memory: a
clock counts what each warp did before its last fence of the first kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ...spec.described_operands import INSTRUCTION
from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE, product_heads, source_heads
from ..memory.tensor_places import (
    ADDS,
    COMMITTED,
    SPLIT,
    TENSOR_ACTIONS,
    TensorOperand,
    TensorPlace,
    allocated_place,
    copied_rows,
    filled_place,
    fills_place,
    moved_places,
    names_other_slice,
    product_place,
    tensor_operands,
)
from ..ptx.decode import DecodedStatement
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import number_at
from ..walks.walk_steps import WalkStep
from .act_operands import is_doubtful, shown_number
from .allocated_columns import AllocatedColumns
from .clocks import Clock
from .operand_accesses import CommittedRead, OperandAccesses
from .thread_groups import ThreadGroup
from .timed_accesses import NEVER
from .warp_acts import WarpActs
from .warps import GroupWait
from .written_columns import WrittenColumns

__all__ = ["Outside", "RaceKey", "TensorActs", "TensorFault", "TensorRace"]

TensorFault = Literal[
    "early",
    "unfenced",
    "unreleased",
    "unacquired",
    "overwritten",
    "load-pending",
    "store-pending",
    "unordered",
    "freed",
    "unpipelined",
    "parallel",
    "stale",
]

# What a race is, its two statements, and the one that made the first known.
RaceKey = tuple[TensorFault, int, int, int]


class TensorRace(NamedTuple):
    """Two accesses of tensor memory whose `places` meet, by two warps or by one; `first` is executed first.

    what: `early` (of what a product, copy or shift may yet access), `unfenced` (that is complete, but no
    fence of the accessing warp stands behind its wait), `unreleased` (that is ordered before the other, but
    no fence of its warp stands before what orders the two), `unacquired` (the same, and none of the other's
    stands behind it), `overwritten` (of what others may yet load),
    `load-pending` (of what is loaded, and no wait for the load stands before what orders the two),
    `store-pending` (the same of a store), `unordered` (nothing orders a store before what accesses its
    places), `freed` (nothing orders an access before the deallocation of its places), `unpipelined` (a
    product reads the result of another one, which is not known to be complete), `parallel` (nothing orders
    two of products, copies and shifts), `stale` (an access stands behind the deallocation of its places, and
    no allocation between the two).
    `released`: the last statement behind a pending load or store that makes known to the other warp what its
    warp did; −1: there is none.
    """

    what: TensorFault
    first: int
    second: int
    released: int
    warps: tuple[int, int]
    places: tuple[TensorPlace, TensorPlace]
    doubtful: bool


class _Access:
    """An access by a warp. It begins at one of the warp's acts, `act`, and is known to be complete at
    another, `end`. `order`: its place among the accesses of its warp; `number`: that of a product, copy or
    shift among those. `only_reads`: it writes nothing there. `behind`: something was written there before.
    `reallocated`: it deallocates, and an allocation has come since, which may be of the same columns.
    """

    __slots__ = (
        *("act", "behind", "does", "doubtful", "end", "number", "only_reads", "order", "place"),
        *("reallocated", "released", "statement", "warp"),
    )

    def __init__(
        self,
        step: WalkStep,
        warp: int,
        act: int,
        place: TensorPlace,
        doubtful: bool,
        only_reads: bool,
        number: int = 0,
    ) -> None:
        self.statement, self.does = step.position, step.statement.does
        self.warp, self.act, self.place, self.doubtful = warp, act, place, doubtful
        self.only_reads, self.number = only_reads, number
        self.end, self.order = NEVER, 0
        self.released: list[tuple[int, int]] = []  # before it is waited for: acts that make something known
        self.behind = self.reallocated = False


class Outside(NamedTuple):
    """A statement accesses columns behind those that are allocated, so many at that time."""

    statement: int
    warp: int
    place: TensorPlace
    allocated: int
    doubtful: bool


class TensorActs(WarpActs):
    """The warps and barriers of a block, and what they do to tensor memory."""

    skips = frozenset(("load", "allocate", "multiply", "commit", "wait"))
    columns: AllocatedColumns
    accesses: OperandAccesses

    def __init__(self, threads: int) -> None:
        super().__init__(threads, parts=3)
        self.accesses = OperandAccesses([warp.clock for warp in self.warps], self.waits)
        self.races: dict[RaceKey, TensorRace] = {}
        self.outside: dict[int, Outside] = {}  # by statement
        self.misplaced: dict[int, int] = {}  # by statement: a warp that names lanes of others
        self.columns = AllocatedColumns()
        self.written = WrittenColumns()
        self.executed: set[int] = set()  # statements about tensor memory
        self.unplaced: set[int] = set()  # those of which it is not known what they access
        self._last: dict[tuple[int, int, TensorPlace], _Access] = {}  # by statement, warp, and place
        # By warp: loads and stores that were not waited for.
        self._pending: list[list[_Access]] = [[] for _ in self.warps]
        self._issued = [0] * self.count  # by warp: its products, copies and shifts
        self._accessed = [0] * self.count  # by warp: all of its accesses
        # By warp: how many of those of others execute before its own.
        self._covered: list[dict[int, int]] = [{} for _ in self.warps]
        self._fenced: list[Sequence[int]] = [[0] * self.width for _ in self.warps]

    def act(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterable[GroupWait]:
        """Do a statement in some threads of a group; what they wait for, if they do not go on at once."""
        does = step.statement.does
        if does in TENSOR_ACTIONS or does == "allocate" or step.statement.operation.tells_later:
            self.executed.add(step.position)
        if does in TENSOR_ACTIONS:
            for warp, some in by_warp(threads).items():
                self._do(group, step, warp, some)
            return ()
        if does == "allocate":
            for before in self._last.values():
                before.reallocated = before.does == "deallocate"
        return () if does in self.skips else super().act(group, step, threads)

    def _do(self, group: ThreadGroup, step: WalkStep, warp: int, threads: tuple[int, ...]) -> None:
        match step.statement.does:
            case "fetch" | "tensor-store":
                self._move(group, step, warp, threads)
            case does if does in COMMITTED:
                self._issue(group, step, warp, threads[0])
            case "deallocate":
                self._free(group, step, warp, threads[0])
            case "fetch-wait":
                self._wait(warp, "fetch")
            case "tensor-store-wait":
                self._wait(warp, "tensor-store")
            case "tensor-fence":
                self._fenced[warp] = self.warps[warp].clock.seen[:]
            case "tensor-release":
                self._release(warp)

    def _release(self, warp: int) -> None:
        """What a warp did comes before what it makes known from here on."""
        self.warps[warp].clock.seen[2 * self.count + warp] = self._accessed[warp]

    def _is_relaxed(self, step: WalkStep) -> bool:
        """The fences of tensor memory order it beside relaxed arrivals and waits, too."""
        return False

    def _published(self, number: int, step: WalkStep) -> Clock | None:
        """What an arrival of a warp makes known: of one that comes later, that its products are complete."""
        act = self.warps[number].clock.seen[number]
        for access in self._pending[number]:
            access.released.append((act, step.position))
        if step.statement.operation.tells_later:
            self._release(number)
        clock = super()._published(number, step)
        if clock is not None and step.statement.operation.tells_later:
            for warp, issued in {**self._covered[number], number: self._issued[number]}.items():
                engine = self.count + warp
                clock.seen[engine] = max(clock.seen[engine], issued)
        return clock

    def _arrival(self, number: int, step: WalkStep) -> tuple[tuple[int, int], bool]:
        """A commit arrives once the products before it are complete: who knows of these, knows of it."""
        if step.statement.operation.tells_later:
            return (self.count + number, self._issued[number]), False
        return super()._arrival(number, step)

    def _wait(self, warp: int, does: str) -> None:
        """A warp waits for all of its loads, or for all of its stores."""
        left = []
        for access in self._pending[warp]:
            if access.does == does:
                access.end = self.warps[warp].clock.seen[warp]
            else:
                left.append(access)
        self._pending[warp] = left

    def _blocks_of(self, group: ThreadGroup, step: WalkStep, warp: int) -> Sequence[int]:
        """The ranks of the blocks in whose memory a statement of a warp works, among those that are executed
        together.
        """
        steps, own = group.registers.steps, self._own(group, warp)
        return steps.pair_of(*own) if self.blocks > 1 and step.statement.operation.is_for_pair else own

    def _own(self, group: ThreadGroup, warp: int) -> tuple[int]:
        """The rank of a warp's block."""
        return (group.registers.steps.rank_of(warp * WARP, self.threads),)

    def _move(self, group: ThreadGroup, step: WalkStep, warp: int, threads: tuple[int, ...]) -> None:
        """A load or store by a warp; parts of one have gone on without the others, and show nothing."""
        statement, reads = step.statement, step.statement.does == "fetch"
        (rank,) = self._own(group, warp)
        own = warp - rank * (self.count // self.blocks)
        at, split = group.registers.at(statement.address, statement.scope, threads[0]), statement.part(SPLIT)
        behind = 0 if split is None else group.registers.number(split.text, statement.scope)
        found = () if at is None or behind is None else moved_places(statement, at, own, behind)
        places = [place.moved(rank) for place in found]
        address = statement.address
        is_sure = address is not None and not group.registers.is_placed(address, statement.scope)
        if not reads:
            for place in places if is_sure and places else (None,):
                self.written.write(place)
        if len(threads) < min(WARP, self.threads - warp * WARP) or at is None or not places:
            self.unplaced.add(step.position)
            return
        if names_other_slice(at, own):
            self.misplaced.setdefault(step.position, warp)
        act, doubtful = self.warps[warp].clock.seen[warp], is_doubtful(group, step)
        for place in places:
            access = _Access(step, warp, act, place, doubtful, reads)
            if reads and is_sure and not self.waits.astray:
                self.written.load(step.position, warp, place)
            self._judge(access)
            self._pending[warp].append(access)

    def _issue(self, group: ThreadGroup, step: WalkStep, warp: int, thread: int) -> None:
        """A product, a copy into tensor memory or a shift there, by one thread of a warp: what it reads of
        shared memory, and what it accesses of tensor memory.
        """
        statement, multiplies = step.statement, step.statement.does == "tensor-multiply"
        self._issued[warp] += 1
        word = statement.part(INSTRUCTION)
        value = None if word is None else group.registers.value(word.text, statement.scope)
        shape, doubtful = number_at(value, thread), is_doubtful(group, step)
        self._read(group, step, warp, thread, shape)
        places: list[tuple[TensorOperand, TensorPlace]] = []
        for operand in tensor_operands(statement):
            at = group.registers.at(operand.address, statement.scope, thread)
            place: TensorPlace | None = None
            if at is not None and multiplies:
                place = product_place(statement, operand, at, shape)
            elif at is not None:
                place = filled_place(statement, operand, at)
            if place is not None:
                places.append((operand, place))
            if place is None or (multiplies and not fills_place(statement, operand, shape)):
                self.unplaced.add(step.position)
        act, ranks = self.warps[warp].clock.seen[warp], self._blocks_of(group, step, warp)
        self._fill(group, step, warp, thread, shape, places)
        for operand, place in places:
            only_reads = multiplies and not operand.is_written
            for rank in ranks:
                there = place.moved(rank)
                self._judge(_Access(step, warp, act, there, doubtful, only_reads, self._issued[warp]))

    def _fill(
        self,
        group: ThreadGroup,
        step: WalkStep,
        warp: int,
        thread: int,
        shape: int | None,
        places: Iterable[tuple[TensorOperand, TensorPlace]],
    ) -> None:
        """What a product, a copy or a shift surely reads, and what it writes at most; nobody knows that where
        an assumed number says where, or what.
        """
        statement, registers = step.statement, group.registers
        multiplies, ranks = statement.does == "tensor-multiply", self._blocks_of(group, step, warp)
        adds = multiplies and self._adds(group, statement, thread)
        word = statement.part(INSTRUCTION)
        assumed = word is not None and registers.steps.source(word.text, statement.scope) in registers.assumed
        written: TensorPlace | None = None
        for operand, place in places:
            is_sure = not (assumed or registers.is_placed(operand.address, statement.scope))
            reads, writes = multiplies and not operand.is_written, not multiplies or operand.is_written
            if is_sure and not self.waits.astray and (reads or adds):
                for rank in ranks:
                    self.written.multiply(step.position, warp, place.moved(rank), adds=not reads)
            if is_sure and writes and (not multiplies or fills_place(statement, operand, shape)):
                written = place
        for rank in ranks:
            self.written.write(written and written.moved(rank))

    def _adds(self, group: ThreadGroup, statement: DecodedStatement, thread: int) -> bool:
        """Whether a product surely adds to what its result's places hold: not by an assumed number."""
        named, registers = statement.part(ADDS), group.registers
        if named is None:
            return False
        text = named.text.removeprefix("!")
        source = registers.steps.source(text, statement.scope)
        holds = number_at(registers.value(text, statement.scope), thread)
        known = holds is not None and source not in registers.assumed
        return known and bool(holds) is not named.text.startswith("!")

    def _read(self, group: ThreadGroup, step: WalkStep, warp: int, thread: int, shape: int | None) -> None:
        """What a product of some shape, or a copy, reads of shared memory, as far as that is sure: a product
        of a pair reads a half of its matrices in each block, at the same addresses; that a copy does so, the
        text does not say.
        """
        statement, ranks = step.statement, self._blocks_of(group, step, warp)
        values = [group.registers.value(named.text, statement.scope) for named in statement.described]
        words = tuple([number_at(value, thread) for value in values])
        regions: Sequence[tuple[ByteRegion, int, str]] = ()
        if rows := copied_rows(statement):
            regions = [(region, 0, "") for region in source_heads(statement, words, rows)]
            ranks = self._own(group, warp)
        elif shape is not None:
            regions = product_heads(statement, words, shape, len(ranks))
        if words and (None in words or not regions):
            self.unplaced.add(step.position)
        began = {warp: self.warps[warp].clock.seen[warp]}
        doubtful, engine, number = is_doubtful(group, step), self.count + warp, self._issued[warp]
        moved = group.registers.steps.moved
        for rank in ranks:
            for region, bytes_, part in regions:
                there = moved(region, rank) if rank else region
                made = CommittedRead(step.position, there, doubtful, began, GRANULE, part=part)
                made.engine, made.number, made.bytes = engine, number, bytes_
                self.accesses.read(made)

    def _free(self, group: ThreadGroup, step: WalkStep, warp: int, thread: int) -> None:
        """A warp deallocates: whatever others do there must have been done."""
        statement = step.statement
        at = number_at(group.registers.value(statement.operands[0], statement.scope), thread)
        columns = number_at(shown_number(group, statement, statement.count_at, 0), thread)
        if at is None or not columns:
            self.unplaced.add(step.position)
            return
        act, place = self.warps[warp].clock.seen[warp], allocated_place(at, columns)
        for rank in self._blocks_of(group, step, warp):
            self._judge(_Access(step, warp, act, place.moved(rank), is_doubtful(group, step), False))

    def _judge(self, access: _Access) -> None:
        """Hold an access against what is allocated, and against those before it. A deallocation of more is
        told by what a path of one thread allocates.
        """
        place = access.place
        self._accessed[access.warp] += 1
        access.order = self._accessed[access.warp]
        allocated = 0 if access.does == "deallocate" else self.columns.count(place.block)
        if allocated and place.own.high > allocated and access.statement not in self.outside:
            self.outside[access.statement] = Outside(
                access.statement, access.warp, place.own, allocated, access.doubtful
            )
        low, high, lanes = access.place
        for before in self._last.values():
            first, end, others = before.place
            if first >= high or low >= end or not lanes & others:
                continue
            access.behind |= not before.only_reads
            what = self._fault(before, access)
            if what == "overwritten" and not before.behind:
                self._found("early", access, before)  # what is loaded, nobody has written yet
            elif what is not None:
                self._found(what, before, access)
        self._last[access.statement, access.warp, access.place] = access

    def _found(self, what: TensorFault, first: _Access, second: _Access) -> None:
        if self.waits.astray:
            return
        known = self.warps[second.warp].clock.seen[first.warp]
        released = [at for act, at in first.released if act <= known and first.warp != second.warp]
        key = what, first.statement, second.statement, released[-1] if released else -1
        doubtful = first.doubtful or second.doubtful
        if key not in self.races or (self.races[key].doubtful and not doubtful):
            warps, places = (first.warp, second.warp), (first.place.own, second.place.own)
            self.races[key] = TensorRace(*key, warps, places, doubtful)

    def _fault(self, before: _Access, now: _Access) -> TensorFault | None:
        """What is wrong with two accesses of one place."""
        if before.does == "deallocate":
            return self._freed(before, now)
        if before.only_reads and now.only_reads:
            return None
        if before.does in COMMITTED and now.does in COMMITTED:
            return self._unpipelined(before, now)
        if before.does == now.does:
            return None
        seen, engine = self.warps[now.warp].clock.seen, self.count + before.warp
        if now.does == "deallocate":
            if before.warp == now.warp:
                return None
            committed = before.does in COMMITTED
            known = seen[engine] >= before.number if committed else seen[before.warp] >= before.act
            return None if known else "freed"
        if before.does in COMMITTED:
            if seen[engine] < before.number:
                return "early"
            return None if self._fenced[now.warp][engine] >= before.number else "unfenced"
        own, loads = before.warp == now.warp, before.does == "fetch"
        if before.end != NEVER if own else seen[before.warp] >= before.end:
            return self._apart(before, now)
        if own or seen[before.warp] >= before.act:
            return "load-pending" if loads else "store-pending"
        return "overwritten" if loads else "unordered"

    def _freed(self, freed: _Access, now: _Access) -> TensorFault | None:
        """What is wrong with an access behind a deallocation of its places."""
        if now.does == "deallocate":
            return None
        known = freed.warp == now.warp or self.warps[now.warp].clock.seen[freed.warp] >= freed.act
        if not known:
            return "freed"
        return None if freed.reallocated else "stale"

    def _unpipelined(self, before: _Access, now: _Access) -> TensorFault | None:
        """What is wrong with two products, copies or shifts at one place. Once issued in an order they keep
        it: this edition or a later one lists all pairs that compilers emit, but for a result that another
        product reads as an operand.
        """
        seen, engine = self.warps[now.warp].clock.seen, self.count + before.warp
        if seen[engine] >= before.number:
            is_fenced = self._fenced[now.warp][engine] >= before.number
            return None if before.warp == now.warp or is_fenced else "unfenced"
        if before.warp != now.warp and seen[before.warp] < before.act:
            return "parallel"
        results = before.does == now.does == "tensor-multiply" and not before.only_reads and now.only_reads
        same = before.warp == now.warp and before.number == now.number
        if results and not same:
            return "unpipelined"
        if before.warp != now.warp:
            covered = self._covered[now.warp]
            covered[before.warp] = max(covered.get(before.warp, 0), before.number)
        return self._apart(before, now)

    def _apart(self, before: _Access, now: _Access) -> TensorFault | None:
        """Which fence is missing between an access and one that is known to come later."""
        if before.warp == now.warp:
            return None
        made = 2 * self.count + before.warp
        if self.warps[now.warp].clock.seen[made] < before.order:
            return "unreleased"
        return None if self._fenced[now.warp][made] >= before.order else "unacquired"
