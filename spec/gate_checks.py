"""Check that every gate says something: no date before its targets, nothing that the gates above it say."""

from __future__ import annotations

from .errors import SpecError
from .gates import Isa
from .model import Gate, Instruction

__all__ = ["check_gate", "check_gates"]


def check_gates(instruction: Instruction, isa: Isa) -> None:
    """Raise SpecError where a gate could say more or less and mean the same.

    The gate of a row, a form or a condition narrows that of the instruction, and that of a row's condition
    the row's.
    """
    check_gate(instruction.gate, isa)
    inner = [form.gate for form in instruction.forms.values() if form.gate]
    for gate in (*inner, *(condition.gate for condition in instruction.gates)):
        check_gate(gate, isa)
        _check_narrower(gate, instruction.gate, isa)
    for row in instruction.rows:
        if row.gate:
            check_gate(row.gate, isa)
            _check_narrower(row.gate, instruction.gate, isa)
        for condition in row.gates:
            check_gate(condition.gate, isa)
            _check_narrower(condition.gate, row.gate or instruction.gate, isa)


def check_gate(gate: Gate, isa: Isa) -> None:
    """A gate names no target that another one stands for, and begins with the first of its targets."""
    for target in gate.targets:
        others = [one for one in gate.targets if one != target and target in isa.including.get(one, ())]
        if others:
            what = f"the gate names {target}, which includes {others[0]}"
            raise SpecError(what, gate.place, "one of the two")
    first = min((isa.index.targets[name].since for name in isa.admitted(gate)), default=gate.since)
    if gate.since < first:
        what = f"the gate begins with PTX ISA {gate.since}, and its first target with {first}"
        raise SpecError(what, gate.place, f'since: "{first}"')


def _check_narrower(gate: Gate, wider: Gate, isa: Isa) -> None:
    if _said(gate) == _said(wider):
        raise SpecError("the gate says what the one above it says", gate.place, "no gate here")
    if gate.since < wider.since:
        what = f"the gate begins with PTX ISA {gate.since}, and the one above it with {wider.since}"
        raise SpecError(what, gate.place, f'since: "{wider.since}"')
    beside = sorted(isa.admitted(gate) - isa.admitted(wider))
    if beside and gate.targets != ("any",):
        what = f"the gate is open on {beside[0]}, and the one above it is not"
        raise SpecError(what, gate.place, "targets that the gate above admits, or any")


def _said(gate: Gate) -> tuple[object, ...]:
    return gate.since, gate.deprecated, gate.removed, gate.targets
