"""The pages of docs/api: the Python API as its docstrings describe it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import ptxmma

__all__ = ["api_pages"]

_TOP = """\
# The Python API

`import ptxmma` has all of it; what is not on these pages may change without notice. `ptxmma schema --write .`
writes the pages from the docstrings, and CI compares. Each example is run as a test.
"""


def api_pages() -> dict[str, str]:
    """Each page by its path in the repository."""
    exported = {name: getattr(ptxmma, name) for name in ptxmma.__all__ if not name.startswith("_")}
    classes = {name: value for name, value in exported.items() if inspect.isclass(value)}
    functions = {name: value for name, value in exported.items() if name not in classes}
    top = [_TOP, *_paragraph(inspect.getdoc(ptxmma.api) or "", lead=1), "## Functions", ""]
    top += [f"- [`{name}`](#{name}): {_first(value)}" for name, value in functions.items()]
    top += ["", "`ptxmma.__version__` is the version as text.", "", "## Classes and errors", ""]
    top += [f"- [`{name}`](classes.md#{name.lower()}): {_first(value)}" for name, value in classes.items()]
    for name, function in functions.items():
        top += ["", f"## {name}", "", *_signature(name, function), "", *_paragraph(inspect.getdoc(function))]
    below = [
        "# Classes and errors of the Python API",
        "",
        "[The functions](functions.md) return or raise these.",
    ]
    for name, kind in classes.items():
        below += ["", f"## {name}", "", *_class(kind)]
    return {"docs/api/functions.md": _text(top), "docs/api/classes.md": _text(below)}


def _text(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _first(value: object) -> str:
    """The first sentence of a docstring."""
    doc = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.?]) (?=[A-Z`])", doc)[0]


def _paragraph(doc: str | None, lead: int = 0) -> list[str]:
    """A docstring as Markdown, without its first `lead` paragraphs: examples in a block of code."""
    lines: list[str] = []
    for part in (doc or "").split("\n\n")[lead:]:
        example = part.startswith(">>> ")
        lines += ["```pycon", part, "```", ""] if example else [part, ""]
    return lines


def _signature(name: str, function: Any) -> list[str]:
    """The call of a function, with types as they stand in the source."""
    shown, starred = [], False
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (
            parameter.kind is parameter.VAR_KEYWORD
        )
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        shown.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    return ["```python", f"{name}({', '.join(shown)}) -> {signature.return_annotation}", "```"]


def _class(kind: type) -> list[str]:
    """What a class is for, its fields, properties and methods: those that have a docstring."""
    lines = _paragraph(inspect.getdoc(kind))
    if issubclass(kind, ptxmma.PtxmmaError) and kind is not ptxmma.PtxmmaError:
        lines += [f"A `{kind.__bases__[0].__name__}`.", ""]
    if dataclasses.is_dataclass(kind):
        lines += ["Fields:", ""]
        lines += [f"- `{field.name}: {field.type}`" for field in dataclasses.fields(kind)]
        lines += [""]
    properties = list(_properties(kind))
    if properties:
        lines += ["Properties:", "", *properties, ""]
    for name, member in vars(kind).items():
        if inspect.isfunction(member) and not name.startswith("_") and inspect.getdoc(member):
            lines += [f"### {kind.__name__}.{name}", "", *_signature(name, member), ""]
            lines += _paragraph(inspect.getdoc(member))
    return lines


def _properties(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        getter = member.fget if isinstance(member, property) else None
        getter = member.func if isinstance(member, cached_property) else getter
        if getter is not None and not name.startswith("_") and inspect.getdoc(getter):
            returned = inspect.signature(getter).return_annotation
            yield f"- `{name}: {returned}`: {' '.join((inspect.getdoc(getter) or '').split())}"
