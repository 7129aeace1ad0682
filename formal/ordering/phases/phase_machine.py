"""The machine of barriers with phases: it tries every schedule of a program on values.

An mbarrier has a number of its phase, the arrivals that the phase lacks, and the bytes that it lacks. A named
barrier counts its threads. A thread issues its steps in order; what cannot be issued blocks it. A step takes
effect when it is issued, or *flies*, and takes effect at some later moment:
- a copy writes its buffer and completes its bytes later, and a multiply reads its buffer later;
- a load, a store, an init, or a multiply behind `finish` may linger until an arrival, a fence or a meet
  that is not relaxed holds the thread until it has taken effect;
- a relaxed wait lets loads, stores, copies and multiplies pass it, and holds every other step.

A buffer holds the name of the write that was last. A write sees what it overwrites, and a read what it
reads; a use of an mbarrier sees whether it was initialised. The machine has no clock, no rule and no
hazard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .phase_programs import CLUSTER, PhaseProgram, PhaseStep

__all__ = ["PhaseConduct", "PhaseMachine", "PhaseOutcomes"]

_PLAIN = ("load", "store", "init")
_MEMORY = ("load", "store", "copy", "multiply")
_ARRIVALS = ("arrive", "arrive.relaxed")
_JOINS = ("join", "join.relaxed", "cluster.arrive", "cluster.arrive.relaxed")
_LEAVES = ("leave", "cluster.wait")
_HOLDING = ("arrive", "fence", "join", "cluster.arrive")  # until the thread's own accesses have taken effect
_MOVING = (
    "arrive.relaxed",
    "join.relaxed",
    "cluster.arrive.relaxed",
    "expect",
    "copy",
)  # others can see these
_PASSING = ("load", "store", "init", "copy", "multiply", "finish", "wait.relaxed")  # pass a relaxed wait
_EARLY = "early"  # what a step sees of an mbarrier that is not initialised
_Flight = tuple[int, int]  # thread, step


class PhaseState(NamedTuple):
    """A moment of a run.

    `places`: by thread, how many steps it has issued. `mbarriers`: the phase, and the arrivals and bytes that
    it lacks. `named`: the phase, and the threads that have arrived. `joined`: by thread and named barrier,
    the phase of its last arrival. `memory`: by buffer, its last write. `begun`: the mbarriers that were
    initialised. `seen`: what each step saw. `overrun`: an arrival came when none was pending; it changed
    nothing.
    """

    places: tuple[int, ...]
    flights: frozenset[_Flight]
    mbarriers: tuple[tuple[int, int, int], ...]
    named: tuple[tuple[int, int], ...]
    joined: tuple[tuple[int, ...], ...]
    memory: tuple[_Flight | None, ...]
    begun: frozenset[int]
    seen: frozenset[tuple[_Flight, object]]
    overrun: bool


@dataclass(frozen=True)
class PhaseOutcomes:
    """What the schedules of a program show.

    stuck: in some, a thread waits for ever. overrun: in some, an arrival comes when none is pending. early:
    in some, an mbarrier is used before its init. results: how many different ones the schedules have that
    come to the end.
    """

    stuck: bool
    overrun: bool
    early: bool
    results: int

    @property
    def defined(self) -> bool:
        """Whether every schedule comes to the end, in the same way."""
        return self.results == 1 and not (self.stuck or self.overrun or self.early)


class PhaseConduct:
    """What the machine does at each mbarrier; tests change it, to see that the theorem notices."""

    def passes(self, phase: int, parity: int) -> bool:
        """Whether a wait for a parity ends in a phase."""
        return phase % 2 != parity

    def complete(self, pending: int, lacking: int) -> bool:
        """Whether a phase ends."""
        return pending == 0 and lacking == 0

    def holds(self, word: str) -> bool:
        """Whether a step waits for the thread's own loads and stores."""
        return word in _HOLDING


