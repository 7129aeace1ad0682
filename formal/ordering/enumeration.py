"""Every program of at most so many steps over the full alphabet, without a solver.

`cover` extends every program without a hazard by every step, and goes on once from each joint state: the
states of all registers and buffers (locations.py), as they are up to swapping the registers, and the buffers
with their mbarriers. How many programs lead to a state is counted with it. That a hazard closes, and
schedules differ, exactly where a location says so, is not assumed: `direct` runs both models themselves on
every program up to a smaller length and holds the states' word against theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...spec.ordering import Readings, ordering
from ...spec.switches import Conduct
from .agreement import disagreement, shows, valued
from .alphabet import LOCATIONS, LocationKind, alphabet, seen_from
from .axioms import closing
from .closure import BROKEN, Closure
from .locations import Chart
from .programs import Program, Step

__all__ = ["Level", "ModelTally", "Plane", "cover", "direct"]

_States = tuple[int, ...]  # by location


@dataclass(frozen=True, slots=True)
class Level:
    """The programs of a length whose steps but the last close no hazard, how many of them have one, and
    the joint states of the others (None: not looked for)."""

    length: int
    programs: int
    hazards: int
    states: int | None


class Plane:
    """The joint states of all locations, and the steps of the alphabet between them."""

    def __init__(self, closures: Mapping[LocationKind, Closure]) -> None:
        self.charts = {kind: Chart(closure) for kind, closure in closures.items()}
        self.steps: list[tuple[int | None, ...]] = []
        self.start: _States = (0,) * len(LOCATIONS)
        self._broken: dict[tuple[int, int], int] = {}
        for step in alphabet():
            seen = [(self.charts[at.kind], seen_from(step, at)) for at in LOCATIONS]
            self.steps.append(tuple(None if one is None else chart.letters[one] for chart, one in seen))

    def broken(self, states: _States) -> int:
        """The steps, as bits, that close a hazard."""
        found = 0
        for at, state in enumerate(states):
            if (at, state) not in self._broken:
                self._broken[at, state] = self._broken_at(at, state)
            found |= self._broken[at, state]
        return found

    def _broken_at(self, at: int, state: int) -> int:
        chart = self.charts[LOCATIONS[at].kind]
        return sum(
            1 << number
            for number, letters in enumerate(self.steps)
            if (letter := letters[at]) is not None and chart.move(state, letter) == BROKEN
        )

    def move(self, states: _States, number: int) -> _States:
        """The states after a step that closes no hazard."""
        return tuple(
            state if letter is None else self.charts[where.kind].move(state, letter)
            for where, state, letter in zip(LOCATIONS, states, self.steps[number], strict=True)
        )


def cover(plane: Plane, bound: int) -> Iterator[Level]:
    """Count the programs of each length up to a bound, over joint states."""
    size = len(plane.steps)
    level: Counter[_States] = Counter({plane.start: 1})
    for length in range(1, bound + 1):
        hazards = 0
        following: Counter[_States] = Counter()
        for states, count in level.items():
            broken = plane.broken(states)
            hazards += count * broken.bit_count()
            if length < bound:
                for number in range(size):
                    if not broken >> number & 1:
                        following[_canonical(plane.move(states, number))] += count
        programs = size * level.total()
        yield Level(length, programs, hazards, len(following) if length < bound else None)
        level = following


def _canonical(states: _States) -> _States:
    """The states up to swapping the two registers, and the two buffers."""
    one, other, left, right = states
    return (
        *((one, other) if one <= other else (other, one)),
        *((left, right) if left <= right else (right, left)),
    )


@dataclass
class ModelTally:
    """What both models were run on: programs by length, closed hazards by rule, and disagreements."""

    programs: Counter[int] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def direct(plane: Plane, readings: Readings, bound: int, machine: Conduct | None = None) -> ModelTally:
    """Run both models on every program up to a length with no hazard before its last step, up to symmetry."""
    tally = ModelTally()
    machine = machine or ordering().conduct(readings)
    steps = list(enumerate(alphabet()))
    rest: list[tuple[tuple[Step, ...], _States]] = [((), plane.start)]
    while rest:
        before, states = rest.pop()
        broken = plane.broken(states)
        for number, step in steps:
            longer = (*before, step)
            if not _named_in_order(longer):
                continue
            program = Program(longer)
            closed = closing(program, readings)
            found = valued(closed)
            tally.programs[len(longer)] += 1
            tally.hazards.update({hazard.rule for hazard in closed})
            said = bool(broken >> number & 1)
            if bool(found) != shows(program, machine, found):
                tally.faults.append(disagreement(program, readings, machine) or str(program))
            elif bool(found) != said:
                tally.faults.append(f"{program}: hazard {bool(found)}, by the states of locations {said}")
            elif not found and len(longer) < bound:
                rest.append((longer, plane.move(states, number)))
    return tally


def _named_in_order(steps: tuple[Step, ...]) -> bool:
    """Whether the first register named is r0, and the first buffer or mbarrier is s0 or b0."""
    for kind in ("register", "buffer"):
        first = next((named for step in steps if (named := _NAMED[kind][step])), None)
        if first == 1 << 1:
            return False
    return True


def _named(step: Step, kind: str) -> int:
    """The registers, or buffers and mbarriers, that a step names, as bits."""
    letter = "r" if kind == "register" else "sb"
    words = str(step.operation).split()[1:]
    return sum({1 << int(word[1:]) for word in words if word[0] in letter and word[1:].isdigit()})


_NAMED = {kind: {step: _named(step, kind) for step in alphabet()} for kind in ("register", "buffer")}
