"""Accesses of shared memory by warps, each with its place in time, and the races among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE
from ..memory.shared_memory import WIDEST
from ..ptx.decode import DecodedStatement
from ..values.lane_numbers import LaneNumbers
from .barriers import Landing
from .clocks import Clock
from .thread_bytes import accessed_bytes

__all__ = ["NEVER", "LaneStores", "PhaseRace", "ReadMatrices", "TimedRead", "TimedWrite"]

NEVER = 1 << 60


class ReadMatrices(NamedTuple):
    """The matrices of a product, by the words of its descriptors; None where one is unknown."""

    product: DecodedStatement
    words: tuple[int | None, ...]


class LaneStores(NamedTuple):
    """What some threads of a warp write: each at its own number, behind which the statement's offset lies."""

    statement: DecodedStatement
    base: int | LaneNumbers | None
    threads: tuple[int, ...]

    @property
    def granules(self) -> frozenset[int] | None:
        """The granules (addresses // 16) in which some thread writes; None: they are not known."""
        address, width = self.statement.address, self.statement.bytes or WIDEST
        if address is None or self.base is None:
            return None
        known = accessed_bytes(self.base, self.threads, width, address.offset, self.statement.rows)
        if not known:
            return None
        ((_, _, bytes_),) = known
        flags = bytes_.flags << bytes_.start % GRANULE
        first, count = bytes_.start // GRANULE, -(-flags.bit_length() // GRANULE)
        written = memoryview(flags.to_bytes(count * GRANULE // 8, "little")).cast("H")
        return frozenset(first + at for at, some in enumerate(written) if some)


@dataclass(eq=False, slots=True)
class TimedRead:
    """A product reads a matrix. `began` and `ended` have numbers of acts by warp. `row`: the bytes of one of
    its rows. `written`: the store over its bytes that some warp has come to; −1: none. `matrices`: all of the
    product's, if their bytes are known. `part`: which of them this one is.
    """

    statement: int
    region: ByteRegion
    doubtful: bool
    began: dict[int, int]
    row: int
    ended: dict[int, int] = field(default_factory=dict)
    written: int = -1
    matrices: ReadMatrices | None = None
    part: str = ""

    def unended(self, clock: Clock) -> list[int]:
        """The warps of which a warp with a clock does not know that they have waited for the product."""
        return [warp for warp in self.began if clock.seen[warp] < self.ended.get(warp, NEVER)]

    def blind(self, clock: Clock) -> list[int]:
        """The same of these warps in other blocks of the cluster."""
        return [warp for warp in self.began if clock.peers[warp] < self.ended.get(warp, NEVER)]


@dataclass(eq=False, slots=True)
class TimedWrite:
    """A write of shared memory; `kind`: store, copy or bulk.

    act: its number among the acts of its warp. end: the number of the act that its warp waited with
    (cp.async). lanes: those that stored and have executed no proxy fence since; fenced: the number of the act
    after which there are none. landing: the phase that tells that it is complete. elsewhere: it writes
    other blocks of the cluster, too. peer: the mbarrier is that of another block. ordered: a bit for each
    warp whose products are ordered behind it. known: what its lane knows, where others of its warp know more.
    `stores`: what its lanes write; `region` has what the first one does. repeats: how often an assumed number
    had said before whether a loop goes on. tensor: the register of what a bulk copy reads, or of its map.
    assumed: how many bytes a bulk copy brings by an assumed number, if that says it.
    """

    statement: int
    kind: str
    region: ByteRegion
    doubtful: bool
    warp: int
    act: int
    lanes: int
    end: int = NEVER
    landing: Landing | None = None
    fenced: int = NEVER
    order: int = 0
    elsewhere: bool = False
    peer: bool = False
    ordered: int = 0
    known: Clock | None = None
    stores: LaneStores | None = None
    repeats: int = 0
    tensor: str | None = None
    assumed: int | None = None

    def complete(self, clock: Clock) -> bool:
        """Whether the write is complete for a warp with a clock."""
        if self.landing is not None:
            known = clock.told if self.peer else clock.complete
            return 0 <= self.landing.phase < known.get(self.landing.barrier, 0)
        return clock.seen[self.warp] >= (self.act if self.kind == "store" else self.end)


@dataclass(frozen=True, slots=True)
class PhaseRace:
    """Two statements that access the same bytes, and that nothing orders. `first` is executed first.

    what: `early-read` (a product reads what a bulk copy or cp.async has not brought yet), `unseen` (a store,
    and an access by another warp that has not synchronised with it), `unfenced` (a product reads what was
    stored, without a proxy fence), `overwritten` (a write where a product reads), `pending` (the same of a
    product that a commit ends), `elsewhere` (the same, in another block of the cluster), `rewritten` (a
    write where a bulk copy is not complete). `partly`: some warps of the product have ended, or have waited,
    and others have not. `reads`: which of the two is the product; with `none`, `read` are the bytes that the
    second one writes. `landing`: the mbarrier that the first one, a bulk copy, completes, and its warp.
    `alone`: other lanes of the writer's warp have waited, and this one has not.
    """

    what: str
    first: int
    second: int
    written: ByteRegion
    read: ByteRegion
    doubtful: bool = False
    partly: bool = False
    reads: Literal["first", "second", "none"] = "second"
    landing: tuple[int, int] | None = None
    alone: bool = False

    @property
    def is_open(self) -> bool:
        """Whether one reading of the text allows it: one warp's wait for a product may do for all."""
        return self.partly and self.reads == "first"
