"""An instruction's fields, the PTX ISA version and the target as bit-vectors; rows and gates over them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby

from ..spec.errors import SpecError
from ..spec.expressions import names
from ..spec.model import Gate
from ..spec.nodes import Formula, Version
from ..spec.variants import Family, RowView, as_name
from .smt.bitvectors import BitVectors, conjunction, width_for
from .smt.terms import UGE, ULE, ULT, And, BitVec, BitVecVal, BoolVal, If, Implies, Or, Term

__all__ = ["RowSymbols", "one_of", "own_gates"]


def one_of(symbol: Term, values: Iterable[int]) -> Term:
    """The symbol has one of some values; values in a row are one range."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(values))), lambda pair: pair[1] - pair[0]):
        run = [value for _, value in group]
        some = [symbol == value for value in run]
        parts += some if len(run) < 3 else [And(UGE(symbol, run[0]), ULE(symbol, run[-1]))]
    return Or(*parts)


def own_gates(view: RowView) -> tuple[Gate, ...]:
    """The gates of a row that no condition stands before: its instruction's, and its own."""
    gate = view.family.instruction.gate
    return (gate, view.row.gate) if view.row.gate else (gate,)


class RowSymbols:
    """An instruction's fields as bit-vectors: integers as they are, words by numbers above all integers.

    They are of `least` bits or more.
    """

    def __init__(self, family: Family, least: int = 1) -> None:
        self.family = family
        self.isa = family.isa
        values = {value for view in family.rows for domain in view.domains.values() for value in domain}
        highest = max((value for value in values if isinstance(value, int)), default=0)
        words = sorted({as_name(value) for value in values if isinstance(value, str)})
        self.codes = {word: highest + 1 + number for number, word in enumerate(words)}
        self.width = max(least, self._width(highest + len(words)))
        fields = sorted({name for view in family.rows for name in view.domains})
        self.fields = {name: BitVec(name, self.width) for name in fields}
        self.versions = sorted(self.isa.versions)
        self.version = BitVec("version number", (len(self.versions) + 1).bit_length())
        self.target = BitVec("target number", len(self.isa.index.targets).bit_length())
        self._rows: dict[int, Term] = {}
        self._opens: dict[tuple[Gate, frozenset[str] | None], Term] = {}
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
        return width

    def number(self, version: Version) -> int:
        """How many versions there are before a version; the numbers of versions are 0, 1, …"""
        return bisect_left(self.versions, version)

    def code(self, value: str | int) -> int:
        return value if isinstance(value, int) else self.codes[as_name(value)]

    def read(self, formula: Formula, also: Mapping[str, Term] | None = None) -> Term:
        """A formula over the fields; `also` are further names in it, with what they stand for."""
        if also:
            return self._read(formula, also)
        if formula.text not in self._reads:
            self._reads[formula.text] = self._read(formula, {})
        return self._reads[formula.text]

    def _read(self, formula: Formula, also: Mapping[str, Term]) -> Term:
        variables: dict[str, Term] = {**also}
        for name in names(formula.tree) - also.keys():
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

    def of_row(self, view: RowView, read: frozenset[str]) -> Term:
        """Some fields, by name, have values of the row, and the other fields have any at all."""
        if not all(view.domains.values()):
            return BoolVal(False)
        return conjunction(
            one_of(self.fields[name], [self.code(value) for value in values])
            for name, values in view.domains.items()
            if name in read
        )

    def row(self, view: RowView) -> Term:
        """The combination of field values is one of the row's."""
        if id(view) not in self._rows:
            self._rows[id(view)] = self._row(view)
        return self._rows[id(view)]

    def _row(self, view: RowView) -> Term:
        own = self.of_row(view, frozenset(view.domains))
        return And(own, self.read(view.row.where)) if view.row.where else own

    def open(self, gate: Gate, among: frozenset[str] | None = None) -> Term:
        """The gate is open for the version and the target; `among` are the targets that count, if not all."""
        key = gate, among
        if key not in self._opens:
            self._opens[key] = self._open(gate, among)
        return self._opens[key]

    def _open(self, gate: Gate, among: frozenset[str] | None) -> Term:
        parts = [UGE(self.version, self.number(gate.since))]
        if gate.removed:
            parts.append(ULT(self.version, self.number(gate.removed)))
        admitted = self.isa.admitted(gate)
        if among is not None:
            admitted = among.intersection(admitted)
        parts.append(one_of(self.target, [self._targets[name] for name in admitted]))
        return conjunction(parts)

    @cached_property
    def _targets(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.isa.index.targets)}

    def exists_among(self, some: frozenset[str]) -> Term:
        """The version is one of specs.yaml and has the target, which is one of some."""
        since = [
            (self._targets[name], one.since) for name, one in self.isa.index.targets.items() if name in some
        ]
        parts = (And(self.target == number, UGE(self.version, self.number(v))) for number, v in since)
        return And(ULT(self.version, len(self.versions)), Or(*parts))

    @cached_property
    def known(self) -> Term:
        """The version and the target are ones of specs.yaml."""
        return And(ULT(self.version, len(self.versions)), ULT(self.target, len(self.isa.index.targets)))

    @cached_property
    def exists(self) -> Term:
        """The version has the target."""
        since: dict[Version, list[int]] = {}
        for number, target in enumerate(self.isa.index.targets.values()):
            since.setdefault(target.since, []).append(number)
        return Or(*(And(UGE(self.version, self.number(v)), one_of(self.target, t)) for v, t in since.items()))

    def gates(self, view: RowView, among: frozenset[str] | None = None) -> Term:
        """All gates of the row are open; `among` are the targets that count, if not all."""
        parts = [self.open(gate, among) for gate in own_gates(view)]
        for condition in view.conditions():
            parts.append(Implies(self.read(condition.when), self.open(condition.gate, among)))
        return conjunction(parts)
