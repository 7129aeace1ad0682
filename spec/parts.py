"""Find operands by their part in the operation: a file names its operands, code asks for the part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .errors import Question
from .expressions import names
from .maps import LayoutMap
from .model import Form, Instruction, Operand
from .variants import Variant

__all__ = [
    "TENSOR_MEMORY",
    "computes",
    "described_by_word",
    "element_type",
    "layout_key",
    "layout_operand",
    "moves",
    "named_operand",
    "operand_name",
    "operands_of",
    "placed_parts",
    "stated_parameters",
    "without_sums",
]

TENSOR_MEMORY = "tensor"  # the space of operands that are addresses of lanes and columns


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


def described_by_word(instruction: Instruction) -> bool:
    """Whether an instruction multiplies matrices whose shape and types are bits of an operand."""
    return any(True for _ in operands_of(instruction, "instruction"))


def without_sums(variant: Variant) -> str:
    """Why nothing is known about the sums of a variant whose mnemonic names no matrices, in a sentence."""
    if described_by_word(variant.instruction):
        return (
            f"no model of {variant.mnemonic} is known: its shape and types are in its instruction "
            "descriptor, and no chip that has it was measured"
        )
    return f"{variant.mnemonic} computes no products"


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
    return next((key for key in (name, *others) if key in variant.layouts), None)


def placed_parts(layouts: Mapping[str, LayoutMap], variant: Variant) -> list[str]:
    """The parts of a product that may lie in tensor memory, with layouts to choose from."""
    laid_out = {one.layout.part for one in layouts.values() if one.layout.when is not None}
    used = dict.fromkeys(name for form in variant.forms for name in form.operands)
    operands = (variant.instruction.operands[name] for name in used)
    return list(
        dict.fromkeys(str(o.part) for o in operands if o.space == TENSOR_MEMORY and o.part in laid_out)
    )


def stated_parameters(layout: LayoutMap, variant: Variant) -> dict[str, int]:
    """The parameters of a layout that a mnemonic says: fields that bear their names, or their arguments."""
    stated: dict[str, int] = {}
    for name in layout.parameters:
        argument = layout.layout.arguments.get(name)
        if argument is None:
            if name in variant.fields:
                stated[name] = int(variant.fields[name])
        elif names(argument.tree) <= variant.fields.keys():
            stated[name] = variant.evaluate(argument)
    return stated


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
