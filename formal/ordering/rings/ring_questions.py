"""What a solver is asked about rings: can the induction fail? And, of each slip: does it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from ...smt.obligations import Model, Obligation, refuting
from ...smt.terms import And, Implies, Int, Not, Or, Term
from . import barrier_counts
from .barrier_counts import MachineCounts, count_questions
from .ring import (
    ARRIVALS_FIT,
    AT_START,
    CONSUMER_MOVES,
    COPY_MOVES,
    GOES_ON,
    OWN_PHASE,
    PRODUCER_MOVES,
    READS_COPY,
    RIGHT,
    SLIPS,
    Ring,
)
from .ring_history import HISTORY_QUESTIONS
from .ring_invariant import invariant, reads_what_was_copied, released
from .ring_machine import (
    BEGINS,
    FILLED,
    FILLS,
    RELEASED,
    WAITS,
    Move,
    RingSize,
    RingState,
    consumer_moves,
    copy_moves,
    goes_on,
    is_first,
    passes_empty,
    passes_full,
    producer_moves,
    symbolic_size,
    symbolic_state,
)

__all__ = ["STATE_QUESTIONS", "ring_obligations"]

_PLACE = "formal/ordering/rings"


def _at_start(ring: Ring) -> Term:
    size, s = symbolic_size(), symbolic_state()
    return And(
        size.holds,
        size.consumers + ring.count_of_empty >= 1,
        is_first(s, size, ring),
        Not(invariant(s, size)),
    )


def _kept(moves: Callable[[RingState, RingSize, Ring], Mapping[str, Move]], ring: Ring) -> Term:
    size, s = symbolic_size(), symbolic_state()
    broken = [And(can, Not(invariant(after, size))) for can, after in moves(s, size, ring).values()]
    return And(size.holds, invariant(s, size), Or(*broken))


def _follows(claim: Callable[[RingState, RingSize, Ring], Term], ring: Ring) -> Term:
    """The invariant holds, and a claim does not."""
    size, s = symbolic_size(), symbolic_state()
    return And(size.holds, invariant(s, size), Not(claim(s, size, ring)))


def _own_phases(s: RingState, size: RingSize, ring: Ring) -> Term:
    filling = producer_moves(s, size, ring)[FILLS][0]
    reading = consumer_moves(s, size, ring)[BEGINS][0]
    return And(
        Implies(filling, s.empty.phase == s.producer.at.round),
        Implies(reading, s.full.phase == s.consumers[0].at.round + 1),
    )


def _arrivals_fit(s: RingState, size: RingSize, ring: Ring) -> Term:
    filled = producer_moves(s, size, ring)[FILLED][0]
    released = consumer_moves(s, size, ring)[RELEASED][0]
    return And(Implies(filled, s.full.pending >= size.count_of_full), Implies(released, s.empty.pending >= 1))


def _stuck(ring: Ring) -> Term:
    """Nobody can go on, and somebody has to: the invariant holds at the producer's stage and at a consumer's.

    Where the producer waits, some consumer has not released its stage: that one is looked at.
    """
    size, s = symbolic_size(), symbolic_state()
    one = s.consumers[0]
    there = replace(size, stage=Int("there.stage"))
    at_other = replace(
        s,
        full=MachineCounts(*(Int(f"there.full.{field}") for field in ("phase", "pending", "lacking"))),
        empty=MachineCounts(*(Int(f"there.empty.{field}") for field in ("phase", "pending", "lacking"))),
        flying=Int("there.flying"),
        released=Int("there.released"),
    )
    producer_waits = And(
        goes_on(s.producer.at, size),
        s.producer.at.stage == size.stage,
        Not(passes_empty(s, ring)),
        Not(released(one, s, size)),
    )
    consumer_waits = And(
        goes_on(one.at, size),
        one.at.stage == there.stage,
        one.next == WAITS,
        Not(passes_full(at_other, ring)),
    )
    producer_ended, consumer_ended = Not(goes_on(s.producer.at, size)), Not(goes_on(one.at, size))
    return And(
        size.holds,
        there.holds,
        invariant(s, size),
        invariant(at_other, there),
        Not(s.producer.fills),
        at_other.flying == 0,
        Or(producer_waits, producer_ended),
        Or(consumer_waits, consumer_ended),
        Not(And(producer_ended, consumer_ended)),
    )


# By claim about the states of a ring, a counterexample.
STATE_QUESTIONS: Mapping[str, Callable[[Ring], Term]] = {
    AT_START: _at_start,
    PRODUCER_MOVES: partial(_kept, producer_moves),
    CONSUMER_MOVES: partial(_kept, consumer_moves),
    COPY_MOVES: partial(_kept, copy_moves),
    OWN_PHASE: partial(_follows, _own_phases),
    ARRIVALS_FIT: partial(_follows, _arrivals_fit),
    READS_COPY: partial(_follows, lambda s, size, _: reads_what_was_copied(s, size)),
    GOES_ON: _stuck,
}


def ring_obligations() -> Iterator[Obligation]:
    """The claims about one mbarrier and about rings, and that each slip breaks one in both models."""
    for claim, question in count_questions().items():
        yield _claimed("ordering.counts", f"an mbarrier: {claim}", partial(_text, question))
    for model, questions in (("machine", STATE_QUESTIONS), ("axioms", HISTORY_QUESTIONS)):
        for claim, asked in questions.items():
            yield _claimed("ordering.rings", f"{model}: {claim}", partial(_text, asked, RIGHT))
    for name, broken in barrier_counts.SLIPS.items():
        yield _slipped(f"an mbarrier: {name}: not so: {broken}", partial(_count_question, broken, name))
    for name, slip in SLIPS.items():
        for model, questions, claim in (
            ("machine", STATE_QUESTIONS, slip.of_states),
            ("axioms", HISTORY_QUESTIONS, slip.of_histories),
        ):
            text = partial(_text, questions[claim], slip.ring)
            yield _slipped(f"{model}: {name}: not so: {claim}", text)


def _text(question: Callable[..., Term] | Term, *ring: Ring) -> str:
    return refuting(question if isinstance(question, Term) else question(*ring), logic="QF_LIA")


def _count_question(claim: str, slip: str) -> str:
    return _text(count_questions(slip)[claim])


def _claimed(theorem: str, subject: str, text: Callable[[], str]) -> Obligation:
    def explain(model: Model) -> str:
        shown = ", ".join(f"{name} = {value}" for name, value in sorted(model.items()))
        return f"{_PLACE}: {subject}: not so where {shown}"

    return Obligation(theorem, subject, text, explain)


def _slipped(subject: str, text: Callable[[], str]) -> Obligation:
    def explain(_: Model) -> str:
        return f"{_PLACE}: {subject}: yet the claim holds; so the proof would not notice the slip"

    return Obligation("ordering.slips", subject, text, explain, expects="sat")
