"""A picture of an operand's map as a grid of cells: cut out, and told by the block that repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ...spec.errors import Question
from ...spec.lazy_dataclass import dataclass
from .tables import MapTable

__all__ = ["Cell", "Grid", "Repetition", "grid_of", "lanes_of"]

# Text and SVG are divided every so many rows and columns: the side of the core matrix of the figures.
SIDE = 8


class Cell(NamedTuple):
    """One cell: the thread that it belongs to, its label, and the numbers that the label consists of."""

    thread: int
    label: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Repetition:
    """A grid is one block, and copies of it whose numbers differ by constants.

    `height` and `width` are the block's size; `down` and `across` say by how much the numbers of each
    row and each column of blocks exceed those of the first.
    """

    height: int
    width: int
    down: tuple[tuple[int, ...], ...]
    across: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Grid:
    """Cells with the headings of their rows and columns. `names` says what the cells' numbers are.

    `above` and `before` count the rows and columns that were cut off before the first. `reads` says how a
    cell is read, where that is not by its thread. A cell of no thread (-1) has no numbers.
    """

    title: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    threads: int
    down: str = "rows"
    across: str = "columns"
    above: int = 0
    before: int = 0
    reads: str = ""

    @property
    def size(self) -> int:
        return len(self.rows) * len(self.columns)

    @cached_property
    def widest(self) -> int:
        """How many characters the longest label or heading of a column has."""
        return max(*(len(cell.label) for _, cells in self.rows for cell in cells), *map(len, self.columns))

    @cached_property
    def margin(self) -> int:
        """How many characters the longest heading of a row has."""
        return max(len(name) for name, _ in self.rows)

    def cut(self, rows: range | None, columns: range | None) -> Grid:
        """The part of the grid in some rows and columns; raises Question for what it does not have."""
        for wanted, count, what in (
            (rows, len(self.rows), self.down),
            (columns, len(self.columns), self.across),
        ):
            if wanted is not None and not (0 <= wanted.start < wanted.stop <= count):
                raise Question(
                    f"{self.title} has {what} 0..{count - 1}, not {wanted.start}..{wanted.stop - 1}"
                )
        down = rows if rows is not None else range(len(self.rows))
        across = columns if columns is not None else range(len(self.columns))
        return replace(
            self,
            above=self.above + down.start,
            before=self.before + across.start,
            columns=tuple(self.columns[col] for col in across),
            rows=tuple(
                (name, tuple(cells[col] for col in across)) for name, cells in (self.rows[r] for r in down)
            ),
        )

    def bands(self, fit: int) -> Iterator[range]:
        """The columns in bands of at most `fit`, and of a multiple of eight where eight fit."""
        step = fit - fit % SIDE or fit
        for start in range(0, len(self.columns), step):
            yield range(start, min(start + step, len(self.columns)))

    def repetition(self) -> Repetition | None:
        """The smallest block, of multiples of eight, that the grid consists of; None where none repeats."""
        height, down = self._period(
            len(self.rows), lambda row, col: self.rows[row][1][col], len(self.columns)
        )
        width, across = self._period(len(self.columns), lambda col, row: self.rows[row][1][col], height)
        if len(down) == len(across) == 1:
            return None
        return Repetition(height, width, down, across)

    def _period(
        self, count: int, at: Callable[[int, int], Cell], others: int
    ) -> tuple[int, tuple[tuple[int, ...], ...]]:
        """The smallest period in one direction, and by how much each block exceeds the first."""
        for period in range(SIDE, count, SIDE):
            if count % period:
                continue
            exceeds = []
            for start in range(0, count, period):
                pairs = (
                    (at(start + i, j).numbers, at(i, j).numbers) for i in range(period) for j in range(others)
                )
                differences = {
                    tuple(a - b for a, b in zip(*pair, strict=True)) if len(pair[0]) == len(pair[1]) else ()
                    for pair in pairs
                    if pair != ((), ())
                }
                if len(differences) > 1 or () in differences:
                    break
                exceeds.append(differences.pop() if differences else (0,) * len(self.names))
            else:
                return period, tuple(exceeds)
        return count, ((0,) * len(self.names),)


def grid_of(table: MapTable) -> Grid:
    """The matrix with a cell a position: who holds it."""
    if table.packing is None:
        return _metadata(table) if "chunk" in table.layout.outputs else _addresses(table)
    letter = table.letter
    cells: dict[tuple[int, ...], Cell] = {}
    for thread, element, _, _, *place in table.entries:
        cells[tuple(place)] = Cell(thread, f"T{thread}:{letter}{element}", (thread, element))
    columns = range(table.cols)
    rows = [
        (f"product {number}, row {row}", tuple(cells[row, col, number] for col in columns))
        if table.products > 1
        else (str(row), tuple(cells[row, col] for col in columns))
        for number in range(table.products)
        for row in range(table.rows)
    ]
    return Grid(table.title, ("thread", "element"), tuple(map(str, columns)), tuple(rows), table.threads)


def _addresses(table: MapTable) -> Grid:
    """A cell a place, with the thread that is responsible for it."""
    (down, rows), (across, cols) = table.layout.shape(table.parameters).items()
    threads = {(row, col): thread for thread, row, col in table.entries}
    return Grid(
        table.title,
        ("thread",),
        tuple(f"{across} {col}" for col in range(cols)),
        tuple(
            (
                f"{down} {row}",
                tuple(
                    Cell(threads[row, col], f"T{threads[row, col]}", (threads[row, col],))
                    for col in range(cols)
                ),
            )
            for row in range(rows)
        ),
        table.threads,
        f"{down} numbers",
        f"{across} numbers",
    )


def _metadata(table: MapTable) -> Grid:
    """A cell a chunk: the thread and the bits that hold the chunk's indices, `T0:[3..0]`."""
    shape = table.layout.shape(table.parameters)
    bits: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for thread, bit, row, chunk, _, _ in table.entries:
        bits.setdefault((row, chunk), []).append((thread, bit))

    def cell(row: int, chunk: int) -> Cell:
        places = [bit for _, bit in bits[row, chunk]]
        thread, low, high = bits[row, chunk][0][0], min(places), max(places)
        return Cell(thread, f"T{thread}:[{high}..{low}]", (thread, low, high))

    return Grid(
        table.title,
        ("thread", "lowest bit", "highest bit"),
        tuple(f"chunk {chunk}" for chunk in range(shape["chunk"])),
        tuple(
            (str(row), tuple(cell(row, chunk) for chunk in range(shape["chunk"])))
            for row in range(shape["row"])
        ),
        table.threads,
        across="chunks",
    )


