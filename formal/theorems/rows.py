"""Theorems about rows: rows are disjoint, each row can apply, each gate can open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations

from ...spec.nodes import Formula
from ...spec.specification import Specification
from ...spec.variants import Family, RowView
from ..row_symbols import RowSymbols
from ..smt.bitvectors import conjunction
from ..smt.obligations import Obligation, refuting
from ..smt.terms import And, BitVec, Or, substitute
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "row_obligations"]


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


def _overlap(symbols: RowSymbols, pairs: Iterable[tuple[RowView, RowView]], spelled: Iterable[str]) -> str:
    """Some combination is in both rows of a pair; their fields are alike where a mnemonic spells them."""
    copies = {symbol: BitVec(f"{name} (other)", symbols.width) for name, symbol in symbols.fields.items()}
    alike = conjunction(symbols.fields[name] == copies[symbols.fields[name]] for name in spelled)
    others = {id(view): substitute(symbols.row(view), copies) for view in symbols.family.rows}
    return refuting(alike, Or(*(And(symbols.row(one), others[id(other)]) for one, other in pairs)))


def _alive(symbols: RowSymbols, view: RowView, *whens: Formula) -> str:
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
