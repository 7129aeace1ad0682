"""Theorems about the ordering models and rules; ordering/symbolic has the formulas, and what they mean.

That the models of phases agree on any program is enumerated: ordering/phases has both, and the programs.
What both say of one mbarrier, and of rings of stages, is proven: ordering/rings has the formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from ...spec.ordering import ordering
from ...spec.specification import Specification
from ..ordering.phases.phase_agreement import phase_disagreement
from ..ordering.phases.phase_enumeration import slipped_programs, small_programs
from ..ordering.rings.ring_questions import ring_obligations
from ..ordering.symbolic.questions import LENGTH, ModelQuestions, ordering_obligations
from ..ordering.symbolic.rule_questions import rule_obligations, strict_obligations
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP"]

_PHASE_STEPS = 2  # of every program that the models of phases are compared on; `ptxmma ordering` goes further


def _parts(specification: Specification) -> Iterator[ProofPart]:
    """A part for every reading of the text; readings share the formulas that do not differ."""
    questions = ModelQuestions(LENGTH)
    for name, readings in ordering().every().items():
        made = partial(ordering_obligations, name, readings, LENGTH, questions=questions)
        yield ProofPart(f"ordering {name}", made)
    yield ProofPart("ordering rules", rule_obligations)
    yield ProofPart("ordering strict", strict_obligations)
    yield ProofPart("ordering rings", ring_obligations)


def _phase_faults() -> Iterator[str]:
    """Programs on which the models of phases do not agree."""
    small = (program for steps in range(1, _PHASE_STEPS + 1) for program in small_programs(steps))
    for program in itertools.chain(small, slipped_programs()):
        fault = phase_disagreement(program)
        if fault is not None:
            yield fault


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    subject = f"programs of at most {_PHASE_STEPS} steps, and protocols with a slip"
    yield Enumeration("ordering.phases", subject, "ordering phases", _phase_faults)


GROUP = TheoremGroup(
    90,
    (
        Theorem(
            "ordering.agree",
            "axioms and machine agree on every short program, under every reading",
            formula="for each program whose first step has no earlier hazard: "
            "hazard(last) == overtaken(first, last)",
            fails="a program about which axioms and machine disagree",
        ),
        Theorem(
            "ordering.rules",
            "the rules on values forbid what the axioms forbid, and all are needed",
            formula="for each program: hazard(first, last) == some rule on values is broken by (first, last)",
            fails="a hazard that breaks no rule, or a broken rule without a hazard",
        ),
        Theorem(
            "ordering.broken",
            "each rule can be broken; one on the text alone without a changed value",
            formula="for each rule: some program breaks it (on the text alone: and has no hazard)",
            fails="a rule that no program breaks, or one on the text alone that changes values",
        ),
        Theorem(
            "ordering.strict",
            "a hazard under any reading is one under the strict settings",
            formula="for each program, reading r: "
            "a rule is broken under r only if one is under the strict settings",
            fails="a program with a hazard under some reading and none under the strict settings",
        ),
        Theorem(
            "ordering.counts",
            "machine and axioms say the same of one mbarrier of any count, whatever is done to it",
            formula="for each step, before and after it: phase == ended; pending + arrived == count; "
            "lacking == sum",
            fails="a step after which machine and axioms say different things of an mbarrier",
        ),
        Theorem(
            "ordering.rings",
            "both let no round of a ring of stages meet another, for any stages, consumers, bytes and rounds",
            formula="for each round n, by induction: "
            "its waits end in phase n, its reads see its copy, some thread moves",
            fails="a move or a history in which two rounds meet, or in which nobody can go on",
        ),
        Theorem(
            "ordering.slips",
            "with a count, a parity or a step of a ring that is wrong, they do not",
            formula="for each slip of a count, a parity or a step: some state or history breaks its claim",
            fails="a slip that the proof would not notice",
        ),
        Theorem(
            "ordering.phases",
            "axioms and machine agree about barriers with phases, on short programs and slips of protocols",
            enumerated=True,
            formula="for each program: stuck, overrun, early by the axioms == in the machine; "
            "else race == results > 1",
            fails="a program about which the two models of phases disagree",
        ),
    ),
    _parts,
    enumerations=_enumerations,
)
