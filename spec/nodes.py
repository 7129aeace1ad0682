"""YAML files to frozen dataclasses, strictly: every fault is an error with file:line:column."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from .errors import Place, SpecError
from .expressions import Expression, parse, parse_range
from .instead import instead_of
from .intervals import interval
from .lazy_dataclass import dataclass

__all__ = [
    "FILLED_IN",
    "FileName",
    "Formula",
    "Node",
    "Scalars",
    "Version",
    "bounded",
    "compose",
    "must_exist",
    "nearest",
    "pairs",
    "place_of",
    "retagged",
    "structure",
    "written_fields",
]

_INTEGER = "tag:yaml.org,2002:int"
_BOOLEAN = "tag:yaml.org,2002:bool"
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
# Metadata that marks a field which no file writes.
FILLED_IN: Mapping[str, bool] = MappingProxyType({"filled_in": True})
Node = Any  # yaml.Node, whose library is loaded only when a file is read
T = TypeVar("T")


@dataclass(frozen=True, order=True)
class Version:
    """A PTX ISA version; compared as numbers, so 9.10 comes after 9.9."""

    major: int
    minor: int

    @classmethod
    def of(cls, text: str, place: Place | None = None) -> Version:
        parts = text.split(".")
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
            raise SpecError(f"{text!r} is not a PTX ISA version", place, 'a quoted string such as "8.4"')
        return cls(int(parts[0]), int(parts[1]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True)
class Formula:
    """An expression of the YAML with its text and its place."""

    text: str
    tree: Expression
    place: Place

    json_schema: ClassVar[dict[str, Any]] = {
        "type": ["string", "integer"],
        "description": "an expression: integers, names, + - * // % & | ^ << >>, comparisons, "
        "and/or/not, where(condition, a, b), bits(a)",
    }


@dataclass(frozen=True)
class Scalars:
    """The values a field may take: one scalar, a list, or a range(start, stop, step)."""

    values: tuple[str | int, ...]
    place: Place

    json_schema: ClassVar[dict[str, Any]] = {
        "type": ["string", "integer", "array"],
        "items": {"type": ["string", "integer"]},
        "description": "one value, a list of values, or range(start, stop, step)",
    }


@dataclass(frozen=True)
class FileName:
    """A file by its path from the folder of specs.yaml, and the place where a file names it."""

    text: str
    place: Place

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "description": "a file, by its way from the folder of specs.yaml",
    }


def bounded(formula: Formula, bounds: Mapping[str, tuple[int, int]], width: int = 64) -> tuple[int, int]:
    """The least and greatest value of a formula; an error of `interval` at the formula's place."""
    try:
        return interval(formula.tree, bounds, width)
    except SpecError as error:
        raise SpecError(f"{error.what} (in {formula.text!r})", formula.place, error.right) from None


def nearest(word: str, known: typing.Iterable[str]) -> str | None:
    """The known word most like `word`, if one is close."""
    import difflib  # rarely needed, and slow to import

    close = difflib.get_close_matches(word, list(known), n=1)
    return close[0] if close else None


def must_exist(kind: str, name: str, known: typing.Iterable[str], place: Place) -> None:
    """Raise SpecError, with the nearest, where a name is not one of those known."""
    names = known if isinstance(known, Mapping) else list(known)
    if name not in names:
        raise SpecError(
            f"there is no {kind} {name!r}", place, nearest(name, list(names)) or f"a {kind} that exists"
        )


def compose(path: Path, shown: str, named: Place | None = None) -> Node:
    """The root node of a YAML file; `shown` is its name in errors, `named` where another file names it."""
    replaced = instead_of(path)
    if replaced is not None:
        return replaced
    import yaml  # imported here, since a command that reads the cache does not need it

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise SpecError(f"{shown} cannot be read: {reason}", named or Place(shown, 1, 1)) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"not UTF-8: {error.reason}", Place(shown, 1, 1)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(shown, mark.line + 1, mark.column + 1) if mark else Place(shown, 1, 1)
        raise SpecError(f"not YAML: {error.problem}", place) from None
    except yaml.YAMLError as error:
        raise SpecError(f"not YAML: {error}", Place(shown, 1, 1)) from None
    if node is None:
        raise SpecError("the file is empty", Place(shown, 1, 1))
    return node


