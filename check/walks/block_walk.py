"""Walk through a function with many threads of a block at once, with the numbers of each.

Where threads part at a branch, those on one side walk first, then the others, up to the statement where they
meet again. For the rest it is like the walk of one thread (thread_walk.py): parameters and the block's place
in the grid get assumed numbers. Where a branch depends on an unknown number, the walk takes the side with
more acts; its acts from there on are not `sure`. It never takes both values of one predicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address, number_of
from ..ptx.source import NAME
from .lanes import LaneMath, LaneNumbers, Numbers, number_at
from .walk_plan import GRID, SIZE, WalkPlan, WalkStep

__all__ = ["BlockAct", "BlockWalk", "walked_threads"]

_LANES = (0, 8)  # of each warp
_WARP, _GROUP = 32, 128
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
    or `cut` (the walk leaves a loop early, or knows nothing of a call). `path` are the threads that come
    there, `lanes` those that execute it, by their positions in the walk. `low` is the address, `width` the
    bytes from there; `is_open`: there may be more of them. n: how many groups a wait leaves; −1: it waits for
    all.
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
    sure: bool = True


def walked_threads(plan: WalkPlan) -> tuple[int, ...]:
    """The threads of the block to walk with, by number.

    A block whose size is not given has one warpgroup if its threads meet at barriers, or else one warp.
    """
    function = plan.function
    meets = any(plan.code.operation(index).action.barrier == "named" for index in plan.roles)
    count = 1
    for size in function.threads or ((_GROUP,) if meets else (_WARP,)):
        count *= size
    warps = range(0, min(-(-count // _WARP), _WARPS))
    return tuple(t for warp in warps for lane in _LANES if (t := warp * _WARP + lane) < max(count, 1))


class BlockWalk:
    """The walk of some threads. `size` is the number of every parameter that is not a pointer."""

    def __init__(self, plan: WalkPlan, threads: tuple[int, ...], size: int) -> None:
        self.plan = plan
        self.threads = threads
        self.math = LaneMath(len(threads))
        self.numbers: dict[str, Numbers] = {**dict(self._specials()), SIZE: size}
        self.assumed: set[str] = set()
        self.chosen: set[str] = (
            set()
        )  # unknown predicates of which the walk has taken one value, and what follows
        self.acts: list[BlockAct] = []
        self.sure = True
        self.steps = 0
        self.rounds: dict[int, int] = {}
        self.taken: Counter[int] = Counter()

    def run(self) -> list[BlockAct]:
        """Walk until the function ends, or for long enough."""
        if self.plan.flow.blocks:
            self._path(0, tuple(range(len(self.threads))), None)
        return self.acts

    def _specials(self) -> Iterator[tuple[str, Numbers]]:
        """The special registers whose numbers are known."""
        function = self.plan.function
        x, y, _ = function.threads or (max(self.threads) + 1, 1, 1)
        yield "%laneid", self.math.joined(t % _WARP for t in self.threads)
        yield "%tid.x", self.math.joined(t % x for t in self.threads)
        yield "%tid.y", self.math.joined(t // x % y for t in self.threads)
        yield "%tid.z", self.math.joined(t // x // y for t in self.threads)
        if function.exact and function.threads:
            yield from zip(("%ntid.x", "%ntid.y", "%ntid.z"), function.threads, strict=True)
        yield from GRID.items()

    # The path

    def _path(self, start: int, lanes: tuple[int, ...], stop: int | None) -> tuple[int, ...]:
        """Walk from a block on, up to another one; the threads that come there."""
        number: int | None = start
        while number is not None and number != stop and lanes and self.steps < _LONGEST:
            block = self.plan.flow.blocks[number]
            self.steps += block.end - block.start + 1
            if number in self._calls:
                self._cut(block.start)
            for step in self.plan.relevant(number):
                self._execute(step, lanes)
            last = self.plan.code[block.end - 1] if block.end > block.start else None
            if last is None or last.does not in _ENDS:
                number = self._entered(number, block.fall)
                continue
            holds = self._holding(last, lanes)
            if self.plan.guard(last) in self.chosen and any(
                self.plan.work(side, number) for side in block.successors
            ):
                self.sure = False
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
                if unknown and not self._way_out(number, sides):
                    self._choose(last, side == block.branch)
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
        guard = self.plan.guard(statement)
        if guard is None:
            return dict.fromkeys(lanes, True)
        numbers = self.numbers.get(guard)
        if not isinstance(numbers, LaneNumbers):
            return dict.fromkeys(lanes, None if numbers is None else bool(numbers) != statement.negated)
        values = ((lane, numbers.values[lane]) for lane in lanes)
        return {lane: None if v is None else bool(v) != statement.negated for lane, v in values}

    def _choose(self, statement: DecodedStatement, holds: bool) -> None:
        """Take a guard to hold, or not, in the threads in which it is unknown."""
        guard = self.plan.guard(statement)
        if guard is None:
            return
        value = int(holds != statement.negated)
        numbers = self.numbers.get(guard)
        if isinstance(numbers, LaneNumbers):
            self.numbers[guard] = self.math.joined(value if v is None else v for v in numbers.values)
        else:
            self.numbers[guard] = value if numbers is None else numbers
        self.chosen.add(guard)

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
            side for side in sides if all(side in self.plan.loops[head] for head in self._around(number))
        ]
        busy = [side for side in inside or sides if self.plan.work(side, number)]
        if busy:
            self.sure = False
        sides = busy or sides
        found = min(sides, key=lambda side: (self.taken[side], -self.plan.work(side, number)))
        self.taken[found] += 1
        return found

    def _around(self, number: int) -> tuple[int, ...]:
        return self.plan.around.get(number, ())

    def _way_out(self, number: int, sides: Sequence[int]) -> int | None:
        """The side that leaves a loop, if the loop was walked often enough."""
        for head in self._around(number):
            leaving = [side for side in sides if side not in self.plan.loops[head]]
            most = _ROUNDS if self.plan.innermost(head) else _OUTER_ROUNDS
            if leaving and self.rounds.get(head, 0) >= most:
                return leaving[0]
        return None

    def _entered(self, number: int, following: int | None) -> int | None:
        """Count a round when a loop begins again; start counting when a loop is entered."""
        if following is None or following not in self.plan.loops:
            return following
        again = number in self.plan.loops[following]
        self.rounds[following] = self.rounds.get(following, 0) + 1 if again else 0
        return None if self.rounds[following] > 2 * _ROUNDS else following

    def _cut(self, statement: int) -> None:
        """Forget what threads have done before."""
        self.acts.append(BlockAct("cut", statement, frozenset(), ()))

    @cached_property
    def _calls(self) -> frozenset[int]:
        """The blocks with calls."""
        flow, code = self.plan.flow, self.plan.code
        return frozenset(flow.block_of(i) for i in range(len(code)) if code.operation(i).does == "call")

    # Statements

    def _execute(self, step: WalkStep, lanes: tuple[int, ...]) -> None:
        """Remember a statement's act, and write its result."""
        executing, known = lanes, True
        if step.guard is not None:
            holds = self._holding(step.statement, lanes)
            executing = tuple(lane for lane in lanes if holds[lane] is not False)
            known = None not in holds.values() and step.guard not in self.chosen
        if not executing:
            return
        if step.acts:
            if not known and step.guard not in self.chosen:
                self._choose(step.statement, True)
            act = self._act(step, lanes, executing, known)
            if act is not None:
                self.acts.append(act)
        if step.wanted:
            self._write(step, executing, known)

    def _write(self, step: WalkStep, lanes: tuple[int, ...], known: bool) -> None:
        if step.result != "awaited" and (step.assumes or not self.assumed.isdisjoint(step.read)):
            self.assumed.update(step.written)
        else:
            self.assumed.difference_update(step.written)
        if self.chosen.isdisjoint(step.read):
            self.chosen.difference_update(step.written)
        else:
            self.chosen.update(step.written)
        value = self._result(step) if known else None
        written = step.written
        if step.result == "elected":
            elected = self.math.joined(int(t % _WARP == 0) for t in self.threads)
            values: list[Numbers] = [None, elected] if len(written) == 2 else [None] * len(written)
        elif len(written) == 1 or value is None or step.result == "parameter":
            values = [value] * len(written)
        elif step.statement.operation.is_move:  # a vector, the lowest bits first
            width = step.bits // len(written)
            values = [self._bits(value, position * width, width) for position in range(len(written))]
        else:
            values = [value] + [None] * (len(written) - 1)
        everywhere = len(lanes) == len(self.threads)
        for register, number in zip(written, values, strict=True):
            old = None if everywhere else self.numbers.get(register)
            self.numbers[register] = number if everywhere else self.math.chosen(lanes, number, old)

    def _bits(self, value: Numbers, low: int, width: int) -> Numbers:
        mask = (1 << width) - 1
        if isinstance(value, LaneNumbers):
            return self.math.joined(None if v is None else v >> low & mask for v in value.values)
        return None if value is None else value >> low & mask

    def _value(self, source: int | str) -> Numbers:
        """A number, or that of a register, or of a predicate that `!` negates."""
        if isinstance(source, int):
            return source
        if not source.startswith("!"):
            return self.numbers.get(source)
        value = self.numbers.get(source[1:])
        if isinstance(value, LaneNumbers):
            return self.math.joined(None if v is None else 1 - v for v in value.values)
        return None if value is None else 1 - value

    def _result(self, step: WalkStep) -> Numbers:
        if step.result == "awaited":
            return 1
        if step.result in ("unknown", "elected"):
            return None
        values = [self._value(source) for source in step.sources]
        if step.result == "computed":
            return self.math.computed(step.words, values)
        if step.result == "packed":
            width = step.bits // len(values)
            packed = [
                self._packed([number_at(v, lane) for v in values], width) for lane in range(len(self.threads))
            ]
            return self.math.joined(packed)
        if step.result == "lane":
            return self._shuffled(step, values)
        return values[0]

    @staticmethod
    def _packed(parts: list[int | None], width: int) -> int | None:
        number = 0
        for place, value in enumerate(parts):
            if value is None:
                return None
            number |= (value & (1 << width) - 1) << place * width
        return number

    def _shuffled(self, step: WalkStep, values: list[Numbers]) -> Numbers:
        """The number of a warp's first lane in all its lanes. Of other shuffles, None if lanes differ."""
        value = values[0]
        if not isinstance(value, LaneNumbers):
            return value
        if "idx" not in step.words or len(values) < 2 or values[1] != 0:
            return None
        first = {t // _WARP: v for t, v in zip(self.threads, value.values, strict=True) if t % _WARP == 0}
        return self.math.joined(first[t // _WARP] for t in self.threads)

    # Acts

    def _act(
        self, step: WalkStep, lanes: tuple[int, ...], executing: tuple[int, ...], known: bool
    ) -> BlockAct | None:
        statement = step.statement
        kind, low, width, barrier = statement.does, None, 0, None
        is_open = False
        text: Address | None = None
        if kind in ("load", "store", "update", "copy"):
            text, width = statement.address, statement.bytes or _ROW
            executing = self._addressing(statement, executing)
        elif kind == "bulk-copy":
            kind, text = _bulk(statement)
            copied = None if statement.size is None else self._operand(statement.size, statement.scope)
            width = copied if isinstance(copied, int) and copied else _ROW
            is_open = width is not copied
            barrier = self._address(statement.barrier, statement.scope)
            if not kind:
                return None
        elif kind in ("arrive", "await", "meet", "copy-arrive"):
            what = statement.operation.action.barrier
            if what == "warp":
                return None
            barrier = self._address(statement.barrier, statement.scope)
            if what == "named":
                barrier = self._operand(statement.barrier_name or "", statement.scope)
        elif kind == "proxy-fence" and statement.operation.space == "global":
            return None
        low = self._address(text, statement.scope)
        if width and low is None:
            return None
        n = -1
        if statement.pending is not None:
            count = self._operand(statement.pending, statement.scope)
            n = count if isinstance(count, int) else -1
        sure = self.sure and known and (self.assumed | self.chosen).isdisjoint(self._named(statement, text))
        return BlockAct(kind, step.index, frozenset(lanes), executing, low, width, is_open, n, barrier, sure)

    def _named(self, statement: DecodedStatement, address: Address | None) -> tuple[str, ...]:
        """The registers of an address."""
        base = () if address is None or address.base is None else (address.base,)
        return self.plan.code.unique(base, statement.scope)

    def _addressing(self, statement: DecodedStatement, lanes: tuple[int, ...]) -> tuple[int, ...]:
        """The threads whose addresses count, where a warp loads or stores rows together."""
        if statement.operation.action.bytes is None:
            return lanes
        vector = next((text for text in statement.operands if text[:1] == "{"), "")
        rows = _REGISTER_ROWS * max(len(NAME.findall(vector)), 1)
        return tuple(lane for lane in lanes if self.threads[lane] % _WARP < rows)

    def _operand(self, text: str, scope: int) -> Numbers:
        number = number_of(text)
        return self._value(self.plan.source(text, scope)) if number is None else number

    def _address(self, address: Address | None, scope: int) -> Numbers:
        if address is None:
            return None
        base: Numbers = 0 if address.base is None else self._operand(address.base, scope)
        if isinstance(base, LaneNumbers):
            return self.math.joined(None if v is None else (v + address.offset) & _WORD for v in base.values)
        return None if base is None else (base + address.offset) & _WORD


def _bulk(statement: DecodedStatement) -> tuple[str, Address | None]:
    """Whether a bulk copy fills shared memory or drains it, and the address there; neither for others."""
    match statement.operation.spaces[:2]:
        case ("shared", "global"):
            return "fill", statement.address
        case ("global", "shared"):
            return "drain", statement.source
    return "", None
