"""Grids as SVG: cells in a colour a thread, lines between warps and core matrices, bands, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape  # xml.sax would import urllib
from itertools import chain

from .colours import colour
from .grid import SIDE, Cell, Grid

__all__ = ["product_svg", "svg"]

_CHARACTER, _HIGH, _PAD = 7.3, 20, 14  # a character's width, a row's height, space around a grid
_BAND = 32  # columns that stand side by side
_LINE = 18
_GROUP, _WARP = 4, 32  # threads of a group, and of a warp


class _Canvas:
    """What is drawn so far, and how far it reaches."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width = 0.0
        self.height = 0.0

    def reach(self, x: float, y: float) -> None:
        if x > self.width:
            self.width = x
        if y > self.height:
            self.height = y

    def write(
        self, x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, fill: str = "#111"
    ) -> None:
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">'
            f"{escape(text, quote=False)}</text>"
        )
        length = len(text) * _CHARACTER * size / 12
        self.reach(x + {"start": length, "middle": length / 2, "end": 0}[anchor] + _PAD, y + 6)

    def line(self, x1: float, y1: float, x2: float, y2: float, wide: float) -> None:
        self.parts.append(
            f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#111" stroke-width="{wide:g}" fill="none"/>'
        )

    def cell(self, x: float, y: float, wide: float, cell: Cell, threads: int, faded: bool) -> None:
        """A box with its label, at once: there may be 16,384 of them."""
        fill, ink = ("#fff", "#999") if faded or cell.thread < 0 else (_fill(cell.thread, threads), "#111")
        middle, label = x + wide / 2, escape(cell.label, quote=False)
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{_HIGH}" fill="{fill}" '
            f'stroke="#999" stroke-width=".5"/>\n'
            f'<text x="{middle:g}" y="{y + 14:g}" text-anchor="middle" font-size="11" '
            f'fill="{ink}">{label}</text>'
        )
        self.reach(middle + len(cell.label) * _CHARACTER * 11 / 24 + _PAD, y + 20)

    def page(self) -> str:
        width, height = round(self.width + _PAD), round(self.height + _PAD)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="monospace">'
        )
        return "\n".join(
            (head, f'<rect width="{width}" height="{height}" fill="white"/>', *self.parts, "</svg>")
        )


def svg(grid: Grid, thread: int | None = None) -> str:
    """The grid with its title and legend; the cells of other threads are white if one is named."""
    canvas = _Canvas()
    y = _title(canvas, grid.title, _PAD)
    y = _legend(canvas, (grid,), _PAD, y)
    for band in grid.bands(_BAND):
        _, y = _draw(canvas, grid, band, _PAD, y, thread)
        y += _PAD
    return canvas.page()


def product_svg(title: str, left: Grid, above: Grid, result: Grid, thread: int | None = None) -> str:
    """A left of D and B above it, as one multiplies by hand; D's columns are in one band."""
    canvas = _Canvas()
    y = _title(canvas, title, _PAD)
    y = _legend(canvas, (left, above, result), _PAD, y)
    wide = _wide(left) * len(left.columns) + _margin(left) + 2 * _PAD
    _, bottom = _draw(canvas, above, range(len(above.columns)), _PAD + wide, y, thread, "B")
    bottom += _PAD
    _draw(canvas, left, range(len(left.columns)), _PAD, bottom, thread, "A")
    _draw(canvas, result, range(len(result.columns)), _PAD + wide, bottom, thread, "D")
    return canvas.page()


def _title(canvas: _Canvas, title: str, x: float) -> float:
    """Write the title; return the height where what follows begins."""
    canvas.write(x, 24, title, size=14)
    return 34


