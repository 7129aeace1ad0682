"""Walks through a function with the numbers of some threads: what each does to shared memory, in its order.

Loops whose end depends on the kernel's parameters are walked a few times, registers hold numbers where they
are known. Parameters and the block's place in the grid have numbers that stand for any: arithmetic goes on
with them, but a branch that depends on them is taken as it leads on: to where more happens. What a walk
meets is one path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...spec.descriptor import address_field, split_address
from ...spec.memory_records import Descriptor
from ..memory.byte_regions import ByteRegion
from ..memory.matrices import matrices
from ..memory.shared_memory import WIDEST, fences_shared, fills_shared, stores_shared
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address, number_of
from ..values.intervals import Interval
from .thread_numbers import computed
from .walk_plan import GRID, SIZE, WalkPlan, WalkStep

__all__ = ["Act", "Walked", "short_walks", "walks"]

_LONGEST = 60_000  # statements
_SIZES = (1024, 512, 8)  # of what parameters count: elements, or steps
_LARGE = 2048  # where those fill no stage twice
_FEW = 3  # where those leave a loop before it ends: so few rounds that it is walked to its end
_ROUND = 1 << 7  # as often a walk may come back to where no branch leads out
_GROUP, _WARP = 128, 32
_WORD = (1 << 32) - 1  # addresses of shared memory have 32 bits
_LEAVES = frozenset(("leave", "abort"))
_ENDS = _LEAVES | {"jump", "switch"}


@dataclass(frozen=True, slots=True)
class Act:
    """One statement that counts, with its numbers.

    kind: `mma`, `commit`, `wait` (wgmma); `copy`, `copy-commit`, `copy-wait`, `copy-arrive` (cp.async);
    `bulk`, `store`, `proxy-fence`; `arrive`, `await` (an mbarrier, or a named barrier), `meet` (both); `cut`:
    the walk leaves a loop before it ends. `barrier` is an address, or −1 less the number of a named barrier;
    None where it is not known. `n`: of a wait; of an await its parity, −1 where that is not known; of a cut 1
    for an innermost loop. `loops`: those that a copy or store stands in, the outermost first.
    """

    kind: str
    statement: int
    regions: tuple[ByteRegion, ...] = ()
    barrier: int | None = None
    n: int = 0
    loops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Walked:
    """What one thread does on its path."""

    thread: int
    acts: tuple[Act, ...]


def walks(plan: WalkPlan) -> list[Walked]:
    """The walks of the first thread of each warp, where barriers part their work; else of each warpgroup.

    The warps of a warpgroup that multiplies do alike.
    """
    function = plan.function
    limit = max(function.threads[0], 1) if function.threads else 1
    actions = (plan.code.operation(index).action for index in plan.roles)
    parted = any(action.does == "arrive" and action.barrier == "object" for action in actions)
    threads = range(0, limit, _WARP) if parted else range(0, min(limit, 3 * _GROUP), _GROUP)
    for size in _SIZES:
        found = _walked(plan, threads, size)
        if any(act.kind == "mma" for walk in found for act in walk.acts):
            more = _walked(plan, threads, _LARGE) if parted and not any(map(_refills, found)) else []
            return more or found
    found = _walked(plan, threads, _SIZES[-1], cut=True)
    if any(act.kind == "mma" for walk in found for act in walk.acts):
        return found
    return _walked(plan, threads, _SIZES[-1], cut=True, eager=True)


def short_walks(plan: WalkPlan, long: Sequence[Walked]) -> list[Walked]:
    """Where the walks leave a loop that multiplies before it ends: those that come to its end, if some do."""
    if not any(act.kind == "cut" for walk in long for act in walk.acts):
        return []
    found = _walked(plan, range(0, max(walk.thread for walk in long) + 1, _GROUP), _FEW)
    ended = not any(act.kind == "cut" for walk in found for act in walk.acts)
    return found if ended and any(act.kind == "mma" for walk in found for act in walk.acts) else []


def _refills(walk: Walked) -> bool:
    """Whether a thread copies into some stage twice."""
    counts = Counter(region for act in walk.acts if act.kind in ("bulk", "copy") for region in act.regions)
    return any(count > 1 for count in counts.values())


def _walked(
    plan: WalkPlan, threads: range, size: int, cut: bool = False, eager: bool = False
) -> list[Walked]:
    """One walk a thread; none where one multiplies in a loop that it leaves early, unless `cut`."""
    found: dict[tuple[Act, ...], Walked] = {}
    multiplied = -1  # the last warpgroup that did
    for thread in threads:
        if thread // _GROUP == multiplied:
            continue
        acts: list[Act] = []
        for act in _Walk(plan, thread, size, eager).run():
            if act.kind == "cut" and act.n and not cut and any(one.kind == "mma" for one in acts):
                return []
            acts.append(act)
        found.setdefault(tuple(acts), Walked(thread, tuple(acts)))
        if any(act.kind == "mma" for act in acts):
            multiplied = thread // _GROUP
    return list(found.values())


class _Walk:
    """The registers of one thread, and where it is."""

    def __init__(self, plan: WalkPlan, thread: int, size: int, eager: bool) -> None:
        self.plan = plan
        self.eager = eager  # follow what happens, not the numbers that stand for any
        self.function = plan.function
        self.thread = thread
        self.registers: dict[str, int | None] = {**dict(self._specials()), SIZE: size}
        self.assumed: set[str] = set()  # registers whose numbers stand for any
        self.rounds: dict[int, int] = {}
        self.loops: tuple[int, ...] = ()  # around the block
        self.forced = 0  # a loop was just left although its numbers lead on: 1, an innermost one: 2
        self.taken: Counter[int] = Counter()  # how often each side of a branch that is not known

    def run(self) -> Iterator[Act]:
        """Walk until the function ends, or for long enough."""
        blocks = self.plan.flow.blocks
        number: int | None = 0 if blocks else None
        steps = 0
        while number is not None and steps < _LONGEST and self.plan.budget > 0:
            block = blocks[number]
            steps += block.end - block.start + 1
            self.plan.budget -= block.end - block.start + 1
            self.loops = self.plan.around.get(number, ())
            for one in self.plan.relevant(number):
                guard = self._holds(one.guard, one.negated)
                if one.acts and (guard is not False or (self.eager and one.guard in self.assumed)):
                    act = self._act(one.index, one.statement)
                    if act is not None:
                        yield act
                if one.wanted:
                    self._execute(one, guard)
            number = self._next(number)
            if self.forced:
                yield Act("cut", block.end - 1, n=self.forced - 1)
                self.forced = 0

    def _holds(self, guard: str | None, negated: bool) -> bool | None:
        """Whether a guard holds; None where that is not known."""
        if guard is None:
            return True
        value = self.registers.get(guard)
        return None if value is None else bool(value) != negated

    def _next(self, number: int) -> int | None:
        block = self.plan.flow.blocks[number]
        if block.start == block.end:
            return self._enter(number, block.fall)
        statement = self.plan.code[block.end - 1]
        if statement.does not in _ENDS:
            return self._enter(number, block.fall)
        name = self.plan.guard(statement)
        guard = self._holds(name, statement.negated)
        if statement.does in _LEAVES:
            return None if guard is True else self._enter(number, block.fall)
        sides = list(block.successors)
        if len(sides) < 2:
            return self._enter(number, sides[0] if sides else None)
        if guard is None or guard == (sides[0] != block.branch):
            sides.reverse()
        known = guard is not None and statement.does != "switch"
        return self._enter(number, self._side(number, sides, known, name in self.assumed))

    def _side(self, number: int, sides: list[int], known: bool, is_open: bool) -> int:
        """The side of a branch that is taken; where it is known, the first is what its numbers say."""
        late = False  # a loop is to be left, whichever way leads out
        for head in self.plan.around.get(number, ()):
            body = self.plan.loops[head]
            leaving = [side for side in sides if side not in body]
            over = self.rounds.get(head, 0) >= self.plan.most(head, known and not is_open)
            if leaving and over:
                if known and sides[0] not in leaving:
                    self.forced = 1 + self.plan.innermost(head)
                return leaving[0]
            if is_open and leaving and sides[0] in leaving and not self.rounds.get(head):
                again = [side for side in sides if side in body]
                if again and not self.plan.innermost(head):
                    return again[0]  # what comes round is another block's, or another size's
            late |= over
            if not known and len(leaving) < len(sides):
                sides = [side for side in sides if side in body]
        if len(sides) == 1 or (known and not (is_open and self.eager)):
            return sides[0]
        busy = sides if late else [side for side in sides if self.plan.work(side, number)] or sides[:1]
        taken = min(busy, key=lambda side: (self.taken[side], -self.plan.work(side, number)))
        self.taken[taken] += 1
        return taken

    def _enter(self, number: int, following: int | None) -> int | None:
        """Count the round where a loop begins again; a loop that is entered anew begins to count."""
        if following is None:
            return None
        for head in self.plan.around.get(following, ()):
            if head != following and number not in self.plan.loops[head]:
                self.rounds[head] = -1  # entered behind its head, to which the first round comes late
        if following in self.plan.loops:
            again = number in self.plan.loops[following]
            self.rounds[following] = self.rounds.get(following, 0) + 1 if again else 0
            if again and self.rounds[following] > _ROUND:
                return None
        return following

    # Numbers

    def _specials(self) -> Iterator[tuple[str, int]]:
        """The special registers that are known."""
        shape = self.function.threads or (128, 1, 1)
        yield "%tid.x", self.thread % shape[0]
        yield "%laneid", self.thread % _WARP
        if shape[1] == shape[2] == 1:
            yield from (("%tid.y", 0), ("%tid.z", 0))
        if self.function.exact:
            yield "%ntid.x", shape[0]
        yield from GRID.items()

    def _value(self, text: str, scope: int) -> int | None:
        found = self.plan.source(text, scope)
        return found if isinstance(found, int) else self.registers.get(found)

    def _execute(self, one: WalkStep, guard: bool | None) -> None:
        written = one.written
        if guard is False:
            if one.guard in self.assumed:
                self.assumed.update(written)
            return
        if one.result != "awaited" and (one.assumes or not self.assumed.isdisjoint(one.read)):
            self.assumed.update(written)
        else:
            self.assumed.difference_update(written)
        value = None if guard is None else self._result(one)
        if len(written) == 1 or value is None or one.result == "parameter":
            for register in written:
                self.registers[register] = value
        elif one.statement.operation.is_move:  # a vector, the lowest bits first
            width = one.bits // len(written)
            for position, register in enumerate(written):
                self.registers[register] = value >> position * width & (1 << width) - 1
        else:
            for position, register in enumerate(written):
                self.registers[register] = None if position else value
        if one.result == "elected" and len(written) == 2:
            self.registers[written[1]] = int(self.thread % _WARP == 0)

    def _result(self, one: WalkStep) -> int | None:
        if one.result == "unknown" or one.result == "elected":
            return None
        if one.result == "awaited":
            return 1
        values = [s if isinstance(s, int) else self.registers.get(s) for s in one.sources]
        if one.result == "computed":
            return computed(one.words, one.bits, values)
        if one.result == "packed":
            width, number = one.bits // len(values), 0
            for place, value in enumerate(values):
                if value is None:
                    return None
                number |= (value & (1 << width) - 1) << place * width
            return number
        if one.result == "lane" and self.thread % _WARP:
            return None
        return values[0]

    def _address(self, address: Address | None, scope: int) -> int | None:
        if address is None:
            return None
        base = 0 if address.base is None else self._value(address.base, scope)
        return None if base is None else (base + address.offset) & _WORD

    # What counts

    def _act(self, index: int, statement: DecodedStatement) -> Act | None:
        make = _ACTS.get(statement.does)
        return make(self, index, statement) if make is not None else None

    def _mma(self, index: int, statement: DecodedStatement) -> Act:
        found = matrices(statement, self._described)
        return Act("mma", index, tuple(region for region in found if region.base is not None))

    def _group(self, index: int, statement: DecodedStatement) -> Act:
        """A commit, or a wait, of products or of copies; −1 waits for all."""
        pending = statement.pending
        n = -1 if pending is None and statement.does == "copy-wait" else number_of(pending or "") or 0
        return Act(statement.does, index, n=n)

    def _copy_arrive(self, index: int, statement: DecodedStatement) -> Act:
        return Act("copy-arrive", index, barrier=self._barrier(statement))

    def _arrive(self, index: int, statement: DecodedStatement) -> Act | None:
        known = statement.operation.action.barrier in ("object", "named")
        return Act("arrive", index, barrier=self._barrier(statement)) if known else None

    def _await(self, index: int, statement: DecodedStatement) -> Act:
        parity = None if statement.phase is None else self._value(statement.phase, statement.scope)
        n = -1 if parity is None else parity & 1
        return Act("await", index, barrier=self._barrier(statement), n=n)

    def _meet(self, index: int, statement: DecodedStatement) -> Act | None:
        known = statement.operation.action.barrier in ("named", "cluster")
        return Act("meet", index, barrier=self._barrier(statement)) if known else None

    def _fence(self, index: int, statement: DecodedStatement) -> Act | None:
        return Act("proxy-fence", index) if fences_shared(statement) else None

    def _bulk(self, index: int, statement: DecodedStatement) -> Act | None:
        if not fills_shared(statement):
            return None
        target = self._target(statement, WIDEST)
        return Act("bulk", index, target, self._barrier(statement), loops=self.loops)

    def _copy(self, index: int, statement: DecodedStatement) -> Act:
        return Act("copy", index, self._target(statement, statement.bytes or WIDEST), loops=self.loops)

    def _store(self, index: int, statement: DecodedStatement) -> Act | None:
        if not stores_shared(statement):
            return None
        return Act("store", index, self._target(statement, statement.bytes or WIDEST), loops=self.loops)

    def _barrier(self, statement: DecodedStatement) -> int | None:
        """An mbarrier's address; −1 less the number of a named barrier; −1 for the cluster's."""
        kind, name = statement.operation.action.barrier, statement.barrier_name
        if kind == "object":
            return self._address(statement.barrier, statement.scope)
        number = 0 if kind == "cluster" else self._value(name, statement.scope) if name else None
        return None if number is None else -1 - number

    def _target(self, statement: DecodedStatement, width: int) -> tuple[ByteRegion, ...]:
        address = self._address(statement.address, statement.scope)
        return () if address is None else (ByteRegion("shared", address, address + width),)

    def _described(self, text: str, scope: int, descriptor: Descriptor) -> Interval:
        word = self._value(text, scope)
        if word is None:
            return Interval(0, 0)
        start, fields = split_address(descriptor, word)
        shift = address_field(descriptor).unit.bit_length() - 1
        return Interval(start, start, "shared", shift, fields)


_ACTS: Mapping[str, Callable[[_Walk, int, DecodedStatement], Act | None]] = {
    "multiply": _Walk._mma,
    "commit": _Walk._group,
    "wait": _Walk._group,
    "copy-commit": _Walk._group,
    "copy-wait": _Walk._group,
    "copy-arrive": _Walk._copy_arrive,
    "arrive": _Walk._arrive,
    "await": _Walk._await,
    "meet": _Walk._meet,
    "proxy-fence": _Walk._fence,
    "bulk-copy": _Walk._bulk,
    "copy": _Walk._copy,
    "store": _Walk._store,
    "update": _Walk._store,
}
