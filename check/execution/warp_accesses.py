"""What each warp accesses at a statement. Rounds of loops and executions access the same again and again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..values.block_threads import Threads, by_warp
from ..values.lane_numbers import LaneNumbers
from .access_records import GenericAccess
from .thread_bytes import accessed_bytes
from .warp_lanes import LaneAddresses

__all__ = ["WarpAccess", "warp_accesses"]


class WarpAccess(NamedTuple):
    """An access by some threads of a warp: from its first byte to its last one, and where each has its."""

    warp: int
    threads: Threads
    region: ByteRegion
    access: GenericAccess
    places: LaneAddresses


@lru_cache(maxsize=1 << 12)
def warp_accesses(
    statement: int,
    does: str,
    base: int | LaneNumbers,
    threads: tuple[int, ...],
    width: int,
    offset: int,
    rows: int | None,
    doubtful: bool,
    placed: bool,
    strong: bool = False,
) -> Sequence[WarpAccess]:
    """The accesses of threads at a statement, by warp, `width` bytes each at an offset from an address; none
    of a warp of which it is not known where they lie. `rows`: only so many threads of a warp give addresses.
    """
    lanes = by_warp(threads)
    return tuple(
        WarpAccess(
            warp,
            lanes[warp],
            region,
            GenericAccess(statement, does, bytes_, doubtful, placed, strong),
            LaneAddresses(base, lanes[warp], offset),
        )
        for warp, region, bytes_ in accessed_bytes(base, threads, width, offset, rows)
    )
