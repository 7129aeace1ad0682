"""Check the consumers of clauses: each must exist, and reach a row that has the clause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..spec.contract_records import Consumer
from ..spec.errors import SpecError
from ..spec.nodes import nearest
from ..spec.specification import Specification
from ..spec.variants import RowView
from .catalogue import STATEMENTS
from .plans import PLANS, plans

__all__ = ["check_consumers"]


def check_consumers(specification: Specification, tested: Collection[str], checked: Collection[str]) -> None:
    """Raise SpecError, at its place, for a consumer that does not exist or reaches no row with the clause.

    tested: the rules that litmus tests break; checked: those of the checker.
    """
    operands = {name for family in specification.families.values() for name in family.instruction.operands}
    for clause, record in specification.clauses.items():
        for consumer in record.consumers:
            named = (
                consumer.theorem,
                consumer.legality,
                consumer.case,
                consumer.varies,
                consumer.litmus,
                consumer.check,
                consumer.nobody,
            )
            if sum(name is not None for name in named) != 1:
                raise SpecError(
                    f"a consumer of {clause} names not exactly one thing", consumer.place, "{case: sums}"
                )
            _known("theorem", consumer.theorem, STATEMENTS, consumer)
            _known("plan of inputs", consumer.case, PLANS, consumer)
            _known("operand", consumer.varies, operands, consumer)
            _known("litmus test of the rule", consumer.litmus, tested, consumer)
            _known("rule of the checker", consumer.check, checked, consumer)
    reached = _reached(specification)
    for clause, record in specification.clauses.items():
        for consumer in record.consumers:
            name = consumer.case or consumer.varies
            if name and name not in reached.get(clause, ()):
                raise SpecError(
                    f"no row with the clause {clause} has a case of {name}",
                    consumer.place,
                    nearest(name, reached.get(clause, ())),
                )


def _known(kind: str, name: str | None, known: Iterable[str], consumer: Consumer) -> None:
    names = list(known)
    if name is not None and name not in names:
        raise SpecError(f"there is no {kind} {name!r}", consumer.place, nearest(name, names))


def _reached(specification: Specification) -> Mapping[str, set[str]]:
    """For every clause, the plans and the operands of the rows that have it."""
    reached: dict[str, set[str]] = {}
    for family in specification.families.values():
        for view in family.rows:
            if view.row.tolerated:
                continue
            found = _names(specification, view)
            for clause in (*view.row.numerical, *family.instruction.execution):
                reached.setdefault(clause, set()).update(found)
    return reached


def _names(specification: Specification, view: RowView) -> set[str]:
    seen: set[object] = set()
    found: set[str] = set()
    for variant in view.variants():
        fields = tuple(value for name, value in variant.fields.items() if name != "n")
        if fields not in seen:
            seen.add(fields)
            found |= {plan.name for plan in plans(specification, variant)}
    for form in view.row.forms:
        found |= set(view.family.instruction.forms[form].operands)
    return found
