"""Where a statement that lacks its end stops: before a line that begins another, which is read by itself."""

from __future__ import annotations

import re
from functools import cache

from ...spec.api import judge, load
from ...spec.effects import load_effects
from ...spec.selection import select

__all__ = ["label_begin", "lacks_end", "name_end", "operands_end"]

# Two words side by side, or an opcode among the operands: a semicolon is missing between two statements.
_TWO = re.compile(r"[\w$\])}]\s+[@.%$A-Za-z_{\[]|^[A-Za-z_]\w*\.(?![xyzwrgba]\b)\w")
_GUARD = r"(?:@\s*!?\s*[%$A-Za-z_][\w$]*\s+)?"
_NAME = r"[A-Za-z_]\w*(?:(?:\.|::)\w+)"
# A comma, and then a line with an opcode: two qualifiers, or one and an operand behind it.
_BEHIND_COMMA = re.compile(rf",\s*\n\s*{_GUARD}(?:{_NAME}+\s+[%${{\[\w]|{_NAME}{{2,}}\s*$)")
_NEXT = re.compile(rf"\n\s*(?={_GUARD}{_NAME}|\.[a-z]+\s)")
# A `:` behind a `?` belongs to a constant expression.
_LABEL = re.compile(r"[^?]*?\n\s*(?=[%$A-Za-z_][\w$]*\s*:(?!:))")
# Directives that no qualifier is spelled like.
_DIRECTIVE = re.compile(r"\s*\.(?:reg|sreg|pragma|loc|file|branchtargets|callprototype|calltargets)\b")


def label_begin(statement: str) -> int | None:
    """Of an opcode with its operands that lacks its end: the offset of the line that a label begins."""
    found = _LABEL.match(statement)
    return found.end() if found else None


def lacks_end(operands: str) -> bool:
    """Whether what stands between an opcode and a `;` cannot be the operands of one statement."""
    return bool(_TWO.search(operands) or _BEHIND_COMMA.search(operands))


def operands_end(operands: str) -> int | None:
    """Of operands that lack their end: the offset of the line that begins like another statement."""
    found = _NEXT.search(operands)
    return found.end() if found else None


def name_end(opcode: str) -> int | None:
    """Of an opcode that goes on in another line: the offset of the line that begins another statement.

    None where no line does: names may be parted by blanks and ends of lines.
    """
    for found in re.finditer(r"\n\s*", opcode):
        if _begins(opcode[: found.start()], opcode[found.end() :]):
            return found.end()
    return None


def _begins(head: str, tail: str) -> bool:
    """Whether what stands behind an end of line is not the rest of a name, but begins another statement."""
    if _DIRECTIVE.match(tail):
        return True
    head, tail = "".join(head.split()), "".join(tail.split())
    effects, name = load_effects(), head + tail
    if tail.startswith(".") or effects.kind(tail) is None:
        return False
    if effects.kind(name) is None:
        return True
    if judge().variant_of(name) is not None:
        return False
    qualifiers = _qualifiers(head.split(".")[0])
    return judge().variant_of(tail) is not None or (bool(qualifiers) and tail.split(".")[0] not in qualifiers)


@cache
def _qualifiers(first: str) -> frozenset[str]:
    """All words behind the first in the mnemonics that begin with it."""
    names = (variant.mnemonic.split(".") for variant in select(load(), None, None, None))
    return frozenset(word for own, *words in names for word in words if own == first)