def lanes_of(table: MapTable) -> Grid:
    """A row a thread and a column a register: which positions its elements hold.

    Raises Question for an operand without register elements (metadata, addresses).
    """
    if table.packing is None:
        raise Question(f"{table.title} is not a fragment; only fragments have a view by register")
    cells: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for thread, _, register, _, *place in table.entries:
        cells.setdefault((thread, register), []).append(tuple(place))
    registers = 1 + max(register for _, register in cells)

    def cell(thread: int, register: int) -> Cell:
        places = cells.get((thread, register))
        if places is None:  # a thread that takes no part
            return Cell(-1, "·", ())
        return Cell(thread, _places(places), tuple(number for place in places for number in place))

    outputs = len(next(iter(cells.values()))[0])
    held = max(map(len, cells.values()))
    names = tuple(name for _ in range(held) for name in (*table.layout.outputs,)[:outputs])
    return Grid(
        f"{table.title}, by register",
        names,
        tuple(f"r{register}" for register in range(registers)),
        tuple(
            (f"T{thread}", tuple(cell(thread, register) for register in range(registers)))
            for thread in range(table.threads)
        ),
        table.threads,
        "threads",
        "registers",
    )


def _places(places: Sequence[tuple[int, ...]]) -> str:
    """`3,0..1` for neighbours of a row, `0..1,3` of a column, else every position."""
    first, *rest = places
    if not rest:
        return ",".join(map(str, first))
    for axis in range(2):
        fixed = {place[:axis] + place[axis + 1 :] for place in places}
        along = [place[axis] for place in places]
        if len(fixed) == 1 and along == list(range(along[0], along[0] + len(along))):
            words = [str(number) for number in first]
            words[axis] = f"{along[0]}..{along[-1]}"
            return ",".join(words)
    return " ".join(",".join(map(str, place)) for place in places)
