"""Walk through a function with many threads of a block at once, with the numbers of each.

Where threads part at a branch, those on one side walk first, then the others, up to the statement where they
meet again. For the rest it is like the walk of one thread (thread_walk.py): parameters and the block's place
in the grid get assumed numbers. Where a branch depends on an unknown number, the walk takes the side with
more acts; its acts from there on are not `certain`. It never takes both values of one predicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ...spec.lazy_dataclass import dataclass
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address
from ..ptx.source import NAME
from ..values.block_threads import WARP, WARPGROUP, size_of
from ..values.lane_numbers import LaneNumbers, Numbers, number_at
from .registers import Registers
from .walk_plan import WalkPlan
from .walk_steps import WalkStep

__all__ = ["BlockAct", "BlockWalk", "walked_threads"]

_LANES = (0, 8)  # of each warp
_WARPS = 16  # of a block, at most
_WORD = (1 << 32) - 1  # addresses of shared memory have 32 bits
_ROUNDS = 6  # rounds of a loop: more than a pipeline that ordinary loads read has stages
_OUTER_ROUNDS = 3  # rounds of a loop around such a loop
_LONGEST = 40_000  # statements of one walk
_ROW = 16  # bytes that a lane gives the address of, where a warp loads or stores together
_REGISTER_ROWS = 8  # such rows that one register of each lane holds
_LEAVES = frozenset(("leave", "abort"))
_ENDS = _LEAVES | {"jump", "switch"}


@dataclass(frozen=True, slots=True)
class BlockAct:
    """What some threads do to shared memory, or to its order, at one statement of their walk.

    kind: an action of spec/effects.yaml; or `fill` and `drain` (bulk copies into and out of shared memory),
    `pass` (threads arrive at a named barrier and go on), or `cut` (the walk leaves a loop early, or knows
    nothing of a call). `path` are the threads that come
    there, `lanes` those that execute it, by their positions in the walk. `low` is the address, `width` the
    bytes from there; `is_open`: there may be more of them. n: how many groups a wait leaves; −1: it waits for
    all. parity: that of the phase of an mbarrier that a wait is for.
    """

    kind: str
    statement: int
    path: frozenset[int]
    lanes: tuple[int, ...]
    low: Numbers = None
    width: int = 0
    is_open: bool = False
    n: int = -1
    barrier: Numbers = None
    certain: bool = True
    parity: Numbers = None


def walked_threads(plan: WalkPlan) -> tuple[int, ...]:
    """The threads of the block to walk with, by number.

    A block whose size is not given has one warpgroup if its threads meet at barriers, or else one warp. One
    of unknown shape has one warp: which threads of others differ in %tid.x, and which in %tid.y?
    """
    function = plan.function
    meets = any(plan.code.operation(index).action.barrier == "named" for index in plan.roles)
    count = size_of(function.threads or ((WARPGROUP,) if meets and not function.plane else (WARP,)))
    warps = range(0, min(-(-count // WARP), _WARPS))
    return tuple(t for warp in warps for lane in _LANES if (t := warp * WARP + lane) < max(count, 1))


class BlockWalk:
    """The walk of some threads. `size` is the number of every parameter that is not a pointer."""

    def __init__(self, plan: WalkPlan, threads: tuple[int, ...], size: int) -> None:
        self.plan = plan
        self.threads = threads
        self.registers = Registers(plan.steps, threads, size)
        self.acts: list[BlockAct] = []
        self.certain = True
        self.is_possible = True
        self.steps = 0
        self.rounds: dict[int, int] = {}
        self.taken: Counter[int] = Counter()
        self._statements: dict[int, _Said] = {}
        self._paths: dict[tuple[int, ...], frozenset[int]] = {}

    def run(self) -> list[BlockAct]:
        """Walk until the function ends, or for long enough."""
        if self.plan.flow.blocks:
            self._path(0, tuple(range(len(self.threads))), None)
        return self.acts

    # The path

    def _path(self, start: int, lanes: tuple[int, ...], stop: int | None) -> tuple[int, ...]:
        """Walk from a block on, up to another one; the threads that come there."""
        number: int | None = start
        while number is not None and number != stop and lanes and self.steps < _LONGEST:
            block = self.plan.flow.blocks[number]
            self.steps += block.end - block.start + 1
            if number in self._calls:
                self._cut(block.start)
            on = self._on(lanes)
            for _, computing, step, acts, makes in self.plan.runs(number):
                if computing:
                    self.registers.compute(computing, on)
                if step is not None:
                    self._execute(step, lanes, on, acts, makes)
            last = self.plan.code[block.end - 1] if block.end > block.start else None
            if last is None or last.does not in _ENDS:
                number = self._entered(number, block.fall)
                continue
            holds = self._holding(last, lanes)
            if self.plan.steps.guard(last) in self.registers.chosen and any(
                self.plan.work(side, number) for side in block.successors
            ):
                self.certain = False
            if last.does in _LEAVES:
                lanes = tuple(lane for lane in lanes if holds.get(lane) is not True)
                number = self._entered(number, block.fall)
                continue
            sides = list(block.successors)
            values = set(holds.values())
            if len(sides) < 2 or last.does == "switch" or len(values) == 1 or None in values:
                value = values.pop() if len(values) == 1 and last.does != "switch" else None
                side = self._side(number, sides, value) if sides else None
                unknown = None in values and len(sides) > 1 and last.does == "jump"
                if not unknown or self._way_out(number, sides):
                    number = self._entered(number, side)
                    continue
                self._choose(last, side == block.branch)
                holds = self._holding(last, lanes)  # threads that know where to go do so
                if None in holds.values() or len(set(holds.values())) == 1:
                    number = self._entered(number, side)
                    continue
            if over := self._way_out(number, sides):
                self._cut(block.end - 1)
                number = self._entered(number, over)
                continue
            number, lanes = self._parted(number, holds, lanes)
        return lanes if number == stop else ()

    def _parted(
        self, number: int, holds: dict[int, bool | None], lanes: tuple[int, ...]
    ) -> tuple[int | None, tuple[int, ...]]:
        """Walk both sides of a branch that threads take differently; where they meet, and who comes there."""
        block = self.plan.flow.blocks[number]
        end = self.plan.flow.post_dominator.get(number)
        arrived: tuple[int, ...] = ()
        for side, taken in ((block.branch, True), (block.fall, False)):
            going = tuple(lane for lane in lanes if holds[lane] is taken)
            if side is not None and going:
                entered = self._entered(number, side)
                arrived += self._path(entered, going, end) if entered is not None else ()
        return end, tuple(sorted(arrived))

    def _holding(self, statement: DecodedStatement, lanes: tuple[int, ...]) -> dict[int, bool | None]:
        """Whether a statement's guard holds in each thread; None where it is unknown."""
        guard = self.plan.steps.guard(statement)
        if guard is None:
            return dict.fromkeys(lanes, True)
        holds = self.registers.guard(guard, statement.negated)
        if not isinstance(holds, LaneNumbers):
            return dict.fromkeys(lanes, None if holds is None else holds == 1)
        values = holds.values
        return {lane: None if values[lane] is None else values[lane] == 1 for lane in lanes}

    def _choose(self, statement: DecodedStatement, holds: bool) -> None:
        """Take a guard to hold, or not, in the threads in which it is unknown."""
        guard = self.plan.steps.guard(statement)
        if guard is None:
            return
        value = int(holds != statement.negated)
        numbers = self.registers.numbers.get(guard)
        if isinstance(numbers, LaneNumbers):
            joined = self.registers.math.joined
            self.registers.numbers[guard] = joined(value if v is None else v for v in numbers.values)
        else:
            self.registers.numbers[guard] = value if numbers is None else numbers
        self.registers.chosen.add(guard)

    def _side(self, number: int, sides: list[int], value: bool | None) -> int:
        """The side of a branch that all threads take."""
        block = self.plan.flow.blocks[number]
        if over := self._way_out(number, sides):
            straight = block.branch if value else block.fall
            if value is None or straight != over:
                self._cut(block.end - 1)
            return over
        if value is not None:
            taken = block.branch if value else block.fall
            return sides[0] if taken is None else taken
        inside = [
            side
            for side in sides
            if all(side in self.plan.loops.blocks[head] for head in self._around(number))
        ]
        busy = [side for side in inside or sides if self.plan.work(side, number)]
        if busy:
            self.certain = False
        sides = busy or sides
        found = min(sides, key=lambda side: (self.taken[side], -self.plan.work(side, number)))
        self.taken[found] += 1
        return found

    def _around(self, number: int) -> tuple[int, ...]:
        return self.plan.loops.around.get(number, ())

    def _way_out(self, number: int, sides: Sequence[int]) -> int | None:
        """The side that leaves a loop, if the loop was walked often enough."""
        for head in self._around(number):
            leaving = [side for side in sides if side not in self.plan.loops.blocks[head]]
            most = _ROUNDS if self.plan.innermost(head) else _OUTER_ROUNDS
            if leaving and self.rounds.get(head, 0) >= most:
                return leaving[0]
        return None

    def _entered(self, number: int, following: int | None) -> int | None:
        """Count a round when a loop begins again; start counting when a loop is entered."""
        if following is None or following not in self.plan.loops.blocks:
            return following
        again = number in self.plan.loops.blocks[following]
        self.rounds[following] = self.rounds.get(following, 0) + 1 if again else 0
        return None if self.rounds[following] > 2 * _ROUNDS else following

    def _cut(self, statement: int) -> None:
        """Forget what threads have done before."""
        self.acts.append(BlockAct("cut", statement, frozenset(), ()))

    @cached_property
    def _calls(self) -> frozenset[int]:
        """The blocks with calls."""
        flow, code = self.plan.flow, self.plan.code
        return frozenset(flow.block_of(i) for i in code.doing("call"))

    # Statements

    def _execute(self, step: WalkStep, lanes: tuple[int, ...], on: Numbers, acts: bool, makes: bool) -> None:
        """Remember a statement's act, and write its result. `on`: in which threads, as a flag."""
        if step.guard is None:
            if acts and (act := self._act(step, lanes, lanes, True)) is not None:
                self.acts.append(act)
            if makes:
                self._make(step, lanes, 1, on)
            return
        executing, known, guard = lanes, True, self.registers.guard(step.guard, step.negated)
        if isinstance(guard, LaneNumbers):
            sides = guard.by_value(lanes)
            executing = lanes if 0 not in sides else tuple(sorted({*lanes}.difference(sides[0])))
            known = None not in sides
        elif guard != 1:
            executing, known = () if guard == 0 else lanes, guard is not None
        known &= step.guard not in self.registers.chosen
        if not executing:
            return
        if acts:
            if not known and step.guard not in self.registers.chosen:
                self._choose(step.statement, True)
            act = self._act(step, lanes, executing, known)
            if act is not None:
                self.acts.append(act)
        if makes:
            if acts and not known:
                guard = self.registers.guard(step.guard, step.negated)  # it was chosen
            self._make(step, executing, guard, on)

    def _make(self, step: WalkStep, executing: tuple[int, ...], guard: Numbers, on: Numbers) -> None:
        """Write a statement's result."""
        if step.divides:
            divisor = self._held(step.sources[-1])
            self.is_possible &= all(number_at(divisor, lane) != 0 for lane in executing)
        self.registers.execute(step, guard, on)

    def _held(self, source: int | str) -> Numbers:
        return source if isinstance(source, int) else self.registers.numbers.get(source)

    def _on(self, lanes: tuple[int, ...]) -> Numbers:
        """A flag: which threads come to a statement."""
        if len(lanes) == len(self.threads):
            return 1
        return self.registers.math.flags(lanes)

    # Acts

    def _act(
        self, step: WalkStep, lanes: tuple[int, ...], executing: tuple[int, ...], known: bool
    ) -> BlockAct | None:
        one = self._statements.get(step.position)
        if one is None:
            one = self._statements[step.position] = _said(self.plan, step.statement)
        kind, width, scope = one.kind, one.width, step.statement.scope
        if not kind:
            return None
        if one.rows is not None:
            executing = tuple(lane for lane in executing if self.threads[lane] % WARP < one.rows)
        is_open = False
        if one.size is not None:
            copied = self._operand(one.size, scope) if one.size else None
            numbers = {number_at(copied, lane) for lane in executing}
            is_open = len(numbers) > 1 or not all(numbers)
            width = _ROW if is_open else max(filter(None, numbers), default=_ROW)
        barrier = self._address(one.barrier, scope)
        if one.name is not None:
            barrier = self._operand(one.name, scope)
        low = self._address(one.address, scope)
        if width and (low is None or self.registers.is_remote(one.address, scope)):
            return None
        n = -1
        if one.pending is not None:
            count = self._operand(one.pending, scope)
            n = count if isinstance(count, int) else -1
        registers = self.registers
        certain = (
            self.certain
            and known
            and registers.assumed.isdisjoint(one.named)
            and registers.chosen.isdisjoint(one.named)
        )
        path = self._paths.get(lanes)
        if path is None:
            path = self._paths[lanes] = frozenset(lanes)
        parity = None if one.parity is None else self._operand(one.parity, scope)
        return BlockAct(
            kind, step.position, path, executing, low, width, is_open, n, barrier, certain, parity
        )

    def _operand(self, text: str, scope: int) -> Numbers:
        return self.registers.value(text, scope)

    def _address(self, address: Address | None, scope: int) -> Numbers:
        if address is None:
            return None
        base: Numbers = 0 if address.base is None else self._operand(address.base, scope)
        if isinstance(base, LaneNumbers):
            offset = address.offset & _WORD
            return self.registers.math.computed(("add", "u32"), (base, offset))
        return None if base is None else (base + address.offset) & _WORD


