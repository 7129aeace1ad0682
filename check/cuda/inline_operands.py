"""What a constraint says of an operand of an asm statement: register types, a number, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...spec.lazy_dataclass import dataclass
from .asm_statements import AsmOperand
from .nvcc import Nvcc

__all__ = ["InlineOperand", "inline_operands"]

_INTEGER = re.compile(r"([+-]?)\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlL]*")
_WORDS = {"true": 1, "false": 0}
_MODIFIERS = "=+&%*!?"


@dataclass(frozen=True)
class InlineOperand:
    """An operand by its number: `types` of its register (none: it is not a register, or nobody knows),
    whether the statement may write and read it, and for a constant its text (None: a hole).

    `kind` is register, constant or open; `fault` is what is wrong with the constraint.
    """

    number: int
    kind: str
    constraint: str
    types: tuple[str, ...] = ()
    written: bool = False
    read: bool = True
    text: str | None = None
    fault: str = ""


def inline_operands(operands: Sequence[AsmOperand], known: Nvcc) -> tuple[InlineOperand, ...]:
    """The operands of an asm statement, each with what its constraint says."""
    found: list[InlineOperand] = []
    for number, operand in enumerate(operands):
        found.append(_operand(number, operand, found, known))
    return tuple(found)


def _operand(number: int, operand: AsmOperand, before: Sequence[InlineOperand], known: Nvcc) -> InlineOperand:
    constraint = operand.constraint
    if constraint is None:
        return InlineOperand(number, "open", "", written=operand.output)
    letter = constraint.strip().strip(_MODIFIERS)
    written, read = operand.output, not operand.output or "+" in constraint
    if letter.isascii() and letter.isdigit():
        if int(letter[:9]) >= len(before):
            fault = f'the constraint "{constraint}" names %{letter}, which does not come before it'
            return InlineOperand(number, "open", constraint, fault=fault)
        same = before[int(letter)]
        return InlineOperand(number, same.kind, constraint, same.types, text=same.text)
    if letter not in known.constraints:
        letters = ", ".join(f'"{one}"' for one in known.constraints)
        fault = f'the constraint "{constraint}" is none of {letters}'
        return InlineOperand(number, "open", constraint, fault=fault if letter else "")
    types = known.constraints[letter]
    if types:
        fault = ""
        if operand.output and not constraint.strip().startswith(("=", "+")):
            fault = f'the output has the constraint "{constraint}"; it must begin with "=" or "+"'
        elif not operand.output and ("=" in constraint or "+" in constraint):
            fault = f'the input has the constraint "{constraint}", which only an output may have'
        return InlineOperand(number, "register", constraint, types, written, read, fault=fault)
    return InlineOperand(number, "constant", constraint, text=_number(operand.expression))


def _number(expression: str) -> str | None:
    """The text of a literal; None for what only the compiler knows."""
    text = expression
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if text in _WORDS:
        return str(_WORDS[text])
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    digits = found[2]
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return str(-value if found[1] == "-" else value)
