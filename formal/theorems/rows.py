"""Theorems about rows: rows are disjoint, each row can apply, each gate can open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations

from ...spec.expressions import names
from ...spec.nodes import Formula
from ...spec.specification import Specification
from ...spec.variants import Family, RowView
from ..row_symbols import RowSymbols, own_gates
from ..smt.bitvectors import conjunction
from ..smt.obligations import Obligation, refuting
from ..smt.terms import And, BitVec, Or, substitute
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "alive", "row_obligations"]


def row_obligations(family: Family) -> Iterator[Obligation]:
    """All obligations of one instruction about its rows."""
    symbols = RowSymbols(family)
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
            partial(alive, symbols, view),
            lambda _: "no combination of the row is ever legal",
            expects="sat",
        )
        for condition in view.conditions():
            if not _concerns(view, condition.when):
                continue
            yield Obligation(
                "gates.satisfiable",
                f"{view.id} {condition.id}",
                partial(alive, symbols, view, condition.when),
                lambda _: "nothing that the condition holds for is ever legal",
                expects="sat",
            )


def _overlap(symbols: RowSymbols, pairs: Iterable[tuple[RowView, RowView]], spelled: Iterable[str]) -> str:
    """Some combination is in both rows of a pair; their fields are alike where a mnemonic spells them."""
    copies = {symbol: BitVec(f"{name} (other)", symbols.width) for name, symbol in symbols.fields.items()}
    alike = conjunction(symbols.fields[name] == copies[symbols.fields[name]] for name in spelled)
    others = {id(view): substitute(symbols.row(view), copies) for view in symbols.family.rows}
    return refuting(alike, Or(*(And(symbols.row(one), others[id(other)]) for one, other in pairs)))


def alive(symbols: RowSymbols, view: RowView, *whens: Formula) -> str:
    """Some combination of a row, for which some conditions hold, is legal on some version and target.

    It is said of the fields that a rule or a condition reads, and of one target of each kind.
    """
    formulas = [*whens, *filter(None, [view.row.where])]
    read = frozenset().union(*(names(one.tree) for one in (*formulas, *(c.when for c in view.conditions()))))
    fields = frozenset(name.removesuffix("_bits") for name in read)
    targets = _kinds_of_targets(symbols, view)
    return refuting(
        symbols.of_row(view, fields),
        *(symbols.read(formula) for formula in formulas),
        symbols.gates(view, targets),
        symbols.exists_among(targets),
    )


def _kinds_of_targets(symbols: RowSymbols, view: RowView) -> frozenset[str]:
    """One target of each kind on which a row can be legal: those of a kind came with one version, and the
    same conditional gates admit them.
    """
    isa = symbols.isa
    admitted = [isa.admitted(gate) for gate in own_gates(view)]
    conditional = [isa.admitted(condition.gate) for condition in view.conditions()]
    kinds = {
        (target.since, *(name in some for some in conditional)): name
        for name, target in isa.index.targets.items()
        if all(name in some for some in admitted)
    }
    return frozenset(kinds.values())


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
        Theorem(
            "rows.disjoint",
            "no combination of qualifiers is in two rows of an instruction",
            formula="for rows r != s, fields x, y that are spelled alike: not (r(x) and s(y))",
            fails="two rows that share a combination",
        ),
        Theorem(
            "rows.alive",
            "every row applies on some version and target",
            small=True,
            formula="for some fields, version and target: the row, its rule and its gates",
            fails="a row of which nothing is ever legal",
        ),
        Theorem(
            "gates.satisfiable",
            "every conditional gate opens on some version and target",
            small=True,
            formula="for some fields, version and target: the row, the condition's `when`, and the gates",
            fails="a condition under which nothing is ever legal",
        ),
    ),
    _parts,
    _behind,
)
