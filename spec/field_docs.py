"""The documentation of each field of a YAML record: its meaning, an example, a value that the loader refuses.

It is a docstring below the field in the class, in this form:

    since: Version
    \"\"\"The first PTX ISA version that has it.
    Noticed by: observations. Example: `"8.0"`. Refuses: `8.0` (a version is quoted).\"\"\"

`Noticed by` names the witnesses that contradict a wrong value (`WITNESSES`), `readers` where only people can.

Only docs, the JSON Schema and tests read it, so the loader does not spend time on it.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_origin

from .lazy_dataclass import dataclass
from .nodes import FileName, Formula, Scalars, Version, written_fields

__all__ = ["WITNESSES", "FieldDoc", "field_docs", "records", "summary"]

_FORM = re.compile(r"(.+?)(?: Noticed by: ([a-z, ]+)\.)? Example: `([^`]+)`\. Refuses: `([^`]+)` \((.+)\)\.")
# Who can contradict a wrong value, from cheap to dear; readers: no machine can.
WITNESSES = (
    "loader",
    "proofs",
    "observations",
    "universes",
    "register",
    "peers",
    "silicon",
    "models",
    "cases",
    "tests",
    "readers",
)
_VALUES = (FileName, Formula, Scalars, Version)  # dataclasses that are written as one value


@dataclass(frozen=True)
class FieldDoc:
    """A field's meaning, who would notice a wrong value, an example value as YAML, a value that the loader
    refuses, and why.
    """

    meaning: str
    noticed_by: tuple[str, ...]
    example: str
    refused: str
    why: str


@cache
def field_docs(record: type) -> Mapping[str, FieldDoc]:
    """The documentation of every field that a file writes; raises TypeError where one lacks it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    for statement, below in zip(tree.body, tree.body[1:], strict=False):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = text
    return {name: _read(record, name, texts.get(name, "")) for name in written_fields(record)}


def _read(record: type, name: str, text: str) -> FieldDoc:
    found = _FORM.fullmatch(" ".join(text.split()))
    if found is None:
        raise TypeError(
            f"{record.__name__}.{name}: below the field must stand "
            '"""MEANING Noticed by: WITNESSES. Example: `VALUE`. Refuses: `VALUE` (WHY)."""'
        )
    meaning, noticed, *rest = found.groups()
    by = tuple(noticed.split(", ")) if noticed else ()
    for witness in by:
        if witness not in WITNESSES:
            raise TypeError(f"{record.__name__}.{name}: there is no witness {witness!r}")
    return FieldDoc(meaning, by, *rest)


def summary(record: type) -> str:
    """A record's docstring as one line."""
    return " ".join((record.__doc__ or "").split())


def records(file: type) -> Iterator[type]:
    """A kind of file and every record that may stand in it, each once, outermost first."""
    found: dict[type, None] = {}
    waiting = [file]
    while waiting:
        record = waiting.pop(0)
        if record not in found:
            found[record] = None
            hints = typing.get_type_hints(record)
            waiting += [inner for name in written_fields(record) for inner in _inside(hints[name])]
    yield from found


def _inside(wanted: Any) -> Iterator[type]:
    """The records that a type mentions."""
    if get_origin(wanted) is None:
        if dataclasses.is_dataclass(wanted) and isinstance(wanted, type) and wanted not in _VALUES:
            yield wanted
    else:
        for argument in get_args(wanted):
            yield from _inside(argument)
