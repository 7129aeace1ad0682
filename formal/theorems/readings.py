"""Theorems about readings that instructions settle, and about the settings called strict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from ...spec.nodes import Formula
from ...spec.sparsity_records import Sparsity
from ...spec.specification import METADATA_ORDER, Specification
from ...spec.switches import Switch
from ...spec.variants import Family, RowView
from ..row_symbols import RowSymbols
from ..smt.bitvectors import BitVectors, width_for
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import ULT, And, BitVec, Not, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "settled_obligations", "strict_obligations"]


def settled_obligations(family: Family) -> Iterator[Obligation]:
    """For each question that an instruction settles: each combination of its rows has exactly one answer."""
    symbols = RowSymbols(family)
    for name, settings in family.instruction.readings.items():
        yield Obligation(
            "readings.settled",
            f"{family.instruction.instruction} {name}",
            partial(_not_one, symbols, settings),
            partial(_unsettled, symbols, name, settings),
        )


def _not_one(symbols: RowSymbols, settings: Mapping[str, Formula]) -> str:
    holding = [symbols.read(when) for when in settings.values()]
    two = Or(*(And(one, other) for n, one in enumerate(holding) for other in holding[:n]))
    rows = Or(*(symbols.row(view) for view in symbols.family.rows))
    return refuting(rows, Or(two, Not(Or(*holding))))


def _unsettled(symbols: RowSymbols, name: str, settings: Mapping[str, Formula], model: Model) -> str:
    words = {code: word for word, code in symbols.codes.items()}
    values = {field: model.get(str(symbol), 0) for field, symbol in symbols.fields.items()}
    fields: dict[str, str | int] = {field: words.get(value, value) for field, value in values.items()}
    view = symbols.family.rows[0]
    holding = [setting for setting, when in settings.items() if view.evaluate(when, fields)]
    said = " and ".join(holding) + " both hold" if holding else "no setting holds"
    shown = ", ".join(
        f"{field} = {value}" for field, value in fields.items() if field in symbols.family.bound
    )
    return f"{next(iter(settings.values())).place}: {name}: {said} for {shown}"


def strict_obligations(name: str, sparsity: Sparsity, order: Switch) -> Iterator[Obligation]:
    """Every metadata code that the strict setting allows is one that each setting allows."""
    bounds = {"code": (0, (1 << sparsity.code_bits) - 1)}
    width = max(width_for([f.tree for f in sparsity.valid.values()], bounds), sparsity.code_bits + 1)
    code = BitVec("code", width)

    def valid(setting: str) -> Term:
        return BitVectors(width, {"code": code}).read(sparsity.valid[setting].tree)

    for setting in order.settings:
        if setting != order.strict:
            yield Obligation(
                "readings.strict",
                f"{name} {setting}",
                refuting(ULT(code, 1 << sparsity.code_bits), valid(order.strict), Not(valid(setting))),
                partial(_not_strict, name, sparsity, order, setting),
            )


def _not_strict(name: str, sparsity: Sparsity, order: Switch, setting: str, model: Model) -> str:
    code = f"0b{model.get('code', 0):0{sparsity.code_bits}b}"
    return (
        f"{order.place}: {METADATA_ORDER}: {order.strict} is called strict, but of {name} it allows {code}, "
        f"and {setting} does not"
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, family in specification.families.items():
        if family.instruction.readings:
            yield ProofPart(f"instruction {name}", partial(settled_obligations, family))
    order = specification.switches[METADATA_ORDER]
    for name, sparsity in specification.sparsities.items():
        made = partial(strict_obligations, name, sparsity, order)
        yield ProofPart(f"sparsity {name}", made, sparsity.title)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    yield f"instruction {row.family.instruction.instruction}"
    if row.row.sparsity:
        yield f"sparsity {row.row.sparsity}"


GROUP = TheoremGroup(
    45,
    (
        Theorem(
            "readings.settled",
            "where an instruction settles a reading, each variant has exactly one",
            formula="for all fields of a row: exactly one setting's condition holds",
            fails="a combination for which no setting holds, or two do",
        ),
        Theorem(
            "readings.strict",
            "the metadata codes of the strict reading are valid under every reading",
            formula="for each code, each setting s: valid[strict](code) implies valid[s](code)",
            fails="a code that the strict setting allows and another does not",
        ),
    ),
    _parts,
    _behind,
)
