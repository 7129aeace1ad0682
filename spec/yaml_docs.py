"""docs/yaml.md: every kind of YAML file, every record and every field, as the typed model documents them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from .field_docs import field_docs, records, summary
from .nodes import FileName, Formula, Scalars, Version, written_fields
from .schema import FILES

__all__ = ["markdown"]

_HEAD = """\
# The YAML language

`ptxmma schema --markdown` prints this page from the typed model that the loader reads the files into
(`spec/model.py`, `spec/index.py`, `spec/*_records.py` and others); CI compares the two. Each field has its
type, whether it must stand, what it means, an example that the loader takes, and a value that it refuses. A
test holds both against the loader.

What the loader refuses everywhere: a key that no field has, a key that stands twice, a missing key, a file
under spec/ that specs.yaml does not list, text that is not UTF-8. Every error names file, line and column,
and says what would be right.

The values:

- *text*: a word or a sentence. Quote what YAML would read as a number, `true` or `null`, and what contains
  `: ` or ` #`.
- *version*: a PTX ISA version in quotes, for 9.10 comes after 9.9.
- *formula*: integers, names, `+ - * // % & | ^ << >>`, comparisons, `and or not`, `where(condition, a, b)`
  and `bits(a)`, the number of binary digits. Anything else is refused, and so is a division by what can be
  zero.
- *values*: one word or integer, a list of them, or `range(start, stop, step)`.
- *file*: a path from the folder of specs.yaml.
"""
_PLAIN: dict[Any, str] = {
    str: "text",
    int: "integer",
    bool: "true or false",
    Version: "version",
    FileName: "file",
    Formula: "formula",
    Scalars: "values",
}


def markdown(more: Mapping[str, type] | None = None) -> str:
    """The page; `more` are kinds of files whose records are not in this package."""
    files = {**FILES, **(more or {})}
    users: dict[type, list[str]] = {}
    for name, file in files.items():
        for record in records(file):
            users.setdefault(record, []).append(name)
    lines = [_HEAD, "## The files", ""]
    lines += [f"- `{name}`: {_link(file)}" for name, file in files.items()]
    for record, names in users.items():
        lines += ["", *_section(record, names)]
    return "\n".join(lines) + "\n"


def _section(record: type, names: list[str]) -> Iterator[str]:
    yield f"## {record.__name__}"
    yield ""
    shown = "many files" if len(names) > 3 else ", ".join(f"`{name}`" for name in names)
    yield f"{summary(record)} (In {shown}.)"
    yield ""
    hints = typing.get_type_hints(record)
    for name, field in written_fields(record).items():
        doc = field_docs(record)[name]
        yield f"- **`{name}`** ({_type(hints[name])}; {_presence(field)}): {doc.meaning}"
        if doc.noticed_by:
            yield f"  Noticed by: {', '.join(doc.noticed_by)}."
        yield f"  Example: `{doc.example}`. Refuses: `{doc.refused}` ({doc.why})."


def _presence(field: dataclasses.Field[Any]) -> str:
    """Whether a field must be written, or what holds if it is absent."""
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    if default is dataclasses.MISSING:
        return "required"
    if isinstance(default, bool):
        return f"default {str(default).lower()}"
    return f"default `{default}`" if isinstance(default, str | int) and default != "" else "optional"


def _type(wanted: Any) -> str:
    if wanted in _PLAIN:
        return _PLAIN[wanted]
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        rest = [_type(argument) for argument in arguments if argument is not types.NoneType]
        return " or ".join([*rest, *(["null"] if types.NoneType in arguments else [])])
    if origin is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"names, each with {_type(arguments[1])}"
    return _link(wanted)


def _link(record: type) -> str:
    return f"[{record.__name__}](#{record.__name__.lower()})"
