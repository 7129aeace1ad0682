"""The state of a location after a program: the joint states of its accesses, as few as tell programs apart.

Joint states of closure.py that no continuation tells apart are one class. Of several accesses only those
count that no other outdoes: a class outdoes another when every continuation that closes a hazard with the
other closes one with it.
"""

from __future__ import annotations

from .closure import BROKEN, Closure

__all__ = ["Chart", "classes"]


class Chart:
    """The states of one location, numbered as they are come to; 0 is that of the empty program."""

    def __init__(self, closure: Closure) -> None:
        self.letters = {letter: at for at, letter in enumerate(closure.letters)}
        self._class = classes(closure.follows)
        size = 1 + max(self._class, default=-1)
        some = {self._class[state]: state for state in range(len(self._class))}
        self._follows = [
            [BROKEN if to == BROKEN else self._class[to] for to in closure.follows[some[one]]]
            for one in range(size)
        ]
        self.size = size
        self._outdone = _outdone(self._follows)
        self._begins = {self.letters[step]: self._class[state] for step, state in closure.begins.items()}
        self._over = {one for one in range(size) if all(to == one for to in self._follows[one])}
        self.states: list[tuple[int, ...]] = []
        self._number: dict[tuple[int, ...], int] = {}
        self._moves: dict[tuple[int, int], int] = {}
        self._place(set() if closure.first is None else {self._class[closure.first]})

    def move(self, state: int, letter: int) -> int:
        """The state one step later, or BROKEN where the step closes a hazard."""
        known = self._moves.get((state, letter))
        if known is None:
            following = {self._follows[one][letter] for one in self.states[state]}
            if BROKEN in following:
                known = BROKEN
            else:
                if letter in self._begins:
                    following.add(self._begins[letter])
                known = self._place(following)
            self._moves[state, letter] = known
        return known

    def _place(self, classes: set[int]) -> int:
        left = classes - self._over
        least = tuple(
            sorted(one for one in left if not any(o != one and self._outdone[one] >> o & 1 for o in left))
        )
        if least not in self._number:
            self._number[least] = len(self.states)
            self.states.append(least)
        return self._number[least]


def classes(follows: list[list[int]]) -> list[int]:
    """By state its class: states in one class are told apart by no continuation."""
    found = [0] * len(follows)
    count = 0
    while True:
        numbers: dict[tuple[object, ...], int] = {}
        found = [
            numbers.setdefault(
                (found[at], *(BROKEN if to == BROKEN else found[to] for to in row)), len(numbers)
            )
            for at, row in enumerate(follows)
        ]
        if len(numbers) == count:
            return found
        count = len(numbers)


def _outdone(follows: list[list[int]]) -> list[int]:
    """By class the classes, as bits, that outdo it; itself is among them, and no other that it outdoes."""
    size = len(follows)
    found = [(1 << size) - 1] * size
    changed = True
    while changed:
        changed = False
        for one, row in enumerate(follows):
            left = found[one]
            for other in range(size):
                if left >> other & 1 and not _is_outdone(row, follows[other], found):
                    left &= ~(1 << other)
            changed |= left != found[one]
            found[one] = left
    return found


def _is_outdone(row: list[int], other: list[int], found: list[int]) -> bool:
    for mine, theirs in zip(row, other, strict=True):
        if theirs != BROKEN and (mine == BROKEN or not found[mine] >> theirs & 1):
            return False
    return True
