"""The state of a location after a program, as small as can be: classes of joint states.

Two joint states of which every continuation closes the same hazards belong to one class. After a program a
location has one class for each earlier access. Of these, a class counts only if no other class *dominates*
it: a class dominates another if every continuation that closes a hazard with the other closes one with it,
too.
"""

from __future__ import annotations

from .closure import HAZARD, Closure

__all__ = ["LocationClasses", "classes"]


class LocationClasses:
    """The states of one location, numbered in the order in which they are found; 0 is the empty program's."""

    def __init__(self, closure: Closure) -> None:
        self.letters = {letter: at for at, letter in enumerate(closure.letters)}
        self._class = classes(closure.follows)
        size = 1 + max(self._class, default=-1)
        member = {self._class[state]: state for state in range(len(self._class))}
        self._follows = [
            [HAZARD if to == HAZARD else self._class[to] for to in closure.follows[member[one]]]
            for one in range(size)
        ]
        self._dominators = _dominators(self._follows)
        self._begins = {self.letters[step]: self._class[state] for step, state in closure.begins.items()}
        self._past = {one for one in range(size) if all(to == one for to in self._follows[one])}
        self.states: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._moves: dict[tuple[int, int], int] = {}
        self._number(set() if closure.first is None else {self._class[closure.first]})

    def move(self, state: int, letter: int) -> int:
        """The state after one more step, or HAZARD if the step closes a hazard."""
        after = self._moves.get((state, letter))
        if after is None:
            following = {self._follows[one][letter] for one in self.states[state]}
            if HAZARD in following:
                after = HAZARD
            else:
                if letter in self._begins:
                    following.add(self._begins[letter])
                after = self._number(following)
            self._moves[state, letter] = after
        return after

    def _number(self, found: set[int]) -> int:
        """The number of a state, given by its classes."""
        left = found - self._past
        state = tuple(sorted(one for one in left if not self._is_dominated(one, left)))
        if state not in self._numbers:
            self._numbers[state] = len(self.states)
            self.states.append(state)
        return self._numbers[state]

    def _is_dominated(self, one: int, others: set[int]) -> bool:
        return any(other != one and self._dominators[one] >> other & 1 for other in others)


def classes(follows: list[list[int]]) -> list[int]:
    """By state the number of its class; no continuation tells two states of one class apart."""
    found = [0] * len(follows)
    count = 0
    while True:
        numbers: dict[tuple[object, ...], int] = {}
        found = [
            numbers.setdefault(
                (found[at], *(HAZARD if to == HAZARD else found[to] for to in row)), len(numbers)
            )
            for at, row in enumerate(follows)
        ]
        if len(numbers) == count:
            return found
        count = len(numbers)


def _dominators(follows: list[list[int]]) -> list[int]:
    """By class, the classes that dominate it, as bits; itself is one of them."""
    size = len(follows)
    found = [(1 << size) - 1] * size
    changed = True
    while changed:
        changed = False
        for one, row in enumerate(follows):
            left = found[one]
            for other in range(size):
                if left >> other & 1 and not _may_dominate(follows[other], row, found):
                    left &= ~(1 << other)
            changed |= left != found[one]
            found[one] = left
    return found


def _may_dominate(row: list[int], dominated: list[int], found: list[int]) -> bool:
    """Whether a class with these next classes may dominate another, given the dominators `found` so far."""
    for to, dominated_to in zip(row, dominated, strict=True):
        if to != HAZARD and (dominated_to == HAZARD or not found[dominated_to] >> to & 1):
            return False
    return True