def retagged(node: Node) -> Node:
    """A scalar node whose text was changed, with the tag that YAML gives to the new text."""
    import yaml

    plain = not node.style  # libyaml's loader says "" where PyYAML's own says None
    resolver: Any = yaml.SafeLoader("")
    node.tag = resolver.resolve(yaml.ScalarNode, node.value, (plain, not plain))
    return node


def place_of(node: Node, file: str) -> Place:
    return Place(file, node.start_mark.line + 1, node.start_mark.column + 1)


def text_place(node: Node, file: str) -> Place:
    """Where a scalar's text begins, behind its opening quote."""
    place = place_of(node, file)
    quoted = node.id == "scalar" and node.style in ("'", '"')
    return place.shifted(1) if quoted else place


def structure(node: Node, wanted: type[T], file: str) -> T:
    """`node` as a value of the type `wanted`; raises SpecError at the faulty node."""
    return typing.cast(T, _structure(node, wanted, file))


def _structure(node: Node, wanted: Any, file: str) -> Any:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return _union(node, arguments, file)
    if origin is Literal:
        return _choice(node, arguments, file)
    if origin is tuple:
        if not node.id == "sequence":
            raise SpecError(f"{_found(node)} where a list belongs", place_of(node, file), "[…]")
        return tuple(_structure(item, arguments[0], file) for item in node.value)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _structure(value, arguments[1], file) for key, value in pairs(node, file).items()}
    if dataclasses.is_dataclass(wanted) and wanted not in _SCALARS:
        return _record(node, wanted, file)
    if wanted in _SCALARS:
        return _SCALARS[wanted](node, file)
    raise TypeError(f"no rule to structure {wanted!r}")


def _found(node: Node) -> str:
    if node.id == "scalar":
        return f"the value {node.value!r}" if node.value else "an empty value"
    return "a list" if node.id == "sequence" else "a mapping"


def pairs(node: Node, file: str) -> dict[str, Node]:
    """The entries of a mapping node; a duplicate key is an error."""
    if not node.id == "mapping":
        raise SpecError(f"{_found(node)} where a mapping belongs", place_of(node, file), "key: value")
    found: dict[str, Node] = {}
    for key, value in node.value:
        if not key.id == "scalar":
            raise SpecError("a key must be a plain word", place_of(key, file))
        if key.value in found:
            raise SpecError(
                f"the key {key.value!r} stands twice in one mapping",
                place_of(key, file),
                "each key once",
            )
        found[key.value] = value
    return found


@cache
def _hints(wanted: type) -> dict[str, Any]:
    return typing.get_type_hints(wanted)


@cache
def written_fields(record: type) -> dict[str, dataclasses.Field[Any]]:
    """The fields that a file writes: all except those that the loader fills in, such as the place."""
    return {
        field.name: field
        for field in dataclasses.fields(record)
        if field.name != "place" and not field.metadata.get("filled_in")
    }


def _record(node: Node, wanted: Any, file: str) -> Any:
    hints = _hints(wanted)
    fields = written_fields(wanted)
    entries = pairs(node, file)
    for key_node, _ in node.value:
        if key_node.value not in fields:
            guess = nearest(key_node.value, fields)
            raise SpecError(
                f"unknown key {key_node.value!r}",
                place_of(key_node, file),
                guess or "one of: " + ", ".join(fields),
            )
    values: dict[str, Any] = {}
    for key, field in fields.items():
        if key in entries:
            values[key] = _structure(entries[key], hints[key], file)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SpecError(
                f"the key {key!r} is missing",
                place_of(node, file),
                f"{key}: … (it is always written, null included)",
            )
    if "place" in hints:
        values["place"] = place_of(node, file)
    return wanted(**values)


