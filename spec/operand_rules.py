"""Whether an argument fits an operand: by form, length, value and types of registers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from .diagnosis import Reason
from .model import Operand
from .quantities import counted, one_of
from .special_registers import type_of, vector_length
from .statements import PARTS, Argument, Statement, argument_of, element_kind
from .variants import Variant
from .vector_types import FLOATS, element_types, unlike_neighbours

__all__ = ["fits", "nameless", "out_of_range", "written"]

_SHOWN = {
    "vector": "a vector",
    "register": "a register",
    "negated": "a negated predicate",
    "immediate": "an integer literal",
    "address": "an address",
    "sum": "a register and a constant",
    "float": "a floating-point literal",
    "sink": "'_'",
}
_LISTED = 8  # so many registers of a vector are written one by one
_ELEMENTS = {
    "integer": _SHOWN["immediate"],
    "single": "a floating-point literal of 32 bits",
    "double": "a floating-point literal of 64 bits",
    "sink": _SHOWN["sink"],
}


def written(variant: Variant, name: str) -> str:
    """An operand as it is written, by its name: `{d0, d1, d2, d3}`, `[p]`, `scale-d`."""
    operand = variant.row.family.instruction.operands[name]
    if operand.elements:
        return f"{{{', '.join(operand.elements)}}}"
    if operand.accepts[0] == "address":
        return f"[{name}]"
    if operand.accepts[0] != "vector" or operand.registers is None:
        return name
    registers = [f"{name}{number}" for number in range(variant.evaluate(operand.registers))]
    if len(registers) > _LISTED:
        registers[2:-1] = ["…"]
    return f"{{{', '.join(registers)}}}"


def fits(
    variant: Variant,
    name: str,
    operand: Operand,
    argument: Argument,
    statement: Statement,
) -> Iterator[Reason]:
    """What is wrong with the argument that stands in an operand's place."""
    argument = _written_out(argument, statement)
    if argument.shape not in operand.accepts and not (
        argument.shape == "sum" and operand.sum and "register" in operand.accepts and operand.role == "source"
    ):
        wanted = " or ".join(_SHOWN[shape] for shape in operand.accepts)
        yield Reason("operand.kind", f"{name} is {_SHOWN[argument.shape]}; it must be {wanted}")
        return
    if operand.elements:
        yield from _elements(variant, name, operand.elements, argument, statement)
        return
    if operand.registers and argument.shape == "vector":
        length = variant.evaluate(operand.registers)
        if argument.value != length:
            yield Reason(
                "operand.length",
                f"{name} has {counted(argument.value, 'register')}; it must have {length}",
            )
    if argument.shape == "immediate":
        yield from out_of_range(variant, name, operand, argument.value)
    elif argument.shape == "vector":
        yield from _elements_fit(variant, name, operand, argument)
    elif argument.shape == "address" and not argument.registers:
        yield Reason(
            "operand.address", f"{name} is an immediate address; it must be a register or a variable"
        )
    special = variant.row.family.isa.special_types
    if not statement.declared and not _has_named(argument, special):
        return
    fault = _special(variant, name, operand, argument, statement) or _component(
        name, argument, statement, special
    )
    if fault:
        yield fault
    else:
        yield from _typed(variant, name, argument, statement)


def _written_out(argument: Argument, statement: Statement) -> Argument:
    """A vector variable as the vector of its components; any other argument as it is."""
    if argument.shape != "register" or not statement.declared:
        return argument
    text = argument.registers[0]
    length = vector_length(statement.declared.get(text, ""))
    if not length:
        return argument
    return Argument("vector", length, tuple(f"{text}.{part}" for part in PARTS[:length]))


def nameless(argument: Argument, special: Mapping[str, str]) -> Argument:
    """An argument as all are that fit alike where nothing is declared: a special register, or what may be a
    component, keeps its name, and others are one.
    """
    if argument.literals or not argument.registers:
        return argument
    names = [text if text in special or text == "_" or "." in text else "%r" for text in argument.registers]
    return argument._replace(registers=tuple(names))


