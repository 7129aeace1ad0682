"""Ordinary loads of shared memory, and the stores and bulk copies of others that nothing orders with them.

A warp's access has the number of the warp's acts. Another warp knows of it once its clock has seen that. A
bulk copy is complete for a warp that knows that its mbarrier's phase has ended. Threads of one warp are not
judged against one another; nor are two stores, which may store the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..memory.byte_regions import FAR, ByteRegion
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import LaneNumbers, Numbers
from ..walks.walk_steps import WalkStep
from .shared_accesses import SharedAccesses, TimedWrite
from .thread_groups import ThreadGroup
from .warp_acts import WarpActs
from .warps import GroupWait

__all__ = ["GenericActs", "GenericRace"]

_ADDRESSES = 1 << 20  # bytes: no block has as much shared memory
_ACCESSES = frozenset(("load", "store"))


class GenericRace(NamedTuple):
    """A load and a store of the same bytes, by two warps, or a load and a bulk copy; `first` is executed
    first.

    `placed`: an assumed number decides where one of them lies.
    """

    first: int
    second: int
    warps: tuple[int, int]
    region: ByteRegion
    doubtful: bool
    placed: bool


class _Bytes(NamedTuple):
    """Some bytes from an address on, a bit for each."""

    start: int
    flags: int


class _Access(NamedTuple):
    statement: int
    does: str
    bytes: _Bytes
    doubtful: bool
    placed: bool


@dataclass(slots=True)
class _Span:
    """What a warp accesses between two of its releases: a bit for each byte."""

    act: int
    loaded: int = 0
    stored: int = 0
    accesses: list[_Access] = field(default_factory=list)


class _Fills(SharedAccesses):
    """The bulk copies into shared memory; what products read is not looked at."""

    def __init__(self, started: Callable[[TimedWrite], None]) -> None:
        self.started = started

    def write(self, write: TimedWrite) -> None:
        """A bulk copy begins."""
        self.started(write)

    def fence(self, warp: int, lanes: int) -> None:
        """Proxy fences order no ordinary loads."""


class GenericActs(WarpActs):
    """The warps and barriers of a block, its ordinary accesses of shared memory, and bulk copies."""

    skips = frozenset(
        ("load", "store", "update", "copy", "copy-commit", "copy-wait", "multiply", "commit", "wait")
    )

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.accesses = _Fills(self._started)
        self.races: dict[tuple[int, int], GenericRace] = {}
        self._filling: dict[ByteRegion, TimedWrite] = {}  # the last copy into each region
        self._spans: list[list[_Span]] = [[] for _ in range(self.count)]
        self._bytes: dict[tuple[object, tuple[int, ...], int, int], _Bytes] = {}

    def act(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Do a statement in some threads of a group; yields what they wait for."""
        if step.statement.does in _ACCESSES:
            self._access(group, step, threads)
        elif step.statement.does not in self.skips:
            yield from super().act(group, step, threads)

    def _access(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        statement = step.statement
        address, width = statement.address, statement.bytes
        if address is None or width is None or group.registers.is_remote(address, step.statement.scope):
            return
        base: Numbers = 0 if address.base is None else group.registers.value(address.base, statement.scope)
        if base is None:
            return
        doubtful = self._doubtful(group, step) or step.guard in group.registers.assumed
        placed = address.base is not None and (
            group.registers.steps.source(address.base, statement.scope) in group.registers.assumed
        )
        rows = statement.rows
        for warp, some in by_warp(threads).items():
            if rows is not None:
                some = tuple(thread for thread in some if thread % WARP < rows)
            found = self._bytes_of(base, some, address.offset, width)
            if found.flags:
                self._judge(warp, _Access(step.position, statement.does, found, doubtful, placed))

    def _bytes_of(self, base: Numbers, threads: tuple[int, ...], offset: int, width: int) -> _Bytes:
        """The bytes that threads access; none where an address is not known."""
        key = base.packed if isinstance(base, LaneNumbers) else base, threads, offset, width
        found = self._bytes.get(key)
        if found is None:
            numbers = {base} if not isinstance(base, LaneNumbers) else base.by_value(threads).keys()
            lows = [number + offset for number in numbers if number is not None]
            start, flags, ones = min(lows, default=0), 0, (1 << width) - 1
            if len(lows) == len(numbers) and start >= 0 and max(lows) < _ADDRESSES:
                for low in lows:
                    flags |= ones << low - start
            found = self._bytes[key] = _Bytes(start, flags)
        return found

    def _judge(self, warp: int, access: _Access) -> None:
        """Hold an access against those of other warps that its warp does not know of."""
        seen, is_store = self.warps[warp].clock.seen, access.does == "store"
        start, flags = access.bytes
        known = None if is_store else self._known(warp)
        for other, spans in enumerate(self._spans):
            if other == warp:
                continue
            for span in reversed(spans):
                if span.act <= seen[other]:
                    break
                met = (span.loaded if is_store else span.stored) >> start & flags
                if met:  # what both have stored is the same, as compilers have it: each reads its own
                    met &= ~((span.stored if known is None else known) >> start)
                if met:
                    self._found(other, span, warp, access, met << start)
        if not is_store:
            self._await_copies(warp, access)
        self._remember(warp, access)

    def _started(self, copy: TimedWrite) -> None:
        """Hold a bulk copy against the loads of other warps that its warp does not know of."""
        region, seen = copy.region, self.warps[copy.warp].clock.seen
        if region.base is None or region.high > FAR:
            return
        copied = _Bytes(region.low, (1 << region.high - region.low) - 1)
        access = _Access(copy.statement, "bulk-copy", copied, copy.doubtful, False)
        for other, spans in enumerate(self._spans):
            for span in reversed(spans) if other != copy.warp else ():
                if span.act <= seen[other]:
                    break
                if met := span.loaded >> region.low & copied.flags:
                    self._found(other, span, copy.warp, access, met << region.low)
        self._filling[region] = copy

    def _await_copies(self, warp: int, load: _Access) -> None:
        """Hold a load against the bulk copies that its warp does not know to be complete."""
        clock, (start, flags) = self.warps[warp].clock, load.bytes
        for region, copy in self._filling.items():
            if region.high <= start or start + flags.bit_length() <= region.low or copy.complete(clock):
                continue
            copied = (1 << region.high - region.low) - 1 << region.low
            if met := flags << start & copied:
                before = _Access(
                    copy.statement,
                    "bulk-copy",
                    _Bytes(region.low, copied >> region.low),
                    copy.doubtful,
                    False,
                )
                self._race(before, load, (copy.warp, warp), met)

    def _known(self, warp: int) -> int:
        """The bytes that a warp has stored since all others knew of it."""
        stored = 0
        for span in self._spans[warp]:
            stored |= span.stored
        return stored

    def _remember(self, warp: int, access: _Access) -> None:
        act, spans = self.warps[warp].clock.seen[warp], self._spans[warp]
        if not spans or spans[-1].act != act:
            least = min(one.clock.seen[warp] for one in self.warps)
            spans[:] = [span for span in spans if span.act > least]
            spans.append(_Span(act))
        span = spans[-1]
        span.accesses.append(access)
        if access.does == "store":
            span.stored |= access.bytes.flags << access.bytes.start
        else:
            span.loaded |= access.bytes.flags << access.bytes.start

    def _found(self, other: int, span: _Span, warp: int, access: _Access, met: int) -> None:
        for before in span.accesses:
            both = before.bytes.flags << before.bytes.start & met
            if both and "load" in (before.does, access.does) and before.does != access.does:
                self._race(before, access, (other, warp), both)

    def _race(self, before: _Access, access: _Access, warps: tuple[int, int], both: int) -> None:
        key = before.statement, access.statement
        doubtful = before.doubtful or access.doubtful
        if key not in self.races or (self.races[key].doubtful and not doubtful):
            low = (both & -both).bit_length() - 1
            high = low + (~(both >> low) & (both >> low) + 1).bit_length() - 1
            region = ByteRegion("shared", low, high)
            placed = before.placed or access.placed
            self.races[key] = GenericRace(*key, warps, region, doubtful, placed)
