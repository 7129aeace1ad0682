"""Which bytes do the threads of a statement access, by warp? Those of one address operand are found once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..values.block_threads import WARP, Threads, by_warp
from ..values.lane_numbers import LaneNumbers
from .access_records import AccessedBytes, accessed

__all__ = ["SHARED_BYTES", "WarpBytes", "accessed_bytes", "thread_bytes"]

SHARED_BYTES = 1 << 20  # more than any block has


class WarpBytes(NamedTuple):
    """The bytes that a warp accesses: where its lowest and its highest access begin, and a bit for each byte
    from the lowest on.
    """

    warp: int
    start: int
    last: int
    flags: int


@lru_cache(maxsize=1 << 10)
def _flags(places: tuple[int, ...], width: int) -> int:
    """A bit for each byte of accesses of a width, by where each begins. Most warps access by few patterns."""
    flags, ones = 0, (1 << width) - 1
    for place in places:
        flags |= ones << place
    return flags


@lru_cache(maxsize=1 << 11)  # executions of one function access the same bytes
def thread_bytes(
    base: int | LaneNumbers | None, threads: tuple[int, ...], width: int, rows: int | None = None
) -> Sequence[WarpBytes]:
    """What threads access from an address on, `width` bytes each; none of a warp of which an address is not
    known, or whose accesses lie far apart. `rows`: only so many threads of a warp give addresses.
    """
    found = []
    for warp, some in by_warp(threads).items():
        if rows is not None:
            some = Threads(thread for thread in some if thread % WARP < rows)
        values: set[int | None] = (
            set(map(base.values.__getitem__, some)) if isinstance(base, LaneNumbers) else {base}
        )
        lows = sorted([value for value in values if value is not None])
        if lows and len(lows) == len(values) and lows[-1] - lows[0] < SHARED_BYTES:
            places = tuple([low - lows[0] for low in lows])
            found.append(WarpBytes(warp, lows[0], lows[-1], _flags(places, width)))
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def accessed_bytes(
    base: int | LaneNumbers, threads: tuple[int, ...], width: int, offset: int, rows: int | None = None
) -> Sequence[tuple[int, ByteRegion, AccessedBytes]]:
    """By warp that accesses shared memory at an offset from an address: from its first byte to its last one,
    and which of them. Arguments are those of thread_bytes.
    """
    return tuple(
        (
            warp,
            ByteRegion("shared", start + offset, last + offset + width),
            accessed(start + offset, flags),
        )
        for warp, start, last, flags in thread_bytes(base, threads, width, rows)
        if start + offset >= 0 and last + offset < SHARED_BYTES
    )
