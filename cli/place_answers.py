"""Questions about tensor memory: what a lane and a column hold, and which load brings that to a register."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..gen.pictures.places import PLACE, Load, loads, place_names
from ..gen.pictures.tables import MapTable
from ..spec.api import load
from ..spec.errors import Question

__all__ = ["answer_place", "place_json", "settings"]

_POINT = tuple[int, ...]


def settings(words: Sequence[str]) -> dict[str, int]:
    """`n=64` and the like as values of parameters; raises Question for anything else."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value.isdecimal()):
            raise Question(f"--with {word!r}: a name and a number are needed, such as n=64")
        found[name] = int(value)
    return found


def _points(table: MapTable, asked: Mapping[str, int]) -> list[_POINT]:
    """The points of a layout that have the numbers asked for."""
    names = place_names(table.layout)
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise Question(f"{table.title} has no {unknown[0]}; ask by {', '.join(names)}")
    wanted = [(names.index(name), value) for name, value in asked.items()]
    points = table.layout.points(table.parameters)
    found = [point for point in points if all(point[i] == value for i, value in wanted)]
    if not found:
        sizes = {**table.layout.domain(table.parameters), **table.layout.shape(table.parameters)}
        for (name, value), size in zip(
            asked.items(), (list(sizes.values())[i] for i, _ in wanted), strict=True
        ):
            if not 0 <= value < size:
                raise Question(f"there is no {name} {value} in {table.title}; it has {name} 0..{size - 1}")
        shown = ", ".join(f"{name} {value}" for name, value in asked.items())
        raise Question(f"{shown} takes no part in {table.title}")
    return found


def place_json(
    table: MapTable, points: Sequence[_POINT], loaded: Sequence[Load] | None = None
) -> dict[str, Any]:
    """Points of a layout of tensor memory, with the names of their numbers, and the loads that bring one."""
    from .witness_lines import peers_of

    name = table.layout.layout.id
    answer: dict[str, Any] = {
        "layout": name,
        "parameters": dict(table.parameters),
        "columns": list(place_names(table.layout)),
        "map": [list(point) for point in points],
        "peers": peers_of([name])[name],
    }
    if loaded is not None:
        answer["loads"] = [
            {
                "mnemonic": one.mnemonic,
                "layout": one.layout,
                "parameters": dict(one.parameters),
                "warp": one.warp,
                "lane": one.lane,
                "column": one.column,
                "thread": one.thread,
                "element": one.element,
                "halves": one.halves,
            }
            for one in loaded
        ]
    return answer


def answer_place(table: MapTable, asked: Mapping[str, int], form: str) -> None:
    """Print what a place holds, or where something lies; of one element of a matrix also the loads of it."""
    from .witness_lines import layout_line

    found = _points(table, asked)
    inputs = table.layout.inputs
    place = {name: found[0][inputs.index(name)] for name in PLACE if name in inputs}
    element = len(found) == 1 and len(place) == len(PLACE) and {"row", "col"} <= {*table.layout.outputs}
    loaded = list(loads(load(), place["lane"], place["column"])) if element else None
    if form == "json":
        print(json.dumps(place_json(table, found, loaded)))
    elif form == "text":
        for point in found:
            print(_sentence(table, point))
        for line in _loads_in_words(loaded or []):
            print(line)
        print(layout_line(table.layout))
    else:
        raise Question("one question is answered as text or as json")


def _sentence(table: MapTable, point: _POINT) -> str:
    names = place_names(table.layout)
    words = [f"{name} {number}" for name, number in zip(names, point, strict=True)]
    cut = len(table.layout.inputs)
    verb = "lies at" if PLACE[0] in table.layout.outputs else "holds"
    return f"{', '.join(words[:cut])} {verb} {', '.join(words[cut:])}"


def _loads_in_words(loaded: Sequence[Load]) -> Iterator[str]:
    if not loaded:
        return
    yield f"warp {loaded[0].warp} of the warpgroup can load it, from column {loaded[0].column} on:"
    wide = max(len(one.mnemonic) for one in loaded)
    for one in loaded:
        what = f"element {one.element}{', its lower 16 bits' if one.halves else ''}"
        yield f"  {one.mnemonic:{wide}}  or longer, at lane {one.lane}: thread {one.thread}, {what}"
