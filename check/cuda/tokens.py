"""The tokens of a C++ source that inline assembly is made of: comments, strings, directives, `asm`, brackets.

It is no C++ parser: what stands between is passed over. Offsets are those of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ASM", "CudaToken", "Directive", "coarse", "decoded", "directive", "is_cut", "plain", "tokens"]

ASM = re.compile(r"\b(?:asm|__asm|__asm__)\b")
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_COMMENT = r"//(?:\\\r?\n|[^\n])* | /\*(?s:.*?)(?:\*/|\Z)"
_RAW = r'(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\((?s:.*?)(?:\)(?P=delimiter)"|\Z)'
_STRING = r'(?:u8|[uUL])?"(?:[^"\\\n]|\\\r?\n|\\.)*"?'
# The lookbehind keeps the separators of 1'000'000 from opening a character.
_CHARACTER = r"(?<![0-9a-zA-Z_])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'"
_DIRECTIVE = rf"""^[ \t]*\#(?:\\[ \t]*\r?\n | "(?:[^"\\\n]|\\.)*" | {_COMMENT} | [^\n])*"""
_TOKEN = re.compile(
    rf"""(?P<comment>{_COMMENT}) | (?P<raw>{_RAW}) | (?P<string>{_STRING}) | (?P<character>{_CHARACTER})
       | (?P<directive>{_DIRECTIVE}) | (?P<splice>\\[ \t]*\r?\n)
       | (?P<name>[A-Za-z_]\w*) | (?P<number>\.?\d(?:'?[\w.])*) | (?P<mark>\#\#?|::|<<|>>|[^\s\w])""",
    re.X | re.M,
)
_COARSE = re.compile(
    rf"""(?P<comment>{_COMMENT}) | (?P<raw>\b{_RAW}) | (?P<string>{_STRING}) | (?P<character>{_CHARACTER})
       | (?P<directive>{_DIRECTIVE}) | (?P<asm>{ASM.pattern})""",
    re.X | re.M,
)
_ESCAPE = re.compile(
    r"\\(?:\r?\n|([0-7]{1,3})|x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S
)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b"}
_WORD = re.compile(r"[ \t]*#[ \t]*(\w*)")


class CudaToken(NamedTuple):
    """A token: comment, raw, string, character, directive, name, number, mark or asm; where it stands."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


class Directive(NamedTuple):
    """A line of the preprocessor: its word, what follows it (comments and line ends as spaces), where that
    begins.
    """

    word: str
    rest: str
    offset: int


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[CudaToken]:
    """Every token from an offset on; a spliced line end is none."""
    for found in _TOKEN.finditer(text, start, len(text) if end is None else end):
        if found.lastgroup != "splice":
            yield CudaToken(found.lastgroup or "", found[0], found.start())


def coarse(text: str) -> Iterator[CudaToken]:
    """The tokens that decide where inline assembly stands; the rest of the source is passed over."""
    for found in _COARSE.finditer(text):
        yield CudaToken(found.lastgroup or "", found[0], found.start())


def is_cut(token: CudaToken) -> bool:
    """Whether a comment or a raw string is not closed before the end of the source."""
    if token.kind == "comment":
        return token.text.startswith("/*") and (len(token.text) < 4 or not token.text.endswith("*/"))
    if token.kind == "raw":
        delimiter = token.text[token.text.index('"') + 1 : token.text.index("(")]
        return not token.text.endswith(f'){delimiter}"')
    return False


def plain(text: str) -> str:
    """A text with spaces for its comments and spliced line ends; offsets stay."""
    spliced = _SPLICE.sub(lambda found: " " * len(found[0]), text)
    parts = list(spliced)
    for token in tokens(spliced):
        if token.kind == "comment":
            parts[token.offset : token.end] = " " * len(token.text)
    return "".join(parts)


def directive(token: CudaToken) -> Directive:
    """A directive's parts."""
    found = _WORD.match(token.text)
    begin = found.end() if found else 0
    return Directive(found[1] if found else "", plain(token.text[begin:]), token.offset + begin)


def decoded(token: CudaToken) -> Iterator[tuple[str, int]]:
    """The characters of a string, each with the offset at which the source spells it."""
    text, offset = token.text, token.offset
    if token.kind == "raw":
        begin = text.index("(") + 1
        delimiter = text[text.index('"') + 1 : begin - 1]
        for at in range(begin, len(text) - len(delimiter) - 2):
            yield text[at], offset + at
        return
    at, end = text.index('"') + 1, len(text) - (text.endswith('"') and len(text) > 1)
    while at < end:
        if text[at] != "\\":
            yield text[at], offset + at
            at += 1
            continue
        found = _ESCAPE.match(text, at, end)
        if found is None:
            return
        octal, *codes, letter = found.groups()
        code = next((one for one in codes if one), None)
        if letter is not None:
            yield _SHORT.get(letter, letter), offset + at
        elif octal or code:
            number = int(octal, 8) if octal else int(code or "0", 16)
            yield chr(number) if number < 0x110000 else "?", offset + at
        at = found.end()
