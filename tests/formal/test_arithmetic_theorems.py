"""Theorems about sums: both solvers prove them, and a formula that is wrong refutes each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from ptxmma.formal import sum_errors
from ptxmma.formal.exact_sums import ExactSums, planned_sums
from ptxmma.formal.smt.obligations import Obligation
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.sum_examples import FloatSums
from ptxmma.formal.symbolic_sums import SymbolicSum
from ptxmma.formal.theorems import arithmetic as theorems
from ptxmma.formal.theorems.arithmetic import family_examples, family_parts
from ptxmma.spec import sum_bounds
from ptxmma.spec.api import load
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_records import ArithmeticFile, ArithmeticStage
from ptxmma.spec.expressions import parse
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification
from ptxmma.spec.sum_bounds import SumBound, greatest_loss, sum_bound

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
    ("fit", "total & (1 << d_width) - 1", "total & (1 << d_width - 1) - 1"),
    ("fit", "c_value", "c_value + 1"),
    ("round", "where(minus > plus, minus - plus, plus - minus)", "where(minus > plus, minus, plus)"),
    ("round", "where(minus > plus, 1, 0)", "where(minus > plus, 0, 1)"),
    ("round", "any_negative == 1 and mode == 2", "any_negative == 1 and mode == 1"),
    ("round", "bits(sum) - digits, 0", "bits(sum) - digits + 1, 0"),
    ("round", "sum >> surplus << surplus", "sum >> surplus"),
    ("round", "raised - lowered, 1)", "raised - lowered, 0)"),
    ("round", "total & (1 << shift) - 1", "total & (1 << shift)"),
    ("round", "left <= d_fraction_bits", "left < d_fraction_bits"),
    ("round", "where(shift > 0, 1 << shift - 1, 0)", "where(shift > 1, 1 << shift - 1, 0)"),
    ("round", "whole & 1 == 1", "whole & 1 == 0"),
    ("round", "where(rest > 0, away, 0)", "away"),
    ("round", "mode == 3 and negative == 0", "mode == 3 and negative == 1"),
    ("round", "infinity - where(mode == 0 or away == 1, 0, 1)", "infinity - where(mode == 0, 0, 1)"),
    ("round", "(field - 1 << d_fraction_bits) + whole", "(field << d_fraction_bits) + whole"),
    ("fused", "where(vacant < lower, vacant, lower)", "0"),
    ("fused", "a_significand * b_significand", "a_significand + b_significand"),
    ("fused", "whole_term & (1 << by) - 1 != 0, 1, 0", "whole_term & (1 << by) - 1 != 0, 0, 0"),
    ("fused", "whole_term >> by |", "whole_term >> by +"),
    ("fused", "where(far < word, far, word - 1)", "where(far < word, far, 0)"),
    ("fused", "where(most_places > places, most_places - places, 0) + 3", "where(most_places > places, most_places - places, 0) + 2"),
    ("fused", "where(down > up, down - up, 0)", "where(down > up, down - up - 1, 0)"),
    ("fused", "where(significand == 0, offset // 4, exponent)", "exponent"),
    ("special", "a_nan | b_nan | a_infinite & b_zero | a_zero & b_infinite", "a_nan | b_nan | a_infinite & b_zero"),
    ("special", "(a_infinite | b_infinite) & (nan ^ 1)", "a_infinite | b_infinite"),
    ("special", "infinite & (negative ^ 1)", "infinite & negative"),
    ("special", "any_nan | plus_infinity & minus_infinity", "any_nan"),
    ("special", "infinity | minus_infinity << d_width - 1", "infinity"),
    ("special", "where(magnitude == 0, 0, finite)", "finite"),
    ("special", "stored | 1 << fraction_bits - 1", "stored"),
    ("special", "where(first_nan > 0, first_nan, where(second_nan > 0, second_nan, third_nan))",
     "where(second_nan > 0, second_nan, where(first_nan > 0, first_nan, third_nan))"),
    ("special", "payload == 1 and given_nan > 0", "payload == 1 and third_nan > 0"),
    ("negation", "exponent_bits ^ negated", "exponent_bits"),
    ("negation", "a_negative ^ b_negative", "a_negative | b_negative"),
    ("negation", "where(negative == 1, kept, 0)", "0"),
    ("negation", "| negative << d_width - 1", ""),
    ("signs", "bound - 1 + negative", "bound + negative"),
    ("bound", "exponent < offset - floor, offset - floor, exponent", "exponent < offset - floor, 0, exponent"),
    ("bound", "where(top > exponent, top - exponent, 0)", "where(top > exponent, exponent - top, 0)"),
    ("bound", "(significand << window) >>", "significand >>"),
    ("bound", "where(below < word, below, word - 1)", "where(below < word, below, 0)"),
    ("bound", "a_significand * b_significand", "a_significand * a_significand"),
    ("bound", "a_fraction_bits + b_fraction_bits", "a_fraction_bits + a_fraction_bits"),
    ("bound", "fraction + (1 << fraction_bits)", "fraction + (2 << fraction_bits)"),
    ("bound", "a_exponent + b_exponent - offset", "a_exponent + b_exponent - offset - 200"),
    ("exact", "where(below < word, below, word - 1)", "where(below < word, below + 1, word - 1)"),
    ("exact", "places + where(top > exponent, top - exponent, 0)", "places + where(top > exponent, top - exponent, 1)"),
    ("exact", "top - window", "top - window + 1"),
    ("exact", "whole_term & (1 << by) - 1 != 0", "whole_term & (4 << by) - 1 != 0"),
    ("exact", "where(most_places > places, most_places - places, 0) + 3", "where(most_places > places, most_places - places, 0) + 2"),
    ("exact", "top - most_places - 3", "top - most_places - 2"),
    ("exact", "a_exponent + b_exponent - offset", "a_exponent + b_exponent - offset + 40"),
    ("exact", "where(right < word, right, word - 1)", "where(right < word, right + 1, word - 1)"),
    ("exact", "total & (1 << shift) - 1)", "total & (1 << shift))"),
    ("exact", "sum >> surplus << surplus", "sum >> surplus"),
    ("exact", "where(rest > 0, away, 0)", "away"),
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
    told = {name for name, model in models.items() if model != family.models[name]}
    rows = tuple(row for row in family.rows if not told.isdisjoint(step.model for step in row.steps))
    return replace(family, models=models, rows=rows)


def family_obligations(specification: Specification, family: ArithmeticFile) -> Iterator[Obligation]:
    """Every obligation of a family whose text no earlier one has."""
    seen: set[object] = set()
    for part in family_parts(specification, family):
        for obligation in part.obligations():
            key = obligation.theorem, obligation.text
            if key not in seen:
                seen.add(key)
                yield obligation


def example_faults(specification: Specification, family: ArithmeticFile, theorem: str) -> list[str]:
    """Of which sums an example is missing."""
    examples = [
        one for one in family_examples(specification, family) if one.theorem == f"arithmetic.{theorem}"
    ]
    assert examples
    return [fault for one in examples for fault in one.faults()]


@cache
def right_texts() -> frozenset[str]:
    """What the solvers are asked of the models as they are."""
    (family,) = arithmetic().families
    return frozenset(obligation.smt for obligation in family_obligations(load(), family))


def refuted(obligations: Iterable[Obligation], theorem: str, solver: str = "z3") -> Iterator[str]:
    """What a solver says of the obligations of a theorem that do not hold; it is asked as far as one reads."""
    for obligation in obligations:
        if obligation.theorem == f"arithmetic.{theorem}":
            answer = ask(solver, obligation.smt)
            assert answer.status != "unknown", (obligation.subject, answer.detail)
            if answer.status != obligation.expects:
                yield obligation.explain(answer.model)


def test_every_theorem_has_obligations(specification: Specification) -> None:
    (family,) = arithmetic().families
    made = {obligation.theorem for obligation in family_obligations(specification, family)}
    assert made == {theorem.name for theorem in theorems.GROUP.theorems if not theorem.enumerated}


def test_sums_that_share_a_claim_share_its_text(specification: Specification) -> None:
    """Otherwise a claim about one kind of sums would stand for one about another that was never asked."""
    (family,) = arithmetic().families
    parts = list(family_parts(specification, family))
    together = {(one.theorem, one.subject): one.smt for part in parts for one in part.obligations()}
    alone = {
        (one.theorem, one.subject): one.smt
        for number in range(len(parts))
        for one in list(family_parts(specification, family))[number].obligations()
    }
    assert len(together) > 800 and together == alone


@pytest.mark.parametrize(("theorem", "old", "new"), SPOILT)
def test_a_wrong_formula_is_refuted(specification: Specification, theorem: str, old: str, new: str) -> None:
    (family,) = arithmetic().families
    every = family_obligations(specification, spoilt(family, old, new))
    others = (one for one in every if one.theorem == f"arithmetic.{theorem}" and one.smt not in right_texts())
    said = list(refuted(others, theorem))
    assert said and all(": not for " in words or words.endswith("no example is found") for words in said)


@pytest.mark.parametrize("solver", SOLVERS)
def test_terms_in_another_order(
    specification: Specification, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    """Where the last term counted alone, the order would make a difference."""
    (family,) = arithmetic().families
    assert not any(refuted(family_obligations(specification, family), "order", solver))
    monkeypatch.setattr(theorems, "taken", lambda stage, values: values[-1])
    assert any(refuted(family_obligations(specification, family), "order", solver))


def test_examples_of_what_sums_are_not(specification: Specification) -> None:
    """Worked out by hand: 2^8 - 2^8 + 2^-18 is 2^-18, but a window of 25 places below 2^8 ends at 2^-17. And
    3/2 * 3/2 has the exponent 0, 2 * 9/8 the exponent 1, so that of 2.25 / 2^11 a place fewer is kept."""
    variants = {
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": "split",
        "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3": "factors",
    }
    found = {}
    for mnemonic, theorem in variants.items():
        sums = FloatSums(specification, arithmetic_of(specification.find(mnemonic), "sm_90a"))
        found[theorem] = sums.split() if theorem == "split" else sums.factored()
    one, half = Fraction(1), Fraction(3, 2)
    split, factors = found["split"], found["factors"]
    assert split and split.products == ((-256 * one, one), (one / 2**18, one))
    assert (split.addend, split.one, split.other) == (256 * one, 0 * one, one / 2**18)
    assert factors and factors.products == ((half, half), (-half, half), (2 * one, Fraction(9, 8)))
    assert (factors.addend, factors.one, factors.other) == (one * 9 / 2**13, one * 9 / 2**13, one / 2**10)


def test_where_no_example_is_found(specification: Specification, monkeypatch: pytest.MonkeyPatch) -> None:
    (family,) = arithmetic().families
    monkeypatch.setattr(FloatSums, "_sum", lambda self, products, addend: addend)
    for theorem in ("split", "factors"):
        faults = example_faults(specification, family, theorem)
        assert len(faults) > 5 and all(fault.endswith(": no example is found") for fault in faults)


def wrong_by(units: Fraction | int) -> Callable[..., SumBound | None]:
    """`sum_bound` with so much more for what terms lose, in units of the window's last place."""

    def made(*given: Any) -> SumBound | None:
        bound = sum_bound(*given)
        return bound if bound is None or bound.window is None else replace(bound, cut=bound.cut + units)

    return made


