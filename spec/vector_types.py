"""The types of the elements of a vector, and which go with each other.

The elements are similarly typed (6.4.3). As every ptxas has it, each goes with its neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from .special_registers import type_of
from .statements import element_kind

__all__ = ["FLOATS", "element_types", "unlike_neighbours"]

FLOATS = {"single": 32, "double": 64}  # bits of the kinds of floating-point literals
Groups = Sequence[Sequence[str]]


def element_types(
    elements: Sequence[str], declared: Mapping[str, str], special: Mapping[str, str], groups: Groups
) -> list[str | None]:
    """The type of each register, and the kind of each literal; None for `_`, and where nobody declares it.

    A floating-point literal as wide as a type of the groups is of that type.
    """
    found: list[str | None] = []
    for text in elements:
        kind: str | None = element_kind(text)
        if kind in ("register", "sink"):
            kind = type_of(text, declared, special)
        elif kind in FLOATS and any(f"f{FLOATS[kind]}" in group for group in groups):
            kind = f"f{FLOATS[kind]}"
        found.append(kind)
    return found


def unlike_neighbours(types: Sequence[str | None], groups: Groups) -> int | None:
    """The place of the first element that does not go with the next one; None where all do."""
    group = {word: number for number, words in enumerate(groups) for word in words}
    for place, (one, other) in enumerate(itertools.pairwise(types)):
        if one in group and other in group and group[one] != group[other]:
            return place
    return None
