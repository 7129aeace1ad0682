"""How many bytes a tensor copy brings: the PTX does not say it, but phases that wait for such copies may.

A phase that ends has got as many bytes as it expects. So a box has all of them where the phase waits for no
other one. Where it waits for several, each ends at most where the next copy into shared memory begins, or an
mbarrier lies; if the phase expects as many bytes as there is room for, each box fills its own. It is assumed
that the places of copies do not overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable

from .barriers import Mbarrier

__all__ = ["BoxSizes"]

_GRANULE = 16  # bytes: a box has a multiple of this


class BoxSizes:
    """The sizes of boxes, by what says whose they are, as far as ended phases show them."""

    def __init__(self) -> None:
        # Where copies begin to write, by box; None: of known size.
        self._places: dict[Hashable, set[int]] = {}
        self._sizes: dict[Hashable, int] = {}
        self._known = 0  # places and ended phases when the sizes were found

    def begin(self, box: Hashable, place: int, barriers: Iterable[Mbarrier]) -> int | None:
        """The size of a box that a copy begins to write at a place; None if it is not known. It is asked for
        where such a copy has written before, since all places are known then.
        """
        places = self._places.setdefault(box, set())
        if box is None or place not in places:
            places.add(place)
            return None
        barriers = tuple(barriers)
        known = sum(map(len, self._places.values())) + sum(len(one.filled) for one in barriers)
        if known != self._known:
            self._known = known
            self._find(barriers)
        return self._sizes.get(box)

    def _find(self, barriers: Iterable[Mbarrier]) -> None:
        ends = sorted({one.address for one in barriers}.union(*self._places.values()))
        most: dict[Hashable, int] = {}
        for box, places in self._places.items():
            nexts = ((place, bisect_right(ends, place)) for place in places)
            rooms = [ends[after] - place for place, after in nexts if after < len(ends)]
            if rooms:
                most[box] = min(rooms)
        self._sizes = {}
        phases = {
            (tuple(copy.box for copy in one.copies), one.expected) for bar in barriers for one in bar.filled
        }
        for boxes, expected in phases:
            if None in boxes:
                continue
            counts = Counter(boxes)
            if len(counts) == 1:
                self._put(boxes[0], expected, len(boxes), most)
            elif all(box in most for box in counts) and sum(most[box] for box in boxes) == expected:
                for box in counts:
                    self._put(box, most[box], 1, most)

    def _put(self, box: Hashable, bytes_: int, copies: int, most: dict[Hashable, int]) -> None:
        """So many bytes are those of several copies of one box."""
        size = bytes_ // copies
        if size * copies == bytes_ and not size % _GRANULE and size <= most.get(box, size):
            self._sizes[box] = size
