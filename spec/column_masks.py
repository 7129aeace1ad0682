"""Which columns a mask descriptor zeroes, and the mask that zeroes given columns.

The formulas stand in spec/descriptors.yaml. A mask has parts of equal length, and in each of them spans of
zeroed and of used columns follow in turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from .descriptor import encode, fields_of
from .errors import Question
from .expressions import compiled, names
from .memory_records import ColumnMask, Descriptor
from .nodes import Formula

__all__ = ["field_of_part", "mask_of", "shown_columns", "zeroed_columns"]


def field_of_part(pattern: str, part: int) -> str:
    """A field's name, with the number of the part put in."""
    return pattern.replace("{part}", str(part))


def _value(formula: Formula, values: Mapping[str, int]) -> int:
    reads = tuple(sorted(names(formula.tree)))
    return int(compiled(formula.tree, reads)(*(values[name] for name in reads)))


def _parts(mask: ColumnMask, columns: int, settings: Mapping[str, int]) -> list[range]:
    """The columns of each part. Raises Question where the matrix cannot have that many columns."""
    if columns not in mask.counts.values:
        raise Question(f"{columns} columns: there must be {' or '.join(map(str, mask.counts.values))}")
    number = _value(mask.parts, settings)
    length = columns // number
    return [range(part * length, (part + 1) * length) for part in range(number)]


def _mask(descriptor: Descriptor) -> ColumnMask:
    if descriptor.columns is None:
        raise Question(f"{descriptor.title} is not a mask of columns")
    return descriptor.columns


def zeroed_columns(
    descriptor: Descriptor, word: int, columns: int, settings: Mapping[str, int]
) -> tuple[int, ...]:
    """The columns that a word zeroes, ascending, of so many; every setting must be given.

    Raises Question where the descriptor is not a mask, or is not of so many columns.
    """
    mask = _mask(descriptor)
    fields = fields_of(descriptor, word)
    values = {name.replace("-", "_"): value for name, value in fields.items()}
    found = []
    for number, part in enumerate(_parts(mask, columns, settings)):
        values |= {
            "start": fields[field_of_part(mask.start, number)],
            "first": fields[field_of_part(mask.first, number)],
        }
        for column in part:
            position = _value(mask.position, values | {"column": column - part.start})
            if _value(mask.zeroed, values | {"position": position}):
                found.append(column)
    return tuple(found)


def mask_of(descriptor: Descriptor, zeroed: Iterable[int], columns: int, settings: Mapping[str, int]) -> int:
    """The word that zeroes exactly these of so many columns, with the shortest spans; it shifts nothing.

    Raises Question where no word does, and as `zeroed_columns`.
    """
    mask = _mask(descriptor)
    wanted = set(zeroed)
    parts = _parts(mask, columns, settings)
    if not wanted <= set(range(columns)):
        raise Question(f"there are the columns 0 to {columns - 1} only")
    runs = [[(bit, len(list(run))) for bit, run in groupby(int(c in wanted) for c in part)] for part in parts]
    longest = {bit: max((n for part in runs for b, n in part if b == bit), default=1) for bit in (0, 1)}
    values = {"any": int(bool(wanted)), "zeros": longest[1], "used": longest[0]}
    fields: dict[str, int | str] = {}
    for number, part in enumerate(runs):
        values["first"], values["run"] = part[0]
        for pattern, formula in mask.inverse.items():
            fields[field_of_part(pattern, number)] = _value(formula, values)
    word = encode(descriptor, fields)
    if set(zeroed_columns(descriptor, word, columns, settings)) != wanted:
        raise Question(
            f"no mask zeroes exactly the columns {shown_columns(wanted)}: but for the ends of parts, every "
            "run of zeroed columns must be as long as the others, and so must every run of used ones"
        )
    return word


def shown_columns(columns: Iterable[int]) -> str:
    """Columns as ranges: `0-3, 8`; `none` where there are none."""
    runs: list[list[int]] = []
    for column in sorted(columns):
        if runs and column == runs[-1][1] + 1:
            runs[-1][1] = column
        else:
            runs.append([column, column])
    return ", ".join(f"{low}-{high}" if low < high else f"{low}" for low, high in runs) or "none"
