"""Where a statement that lacks its end stops: before a line that begins another, which is read by itself."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ...spec.api import judge, load
from ...spec.effects import load_effects
from ...spec.selection import select

__all__ = ["UnfinishedStatement", "unfinished"]

# Two words side by side, or an opcode among the operands: a semicolon is missing between two statements.
_TWO = re.compile(r"[\w$\])}]\s+[@.%$A-Za-z_{\[]|^[A-Za-z_]\w*\.(?![xyzwrgba]\b)\w")
_GUARD = r"(?:@\s*!?\s*[%$A-Za-z_][\w$]*\s+)?"
_NAME = r"[A-Za-z_]\w*(?:(?:\.|::)\w+)"
# A comma, and then a line with an opcode: two qualifiers, or one and an operand behind it.
_BEHIND_COMMA = re.compile(rf",\s*\n\s*{_GUARD}(?:{_NAME}+\s+[%${{\[\w]|{_NAME}{{2,}}\s*$)")
_NEXT = re.compile(rf"\n\s*(?={_GUARD}{_NAME}|\.[a-z]+\s)")
# A `:` behind a `?` belongs to a constant expression.
_LABEL = re.compile(r"[^?]*?\n\s*(?=[%$A-Za-z_][\w$]*\s*:(?!:))")
_BETWEEN = " \t\r\n."  # what may stand between the words of a name
# Directives that no qualifier is spelled like.
_DIRECTIVE = re.compile(r"\s*\.(?:reg|sreg|pragma|loc|file|branchtargets|callprototype|calltargets)\b")


class UnfinishedStatement(NamedTuple):
    """What of an opcode and its operands is one statement; `end`: where it stops, None where its `;` does."""

    opcode: str
    operands: str
    end: int | None


def unfinished(opcode: str, operands: str) -> UnfinishedStatement | None:
    """Of what stands before a `;`: the statement that lacks its end; None where it is one statement."""
    behind, end = len(opcode), None
    if ":" in operands:  # of a label, or of a constant expression
        label = _LABEL.match(opcode + operands)
        if label is not None:
            end = label.end()
            opcode, operands = opcode[:end].rstrip(_BETWEEN), operands[: max(end - behind, 0)]
    other = _name_end(opcode) if "\n" in opcode else None
    if other is not None:
        return UnfinishedStatement(opcode[:other].rstrip(_BETWEEN), "", other)
    if "\n" in operands or "." in operands:  # as it must be if it holds another opcode
        written = operands.strip()
        if _TWO.search(written) or _BEHIND_COMMA.search(written):
            found = _NEXT.search(operands)
            if found is not None:
                return UnfinishedStatement(opcode, operands[: found.end()], behind + found.end())
            return UnfinishedStatement(opcode, operands, end)
    return None if end is None else UnfinishedStatement(opcode, operands, end)


def _name_end(opcode: str) -> int | None:
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
