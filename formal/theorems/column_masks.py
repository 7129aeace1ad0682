"""Theorems about masks of columns: spans follow in turns, and the mask of given runs has these runs.

Spans have 1 to as many columns as their fields can say, so everything asked about is finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...spec.column_masks import field_of_part
from ...spec.descriptor import limit
from ...spec.memory_records import ColumnMask, Descriptor
from ...spec.specification import Specification
from ..smt.integers import Integers
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import And, If, Int, IntVal, Not, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "mask_obligations"]

_LOGIC = "QF_NIA"


class _Integers(Integers):
    """Integers with remainders too."""

    def binary(self, op: str, left: Term, right: Term) -> Term:
        return left % right if op == "%" else super().binary(op, left, right)


def mask_obligations(name: str, descriptor: Descriptor, mask: ColumnMask) -> Iterator[Obligation]:
    """Every obligation about one part of a mask: the parts have the same formulas."""
    most = max(map(int, mask.counts.values))
    zeros, used, column, first, run = (Int(word) for word in ("zeros", "used", "column", "first", "run"))
    any_ = Int("any")
    domain = And(
        *(And(one >= 1, one <= most) for one in (zeros, used)),
        Or(any_ == 0, any_ == 1),
        Or(first == 0, first == 1),
        run >= 1,
        run <= If(first == 1, zeros, used),
        column >= 0,
        column < most,
    )
    words = _Integers({"any": any_, "zeros": zeros, "used": used, "first": first, "run": run})
    made = {field_of_part(pattern, 0): words.read(one.tree) for pattern, one in mask.inverse.items()}
    fields = {key.replace("-", "_"): value for key, value in made.items()}
    start = made[field_of_part(mask.start, 0)]
    known = fields | {"start": start, "first": made[field_of_part(mask.first, 0)]}

    def position(values: dict[str, Term], of: Term) -> Term:
        return _Integers(values | {"column": of}).read(mask.position.tree)

    def said(model: Model) -> str:
        shown = ("any", "zeros", "used", "first", "run", "column")
        return ", ".join(f"{word} = {model.get(word, 0)}" for word in shown)

    ranged = [And(made[key] >= 0, made[key] <= limit(descriptor.fields[key])) for key in made]
    yield Obligation(
        "mask.fits",
        name,
        partial(refuting, domain, Not(And(*ranged)), logic=_LOGIC),
        lambda model: f"no fields say these runs: {said(model)}",
    )
    zeroed = _Integers(known | {"position": position(known, column)}).read(mask.zeroed.tree)
    other = If(first == 1, used, zeros)
    in_other = And(column >= run, column < run + other)
    wanted = And(any_ == 1, If(in_other, first == 0, first == 1))
    yield Obligation(
        "mask.runs",
        name,
        partial(refuting, domain, column < run + zeros + used, zeroed != wanted, logic=_LOGIC),
        lambda model: f"the mask made for these runs has others: {said(model)}",
    )
    anywhere = known | {"start": Int("start")}
    here, behind = position(anywhere, column), position(anywhere, column + 1)
    walks = behind == If(here + 1 == zeros + used, IntVal(0), here + 1)
    top = limit(descriptor.fields[field_of_part(mask.start, 0)])
    yield Obligation(
        "mask.turns",
        name,
        partial(refuting, domain, Int("start") >= 0, Int("start") <= top, Not(walks), logic=_LOGIC),
        lambda model: (
            f"no column of a pair of spans follows another: {said(model)}, start = {model.get('start', 0)}"
        ),
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, descriptor in specification.descriptors.items():
        if descriptor.columns is not None:
            made = partial(mask_obligations, name, descriptor, descriptor.columns)
            yield ProofPart(f"mask {name}", made, f"columns: {descriptor.title}")


GROUP = TheoremGroup(
    53,
    (
        Theorem(
            "mask.fits",
            "the fields of a mask hold every length of its spans and of its first run",
            formula="for zeros, used <= most, run <= the first span: "
            "0 <= field(zeros, used, first, run) <= its limit",
            fails="lengths of runs that some field has no room for",
        ),
        Theorem(
            "mask.runs",
            "the mask of given runs has them: its first run, and a span of each kind behind it",
            formula="for column < run + zeros + used: "
            "zeroed == any and (first != (run <= column < run + other))",
            fails="runs whose mask zeroes another column, or leaves one out",
        ),
        Theorem(
            "mask.turns",
            "columns go through a pair of spans, and then through it again",
            formula="for each column: "
            "position(column + 1) == position(column) + 1, or 0 where that is zeros + used",
            fails="a column that does not follow the one before it",
        ),
    ),
    _parts,
)
