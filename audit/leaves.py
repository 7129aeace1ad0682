"""A record leaf by leaf: the path of every value, and its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..spec.errors import Place
from ..spec.expressions import source
from ..spec.nodes import Formula, Scalars, Version

__all__ = ["leaves"]


def leaves(value: Any, path: str = "", formulas: bool = True) -> Iterator[tuple[str, str]]:
    """Every scalar below a record with its path; places are left out.

    Without `formulas` only the paths of expressions are given.
    """
    if isinstance(value, Place) or value is None:
        return
    if isinstance(value, Formula):
        yield path, source(value.tree) if formulas else ""
    elif isinstance(value, Scalars):
        yield path, ", ".join(map(str, value.values))
    elif isinstance(value, Version) or not (
        isinstance(value, Mapping | tuple) or dataclasses.is_dataclass(value)
    ):
        yield path, str(value)
    elif isinstance(value, tuple) and not any(dataclasses.is_dataclass(item) for item in value):
        yield path, ", ".join(map(str, value))
    else:
        for name, item in _entries(value):
            yield from leaves(item, f"{path}/{name}" if path else name, formulas)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a mapping, of a list of records (by id) or of a record."""
    if isinstance(value, Mapping):
        yield from ((str(name), item) for name, item in value.items())
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield str(getattr(item, "id", None) or getattr(item, "ptx", None) or number), item
    else:
        for field in dataclasses.fields(value):
            yield field.name, getattr(value, field.name)
