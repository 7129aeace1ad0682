"""Checks of descriptors and address rules: their fields, modes, strides, widths and element types fit."""

from __future__ import annotations

from collections.abc import Iterator

from .descriptor import limit
from .errors import SpecError
from .memory_records import AddressRule, Descriptor
from .nodes import must_exist
from .parts import operands_of
from .specification import Specification

__all__ = ["check_memory"]

_DESCRIPTOR_BITS = 64
_CHUNK = 16  # bytes that a swizzle moves together; a pattern has as many rows as a line has such chunks
_OFFSET = "offset"  # the output of a layout in shared memory that has no stride


def check_memory(specification: Specification) -> None:
    """Every descriptor and every address rule is whole, and each fits the other; raises SpecError."""
    for rule in specification.addresses.addresses.values():
        _check_rule(specification, rule)
    _check_descriptors(specification)
    _check_used(specification)
    for name, descriptor in specification.descriptors.items():
        for rule in specification.rules_of(name).values():
            _check_types(specification, name, rule)
        _check_modes(specification, name, descriptor)


def _check_rule(specification: Specification, rule: AddressRule) -> None:
    """A rule has a stride for each atom's index of its layout, and its layout is of its widths and types."""
    must_exist("layout", rule.layout, specification.layouts, rule.place)
    types = specification.index.types
    for element in rule.types:
        must_exist("element type", element, types, rule.place)
    layout = specification.layouts[rule.layout]
    strided = [name for name in layout.outputs if name != _OFFSET]
    if sorted(rule.strides) != sorted(strided) or len(set(rule.strides.values())) < len(strided):
        raise SpecError(
            f"the rule has the strides {dict(rule.strides)}",
            rule.place,
            f"another field for each of {', '.join(strided)}",
        )
    wanted = {
        "W": (set(rule.widths.values()), "the widths of the modes"),
        "bytes": ({max(types[name].bits // 8, 1) for name in rule.types}, "the sizes of the types"),
    }
    for name, (values, what) in wanted.items():
        scalars = layout.layout.params.get(name)
        if scalars is None or set(scalars.values) != values:
            has = ", ".join(map(str, scalars.values)) if scalars else "no values"
            where = scalars.place if scalars else layout.layout.place
            shown = ", ".join(map(str, sorted(values)))
            raise SpecError(f"{what} of the rule are {shown}", rule.place, f"{has}, as {name} in {where}")


def _check_used(specification: Specification) -> None:
    """Every address rule is that of some descriptor, which names it once."""
    for descriptor in specification.descriptors.values():
        if len(set(descriptor.addresses)) < len(descriptor.addresses):
            raise SpecError("an address rule stands twice", descriptor.place, "each once")
    known = {name for descriptor in specification.descriptors.values() for name in descriptor.addresses}
    for name, rule in specification.addresses.addresses.items():
        if name not in known:
            raise SpecError(f"no descriptor has the address rule {name}", rule.place, "addresses: […]")


def _check_types(specification: Specification, kind: str, rule: AddressRule) -> None:
    """A rule is for exactly the types of the matrices that rows take behind its descriptor.

    Only a row that takes a transposition has matrices that lie along M or N.
    """
    found = dict.fromkeys(_types(specification, kind, transposed=rule.major != "K"))
    if set(rule.types) != set(found) or len(set(rule.types)) < len(rule.types):
        raise SpecError(
            f"the rule is for elements of {', '.join(rule.types)}", rule.place, ", ".join(map(str, found))
        )


def _types(specification: Specification, kind: str, transposed: bool) -> Iterator[str | int]:
    for instruction in specification.instructions.values():
        described = {name: one for name, one in instruction.operands.items() if one.descriptor == kind}
        turns = {
            name for part in ("transpose-A", "transpose-B") for name, _ in operands_of(instruction, part)
        }
        for row in instruction.rows:
            operands = {name for form in row.forms for name in instruction.forms[form].operands}
            if transposed and not operands & turns:
                continue
            for name in described.keys() & operands:
                field = str(described[name].contains)
                yield from (row.bind.get(field) or instruction.bind[field]).values


def _check_modes(specification: Specification, kind: str, descriptor: Descriptor) -> None:
    """One rule is for each mode of a descriptor and each dimension, and the modes have values that fit."""
    rules = specification.rules_of(kind)
    seen: dict[tuple[str, str], str] = {}
    for name, rule in rules.items():
        for mode in rule.widths:
            other = seen.setdefault((rule.major, mode), name)
            if other != name:
                what = f"{other} is for {rule.major}-major matrices with the mode {mode}, and so is {name}"
                raise SpecError(what, rule.place, "one rule for each")
    coded = descriptor.field_of("mode")
    if coded is None:
        return
    field = descriptor.fields[coded]
    for major in sorted({rule.major for rule in rules.values()}):
        modes = {mode for other, mode in seen if other == major}
        if modes != set(field.values):
            raise SpecError(
                f"the field {coded} has the values {', '.join(field.values)}",
                field.place,
                f"those of the {major}-major address rules: {', '.join(sorted(modes))}",
            )
    values = list(field.values.values())
    if len(set(values)) < len(values) or not all(0 <= value <= limit(field) for value in values):
        raise SpecError(
            f"the values of {coded} are {', '.join(map(str, values))}",
            field.place,
            f"different ones of 0 to {limit(field)}",
        )


def _check_descriptors(specification: Specification) -> None:
    """Every descriptor has its start, each part once, and the strides of its address rules."""
    for descriptor in specification.descriptors.values():
        parts = [field.part for field in descriptor.fields.values() if field.part]
        if "start" not in parts or len(set(parts)) < len(parts):
            raise SpecError(
                f"the fields of the descriptor have the parts ({', '.join(parts)})",
                descriptor.place,
                "one start, at most one base and one mode",
            )
        for name, field in descriptor.fields.items():
            if not 0 <= field.low <= field.high < _DESCRIPTOR_BITS or field.unit < 1:
                raise SpecError(
                    f"the field {name} has bits {field.low} to {field.high} and the unit {field.unit}",
                    field.place,
                    f"0 <= low <= high <= {_DESCRIPTOR_BITS - 1}, and a unit of at least 1",
                )
        for name in descriptor.addresses:
            must_exist("address rule", name, specification.addresses.addresses, descriptor.place)
            rule = specification.addresses.addresses[name]
            for stride in rule.strides.values():
                strides = [name for name, field in descriptor.fields.items() if field.part is None]
                must_exist("stride of the descriptor", stride, strides, rule.place)
        _check_capacities(specification, descriptor)


def _check_capacities(specification: Specification, descriptor: Descriptor) -> None:
    """Strides reach as far as the start does, and a base offset names every row of a swizzling pattern."""
    start = descriptor.fields[str(descriptor.field_of("start"))]
    rows = specification.addresses.swizzle.line // _CHUNK
    for name, field in descriptor.fields.items():
        wanted = {None: limit(start), "base": rows - 1}.get(field.part)
        if wanted is not None and limit(field) != wanted:
            bits = f"bits {field.low} to {field.high} in units of {field.unit}"
            right = "the greatest start" if field.part is None else "the last row of a swizzling pattern"
            raise SpecError(
                f"the field {name} holds at most {limit(field)} ({bits})", field.place, f"{wanted}, {right}"
            )
