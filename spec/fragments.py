"""How a fragment's elements lie in registers: the width of an element, and of a register."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Question
from .model import Operand
from .variants import Variant

__all__ = ["Packing", "packing", "register_operand"]


@dataclass(frozen=True)
class Packing:
    """An element takes `width` bits of a register of `word` bits; low elements come first."""

    width: int
    word: int

    def place(self, element: int) -> tuple[int, int]:
        """The register that holds an element, and the element's lowest bit in it."""
        return element * self.width // self.word, element * self.width % self.word


def register_operand(variant: Variant, letter: str) -> Operand:
    """The operand that carries fragment A, B, C or D; raises Question when there is none."""
    operands = variant.row.family.instruction.operands
    name = letter.lower()
    if name not in operands:
        raise Question(f"{variant.mnemonic} has no fragment {letter}")
    return operands[name]


def packing(variant: Variant, letter: str) -> Packing:
    """The packing of fragment A, B, C or D: the element type's width unless the row binds `width`
    (elements in wider containers), registers of 32 bits unless it binds `word`."""
    operand = register_operand(variant, letter)
    element = str(variant.fields[operand.holds or ""])
    width = variant.row.family.isa.index.types[element].bits
    if letter in "AB":
        width = int(variant.fields.get("width", width))
    return Packing(width, int(variant.fields.get("word", 32)))
