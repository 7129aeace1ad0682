"""The statements inside the PTX of an asm statement, with scopes and declared registers."""

from __future__ import annotations

import re

from ...spec.lazy_dataclass import dataclass
from ..ptx.reader import read_module
from ..ptx.source import Function, PtxStatement, UnreadableFile

__all__ = ["InlineBody", "inline_body"]

_FRAME = ".version 1.0\n.target sm\n.func inline_assembly()\n{"
_PARTS = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?(?:\*/|\Z)|[{}]', re.S)
_ENDS = frozenset(";{}:")  # what stands before a new statement


@dataclass(frozen=True)
class InlineBody:
    """The statements of an asm statement. Offsets are those of the PTX; `unread` are offsets of text that is
    no statement, with the reason.
    """

    function: Function
    statements: tuple[PtxStatement, ...]
    unread: tuple[tuple[int, str], ...]
    labelled: bool
    unended: bool = False


def inline_body(text: str) -> InlineBody:
    """Read the PTX of an asm statement. Braces may be closed in another one. `unended` is whether the last
    statement lacks its `;`; it is read all the same.
    """
    plain = _PARTS.sub(_blank, text)
    opened, before = _balance(plain)
    ended = ";" if _unended(plain) else ""
    begin = _FRAME + "{" * before
    shift = len(begin)
    try:
        module = read_module(f"{begin}{text}{ended}\n{'}' * opened}\n}}", "")
    except UnreadableFile as error:
        return InlineBody(Function("", "", 0), (), ((0, error.what),), False)
    if not module.functions:
        return InlineBody(Function("", "", 0), (), ((0, "the string is no PTX"),), False)
    function = module.functions[0]
    limit = max(len(text) - 1, 0)
    faults = [(module.offset(fault.place) - shift, fault.what) for fault in module.faults]
    # Behind the text stand braces that close what an unreadable statement only seemed to open.
    own = [fault for fault in faults if fault[0] < len(text)]
    unread = [(min(max(offset, 0), limit), what) for offset, what in own or faults]
    for statement in function.statements:
        statement.offset -= shift
    return InlineBody(
        function,
        tuple(function.statements),
        tuple(unread),
        any(scope.labels for scope in function.scopes),
        bool(ended),
    )


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0] in "{}" else " " * len(found[0])


def _balance(text: str) -> tuple[int, int]:
    """How many braces the text opens and leaves open, and how many it closes without opening them."""
    depth = least = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        least = min(least, depth)
    return depth - least, -least


def _unended(text: str) -> bool:
    """Whether a text without comments ends inside a statement: not behind `;`, a label or a scope."""
    before, vectors = ";", [False]
    for character in text:
        if character == "{":
            vectors.append(before not in _ENDS)
        elif character == "}":
            if vectors[-1]:
                character = ")"  # the end of a vector ends no statement
            if len(vectors) > 1:
                vectors.pop()
        before = before if character.isspace() else character
    return before not in _ENDS
