"""The two models agree on programs of every length: the joint states of a location are finitely many.

A *joint state* is what both models know about one access of a location after a program: the axioms' state of
the access (`axiom_state.py`), and the machine's state while each effect of the access is delayed
(`machine_state.py`). `close` finds every joint state that any program leads to, breadth first. In each, for
every next step, it compares: do the axioms see a hazard with the access if and only if, in the machine, the
step overtakes an effect of the access? The search ends when no new state appears; then the answer holds for
every length.

The two halves are written anew from what axioms.py and machine.py say. `confirmation.py` and `enumeration.py`
run axioms.py and machine.py themselves against them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from ....spec.ordering import Readings, ordering
from ....spec.switches import Conduct
from ..alphabet import END, LocationKind, letters
from ..programs import Program, Step
from .axiom_state import FIRST_VALUE, AccessState, initial_state, next_state
from .broken_rules import broken_rules
from .machine_state import (
    DelayedEffectState,
    can_overtake,
    delayed_effects,
    delayed_first_value,
    next_delayed,
)

__all__ = ["HAZARD", "Closure", "JointState", "close"]

HAZARD = -1  # in place of a next state: the step closes a hazard


@dataclass(frozen=True, slots=True)
class JointState:
    """What both models know about one access of a location."""

    access: AccessState | None
    delayed: frozenset[DelayedEffectState]

    @property
    def is_past(self) -> bool:
        """Whether no later step can have a hazard with the access, or overtake an effect of it."""
        return self.access is None and not self.delayed


@dataclass
class Closure:
    """The joint states of one location, numbered in the order in which they were found.

    `letters`: the steps, as one location sees them. `follows`: by state and letter, the next state or HAZARD.
    `programs`: by state, a shortest program that leads to it. `begins`: by letter that accesses the location,
    the state after it. `first`: the state of the registers' first values (None for a buffer). `levels`: how
    many states each length added. `hazards`: how many pairs of state and letter break each rule. `faults`:
    the pairs about which the models disagree, in words.
    """

    kind: LocationKind
    letters: Sequence[Step]
    states: list[JointState] = field(default_factory=list)
    programs: list[tuple[Step, ...]] = field(default_factory=list)
    follows: list[list[int]] = field(default_factory=list)
    begins: dict[Step, int] = field(default_factory=dict)
    first: int | None = None
    levels: Counter[int] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @cached_property
    def _numbers(self) -> Mapping[Step, int]:
        """The number of each letter."""
        return {letter: at for at, letter in enumerate(self.letters)}

    def after(self, steps: Iterable[Step]) -> frozenset[int] | None:
        """The states of all accesses of a program over r0 or s0; None if the program has a hazard."""
        number = self._numbers
        states = frozenset() if self.first is None else frozenset({self.first})
        for step in steps:
            if step not in number:  # the location does not see it
                continue
            following = {self.follows[state][number[step]] for state in states}
            if HAZARD in following:
                return None
            if step in self.begins:
                following.add(self.begins[step])
            states = frozenset(following)
        return states


def close(kind: LocationKind, readings: Readings, conduct: Conduct | None = None) -> Closure:
    """Find every joint state of a location under some readings (conduct None: the one of the readings)."""
    conduct = conduct or ordering().conduct(readings)
    closure = Closure(kind, letters(kind))
    numbers: dict[JointState, int] = {}
    rest: deque[int] = deque()
    # Many joint states share an access's state, or a delayed effect: each is asked about a step once.

    @cache
    def of_access(access: AccessState, at: int) -> tuple[frozenset[str], AccessState | None]:
        letter = closure.letters[at]
        rules = broken_rules(access, letter, readings)
        return rules, None if rules else next_state(access, letter, readings)

    @cache
    def of_delayed(delayed: DelayedEffectState, at: int) -> tuple[bool, DelayedEffectState | None]:
        letter = closure.letters[at]
        overtakes = can_overtake(delayed, letter, conduct)
        return overtakes, None if overtakes else next_delayed(delayed, letter, conduct)

    def number(state: JointState, program: tuple[Step, ...]) -> int:
        if state not in numbers:
            numbers[state] = len(closure.states)
            closure.states.append(state)
            closure.programs.append(program)
            closure.follows.append([])
            closure.levels[len(program)] += 1
            rest.append(numbers[state])
        return numbers[state]

    if kind == "register":
        closure.first = number(JointState(FIRST_VALUE, frozenset({delayed_first_value()})), ())
    for letter in closure.letters:
        state = JointState(initial_state(letter, kind), frozenset(delayed_effects(letter, kind, conduct)))
        if not state.is_past:
            closure.begins[letter] = number(state, (letter,))
    while rest:
        at = rest.popleft()
        state, program = closure.states[at], closure.programs[at]
        for step, letter in enumerate(closure.letters):
            nothing: tuple[frozenset[str], AccessState | None] = (frozenset(), None)
            rules, access = nothing if state.access is None else of_access(state.access, step)
            effects = [of_delayed(delayed, step) for delayed in state.delayed]
            overtakes = any(is_overtaken for is_overtaken, _ in effects)
            closure.hazards.update(rules)
            if bool(rules) != overtakes:
                closure.faults.append(_fault((*program, letter), rules))
            if rules or overtakes:
                closure.follows[at].append(HAZARD)
            elif letter == END:
                closure.follows[at].append(at)  # nothing follows
            else:
                delayed = frozenset(one for _, one in effects if one is not None)
                closure.follows[at].append(number(JointState(access, delayed), (*program, letter)))
    return closure


def _fault(steps: tuple[Step, ...], rules: frozenset[str]) -> str:
    said = ", ".join(sorted(rules)) or "no hazard"
    can = "cannot" if rules else "can"
    return f"{Program(steps)}: {said}, but in the machine the last step {can} overtake an earlier effect"
