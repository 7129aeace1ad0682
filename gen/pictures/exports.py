"""Tables of an operand's map for other programs and pages: CSV and Markdown."""

from __future__ import annotations

import csv
import io

from .grid import Grid
from .tables import MapTable

__all__ = ["as_csv", "markdown"]


def as_csv(table: MapTable) -> str:
    """One line an entry, with a heading."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(table.headings)
    writer.writerows(table.entries)
    return output.getvalue().rstrip("\n")


def markdown(grid: Grid) -> str:
    """The grid as a Markdown table."""
    lines = [
        f"**{grid.title}**",
        "",
        "| | " + " | ".join(grid.columns) + " |",
        "|---|" + "---|" * len(grid.columns),
    ]
    lines += [
        f"| **{name}** | " + " | ".join(cell.label for cell in cells) + " |" for name, cells in grid.rows
    ]
    return "\n".join(lines)
