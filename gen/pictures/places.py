"""Layouts of tensor memory: a picture of lanes and columns, and which loads bring a place to a register."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.lazy_dataclass import dataclass
from ...spec.maps import LayoutMap
from ...spec.parts import stated_parameters
from ...spec.specification import Specification
from ...spec.variants import Variant
from .grid import Cell, Grid
from .tables import MapTable

__all__ = [
    "PLACE",
    "Load",
    "in_places",
    "is_placed",
    "loading_variants",
    "loads",
    "place_grid",
    "place_names",
]

PLACE = ("lane", "column")  # the coordinates of tensor memory
_BLOCKS = ("cta", "access")  # what there is one grid of lanes and columns each of
_WITHIN = ("i", "byte", "bit")  # what numbers the parts of a column
_EQUAL = "copy"
_LANES = 32  # that a warp reads and writes
_LOADED = "data"  # the part of what a load brings
_UNUSED = Cell(-1, "·", ())


def is_placed(layout: LayoutMap) -> bool:
    """Whether a layout is about lanes and columns."""
    return {*layout.inputs, *layout.outputs} >= {*PLACE}


def in_places(layout: LayoutMap) -> bool:
    """Whether a layout says what places hold, not what registers do: lanes and columns, or bytes and bits."""
    return is_placed(layout) or "t" not in layout.inputs


def _axes(layout: LayoutMap) -> tuple[str, str]:
    """What numbers the rows and the columns of the picture."""
    return PLACE if is_placed(layout) else (layout.inputs[0], layout.inputs[1])


def place_names(layout: LayoutMap) -> tuple[str, ...]:
    """The names of a point's numbers, as a person says them."""
    said = {"t": "thread", "i": "element"}
    return tuple(said.get(name, name) for name in (*layout.inputs, *layout.outputs))


def place_grid(table: MapTable) -> Grid:
    """A row a lane and a cell a column: what the place holds, or which thread's register it is of.

    Where there are no lanes, a row is what the layout's first input numbers, and a cell what its second does.
    """
    layout, parameters = table.layout, table.parameters
    axes = _axes(layout)
    names = (*layout.inputs, *layout.outputs)
    sizes = {**layout.domain(parameters), **layout.shape(parameters)}
    threads = "t" in names
    lane_first = axes[0] in layout.inputs
    told = layout.outputs if lane_first else layout.inputs
    shown = [names.index(name) for name in told if name not in (*axes, *_BLOCKS, _EQUAL, *_WITHIN[1:])]
    blocks = [name for name in _BLOCKS if name in names]
    at = [names.index(name) for name in (*blocks, *axes)]
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

    columns = range(sizes[axes[1]])
    rows = []
    for block in _blocks(blocks, sizes):
        named = "".join(f"{name} {number}, " for name, number in zip(blocks, block, strict=True))
        for lane in range(sizes[axes[0]]):
            cells = tuple(cell(*block, lane, column) for column in columns)
            rows.append((f"{named}{axes[0]} {lane}" if named else str(lane), cells))
    what = [place_names(layout)[i] for i in shown]
    most = max(len(found) for found in held.values())
    return Grid(
        table.title,
        tuple(what) * most,
        tuple(map(str, columns)),
        tuple(rows),
        sizes["t"] if threads else sizes[axes[0]],
        f"{axes[0]}s",
        f"{axes[1]}s",
        reads=""
        if threads
        else f"a row is a {axes[0]}; in a cell, {','.join(what)} of what its {axes[1]} holds",
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

    `lane` and `column` are the address; `mnemonic` is the shortest that will do, and `parameters` are those
    of its layout. `halves` says that an element is half of a register, and of its column the lower half.
    """

    mnemonic: str
    layout: str
    parameters: Mapping[str, int]
    warp: int
    lane: int
    column: int
    thread: int
    element: int
    halves: bool


def loads(specification: Specification, lane: int, column: int) -> Iterator[Load]:
    """Every shape of a load that brings a place to a register, from the first column on."""
    found: set[str] = set()
    for name, variant, halves in loading_variants(specification):
        layout = specification.layouts[name]
        parameters = stated_parameters(layout, variant)
        shape = layout.shape(parameters)
        if name not in found and column < shape["column"]:
            found.add(name)
            first = lane - lane % min(shape["lane"], _LANES)
            place = tuple({"lane": lane - first, "column": column}.get(n, 0) for n in layout.outputs)
            thread, element = layout.holders(parameters, {place})[place]
            yield Load(variant.mnemonic, name, parameters, lane // _LANES, first, 0, thread, element, halves)


def loading_variants(specification: Specification) -> Iterator[tuple[str, Variant, bool]]:
    """The variants that load from tensor memory and do nothing else, short ones first: layout, variant, and
    whether an element is half of a register.
    """
    for family in specification.families.values():
        written = [o for o in family.instruction.operands.values() if o.role == "destination"]
        if [one.part for one in written] == [_LOADED]:
            for variant in family.variants():
                for name in variant.layouts.values():
                    layout = specification.layouts[name]
                    held = layout.domain(stated_parameters(layout, variant))["i"]
                    yield name, variant, held > variant.fragment_registers(_LOADED)
