"""The one solver of the checker's dataflow analyses: states grow until nothing changes any more.

Two kinds of question use it. `solve_forward` pushes a state along the edges of the control-flow graph.
`Equations` finds values that depend on one another, such as those of registers, when they are asked for.
Both visit what waits in a fixed order, so that the same function always gives the same answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

from .flow import Flow

__all__ = ["Equations", "Trail", "closure", "join_facts", "settle", "solve_forward", "trail_blocks"]

N = TypeVar("N", bound=Hashable)
S = TypeVar("S")
V = TypeVar("V")


def closure(starts: Iterable[N], following: Callable[[N], Iterable[N]]) -> set[N]:
    """Some nodes, and all that follow from them."""
    found: set[N] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += following(node)
    return found


def settle(rank: Mapping[N, int], waiting: Iterable[N], visit: Callable[[N], Iterable[N]]) -> None:
    """Visit nodes, the lowest rank first, until no visit asks for another one.

    `visit` returns the nodes that have to be visited again. Each node waits at most once.
    """
    queued = set(waiting)
    heap = sorted((rank[node], node) for node in queued)
    while heap:
        node = heappop(heap)[1]
        queued.discard(node)
        for again in visit(node):
            if again not in queued:
                queued.add(again)
                heappush(heap, (rank[again], again))


def solve_forward(
    flow: Flow,
    states: list[S],
    transfer: Callable[[int, S], S],
    join: Callable[[S, S, int], bool],
) -> list[S]:
    """The state at the entry of every block: what holds after some path from the function's start.

    `states` holds the state that each block begins with (nothing, but for the first block); it is grown in
    place. `transfer(block, state)` returns the state behind a block and leaves its argument alone.
    `join(known, arriving, block)` adds to a block's state what arrives there and says whether it grew.
    States must not grow forever.
    """
    rank = {number: position for position, number in enumerate(flow.order)}

    def visit(number: int) -> Iterable[int]:
        leaving = transfer(number, states[number])
        return [s for s in flow.blocks[number].successors if join(states[s], leaving, s)]

    settle(rank, rank, visit)
    return states


class Equations(ABC, Generic[N, V]):
    """Values of names, each computed from the values of others: the least fixed point, found on demand. Every
    value is `bottom` at first.
    """

    def __init__(self, bottom: V) -> None:
        self._bottom = bottom
        self._values: dict[N, V] = {}

    @abstractmethod
    def _sources(self, name: N) -> Iterable[N]:
        """The names that a name's value is computed from."""

    @abstractmethod
    def _evaluate(self, name: N) -> V:
        """A name's value, computed anew from what is known so far."""

    @abstractmethod
    def _widen(self, old: V, new: V, turn: int) -> V:
        """The value to keep when a change of a name, of so many, leads from `old` to `new`; it must end every
        chain of changes.
        """

    def _close(self, value: V) -> V:
        """The final value."""
        return value

    def __getitem__(self, name: N) -> V:
        if name not in self._values:
            self._solve(name)
        return self._values[name]

    def _solve(self, root: N) -> None:
        readers, order = self._dependencies(root)
        values = self._values
        values.update(dict.fromkeys(order, self._bottom))
        if readers is None:
            for name in reversed(order):
                values[name] = self._widen(self._bottom, self._evaluate(name), 1)
        else:
            self._settle(readers, order)
        for name in order:
            values[name] = self._close(values[name])

    def _settle(self, readers: Mapping[N, Iterable[N]], order: list[N]) -> None:
        """Evaluate names that depend on one another until no value changes."""
        values = self._values
        turns = dict.fromkeys(order, 0)

        def visit(name: N) -> Iterable[N]:
            old = values[name]
            new = self._widen(old, self._evaluate(name), turns[name] + 1)
            if new == old:
                return ()
            turns[name] += 1
            values[name] = new
            return readers[name]

        rank = {name: -position for position, name in enumerate(order)}
        settle(rank, order, visit)

    def _dependencies(self, root: N) -> tuple[dict[N, list[N]] | None, list[N]]:
        """Who reads each name that `root` depends on and that has no value yet; and these names. No readers
        if every name stands before all that it is computed from: then each is evaluated once, the last first.
        """
        readers: dict[N, list[N]] = {root: []}
        order: list[N] = []
        waiting = [root]
        behind = True
        left: set[N] = set()  # names that stand in the order
        while waiting:
            name = waiting.pop()
            order.append(name)
            left.add(name)
            for source in dict.fromkeys(self._sources(name)):
                if source in self._values:
                    continue
                if source not in readers:
                    readers[source] = []
                    waiting.append(source)
                readers[source].append(name)
                behind = behind and source not in left
        return None if behind else readers, order


class Trail(NamedTuple):
    """How a fact came to where it holds: it starts at a statement, or enters a block; `before` came first."""

    starts: bool
    number: int  # of the statement, or of the block
    before: Trail | None = None

    @property
    def origin(self) -> int | None:
        """The statement where it starts; None where it is the function's own start."""
        step = self
        while step.before is not None:
            step = step.before
        return step.number if step.starts else None


F = TypeVar("F", bound=Hashable)


def join_facts(known: dict[F, Trail], arriving: Mapping[F, Trail], block: int) -> bool:
    """Add the facts that arrive at a block; a fact that holds there already keeps its trail."""
    grown = False
    for fact, trail in arriving.items():
        if fact not in known:
            known[fact] = Trail(False, block, trail)
            grown = True
    return grown


def trail_blocks(flow: Flow, trail: Trail) -> list[int]:
    """The blocks that a trail passes, the first one first."""
    blocks: list[int] = []
    step: Trail | None = trail
    while step is not None:
        if not step.starts:
            blocks.append(step.number)
        elif step.before is None:
            blocks.append(flow.block_of(step.number))
        step = step.before
    return blocks[::-1]
