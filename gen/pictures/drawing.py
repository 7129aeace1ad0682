"""Pictures of an operand's map: text, CSV, Markdown, SVG, drawn like the manual's figures."""

from __future__ import annotations

import colorsys
import csv
import io
from collections.abc import Iterator

from .tables import MapTable

__all__ = ["as_csv", "markdown", "svg", "text"]


def as_csv(table: MapTable) -> str:
    """One line an entry, with a heading."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(table.headings)
    writer.writerows(table.entries)
    return output.getvalue().rstrip("\n")


def _grid(table: MapTable) -> tuple[list[str], list[tuple[str, list[tuple[int, str]]]]]:
    """Column headings, and for every row its heading and (thread, label) cells."""
    if table.packing is None:
        return _metadata_grid(table) if "chunk" in table.layout.outputs else _thread_grid(table)
    cells: dict[tuple[int, ...], tuple[int, str]] = {}
    for thread, element, _, _, *place in table.entries:
        cells[tuple(place)] = thread, f"T{thread}:{table.letter}{element}"
    columns = range(table.cols)
    rows = [
        (f"product {number}, row {row}", [cells[row, col, number] for col in columns])
        if table.products > 1
        else (str(row), [cells[row, col] for col in columns])
        for number in range(table.products)
        for row in range(table.rows)
    ]
    return [str(col) for col in columns], rows


def _thread_grid(table: MapTable) -> tuple[list[str], list[tuple[str, list[tuple[int, str]]]]]:
    """A cell a place, with the thread that is responsible for it."""
    (down, rows), (across, cols) = table.layout.shape(table.parameters).items()
    threads = {(row, col): thread for thread, row, col in table.entries}
    heads = [f"{across} {col}" for col in range(cols)]
    return heads, [
        (f"{down} {row}", [(threads[row, col], f"T{threads[row, col]}") for col in range(cols)])
        for row in range(rows)
    ]


def _metadata_grid(table: MapTable) -> tuple[list[str], list[tuple[str, list[tuple[int, str]]]]]:
    """A cell a chunk: the thread and the bits that hold the chunk's indices, `T0:[3..0]`."""
    shape = table.layout.shape(table.parameters)
    bits: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for thread, bit, row, chunk, _, _ in table.entries:
        bits.setdefault((row, chunk), []).append((thread, bit))
    rows = []
    for row in range(shape["row"]):
        cells = []
        for chunk in range(shape["chunk"]):
            held = bits[row, chunk]
            places = [bit for _, bit in held]
            cells.append((held[0][0], f"T{held[0][0]}:[{max(places)}..{min(places)}]"))
        rows.append((str(row), cells))
    return [f"chunk {chunk}" for chunk in range(shape["chunk"])], rows


def _hue(thread: int, threads: int) -> tuple[int, int, int]:
    """A light colour for a thread; threads of one group of four are neighbours."""
    group, member = divmod(thread, 4)
    red, green, blue = colorsys.hls_to_rgb(group * 0.381966 % 1, 0.86 - 0.06 * member, 0.7)
    return round(red * 255), round(green * 255), round(blue * 255)


def _blocks(count: int, fit: int) -> Iterator[range]:
    for start in range(0, count, fit):
        yield range(start, min(start + fit, count))


def text(table: MapTable, width: int, coloured: bool) -> str:
    """The matrix as a picture: in each cell the thread and its element; wide ones in blocks of columns."""
    heads, rows = _grid(table)
    cell = max(len(label) for _, cells in rows for _, label in cells)
    cell = max(cell, max(map(len, heads)))
    margin = max(len(name) for name, _ in rows)
    fit = max(1, (width - margin - 1) // (cell + 1))
    lines = [table.title]
    for block in _blocks(len(heads), fit):
        lines.append("")
        lines.append(" " * (margin + 1) + " ".join(heads[col].center(cell) for col in block).rstrip())
        for name, cells in rows:
            shown = [_paint(*cells[col], cell, table.threads, coloured) for col in block]
            lines.append(f"{name:>{margin}} " + " ".join(shown).rstrip())
    return "\n".join(lines)


def _paint(thread: int, label: str, cell: int, threads: int, coloured: bool) -> str:
    padded = label.ljust(cell)
    if not coloured:
        return padded
    red, green, blue = _hue(thread, threads)
    return f"\x1b[30;48;2;{red};{green};{blue}m{padded}\x1b[0m"


def markdown(table: MapTable) -> str:
    """The picture as a Markdown table."""
    heads, rows = _grid(table)
    lines = [
        f"**{table.title}**",
        "",
        "| | " + " | ".join(heads) + " |",
        "|---|" + "---|" * len(heads),
    ]
    lines += [f"| **{name}** | " + " | ".join(label for _, label in cells) + " |" for name, cells in rows]
    return "\n".join(lines)


def svg(table: MapTable) -> str:
    """The picture as SVG: the matrix with row and column numbers, a colour a thread."""
    heads, rows = _grid(table)
    longest = max(len(label) for _, cells in rows for _, label in cells)
    margin = max(len(name) for name, _ in rows)
    wide, high, left, top = 8 * max(longest, 4) + 8, 22, max(44, 8 * margin + 12), 58
    width, height = left + wide * len(heads) + 12, top + high * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="20" font-size="14">{table.title}</text>',
    ]
    for col, head in enumerate(heads):
        x = left + wide * col + wide / 2
        parts.append(f'<text x="{x}" y="{top - 8}" text-anchor="middle" fill="#555">{head}</text>')
    for number, (name, cells) in enumerate(rows):
        y = top + high * number
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end" fill="#555">{name}</text>')
        for col, (thread, label) in enumerate(cells):
            x = left + wide * col
            colour = "#{:02x}{:02x}{:02x}".format(*_hue(thread, table.threads))
            parts.append(
                f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{colour}" stroke="#888"/>'
            )
            parts.append(f'<text x="{x + wide / 2}" y="{y + 15}" text-anchor="middle">{label}</text>')
    parts.append("</svg>")
    return "\n".join(parts)