@pytest.mark.parametrize("units", [1, -1, Fraction(1, 1 << 24), Fraction(-1, 1 << 24)])
def test_a_bound_that_is_not_the_least_is_not_reached(
    specification: Specification, monkeypatch: pytest.MonkeyPatch, units: Fraction | int
) -> None:
    """A window's unit more or less, and the last digit of one C more or less."""
    (family,) = arithmetic().families
    monkeypatch.setattr(sum_bounds, "sum_bound", wrong_by(units))
    faults = example_faults(specification, family, "tight")
    assert len([fault for fault in faults if "terms are found to lose" in fault]) == 28
    both = [fault for fault in faults if "units of the last place" in fault]
    assert len(both) == (28 if abs(units) == 1 else 4 if units < 0 else 0)


def test_rounding_reaches_its_part(specification: Specification, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit where half a one is right, and half a one where a unit is."""
    (family,) = arithmetic().families
    assert not example_faults(specification, family, "tight")

    def other(*given: Any) -> SumBound | None:
        bound = sum_bound(*given)
        return None if bound is None else replace(bound, nearest=not bound.nearest)

    monkeypatch.setattr(sum_bounds, "sum_bound", other)
    faults = [one for one in example_faults(specification, family, "tight") if "rounding is found" in one]
    assert len(faults) > 20


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("window", "digits", "holds"), [(25, 64, True), (13, 14, True), (13, 10, False), (9, 64, False)]
)
def test_plans_need_their_places_and_digits(
    specification: Specification, solver: str, window: int, digits: int, holds: bool
) -> None:
    """Plans of 8-bit wgmma fill the 11 digits of f16, which the text guarantees."""
    (family,) = arithmetic().families
    planned = planned_sums(specification, family)
    ((shape, listed),) = (
        (shape, listed)
        for shape, listed in planned.items()
        if shape.factors == ("e4m3", "e4m3") and dict(shape.integers).get("digits") == 14
    )
    integers = {**dict(shape.integers), "window": window, "digits": digits}
    other = replace(shape, integers=tuple(integers.items()))
    answer = ask(solver, ExactSums(SymbolicSum(specification, other)).planned(listed))
    assert answer.status == ("unsat" if holds else "sat")
    assert len(listed) > 4 and all("rounding" not in name for name in listed.values())


def test_a_bound_that_is_too_narrow_is_refuted(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    (family,) = arithmetic().families

    def narrow(*given: Any) -> SumBound | None:
        bound = sum_bound(*given)
        return None if bound is None else replace(bound, nearest=True)

    monkeypatch.setattr(sum_errors, "sum_bound", narrow)
    assert any(refuted(family_obligations(specification, family), "bound"))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_bound_is_the_least_that_is_proven(
    specification: Specification, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    """With a hundred-millionth of the window's unit less, each sum with a window may be beyond it; and a
    product may lose more than the next smaller part."""
    (family,) = arithmetic().families
    monkeypatch.setattr(sum_errors, "sum_bound", wrong_by(Fraction(-1, 10**8)))
    said = list(refuted(family_obligations(specification, family), "bound", solver))
    assert said and all("all terms and the rounding" in words for words in said)
    monkeypatch.undo()
    less = Fraction(1, 1 << 20)
    monkeypatch.setattr(sum_errors, "greatest_loss", lambda forms: greatest_loss(forms) - less)
    again = refuted(family_obligations(specification, family), "bound", solver)
    assert any("what a product loses" in words for words in again)


def test_a_term_that_is_rounded_alone_is_seen(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bf16 were said to hold every product of f16."""
    (family,) = arithmetic().families
    monkeypatch.setattr(sum_errors, "sum_bound", lambda *given: None)
    said = refuted(family_obligations(specification, family), "bound")
    assert any("one term" in words for words in said)
