"""What the files mean, as plain values: equal for files that say the same, wherever and however."""

from __future__ import annotations

from typing import Any

from ...check.rule_texts import rule_texts
from ...gen.litmus.litmus_tests import written
from ...gen.litmus.phase_tests import phase_suite
from ...ledger.contradictions import register
from ...spec.api import load
from ...spec.arithmetic import arithmetic
from ...spec.effects import load_effects
from ...spec.ordering import ordering, phases
from ...spec.plain import kept_fields
from ...spec.plain import plain as plain_value
from .corpus import READERS, noticed_by

__all__ = ["meaning", "noticed_fields", "plain"]

# Fields whose lists mean another thing in another order; every other list is a set, written in some order.
_SEQUENCES = frozenset(
    {
        "ArithmeticModel.stages",
        "Around.after",
        "Around.before",
        "Around.written",
        "Form.operands",
        "Index.releases",
        "LitmusTest.hazards",
        "LitmusTest.program",
        "Operand.accepts",
        "Operand.elements",
        "OrderingExample.tiers",
        "PhaseLitmusTest.counts",
        "PhaseLitmusTest.hazards",
        "PhaseLitmusTest.threads",
        "Release.assemblers",
        "RuleText.tiers",
        "Sparsity.codes",
    }
)

# By file, the parts of the specification that it is read into.
_PARTS = {
    "specs.yaml": ("index",),
    "spec/contracts.yaml": ("clauses",),
    "spec/sparsity.yaml": ("switches", "sparsities"),
    "spec/descriptors.yaml": ("descriptors",),
    "spec/addresses.yaml": ("addresses",),
    "spec/numerics.yaml": ("formats", "guarantees"),
}


def plain(value: object) -> Any:
    """A record as plain values, without what only readers notice; a list that is a set is sorted.

    A barrier and a proxy fence have no fields: their classes say what they are.
    """
    return plain_value(value, _is_noticed, _is_sequence, classes=True)


def noticed_fields(record: Any) -> dict[str, Any]:
    """The fields of a record that others than readers notice."""
    return dict(kept_fields(record, _is_noticed))


def _is_noticed(record: str, field: str) -> bool:
    return READERS not in noticed_by(f"{record}.{field}")


def _is_sequence(record: str, field: str) -> bool:
    return f"{record}.{field}" in _SEQUENCES


def meaning(file: str) -> object:
    """The records that a file is read into."""
    match file:
        case "check/rules.yaml":
            return rule_texts()
        case "spec/effects.yaml":
            return load_effects()
        case "contradictions.yaml":
            return register().entries
        case _ if file.startswith("spec/arithmetic/"):
            return [family for family in arithmetic().families if family.place.file == file]
        case "spec/ordering/rules.yaml" | "spec/ordering/switches.yaml":
            return ordering()
        case "spec/ordering/litmus.yaml":
            return [(t.name, t.program.steps, t.hazards, t.under) for t in written()]
        case "spec/ordering/phases.yaml":
            tests = [(t.name, t.program.counts, t.program.threads, t.hazards) for t in phase_suite()]
            return [sorted(phases().rules), *tests]
    specification = load()
    if file.startswith("spec/instructions/"):
        return {n: i for n, i in specification.instructions.items() if i.place.file == file}
    if file == "spec/layouts/bridges.yaml":
        return specification.bridges, specification.arrangements
    if file.startswith("spec/layouts/"):
        return {n: m for n, m in specification.layouts.items() if m.layout.place.file == file}
    return [getattr(specification, part) for part in _PARTS[file]]