def _has_named(argument: Argument, special: Mapping[str, str]) -> bool:
    """Whether the name of any register matters where nothing is declared; beside literals each does."""
    if argument.literals:
        return any(text[:1] == "%" for text in argument.registers)
    return not special.keys().isdisjoint(argument.registers) or "." in "".join(argument.registers)


def _special(
    variant: Variant, name: str, operand: Operand, argument: Argument, statement: Statement
) -> Reason | None:
    """Why a special register may not stand there: ptxas takes one in vectors and as an address, and adds to
    one.
    """
    types = variant.row.family.isa.special_types
    found = next((t for t in argument.registers if t in types and t not in statement.declared), None)
    if found is None or argument.shape == "sum":
        return None
    if argument.shape == "vector":
        return _special_in_vector(variant, name, argument, found)
    if argument.shape == "address" and operand.space is None:
        return None
    return Reason(
        "operand.special", f"{name} is the special register {found}; move it into a register before"
    )


def _special_in_vector(variant: Variant, name: str, argument: Argument, found: str) -> Reason | None:
    """Why a vector may not hold a special register: that of some rows, and a component beside a literal."""
    allowed = variant.row.row.elements.get(name)
    if allowed is not None and "special" not in allowed:
        return Reason("operand.special", f"{name}: the special register {found} may not stand in this vector")
    special = variant.row.family.isa.special_types
    part = next((text for text in argument.registers if "." in text and text in special), None)
    if argument.literals and part:
        what = f"{name}: {part}, a component of a special register, may not stand beside a literal"
        return Reason("operand.special", what)
    return None


def _component(
    name: str, argument: Argument, statement: Statement, special: Mapping[str, str]
) -> Reason | None:
    """The fault of a component of what is not a vector."""
    for text in argument.registers:
        whole, dot, part = text.partition(".")
        kind = dot and (statement.declared.get(whole) or special.get(whole))
        if kind and not vector_length(kind):
            what = f"{name}: {whole} is .{kind}, not a vector: it has no component .{part}"
            return Reason("operand.component", what)
    return None


def out_of_range(variant: Variant, name: str, operand: Operand, value: int) -> Iterator[Reason]:
    """Why an operand may not have a value."""
    if operand.values is not None:
        allowed = variant.values(operand)
        if value not in allowed:
            shown = one_of(allowed)
            yield Reason("operand.range", f"{name} is {value}; it must be {shown}")
    elif operand.valid is not None and not variant.allows(operand.valid, value):
        yield Reason("operand.range", f"{name} is {value}; the rule is {operand.valid.text}")


def _elements_fit(variant: Variant, name: str, operand: Operand, argument: Argument) -> Iterator[Reason]:
    sinks, literals = argument.registers.count("_"), argument.literals
    if not sinks and not literals:
        return
    every = [element_kind(text) for text in argument.registers]
    kinds = dict.fromkeys(every)
    if sinks and operand.role != "destination":
        yield Reason("operand.sink", f"{name}: '_' may not stand where a value is read")
    elif literals and operand.role != "source":
        yield Reason("operand.literal", f"{name}: a literal may not stand where a result is written")
    elif (
        "integer" in kinds
        and any(kind in FLOATS for kind in kinds)
        and _unlike_literals(variant, name, every)
    ):
        what = (
            f"{name}: literals of integers and of floating point stand side by side, or 0f before an integer"
        )
        yield Reason("operand.literal", what)
    elif sinks + literals == argument.value:
        if sinks or not _typed_by_literals(variant, name, kinds):
            yield Reason("operand.vector", f"{name} names no register; at least one must be")
    elif name in variant.row.row.elements:
        allowed = variant.row.row.elements[name]
        for kind in kinds:
            if kind in _ELEMENTS and kind not in allowed and not (kind in FLOATS and "float" in allowed):
                code = "operand.sink" if kind == "sink" else "operand.literal"
                yield Reason(code, f"{name}: {_ELEMENTS[kind]} may not stand in this vector")


