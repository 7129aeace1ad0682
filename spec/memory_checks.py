"""Checks of descriptors and address rules: their fields, rules, modes, strides, widths and types fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .column_masks import field_of_part
from .descriptor import limit
from .descriptor_rules import coded_names, field_names, rule_tree
from .errors import SpecError
from .expressions import names
from .gate_checks import check_gate
from .memory_records import AddressRule, ColumnMask, Descriptor, DescriptorField
from .nodes import Formula, bounded, must_exist, nearest
from .parts import operands_of
from .specification import Specification

__all__ = ["check_memory"]

_WORDS = (32, 64)  # bits of a descriptor
_CHUNK = 16  # bytes that a swizzle moves together; a pattern has as many rows as a line has such chunks
_OFFSET = "offset"  # the output of a layout in shared memory that has no stride


def check_memory(specification: Specification) -> None:
    """Every descriptor and every address rule is whole, and each fits the other; raises SpecError."""
    for rule in specification.addresses.addresses.values():
        _check_rule(specification, rule)
    _check_descriptors(specification)
    for descriptor in specification.descriptors.values():
        _check_rules(specification, descriptor)
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

    Only a row that takes a transposition has matrices that lie along M or N. Where no row says of which type
    the elements are, another word of the statement does.
    """
    found = dict.fromkeys(_types(specification, kind, transposed=rule.major != "K"))
    if not any(
        one.descriptor == kind and one.contains
        for instruction in specification.instructions.values()
        for one in instruction.operands.values()
    ):
        return
    if set(rule.types) != set(found) or len(set(rule.types)) < len(rule.types):
        raise SpecError(
            f"the rule is for elements of {', '.join(rule.types)}", rule.place, ", ".join(map(str, found))
        )


def _types(specification: Specification, kind: str, transposed: bool) -> Iterator[str | int]:
    for instruction in specification.instructions.values():
        described = {
            name: one
            for name, one in instruction.operands.items()
            if one.descriptor == kind and one.contains is not None
        }
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
    modes = {mode for _, mode in seen}
    if modes != set(field.values):
        raise SpecError(
            f"the field {coded} has the values {', '.join(field.values)}",
            field.place,
            f"those of the address rules: {', '.join(sorted(modes))}",
        )


def _check_descriptors(specification: Specification) -> None:
    """Every descriptor has its fields in its word; that of a matrix has its start, each part once, and the
    strides of its address rules.
    """
    for descriptor in specification.descriptors.values():
        if descriptor.bits not in _WORDS:
            what = f"the descriptor has {descriptor.bits} bits"
            raise SpecError(what, descriptor.place, " or ".join(map(str, _WORDS)))
        parts = [field.part for field in descriptor.fields.values() if field.part]
        if bool(descriptor.addresses) != ("start" in parts) or len(set(parts)) < len(parts):
            raise SpecError(
                f"the fields of the descriptor have the parts ({', '.join(parts)})",
                descriptor.place,
                "one start where it has address rules, at most one base and one mode",
            )
        for name, field in descriptor.fields.items():
            _check_field(descriptor, name, field)
        strided = [name for name, field in descriptor.fields.items() if field.part is None]
        for name in descriptor.addresses:
            must_exist("address rule", name, specification.addresses.addresses, descriptor.place)
            rule = specification.addresses.addresses[name]
            for stride in rule.strides.values():
                must_exist("stride of the descriptor", stride, strided, rule.place)
        if descriptor.addresses:
            _check_capacities(specification, descriptor)


def _check_field(descriptor: Descriptor, name: str, field: DescriptorField) -> None:
    """A field's bits lie in the word, and its values in the field."""
    if not 0 <= field.low <= field.high < descriptor.bits or field.unit < 1:
        raise SpecError(
            f"the field {name} has bits {field.low} to {field.high} and the unit {field.unit}",
            field.place,
            f"0 <= low <= high <= {descriptor.bits - 1}, and a unit of at least 1",
        )
    values = [*field.values.values(), *([] if field.constant is None else [field.constant])]
    most = limit(field) // field.unit
    if len(set(values)) < len(values) or not all(0 <= value <= most for value in values):
        what = f"the values of {name} are {', '.join(map(str, values))}"
        raise SpecError(what, field.place, f"different ones of 0 to {most}")
    if values and field.unit != 1:
        raise SpecError(f"the values of {name} have the unit {field.unit}", field.place, "unit: 1")
    for value in field.unplaced:
        must_exist(f"value of {name}", value, field.values, field.place)


