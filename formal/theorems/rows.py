"""Theorems about the specification itself: rows are disjoint, each can apply, each gate can open."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations

import z3

from ...spec.expressions import names
from ...spec.model import Gate
from ...spec.nodes import Formula, Version
from ...spec.variants import Family, RowView, as_name
from ..smt.bitvectors import BitVectors, conjunction
from ..smt.obligations import Obligation, refuting

__all__ = ["row_obligations"]

_WIDTH = 32


def _number(version: Version) -> int:
    return version.major * 1000 + version.minor


class _Symbols:
    """An instruction's fields as bit-vectors: integers as they are, words by a number of their own."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.isa = family.isa
        words = sorted(
            {
                as_name(str(value))
                for view in family.rows
                for values in view.domains.values()
                for value in values
                if isinstance(value, str)
            }
        )
        self.codes = {word: 0x10000 + number for number, word in enumerate(words)}
        fields = sorted({name for view in family.rows for name in view.domains})
        self.fields = {name: z3.BitVec(name, _WIDTH) for name in fields}
        self.version = z3.BitVec("ptx version", _WIDTH)
        self.target = z3.BitVec("target number", _WIDTH)
        self._rows: dict[int, z3.BoolRef] = {}
        self._opens: dict[Gate, z3.BoolRef] = {}
        self._reads: dict[str, z3.ExprRef] = {}

    def code(self, value: str | int) -> int:
        return value if isinstance(value, int) else self.codes[as_name(value)]

    def read(self, formula: Formula) -> z3.ExprRef:
        if formula.text not in self._reads:
            self._reads[formula.text] = self._read(formula)
        return self._reads[formula.text]

    def _read(self, formula: Formula) -> z3.ExprRef:
        variables: dict[str, z3.ExprRef] = {}
        for name in names(formula.tree):
            if name in self.fields:
                variables[name] = self.fields[name]
            elif name.endswith("_bits"):
                variables[name] = self._bits(name[:-5])
            else:
                variables[name] = z3.BitVecVal(self.codes[name], _WIDTH)
        return BitVectors(_WIDTH, variables).read(formula.tree)

    def _bits(self, field: str) -> z3.ExprRef:
        width: z3.ExprRef = z3.BitVecVal(0, _WIDTH)
        for name, element in self.isa.index.types.items():
            if name in self.codes:
                width = z3.If(self.fields[field] == self.codes[name], element.bits, width)
        return width

    def row(self, view: RowView) -> z3.BoolRef:
        """The combination of field values is one of the row's."""
        if id(view) not in self._rows:
            self._rows[id(view)] = self._row(view)
        return self._rows[id(view)]

    def _row(self, view: RowView) -> z3.BoolRef:
        parts = [
            z3.Or(*(self.fields[name] == self.code(value) for value in values))
            for name, values in view.domains.items()
        ]
        if view.row.where:
            parts.append(self.read(view.row.where))
        return conjunction(parts)

    def open(self, gate: Gate) -> z3.BoolRef:
        """The gate is open for the version and the target."""
        if gate not in self._opens:
            self._opens[gate] = self._open(gate)
        return self._opens[gate]

    def _open(self, gate: Gate) -> z3.BoolRef:
        parts = [z3.UGE(self.version, _number(gate.since))]
        if gate.removed:
            parts.append(z3.ULT(self.version, _number(gate.removed)))
        admitted = self.isa.admitted(gate)
        parts.append(
            z3.Or(*(self.target == n for n, name in enumerate(self.isa.index.targets) if name in admitted))
        )
        return conjunction(parts)

    @cached_property
    def world(self) -> z3.BoolRef:
        """A PTX ISA version that exists, with a target that exists in it."""
        versions = z3.Or(*(self.version == _number(version) for version in self.isa.versions))
        targets = z3.Or(
            *(
                z3.And(self.target == n, z3.UGE(self.version, _number(target.since)))
                for n, target in enumerate(self.isa.index.targets.values())
            )
        )
        return z3.And(versions, targets)

    def gates(self, view: RowView) -> z3.BoolRef:
        parts = [self.open(self.family.instruction.gate)]
        if view.row.gate:
            parts.append(self.open(view.row.gate))
        for condition in view.conditions():
            parts.append(z3.Implies(self.read(condition.when), self.open(condition.gate)))
        return conjunction(parts)


def row_obligations(family: Family) -> Iterator[Obligation]:
    """All obligations of one instruction about its rows."""
    symbols = _Symbols(family)
    spelled = [name for name in symbols.fields if name in family.bound]
    pairs = list(combinations(family.rows, 2))
    if pairs:
        copies = {
            id(view): z3.substitute(
                symbols.row(view),
                *((s, z3.BitVec(f"{name} (other)", _WIDTH)) for name, s in symbols.fields.items()),
            )
            for view in family.rows
        }
        alike = conjunction(symbols.fields[name] == z3.BitVec(f"{name} (other)", _WIDTH) for name in spelled)
        overlaps = [z3.And(symbols.row(a), copies[id(b)]) for a, b in pairs]
        yield Obligation(
            "rows.disjoint",
            family.instruction.instruction,
            refuting(alike, z3.Or(*overlaps)),
            lambda _: "two rows share a combination",
        )
    for view in family.rows:
        yield Obligation(
            "rows.alive",
            view.id,
            refuting(symbols.row(view), symbols.gates(view), symbols.world),
            lambda _: "no combination of the row is ever legal",
            expects="sat",
        )
        for condition in view.conditions():
            if not _concerns(view, condition.when):
                continue
            yield Obligation(
                "gates.satisfiable",
                f"{view.id} {condition.id}",
                refuting(
                    symbols.row(view),
                    symbols.read(condition.when),
                    symbols.gates(view),
                    symbols.world,
                ),
                lambda _: "nothing that the condition holds for is ever legal",
                expects="sat",
            )


def _concerns(view: RowView, when: Formula) -> bool:
    """Whether a condition holds for some combination of the row at all."""
    return any(view.evaluate(when, fields) for fields in view.combinations())
