"""One statement as it is written: its operands' registers in braces, its immediates in their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.variants import Variant
from .kernel_list import Kernel

__all__ = ["Vector", "written"]

_WIDE = "b64"  # the class of registers of 64 bits


@dataclass(frozen=True)
class Vector:
    """An operand that is registers of data: how many, of which class (b32 or b64)."""

    registers: int
    kind: str

    @property
    def size(self) -> int:
        """The bytes of a register."""
        return 8 if self.kind == _WIDE else 4

    @property
    def words(self) -> int:
        """The 32-bit words of all registers."""
        return self.registers * self.size // 4

    @classmethod
    def of(cls, variant: Variant, name: str) -> Vector | None:
        """The registers of an operand; None for addresses, descriptors, predicates and immediates."""
        operand = variant.row.family.instruction.operands[name]
        if operand.elements or operand.descriptor or operand.part in ("address", "stride", "scale-d"):
            return None
        types = variant.register_types(name)
        if types is None or "immediate" in operand.accepts:
            return None
        kind = _WIDE if _WIDE in types else "b32"
        count = variant.evaluate(operand.registers) if operand.registers else 1
        return cls(count, kind)


def written(kernel: Kernel, arguments: Mapping[str, list[str] | str]) -> str:
    """The statement without its semicolon; operands that `arguments` lacks are immediates."""
    texts = []
    for name, operand in kernel.operands():
        if operand.elements:
            texts.append(
                "{" + ", ".join(str(kernel.immediates[element]) for element in operand.elements) + "}"
            )
            continue
        given = arguments.get(name, "")
        if isinstance(given, list):
            braces = "register" not in operand.accepts
            texts.append("{" + ", ".join(given) + "}" if braces else given[0])
        elif operand.part == "address":
            texts.append(f"[{given}]")
        else:
            texts.append(given or str(kernel.immediates[name]))
    return f"{kernel.variant.mnemonic} {', '.join(texts)}"
