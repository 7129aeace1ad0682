"""Grids as text: bands of columns, one thread picked out, and one block in place of all that repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .colours import colour
from .grid import Grid, Repetition

__all__ = ["text"]

# A grid of more cells is told by the block that it repeats, if it repeats one.
LARGE = 512
_OTHER = "·"


def text(grid: Grid, width: int, coloured: bool, thread: int | None = None, whole: bool = False) -> str:
    """The grid, in bands that fit `width` characters; the cells of other threads as dots if one is named.

    A large grid that repeats a block is told by that block and a legend, unless `whole`.
    """
    repetition = grid.repetition() if grid.size > LARGE and not whole and thread is None else None
    shown = grid.cut(range(repetition.height), range(repetition.width)) if repetition else grid
    lines = [grid.title]
    fit = max(1, (width - shown.margin - 1) // (shown.widest + 1))
    for band in shown.bands(fit):
        lines += ["", *_band(shown, band, coloured, thread)]
    if repetition:
        lines += ["", *_legend(grid, repetition)]
    return "\n".join(lines)


def _band(grid: Grid, band: Sequence[int], coloured: bool, thread: int | None) -> Iterator[str]:
    wide, margin = grid.widest, grid.margin
    yield " " * (margin + 1) + " ".join(grid.columns[col].center(wide) for col in band).rstrip()
    for name, cells in grid.rows:
        labels = []
        for col in band:
            cell = cells[col]
            label = (cell.label if thread in (None, cell.thread) else _OTHER).ljust(wide)
            if coloured and thread in (None, cell.thread) and cell.thread >= 0:
                red, green, blue = colour(cell.thread, grid.threads)
                label = f"\x1b[30;48;2;{red};{green};{blue}m{label}\x1b[0m"
            labels.append(label)
        yield (f"{name:>{margin}} " + " ".join(labels)).rstrip()


def _legend(grid: Grid, repetition: Repetition) -> Iterator[str]:
    rows, columns = len(grid.rows), len(grid.columns)
    block = f"{repetition.height} x {repetition.width}"
    yield f"{rows} x {columns} in all; the rest repeats this block of {block}:"
    yield from _differences(grid, grid.across, repetition.width, repetition.across)
    yield from _differences(grid, grid.down, repetition.height, repetition.down)
    yield f"--rows 0..{rows - 1} prints all of it; --rows, --cols and --thread choose a part"


def _differences(grid: Grid, what: str, period: int, exceeds: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """What blocks add to the first one's numbers: one line if it grows evenly, else a line a block."""
    steps = {tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairwise(exceeds)}
    if len(steps) == 1 and len(exceeds) > 2:
        (step,) = steps
        last = len(exceeds) - 1
        yield (f"  {what} {period}j..{period}j+{period - 1}: {_added(grid, step, 'j')}, for j = 1 to {last}")
        return
    for block, numbers in enumerate(exceeds[1:], 1):
        yield f"  {what} {period * block}..{period * block + period - 1}: {_added(grid, numbers)}"


def _added(grid: Grid, numbers: Sequence[int], factor: str = "") -> str:
    """`thread + 32, element - 2`; a name that stands for several numbers is said once where they agree."""
    added: dict[str, set[int]] = {}
    for name, number in zip(grid.names, numbers, strict=True):
        added.setdefault(name, set()).add(number)
    words = [
        f"{name} {'+' if number > 0 else '-'} {'' if factor and abs(number) == 1 else abs(number)}{factor}"
        for name, several in added.items()
        for number in sorted(several)
        if number
    ]
    return ", ".join(words) or "the same"
