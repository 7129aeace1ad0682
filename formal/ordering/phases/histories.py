"""The axioms of barriers with phases: what may be in which phase, and what comes before what.

A *history* says for every arrival, and for the bytes of every copy, which phase of their barrier they
are in, and for every wait after which phase it comes. It is possible if every complete phase has all that
it lacked, and if nothing comes before itself. Two kinds of before are kept apart:
- a step is *ordered* before another by its thread, or because it is in a phase whose end the other waits for;
- phases also follow each other, and a wait for a parity comes before the next phase ends. So it was in this
  history; no thread may rely on it.

Two accesses of a buffer, one of them a write, that are not ordered in some history are a race. A history
cannot go on if each thread that has not come to its end waits for a phase that has not ended, or for one
that was followed by the next.

Nothing is executed here: no state, no schedule, no value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ....spec.ordering_records import PHASE_RULES
from .phase_orders import Order
from .phase_partitions import PhaseMember, PhasePlace, Phases, partitions
from .phase_programs import CLUSTER, PhaseProgram, PhaseStep

__all__ = ["OVERRUN", "STUCK", "UNPUBLISHED", "PhaseAxioms", "PhaseHazard", "phase_hazards"]

STUCK, OVERRUN, UNPUBLISHED = PHASE_RULES

_ACCESSES = ("load", "store", "init")
_ASYNC = ("copy", "multiply")
_WRITES = ("store", "copy")
_BUFFERS = ("load", "store", "copy", "multiply")
_RELEASES = ("arrive", "fence", "join", "cluster.arrive")
_WAITS = ("wait", "wait.relaxed")
_JOINS = ("join", "join.relaxed", "cluster.arrive", "cluster.arrive.relaxed")
_LEAVES = ("leave", "cluster.wait")
_USES = ("arrive", "arrive.relaxed", "expect", "copy", *_WAITS)
_MEMBERS = ("arrive", "arrive.relaxed", "expect", "copy")


@dataclass(frozen=True, slots=True)
class PhaseHazard:
    """A rule that is broken, and the steps that break it, as (thread, step)."""

    rule: str
    steps: tuple[PhasePlace, ...]

    def __str__(self) -> str:
        return f"{self.rule} at {', '.join(f'{thread}.{step}' for thread, step in self.steps)}"


@dataclass(frozen=True)
class _ThreadEnd:
    """How far one thread comes: its steps, and the one that it waits at for ever."""

    steps: frozenset[int]
    blocked: int | None


@dataclass
class _History:
    """The steps that are done, by barrier its phases, and what is before what so far."""

    done: frozenset[PhasePlace]
    blocked: tuple[PhasePlace, ...]
    order: Order
    ordered: list[tuple[int, int]]  # the edges between threads that these may rely on
    phases: dict[tuple[str, int], Phases] = field(default_factory=dict)


def phase_hazards(program: PhaseProgram) -> tuple[PhaseHazard, ...]:
    """Every hazard of some history of a program."""
    return PhaseAxioms(program).hazards()


class PhaseAxioms:
    """The histories of one program."""

    def __init__(self, program: PhaseProgram) -> None:
        self.program = program
        self.steps: dict[PhasePlace, PhaseStep] = {
            (number, at): step
            for number, thread in enumerate(program.threads)
            for at, step in enumerate(thread)
        }
        self.nodes: dict[tuple[object, ...], int] = {}
        self._known: dict[tuple[object, ...], tuple[Phases, ...]] = {}  # ways to part members
        for place, step in self.steps.items():
            self._node("step", *place)
            if step.word in _ASYNC:
                self._node("effect", *place)
            if step.word in _WAITS:
                self._node("begin", *place)
        for kind, number in self._barriers():
            for phase in range(len(self._members(kind, number))):
                self._node("end", kind, number, phase)

    # The relations of threads

    def kept(self, before: PhaseStep, after: PhaseStep) -> bool:
        """Whether a thread keeps two of its steps in order, the first of them before the second."""
        if before.word == "wait.relaxed":
            return after.word in ("wait.relaxed",) or after.word not in (*_ACCESSES, *_ASYNC, "finish")
        if before.word not in _ACCESSES:
            return True
        if after.word in _RELEASES:
            return True
        if before.word == "init":
            return after.word in _USES and after.barrier == before.barrier
        return after.word in _BUFFERS and after.buffer == before.buffer

    @cached_property
    def thread_edges(self) -> tuple[tuple[int, int], ...]:
        """What each thread orders, by numbers of nodes."""
        edges = []
        for number, thread in enumerate(self.program.threads):
            for j, after in enumerate(thread):
                at = self.nodes["step", number, j]
                if after.word in _ASYNC:
                    edges.append((at, self.nodes["effect", number, j]))
                if after.word in _WAITS:
                    edges.append((self.nodes["begin", number, j], at))
                    at = self.nodes["begin", number, j]
                for i, before in enumerate(thread[:j]):
                    if self.kept(before, after):
                        edges.append((self.nodes["step", number, i], at))
                    if before.word == "multiply" and self._finished(thread[i:j], before, after):
                        edges.append((self.nodes["effect", number, i], at))
        return tuple(edges)

    @cached_property
    def _thread_order(self) -> Order:
        order = Order(len(self.nodes))
        for edge in self.thread_edges:
            order.add(*edge)
        return order

    @staticmethod
    def _finished(steps: Sequence[PhaseStep], multiply: PhaseStep, after: PhaseStep) -> bool:
        """Whether a multiply that was waited for is kept before a later step, as a load would be."""
        if not any(step.word == "finish" for step in steps):
            return False
        return after.word in _RELEASES or (after.word in _BUFFERS and after.buffer == multiply.buffer)

    # Histories

    def hazards(self) -> tuple[PhaseHazard, ...]:
        """Every hazard of some history."""
        found: dict[PhaseHazard, None] = {}
        for history in self._histories():
            if history.blocked:
                found[PhaseHazard(STUCK, history.blocked)] = None
            for (kind, _), phases in history.phases.items():
                if kind == "b":
                    found |= {PhaseHazard(OVERRUN, (member.place,)): None for member in phases.excess}
            found |= dict.fromkeys(self._unordered(history))
        return tuple(found)

    def arrivals(self) -> Mapping[PhasePlace, frozenset[int]]:
        """The phases that each arrival and copy is in, in some history that comes to the end."""
        found: dict[PhasePlace, set[int]] = {}
        for history in self._histories():
            if not history.blocked:
                for phases in history.phases.values():
                    for number, members in enumerate(phases.all):
                        for member in members:
                            found.setdefault(member.place, set()).add(number)
        return {place: frozenset(numbers) for place, numbers in found.items()}

    def _histories(self) -> Iterator[_History]:
        """Every possible history."""
        endings = [list(self._endings(thread)) for thread in self.program.threads]
        for chosen in itertools.product(*endings):
            done = frozenset((number, at) for number, one in enumerate(chosen) for at in one.steps)
            blocked = tuple(
                (number, one.blocked) for number, one in enumerate(chosen) if one.blocked is not None
            )
            start = _History(done, blocked, self._thread_order.copy(), [])
            yield from self._with_phases(start, self._barriers())

    @staticmethod
    def _endings(thread: Sequence[PhaseStep]) -> Iterator[_ThreadEnd]:
        """Where a thread can end: at its end, or at a step that waits."""
        yield _ThreadEnd(frozenset(range(len(thread))), None)
        for at, step in enumerate(thread):
            if step.word in ("wait", *_LEAVES):
                yield _ThreadEnd(frozenset(range(at)), at)
            elif step.word == "wait.relaxed":
                # Accesses may go on behind it.
                passing = itertools.takewhile(
                    lambda later: thread[later].word in (*_ACCESSES, *_ASYNC, "finish", "wait.relaxed"),
                    range(at + 1, len(thread)),
                )
                after = {later for later in passing if thread[later].word != "wait.relaxed"}
                yield _ThreadEnd(frozenset({*range(at), *after}), at)

    def _with_phases(self, history: _History, barriers: Sequence[tuple[str, int]]) -> Iterator[_History]:
        """Choose the phases of the barriers, one after the other."""
        if not barriers:
            yield history
            return
        (kind, number), *others = barriers
        members = [one for one in self._members(kind, number) if one.place in history.done]
        before = {
            one.place: frozenset(
                other.place for other in members if history.order.before(self._at(other), self._at(one))
            )
            for one in members
        }
        for phases in self._parted(kind, number, members, before):
            if not self._blocked_at(history, kind, number, phases):
                continue
            chosen = self._added(history, kind, number, phases)
            if chosen is None:
                continue
            if kind == "n":
                yield from self._with_phases(chosen, others)
            else:
                for waited in self._with_waits(chosen, number, self._waits(chosen, number), phases):
                    yield from self._with_phases(waited, others)

    def _parted(
        self,
        kind: str,
        number: int,
        members: Sequence[PhaseMember],
        before: Mapping[PhasePlace, frozenset[PhasePlace]],
    ) -> Sequence[Phases]:
        """Every way to part members into phases; many histories ask for the same."""
        key = kind, number, tuple(before.items())
        if key not in self._known:
            size = self.program.counts[number] if kind == "b" else self.program.named[number]
            self._known[key] = tuple(partitions(members, before, size))
        return self._known[key]

    def _added(self, history: _History, kind: str, number: int, phases: Phases) -> _History | None:
        """The history with the phases of a barrier; None if something then comes before itself."""
        order, ordered = history.order.copy(), list(history.ordered)
        if kind == "n":
            for leave, join in self._leaves(history, number):
                phase = phases.of(join)
                if phase < phases.ended:
                    ordered.append((self._end(kind, number, phase), self.nodes["step", *leave]))
                elif leave in history.done:
                    return None
        ordered += self._into_phases(kind, number, phases)
        if not all(order.add(*edge) for edge in ordered[len(history.ordered) :]):
            return None
        if not all(order.add(*edge) for edge in self._behind_phases(kind, number, phases)):
            return None
        chosen = {**history.phases, (kind, number): phases}
        return _History(history.done, history.blocked, order, ordered, chosen)

    def _into_phases(self, kind: str, number: int, phases: Phases) -> Iterator[tuple[int, int]]:
        """What threads may rely on: each arrival comes before the end of its phase, and each follows those
        before it on the same barrier.
        """
        ends = [self._end(kind, number, phase) for phase in range(phases.ended)]
        for members, end in zip(phases.all, ends, strict=False):
            yield from ((self._at(member), end) for member in members)
        yield from itertools.pairwise(ends)

    def _behind_phases(self, kind: str, number: int, phases: Phases) -> Iterator[tuple[int, int]]:
        """What was so in this history: phases follow each other, and members that came in a sequence."""
        for phase, members in enumerate(phases.all[1:]):
            end = self._end(kind, number, phase)
            yield from ((end, self._at(member)) for member in members)
        for first, second in phases.sequences:
            yield self._at(first), self._at(second)
        for phase, member in phases.excess_in:
            if phase:
                yield self._end(kind, number, phase - 1), self._at(member)
            if phase < phases.ended:
                yield self._at(member), self._end(kind, number, phase)

    def _with_waits(
        self, history: _History, number: int, waits: Sequence[PhasePlace], phases: Phases
    ) -> Iterator[_History]:
        """Choose the phase after which each wait for an mbarrier comes."""
        if not waits:
            yield history
            return
        place, *others = waits
        wait = self.nodes["step", *place]
        for phase in range(phases.ended + 1):
            if not self.may_pass(phase, self.steps[place].number):
                continue
            behind, ordered = history.order.copy(), list(history.ordered)
            if phase:
                ordered.append((self._end("b", number, phase - 1), wait))
                if not behind.add(*ordered[-1]):
                    continue
            for order in self._before_end(behind, wait, phases.all[phase] if phase < phases.ended else None):
                chosen = _History(history.done, history.blocked, order, ordered, history.phases)
                yield from self._with_waits(chosen, number, others, phases)

    def _before_end(self, order: Order, wait: int, members: Sequence[PhaseMember] | None) -> Iterator[Order]:
        """A wait comes before a phase ends: before one of its members, which is the last. None: none ends."""
        if members is None:
            yield order
            return
        for last in members:
            chosen = order.copy()
            possible = chosen.add(wait, self._at(last))
            for member in members:
                possible = possible and (member is last or chosen.add(self._at(member), self._at(last)))
            if possible:
                yield chosen

    @staticmethod
    def may_pass(phase: int, parity: int) -> bool:
        """Whether a wait for a parity may come while a phase is the current one: the one before has the
        parity.
        """
        return (phase - 1) % 2 == parity

    def _blocked_at(self, history: _History, kind: str, number: int, phases: Phases) -> bool:
        """Whether the threads that wait at a barrier for ever do so with reason."""
        for place in history.blocked:
            step = self.steps[place]
            if step.word in _WAITS:
                here = kind == "b" and step.barrier == number
                if here and self.may_pass(phases.ended, step.number):
                    return False
                continue
            here = kind == "n" and self._named(step) == number
            if here and phases.of(self._join_of(place)) < phases.ended:
                return False
        return True

    # Barriers

    def _barriers(self) -> list[tuple[str, int]]:
        named = {self._named(step) for step in self.steps.values() if step.word in _JOINS}
        used = {step.barrier for step in self.steps.values() if step.word in _USES}
        return [*(("n", number) for number in sorted(named)), *(("b", number) for number in sorted(used))]

    def _members(self, kind: str, number: int) -> list[PhaseMember]:
        """What the phases of a barrier consist of: arrivals, and bytes that are expected or completed."""
        found = []
        for place, step in self.steps.items():
            if kind == "n" and step.word in _JOINS and self._named(step) == number:
                found.append(PhaseMember(place, 1, 0))
            elif kind == "b" and step.word in _MEMBERS and step.barrier == number:
                bytes_ = {"expect": step.number, "copy": -step.number}.get(step.word, 0)
                found.append(PhaseMember(place, 0 if bytes_ else step.number, bytes_))
        return found

    def _at(self, member: PhaseMember) -> int:
        copies = self.steps[member.place].word == "copy"
        return self.nodes["effect" if copies else "step", *member.place]

    def _end(self, kind: str, number: int, phase: int) -> int:
        return self.nodes["end", kind, number, phase]

    @staticmethod
    def _named(step: PhaseStep) -> int:
        return CLUSTER if step.word.startswith("cluster") else step.barrier

    def _leaves(self, history: _History, number: int) -> Iterator[tuple[PhasePlace, PhasePlace]]:
        for place, step in self.steps.items():
            if step.word in _LEAVES and self._named(step) == number and self._join_of(place) in history.done:
                yield place, self._join_of(place)

    def _join_of(self, leave: PhasePlace) -> PhasePlace:
        """The thread's last arrival before a step that waits for the others."""
        thread, at = leave
        barrier = self._named(self.steps[leave])
        return max(
            (thread, other)
            for other in range(at)
            if self.steps[thread, other].word in _JOINS and self._named(self.steps[thread, other]) == barrier
        )

    def _waits(self, history: _History, number: int) -> list[PhasePlace]:
        return [
            place
            for place, step in self.steps.items()
            if step.word in _WAITS and step.barrier == number and place in history.done
        ]

    def _node(self, *name: object) -> int:
        return self.nodes.setdefault(name, len(self.nodes))

    # Hazards

    @cached_property
    def _pairs(self) -> list[tuple[PhasePlace, PhasePlace]]:
        """Accesses of one buffer, one of them a write; and the init of an mbarrier with each of its uses."""
        found = []
        for first, second in itertools.combinations(self.steps, 2):
            one, other = self.steps[first], self.steps[second]
            both = one.word in _BUFFERS and other.word in _BUFFERS and one.buffer == other.buffer
            if both and (one.word in _WRITES or other.word in _WRITES):
                found.append((first, second))
        for init, step in self.steps.items():
            if step.word == "init":
                found += [
                    (init, use)
                    for use, other in self.steps.items()
                    if other.word in _USES and other.barrier == step.barrier
                ]
        return found

    def _unordered(self, history: _History) -> Iterator[PhaseHazard]:
        """The pairs that this history does not order."""
        begun = history.done | {*history.blocked}
        pairs = [pair for pair in self._pairs if pair[1] in begun]
        if not pairs:
            return
        order = self._thread_order.copy()
        for edge in history.ordered:
            order.add(*edge)
        for first, second in pairs:
            one, other = (self._access(place) for place in (first, second))
            if self.steps[first].word == "init":
                if first not in history.done or not order.before(one, other):
                    yield PhaseHazard(UNPUBLISHED, (first, second))
            elif {first, second} <= history.done and not (
                order.before(one, other) or order.before(other, one)
            ):
                yield self._race(order, first, second)

    def _access(self, place: PhasePlace) -> int:
        word = self.steps[place].word
        return self.nodes["effect" if word in _ASYNC else "begin" if word in _WAITS else "step", *place]

    def _race(self, order: Order, first: PhasePlace, second: PhasePlace) -> PhaseHazard:
        """Name a race by the access that begins first, if one surely does."""
        if order.before(self.nodes["step", *second], self.nodes["step", *first]):
            first, second = second, first
        began = order.before(self.nodes["step", *first], self.nodes["step", *second])
        rule = {"copy": "copy-incomplete", "multiply": "shared-overwritten"}.get(self.steps[first].word)
        return PhaseHazard(rule if rule and began else "shared-unsynchronised", (first, second))
