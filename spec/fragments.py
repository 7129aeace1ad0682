"""How the elements of a fragment lie in registers: the widths of an element and of a register."""

from __future__ import annotations

from .errors import Question
from .lazy_dataclass import dataclass
from .model import Operand
from .parts import element_type, layout_operand
from .variants import Variant

__all__ = ["Packing", "element_bits", "packing", "register_operand"]

_MULTIPLICANDS = ("A", "B")


@dataclass(frozen=True)
class Packing:
    """An element takes `width` bits of a register of `word` bits; low elements come first."""

    width: int
    word: int

    def place(self, element: int) -> tuple[int, int]:
        """The register that holds an element, and the element's lowest bit in it."""
        return element * self.width // self.word, element * self.width % self.word


def register_operand(variant: Variant, part: str) -> Operand:
    """The operand that carries a fragment in registers; raises Question where there is none."""
    found = layout_operand(variant.row.family.instruction, part)
    if found is None or found[1].holds is None:
        raise Question(f"{variant.mnemonic} has no fragment {part}")
    return found[1]


def packing(variant: Variant, part: str) -> Packing:
    """The packing of fragment A, B, C or D.

    An element takes the width of its type, unless the row binds `width` (elements of A and B in wider
    containers); a register has 32 bits, unless the row binds `word`.
    """
    operand = register_operand(variant, part)
    width = variant.row.family.isa.index.types[str(variant.fields[operand.holds or ""])].bits
    if operand.part in _MULTIPLICANDS:
        width = int(variant.fields.get("width", width))
    return Packing(width, int(variant.fields.get("word", 32)))


def element_bits(variant: Variant, part: str) -> int:
    """The bits that an element of a part takes: in registers, or else in shared memory."""
    found = layout_operand(variant.row.family.instruction, part)
    if found is not None and found[1].holds is not None:
        return packing(variant, part).width
    return variant.row.family.isa.index.types[element_type(variant, part)].bits
