"""The states of a ring at one of its stages, and the moves between them, as formulas.

The stage is any one of any number of stages. What threads do at other stages moves them on, and changes
nothing here. Two consumers are followed, who may be any two; of the others is known how many have released
the stage in the current phase of `empty`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...smt.terms import And, Bool, BoolVal, If, Int, IntVal, Not, Term
from .barrier_counts import MachineCounts
from .ring import Position, Ring, parity

__all__ = [
    "BEGINS",
    "FILLED",
    "FILLS",
    "READS",
    "RELEASED",
    "WAITS",
    "Move",
    "Producer",
    "RingConsumer",
    "RingSize",
    "RingState",
    "consumer_moves",
    "copy_moves",
    "goes_on",
    "is_first",
    "passes_empty",
    "passes_full",
    "producer_moves",
    "symbolic_size",
    "symbolic_state",
]

FILLS, FILLED, BEGINS, RELEASED = "fills", "filled", "begins", "released"  # names of moves
WAITS, READS, RELEASES = range(3)  # what a consumer does next in a visit


@dataclass(frozen=True)
class RingSize:
    """What does not change: numbers of stages, consumers, and bytes of a copy; the last visit's end; the
    stage that is looked at; and the count of `full`, which the producer's arrival counts at once.
    """

    stages: Term
    consumers: Term
    bytes: Term
    end: Position
    stage: Term
    count_of_full: Term

    @property
    def holds(self) -> Term:
        """The numbers are those of a ring."""
        return And(
            self.stages >= 1,
            self.consumers >= 1,
            self.bytes >= 1,
            self.count_of_full >= 1,
            self.end.round >= 0,
            *(And(stage >= 0, stage < self.stages) for stage in (self.end.stage, self.stage)),
        )


@dataclass(frozen=True)
class Producer:
    """The producer: whether its wait is over, and what it has done of the visit since."""

    at: Position
    fills: Term
    expected: Term
    copied: Term
    arrived: Term


@dataclass(frozen=True)
class RingConsumer:
    """A consumer, and what it does next."""

    at: Position
    next: Term


@dataclass(frozen=True)
class RingState:
    """A moment: `flying` bytes of copies have not come, `released` other consumers have in this phase."""

    producer: Producer
    consumers: tuple[RingConsumer, RingConsumer]
    full: MachineCounts
    empty: MachineCounts
    flying: Term
    released: Term


Move = tuple[Term, RingState]  # when it can be made, and the state behind it


def symbolic_size() -> RingSize:
    """Any ring, and any of its stages."""
    end = Position(Int("end.round"), Int("end.stage"))
    stages, consumers, bytes_, stage, count = map(
        Int, ("stages", "consumers", "copy.bytes", "stage", "full.count")
    )
    return RingSize(stages, consumers, bytes_, end, stage, count)


def symbolic_state() -> RingState:
    """Any moment."""

    def counts(of: str) -> MachineCounts:
        return MachineCounts(*(Int(f"{of}.{field}") for field in ("phase", "pending", "lacking")))

    def position(of: str) -> Position:
        return Position(Int(f"{of}.round"), Int(f"{of}.stage"))

    done = (Bool(f"producer.{field}") for field in ("fills", "expected", "copied", "arrived"))
    one, other = (RingConsumer(position(of), Int(f"{of}.next")) for of in ("one", "other"))
    return RingState(
        Producer(position("producer"), *done),
        (one, other),
        counts("full"),
        counts("empty"),
        Int("flying"),
        Int("released"),
    )


def is_first(s: RingState, size: RingSize, ring: Ring) -> Term:
    """The state before the first step."""
    producer, nobody = s.producer, Position(IntVal(0), IntVal(0))
    threads = (producer, *s.consumers)
    return And(
        *(And(one.at.round == nobody.round, one.at.stage == nobody.stage) for one in threads),
        *(Not(done) for done in (producer.fills, producer.expected, producer.copied, producer.arrived)),
        *(one.next == WAITS for one in s.consumers),
        s.full.phase == 0,
        s.full.pending == size.count_of_full,
        s.full.lacking == 0,
        s.empty.phase == 0,
        s.empty.pending == size.consumers + ring.count_of_empty,
        s.empty.lacking == 0,
        s.flying == 0,
        s.released == 0,
    )


def goes_on(at: Position, size: RingSize) -> Term:
    """A thread has not come to its end."""
    return at.before(size.end)


def passes_empty(s: RingState, ring: Ring) -> Term:
    """The producer's wait ends."""
    if not ring.waits_for_empty:
        return BoolVal(True)
    return s.empty.passes(parity(s.producer.at.round, ring.empty_parity, ring.empty_turns))


