"""Layouts of tensor memory: a picture of lanes and columns, and which loads bring a place to a register."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...spec.maps import LayoutMap
from ...spec.specification import Specification
from .grid import Cell, Grid
from .tables import MapTable

__all__ = ["PLACE", "Load", "is_placed", "loads", "place_grid", "place_names"]

PLACE = ("lane", "column")  # the coordinates of tensor memory
_BLOCKS = ("cta", "access")  # what there is one grid of lanes and columns each of
_WITHIN = ("i", "byte", "bit")  # what numbers the parts of a column
_EQUAL = "copy"
_LANES = 32  # that a warp reads and writes
_UNUSED = Cell(-1, "·", ())


def is_placed(layout: LayoutMap) -> bool:
    """Whether a layout is about lanes and columns."""
    return {*layout.inputs, *layout.outputs} >= {*PLACE}


def place_names(layout: LayoutMap) -> tuple[str, ...]:
    """The names of a point's numbers, as a person says them."""
    said = {"t": "thread", "i": "element"}
    return tuple(said.get(name, name) for name in (*layout.inputs, *layout.outputs))


def place_grid(table: MapTable) -> Grid:
    """A row a lane and a cell a column: what the place holds, or which thread's register it is of."""
    layout, parameters = table.layout, table.parameters
    names = (*layout.inputs, *layout.outputs)
    sizes = {**layout.domain(parameters), **layout.shape(parameters)}
    threads = "t" in names
    lane_first = PLACE[0] in layout.inputs
    told = layout.outputs if lane_first else layout.inputs
    shown = [names.index(name) for name in told if name not in (*PLACE, *_BLOCKS, _EQUAL, *_WITHIN[1:])]
    blocks = [name for name in _BLOCKS if name in names]
    at = [names.index(name) for name in (*blocks, *PLACE)]
    held: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for point in layout.points(parameters):
        held.setdefault(tuple(point[i] for i in at), []).append(tuple(point[i] for i in shown))

    def cell(*place: int) -> Cell:
        found = held.get(place)
        if found is None:
            return _UNUSED
        numbers = tuple(number for one in found for number in one)
        if threads:
            thread, element = found[0]
            return Cell(thread, f"T{thread}:r{element}", numbers)
        label = ",".join(_several([one[i] for one in found]) for i in range(len(shown)))
        return Cell(place[-2], label, numbers)

    columns = range(sizes["column"])
    rows = []
    for block in _blocks(blocks, sizes):
        named = "".join(f"{name} {number}, " for name, number in zip(blocks, block, strict=True))
        for lane in range(sizes["lane"]):
            cells = tuple(cell(*block, lane, column) for column in columns)
            rows.append((f"{named}lane {lane}" if named else str(lane), cells))
    what = [place_names(layout)[i] for i in shown]
    most = max(len(found) for found in held.values())
    return Grid(
        table.title,
        tuple(what) * most,
        tuple(map(str, columns)),
        tuple(rows),
        sizes["t"] if threads else sizes["lane"],
        "lanes",
        "columns",
        reads="" if threads else f"a row is a lane; in a cell, {','.join(what)} of what its column holds",
    )


def _blocks(names: list[str], sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Every value of the coordinates that there is a grid each of."""
    if not names:
        yield ()
        return
    for number in range(sizes[names[0]]):
        for rest in _blocks(names[1:], sizes):
            yield (number, *rest)


def _several(values: list[int]) -> str:
    """`3`, `0..3` of consecutive values, `0+8` of others."""
    distinct = sorted(set(values))
    if len(distinct) == 1:
        return str(distinct[0])
    if distinct == list(range(distinct[0], distinct[-1] + 1)):
        return f"{distinct[0]}..{distinct[-1]}"
    return "+".join(map(str, distinct))


@dataclass(frozen=True)
class Load:
    """A load from one address, by one warp: the thread of the warp and the element that a place comes to.

    `lane` and `column` are the address; `parameters` those of the load's layout, the smallest that will do.
    """

    layout: str
    parameters: Mapping[str, int]
    warp: int
    lane: int
    column: int
    thread: int
    element: int


def loads(specification: Specification, lane: int, column: int) -> Iterator[Load]:
    """Every shape of a load that brings a place to a register, from the first column on."""
    for name, layout in specification.layouts.items():
        if not is_placed(layout) or layout.inputs[:2] != ("t", "i"):
            continue
        for parameters in layout.assignments():
            shape = layout.shape(parameters)
            if column < shape["column"]:
                first = lane - lane % min(shape["lane"], _LANES)
                place = tuple({"lane": lane - first, "column": column}.get(n, 0) for n in layout.outputs)
                thread, element = layout.holders(parameters, {place})[place]
                yield Load(name, parameters, lane // _LANES, first, 0, thread, element)
                break
