"""Operands as written (texts, numbers, addresses), and by their names in the specification."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ...spec.constants import SyntaxFault
from ...spec.model import Operand
from ...spec.statements import argument_of

__all__ = [
    "Address",
    "NamedOperand",
    "address_of",
    "number_of",
    "operand_texts",
    "vector_elements",
    "vector_places",
]

_ADDRESS = re.compile(r"\[\s*([%$A-Za-z_][\w$]*)?\s*(?:\+?\s*(-?\s*\w+))?\s*\]")
# One operand: what stands outside brackets, and brackets with none inside.
_OPERAND = re.compile(
    r"[^,{}()\[\]]*(?:(?:\{[^{}()\[\]]*\}|\[[^{}()\[\]]*\]|\([^{}()\[\]]*\))[^,{}()\[\]]*)*"
)
_BRACKETS = re.compile(r"[{}()\[\],]")
_NAMES = ("%", "$", "_")


class Address(NamedTuple):
    """`[base+offset]`: the name of a register or variable (None for an absolute address), and bytes."""

    base: str | None
    offset: int


class NamedOperand(NamedTuple):
    """An operand of an instruction of the specification: its name, its part, its text."""

    name: str
    operand: Operand
    text: str

    @property
    def is_vector(self) -> bool:
        """Whether registers in braces stand there."""
        return self.text.startswith("{")


def operand_texts(text: str, plain: bool = False) -> tuple[str, ...]:
    """The operands' texts, split at the commas outside braces, brackets and parentheses; `plain`: there are
    none.
    """
    if plain:
        return tuple(map(str.strip, text.split(",")))
    found = []
    at, end = 0, len(text)
    while (at := _OPERAND.match(text, start := at).end()) < end and text[at] == ",":  # type: ignore[union-attr]
        found.append(text[start:at].strip())
        at += 1
    if at == end:
        return (*found, text[start:].strip())
    return _nested_texts(text)


def _nested_texts(text: str) -> tuple[str, ...]:
    """The same of any text: bracket by bracket."""
    found, depth, start = [], 0, 0
    for match in _BRACKETS.finditer(text):
        letter = match[0]
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif not depth:
            found.append(text[start : match.start()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return tuple(found)


def vector_elements(text: str) -> tuple[str, ...]:
    """The registers and literals of a vector; the operand itself, where it is none."""
    return tuple(map(str.strip, text.strip("{}").split(","))) if text[:1] == "{" else (text,)


@lru_cache(maxsize=1 << 12)
def vector_places(text: str) -> tuple[tuple[int, ...], int]:
    """The places of a vector's elements, but of those that are `_`; and how many elements it has."""
    elements = vector_elements(text)
    return tuple([place for place, one in enumerate(elements) if one != "_"]), len(elements)


@lru_cache(maxsize=1 << 14)
def number_of(text: str) -> int | None:
    """The value of an integer literal; None for anything else."""
    if text[:1] in _NAMES:
        return None
    try:
        found = argument_of(text)
    except SyntaxFault:
        return None
    return found.value if found.shape == "immediate" else None


@lru_cache(maxsize=1 << 14)
def address_of(text: str) -> Address | None:
    """The address that `[…]` spells; None where it is not a base and an offset."""
    found = _ADDRESS.match(text)
    if found is None:
        return None
    offset = number_of(found[2].replace(" ", "")) if found[2] else 0
    return None if offset is None else Address(found[1], offset)
