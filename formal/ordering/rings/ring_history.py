"""The ring as the axioms see it: which phase each arrival is in, and behind which phase each wait comes.

All rounds before some round n are taken to be in their own phases, and so is then round n: by induction every
history of a ring has round n in phase n. Each claim is about a handful of moments, each a number in one order
of time that has all that comes before something before it. A phase that ends has a member; a member comes
before the end of its phase, and behind the ends of the phases before. There is no state and no schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...smt.terms import And, Bool, If, Implies, Int, IntVal, Not, Or, Term
from .ring import (
    EMPTY_PHASE,
    EMPTY_WAIT,
    FULL_PHASE,
    FULL_WAIT,
    GOES_ON,
    PHASE_ENDS,
    READ_BETWEEN,
    RELEASES_ONCE,
    Position,
    Ring,
    parity,
)

__all__ = ["HISTORY_QUESTIONS"]


class _Round:
    """Round n of a ring, its moments, and the numbers of the phases behind which its waits come."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.n = Int("n")
        self.count_of_full, self.consumers, self.bytes = map(Int, ("full.count", "consumers", "copy.bytes"))
        self.count_of_empty = self.consumers + ring.count_of_empty
        self.empty = Int("empty.phase"), Int("empty.phase.next")  # behind which the producer's waits come
        self.full = Int("full.phase"), Int("full.phase.next")
        self.fills = Int("t.fill"), Int("t.fill.next")  # the ends of the producer's waits
        self.begins = Int("t.begin"), Int("t.begin.next")  # the ends of a consumer's waits
        self.end_of_empty = (
            Int("t.empty.before"),
            Int("t.empty"),
            Int("t.empty.next"),
        )  # of phases n-1, n, n+1
        self.end_of_full = Int("t.full.before"), Int("t.full"), Int("t.full.next")
        self.follows = And(
            self.n >= 0,
            self.consumers >= 1,
            self.bytes >= 1,
            self.count_of_full >= 1,
            *(
                And(times[0] < times[1], times[1] < times[2])
                for times in (self.end_of_empty, self.end_of_full)
            ),
            self.fills[0] < self.fills[1],
            self.begins[0] < self.begins[1],
            *self._waits(ring.waits_for_empty, self.empty, self.fills, self.end_of_empty, self.n - 1),
            *self._waits(ring.waits_for_full, self.full, self.begins, self.end_of_full, self.n),
        )

    def _waits(
        self,
        waits: bool,
        phases: tuple[Term, Term],
        ends: tuple[Term, Term],
        of: tuple[Term, Term, Term],
        before: Term,
    ) -> list[Term]:
        """Both waits of a thread: a phase of their parity is over, none before that of the wait before."""
        if not waits:
            return []
        is_full = phases is self.full
        first, turns = (
            (self.ring.full_parity, self.ring.full_turns)
            if is_full
            else (self.ring.empty_parity, self.ring.empty_turns)
        )
        said = [phases[0] >= If(self.n == 0, 0, before), phases[1] >= phases[0]]
        for number, (phase, end) in enumerate(zip(phases, ends, strict=True)):
            said.append(may_pass(phase, parity(self.n + number, first, turns)))
            said += [Implies(phase >= self.n + past, of[past] < end) for past in range(3)]
        return said

    def filled_by_a_later_round(self, member: Term, phase: int) -> Term:
        """A member of `full` of round n + 1 or later, at a moment, in phase n or n + 1."""
        return And(self.fills[1] < member, member < self.end_of_full[1 + phase])

    def released_by(self, release: Term, begin: Term, phase: int) -> Term:
        """A consumer's arrival, behind a wait, in phase n or n + 1 of `empty`."""
        return And(begin < release, release < self.end_of_empty[1 + phase])

    def has_members(self, filled: Term, released: Term) -> Term:
        """The phases n that end have members: of round n or later, as earlier rounds are elsewhere."""
        return And(
            self.fills[0] < filled,
            filled < self.end_of_full[1],
            self.begins[0] < released,
            released < self.end_of_empty[1],
        )


def may_pass(phase: Term, named: Term) -> Term:
    """A wait for a parity may come while a phase is the current one."""
    return (phase - 1) % 2 == named


def _empty_wait(ring: Ring) -> Term:
    """If it came behind phase n, this phase had a release behind a fill behind the wait."""
    r = _Round(ring)
    return And(r.follows, r.has_members(Int("t.filled"), Int("t.released")), r.empty[0] != r.n)


def _full_phase(ring: Ring) -> Term:
    """Phase n of `full`, once over, has the arrival, the expectation and all bytes of round n, no others.

    A later round's member would be behind the wait for phase n of `empty`, which a release ends that is
    behind phase n of `full`. No member comes earlier, into a phase before: those are over.
    """
    r = _Round(ring)
    later, arrived, expected = (Bool(f"{word}.in_phase") for word in ("later", "arrived", "expected"))
    landed, at = Int("landed.in_phase"), Int("t.later")
    early, read = Int("t.member"), Int("t.release.before")
    sums = And(
        If(arrived, r.count_of_full, 0) == r.count_of_full,
        If(expected, r.bytes - ring.unexpected, 0) == landed,
        landed >= 0,
        landed <= r.bytes,
    )
    order = Implies(arrived, expected) if ring.expects_first else Implies(expected, arrived)
    whole = And(arrived, expected, landed == r.bytes)
    phase = And(
        If(later, r.filled_by_a_later_round(at, 0), sums),
        order,
        Or(later, Not(whole)),
        r.has_members(Int("t.filled"), Int("t.released")),
    )
    # Round n - 1: its releases end phase n - 1 of `empty`, behind the ends of phase n - 1 of `full`.
    before = And(r.end_of_full[0] < read, read < r.end_of_empty[0])
    too_early = And(r.n >= 1, before, r.fills[0] < early, early < r.end_of_full[0])
    behind = r.empty[0] == r.n
    return And(r.follows, behind, Or(phase, too_early))


