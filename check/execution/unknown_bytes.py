"""Bytes of shared memory that hold numbers that the PTX does not show: which warp wrote each of them last?"""

from __future__ import annotations

from collections.abc import Sequence

from .clocks import Clock

__all__ = ["UnknownBytes"]

_MANY = 64  # writes that are remembered before those that every warp knows of are dropped


class UnknownBytes:
    """Writes of unknown numbers, the earliest first. `clocks` are those of the warps: a write that all
    know of orders nothing any more.
    """

    def __init__(self, clocks: Sequence[Clock]) -> None:
        self.clocks = clocks
        self._writes: list[tuple[int, int, int, int]] = []  # the first byte, a bit for each, warp and act
        self._most = _MANY

    def clear(self) -> None:
        """Forget all writes."""
        self._writes.clear()

    def put(self, start: int, flags: int, warp: int, act: int) -> None:
        """Remember a write."""
        if len(self._writes) >= self._most:
            least = [min(clock.seen[number] for clock in self.clocks) for number in range(len(self.clocks))]
            self._writes = [one for one in self._writes if one[3] > least[one[2]]]
            self._most = max(_MANY, 2 * len(self._writes))
        self._writes.append((start, flags, warp, act))

    def meeting(self, low: int, high: int) -> list[tuple[int, int, int, int]]:
        """The writes of some bytes, the latest first."""
        return [one for one in reversed(self._writes) if one[0] < high and low - one[0] < one[1].bit_length()]
