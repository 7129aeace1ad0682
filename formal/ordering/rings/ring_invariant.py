"""What is true of every state of a ring, and what follows from it."""

from __future__ import annotations

from ...smt.terms import And, If, Implies, IntVal, Not, Or, Term
from .ring import Position
from .ring_machine import READS, WAITS, RingConsumer, RingSize, RingState

__all__ = ["invariant", "reads_what_was_copied", "released", "visits"]


def visits(at: Position, size: RingSize) -> Term:
    """How many visits of the stage a thread has behind it."""
    return at.round + _one(at.stage > size.stage)


def copies(s: RingState, size: RingSize) -> Term:
    """How many copies into the stage have begun."""
    producer = s.producer
    busy = And(producer.fills, producer.at.stage == size.stage, producer.copied)
    return visits(producer.at, size) + _one(busy)


def released(one: RingConsumer, s: RingState, size: RingSize) -> Term:
    """A consumer has released the stage in the current phase of `empty`."""
    return visits(one.at, size) == s.empty.phase + 1


def invariant(s: RingState, size: RingSize) -> Term:
    """Phases of `empty` follow the visits of every consumer, those of `full` the producer's; no thread is
    more than one phase ahead of what it waits for.

    That is why one bit is enough: of two phases that a wait could mean, one is always out of reach.
    """
    one, other = s.consumers
    second = size.consumers >= 2
    return And(
        _producer(s, size),
        _full(s, size),
        _consumer(one, s, size),
        Implies(second, _consumer(other, s, size)),
        _empty(s, size),
    )


def _producer(s: RingState, size: RingSize) -> Term:
    producer = s.producer
    at_all = Or(producer.expected, producer.copied, producer.arrived)
    return And(
        _possible(producer.at, size),
        Implies(producer.fills, And(producer.at.stage == size.stage, producer.at.before(size.end))),
        Implies(at_all, producer.fills),
        Implies(producer.arrived, producer.expected),
        Not(And(producer.expected, producer.copied, producer.arrived)),
    )


def _full(s: RingState, size: RingSize) -> Term:
    """In a visit the current phase of `full` is that of the visit; else it has ended, or its bytes lack."""
    producer, done = s.producer, visits(s.producer.at, size)
    expected, copied = (If(did, size.bytes, 0) for did in (producer.expected, producer.copied))
    fresh = And(s.full.phase == done, s.full.pending == size.count_of_full)
    lacks = And(s.full.phase == done - 1, s.full.pending == 0, s.full.lacking == s.flying, s.flying >= 1)
    filling = And(
        s.full.phase == done,
        s.full.pending == If(producer.arrived, 0, size.count_of_full),
        s.full.lacking - s.flying == expected - copied,
        s.flying <= copied,
        s.empty.phase == done,
    )
    resting = Or(And(fresh, s.full.lacking == 0, s.flying == 0), And(lacks, s.flying <= size.bytes))
    return And(s.flying >= 0, If(producer.fills, filling, resting))


def _consumer(one: RingConsumer, s: RingState, size: RingSize) -> Term:
    done = visits(one.at, size)
    busy = And(one.next != WAITS, one.at.stage == size.stage)
    return And(
        _possible(one.at, size),
        one.next >= WAITS,
        one.next <= WAITS + 2,
        Implies(one.next != WAITS, And(one.at.stage == size.stage, one.at.before(size.end))),
        s.empty.phase <= done,
        done <= s.empty.phase + 1,
        done <= s.full.phase,
        Implies(busy, s.full.phase == done + 1),
    )


def _empty(s: RingState, size: RingSize) -> Term:
    one, other = s.consumers
    second = size.consumers >= 2
    bits = _one(released(one, s, size)) + If(second, _one(released(other, s, size)), 0)
    return And(
        s.empty.lacking == 0,
        s.empty.phase >= 0,
        s.empty.pending >= 1,
        s.empty.pending == size.consumers - bits - s.released,
        s.released >= 0,
        s.released <= If(second, size.consumers - 2, 0),
        visits(s.producer.at, size) <= s.empty.phase + 1,
    )


def reads_what_was_copied(s: RingState, size: RingSize) -> Term:
    """While the first consumer reads in a round, its round's copy is there, and no later one has begun."""
    one = s.consumers[0]
    reads = And(one.next == READS, one.at.stage == size.stage)
    return Implies(reads, And(copies(s, size) == one.at.round + 1, s.flying == 0))


def _possible(at: Position, size: RingSize) -> Term:
    return And(at.round >= 0, at.stage >= 0, at.stage < size.stages, Not(size.end.before(at)))


def _one(condition: Term) -> Term:
    return If(condition, IntVal(1), IntVal(0))
