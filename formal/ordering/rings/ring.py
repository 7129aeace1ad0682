"""The protocol of a ring of stages between a producer and its consumers, and its slips.

A thread visits the stages in turn, round after round. In each visit the producer waits until the stage is
empty, expects bytes, starts a copy that brings them, and arrives at `full`. A consumer waits until the stage
is full, reads it, and arrives at `empty`. A wait names the parity of the phase that it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...smt.terms import And, If, IntVal, Or, Term
from ..phases.phase_programs import PhaseProgram, PhaseStep

__all__ = [
    "ARRIVALS_FIT",
    "AT_START",
    "CONSUMER_MOVES",
    "COPY_MOVES",
    "EMPTY_PHASE",
    "EMPTY_WAIT",
    "FULL_PHASE",
    "FULL_WAIT",
    "GOES_ON",
    "OWN_PHASE",
    "PHASE_ENDS",
    "PRODUCER_MOVES",
    "READS_COPY",
    "READ_BETWEEN",
    "RELEASES_ONCE",
    "RIGHT",
    "SLIPS",
    "Position",
    "Ring",
    "RingSlip",
    "parity",
    "ring_program",
]


# Claims about the states of a ring; about its histories; about both.
AT_START = "the invariant holds at the start"
PRODUCER_MOVES = "moves of the producer keep the invariant"
CONSUMER_MOVES = "moves of a consumer keep the invariant"
COPY_MOVES = "bytes that come keep the invariant"
OWN_PHASE = "each wait ends behind its own phase"
ARRIVALS_FIT = "no arrival is one too many"
READS_COPY = "a read sees the copy of its round"
EMPTY_WAIT = "the producer's wait for empty comes behind its own phase"
FULL_WAIT = "a consumer's wait for full comes behind its own phase"
FULL_PHASE = "a phase of full has the members of its round"
EMPTY_PHASE = "a phase of empty has the members of its round"
RELEASES_ONCE = "a consumer releases a stage once in a phase"
READ_BETWEEN = "a read is ordered behind its copy, and before the next"
PHASE_ENDS = "the members of a round end its phase, and the waits for it"
GOES_ON = "some thread goes on"


@dataclass(frozen=True)
class Ring:
    """The protocol; every field that is not as here is a slip.

    `count_of_empty`: the count of `empty`, less the number of consumers. `empty_parity`, `full_parity`: what
    the producer and a consumer wait for in the first round; it `turns` from round to round. `unexpected`:
    bytes that are copied and not expected.
    """

    count_of_empty: int = 0
    empty_parity: int = 1
    full_parity: int = 0
    empty_turns: bool = True
    full_turns: bool = True
    waits_for_empty: bool = True
    waits_for_full: bool = True
    unexpected: int = 0
    expects_first: bool = True
    reads_first: bool = True


@dataclass(frozen=True)
class RingSlip:
    """A ring with a slip, and a claim about its states and one about its histories that then do not hold."""

    ring: Ring
    of_states: str
    of_histories: str


RIGHT = Ring()
SLIPS: Mapping[str, RingSlip] = {
    "a count of `empty` below the number of consumers": RingSlip(
        Ring(count_of_empty=-1), CONSUMER_MOVES, EMPTY_PHASE
    ),
    "a count of `empty` above the number of consumers": RingSlip(
        Ring(count_of_empty=1), CONSUMER_MOVES, PHASE_ENDS
    ),
    "the producer begins with the parity of the first phase": RingSlip(
        Ring(empty_parity=0), GOES_ON, PHASE_ENDS
    ),
    "a consumer begins with the parity of the phase before the first": RingSlip(
        Ring(full_parity=1), OWN_PHASE, FULL_WAIT
    ),
    "the producer waits for one parity in every round": RingSlip(
        Ring(empty_turns=False), OWN_PHASE, EMPTY_WAIT
    ),
    "a consumer waits for one parity in every round": RingSlip(
        Ring(full_turns=False), OWN_PHASE, RELEASES_ONCE
    ),
    "the producer does not wait": RingSlip(Ring(waits_for_empty=False), OWN_PHASE, READ_BETWEEN),
    "a consumer does not wait": RingSlip(Ring(waits_for_full=False), OWN_PHASE, READ_BETWEEN),
    "a copy that is not expected": RingSlip(Ring(unexpected=1), PRODUCER_MOVES, PHASE_ENDS),
    "the producer arrives before it expects bytes": RingSlip(
        Ring(expects_first=False), PRODUCER_MOVES, FULL_PHASE
    ),
    "a consumer arrives before it reads": RingSlip(Ring(reads_first=False), CONSUMER_MOVES, READ_BETWEEN),
}


@dataclass(frozen=True)
class Position:
    """Where a thread is: the round, and the stage that it visits."""

    round: Term
    stage: Term

    def following(self, stages: Term) -> Position:
        """The next visit."""
        last = self.stage + 1 == stages
        return Position(If(last, self.round + 1, self.round), If(last, 0, self.stage + 1))

    def before(self, other: Position) -> Term:
        """This visit comes before another."""
        return Or(self.round < other.round, And(self.round == other.round, self.stage < other.stage))


def parity(round_: Term, first: int, turns: bool) -> Term:
    """The parity that is waited for in a round."""
    return (round_ + first) % 2 if turns else IntVal(first)


def ring_program(ring: Ring, stages: int, consumers: int, rounds: int) -> PhaseProgram:
    """The ring as a program of the phase models: `full` of a stage is b2s, `empty` is b2s+1; a phase brings
    2 bytes in a copy.
    """
    producer: list[PhaseStep] = []
    consumer: list[PhaseStep] = []
    for at in range(rounds):
        for stage in range(stages):
            full, empty = 2 * stage, 2 * stage + 1
            waits = (
                (ring.empty_parity + at * ring.empty_turns) % 2,
                (ring.full_parity + at * ring.full_turns) % 2,
            )
            expect = PhaseStep("expect", barrier=full, number=2 - ring.unexpected)
            arrive = PhaseStep("arrive", barrier=full, number=1)
            copy = PhaseStep("copy", buffer=stage, barrier=full, number=2)
            if ring.waits_for_empty:
                producer.append(PhaseStep("wait", barrier=empty, number=waits[0]))
            producer += [expect, copy, arrive] if ring.expects_first else [arrive, expect, copy]
            if ring.waits_for_full:
                consumer.append(PhaseStep("wait", barrier=full, number=waits[1]))
            read = [PhaseStep("multiply", buffer=stage), PhaseStep("finish")]
            release = PhaseStep("arrive", barrier=empty, number=1)
            consumer += [*read, release] if ring.reads_first else [release, *read]
    counts = (1, consumers + ring.count_of_empty) * stages
    return PhaseProgram(counts, (tuple(producer), *[tuple(consumer)] * consumers))
