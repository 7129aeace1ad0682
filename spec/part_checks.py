"""Check that the parts of an instruction's operands fit together: code asks for parts, never for names."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import SpecError
from .model import Instruction, Row
from .nodes import nearest
from .parts import layout_operand, operands_of

__all__ = ["check_parts"]

_MATRICES = ("A", "B", "C", "D")
_PRODUCT = {"m", "n", "k"}  # the fields whose values say what the fragments of a product cover
_DESCRIBED = ("A", "B", "instruction", "zero-columns", "data")
_LAID_OUT = (*_MATRICES, "metadata", "scale-a", "scale-b")


def check_parts(instruction: Instruction, instructions: Mapping[str, Instruction]) -> None:
    """Raise SpecError where parts of operands, layouts of rows or fragments do not fit one another."""
    if not instruction.rows:
        what = f"{instruction.instruction} has no rows"
        raise SpecError(what, instruction.place, "one row of legal combinations at least")
    _check_operands(instruction)
    _check_types(instruction)
    _check_forms(instruction)
    for row in instruction.rows:
        _check_row(instruction, row)
        for key in row.layouts:
            if layout_operand(instruction, key) is None:
                known = {
                    *instruction.operands,
                    *(str(o.part) for o in instruction.operands.values() if o.part),
                }
                what = f"no operand of {instruction.instruction} in registers is the {key} of the layout"
                raise SpecError(what, row.place, nearest(key, known) or ", ".join(sorted(known)))
    for part, name in instruction.fragments.items():
        found = [operand for _, operand in operands_of(instruction, part)]
        if not found:
            raise SpecError(f"no operand has the part {part}", instruction.place, "a part that one has")
        access = instructions.get(name)
        if access is not None and not list(operands_of(access, part)):
            what = f"{name} moves no fragment {part}"
            raise SpecError(what, instruction.place, f"an instruction with an operand of the part {part}")


def _check_types(instruction: Instruction) -> None:
    own = instruction.registers, instruction.place
    for listed, place in (own, *((row.registers, row.place) for row in instruction.rows)):
        for name, types in listed.items():
            if not types:
                raise SpecError(f"{name} may be in registers of no type", place, "one register type at least")


def _check_row(instruction: Instruction, row: Row) -> None:
    """A row has a form; in each of its forms the layouts are those of the operands in registers.

    What only assemblers take has no layouts. What moves between registers and a memory that has lanes covers
    as much as its layout says.
    """
    if not row.forms:
        what = f"the row {row.id} has no form"
        raise SpecError(what, row.place, f"forms: one of {', '.join(instruction.forms)}")
    bound = {*instruction.bind, *row.bind}
    moved = any(operand.space is not None for operand in instruction.operands.values())
    for key in row.layouts:
        found = layout_operand(instruction, key)
        covered = moved or (key in _LAID_OUT and bound >= _PRODUCT)
        if found is not None and found[1].matrix is None and not covered:
            what = f"nothing says what the layout of {found[0]} covers"
            raise SpecError(what, found[1].place, "matrix: the number of rows and columns, by output")
    for name, form in ((name, instruction.forms[name]) for name in row.forms):
        operands = [(own, instruction.operands[own]) for own in form.operands]
        named = {*form.operands, *(operand.part for _, operand in operands)}
        for key in row.layouts:
            if key not in named and layout_operand(instruction, key) is not None:
                what = f"the row {row.id} has a layout of {key}, and the form {name} no such operand"
                raise SpecError(what, row.place, "forms with an operand for each layout")
        for own, operand in operands:
            in_registers = operand.part in _LAID_OUT and not operand.descriptor and not operand.space
            wanted = (in_registers or operand.matrix is not None) and not row.tolerated
            if wanted and row.layouts.keys().isdisjoint((own, operand.part)):
                what = f"the row {row.id} has the operand {own} (in the form {name}), and no layout of it"
                raise SpecError(what, row.place, f"{operand.part}: the layout of {own}")


def _check_operands(instruction: Instruction) -> None:
    """What an operand accepts and says of itself goes with its part; a product has an A, a B and a D."""
    for name, operand in instruction.operands.items():
        if not operand.accepts or len(set(operand.accepts)) < len(operand.accepts):
            what = f"{name} accepts {', '.join(operand.accepts) or 'nothing'}"
            raise SpecError(what, operand.place, "one written form at least, each once")
        is_vector = operand.registers is not None or operand.elements is not None
        if "vector" in operand.accepts and not is_vector:
            raise SpecError(f"{name} is a vector of nothing", operand.place, "registers, or elements")
        if operand.elements is not None and operand.accepts != ("vector",):
            what = f"{name} has elements, and accepts {', '.join(operand.accepts)}"
            raise SpecError(what, operand.place, "accepts: [vector]")
        known = [
            instruction.operands[one].types for one in operand.elements or () if one in instruction.operands
        ]
        if len(set(known)) > 1:
            what = f"the elements of {name} are in registers of other types than one another"
            raise SpecError(
                what, operand.place, "elements with the same types: a vector has registers of one"
            )
        if "negated" in operand.accepts and operand.types != ("pred",):
            raise SpecError(f"{name} may be negated, and is not a predicate", operand.place, "types: [pred]")
        if operand.types is not None and not operand.types:
            what = f"{name} may be in registers of no type"
            raise SpecError(what, operand.place, "one register type at least, or no `types`")
        is_address = operand.part == "address" or operand.space is not None
        if is_address != ("address" in operand.accepts):
            what = f"{name} accepts {', '.join(operand.accepts)} and has the part {operand.part}"
            raise SpecError(what, operand.place, "the part address where, and only where, an address stands")
        if operand.descriptor and operand.part not in _DESCRIBED:
            what = f"{name} is a descriptor and has the part {operand.part}"
            raise SpecError(what, operand.place, " or ".join(_DESCRIBED))
        if operand.registers is not None and operand.part in _MATRICES and operand.holds is None:
            what = f"{name} is the fragment {operand.part}, and no field says of which type"
            raise SpecError(what, operand.place, "holds: the field with the type of its elements")
        if operand.registers is not None and operand.part is None and "register" not in operand.accepts:
            what = f"{name} has registers, and no part in the operation"
            raise SpecError(what, operand.place, "part: " + ", ".join(_MATRICES))
    parts = {operand.part for operand in instruction.operands.values()}
    moved = any(operand.matrix for operand in instruction.operands.values())
    if len(parts & {"A", "B", "D"}) > 1 and not {"A", "B", "D"} <= parts and not moved:
        missing = ", ".join(sorted({"A", "B", "D"} - parts))
        what = f"{instruction.instruction} multiplies, and no operand has the part {missing}"
        raise SpecError(what, instruction.place, "operands with the parts A, B and D")


def _check_forms(instruction: Instruction) -> None:
    """No two operands of a form have one part, and the forms of a product have its A, B and D."""
    known = instruction.operands
    product = {"A", "B", "D"} <= {operand.part for operand in known.values()}
    for name, form in instruction.forms.items():
        parts = [known[operand].part for operand in form.operands if operand in known and known[operand].part]
        for number, part in enumerate(parts):
            if part in parts[:number]:
                what = f"two operands of the form {name} have the part {part}"
                raise SpecError(what, form.place, "each part once in a form")
        if (
            product
            and any(part not in parts for part in ("A", "B", "D"))
            and all(o in known for o in form.operands)
        ):
            missing = ", ".join(part for part in ("A", "B", "D") if part not in parts)
            raise SpecError(f"no operand of the form {name} has the part {missing}", form.place, "A, B and D")
