"""Whether walks confirm that a wgmma reads what a store wrote with no proxy fence or barrier between.

The dataflow of check/memory knows every path, but addresses only as ranges. Here the threads of each walked
path are followed together, each with its own addresses. So numbers confirm a suspicion of the dataflow,
contradict it, or leave it open.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE, granules
from ..memory.proxy_findings import Meeting, Suspicion
from ..memory.shared_memory import WIDEST, fences_shared, fills_shared, stores_shared
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address, number_of
from ..values.block_threads import WARP
from ..values.lane_numbers import LaneNumbers, Numbers, number_at, some_surely
from .registers import Registers
from .thread_walk import Walked, followed, walk_of
from .walk_plan import WalkPlan
from .walk_steps import WalkStep

__all__ = ["Replays", "replayed"]

_WINDOW = 1 << 32  # a greater generic address is not one of shared memory
_MOST = 1 << 17  # statements of one replay
_STRAYS = 6  # walks of threads that leave a walk at a branch
_ORDERS = frozenset(("proxy-fence", "meet", "await", "copy-commit", "copy-wait", "copy-arrive"))


@dataclass
class Replays:
    """The answers: `meetings` by suspicion; `apart`, the suspicions that the numbers contradict; `touching`,
    those of which the walks know only that both statements access the same bytes.
    """

    meetings: dict[Suspicion, Meeting] = field(default_factory=dict)
    apart: set[Suspicion] = field(default_factory=set)
    touching: dict[Suspicion, Meeting] = field(default_factory=dict)


def replayed(plan: WalkPlan, walked: Sequence[Walked], suspicions: Collection[Suspicion]) -> Replays:
    """What the walks say about suspicions."""
    answers = Replays()
    stores_and_products = {statement for one in suspicions for statement in (one.store, one.product)}
    wanted = frozenset(plan.needed(stores_and_products))
    wrote: dict[int, dict[int, int]] = defaultdict(dict)  # by store: the thread that writes each granule
    read: dict[int, set[int]] = defaultdict(set)
    unknown: set[int] = set()
    placed: set[int] = set()
    together: set[Suspicion] = set()
    waiting = deque((walk, followed(plan, walk, walked)) for walk in walked)
    strays = 0
    while waiting:
        walk, threads = waiting.popleft()
        one = _Replay(plan, walk, threads, suspicions, wanted)
        one.run()
        for thread in one.strays.values():
            if strays < _STRAYS:
                strays += 1
                waiting.append((walk_of(plan, thread, walk.size), threads))
            else:
                unknown |= one.stores
        for statement, found in one.wrote.items():
            wrote[statement].update(found)
        for statement, granule in one.read.items():
            read[statement] |= granule
        unknown |= one.unknown
        placed |= one.placed
        together |= one.together
        for suspicion, meeting in one.meetings.items():
            known = answers.meetings.get(suspicion)
            if known is None or (meeting.certain and not known.certain):
                answers.meetings[suspicion] = meeting
    for suspicion in suspicions:
        store, product, _ = suspicion
        if suspicion in answers.meetings or store in unknown or product in unknown:
            continue
        if store not in wrote or product not in read:
            continue
        both = read[product].intersection(wrote[store])
        if suspicion in together or not both:
            answers.apart.add(suspicion)
        else:
            regions = plan.steps.region(wrote[store]), plan.steps.region(read[product])
            is_placed = not placed.isdisjoint((store, product))
            answers.touching[suspicion] = Meeting(wrote[store][min(both)], *regions, False, is_placed)
    return answers


_Granules = dict[int, int]  # by granule: the position of the thread that writes it


class _StoredGranules(NamedTuple):
    """What threads write by a statement once; `threads` by granule; `is_open`: some write elsewhere, too."""

    granules: _Granules
    threads: dict[int, int]
    is_open: bool


class _Replay:
    """The threads of one walked path, with what they wrote."""

    def __init__(
        self,
        plan: WalkPlan,
        walk: Walked,
        threads: range,
        suspicions: Collection[Suspicion],
        wanted: frozenset[str],
    ) -> None:
        self.plan = plan
        self.walk = walk
        self.products: dict[int, set[int]] = defaultdict(set)  # by product, the suspected stores
        for suspicion in suspicions:
            self.products[suspicion.product].add(suspicion.store)
        self.stores = {suspicion.store for suspicion in suspicions}
        self.threads = threads
        self.registers = Registers(plan.steps, self.threads, walk.size)
        self.on: Numbers = 1  # in which threads: those that go this way
        self.joins: list[tuple[int | None, Numbers, set[str]]] = []
        # By store: what it wrote through the generic proxy, with no fence by the writer since; and what with
        # one, but with no barrier since.
        self.bare: dict[int, _Granules] = {}
        self.fenced: dict[int, _Granules] = {}
        self.flying: list[
            tuple[int, int, _Granules]
        ] = []  # cp.async: its group, the statement, what it writes
        self.groups = 0
        self.wrote: dict[int, dict[int, int]] = defaultdict(dict)
        self.read: dict[int, set[int]] = defaultdict(set)
        self.unknown: set[int] = set()
        self.together: set[Suspicion] = set()
        self.meetings: dict[Suspicion, Meeting] = {}
        # Of what is pending now, by whether it is fenced and by store: the first and last granule, and the
        # matrices that have no bytes in common with it.
        self._spans: dict[tuple[bool, int], tuple[int, int]] = {}
        self._apart: dict[tuple[bool, int], set[frozenset[int]]] = {}
        self._written: dict[tuple[object, ...], _StoredGranules] = {}
        self._seen: set[tuple[int, frozenset[int]]] = set()  # products, and what they have read before
        self._storing = {plan.flow.block_of(store) for store in self.stores}
        self.strays: dict[tuple[int, int], int] = {}  # by branch and side: a thread that goes there
        self.certain = True
        self.placed: set[int] = set()  # statements that access bytes at an address by an assumed number
        self.open = set(suspicions)  # those that may still be met for certain
        self.wanted = wanted
        regions = (region for act in walk.acts if act.kind == "mma" for region in act.regions)
        self.stages = {(region.low, region.high) for region in regions}

    def run(self) -> None:
        """Follow the path to its end."""
        blocks, trace = self.plan.flow.blocks, self.walk.trace
        steps = 0
        for position, number in enumerate(trace):
            self.certain = position < self.walk.assumed
            steps += blocks[number].end - blocks[number].start
            if steps > _MOST or not self.open:
                return
            self._rejoin(number)
            for step, acts, _ in self.plan.relevant(number):
                if acts:
                    self._act(step)
                if not self.wanted.isdisjoint(step.written):
                    self.registers.execute(step, self.registers.guard(step.guard, step.negated), self.on)
                    if self.joins and step.written:
                        self.joins[-1][2].update(step.written)
            if position + 1 < len(trace):
                self._branch(number, trace[position + 1])

    def _rejoin(self, number: int) -> None:
        """Switch the threads on again that left the path at a branch whose sides join here."""
        while self.joins and self.joins[-1][0] == number:
            _, on, changed = self.joins.pop()
            math = self.registers.math
            self.registers.forget(changed, math.both(on, math.negated(self.on)))
            self.on = on
            if self.joins:
                self.joins[-1][2].update(changed)

    def _branch(self, number: int, following: int) -> None:
        """Switch the threads off that take the other side of a branch, or leave."""
        block = self.plan.flow.blocks[number]
        if block.start == block.end:
            return
        statement = self.plan.code[block.end - 1]
        name = self.plan.steps.guard(statement)
        if name is None or statement.does not in ("jump", "leave"):
            return
        guard = self.registers.guard(name, statement.negated)
        if not isinstance(guard, LaneNumbers):
            return
        jumps = int(statement.does == "jump" and following == block.branch)
        math = self.registers.math
        stays = math.joined(int(value is None or value == jumps) for value in guard.values)
        on = math.both(stays, self.on)
        if stays == 1 or on == 0:
            return
        if statement.does == "jump":
            self._stray(number, following, on)
            self.joins.append((self.plan.flow.post_dominator.get(number), self.on, set()))
        self.on = on

    def _stray(self, number: int, following: int, on: Numbers) -> None:
        """Remember a thread that goes the other way, to walk with it, if a suspected store stands there."""
        for side in self.plan.flow.blocks[number].successors:
            if side == following or (number, side) in self.strays or self.walk.thread != self.threads[0]:
                continue
            if not self._storing.isdisjoint(self.plan.loops.blocks_of(side, number)):
                gone = self.registers.math.both(self.on, self.registers.math.negated(on))
                first = next(at for at in range(len(self.threads)) if number_at(gone, at))
                self.strays[number, side] = self.threads[first]

    def _act(self, step: WalkStep) -> None:
        statement, does = step.statement, step.statement.does
        if not self.registers.assumed.isdisjoint(self.plan.steps.placing(step)):
            self.placed.add(step.position)
        if does == "multiply":
            if step.position in self.products:
                self._multiply(step)
        elif does in _ORDERS:
            self._order(step)
        elif does == "bulk-copy":
            if fills_shared(statement):
                self._fill(step)
        elif step.position in self.stores and (does == "copy" or stores_shared(statement)):
            self._store(step)

    def _active(self, step: WalkStep) -> Numbers:
        """A flag: which threads execute a statement."""
        return self.registers.math.both(self.registers.guard(step.guard, step.negated), self.on)

    def _addresses(self, statement: DecodedStatement, address: Address | None) -> Sequence[int | None]:
        """Where the threads access shared memory; −1 where an address is none of shared memory."""
        count = len(self.threads)
        if address is None:
            return (None,) * count
        base = self.registers.base(address, statement.scope)
        generic = statement.operation.space == "generic"

        def at(number: int | None) -> int | None:
            if number is None:
                return None
            number += address.offset
            return -1 if generic and number >= _WINDOW else number % _WINDOW

        return (
            [at(number) for number in base.values] if isinstance(base, LaneNumbers) else (at(base),) * count
        )

    def _store(self, step: WalkStep) -> None:
        active, address = self._active(step), step.statement.address
        if self.registers.is_remote(address, step.statement.scope):
            self.wrote[step.position] = {}  # nothing of this block's
            return
        named = None if address is None else address.base
        base = None if named is None else self.registers.value(named, step.statement.scope)
        key = step.position, base, active
        stored = self._written.get(key)
        if stored is None:
            stored = self._written[key] = self._stored(step, active)
        if stored.is_open:
            self.unknown.add(step.position)
        self.wrote[step.position].update(stored.threads)
        if step.statement.does == "copy":
            self.flying.append((self.groups, step.position, stored.granules))
        else:
            self.bare.setdefault(step.position, {}).update(stored.granules)
            self._changed(False)

    def _stored(self, step: WalkStep, active: Numbers) -> _StoredGranules:
        statement = step.statement
        numbers = self._addresses(statement, statement.address)
        width = statement.bytes or WIDEST
        found: _Granules = {}
        rows, is_open = statement.rows, False
        for at, number in enumerate(numbers):
            if rows is not None and self.threads[at] % WARP >= rows:
                continue  # the lane supplies no address
            if active != 1:
                executes = number_at(active, at)
                is_open |= executes is None
                if not executes:
                    continue
            if number is None:
                is_open = True
            elif number >= 0:
                for granule in range(number // GRANULE, (number + width - 1) // GRANULE + 1):
                    found[granule] = at
        return _StoredGranules(found, {granule: self.threads[at] for granule, at in found.items()}, is_open)

    def _changed(self, *fenced: bool) -> None:
        """What is pending has changed, of what is fenced or not."""
        for known in (self._spans, self._apart):
            for key in [key for key in known if key[0] in fenced]:
                del known[key]

    def _fill(self, step: WalkStep) -> None:
        """A bulk copy overwrites: what is read there later is its own."""
        first = self._addresses(step.statement, step.statement.address)[0]
        if first is None or first < 0:
            return
        for low, high in self.stages:
            if low <= first < high:
                self._changed(False, True)
                for where in (*self.bare.values(), *self.fenced.values()):
                    for granule in [one for one in where if low <= one * GRANULE < high]:
                        del where[granule]

    def _order(self, step: WalkStep) -> None:
        statement, does = step.statement, step.statement.does
        active = self._active(step)
        if does == "copy-commit":
            self.groups += 1
        elif does == "copy-wait":
            pending = statement.pending
            newest = self.groups - (number_of(pending) or 0) if pending is not None else self.groups + 1
            self._land(newest)
        elif does == "copy-arrive":
            self._land(self.groups + 1)
        elif does == "proxy-fence":
            if fences_shared(statement):
                self._fence(active)
        elif statement.operation.action.barrier != "warp" and some_surely(active):
            self.fenced.clear()
            self._changed(True)

    def _land(self, before: int) -> None:
        """The copies of the groups before a number are complete."""
        self._changed(False)
        for group, statement, found in self.flying:
            if group < before:
                self.bare.setdefault(statement, {}).update(found)
        self.flying = [one for one in self.flying if one[0] >= before]

    def _fence(self, active: Numbers) -> None:
        self._changed(False, True)
        for store, where in list(self.bare.items()):
            if active == 1:
                covered = self.bare.pop(store)
            else:
                covered = {granule: at for granule, at in where.items() if number_at(active, at) != 0}
                for granule in covered:
                    del where[granule]
            self.fenced.setdefault(store, {}).update(covered)

    def _multiply(self, step: WalkStep) -> None:
        def word_of(text: str) -> int | None:
            return number_at(self.registers.value(text, step.statement.scope), 0)

        found = list(granules(step.statement, word_of))
        if not found:
            self.unknown.add(step.position)
            return
        for matrix in found:
            if (step.position, matrix) not in self._seen:
                self._seen.add((step.position, matrix))
                self.read[step.position] |= matrix
        for fenced, pending in ((False, self.bare), (True, self.fenced)):
            for store in self.products[step.position].intersection(pending):
                suspicion = Suspicion(store, step.position, fenced)
                known = self.meetings.get(suspicion)
                if not pending[store] or (known is not None and (known.certain or not self.certain)):
                    continue
                self.together.add(suspicion)
                low, high = self._span(fenced, store, pending[store])
                apart = self._apart.setdefault((fenced, store), set())
                for matrix in found:
                    first, last = _ends(matrix)
                    if first > high or low > last or matrix in apart:
                        continue
                    if not matrix.isdisjoint(pending[store]):
                        steps = self.plan.steps
                        regions = steps.granules_region(low, high), steps.granules_region(first, last)
                        self._meet(suspicion, matrix, pending[store], regions)
                        break
                    apart.add(matrix)

    def _span(self, fenced: bool, store: int, granules: _Granules) -> tuple[int, int]:
        """The first and the last granule of what is pending of a store."""
        key = fenced, store
        if key not in self._spans:
            self._spans[key] = min(granules), max(granules)
        return self._spans[key]

    def _meet(
        self,
        suspicion: Suspicion,
        matrix: frozenset[int],
        wrote: _Granules,
        regions: tuple[ByteRegion, ByteRegion],
    ) -> None:
        """Both touch the same bytes."""
        thread = self.threads[next(at for granule, at in wrote.items() if granule in matrix)]
        placed = not self.placed.isdisjoint((suspicion.store, suspicion.product))
        self.meetings[suspicion] = Meeting(thread, *regions, self.certain, placed)
        if self.certain:
            self.open.discard(suspicion)


@lru_cache(maxsize=1 << 10)
def _ends(matrix: frozenset[int]) -> tuple[int, int]:
    """The first and the last granule of a matrix."""
    return min(matrix), max(matrix)
