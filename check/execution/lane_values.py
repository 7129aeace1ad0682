"""Numbers that differ between threads: computed for a thread when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..values.arithmetic import computed

__all__ = ["LaneNumber", "LaneValue", "at", "combined"]

_DEEPEST = 48  # operations behind one another before they are computed at once


class LaneValue:
    """A number for each thread; None where it is unknown."""

    __slots__ = ("_known", "_make", "depth", "parts")

    def __init__(self, make: Callable[[int], int | None], depth: int = 1) -> None:
        self._make = make
        self._known: dict[int, int | None] = {}
        self.depth = depth
        self.parts: dict[tuple[int, ...], Mapping[int | None, tuple[int, ...]]] = {}

    def at(self, thread: int) -> int | None:
        """The number of a thread."""
        if thread not in self._known:
            self._known[thread] = self._make(thread)
        return self._known[thread]

    def by_value(self, threads: tuple[int, ...]) -> Mapping[int | None, tuple[int, ...]]:
        """Threads by their number."""
        found = self.parts.get(threads)
        if found is None:
            made: dict[int | None, list[int]] = {}
            for thread in threads:
                made.setdefault(self.at(thread), []).append(thread)
            found = self.parts[threads] = {value: tuple(some) for value, some in made.items()}
        return found


LaneNumber = int | LaneValue | None


def at(value: LaneNumber, thread: int) -> int | None:
    """The number that a thread has."""
    return value.at(thread) if isinstance(value, LaneValue) else value


def combined(words: tuple[str, ...], values: Sequence[LaneNumber], threads: tuple[int, ...]) -> LaneNumber:
    """The result of an instruction for some threads."""
    deep = [value.depth for value in values if isinstance(value, LaneValue)]
    if not deep:
        return computed(words, [value for value in values if not isinstance(value, LaneValue)])
    made = LaneValue(lambda thread: computed(words, [at(value, thread) for value in values]), 1 + max(deep))
    return shallow(made, threads)


def shallow(made: LaneValue, threads: tuple[int, ...]) -> LaneValue:
    """The same value, computed now if it is the result of many operations."""
    if made.depth <= _DEEPEST:
        return made
    known = {thread: made.at(thread) for thread in threads}
    return LaneValue(known.get)
