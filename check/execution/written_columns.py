"""Which columns of tensor memory something may have written, and what reads those that nothing has."""

from __future__ import annotations

from typing import NamedTuple

from ..memory.tensor_places import TensorPlace

__all__ = ["Unwritten", "WrittenColumns"]


class Unwritten(NamedTuple):
    """A statement of a warp reads a place, counted in its block's memory, of which nothing was written.
    `adds`: a product adds to what is there.
    """

    statement: int
    warp: int
    place: TensorPlace
    adds: bool


class WrittenColumns:
    """The columns that were written, in whatever lanes: a bit for each, by the rank of the block."""

    def __init__(self) -> None:
        self._written: dict[int, int] = {}
        self._is_lost = False  # something was written, and nobody knows where
        self.products: dict[int, Unwritten] = {}  # by statement: what read before anything was written there
        self._loaded: dict[int, dict[TensorPlace, int]] = {}  # by statement and place: a warp that loads
        self._multiplied: set[int] = set()  # statements that read

    def write(self, place: TensorPlace | None) -> None:
        """Something is written at a place; None: it is not known where."""
        if place is None:
            self._is_lost = True
        else:
            self._written[place.block] = self._written.get(place.block, 0) | _columns(place.own)

    def multiply(self, statement: int, warp: int, place: TensorPlace, *, adds: bool) -> None:
        """A product reads a place. `adds`: its result is added to what is there."""
        self._multiplied.add(statement)
        if self._is_blank(place):
            self.products.setdefault(statement, Unwritten(statement, warp, place.own, adds))

    def load(self, statement: int, warp: int, place: TensorPlace) -> None:
        """A warp loads from a place."""
        self._loaded.setdefault(statement, {}).setdefault(place, warp)

    def loads(self) -> dict[int, Unwritten]:
        """By statement: what warps have loaded, where nothing was written, and nothing was later."""
        return {
            statement: Unwritten(statement, warp, place.own, False)
            for statement, places in self._loaded.items()
            if self._written and all(map(self._is_blank, places))
            for place, warp in places.items()
        }

    def filled(self) -> set[int]:
        """The statements that read what was written, or, if they load, what is written later."""
        return (self._multiplied | self._loaded.keys()) - self.products.keys() - self.loads().keys()

    def _is_blank(self, place: TensorPlace) -> bool:
        return not self._is_lost and not self._written.get(place.block, 0) & _columns(place.own)


def _columns(place: TensorPlace) -> int:
    return (1 << place.high) - (1 << place.low)
