"""Whether a path can happen from a generic write to a product that finds it unordered.

Up to a barrier the path is the writer's; behind it another thread may go on, which multiplies. So conditions
that differ between threads are forgotten there; those that all threads evaluate alike are not.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..paths.path_question import PathAnswer, PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..ptx.decode import DecodedFunction
from ..ptx.inlining import call_of
from .proxy_dataflow import COMPLETE, LOOSE, ProxyDataflow, WriteOrder
from .shared_memory import (
    Barrier,
    BulkCopyWrite,
    MatrixRead,
    MemoryEvent,
    ProxyFenceStatement,
    Store,
    fences_shared,
)

__all__ = ["ProxyPaths"]

_VISITS = 20_000  # of blocks, in all questions about a function; then every path counts as possible
_Orders = tuple[frozenset[WriteOrder], bool]  # how far the write is ordered; whether an unknown function ran


class ProxyPaths:
    """Answers about one function, each pair of blocks asked once."""

    def __init__(self, code: DecodedFunction, dataflow: ProxyDataflow, events: Iterable[MemoryEvent]) -> None:
        self.code = code
        self.dataflow = dataflow
        self.events: dict[int, MemoryEvent] = {event.statement: event for event in events}
        self.calls: dict[int, str] = {}
        for index in code.doing("call", "proxy-fence", "meet", "await"):
            operation = code.operation(index)
            if operation.does == "call":
                self.calls[index] = call_of(code.function.statements[index]).name or "a computed function"
            elif operation.does == "proxy-fence" and fences_shared(code[index]):
                self.events[index] = ProxyFenceStatement(index)  # one with a guard too: the path decides
            elif operation.does in ("meet", "await") and operation.action.barrier != "warp":
                self.events[index] = Barrier(index)
        self._slice: PathSlice | None = None
        self._values = PathValues(code)
        self._known: dict[tuple[object, ...], PathAnswer] = {}
        self._visits = 0

    def possible(self, store: Store, order: WriteOrder, read: MatrixRead) -> bool:
        """Whether a path may lead there."""
        return self._answer(store, order, read).verdict != "infeasible"

    def certain(self, store: Store, order: WriteOrder, read: MatrixRead) -> bool:
        """Whether a path that can happen leads there."""
        return self._answer(store, order, read).verdict == "feasible"

    def doubt(self, store: Store, order: WriteOrder, read: MatrixRead) -> str | None:
        """A function without a body that each path calls in between, and that may fence; None if none is."""
        if not self.calls:
            return None
        way = self._answer(store, order, read).statements
        block = self.dataflow.flow.block_of(store.statement)
        last = max((at for at, index in enumerate(way) if self._starts(index, block)), default=0)
        return next((self.calls[index] for index in way[last:] if index in self.calls), None)

    def _starts(self, index: int, block: int) -> bool:
        """Whether a statement of a path is a store of a block."""
        return isinstance(self.events.get(index), Store) and self.dataflow.flow.block_of(index) == block

    def _answer(self, store: Store, order: WriteOrder, read: MatrixRead) -> PathAnswer:
        flow = self.dataflow.flow
        key = (
            flow.block_of(store.statement),
            store.copy,
            store.region.base,
            order,
            flow.block_of(read.statement),
        )
        if key not in self._known:
            self._known[key] = self._searched(store, order, read)
        return self._known[key]

    def _searched(self, store: Store, order: WriteOrder, read: MatrixRead) -> PathAnswer:
        if self._visits > _VISITS:
            return PathAnswer("unknown")
        flow = self.dataflow.flow
        if self._slice is None:
            self._slice = PathSlice(self.code, flow, {*self.events, *self.calls})
        start = WriteOrder(LOOSE if store.copy else COMPLETE)

        def step(state: _Orders, index: int) -> _Orders | None:
            orders, called = state
            event = self.events.get(index)
            if index == read.statement and order in orders:
                return None
            if index == store.statement:
                return orders | {start}, False
            if event is None:  # a call
                return orders, bool(orders)
            if not orders or isinstance(event, Store | MatrixRead):
                return state
            if isinstance(event, BulkCopyWrite):
                lands = event.region.base is not None and event.region.meets(store.region)
                return (frozenset(), False) if lands else state
            later = frozenset(one for o in orders if (one := self.dataflow.after(o, event)) is not None)
            return later, called and bool(later)

        search: PathSearch[_Orders] = PathSearch(self.code, flow, self._slice, self._values)
        question: PathQuestion[_Orders] = PathQuestion(
            start=(frozenset(), False),
            step=step,
            key=lambda state: state,
            active=lambda state: bool(state[0]),
            doubtful=lambda state: state[1],
            near=flow.block_of(store.statement),
            goal=flow.block_of(read.statement),
            rounds=min(self.dataflow.depth, 8),
            parts=frozenset(i for i, event in self.events.items() if isinstance(event, Barrier)),
        )
        answer = search.find(question)
        self._visits += search.visits
        return answer