def _union(node: Node, arguments: tuple[Any, ...], file: str) -> Any:
    is_null = node.id == "scalar" and node.tag == _NULL
    if types.NoneType in arguments and is_null:
        return None
    rest = [argument for argument in arguments if argument is not types.NoneType]
    if len(rest) == 1:
        return _structure(node, rest[0], file)
    is_map = node.id == "mapping"
    for argument in rest:
        if is_map == (dataclasses.is_dataclass(argument) and argument not in _SCALARS):
            return _structure(node, argument, file)
    raise SpecError(f"{_found(node)} does not fit here", place_of(node, file))


def _choice(node: Node, allowed: tuple[Any, ...], file: str) -> Any:
    value = _scalar(node, file)
    if value not in allowed:
        raise SpecError(
            f"{value!r} is not allowed here",
            place_of(node, file),
            "one of: " + ", ".join(map(str, allowed)),
        )
    return value


def _scalar(node: Node, file: str) -> str | int | bool | None:
    if not node.id == "scalar":
        raise SpecError(f"{_found(node)} where one value belongs", place_of(node, file))
    if node.tag == _INTEGER:
        try:
            return int(node.value, 0)
        except ValueError:
            raise SpecError(f"{node.value!r} is not an integer", place_of(node, file)) from None
    if node.tag == _BOOLEAN:
        return bool(node.value.lower() in ("true", "yes", "on"))
    if node.tag == _NULL:
        return None
    if node.tag != _STRING:
        raise SpecError(
            f"{node.value!r} is neither a word nor an integer",
            place_of(node, file),
            f'"{node.value}"',
        )
    return str(node.value)


def _string(node: Node, file: str) -> str:
    value = _scalar(node, file)
    if not isinstance(value, str):
        raise SpecError(f"{_found(node)} where text belongs", place_of(node, file), f'"{node.value}"')
    return value


def _integer(node: Node, file: str) -> int:
    value = _scalar(node, file)
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"{_found(node)} where an integer belongs", place_of(node, file), "64")
    return value


def _boolean(node: Node, file: str) -> bool:
    value = _scalar(node, file)
    if not isinstance(value, bool):
        raise SpecError(f"{_found(node)} where true or false belongs", place_of(node, file))
    return value


def _version(node: Node, file: str) -> Version:
    if node.id == "scalar" and node.style not in ("'", '"'):
        raise SpecError(f"the version {node.value} is not quoted", place_of(node, file), f'"{node.value}"')
    return Version.of(_string(node, file), place_of(node, file))


def _file_name(node: Node, file: str) -> FileName:
    return FileName(_string(node, file), place_of(node, file))


def _formula(node: Node, file: str) -> Formula:
    value = _scalar(node, file)
    if isinstance(value, bool) or value is None:
        raise SpecError(f"{_found(node)} where an expression belongs", place_of(node, file))
    place = text_place(node, file)
    return Formula(str(value), parse(str(value), place), place)


def _scalars(node: Node, file: str) -> Scalars:
    place = place_of(node, file)
    if node.id == "sequence":
        values = tuple(_element(item, file) for item in node.value)
        if not values:
            raise SpecError("the list of values is empty", place, "at least one value")
        if len(set(values)) < len(values):
            raise SpecError("a value stands twice in the list", place, "each value once")
        return Scalars(values, place)
    value = _element(node, file)
    spread = parse_range(value, text_place(node, file)) if isinstance(value, str) else None
    return Scalars(spread or (value,), place)


def _element(node: Node, file: str) -> str | int:
    value = _scalar(node, file)
    if isinstance(value, bool) or value is None:
        raise SpecError(f"{_found(node)} where a word or an integer belongs", place_of(node, file), "none")
    return value


_SCALARS: dict[Any, typing.Callable[[Node, str], Any]] = {
    str: _string,
    int: _integer,
    bool: _boolean,
    Version: _version,
    FileName: _file_name,
    Formula: _formula,
    Scalars: _scalars,
}
