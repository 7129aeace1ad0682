"""An operand's map as a linear layout of Triton: (register, lane, warp) -> (row, column), at every point.

Each bit of an index has a basis, a place; an index is at the exclusive or of the bases of its bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...spec.errors import Question
from .tables import MapTable

__all__ = ["TritonLayout", "first_difference", "linear_layout", "read_linear_layout"]

_LANES = 32
_SPACES = ("register", "lane", "warp")
_ATTRIBUTE = re.compile(r"\s*(?:#ttg\.linear<)?\s*\{(.*)\}\s*>?\s*", re.S)
_BASES = re.compile(r"(\w+)\s*=\s*\[((?:\s*\[[\s\d,]*\]\s*,?)*)\s*\]")
_PLACE = re.compile(r"\[([\s\d,]*)\]")

Basis = tuple[int, ...]


@dataclass(frozen=True)
class TritonLayout:
    """The bases of each space, the lowest bit first; `register` counts a thread's elements."""

    bases: Mapping[str, tuple[Basis, ...]]

    def __str__(self) -> str:
        """As MLIR writes it: `#ttg.linear<{register = [[0, 1]], lane = …, warp = …, block = []}>`."""
        parts = [f"{space} = {[list(place) for place in bases]}" for space, bases in self.bases.items()]
        return f"#ttg.linear<{{{', '.join(parts)}, block = []}}>"

    def place(self, element: int, thread: int) -> Basis:
        """Where an element of a thread lies."""
        numbers = {"register": element, "lane": thread % _LANES, "warp": thread // _LANES}
        row = column = 0
        for space, bases in self.bases.items():
            for bit, (y, x) in enumerate(bases):
                if numbers[space] >> bit & 1:
                    row, column = row ^ y, column ^ x
        return row, column


def linear_layout(table: MapTable) -> TritonLayout:
    """The linear layout of a map; raises Question where the map is none."""
    if table.packing is None or table.layout.condition is not None or table.products > 1:
        raise Question(f"{table.operand} has no linear layout: it is not a map of (thread, element) alone")
    for name, size in (("threads", table.threads), ("elements", table.elements)):
        if size & (size - 1):
            raise Question(
                f"{table.title} has no linear layout: {size} {name} are not a power of two, which one needs"
            )
    at = {(i, t): tuple(place) for t, i, _, _, *place in table.entries}
    lanes = min(table.threads, _LANES)
    found = TritonLayout(
        {
            "register": tuple(at[1 << bit, 0] for bit in _bits(table.elements)),
            "lane": tuple(at[0, 1 << bit] for bit in _bits(lanes)),
            "warp": tuple(at[0, lanes << bit] for bit in _bits(table.threads // lanes)),
        }
    )
    differs = first_difference(table, found)
    if differs is not None:
        raise Question(f"{table.title} has no linear layout: {differs}")
    return found


def first_difference(table: MapTable, layout: TritonLayout) -> str | None:
    """Where a linear layout places an element elsewhere than the specification does; None: nowhere."""
    for thread, element, _, _, *place in table.entries:
        said = layout.place(element, thread)
        if said != tuple(place):
            wanted = ", ".join(f"{name} {n}" for name, n in zip(table.layout.outputs, place, strict=True))
            return f"element {element} of thread {thread} is at {wanted}, not at row {said[0]}, col {said[1]}"
    for space, size in _sizes(table).items():
        if 1 << len(layout.bases[space]) != size:
            return f"it has {1 << len(layout.bases[space])} of {space}, not {size}"
    return None


def read_linear_layout(text: str) -> TritonLayout:
    """A layout as it prints itself; raises Question for any other text."""
    found = _ATTRIBUTE.fullmatch(text)
    spaces = dict(_BASES.findall(found[1])) if found else {}
    if not found or not set(_SPACES) <= set(spaces) <= {*_SPACES, "block"} or spaces.get("block", "").strip():
        raise Question(
            f"{text!r} is not a linear layout; right would be: "
            "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>"
        )
    return TritonLayout({space: tuple(_places(spaces[space])) for space in _SPACES})


def _places(text: str) -> Sequence[Basis]:
    found = [tuple(int(n) for n in part.split(",") if n.strip()) for part in _PLACE.findall(text)]
    for place in found:
        if len(place) != 2:
            raise Question(f"a basis is a row and a column, not {list(place)}")
    return found


def _bits(size: int) -> range:
    return range(size.bit_length() - 1)


def _sizes(table: MapTable) -> Mapping[str, int]:
    lanes = min(table.threads, _LANES)
    return {"register": table.elements, "lane": lanes, "warp": table.threads // lanes}
