"""Two warps write different data to the same bytes, nothing orders the writes, and somebody reads the bytes.

What both write may be the same: compilers have several warps write what each of them holds. So it is asked
where they get it from; that costs time, and is done only once writes were seen to meet.
"""

from __future__ import annotations

from typing import NamedTuple

from ..values.lane_numbers import Numbers, by_number
from ..walks.registers import Registers
from ..walks.stored_data import StoredData
from ..walks.walk_steps import WalkStep
from .access_records import GenericAccess, GenericRace, WrittenData, first_of

__all__ = ["CLASH", "WriteClashes"]

CLASH = "clash"  # what such a race is


class _Open(NamedTuple):
    """Two writes, and the bytes that nobody has written or read since, a bit for each."""

    race: GenericRace
    flags: int


class WriteClashes:
    """The writes of several warps to the same bytes. `data`: where these come from, if it is asked.

    `met`: some were seen that may differ.
    """

    def __init__(self, data: StoredData | None) -> None:
        self.data = data
        self.met = False
        self.races: dict[tuple[int, int], GenericRace] = {}
        self._open: list[_Open] = []

    def written_data(
        self, step: WalkStep, registers: Registers, threads: tuple[int, ...]
    ) -> WrittenData | None:
        """What threads of a warp write at a statement; None if it is not known, or not asked."""
        if self.data is None:
            return None
        scope = step.statement.scope
        texts = self.data.texts(step.position)
        written = [_numbers(registers.value(text, scope), threads) for text in texts]
        numbers = frozenset[int]().union(*(one for one in written if one is not None))
        if written and None not in written:
            return WrittenData(numbers, (), False)
        origins = self.data.origins(step.position)
        bases = [(_numbers(registers.numbers.get(name), threads), offset) for name, offset in origins or ()]
        places = tuple([frozenset(at + offset for at in base) for base, offset in bases if base is not None])
        moved = self.data.is_moved(step.position)
        return WrittenData(None, places, moved) if places and len(places) == len(bases) else None

    def write(self, access: GenericAccess) -> None:
        """Bytes are written: what was written before is there no more."""
        if self._open:
            flags = access.bytes.flags << access.bytes.start
            self._open = [one._replace(flags=left) for one in self._open if (left := one.flags & ~flags)]

    def hold(self, other: int, before: GenericAccess, warp: int, access: GenericAccess) -> None:
        """Hold a write against one by another warp that its warp does not know of."""
        self.met = True
        pair = before.statement, access.statement
        if pair in self.races or before.doubtful or access.doubtful or before.placed or access.placed:
            return
        if before.data is None or access.data is None or not before.data.differs(access.data, *pair):
            return
        met = before.bytes.flags << before.bytes.start & access.bytes.flags << access.bytes.start
        race = GenericRace(*pair, (other, warp), first_of(met), True, False, CLASH)
        self._open.append(_Open(race, met))

    def read(self, access: GenericAccess) -> None:
        """Bytes are read."""
        for one in self._open:
            if one.flags >> access.bytes.start & access.bytes.flags:
                self.races.setdefault(one.race[:2], one.race)


def _numbers(numbers: Numbers, threads: tuple[int, ...]) -> frozenset[int] | None:
    """The numbers that some threads hold; None if one is not known."""
    found = by_number(numbers, threads)
    return frozenset(number for number in found if number is not None) if None not in found else None
