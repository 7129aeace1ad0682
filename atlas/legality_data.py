"""What judges need, as data: versions, targets, gates, and the rows, forms and operands of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spec.described_operands import INSTRUCTION
from ..spec.gates import Isa
from ..spec.model import ConditionalGate, Gate, Operand
from ..spec.special_registers import late_registers
from ..spec.specification import Specification
from ..spec.variants import Family, RowView
from .files import slug
from .formulas import tree, with_text

__all__ = ["legality_data", "page_of"]


class _Gates:
    """The gates of the specification, each once; elsewhere a gate is its number."""

    def __init__(self, isa: Isa) -> None:
        self.isa = isa
        self.targets = list(isa.index.targets)
        self._numbers: dict[str, int] = {}
        self.values: list[Any] = []

    def number(self, gate: Gate | None) -> int | None:
        """The number of a gate; None where there is none."""
        if gate is None:
            return None
        admitted = self.isa.admitted(gate)
        value = [
            str(gate.since),
            str(gate.deprecated) if gate.deprecated else None,
            str(gate.removed) if gate.removed else None,
            "any"
            if len(admitted) == len(self.targets)
            else [place for place, name in enumerate(self.targets) if name in admitted],
        ]
        known = self._numbers.setdefault(str(value), len(self.values))
        if known == len(self.values):
            self.values.append(value)
        return known

    def conditions(self, gates: Sequence[ConditionalGate]) -> list[dict[str, Any]]:
        """Gates on field values, each with its formula."""
        return [{"when": tree(one.when), "gate": self.number(one.gate), "why": one.why} for one in gates]


def legality_data(specification: Specification) -> dict[str, Any]:
    """The data of scripts/legality-*.js."""
    index = specification.index
    gates = _Gates(specification.isa)
    instructions = [_instruction(family, gates) for family in specification.families.values()]
    return {
        "isa": str(index.isa),
        "versions": [str(version) for version in specification.isa.versions],
        "targets": {
            name: {
                "since": str(target.since),
                "renamed": {"to": target.renamed.to, "since": str(target.renamed.since)}
                if target.renamed
                else None,
            }
            for name, target in index.targets.items()
        },
        "types": {name: {"bits": one.bits, "registers": one.registers} for name, one in index.types.items()},
        "special": specification.isa.special_types,
        "late": {text: gates.number(gate) for text, gate in late_registers(index).items()},
        "similar": index.similar_types,
        "ordered": index.ordered,
        "repeatable": index.repeatable,
        "gates": gates.values,
        "instructions": instructions,
    }


def page_of(instruction: str) -> str:
    """Where the page of an instruction stands."""
    return f"instructions/{slug(instruction)}.html"


def _instruction(family: Family, gates: _Gates) -> dict[str, Any]:
    instruction = family.instruction
    return {
        "instruction": instruction.instruction,
        "name": family.name,
        "opcode": instruction.opcode,
        "page": page_of(instruction.instruction),
        "pieces": family.pieces,
        "formats": family.formats,
        "fields": family.fields,
        "fixed": family.fixed,
        "gate": gates.number(instruction.gate),
        "gates": gates.conditions(instruction.gates),
        "tolerances": [{"absent": one.absent, "why": one.why} for one in instruction.tolerances],
        "registers": instruction.registers,
        "operands": {name: _operand(one) for name, one in instruction.operands.items()},
        "forms": {
            name: {"operands": form.operands, "gate": gates.number(form.gate), "a": form.a}
            for name, form in instruction.forms.items()
        },
        "rows": [_row(view, gates) for view in family.rows],
    }


def _row(view: RowView, gates: _Gates) -> dict[str, Any]:
    row = view.row
    return {
        "id": row.id,
        "domains": view.domains,
        "where": with_text(row.where),
        "gate": gates.number(row.gate),
        "gates": gates.conditions(row.gates),
        "tolerated": row.tolerated,
        "registers": row.registers,
        "elements": row.elements,
        "forms": row.forms,
        "layouts": row.layouts,
    }


def _operand(operand: Operand) -> dict[str, Any]:
    return {
        "accepts": operand.accepts,
        "registers": tree(operand.registers),
        "holds": operand.holds,
        "types": operand.types,
        "values": operand.values.values if operand.values else None,
        "valid": with_text(operand.valid),
        "elements": operand.elements,
        "role": operand.role,
        "sum": operand.sum,
        "space": operand.space,
        "word": _word(operand),
        "shared": operand.descriptor,
    }


def _word(operand: Operand) -> dict[str, Any] | None:
    """Which descriptor the bits of an operand are that says what is multiplied; None for other operands."""
    word = operand.word
    if word is None or operand.part != INSTRUCTION:
        return None
    return {
        "descriptor": word.descriptor,
        "settings": {name: tree(formula) for name, formula in word.settings.items()},
        "where": tree(word.where),
    }
