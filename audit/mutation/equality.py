"""Is a slip the same function as before? Solvers prove it, or every variant is compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ...formal.mutation.subjects import BridgeSubject, LayoutSubject, MutationSubject, SwizzleSubject
from ...formal.theorems.descriptor_rules import different_words
from ...spec.arithmetic import arithmetic
from ...spec.arithmetic_records import ArithmeticFile
from ...spec.layout_records import Layout
from ...spec.model import Gate, Instruction
from ...spec.nodes import Formula, Scalars
from ...spec.sparse import positions, valid_codes
from ...spec.sparsity_records import Sparsity
from ...spec.variants import Family, RowView, Variant
from .arithmetic_equality import same_sums
from .meaning import noticed_fields, plain
from .witnesses import Changed

__all__ = ["equal", "equal_families"]


def equal(changed: Changed) -> bool:
    """Whether everything that changed is proven to be the same function as before."""
    if changed.file.startswith("spec/instructions/"):
        return _equal_instructions(changed)
    if changed.file == "spec/sparsity.yaml":
        return _equal_sparsities(changed)
    if changed.file.startswith("spec/arithmetic/"):
        return _equal_sums(changed)
    if changed.file == "spec/descriptors.yaml":
        return _equal_descriptors(changed)
    base, old, new = changed.base, changed.base.specification, changed.specification
    subjects: list[MutationSubject]
    if changed.layouts:
        if any(name not in new.layouts or name not in old.layouts for name in changed.layouts):
            return False
        if any(not _formulas_only(old.layouts[n].layout, new.layouts[n].layout) for n in changed.layouts):
            return False
        if any(_beside(old.layouts[n].layout) != _beside(new.layouts[n].layout) for n in changed.layouts):
            return False
        subjects = [LayoutSubject(name) for name in sorted(changed.layouts)]
    elif changed.file == "spec/layouts/bridges.yaml" and list(old.bridges) == list(new.bridges):
        if plain(old.arrangements) != plain(new.arrangements):
            return False
        names = [name for name in old.bridges if plain(old.bridges[name]) != plain(new.bridges[name])]
        if any(not _formulas_only(old.bridges[name], new.bridges[name]) for name in names):
            return False
        subjects = [BridgeSubject(name) for name in names]
    elif changed.file == "spec/addresses.yaml" and plain(old.addresses.addresses) == plain(
        new.addresses.addresses
    ):
        if not _formulas_only(old.addresses.swizzle, new.addresses.swizzle):
            return False
        subjects = [SwizzleSubject()]
    else:
        return False
    return all(base.status(smt) == "unsat" for s in subjects for smt in s.differences(old, new))


def _equal_descriptors(changed: Changed) -> bool:
    """Whether only rules of descriptors are others, and the same words are legal, for all settings."""
    old, new = changed.base.specification.descriptors, changed.specification.descriptors
    if list(old) != list(new):
        return False
    names = [name for name in old if plain(old[name]) != plain(new[name])]
    return all(
        _formulas_only(old[name], new[name])
        and plain(old[name].columns) == plain(new[name].columns)
        and changed.base.status(different_words(name, old[name], new[name])) == "unsat"
        for name in names
    )


def _beside(layout: Layout) -> object:
    """What a layout says beside its map: equal maps may differ in it."""
    return plain((layout.part, layout.when, layout.inverse))


def _equal_sums(changed: Changed) -> bool:
    """Whether only formulas and types of chips' sums are others, and every variant has the same sums."""
    base = changed.base
    pairs = zip(base.arithmetic.families, arithmetic().families, strict=True)
    return all(
        _formulas_only(_untyped(old), _untyped(new))
        and same_sums(base.specification, old, new, lambda smt: base.status(smt) == "unsat")
        for old, new in pairs
        if plain(old) != plain(new)
    )


def _untyped(family: ArithmeticFile) -> ArithmeticFile:
    """A family whose steps do not say the types of their sums: those are compared where D's type is known."""
    rows = []
    for row in family.rows:
        steps = tuple(dataclasses.replace(step, type=None) for step in row.steps)
        rows.append(dataclasses.replace(row, steps=steps))
    return dataclasses.replace(family, rows=tuple(rows))


def _equal_sparsities(changed: Changed) -> bool:
    """Whether only formulas of codes are others, and each has the same value for every code."""
    old, new = changed.base.specification, changed.specification
    if plain(old.switches) != plain(new.switches) or not _formulas_only(old.sparsities, new.sparsities):
        return False
    return all(_codes(one) == _codes(new.sparsities[name]) for name, one in old.sparsities.items())


def _codes(sparsity: Sparsity) -> tuple[object, ...]:
    places = [positions(sparsity, code) for code in range(1 << sparsity.code_bits)]
    return places, {setting: valid_codes(sparsity, setting) for setting in sparsity.valid}


def _formulas_only(old: object, new: object, *beside: type) -> bool:
    """Whether two records differ in nothing but formulas (and records `beside` them) at the same keys."""
    return _without(old, Formula, *beside) == _without(new, Formula, *beside)


def _without(value: object, *left_out: type) -> object:
    if isinstance(value, left_out):
        return "left out"
    if isinstance(value, Mapping):
        return {key: _without(inner, *left_out) for key, inner in value.items()}
    if isinstance(value, tuple) and any(dataclasses.is_dataclass(inner) for inner in value):
        return [_without(inner, *left_out) for inner in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Scalars | Formula):
        found = {name: _without(inner, *left_out) for name, inner in noticed_fields(value).items()}
        return type(value).__name__, found
    return plain(value)


def _equal_instructions(changed: Changed) -> bool:
    """Whether instructions differ in formulas and gates alone, and these in no variant."""
    old, new = changed.base.specification.families, changed.specification.families
    if not changed.instructions or list(old) != list(new):
        return False
    return all(equal_families(old[name], new[name]) for name in changed.instructions)


def equal_families(old: Family, new: Family) -> bool:
    """Whether two instructions differ in formulas and gates alone, and these in no variant."""
    if plain(old.instruction.memory) != plain(new.instruction.memory):
        return False
    if not _formulas_only(_used(old), _used(new), Gate):
        return False
    return all(_all_said(one) == _all_said(other) for one, other in zip(old.rows, new.rows, strict=True))


def _used(family: Family) -> Instruction:
    """An instruction without the values of fields that each of its rows has values of its own for."""
    instruction = family.instruction
    unused = set.intersection(*({*view.row.bind} for view in family.rows))
    bind = {field: values for field, values in instruction.bind.items() if field not in unused}
    return dataclasses.replace(instruction, bind=bind)


def _all_said(view: RowView) -> Mapping[frozenset[tuple[str, str | int]], tuple[object, ...]]:
    """What is said of every variant of a row, by its fields."""
    return {frozenset(variant.fields.items()): _said(variant) for variant in view.variants()}


def _said(variant: Variant) -> tuple[object, ...]:
    """All that formulas and gates say of a variant."""
    instruction, view = variant.instruction, variant.row
    gates = view.gates_on(variant.fields)
    operands = instruction.operands.values()
    return (
        variant.fields,
        [view.family.isa.effective([*gates, *([form.gate] if form.gate else [])]) for form in variant.forms],
        [bool(variant.evaluate(condition.when)) for condition in view.conditions()],
        [variant.evaluate(operand.registers) for operand in operands if operand.registers],
        [variant.values(operand) if operand.values else plain(operand.valid) for operand in operands],
        [variant.evaluate(formula) for operand in operands for formula in (operand.matrix or {}).values()],
        [
            bool(variant.evaluate(when))
            for settings in instruction.readings.values()
            for when in settings.values()
        ],
    )
