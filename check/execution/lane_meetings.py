"""Lanes of warps that wait for each other: bar.warp.sync waits until all lanes of its mask have executed one
with the same mask (9.7.13.2). Lanes that have ended are not waited for, nor those that are followed no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import Numbers, number_at
from .warps import lanes_of

__all__ = ["LaneMeetings"]

_FULL = (1 << WARP) - 1


@dataclass(slots=True)
class _Meeting:
    """The lanes that have come to a meeting, and how often all have met before."""

    came: int = 0
    phase: int = 0


class LaneMeetings:
    """The meetings of lanes in a block of so many threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._gone: dict[int, int] = {}  # by warp
        self._meetings: dict[tuple[int, int], _Meeting] = {}  # by warp and mask

    def leave(self, threads: tuple[int, ...]) -> None:
        """Threads have ended, or are not followed any more."""
        for warp, some in by_warp(threads).items():
            self._gone[warp] = self._gone.get(warp, 0) | lanes_of(some)

    def has_left(self, thread: int) -> bool:
        """Whether a thread has ended, or is not followed any more."""
        return bool(self._gone.get(thread // WARP, 0) >> thread % WARP & 1)

    def lacking(self, masks: Numbers, threads: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """Threads that come to a meeting together, by warp: of the warps in which others must come, too."""
        if masks is None:
            return ()
        return [some for warp, some in by_warp(threads).items() if self._lacks(warp, some, masks)]

    def _lacks(self, warp: int, threads: tuple[int, ...], masks: Numbers) -> bool:
        lanes = lanes_of(threads)
        if lanes == _FULL:
            return False
        known = {number_at(masks, thread) for thread in threads}
        return any(mask is not None and self._missing(warp, mask, lanes) for mask in known)

    def _missing(self, warp: int, mask: int, came: int) -> int:
        there = _FULL >> max(WARP * (warp + 1) - self._threads, 0)
        return mask & there & ~came & ~self._gone.get(warp, 0)

    def come(self, masks: Numbers, threads: tuple[int, ...]) -> Callable[[], bool]:
        """Threads of one warp come to a meeting, each to that of its mask; returns whether all are over."""
        warp, met = threads[0] // WARP, []
        by_mask: dict[int, int] = {}
        for thread in threads:
            mask = number_at(masks, thread)
            if mask is not None:
                by_mask[mask] = by_mask.get(mask, 0) | 1 << thread % WARP
        for mask, lanes in by_mask.items():
            meeting = self._meetings.setdefault((warp, mask), _Meeting())
            meeting.came |= lanes
            met.append((mask, meeting, meeting.phase))

        def is_over() -> bool:
            for mask, meeting, phase in met:
                if meeting.phase > phase:
                    continue
                if self._missing(warp, mask, meeting.came):
                    return False
                meeting.came = 0
                meeting.phase += 1
            return True

        return is_over
