"""Every program of at most so many steps of the full alphabet, without a solver.

`count_programs` extends every program without a hazard by every step. It goes on once from each combined
state: the classes of joint states of all registers and buffers, up to exchanging the two registers, and the
two buffers with their mbarriers. How many programs lead to a combined state is counted with it.

A program has a hazard, or schedules that differ, exactly if one of its locations says so. That is not
assumed: `run_programs` runs both models on every program up to a smaller length, and compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ....spec.ordering import Readings, ordering
from ..agreement import changing_values, disagreement, last_step_differs
from ..alphabet import END, LOCATIONS, LocationKind, alphabet, seen_from
from ..axioms import closing
from ..machine_answers import MachineAnswers
from ..programs import BulkStore, Program, Step
from .classes import LocationClasses
from .closure import HAZARD, Closure

__all__ = ["AllLocations", "ModelTally", "ProgramCount", "count_programs", "run_programs"]

_States = tuple[int, ...]  # by location


@dataclass(frozen=True, slots=True)
class ProgramCount:
    """The programs of a length whose steps but the last close no hazard.

    `hazards`: how many of them have one; `states`: the combined states of the others (None: not looked for).
    """

    length: int
    programs: int
    hazards: int
    states: int | None


class AllLocations:
    """The combined states of all locations, and the steps of the alphabet between them."""

    def __init__(self, closures: Mapping[LocationKind, Closure]) -> None:
        self.classes = {kind: LocationClasses(closure) for kind, closure in closures.items()}
        self.steps: list[
            tuple[int | None, ...]
        ] = []  # by location its letter; None: it does not see the step
        self.start: _States = (0,) * len(LOCATIONS)
        self._closing: dict[tuple[int, int], int] = {}
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}
        for step in alphabet():
            seen = [(self.classes[at.kind], seen_from(step, at)) for at in LOCATIONS]
            self.steps.append(tuple(None if one is None else where.letters[one] for where, one in seen))

    def closing_steps(self, states: _States) -> int:
        """The steps, as bits, that close a hazard."""
        found = 0
        for at, state in enumerate(states):
            if (at, state) not in self._closing:
                self._closing[at, state] = self._closing_at(at, state)
            found |= self._closing[at, state]
        return found

    def _closing_at(self, at: int, state: int) -> int:
        where = self.classes[LOCATIONS[at].kind]
        return sum(
            1 << number
            for number, letters in enumerate(self.steps)
            if (letter := letters[at]) is not None and where.move(state, letter) == HAZARD
        )

    def end_closes(self, states: _States) -> bool:
        """Whether the end of the block closes a hazard."""
        found = ((self.classes[at.kind], state) for at, state in zip(LOCATIONS, states, strict=True))
        return any(
            where.move(state, where.letters[END]) == HAZARD for where, state in found if END in where.letters
        )

    def move(self, states: _States, number: int) -> _States:
        """The states after a step that closes no hazard."""
        return tuple(self._row(at, state)[number] for at, state in enumerate(states))

    def following(self, states: _States) -> Counter[_States]:
        """The states after each step, and how many steps lead to them; one with HAZARD closes a hazard."""
        return Counter(zip(*(self._row(at, state) for at, state in enumerate(states)), strict=True))

    def _row(self, at: int, state: int) -> tuple[int, ...]:
        """By step, the state of one location after it."""
        row = self._rows.get((at, state))
        if row is None:
            where = self.classes[LOCATIONS[at].kind]
            letters = (letters[at] for letters in self.steps)
            row = tuple(state if letter is None else where.move(state, letter) for letter in letters)
            self._rows[at, state] = row
        return row


def count_programs(locations: AllLocations, bound: int) -> Iterator[ProgramCount]:
    """Count the programs of each length up to a bound, by combined state."""
    size = len(locations.steps)
    level: Counter[_States] = Counter({locations.start: 1})
    for length in range(1, bound + 1):
        hazards = 0
        following: Counter[_States] = Counter()
        for states, count in level.items():
            hazards += count * locations.closing_steps(states).bit_count()
            if length < bound:
                for after, steps in locations.following(states).items():
                    if HAZARD not in after:
                        following[_canonical(after)] += count * steps
        programs = size * level.total()
        yield ProgramCount(length, programs, hazards, len(following) if length < bound else None)
        level = following


def _canonical(states: _States) -> _States:
    """The states up to exchanging the two registers, and the two buffers."""
    one, other, left, right = states
    return (
        *((one, other) if one <= other else (other, one)),
        *((left, right) if left <= right else (right, left)),
    )


@dataclass
class ModelTally:
    """What both models were run on: programs by length, hazards by rule, and disagreements in words."""

    programs: Counter[int] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, part: ModelTally) -> None:
        """Join the tally of other programs."""
        self.programs.update(part.programs)
        self.hazards.update(part.hazards)
        self.faults += part.faults


def run_programs(
    locations: AllLocations,
    readings: Readings,
    bound: int,
    answers: MachineAnswers,
    firsts: slice = slice(None),
) -> ModelTally:
    """Run both models on every program up to a length with no hazard before its last step, up to symmetry.

    A program with bulk stores that has no hazard is also run with the end of the block behind it.

    `answers`: what the machine answered already. `firsts`: with which steps of the alphabet programs begin.
    """
    tally = ModelTally()
    conduct = ordering().conduct(readings)
    steps = list(enumerate(alphabet()))
    rest: list[tuple[tuple[int, ...], tuple[Step, ...], _States]] = [((), (), locations.start)]

    def compare(steps: tuple[Step, ...], expected: bool) -> bool:
        """Whether the last step has a hazard, or the models disagree about it."""
        program = Program(steps)
        closed = closing(program, readings)
        hazards = changing_values(closed)
        tally.hazards.update({hazard.rule for hazard in closed})
        if bool(hazards) != last_step_differs(program, conduct, hazards, answers):
            tally.faults.append(disagreement(program, readings, conduct) or str(program))
            return True
        if bool(hazards) != expected:
            tally.faults.append(
                f"{program}: hazard {bool(hazards)}, by the states of its locations {expected}"
            )
            return True
        return bool(hazards)

    while rest:
        numbers, before, states = rest.pop()
        closing_steps = locations.closing_steps(states)
        for number, step in steps if before else steps[firsts]:
            longer = (*before, step)
            if not _named_in_order((*numbers, number)):
                continue
            expected = bool(closing_steps >> number & 1)
            tally.programs[len(longer)] += 1
            if compare(longer, expected):
                continue
            after = locations.move(states, number)
            if any(isinstance(step.operation, BulkStore) for step in longer):
                compare((*longer, END), locations.end_closes(after))
            if len(longer) < bound:
                rest.append(((*numbers, number), longer, after))
    return tally


def _named_in_order(numbers: tuple[int, ...]) -> bool:
    """Whether the first register named is r0, and the first buffer or mbarrier is s0 or b0, by steps of these
    numbers in the alphabet.

    Other programs are such programs with names exchanged.
    """
    for named in _NAMED:
        if next((named[number] for number in numbers if named[number]), None) == 1 << 1:
            return False
    return True


def _named(step: Step, kind: str) -> int:
    """The registers, or buffers and mbarriers, that a step names, as bits."""
    letter = "r" if kind == "register" else "sb"
    words = str(step.operation).split()[1:]
    return sum({1 << int(word[1:]) for word in words if word[0] in letter and word[1:].isdigit()})


# What the steps of the alphabet name.
_NAMED = tuple([_named(step, kind) for step in alphabet()] for kind in ("register", "buffer"))
