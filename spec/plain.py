"""Records as plain values: lists, mappings and scalars that JSON can hold, without places in files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .errors import Place
from .expressions import source
from .nodes import FileName, Formula, Scalars, Version

__all__ = ["kept_fields", "plain"]

_Chooses = Callable[[str, str], bool]


def _every(record: str, name: str) -> bool:
    return True


def plain(value: object, kept: _Chooses = _every, ordered: _Chooses = _every, classes: bool = False) -> Any:
    """A record as plain values, equal for records that say the same.

    `kept` says of a record's class and field whether it counts, `ordered` whether the order of its
    lists does. With `classes`, records of two classes are never equal, whatever they say.
    """
    return _plain(value, _Choice(kept, ordered, classes), True)


def kept_fields(record: Any, kept: _Chooses = _every) -> Iterator[tuple[str, Any]]:
    """The names and values of a record's fields that count; places in files never do."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if not isinstance(value, Place) and kept(type(record).__name__, field.name):
            yield field.name, value


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What of a record counts."""

    kept: _Chooses
    ordered: _Chooses
    classes: bool


def _plain(value: object, choice: _Choice, in_order: bool) -> Any:
    match value:
        case Formula():
            return source(value.tree)
        case Scalars():
            return _listed(value.values, choice, in_order)
        case Version():
            return str(value)
        case FileName():
            return value.text
        case Mapping():
            return {str(key): _plain(inner, choice, in_order) for key, inner in value.items()}
        case tuple() | list():
            return _listed(value, choice, in_order)
        case frozenset():
            return sorted(map(str, value))
    if dataclasses.is_dataclass(value):
        record = type(value).__name__
        found = {
            name: _plain(inner, choice, choice.ordered(record, name))
            for name, inner in kept_fields(value, choice.kept)
        }
        return {"class": record, **found} if choice.classes else found
    return value


def _listed(values: Iterable[object], choice: _Choice, in_order: bool) -> list[Any]:
    found = [_plain(one, choice, in_order) for one in values]
    return found if in_order else sorted(found, key=repr)
