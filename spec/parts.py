"""Find operands by their part in the operation: a file names its operands, code asks for the part."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import Question
from .model import Form, Instruction, Operand
from .variants import Variant

__all__ = [
    "computes",
    "element_type",
    "layout_key",
    "layout_operand",
    "moves",
    "named_operand",
    "operand_name",
    "operands_of",
]


def operands_of(instruction: Instruction, part: str) -> Iterator[tuple[str, Operand]]:
    """The operands that have this part in the operation, in the order of the file."""
    return ((name, operand) for name, operand in instruction.operands.items() if operand.part == part)


def operand_name(instruction: Instruction, form: Form, part: str) -> str | None:
    """The name of the form's operand that has this part in the operation; None where the form has none."""
    return next((name for name in form.operands if instruction.operands[name].part == part), None)


def computes(instruction: Instruction) -> bool:
    """Whether an instruction multiplies matrices that its mnemonic names: it has an A, a B and a D, and no
    instruction descriptor says of which shape and types they are.
    """
    parts = {operand.part for operand in instruction.operands.values()}
    return {"A", "B", "D"} <= parts and "instruction" not in parts


def moves(instruction: Instruction) -> bool:
    """Whether an instruction moves whole matrices, whose elements its operands lay out themselves."""
    return any(operand.matrix and operand.part in ("A", "D") for operand in instruction.operands.values())


def named_operand(variant: Variant, name: str) -> str:
    """The part, operand or layout that a person means by a name: in any case, with - or _ between words.

    The name itself where there is none.
    """
    operands = variant.instruction.operands
    parts = (operand.part for operand in operands.values() if operand.part)
    known = (*variant.row.row.layouts, *operands, *parts)
    wanted = name.strip().lower().replace("_", "-")
    return name if name in known else next((own for own in known if own.lower() == wanted), name)


def layout_operand(instruction: Instruction, key: str) -> tuple[str, Operand] | None:
    """The operand that the key of a layout names: by part or by name; None where no operand matches.

    If several operands have that part, this is the one in registers.
    """
    found = [(name, operand) for name, operand in operands_of(instruction, key) if not operand.descriptor]
    if found:
        return found[0]
    return (key, instruction.operands[key]) if key in instruction.operands else None


def layout_key(variant: Variant, name: str) -> str | None:
    """The key under which a variant has the layout of a part, or of an operand; None where it has none.

    A key is a part, or the name of an operand.
    """
    instruction = variant.row.family.instruction
    operand = instruction.operands.get(name)
    others = [str(operand.part)] if operand else [found for found, _ in operands_of(instruction, name)]
    return next((key for key in (name, *others) if key in variant.row.row.layouts), None)


def element_type(variant: Variant, part: str) -> str:
    """The element type of a part: of a fragment, of a matrix behind a descriptor, of scale factors.

    A product without a C adds to what is in D, so its C is of D's type. Raises Question where nothing says.
    """
    instruction = variant.row.family.instruction
    operands = [operand for _, operand in operands_of(instruction, part)]
    field = next((operand.holds or operand.contains for operand in operands), None)
    if field is not None:
        return str(variant.fields[field])
    if part == "C" and not operands:
        return element_type(variant, "D")
    raise Question(f"{variant.mnemonic} has no elements {part}")
