"""Threads that have taken the same path so far, and their registers: one number for all, or one for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..walks.walk_plan import GRID, SIZE, WalkPlan, WalkStep
from .lane_values import LaneNumber, LaneValue, at, combined, shallow

__all__ = ["GroupRegisters", "Join", "ThreadGroup", "special_registers"]

_WARP, _GROUP = 32, 128


class GroupRegisters:
    """Numbers by register. Those in `assumed` follow from assumed numbers, of parameters or of the grid;
    those in `remote` from addresses in other blocks of the cluster.
    """

    def __init__(
        self,
        plan: WalkPlan,
        numbers: dict[str, LaneNumber],
        assumed: set[str],
        remote: frozenset[str] = frozenset(),
    ) -> None:
        self.plan = plan
        self.numbers = numbers
        self.assumed = assumed
        self.remote = remote

    def copy(self) -> GroupRegisters:
        """Registers of their own with the same contents."""
        return GroupRegisters(self.plan, dict(self.numbers), set(self.assumed), self.remote)

    def value(self, text: str, scope: int) -> LaneNumber:
        """The value of an operand; None if unknown."""
        found = self.plan.source(text, scope)
        return found if isinstance(found, int) else self.numbers.get(found)

    def guard(self, name: str | None, negated: bool) -> LaneNumber:
        """Whether a guard is true, as 0 or 1."""
        if name is None:
            return 1
        value = self.numbers.get(name)
        if isinstance(value, LaneValue):
            return combined(("not", "pred"), (value,), ()) if negated else value
        return None if value is None else int(bool(value) != negated)

    def execute(self, step: WalkStep, guard: LaneNumber, threads: tuple[int, ...]) -> None:
        """Write a statement's result; `guard` says in which threads its guard is true."""
        written = step.written
        if guard == 0:
            if step.guard in self.assumed:
                self.assumed.update(written)
            return
        if step.result != "awaited" and (step.assumes or not self.assumed.isdisjoint(step.read)):
            self.assumed.update(written)
        elif guard == 1:
            self.assumed.difference_update(written)
        if step.statement.does == "map-address" or not self.remote.isdisjoint(step.read):
            self.remote |= frozenset(written)
        made = self._results(step, threads)
        for register, value in zip(written, made, strict=True):
            if isinstance(guard, LaneValue):
                value = self._where(guard, value, self.numbers.get(register), threads)
            self.numbers[register] = None if guard is None else value

    @staticmethod
    def _where(guard: LaneValue, value: LaneNumber, old: LaneNumber, threads: tuple[int, ...]) -> LaneNumber:
        """The new number in the threads whose guard is true, the old one in the others."""
        deep = [one.depth for one in (guard, value, old) if isinstance(one, LaneValue)]

        def of(thread: int) -> int | None:
            chosen = guard.at(thread)
            return None if chosen is None else at(value if chosen else old, thread)

        return shallow(LaneValue(of, 1 + max(deep)), threads)

    def _results(self, step: WalkStep, threads: tuple[int, ...]) -> list[LaneNumber]:
        """What a statement writes, by its destinations."""
        count = len(step.written)
        if step.result == "elected":
            first: list[LaneNumber] = [0, LaneValue(lambda thread: int(thread % _WARP == 0))]
            return first[-count:]  # `_` is no register
        value = self._result(step, threads)
        if count == 1 or value is None or step.result == "parameter":
            return [value] * count
        if not step.statement.operation.is_move:
            return [value] + [None] * (count - 1)
        width = step.bits // count  # a vector, the lowest bits first
        mask = (1 << width) - 1
        return [
            combined(
                ("and", f"b{step.bits}"), (_shifted(value, k * width, step.bits, threads), mask), threads
            )
            for k in range(count)
        ]

    def _result(self, step: WalkStep, threads: tuple[int, ...]) -> LaneNumber:
        if step.result == "unknown":
            return None
        if step.result == "awaited":
            return 1
        values = [source if isinstance(source, int) else self._source(source) for source in step.sources]
        if step.result == "computed":
            return combined(step.words, values, threads)
        if step.result == "packed":
            return self._packed(values, step.bits, threads)
        if step.result == "lane":
            return self._shuffled(step, values)
        return values[0]

    def _source(self, name: str) -> LaneNumber:
        if not name.startswith("!"):
            return self.numbers.get(name)
        return self.guard(name[1:], True)

    @staticmethod
    def _packed(values: Sequence[LaneNumber], bits: int, threads: tuple[int, ...]) -> LaneNumber:
        """A vector as one number, the lowest bits first."""
        width = bits // len(values)
        mask = (1 << width) - 1
        whole: LaneNumber = 0
        for place, value in enumerate(values):
            part = combined(("and", f"b{bits}"), (value, mask), threads)
            whole = combined(
                ("or", f"b{bits}"), (whole, _shifted(part, -place * width, bits, threads)), threads
            )
        return whole

    @staticmethod
    def _shuffled(step: WalkStep, values: Sequence[LaneNumber]) -> LaneNumber:
        """shfl.idx with one lane for the whole warp; other shuffles are unknown."""
        source = values[0]
        if not isinstance(source, LaneValue):
            return source
        lane = values[1] if len(values) > 1 else None
        if "idx" not in step.words or not isinstance(lane, int):
            return None
        return LaneValue(lambda thread: source.at(thread - thread % _WARP + lane % _WARP), source.depth + 1)