def _unlike_literals(variant: Variant, name: str, kinds: Sequence[str]) -> bool:
    """Whether literals of integers and of floating point do not go with each other in a vector.

    Every ptxas takes them with a register between, but for a literal of 32 bits before an integer where no
    register has 64.
    """
    if any(
        {"integer"} < {*pair} and not FLOATS.keys().isdisjoint(pair) for pair in itertools.pairwise(kinds)
    ):
        return True
    if "single" not in kinds or f"f{FLOATS['double']}" in (variant.register_types(name) or ()):
        return False
    return "integer" in kinds[kinds.index("single") :]


def _typed_by_literals(variant: Variant, name: str, kinds: Collection[str]) -> bool:
    """Whether literals of these kinds alone give a vector its type.

    ptxas takes `{0f00000000, …}` where registers of .f32 may stand, `{1.0, …}` where those of .f64 may, and
    beside some 8-bit types, and `{0, …}` where each element is an integer that fills its register.
    """
    allowed = variant.register_types(name) or ()
    if "integer" not in kinds:
        single, double = (f"f{bits}" in allowed for bits in FLOATS.values())
        doubles = "double" in variant.row.row.elements.get(name, ())
        return double or (single and (doubles or "double" not in kinds))
    holds = variant.row.family.instruction.operands[name].holds
    if holds is None:
        return False
    element = variant.row.element(holds, str(variant.fields[holds]))
    integer = f"s{element.bits}"
    return integer in allowed and integer in element.registers


def _elements(
    variant: Variant,
    name: str,
    wanted: tuple[str, ...],
    argument: Argument,
    statement: Statement,
) -> Iterator[Reason]:
    if argument.value != len(wanted):
        yield Reason(
            "operand.length",
            f"{name} has {counted(argument.value, 'element')}; it must have {len(wanted)}",
        )
        return
    operands = variant.row.family.instruction.operands
    for inner, text in zip(wanted, argument.registers, strict=True):
        yield from fits(variant, inner, operands[inner], argument_of(text), statement)
    special = variant.row.family.isa.special_types
    types = {kind for text in argument.registers if (kind := type_of(text, statement.declared, special))}
    if len({re.sub(r"\D", "", kind) for kind in types}) > 1:
        shown = ", ".join(f".{kind}" for kind in sorted(types))
        yield Reason("operand.type", f"{name} has registers of unlike widths: {shown}")


def _typed(
    variant: Variant,
    name: str,
    argument: Argument,
    statement: Statement,
) -> Iterator[Reason]:
    allowed = variant.register_types(name)
    if allowed is None:
        return
    special = variant.row.family.isa.special_types
    address = argument.shape == "address"  # of any width that a special register has
    types = [type_of(register, statement.declared, special) for register in argument.registers]
    if argument.shape == "vector" and (argument.literals or len({*types} - {None}) > 1):
        fault = _unlike(variant, name, argument, statement)
        if fault:
            yield fault
            return
    for register, kind in zip(argument.registers, types, strict=True):
        if kind is None or kind in allowed:
            continue
        if address and register in special and kind != "pred" and not vector_length(kind):
            continue
        wanted = ", ".join(f".{word}" for word in allowed)
        yield Reason("operand.type", f"{name}: {register} is .{kind}; it must be {wanted}")
        return


def _unlike(variant: Variant, name: str, argument: Argument, statement: Statement) -> Reason | None:
    """The fault of neighbours in a vector that are not similarly typed."""
    isa = variant.row.family.isa
    for groups in isa.index.similar_types.values():
        types = element_types(argument.registers, statement.declared, isa.special_types, groups)
        place = unlike_neighbours(types, groups)
        if place is not None:
            first, second = argument.registers[place : place + 2]
            what = f"{name}: {first} and {second} stand side by side in a vector, and are not similarly typed"
            return Reason("operand.type", what)
    return None
