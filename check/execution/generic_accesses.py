"""Ordinary loads and stores of shared memory by different warps, and the pairs of them that nothing orders.

A warp's access has the number of the warp's acts. Another warp knows of it once its clock has seen that.
Threads of one warp are not judged against one another; nor are two stores, which may store the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..values.lane_numbers import Numbers
from ..walks.walk_steps import WalkStep
from .thread_bytes import ADDRESSES, ThreadBytes
from .thread_groups import ThreadGroup
from .warp_acts import WarpActs
from .warps import GroupWait

__all__ = ["AccessedBytes", "GenericAccess", "GenericActs", "GenericRace"]

_ACCESSES = frozenset(("load", "store"))


class GenericRace(NamedTuple):
    """Two accesses of the same bytes, by two warps unless one is a copy; `first` is executed first.

    `placed`: an assumed number decides where one of them lies. what: `unsynchronised` (no barrier and no
    phase orders the two), or of copies `incomplete` (no wait covers the copy), `draining` (no wait covers the
    bulk store), `unfenced` (no proxy fence between a generic write and a bulk copy).
    """

    first: int
    second: int
    warps: tuple[int, int]
    region: ByteRegion
    doubtful: bool
    placed: bool
    what: str = "unsynchronised"


class AccessedBytes(NamedTuple):
    """Some bytes from an address on, a bit for each."""

    start: int
    flags: int


class GenericAccess(NamedTuple):
    """An access by some threads of a warp. `placed`: an assumed number decides where it lies."""

    statement: int
    does: str
    bytes: AccessedBytes
    doubtful: bool
    placed: bool

    def meets(self, other: GenericAccess) -> bool:
        """Whether the two have a byte in common."""
        (start, flags), (at, others) = self.bytes, other.bytes
        return bool(flags >> at - start & others if at >= start else others >> start - at & flags)


@dataclass(slots=True)
class _Span:
    """What a warp accesses between two of its releases: a bit for each byte."""

    act: int
    loaded: int = 0
    stored: int = 0
    accesses: list[GenericAccess] = field(default_factory=list)


class GenericActs(WarpActs):
    """The warps and barriers of a block, and its ordinary accesses of shared memory."""

    skips = frozenset(
        ("load", "store", "update", "copy", "copy-commit", "copy-wait", "multiply", "commit", "wait")
    )

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.races: dict[tuple[int, int], GenericRace] = {}
        self._spans: list[list[_Span]] = [[] for _ in range(self.count)]
        self._threads = ThreadBytes()

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
        offset = address.offset
        for warp, start, last, flags in self._threads.of(base, threads, width, statement.rows):
            if start + offset >= 0 and last + offset < ADDRESSES:
                found = AccessedBytes(start + offset, flags)
                self._judge(warp, GenericAccess(step.position, statement.does, found, doubtful, placed))

    def _judge(self, warp: int, access: GenericAccess) -> None:
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
        self._remember(warp, access)

    def _known(self, warp: int) -> int:
        """The bytes that a warp has stored since all others knew of it."""
        stored = 0
        for span in self._spans[warp]:
            stored |= span.stored
        return stored

    def _remember(self, warp: int, access: GenericAccess) -> None:
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

    def _found(self, other: int, span: _Span, warp: int, access: GenericAccess, met: int) -> None:
        for before in span.accesses:
            both = before.bytes.flags << before.bytes.start & met
            if before.does == access.does or not both:
                continue
            key = before.statement, access.statement
            doubtful = before.doubtful or access.doubtful
            if key not in self.races or (self.races[key].doubtful and not doubtful):
                low = (both & -both).bit_length() - 1
                high = low + (~(both >> low) & (both >> low) + 1).bit_length() - 1
                region = ByteRegion("shared", low, high)
                placed = before.placed or access.placed
                self.races[key] = GenericRace(*key, (other, warp), region, doubtful, placed)
