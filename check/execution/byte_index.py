"""Which of many regions of shared memory meet another one? A lookup by the units of memory they touch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

from ..memory.byte_regions import ByteRegion

__all__ = ["ByteIndex"]

Key = TypeVar("Key", bound=Hashable)
_UNIT = 1 << 11  # bytes: a store touches one or two units, a stage of a pipeline a few


class ByteIndex(Generic[Key]):
    """Keys with their regions, all of shared memory and with known bytes."""

    def __init__(self) -> None:
        # By key: its number, and its region.
        self._units: dict[int, dict[Key, tuple[int, int, int]]] = defaultdict(dict)
        self._numbers = count()

    def put(self, key: Key, region: ByteRegion) -> None:
        """Remember a new key."""
        _, low, high = region
        entry = next(self._numbers), low, high
        for unit in range(low // _UNIT, (high - 1) // _UNIT + 1):
            self._units[unit][key] = entry

    def drop(self, key: Key, region: ByteRegion) -> None:
        """Forget a key with the region that it was put with."""
        for unit in range(region.low // _UNIT, (region.high - 1) // _UNIT + 1):
            del self._units[unit][key]

    def meeting(self, low: int, high: int) -> list[Key]:
        """The keys whose regions meet the bytes [low, high), in the order in which they were put."""
        first, last = low // _UNIT, (high - 1) // _UNIT
        if first == last:  # the keys of one unit are in order
            here = self._units.get(first)
            return [k for k, (_, start, end) in here.items() if start < high and low < end] if here else []
        found: dict[int, Key] = {}  # by place in the order
        for unit in range(first, last + 1):
            here = self._units.get(unit)
            if here:
                found.update({n: k for k, (n, start, end) in here.items() if start < high and low < end})
        return [found[number] for number in sorted(found)]
