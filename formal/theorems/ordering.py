"""Theorems about the ordering models and rules; ordering/symbolic has the formulas, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...spec.ordering import ordering
from ...spec.specification import Specification
from ..ordering.symbolic.questions import LENGTH, ModelQuestions, ordering_obligations
from ..ordering.symbolic.rule_questions import rule_obligations, strict_obligations
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP"]


def _parts(specification: Specification) -> Iterator[ProofPart]:
    """A part for every reading of the text; readings share the formulas that do not differ."""
    questions = ModelQuestions(LENGTH)
    for name, readings in ordering().every().items():
        made = partial(ordering_obligations, name, readings, LENGTH, questions=questions)
        yield ProofPart(f"ordering {name}", made)
    yield ProofPart("ordering rules", rule_obligations)
    yield ProofPart("ordering strict", strict_obligations)


GROUP = TheoremGroup(
    90,
    (
        Theorem("ordering.agree", "axioms and machine agree on every short program, under every reading"),
        Theorem("ordering.rules", "the rules on values forbid what the axioms forbid, and all are needed"),
        Theorem("ordering.broken", "each rule can be broken; one on the text alone without a changed value"),
        Theorem("ordering.strict", "a hazard under any reading is one under the strict settings"),
    ),
    _parts,
)
