"""The two ordering models agree on programs of every length: what both know of an access is finite.

A joint state is what the axioms know of one access of a location (knowledge.py) and what the machine can do
while each of its effects is held back (holding.py). All states that any program leads to are found breadth
first, and in each, for every next step, the axioms see a hazard with the access if and only if the machine
comes to the step before an effect of the access. No state is new any more: that holds for every length.

That the states say what axioms.py and machine.py say is checked apart (confirmation.py, enumeration.py).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...spec.ordering import Readings, ordering
from ...spec.switches import Conduct
from .alphabet import LocationKind, letters
from .axiom_state import FIRST, Knowledge, advance, begin, broken
from .machine_state import Held, HeldRegister, effects, first_value, go_on, reaches
from .programs import Program, Step

__all__ = ["BROKEN", "Closure", "Joint", "close"]

BROKEN = -1


@dataclass(frozen=True, slots=True)
class Joint:
    """What both models know of one access; of one that is past (`over`), nothing."""

    known: Knowledge | None
    held: frozenset[Held | HeldRegister]

    @property
    def over(self) -> bool:
        """Whether no later step can close a hazard with the access, nor come before it."""
        return self.known is None and not self.held


@dataclass
class Closure:
    """The joint states of one location; `follows`: by state and letter the next one, or BROKEN.

    `programs`: a shortest program to each; `begins`: by letter that accesses the location, the state after
    it; `first`: that of the registers' first values, or None; `levels`: new states by length.
    """

    kind: LocationKind
    letters: Sequence[Step]
    states: list[Joint] = field(default_factory=list)
    programs: list[tuple[Step, ...]] = field(default_factory=list)
    follows: list[list[int]] = field(default_factory=list)
    begins: dict[Step, int] = field(default_factory=dict)
    first: int | None = None
    levels: Counter[int] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def after(self, steps: Iterable[Step]) -> frozenset[int] | None:
        """The states of all accesses of a program over r0 or s0; None where it has a hazard."""
        number = {letter: at for at, letter in enumerate(self.letters)}
        found = frozenset() if self.first is None else frozenset({self.first})
        for step in steps:
            if step not in number:  # nothing to the location
                continue
            following = {self.follows[state][number[step]] for state in found}
            if BROKEN in following:
                return None
            if step in self.begins:
                following.add(self.begins[step])
            found = frozenset(following)
        return found


def close(kind: LocationKind, readings: Readings, machine: Conduct | None = None) -> Closure:
    """Find every joint state of a location under some readings."""
    machine = machine or ordering().conduct(readings)
    found = Closure(kind, letters(kind))
    known: dict[Joint, int] = {}
    rest: deque[int] = deque()

    def place(joint: Joint, program: tuple[Step, ...]) -> int:
        if joint not in known:
            known[joint] = len(found.states)
            found.states.append(joint)
            found.programs.append(program)
            found.follows.append([])
            found.levels[len(program)] += 1
            rest.append(known[joint])
        return known[joint]

    if kind == "register":
        found.first = place(Joint(FIRST, frozenset({first_value()})), ())
    for letter in found.letters:
        joint = Joint(begin(letter, kind), frozenset(effects(letter, kind, machine)))
        if not joint.over:
            found.begins[letter] = place(joint, (letter,))
    while rest:
        at = rest.popleft()
        state, program = found.states[at], found.programs[at]
        for letter in found.letters:
            rules = broken(state.known, letter, readings) if state.known is not None else frozenset()
            reached = any(reaches(held, letter, machine) for held in state.held)
            found.hazards.update(rules)
            if bool(rules) != reached:
                found.faults.append(_fault((*program, letter), rules))
            if rules or reached:
                found.follows[at].append(BROKEN)
            else:
                following = _next(state, letter, readings, machine)
                found.follows[at].append(place(following, (*program, letter)))
    return found


def _next(state: Joint, letter: Step, readings: Readings, machine: Conduct) -> Joint:
    known = advance(state.known, letter, readings) if state.known is not None else None
    held = (go_on(held, letter, machine) for held in state.held)
    return Joint(known, frozenset(one for one in held if one is not None))


def _fault(steps: tuple[Step, ...], rules: frozenset[str]) -> str:
    said = ", ".join(sorted(rules)) or "no hazard"
    can = "cannot" if rules else "can"
    return f"{Program(steps)}: {said}, but the machine {can} come to the last step early"