class PhaseMachine:
    """One program, ready to run. `all_linger`: accesses linger also where nobody could notice."""

    def __init__(
        self, program: PhaseProgram, conduct: PhaseConduct | None = None, all_linger: bool = False
    ) -> None:
        self.program = program
        self.conduct = conduct or PhaseConduct()
        self.threads = program.threads
        self.barriers = {barrier: place for place, barrier in enumerate(program.named)}
        self.sizes = list(program.named.values())
        self.buffers = 1 + max((step.buffer for thread in self.threads for step in thread), default=0)
        self.lingering = {
            (number, at)
            for number, thread in enumerate(self.threads)
            for at, step in enumerate(thread)
            if step.word in _PLAIN and (all_linger or self._can_be_noticed(thread[at + 1 :]))
        }
        self.earlier = {
            (number, at): frozenset(self._earlier(number, at))
            for number, thread in enumerate(self.threads)
            for at, step in enumerate(thread)
            if step.word in ("load", "store")
        }

    def _can_be_noticed(self, following: tuple[PhaseStep, ...]) -> bool:
        """Whether others can see the thread go on before it is held."""
        for step in following:
            if self.conduct.holds(step.word):
                return False
            if step.word in _MOVING or step.word in _HOLDING:
                return True
        return False

    def start(self) -> PhaseState:
        """The state before the first step."""
        uninitialised = self.program.initialised
        return PhaseState(
            tuple(0 for _ in self.threads),
            frozenset(),
            tuple((0, count, 0) for count in self.program.counts),
            tuple((0, 0) for _ in self.barriers),
            tuple(tuple(-1 for _ in self.barriers) for _ in self.threads),
            tuple(None for _ in range(self.buffers)),
            frozenset(range(len(self.program.counts))) - uninitialised,
            frozenset(),
            False,
        )

    def outcomes(self) -> PhaseOutcomes:
        """Try every schedule."""
        start = self.start()
        known = {start}
        rest = [start]
        results = set()
        stuck = overrun = early = False
        while rest:
            state = rest.pop()
            last = True
            for after in self.moves(state):
                last = False
                if after not in known:
                    known.add(after)
                    rest.append(after)
            if last:
                overrun |= state.overrun
                early |= any(value == _EARLY for _, value in state.seen)
                if self._has_ended(state):
                    results.add((state.memory, state.seen))
                else:
                    stuck = True
        return PhaseOutcomes(stuck, overrun, early, len(results))

    def _has_ended(self, state: PhaseState) -> bool:
        return not state.flights and all(
            place == len(thread) for place, thread in zip(state.places, self.threads, strict=True)
        )

    # Moves

    def moves(self, state: PhaseState) -> Iterator[PhaseState]:
        """The states that can come next."""
        for flight in state.flights:
            thread, at = flight
            step = self.threads[thread][at]
            if step.word == "wait.relaxed" and self._is_first(state, flight):
                yield from self._try(state, flight)
            if self._can_land(state, flight):
                yield self._effect(state._replace(flights=state.flights - {flight}), flight)
        for thread, place in enumerate(state.places):
            if place == len(self.threads[thread]):
                continue
            flight = thread, place
            step = self.threads[thread][place]
            if step.word == "wait" and self._tries(state, thread, step):
                yield from self._try(state, flight)
            if self._can_issue(state, thread, step):
                ahead = state._replace(places=_put(state.places, thread, place + 1))
                if step.word in ("copy", "multiply", "wait.relaxed") or flight in self.lingering:
                    yield ahead._replace(flights=state.flights | {flight})
                else:
                    yield self._effect(ahead, flight)

    def _own(self, state: PhaseState, thread: int, *words: str) -> Iterator[tuple[int, PhaseStep]]:
        """The thread's own steps that fly."""
        for number, at in state.flights:
            if number == thread and self.threads[thread][at].word in words:
                yield at, self.threads[thread][at]

    def _can_land(self, state: PhaseState, flight: _Flight) -> bool:
        """Whether a step that flies can take effect."""
        thread, at = flight
        step = self.threads[thread][at]
        if step.word == "wait.relaxed":
            return self._is_first(state, flight) and self.conduct.passes(
                state.mbarriers[step.barrier][0], step.number
            )
        return step.word not in ("load", "store") or state.flights.isdisjoint(self.earlier[flight])

    def _earlier(self, thread: int, at: int) -> Iterator[_Flight]:
        """The thread's own accesses of a step's buffer that take effect before it: loads and stores, and
        multiplies that it has waited for.
        """
        steps = self.threads[thread]
        for other, own in enumerate(steps[:at]):
            if own.buffer == steps[at].buffer and (
                own.word in ("load", "store") or (own.word == "multiply" and self._between(thread, other, at))
            ):
                yield thread, other

    def _knows(self, state: PhaseState, thread: int, step: PhaseStep) -> bool:
        """Whether the thread's own init of an mbarrier has taken effect."""
        return all(own.barrier != step.barrier for _, own in self._own(state, thread, "init"))

    def _tries(self, state: PhaseState, thread: int, step: PhaseStep) -> bool:
        """Whether a thread has come to its next step, which no relaxed wait lets pass."""
        if any(self._own(state, thread, "wait.relaxed")):
            return False
        return step.word not in ("expect", "wait", *_ARRIVALS) or self._knows(state, thread, step)

    def _is_first(self, state: PhaseState, flight: _Flight) -> bool:
        """Whether a relaxed wait is the first of its thread."""
        thread, at = flight
        first = all(at <= other for other, _ in self._own(state, thread, "wait.relaxed"))
        return first and self._knows(state, thread, self.threads[thread][at])

    def _try(self, state: PhaseState, flight: _Flight) -> Iterator[PhaseState]:
        """A wait looks at an mbarrier that is not initialised, and goes on waiting."""
        thread, at = flight
        seen = (thread, -1 - at), _EARLY
        if self.threads[thread][at].barrier not in state.begun and seen not in state.seen:
            yield state._replace(seen=state.seen | {seen})

    def _is_late(self, state: PhaseState, thread: int, buffer: int) -> bool:
        """Whether a load or store of the thread's own has not taken effect on a buffer."""
        late = any(own.buffer == buffer for _, own in self._own(state, thread, "load", "store"))
        return late or any(own.buffer == buffer for own in self._finishing(state, thread))

    def _between(self, thread: int, multiply: int, at: int) -> bool:
        """Whether a thread waits for a multiply before a later step."""
        return any(step.word == "finish" for step in self.threads[thread][multiply:at])

    def _finishing(self, state: PhaseState, thread: int) -> Iterator[PhaseStep]:
        """The thread's multiplies that it has waited for, and that have not read yet: they linger as loads
        do.
        """
        done = self.threads[thread][: state.places[thread]]
        for at, own in self._own(state, thread, "multiply"):
            if any(step.word == "finish" for step in done[at:]):
                yield own

    def _can_issue(self, state: PhaseState, thread: int, step: PhaseStep) -> bool:
        """Whether a thread can issue its next step."""
        word = step.word
        if word not in _PASSING and not self._tries(state, thread, step):
            return False
        if self.conduct.holds(word) and (
            any(self._own(state, thread, *_PLAIN)) or any(self._finishing(state, thread))
        ):
            return False
        # Accesses of one buffer take effect in the thread's order.
        flies = (thread, state.places[thread]) in self.lingering
        if word in _MEMORY and not flies and self._is_late(state, thread, step.buffer):
            return False
        if word == "copy" and not self._knows(state, thread, step):
            return False
        if word == "wait":
            return self.conduct.passes(state.mbarriers[step.barrier][0], step.number)
        if word in _LEAVES:
            place = self.barriers[self._named(step)]
            return state.named[place][0] > state.joined[thread][place]
        return True

    @staticmethod
    def _named(step: PhaseStep) -> int:
        return CLUSTER if step.word.startswith("cluster") else step.barrier

    # Effects

    def _effect(self, state: PhaseState, flight: _Flight) -> PhaseState:
        """A step takes effect."""
        thread, at = flight
        step = self.threads[thread][at]
        word = step.word
        if word in ("load", "multiply"):
            return state._replace(seen=state.seen | {(flight, state.memory[step.buffer])})
        if word in ("store", "copy"):
            seen = state.seen | {(flight, state.memory[step.buffer])}
            state = state._replace(memory=_put(state.memory, step.buffer, flight), seen=seen)
        if word == "init":
            return state._replace(begun=state.begun | {step.barrier})
        if word in _JOINS:
            return self._join(state, thread, self.barriers[self._named(step)])
        if word in ("copy", "expect", "wait", "wait.relaxed", *_ARRIVALS):
            if step.barrier not in state.begun:
                state = state._replace(seen=state.seen | {((thread, -1 - at), _EARLY)})
            if not word.startswith("wait"):
                return self._count(state, step)
        return state

    def _count(self, state: PhaseState, step: PhaseStep) -> PhaseState:
        """An mbarrier counts arrivals or bytes; its next phase begins when this one lacks nothing."""
        phase, pending, lacking = state.mbarriers[step.barrier]
        if step.word == "expect":
            lacking += step.number
        elif step.word == "copy":
            lacking -= step.number
        elif step.number > pending:
            return state._replace(overrun=True)
        else:
            pending -= step.number
        after = phase, pending, lacking
        if self.conduct.complete(pending, lacking):
            after = phase + 1, self.program.counts[step.barrier], 0
        return state._replace(mbarriers=_put(state.mbarriers, step.barrier, after))

    def _join(self, state: PhaseState, thread: int, place: int) -> PhaseState:
        """A thread arrives at a named barrier; the last one lets all go."""
        phase, arrived = state.named[place]
        joined = _put(state.joined, thread, _put(state.joined[thread], place, phase))
        after = (phase + 1, 0) if arrived + 1 == self.sizes[place] else (phase, arrived + 1)
        return state._replace(named=_put(state.named, place, after), joined=joined)


def _put(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    """The tuple with one value changed."""
    return (*values[:place], value, *values[place + 1 :])