class _Said(NamedTuple):
    """What a statement says about its acts, whatever its registers hold; none if `kind` is empty.

    rows: how many lanes of a warp give an address, where not all do. size: the operand with the bytes of a
    bulk copy, empty where it has none. named: the registers of the address.
    """

    kind: str
    address: Address | None = None
    width: int = 0
    rows: int | None = None
    size: str | None = None
    barrier: Address | None = None
    name: str | None = None
    pending: str | None = None
    parity: str | None = None
    named: tuple[str, ...] = ()


def _said(plan: WalkPlan, statement: DecodedStatement) -> _Said:
    found = _Said(statement.does, pending=statement.pending)
    match statement.does:
        case "load" | "store" | "update" | "copy":
            width, rows = statement.bytes or _ROW, _rows(statement)
            found = found._replace(address=statement.address, width=width, rows=rows)
        case "bulk-copy":
            kind, address = _bulk(statement)
            found = found._replace(kind=kind, address=address, barrier=statement.barrier)
            known = statement.operation.action.bytes
            found = (
                found._replace(size=statement.size or "") if known is None else found._replace(width=known)
            )
        case "init" | "arrive" | "await" | "meet" | "copy-arrive":
            what = statement.operation.action.barrier
            name = (statement.barrier_name or "") if what == "named" else None
            kind = "" if what == "warp" else statement.does
            if what == "named" and kind == "arrive":
                kind = "pass"
            found = found._replace(kind=kind, barrier=statement.barrier, name=name, parity=statement.phase)
        case "allocate":
            return _Said("")
        case "proxy-fence" if statement.operation.space == "global":
            return _Said("")
    base = () if found.address is None or found.address.base is None else (found.address.base,)
    return found._replace(named=plan.code.unique(base, statement.scope))


def _rows(statement: DecodedStatement) -> int | None:
    """How many lanes of a warp give the address of a row, where it loads or stores rows together."""
    if statement.operation.action.bytes is None:
        return None
    vector = next((text for text in statement.operands if text[:1] == "{"), "")
    return _REGISTER_ROWS * max(len(NAME.findall(vector)), 1)


def _bulk(statement: DecodedStatement) -> tuple[str, Address | None]:
    """Whether a bulk copy fills shared memory or drains it, and the address there; neither for others."""
    match statement.operation.way:
        case ("shared", "global"):
            return "fill", statement.address
        case ("global", "shared"):
            return "drain", statement.source
    return "", None