def _legend(canvas: _Canvas, grids: Sequence[Grid], x: float, y: float) -> float:
    """Say how a cell is read, and what the colours and lines mean."""
    grid = grids[-1]
    cell = grid.rows[0][1][0]
    if grid.reads:
        read = grid.reads
    elif cell.label.startswith("T"):
        names = (f"{name} {number}" for name, number in zip(grid.names, cell.numbers, strict=True))
        read = f"in a cell, {cell.label} is {', '.join(names)}"
    else:
        read = f"in a cell, {','.join(dict.fromkeys(grid.names))} of what a thread's register holds"
    warps = grid.threads > _WARP
    lines = []
    spans = ((one.above, len(one.rows)) for one in grids), ((one.before, len(one.columns)) for one in grids)
    if any(first // SIDE < (first + count - 1) // SIDE for first, count in chain(*spans)):
        lines.append("thin lines: every 8 rows and columns")
    if warps:
        lines.append("thick lines: where the warp changes")
    said = [read, "; ".join(lines)] if lines else [read]
    for number, line in enumerate(said):
        canvas.write(x, y + _LINE * (number + 1) - 4, line, fill="#444")
    y += len(said) * _LINE + 4
    middle = _WARP // 2  # a groupID whose colours are neither light nor dark
    hues = (
        ("warp", range(middle, grid.threads, _WARP))
        if warps
        else ("threadID_in_group", range(middle, middle + _GROUP))
    )
    end = _swatches(canvas, x, y, *hues, grid.threads)
    if not grid.reads:
        _swatches(canvas, end, y, "groupID", range(0, _WARP, _GROUP), grid.threads)
    return y + _LINE + 8


def _swatches(canvas: _Canvas, x: float, y: float, name: str, threads: Sequence[int], of: int) -> float:
    """The colours of some threads, numbered in order; return where they end."""
    canvas.write(x, y + 14, name, fill="#444")
    x += (len(name) + 1) * _CHARACTER
    for number, thread in enumerate(threads):
        cell = Cell(thread, str(number), ())
        canvas.cell(x, y, _HIGH, cell, of, False)
        x += _HIGH
    return x + _PAD


def _wide(grid: Grid) -> float:
    return max(30.0, _CHARACTER * 11 / 12 * grid.widest + 8)


@cache
def _fill(thread: int, threads: int) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour(thread, threads))


def _margin(grid: Grid) -> float:
    return _CHARACTER * grid.margin + 10


def _draw(
    canvas: _Canvas,
    grid: Grid,
    band: Sequence[int],
    x: float,
    y: float,
    thread: int | None,
    name: str = "",
) -> tuple[float, float]:
    """Draw some columns of a grid; return where it ends."""
    wide, left, top = _wide(grid), x + _margin(grid), y + _LINE
    if name:
        canvas.write(left - 8, top - 6, name, anchor="end", size=14)
    for place, col in enumerate(band):
        canvas.write(
            left + wide * (place + 0.5), top - 6, grid.columns[col], anchor="middle", size=11, fill="#555"
        )
    for row, (heading, cells) in enumerate(grid.rows):
        canvas.write(left - 8, top + _HIGH * row + 14, heading, anchor="end", size=11, fill="#555")
        for place, col in enumerate(band):
            cell = cells[col]
            faded = thread is not None and cell.thread != thread
            canvas.cell(left + wide * place, top + _HIGH * row, wide, cell, grid.threads, faded)
    right, bottom = left + wide * len(band), top + _HIGH * len(grid.rows)
    for row in range(len(grid.rows) + 1):
        edge = row in (0, len(grid.rows))
        thick = not edge and _warp_changes(grid, row)
        if edge or thick or (grid.above + row) % SIDE == 0:
            canvas.line(left, top + _HIGH * row, right, top + _HIGH * row, 2.4 if thick else 1.2)
    for place in range(len(band) + 1):
        if place in (0, len(band)) or (grid.before + band[0] + place) % SIDE == 0:
            canvas.line(left + wide * place, top, left + wide * place, bottom, 1.2)
    canvas.reach(right, bottom)
    return right, bottom


def _warp_changes(grid: Grid, row: int) -> bool:
    """Whether other warps hold a row than the nearest row above it that any warp holds."""
    lower = _warps(grid.rows[row][1])
    above = (_warps(grid.rows[number][1]) for number in reversed(range(row)))
    upper = next(filter(None, above), lower)
    return lower.isdisjoint(upper) and bool(lower)


def _warps(cells: Sequence[Cell]) -> set[int]:
    return {thread // _WARP for thread in {cell.thread for cell in cells if cell.thread >= 0}}
