"""An operand's map as a CuTe layout (thread, value) -> linear index, checked on every point."""

from __future__ import annotations

import re
from math import prod

from ...spec.errors import Question
from .tables import MapTable

__all__ = ["CuteLayout", "cute", "derive", "first_difference", "read_cute"]

_MODE = r"(?:\(\d+(?:,\d+)*\)|\d+)"
_NESTED = re.compile(_MODE)

Mode = tuple[int, int]
CuteLayout = tuple[list[Mode], list[Mode]]


def _modes(size: int, linear: dict[int, int]) -> list[Mode]:
    """(shape, stride) modes of one input: its bits, with runs of doubling strides merged."""
    modes: list[Mode] = []
    reach = 1
    while reach < size:
        extent = 2 if size % (reach * 2) == 0 else size // reach
        stride = linear[reach]
        if modes and modes[-1][0] * modes[-1][1] == stride:
            modes[-1] = modes[-1][0] * extent, modes[-1][1]
        else:
            modes.append((extent, stride))
        reach *= extent
    return modes or [(1, 0)]


def _apply(modes: list[Mode], index: int) -> int:
    total = 0
    for shape, stride in modes:
        total += index % shape * stride
        index //= shape
    return total


def derive(table: MapTable) -> CuteLayout:
    """The CuTe layout of a map; raises Question where the map is not one."""
    if table.packing is None or table.layout.condition is not None:
        raise Question(f"{table.operand} has no CuTe layout: it is not a map of (thread, element)")
    linear = {(t, i): _index(table, *place) for t, i, _, _, *place in table.entries}
    origin = linear[0, 0]
    threads = _modes(table.threads, {t: linear[t, 0] - origin for t in range(table.threads)})
    values = _modes(table.elements, {i: linear[0, i] - origin for i in range(table.elements)})
    for (t, i), wanted in linear.items():
        if origin or _apply(threads, t) + _apply(values, i) != wanted:
            raise Question(f"{table.title} is not a CuTe layout: it is not linear in thread and element")
    if prod(shape for shape, _ in threads) != table.threads:
        raise Question(f"{table.title} is not a CuTe layout")
    return threads, values


def first_difference(table: MapTable, layout: CuteLayout) -> str | None:
    """Where a CuTe layout places an element elsewhere than the specification does; None: nowhere."""
    if table.packing is None:
        raise Question(f"{table.operand} has no CuTe layout: it is not a map of (thread, element)")
    threads, values = layout
    for modes, size, what in ((threads, table.threads, "threads"), (values, table.elements, "values")):
        if prod(shape for shape, _ in modes) != size:
            return f"it has {prod(shape for shape, _ in modes)} {what}, not {size}"
    for t, i, _, _, *place in table.entries:
        wanted, said = _index(table, *place), _apply(threads, t) + _apply(values, i)
        if said != wanted:
            return f"element {i} of thread {t} is at index {wanted}, not {said}"
    return None


def read_cute(text: str) -> CuteLayout:
    """A layout ((thread modes),(value modes)):((strides),(strides)); raises Question for any other text."""
    shape, _, stride = re.sub(r"\s", "", text).partition(":")
    sides = [_NESTED.findall(side) for side in (shape, stride)]
    if not all(re.fullmatch(rf"\({_MODE},{_MODE}\)", side) for side in (shape, stride)):
        raise Question(f"{text!r} is not a CuTe layout; right would be: ((4,8),(2,2)):((32,1),(16,8))")
    shapes, strides = ([[int(n) for n in re.findall(r"\d+", part)] for part in side] for side in sides)
    if [len(one) for one in shapes] != [len(one) for one in strides]:
        raise Question(f"{text!r} is not a CuTe layout: shape and stride have other modes")
    first, second = (list(zip(a, b, strict=True)) for a, b in zip(shapes, strides, strict=True))
    return first, second


def _index(table: MapTable, row: int, col: int, product: int = 0) -> int:
    """The linear index of a place; CuTe writes B as (n, k)."""
    inside = col + row * table.cols if table.operand == "B" else row + col * table.rows
    return inside + product * table.rows * table.cols


def _written(modes: list[Mode], which: int) -> str:
    parts = [str(mode[which]) for mode in modes]
    return parts[0] if len(parts) == 1 else f"({','.join(parts)})"


def cute(table: MapTable) -> str:
    """Shape:Stride, with what it maps to."""
    threads, values = derive(table)
    product = f" + {table.rows * table.cols}*product" if table.products > 1 else ""
    target = f"row + {table.rows}*col{product}"
    if table.operand == "B":
        target = f"col + {table.cols}*row{product}, CuTe's (N,K)"
    shape = f"({_written(threads, 0)},{_written(values, 0)})"
    stride = f"({_written(threads, 1)},{_written(values, 1)})"
    return (
        f"{shape}:{stride}\n"
        f"# (thread, value) -> {target}; equal to the specification at all {len(table.entries)} points"
    )
