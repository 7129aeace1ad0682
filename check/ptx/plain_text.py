"""The text of a PTX file without its comments and what its strings say; refuses what is not ASCII text, or
not closed.

ptxas refuses the same: a NUL byte anywhere, and other bytes that are not ASCII outside comments. To ptxas,
too, a string ends at the next quote, on whichever line, and a backslash does not change that.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...spec.errors import Question

__all__ = ["without_comments"]

_PARTS = re.compile(r'"[^"]*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.S)
# Text of another language, up to a line that says no more than that it ends (cuTile's compiler writes it).
_SOURCE = r"\.source_begin[ \t]*\n.*?(?:(?<=\n)[ \t]*\.source_end[ \t]*(?=\n|\Z)|\Z)|"
_PARTS_AND_SOURCES = re.compile(_SOURCE + _PARTS.pattern, re.S)
# What may stand behind a string; else its end is the beginning of another one, and its own quote is missing.
_BEHIND_STRING = re.compile(r"[ \t\r]*(?:[,;\n]|//|/\*|\Z)")
_NOT_LINE_END = re.compile(r"[^\n]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_UTF16 = ("\udcff\udcfe", "\udcfe\udcff")
_BINARY = "this is not PTX: it holds a NUL byte, as binary files do"
_CLOSED = "a NUL byte ends the text, as NVRTC closes PTX, and ptxas reads none: save the file without it"
Refuse = Callable[[int, str], Question]


def without_comments(text: str, refuse: Refuse) -> str:
    """The text, with spaces for comments, for what stands in quotes and for source text of another language,
    so that offsets stay; raises what `refuse` makes of a fault.

    Bytes that are not UTF-8 are surrogates in `text` (errors="surrogateescape").
    """
    if text.startswith(_UTF16):
        raise refuse(0, "this is not PTX: it looks like UTF-16, and PTX is ASCII text")
    nul = text.find("\0")
    if nul >= 0:
        is_closed = ".version" in text and nul == len(text.rstrip("\0"))
        raise refuse(nul, _CLOSED if is_closed else _BINARY)
    if "/" in text or '"' in text:
        parts = _PARTS_AND_SOURCES if ".source_begin" in text else _PARTS
        text = parts.sub(lambda found: _blank(found, refuse), text)
    if not text.isascii():
        found = _NOT_ASCII.search(text)
        if found:
            raise refuse(found.start(), _not_ascii(found[0]))
    return text


def _blank(found: re.Match[str], refuse: Refuse) -> str:
    part = found[0]
    if part[0] == '"':
        if (
            len(part) == 1
            or part[-1] != '"'
            or ("\n" in part and not _BEHIND_STRING.match(found.string, found.end()))
        ):
            raise refuse(found.start(), "the string is not closed; a '\"' is missing")
        return f'"{_spaces(part[1:-1])}"' if part.isascii() else part
    if part[0] == ".":
        if not part.rstrip(" \t").endswith(".source_end"):
            raise refuse(found.start(), "the source text is not closed; a line .source_end is missing")
        return _spaces(part) if part.isascii() else part
    if part[1] == "*" and (len(part) < 4 or not part.endswith("*/")):
        raise refuse(found.start(), "the comment is not closed; a '*/' is missing")
    return _spaces(part)


def _spaces(part: str) -> str:
    return " " * len(part) if "\n" not in part else _NOT_LINE_END.sub(" ", part)


def _not_ascii(character: str) -> str:
    number = ord(character)
    if number == 0xFEFF:
        return "a byte order mark stands before the text; PTX is ASCII, save the file without it"
    shown = f"the byte {number - 0xDC00:#04x}" if 0xDC80 <= number <= 0xDCFF else f"U+{number:04X}"
    return f"{shown} stands outside a comment, and PTX is ASCII text"
