"""The dataflow analysis of shared memory: generic writes with no proxy fence between them and a wgmma.

What follows a write (fences, barriers) does not depend on its address. So the analysis carries sets of stores
through the function, by how far they are ordered; addresses only decide which stores a product may read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ...spec.lazy_dataclass import dataclass
from ..ptx.dataflow import solve_forward
from ..ptx.flow import Flow
from .byte_regions import ByteRegion
from .shared_memory import (
    Barrier,
    BulkCopyWrite,
    CopyCommit,
    CopyWait,
    MatrixRead,
    MemoryEvent,
    ProxyFenceStatement,
    Store,
)

__all__ = ["COMPLETE", "LOOSE", "ProxyDataflow", "UnorderedStores", "WriteOrder"]

COMPLETE, LOOSE = -1, -2  # otherwise: how many groups of cp.async were committed after the write's own


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """How far a generic write is ordered. `groups` says whether it is complete, `fenced` and `synced` what
    followed its completion. `fenced`: whether a proxy fence stands before the threads synchronised, or only
    after.
    """

    groups: int = COMPLETE
    fenced: Literal["not", "before", "after"] = "not"
    synced: bool = False


@dataclass(frozen=True, slots=True)
class UnorderedStores:
    """Complete stores that are ordered so far, and no further, at a product that may read what they wrote."""

    read: MatrixRead
    order: WriteOrder
    stores: tuple[Store, ...]


_Facts = dict[WriteOrder, int]  # by order: the stores, as a set of bits


class ProxyDataflow:
    """The stores that may have happened at the entry of every block, by how far they are ordered."""

    def __init__(self, flow: Flow, events: Sequence[MemoryEvent]) -> None:
        self.flow = flow
        self.depth = max((event.n for event in events if isinstance(event, CopyWait)), default=0)
        self.stores = [event for event in events if isinstance(event, Store)]
        self._bits = {store.statement: 1 << at for at, store in enumerate(self.stores)}
        self._meeting: dict[ByteRegion, int] = {}
        self.by_block: list[list[MemoryEvent]] = flow.by_block(events)
        start: list[_Facts] = [{} for _ in flow.blocks]
        self.entry = solve_forward(flow, start, self._leave, _join)

    def _leave(self, number: int, entry: _Facts) -> _Facts:
        """The facts behind a block."""
        facts = dict(entry)
        for event in self.by_block[number]:
            facts = self._step(facts, event)
        return facts

    def _step(self, facts: _Facts, event: MemoryEvent) -> _Facts:
        if isinstance(event, Store):
            order = WriteOrder(LOOSE if event.copy else COMPLETE)
            return {**facts, order: facts.get(order, 0) | self._bits[event.statement]}
        if isinstance(event, MatrixRead) or not facts:
            return facts
        if isinstance(event, BulkCopyWrite):  # a product reads the copy there
            kept = ~self.may_meet(event.region) if event.region.base is not None else -1
            return {order: left for order, stores in facts.items() if (left := stores & kept)}
        changed: _Facts = {}
        for order, stores in facts.items():
            later = self.after(order, event)
            if later is not None:
                changed[later] = changed.get(later, 0) | stores
        return changed

    def after(self, order: WriteOrder, event: MemoryEvent) -> WriteOrder | None:
        """How far a write is ordered behind an event; None if it is ordered altogether."""
        match event:
            case CopyCommit() if order.groups != COMPLETE:
                return replace(order, groups=min(max(order.groups, -1) + 1, self.depth))
            case CopyWait():
                if event.n == -1 or (order.groups >= 0 and order.groups >= event.n):
                    return replace(order, groups=COMPLETE) if order.groups != COMPLETE else order
            case ProxyFenceStatement() if order.groups == COMPLETE and order.fenced == "not":
                return replace(order, fenced="after" if order.synced else "before")
            case Barrier() if order.groups == COMPLETE:
                return None if order.fenced == "before" else replace(order, synced=True)
        return order

    def may_meet(self, region: ByteRegion) -> int:
        """The stores that may write bytes of a region, as a set of bits."""
        found = self._meeting.get(region)
        if found is None:
            found = sum(1 << at for at, store in enumerate(self.stores) if store.region.meets(region))
            self._meeting[region] = found
        return found

    def unordered(self) -> Iterator[UnorderedStores]:
        """The stores at every product that may read what they wrote."""
        for number in sorted(self.flow.order):
            facts = self.entry[number]
            for event in self.by_block[number]:
                if isinstance(event, MatrixRead):
                    met = 0
                    for region in event.regions:
                        met |= self.may_meet(region)
                    for order, stores in facts.items():
                        if order.groups == COMPLETE and stores & met:
                            yield UnorderedStores(event, order, tuple(self._among(stores & met)))
                facts = self._step(facts, event)

    def _among(self, bits: int) -> Iterator[Store]:
        while bits:
            lowest = bits & -bits
            yield self.stores[lowest.bit_length() - 1]
            bits ^= lowest

    def path(self, store: Store, order: WriteOrder, read: MatrixRead) -> list[int]:
        """The blocks of a shortest path from a store to a product at which it is ordered so far."""
        first, last = self.flow.block_of(store.statement), self.flow.block_of(read.statement)
        bit = self._bits[store.statement]
        begin: _Facts = {WriteOrder(LOOSE if store.copy else COMPLETE): bit}
        if first == last and store.statement < read.statement:
            within = self._through(first, begin, store.statement, read.statement)
            if order in within:
                return [first]
        waiting: deque[tuple[WriteOrder, tuple[int, ...]]] = deque(
            (one, (first,)) for one in self._through(first, begin, store.statement)
        )
        seen: set[tuple[int, WriteOrder]] = set()
        while waiting:
            current, blocks = waiting.popleft()
            for following in self.flow.blocks[blocks[-1]].successors:
                if (following, current) in seen:
                    continue
                seen.add((following, current))
                reached = (*blocks, following)
                if following == last and order in self._through(
                    following, {current: bit}, before=read.statement
                ):
                    return list(reached)
                waiting.extend((one, reached) for one in self._through(following, {current: bit}))
        return [first, last]

    def _through(self, number: int, facts: _Facts, behind: int = -1, before: int | None = None) -> _Facts:
        """One store's facts through the part of a block between two statements."""
        for event in self.by_block[number]:
            inside = event.statement > behind and (before is None or event.statement < before)
            if inside and not isinstance(event, Store):
                facts = self._step(facts, event)
        mine = 0
        for stores in facts.values():
            mine |= stores
        return facts if mine else {}


def _join(known: _Facts, arriving: _Facts, block: int) -> bool:
    """Add the stores that arrive at a block to those of its entry; whether there are more now."""
    grown = False
    for order, stores in arriving.items():
        before = known.get(order, 0)
        if stores & ~before:
            known[order] = before | stores
            grown = True
    return grown
