"""The string of an asm statement as PTX: operands by number, `%%` as `%`, and a word for each hole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...spec.lazy_dataclass import dataclass
from .asm_statements import AsmStatement
from .inline_operands import InlineOperand

__all__ = ["HOLE", "NUMBER", "PtxTemplate", "ptx_template"]

HOLE = "_hole_"  # what a macro or the compiler spells
NUMBER = "_number_"  # a number that the compiler knows
_OPERAND = re.compile(r"%(?:(\d+)|\[([A-Za-z_]\w*)\]|(%)|(=))")


@dataclass(frozen=True)
class PtxTemplate:
    """The PTX, and for each of its characters the index in the asm statement's string. `faults` are indices
    with what is wrong there, `named` the operands that the string names.
    """

    text: str
    places: tuple[int, ...]
    faults: tuple[tuple[int, str], ...]
    named: frozenset[int]


def ptx_template(asm: AsmStatement, typed: Sequence[InlineOperand]) -> PtxTemplate:
    """The PTX of an asm statement with these operands."""
    spelled, operands = asm.template, asm.operands
    plain = "".join("\0" if character is None else character for character, _ in spelled)
    names = {operand.name: number for number, operand in enumerate(operands or ()) if operand.name}
    pieces: list[tuple[str, int]] = []
    faults: list[tuple[int, str]] = []
    named: set[int] = set()
    at = 0
    for found in _OPERAND.finditer(plain) if asm.extended else ():
        pieces += zip(plain[at : found.start()], range(at, found.start()), strict=True)
        at = found.end()
        number, name, percent, unique = found.groups()
        if percent or unique:
            pieces.append(("%" if percent else "0", found.start()))
            continue
        index = names.get(name, -1) if name else int(number[:9])
        if operands is not None and not 0 <= index < len(operands):
            faults.append((found.start(), _unlisted(found[0], len(operands))))
        named.add(index)
        operand = typed[index] if 0 <= index < len(typed) else None
        pieces.append((_written(operand, found[0], index), found.start()))
    pieces += zip(plain[at:], range(at, len(plain)), strict=True)
    text = "".join(HOLE if piece == "\0" else piece for piece, _ in pieces)
    places = tuple(
        place for piece, place in pieces for _ in range(len(HOLE) if piece == "\0" else len(piece))
    )
    return PtxTemplate(text, places, tuple(faults), frozenset(named))


def _unlisted(word: str, count: int) -> str:
    """The fault of an operand that the lists do not have."""
    if word.startswith("%["):
        return f"no operand is named {word[2:-1]}; write [{word[2:-1]}] before its constraint"
    have = f"the lists have {count} operand{'s' * (count != 1)}"
    return f"{word} names no operand: {have}" + (f", %0 to %{count - 1}" if count else "")


def _written(operand: InlineOperand | None, word: str, index: int) -> str:
    """How an operand stands in the PTX."""
    if operand is None or operand.kind != "constant":
        return f"%{index}" if index >= 0 else word.replace("[", "").replace("]", "")
    if operand.text is not None:
        return operand.text
    return NUMBER if "n" in operand.constraint else HOLE