def _full_wait(ring: Ring) -> Term:
    """If it came behind phase n + 1, all had released the stage in round n before it, this consumer too."""
    r = _Round(ring)
    next_member, release, others = Int("t.next"), Int("t.own"), Int("others.in_phase")
    ended = r.full[0] > r.n + 1
    own = Bool("own.in_phase")
    return And(
        r.follows,
        Implies(ended, r.filled_by_a_later_round(next_member, 1)),
        If(own, 1, IntVal(0)) + others == r.count_of_empty,
        others >= 0,
        others <= r.consumers - 1,
        Implies(own, r.released_by(release, r.begins[0], 0)),
        r.full[0] != r.n + 1,
    )


def _once(ring: Ring) -> Term:
    """A consumer's next arrival is behind phase n + 1 of `full`, and so not in phase n of `empty`."""
    r = _Round(ring)
    release, member = Int("t.release.next"), Int("t.next")
    return And(
        r.follows,
        r.released_by(release, r.begins[1], 0),
        r.filled_by_a_later_round(member, 1),
    )


def _empty_phase(ring: Ring) -> Term:
    """Phase n of `empty`, once over, has an arrival of every consumer; before it, one is pending for each."""
    r = _Round(ring)
    own, others = Bool("own.in_phase"), Int("others.in_phase")
    bounds = And(others >= 0, others <= r.consumers - 1)
    ended = And(If(own, 1, IntVal(0)) + others == r.count_of_empty, Not(own))
    too_many = And(Not(own), r.count_of_empty - others < 1)
    return And(r.follows, bounds, Or(ended, too_many))


def _ordered(ring: Ring) -> Term:
    """Each step of the chain from a copy to the next is one that threads may rely on."""
    r = _Round(ring)
    copy, read, release, following = map(Int, ("t.copy", "t.read", "t.release", "t.copy.next"))
    in_thread = (
        And(r.begins[0] < read, read < release)
        if ring.reads_first
        else And(r.begins[0] < release, release < read)
    )
    edges = [copy < r.end_of_full[1], in_thread, release < r.end_of_empty[1], r.fills[1] < following]
    if ring.waits_for_full:
        edges.append(r.end_of_full[1] < r.begins[0])
    if ring.waits_for_empty:
        edges.append(r.end_of_empty[1] < r.fills[1])
    return And(*edges, Not(And(copy < read, read < following)))


def _ends(ring: Ring) -> Term:
    """The members of a round are what a phase lacks; and behind it the waits of that round may end."""
    r = _Round(ring)
    full = (r.bytes - ring.unexpected) - r.bytes == 0
    empty = r.consumers == r.count_of_empty
    passing = []
    if ring.waits_for_empty:
        passing.append(may_pass(r.n, parity(r.n, ring.empty_parity, ring.empty_turns)))
    if ring.waits_for_full:
        passing.append(may_pass(r.n + 1, parity(r.n, ring.full_parity, ring.full_turns)))
    return And(r.n >= 0, r.consumers >= 1, r.bytes >= 1, Not(And(full, empty, *passing)))


def _goes_on(ring: Ring) -> Term:
    """Producer and slowest consumer wait, each for the other: then each is behind the other.

    `full` of the consumer's stage has ended as often as the producer has been there, `empty` of the
    producer's as often as the consumer that was there least.
    """
    producer, consumer, end = (
        Position(Int(f"{who}.round"), Int(f"{who}.stage")) for who in ("producer", "consumer", "end")
    )
    stages = Int("stages")
    places = (producer, consumer, end)
    possible = [And(at.round >= 0, at.stage >= 0, at.stage < stages) for at in places]
    released = _visits(consumer, producer.stage)
    filled = _visits(producer, consumer.stage)
    follows = And(
        released >= producer.round - 1,
        released <= producer.round,
        filled >= consumer.round,
        filled <= consumer.round + 1,
    )
    blocked_producer = And(
        producer.before(end),
        ring.waits_for_empty,
        Not(may_pass(released, parity(producer.round, ring.empty_parity, ring.empty_turns))),
    )
    blocked_consumer = And(
        consumer.before(end),
        ring.waits_for_full,
        Not(may_pass(filled, parity(consumer.round, ring.full_parity, ring.full_turns))),
    )
    some = Or(producer.before(end), consumer.before(end))
    return And(
        *possible,
        follows,
        *(Not(end.before(at)) for at in (producer, consumer)),
        some,
        Or(blocked_producer, Not(producer.before(end))),
        Or(blocked_consumer, Not(consumer.before(end))),
    )


def _visits(at: Position, stage: Term) -> Term:
    """How many visits of a stage a thread has behind it."""
    return at.round + If(at.stage > stage, 1, IntVal(0))


# By claim about round n, a counterexample: a history in which all rounds before n are right.
HISTORY_QUESTIONS: Mapping[str, Callable[[Ring], Term]] = {
    EMPTY_WAIT: _empty_wait,
    FULL_PHASE: _full_phase,
    FULL_WAIT: _full_wait,
    RELEASES_ONCE: _once,
    EMPTY_PHASE: _empty_phase,
    READ_BETWEEN: _ordered,
    PHASE_ENDS: _ends,
    GOES_ON: _goes_on,
}