def passes_full(s: RingState, ring: Ring) -> Term:
    """The first consumer's wait ends."""
    if not ring.waits_for_full:
        return BoolVal(True)
    return s.full.passes(parity(s.consumers[0].at.round, ring.full_parity, ring.full_turns))


def producer_moves(s: RingState, size: RingSize, ring: Ring) -> Mapping[str, Move]:
    """The producer's moves, by name."""
    producer = s.producer
    here = And(producer.at.stage == size.stage, goes_on(producer.at, size))
    busy = And(here, producer.fills)
    expects = And(busy, Not(producer.expected))
    arrives = And(busy, Not(producer.arrived))
    if ring.expects_first:
        arrives = And(arrives, producer.expected)
    else:
        expects = And(expects, producer.arrived)
    expected = s.full.counted(size.count_of_full, IntVal(0), size.bytes - ring.unexpected)
    arrived = s.full.counted(size.count_of_full, size.count_of_full, IntVal(0))
    elsewhere = And(producer.at.stage != size.stage, goes_on(producer.at, size))
    away = replace(s, producer=replace(producer, at=producer.at.following(size.stages)))
    yes, flying = BoolVal(True), s.flying + size.bytes
    return {
        FILLS: (
            And(here, Not(producer.fills), passes_empty(s, ring)),
            replace(s, producer=replace(producer, fills=yes)),
        ),
        "bytes are expected": (
            expects,
            _visited(replace(s, full=expected, producer=replace(producer, expected=yes)), size),
        ),
        "a copy begins": (
            And(busy, Not(producer.copied)),
            _visited(replace(s, flying=flying, producer=replace(producer, copied=yes)), size),
        ),
        FILLED: (arrives, _visited(replace(s, full=arrived, producer=replace(producer, arrived=yes)), size)),
        "the producer goes on": (elsewhere, away),
    }


def _visited(s: RingState, size: RingSize) -> RingState:
    """The producer has done one thing more; after all of them it goes to the next stage."""
    producer = s.producer
    done = And(producer.expected, producer.copied, producer.arrived)
    following = producer.at.following(size.stages)
    after = Producer(
        Position(If(done, following.round, producer.at.round), If(done, following.stage, producer.at.stage)),
        *(
            And(one, Not(done))
            for one in (producer.fills, producer.expected, producer.copied, producer.arrived)
        ),
    )
    return replace(s, producer=after)


def consumer_moves(s: RingState, size: RingSize, ring: Ring) -> Mapping[str, Move]:
    """The moves of the first consumer, who may be any, by name."""
    one, other = s.consumers
    here = And(one.at.stage == size.stage, goes_on(one.at, size))
    elsewhere = And(one.at.stage != size.stage, goes_on(one.at, size))
    first, last = (READS, RELEASES) if ring.reads_first else (RELEASES, READS)
    after = {
        WAITS: RingConsumer(one.at, IntVal(first)),
        first: RingConsumer(one.at, IntVal(last)),
        last: RingConsumer(one.at.following(size.stages), IntVal(WAITS)),
    }
    count = size.consumers + ring.count_of_empty
    empty = s.empty.counted(count, IntVal(1), IntVal(0))
    begins = empty.phase != s.empty.phase
    released = replace(s, empty=empty, released=If(begins, 0, s.released))
    return {
        BEGINS: (
            And(here, one.next == WAITS, passes_full(s, ring)),
            replace(s, consumers=(after[WAITS], other)),
        ),
        "a consumer has read": (And(here, one.next == READS), replace(s, consumers=(after[READS], other))),
        RELEASED: (
            And(here, one.next == RELEASES),
            replace(released, consumers=(after[RELEASES], other)),
        ),
        "a consumer goes on": (
            And(elsewhere, one.next == WAITS),
            replace(s, consumers=(replace(one, at=one.at.following(size.stages)), other)),
        ),
    }


def copy_moves(s: RingState, size: RingSize, ring: Ring) -> Mapping[str, Move]:
    """Some bytes come, that have not."""
    bytes_ = Int("bytes.come")
    full = s.full.counted(size.count_of_full, IntVal(0), 0 - bytes_)
    come = And(bytes_ >= 1, bytes_ <= s.flying)
    return {"bytes come": (come, replace(s, full=full, flying=s.flying - bytes_))}
