"""The theorem about the two ordering models; ordering/symbolic has its formulas, and says what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...spec.ordering import ordering
from ...spec.specification import Specification
from ..ordering.symbolic.questions import LENGTH, ModelQuestions, ordering_obligations
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP"]


def _parts(specification: Specification) -> Iterator[ProofPart]:
    """A part for every reading of the text; readings share the formulas that do not differ."""
    questions = ModelQuestions(LENGTH)
    for name, readings in ordering().every().items():
        made = partial(ordering_obligations, name, readings, LENGTH, questions=questions)
        yield ProofPart(f"ordering {name}", made)


GROUP = TheoremGroup(
    90,
    (Theorem("ordering.agree", "axioms and machine agree on every short program, under every reading"),),
    _parts,
)