def _check_rules(specification: Specification, descriptor: Descriptor) -> None:
    """A name in a rule means one thing, and every rule is a formula over fields and settings."""
    known = field_names(descriptor)
    bounds = {known[name]: (0, limit(field)) for name, field in descriptor.fields.items()}
    for name, scalars in descriptor.settings.items():
        if name in bounds or not all(isinstance(value, int) and value >= 0 for value in scalars.values):
            what = f"the setting {name} is a field, or has values that are not integers"
            raise SpecError(what, scalars.place, "another name; integers from 0 on")
        bounds[name] = min(map(int, scalars.values)), max(map(int, scalars.values))
    codes = coded_names(descriptor)
    for field in descriptor.fields.values():
        for name, code in field.values.items():
            if descriptor.rules and (name in bounds or codes[name] != code):
                what = f"{name} is a field, a setting, or another value of another field"
                raise SpecError(what, field.place, "a name that means one thing in the rules")
    seen: set[str] = set()
    for rule in descriptor.rules:
        if rule.id in seen:
            raise SpecError(f"the rule {rule.id} stands twice", rule.place, "each id once")
        seen.add(rule.id)
        tree = rule_tree(descriptor, rule)
        for name in sorted(names(tree) - bounds.keys()):
            what = f"{name} in {rule.holds.text!r} is neither a field nor a setting"
            raise SpecError(what, rule.holds.place, nearest(name, bounds) or ", ".join(bounds))
        bounded(replace(rule.holds, tree=tree), bounds)
        for gate in (rule.lifted, rule.only):
            if gate is not None:
                check_gate(gate, specification.isa)
    _check_said(descriptor, bounds)
    if descriptor.columns is not None:
        _check_columns(descriptor, descriptor.columns)


def _check_columns(descriptor: Descriptor, mask: ColumnMask) -> None:
    """A mask has counts, fields for each part, and formulas over what they may read."""
    if not all(isinstance(count, int) and count > 0 for count in mask.counts.values):
        raise SpecError("a number of columns is not an integer", mask.counts.place, "integers from 1 on")
    settings = {
        name: (min(map(int, s.values)), max(map(int, s.values))) for name, s in descriptor.settings.items()
    }
    most = _bounded_over(mask.parts, settings)[1]
    wanted = {mask.start, mask.first} | mask.inverse.keys()
    fields = {field_of_part(name, part) for name in wanted for part in range(most)}
    for name in sorted(fields):
        must_exist("field", name, descriptor.fields, mask.place)
    if missing := {mask.start, mask.first} - mask.inverse.keys():
        raise SpecError(f"the inverse lacks {', '.join(sorted(missing))}", mask.place, "start and first")
    longest = max(map(int, mask.counts.values))
    common = {name: (0, limit(descriptor.fields[key])) for key, name in field_names(descriptor).items()}
    start, first = (limit(descriptor.fields[field_of_part(name, 0)]) for name in (mask.start, mask.first))
    known = common | {"start": (0, start), "first": (0, first), "column": (0, longest - 1)}
    position = _bounded_over(mask.position, known)
    _bounded_over(mask.zeroed, known | {"position": position})
    span = 1, longest
    words = {"any": (0, 1), "first": (0, 1), "zeros": span, "used": span, "run": span}
    for formula in mask.inverse.values():
        for name in sorted(names(formula.tree) - words.keys()):
            what = f"{name} in {formula.text!r} is not a word of masks"
            raise SpecError(what, formula.place, ", ".join(words))


def _bounded_over(formula: Formula, bounds: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The bounds of a formula over names that are known; raises SpecError for another name."""
    for name in sorted(names(formula.tree) - bounds.keys()):
        what = f"{name} in {formula.text!r} is neither a field nor a word of masks"
        raise SpecError(what, formula.place, nearest(name, bounds) or ", ".join(bounds))
    return bounded(formula, bounds)


def _check_said(descriptor: Descriptor, bounds: dict[str, tuple[int, int]]) -> None:
    """What a descriptor says has a name of its own, and is over fields, settings and what stands above."""
    codes = {name: (code, code) for name, code in coded_names(descriptor).items()}
    for name, formula in descriptor.says.items():
        if name in bounds or name in codes:
            what = f"{name} is a field, a setting or a coded value too"
            raise SpecError(what, formula.place, "a name of its own")
        for used in sorted(names(formula.tree) - bounds.keys() - codes.keys()):
            what = f"{used} in {formula.text!r} is neither a field nor a setting"
            raise SpecError(what, formula.place, nearest(used, bounds) or ", ".join(bounds))
        bounds[name] = bounded(formula, bounds | codes)


def _check_capacities(specification: Specification, descriptor: Descriptor) -> None:
    """Strides reach as far as the start does, and a base offset names every row of a swizzling pattern."""
    start = descriptor.fields[str(descriptor.field_of("start"))]
    rows = specification.addresses.swizzle.line // _CHUNK
    rules = (specification.addresses.addresses[name] for name in descriptor.addresses)
    strides = {stride for rule in rules for stride in rule.strides.values()}
    for name, field in descriptor.fields.items():
        wanted = limit(start) if name in strides else rows - 1 if field.part == "base" else None
        if wanted is not None and limit(field) != wanted:
            bits = f"bits {field.low} to {field.high} in units of {field.unit}"
            right = "the greatest start" if field.part is None else "the last row of a swizzling pattern"
            raise SpecError(
                f"the field {name} holds at most {limit(field)} ({bits})", field.place, f"{wanted}, {right}"
            )
