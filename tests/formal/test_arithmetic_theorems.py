"""Theorems about sums: both solvers prove them, and a formula that is wrong refutes each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptxmma.formal.smt.obligations import Obligation
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.theorems import arithmetic as theorems
from ptxmma.formal.theorems.arithmetic import family_obligations
from ptxmma.spec.arithmetic import arithmetic
from ptxmma.spec.arithmetic_records import ArithmeticFile, ArithmeticStage
from ptxmma.spec.expressions import parse
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification

# A theorem, text of formulas of the models, and text in its place that refutes the theorem.
SPOILT = [
    ("decode", "where(field == 0, 1, field)", "field"),
    ("decode", "infinities == 1 and fraction != 0 or", "fraction != 0 or"),
    ("decode", "fraction << shift", "fraction"),
    ("decode", "- bias - shift", "+ 1 - bias - shift"),
    ("integers", "where(negative == 1, (1 << width) - code, code)", "code"),
    ("integers", "a_magnitude * b_magnitude", "a_magnitude * a_magnitude"),
    ("exchange", "a_exponent + b_exponent - offset", "a_exponent + a_exponent - offset"),
    ("exchange", "a_nan | b_nan | a_infinite & b_zero | a_zero & b_infinite", "a_nan | b_nan | a_infinite & b_zero"),
    ("zero", "significand == 0 or exponent < offset - floor", "exponent < offset - floor"),
    ("zero", "where(negative == 1, 0, kept)", "where(negative == 1, 1, kept)"),
    ("fit", "total >= bound + negative", "total > bound + negative"),
    ("fit", "bound - 1 + negative", "bound - negative"),
    ("fit", "(1 << 60) - total", "(1 << 60) - 1 - total"),
]  # fmt: skip


def spoilt(family: ArithmeticFile, old: str, new: str) -> ArithmeticFile:
    """The family with other text in its models' formulas."""
    changed = []

    def formula(known: Formula) -> Formula:
        if old not in known.text:
            return known
        changed.append(known)
        text = known.text.replace(old, new)
        return replace(known, text=text, tree=parse(text))

    def stage(known: ArithmeticStage) -> ArithmeticStage:
        return replace(known, let={name: formula(each) for name, each in known.let.items()})

    models = {
        name: replace(model, stages=tuple(map(stage, model.stages))) for name, model in family.models.items()
    }
    assert changed
    return replace(family, models=models)


def refuted(obligations: list[Obligation], theorem: str, solver: str = "z3") -> list[str]:
    """What a solver says of the obligations of a theorem that do not hold."""
    found = []
    for obligation in obligations:
        if obligation.theorem == f"arithmetic.{theorem}":
            answer = ask(solver, obligation.smt)
            assert answer.status != "unknown", (obligation.subject, answer.detail)
            if answer.status == "sat":
                found.append(obligation.explain(answer.model))
    return found


def test_every_theorem_has_obligations(specification: Specification) -> None:
    (family,) = arithmetic().families
    made = {obligation.theorem for obligation in family_obligations(specification, family)}
    assert made == {theorem.name for theorem in theorems.GROUP.theorems}


@pytest.mark.parametrize(("theorem", "old", "new"), SPOILT)
def test_a_wrong_formula_is_refuted(specification: Specification, theorem: str, old: str, new: str) -> None:
    (family,) = arithmetic().families
    said = refuted(list(family_obligations(specification, spoilt(family, old, new))), theorem)
    assert said and all(": not for " in words for words in said)


@pytest.mark.parametrize("solver", SOLVERS)
def test_terms_in_another_order(
    specification: Specification, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    """Where the last term counted alone, the order would make a difference."""
    (family,) = arithmetic().families
    assert not refuted(list(family_obligations(specification, family)), "order", solver)
    monkeypatch.setattr(theorems, "taken", lambda stage, values: values[-1])
    assert refuted(list(family_obligations(specification, family)), "order", solver)