def _shifted(value: LaneNumber, down: int, bits: int, threads: tuple[int, ...]) -> LaneNumber:
    """A number shifted to the right; to the left if `down` is negative."""
    if not down:
        return value
    return combined(("shr" if down > 0 else "shl", f"b{bits}"), (value, abs(down)), threads)


def special_registers(plan: WalkPlan, size: int) -> Iterator[tuple[str, LaneNumber]]:
    """The special registers whose numbers are known, and the number of every parameter that is a size."""
    x, y, z = plan.function.threads or (128, 1, 1)
    yield "%tid.x", LaneValue(lambda thread: thread % x)
    yield "%tid.y", LaneValue(lambda thread: thread // x % y) if y > 1 else 0
    yield "%tid.z", LaneValue(lambda thread: thread // (x * y) % z) if z > 1 else 0
    yield "%laneid", LaneValue(lambda thread: thread % _WARP)
    yield "%warpid", LaneValue(lambda thread: thread // _WARP)
    if plan.function.exact:
        yield from zip(("%ntid.x", "%ntid.y", "%ntid.z"), (x, y, z), strict=True)
    yield from GRID.items()
    yield SIZE, size


@dataclass(eq=False)
class Join:
    """A block where the parts of a split group meet again; None is the function's end."""

    block: int | None
    outstanding: int
    around: Join | None = None
    parts: list[ThreadGroup] = field(default_factory=list)
    met: bool = False
    abandoned: bool = False

    def abandon(self) -> None:
        """Let the parts go on without each other; each of them arrives where the whole was expected."""
        self.abandoned = True
        if self.around is not None:
            self.around.outstanding += self.outstanding + len(self.parts) - 1


@dataclass(eq=False)
class ThreadGroup:
    """Threads on one path: their block, registers, the joins that they go towards, the rounds of loops.

    `doubtful`: a branch was taken by an assumed number, and it was none that ends a loop. `done`: how many
    statements of its block were executed before the group was divided.
    """

    threads: tuple[int, ...]
    block: int | None
    registers: GroupRegisters
    joins: tuple[Join, ...] = ()
    rounds: dict[int, int] = field(default_factory=dict)
    doubtful: bool = False
    steps: int = 0
    done: int = 0

    @cached_property
    def warps(self) -> dict[int, tuple[int, ...]]:
        """The threads by warp."""
        return by_warp(self.threads)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the threads are all those of some warpgroups."""
        groups = {thread // _GROUP for thread in self.threads}
        return len(self.threads) == _GROUP * len(groups)

    def part(self, threads: tuple[int, ...], block: int | None, join: Join) -> ThreadGroup:
        """Some of the threads, which go their own way until they meet the others."""
        return ThreadGroup(
            threads,
            block,
            self.registers.copy(),
            (*self.joins, join),
            dict(self.rounds),
            self.doubtful,
            self.steps,
        )


def by_warp(threads: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Threads by their warp."""
    found: dict[int, list[int]] = {}
    for thread in threads:
        found.setdefault(thread // _WARP, []).append(thread)
    return {warp: tuple(some) for warp, some in found.items()}


def merged(parts: Sequence[ThreadGroup], join: Join) -> ThreadGroup:
    """One group of the parts that have met."""
    owner = {thread: part.registers.numbers for part in parts for thread in part.threads}
    threads = tuple(sorted(owner))
    first = parts[0].registers
    numbers = dict(first.numbers)
    for name in {name for part in parts for name in part.registers.numbers}:
        found = [part.registers.numbers.get(name) for part in parts]
        if any(one is not found[0] and one != found[0] for one in found[1:]):
            numbers[name] = _joined(name, owner, found, threads)
    assumed = set().union(*(part.registers.assumed for part in parts))
    remote = frozenset[str]().union(*(part.registers.remote for part in parts))
    return ThreadGroup(
        threads,
        join.block,
        GroupRegisters(first.plan, numbers, assumed, remote),
        parts[0].joins[: parts[0].joins.index(join)],
        {head: max(part.rounds.get(head, 0) for part in parts) for part in parts for head in part.rounds},
        any(part.doubtful for part in parts),
        max(part.steps for part in parts),
    )


def _joined(
    name: str, owner: dict[int, dict[str, LaneNumber]], found: Sequence[LaneNumber], threads: tuple[int, ...]
) -> LaneValue:
    depth = max((one.depth for one in found if isinstance(one, LaneValue)), default=0)
    return shallow(LaneValue(lambda thread: at(owner.get(thread, {}).get(name), thread), depth + 1), threads)
