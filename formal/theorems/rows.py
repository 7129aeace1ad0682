"""Theorems about rows: rows are disjoint, each row can apply, each gate can open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import combinations

from ...spec.errors import SpecError
from ...spec.expressions import names
from ...spec.model import Gate
from ...spec.nodes import Formula, Version
from ...spec.specification import Specification
from ...spec.variants import Family, RowView, as_name
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import UGE, ULT, And, BitVec, BitVecVal, If, Implies, Or, Term, substitute
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "row_obligations"]

_VERSION_BITS = 16


def _number(version: Version) -> int:
    return version.major * 1000 + version.minor


class _Symbols:
    """An instruction's fields as bit-vectors: integers as they are, words by numbers above all integers."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.isa = family.isa
        values = {value for view in family.rows for domain in view.domains.values() for value in domain}
        highest = max((value for value in values if isinstance(value, int)), default=0)
        words = sorted({as_name(value) for value in values if isinstance(value, str)})
        self.codes = {word: highest + 1 + number for number, word in enumerate(words)}
        self.width = self._width(highest + len(words))
        fields = sorted({name for view in family.rows for name in view.domains})
        self.fields = {name: BitVec(name, self.width) for name in fields}
        self.version = BitVec("ptx version", _VERSION_BITS)
        self.target = BitVec("target number", len(self.isa.index.targets).bit_length())
        self._rows: dict[int, Term] = {}
        self._opens: dict[Gate, Term] = {}
        self._reads: dict[str, Term] = {}

    def _width(self, highest: int) -> int:
        """Bits enough for every value of the rules and the conditions of gates, wherever they hold."""
        formulas = [condition.when for view in self.family.rows for condition in view.conditions()]
        formulas += [view.row.where for view in self.family.rows if view.row.where]
        widest = max(element.bits for element in self.isa.index.types.values())
        used = {name for formula in formulas for name in names(formula.tree)}
        bounds = {name: (0, widest if name.endswith("_bits") else highest) for name in used}
        width = highest.bit_length()
        for formula in formulas:
            try:
                width = max(width, width_for([formula.tree], bounds))
            except SpecError as error:
                raise error.at(formula.place) from None
        return max(width, 1)

    def code(self, value: str | int) -> int:
        return value if isinstance(value, int) else self.codes[as_name(value)]

    def read(self, formula: Formula) -> Term:
        if formula.text not in self._reads:
            self._reads[formula.text] = self._read(formula)
        return self._reads[formula.text]

    def _read(self, formula: Formula) -> Term:
        variables: dict[str, Term] = {}
        for name in names(formula.tree):
            if name in self.fields:
                variables[name] = self.fields[name]
            elif name.endswith("_bits"):
                variables[name] = self._bits(name[:-5])
            else:
                variables[name] = BitVecVal(self.codes[name], self.width)
        return BitVectors(self.width, variables).read(formula.tree)

    def _bits(self, field: str) -> Term:
        width: Term = BitVecVal(0, self.width)
        for name, element in self.isa.index.types.items():
            if name in self.codes:
                width = If(self.fields[field] == self.codes[name], element.bits, width)
        return width

    def row(self, view: RowView) -> Term:
        """The combination of field values is one of the row's."""
        if id(view) not in self._rows:
            self._rows[id(view)] = self._row(view)
        return self._rows[id(view)]

    def _row(self, view: RowView) -> Term:
        parts = [
            Or(*(self.fields[name] == self.code(value) for value in values))
            for name, values in view.domains.items()
        ]
        if view.row.where:
            parts.append(self.read(view.row.where))
        return conjunction(parts)

    def open(self, gate: Gate) -> Term:
        """The gate is open for the version and the target."""
        if gate not in self._opens:
            self._opens[gate] = self._open(gate)
        return self._opens[gate]

    def _open(self, gate: Gate) -> Term:
        parts = [UGE(self.version, _number(gate.since))]
        if gate.removed:
            parts.append(ULT(self.version, _number(gate.removed)))
        admitted = self.isa.admitted(gate)
        parts.append(
            Or(*(self.target == n for n, name in enumerate(self.isa.index.targets) if name in admitted))
        )
        return conjunction(parts)

    @cached_property
    def world(self) -> Term:
        """A PTX ISA version that exists, with a target that exists in it."""
        versions = Or(*(self.version == _number(version) for version in self.isa.versions))
        targets = Or(
            *(
                And(self.target == n, UGE(self.version, _number(target.since)))
                for n, target in enumerate(self.isa.index.targets.values())
            )
        )
        return And(versions, targets)

    def gates(self, view: RowView) -> Term:
        parts = [self.open(self.family.instruction.gate)]
        if view.row.gate:
            parts.append(self.open(view.row.gate))
        for condition in view.conditions():
            parts.append(Implies(self.read(condition.when), self.open(condition.gate)))
        return conjunction(parts)


def row_obligations(family: Family) -> Iterator[Obligation]:
    """All obligations of one instruction about its rows."""
    symbols = _Symbols(family)
    spelled = [name for name in symbols.fields if name in family.bound]
    pairs = list(combinations(family.rows, 2))
    if pairs:
        yield Obligation(
            "rows.disjoint",
            family.instruction.instruction,
            partial(_overlap, symbols, pairs, spelled),
            lambda _: "two rows share a combination",
        )
    for view in family.rows:
        yield Obligation(
            "rows.alive",
            view.id,
            partial(_alive, symbols, view),
            lambda _: "no combination of the row is ever legal",
            expects="sat",
        )
        for condition in view.conditions():
            if not _concerns(view, condition.when):
                continue
            yield Obligation(
                "gates.satisfiable",
                f"{view.id} {condition.id}",
                partial(_alive, symbols, view, condition.when),
                lambda _: "nothing that the condition holds for is ever legal",
                expects="sat",
            )


def _overlap(symbols: _Symbols, pairs: Iterable[tuple[RowView, RowView]], spelled: Iterable[str]) -> str:
    """Some combination is in both rows of a pair; their fields are alike where a mnemonic spells them."""
    copies = {symbol: BitVec(f"{name} (other)", symbols.width) for name, symbol in symbols.fields.items()}
    alike = conjunction(symbols.fields[name] == copies[symbols.fields[name]] for name in spelled)
    others = {id(view): substitute(symbols.row(view), copies) for view in symbols.family.rows}
    return refuting(alike, Or(*(And(symbols.row(one), others[id(other)]) for one, other in pairs)))


def _alive(symbols: _Symbols, view: RowView, *whens: Formula) -> str:
    """Some combination of a row, for which some conditions hold, is legal on some version and target."""
    conditions = (symbols.read(when) for when in whens)
    return refuting(symbols.row(view), *conditions, symbols.gates(view), symbols.world)


def _concerns(view: RowView, when: Formula) -> bool:
    """Whether a condition holds for some combination of the row at all."""
    return any(view.evaluate(when, fields) for fields in view.combinations())


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for family in specification.families.values():
        instruction = family.instruction
        made = partial(row_obligations, family)
        yield ProofPart(f"instruction {instruction.instruction}", made, instruction.title)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    yield f"instruction {row.family.instruction.instruction}"


GROUP = TheoremGroup(
    30,
    (
        Theorem("rows.disjoint", "no combination of qualifiers is in two rows of an instruction"),
        Theorem("rows.alive", "every row applies on some version and target"),
        Theorem("gates.satisfiable", "every conditional gate opens on some version and target"),
    ),
    _parts,
    _behind,
)
