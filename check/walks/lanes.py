"""Numbers of many threads at once: one for all of them, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

from ..values.arithmetic import computed, rule_of

__all__ = ["LaneMath", "LaneNumbers", "Numbers", "number_at"]


class LaneNumbers:
    """A number for each thread, None where it is unknown. Equal ones are one object (`LaneMath.joined`)."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[int | None, ...]) -> None:
        self.values = values


Numbers = int | LaneNumbers | None  # the same in all threads, or one for each, or unknown


def number_at(numbers: Numbers, lane: int) -> int | None:
    """The number of one thread."""
    return numbers.values[lane] if isinstance(numbers, LaneNumbers) else numbers


class LaneMath:
    """Arithmetic on the numbers of some threads; every result is computed once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._made: dict[tuple[int | None, ...], LaneNumbers] = {}
        self._computed: dict[tuple[tuple[str, ...], tuple[Numbers, ...]], Numbers] = {}

    def joined(self, values: Iterable[int | None]) -> Numbers:
        """The numbers of all threads, given in their order."""
        known = tuple(values)
        if known.count(known[0]) == len(known):
            return known[0]
        found = self._made.get(known)
        if found is None:
            found = self._made[known] = LaneNumbers(known)
        return found

    def computed(self, words: tuple[str, ...], sources: Sequence[Numbers]) -> Numbers:
        """The result of an instruction, by the words of its opcode and its sources."""
        if not any(isinstance(source, LaneNumbers) for source in sources):
            return computed(words, [None if isinstance(s, LaneNumbers) else s for s in sources])
        key = words, tuple(sources)
        if key not in self._computed:
            self._computed[key] = self._each(words, sources)
        return self._computed[key]

    def _each(self, words: tuple[str, ...], sources: Sequence[Numbers]) -> Numbers:
        columns = [s.values if isinstance(s, LaneNumbers) else repeat(s, self.count) for s in sources]
        rows = list(zip(*columns, strict=True))
        rule = rule_of(words, len(sources))
        if rule is None:
            return self.joined(computed(words, row) for row in rows)
        return self.joined(computed(words, row) if None in row else rule(*row) for row in rows)

    def chosen(self, lanes: Sequence[int], new: Numbers, old: Numbers) -> Numbers:
        """The new numbers in some threads, and the old ones in the others."""
        if new is old or len(lanes) == self.count:
            return new
        values = list(old.values) if isinstance(old, LaneNumbers) else [old] * self.count
        if isinstance(new, LaneNumbers):
            for lane in lanes:
                values[lane] = new.values[lane]
        else:
            for lane in lanes:
                values[lane] = new
        return self.joined(values)
