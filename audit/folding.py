"""Fold many mnemonics into a few readable patterns: `m64n{8..256}k64{.satfinite}.s32.{u8.s8,s8.u8}`.

Braces hold alternatives. `.{a,b}` takes one of them; `{.a,.b}` takes one of them or none, as the
text writes optional qualifiers. `{8..256}` is every value of the row from 8 to 256.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import NamedTuple

from ..spec.variants import ABSENT, Family, Variant

__all__ = ["Pattern", "fold"]

_RANGE = 4  # at least this many neighbouring integers are written as a range
_TIED = 6  # at most this many alternatives of neighbouring qualifiers are readable


@dataclass(frozen=True)
class Pattern:
    """A product of qualifiers, and how many mnemonics it stands for."""

    text: str
    count: int


@dataclass(frozen=True)
class _Column:
    """A field of the syntax: the literal before it, and whether its dot comes and goes with it."""

    literal: str
    field: str
    optional: bool


class _Cell(NamedTuple):
    """The content of the columns from `start` to `stop`: values of one column, or tied texts of several."""

    start: int
    stop: int
    values: tuple[str | int, ...]


_Box = tuple[_Cell, ...]


def fold(variants: Iterable[Variant]) -> tuple[Pattern, ...]:
    """Patterns that together spell exactly the variants, each of them once."""
    by_family: dict[Family, list[Variant]] = defaultdict(list)
    for variant in variants:
        by_family[variant.row.family].append(variant)
    return tuple(
        pattern for family, mine in by_family.items() for pattern in _Folding(family, mine).patterns()
    )


class _Folding:
    """The variants of one instruction, being folded into patterns."""

    def __init__(self, family: Family, variants: Sequence[Variant]) -> None:
        self.columns, self.tail = _columns(family)
        self.variants = variants
        self.texts: dict[_Cell, str] = {}
        rows = {variant.row.id: variant.row for variant in variants}.values()
        self.domains = [[row.domains[column.field] for row in rows] for column in self.columns]
        self.order: list[dict[str | int, int]] = [
            {value: i for domain in domains for i, value in enumerate(domain)} for domains in self.domains
        ]

    def patterns(self) -> Iterator[Pattern]:
        counts = {}
        for variant in self.variants:
            values = [variant.fields[column.field] for column in self.columns]
            box = tuple(_Cell(i, i + 1, (value,)) for i, value in enumerate(values))
            counts[box] = 1
        counts = self._tie(self._merge(counts))
        for box, count in counts.items():
            text = "".join(self._written(cell) for cell in box) + self.tail
            yield Pattern(text, count)

    def _merge(self, counts: dict[_Box, int]) -> dict[_Box, int]:
        """Join boxes that differ in one column; start with the column that saves the most boxes."""
        while len(counts) > 1:
            varied = [i for i, cells in enumerate(zip(*counts, strict=True)) if len(set(cells)) > 1]
            joined = min((_joined(counts, i) for i in varied), key=len)
            if len(joined) == len(counts):
                break
            counts = joined
        return counts

    def _tie(self, counts: dict[_Box, int]) -> dict[_Box, int]:
        """Join boxes that differ in neighbouring columns only, the fewest columns first."""
        for width in range(2, len(self.columns) + 1 if len(counts) > 1 else 0):
            for start in range(len(self.columns) - width + 1):
                joined = self._tied(counts, start, start + width)
                if len(joined) < len(counts):
                    return self._tie(joined)
        return counts

    def _tied(self, counts: dict[_Box, int], start: int, stop: int) -> dict[_Box, int]:
        """The boxes with the columns from `start` to `stop` as one cell, where that joins some."""
        groups: dict[tuple[_Box, _Box], list[tuple[_Box, int]]] = defaultdict(list)
        kept: dict[_Box, int] = {}
        for box, count in counts.items():
            left = tuple(cell for cell in box if cell.stop <= start)
            right = tuple(cell for cell in box if cell.start >= stop)
            inside = box[len(left) : len(box) - len(right)]
            if inside[0].start == start and inside[-1].stop == stop:
                groups[left, right].append((inside, count))
            else:
                kept[box] = count
        for (left, right), parts in groups.items():
            texts = [self._bare(inside) for inside, _ in parts] if 1 < len(parts) <= _TIED else []
            if texts and _readable(texts):
                kept[(*left, _Cell(start, stop, tuple(texts)), *right)] = sum(count for _, count in parts)
            else:
                kept |= {(*left, *inside, *right): count for inside, count in parts}
        return kept

    def _bare(self, cells: _Box) -> str:
        """The text of some cells without the literal before the first."""
        literal = self.columns[cells[0].start].literal
        return "".join(self._written(cell) for cell in cells).removeprefix(literal)

    def _written(self, cell: _Cell) -> str:
        """The text of a cell; the same ones come again and again."""
        if cell not in self.texts:
            self.texts[cell] = self._spelled(cell)
        return self.texts[cell]

    def _spelled(self, cell: _Cell) -> str:
        column = self.columns[cell.start]
        if cell.stop - cell.start > 1:
            texts = [str(text) for text in cell.values]
            dot = "." if all(text.startswith(".") for text in texts) else ""
            return f"{column.literal}{dot}{{{','.join(text.removeprefix(dot) for text in texts)}}}"
        order = self.order[cell.start]
        present = sorted(
            (v for v in cell.values if v != ABSENT), key=lambda v: v if isinstance(v, int) else order[v]
        )
        if not present:
            return column.literal
        dot = "." if column.optional else ""
        if column.optional and len(present) < len(cell.values):
            return f"{column.literal}{{{','.join(f'.{value}' for value in present)}}}"
        return f"{column.literal}{dot}{self._alternatives(cell.start, present)}"

    def _alternatives(self, number: int, values: Sequence[str | int]) -> str:
        if len(values) == 1:
            return str(values[0])
        numbers = [value for value in values if isinstance(value, int)]
        if len(numbers) == len(values) >= _RANGE and self._neighbours(number, sorted(numbers)):
            return f"{{{min(numbers)}..{max(numbers)}}}"
        return f"{{{','.join(map(str, values))}}}"

    def _neighbours(self, number: int, values: list[int]) -> bool:
        """Whether the values are all that some row has between the least and the greatest."""
        return any(
            values == sorted(int(v) for v in domain if values[0] <= int(v) <= values[-1])
            for domain in self.domains[number]
        )


def _readable(texts: Sequence[str]) -> bool:
    """Whether the texts may stand as alternatives: without braces, and all or none behind a dot."""
    return not any("{" in text for text in texts) and len({text[:1] == "." for text in texts}) == 1


def _joined(counts: dict[_Box, int], number: int) -> dict[_Box, int]:
    """The boxes with those joined that differ in one column only."""
    groups: dict[_Box, tuple[tuple[str | int, ...], int]] = {}
    for box, count in counts.items():
        rest = (*box[:number], *box[number + 1 :])
        values, total = groups.get(rest, ((), 0))
        groups[rest] = (*values, *box[number].values), total + count
    return {
        (*rest[:number], _Cell(number, number + 1, tuple(sorted(values, key=str))), *rest[number:]): total
        for rest, (values, total) in groups.items()
    }


def _columns(family: Family) -> tuple[tuple[_Column, ...], str]:
    """The fields of the syntax in order, those inside a shape one by one; and the literal at the end."""
    columns: list[_Column] = []
    literal = ""
    for before, dot, name in family.pieces:
        literal += before
        if name in family.formats:
            literal += dot
            for text, inner, _, _ in Formatter().parse(family.formats[name]):
                literal += text
                if inner:
                    columns.append(_Column(literal, inner, False))
                    literal = ""
        elif name:
            columns.append(_Column(literal, name, bool(dot)))
            literal = ""
    return tuple(columns), literal
