"""Numbers of many threads at once: one for all of them, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .arithmetic import DECIDED, computed, rule_of
from .block_threads import Threads
from .opcode_kind import ArithmeticRule
from .word_algebra import FIELD, WORD, NoResultError, packed_words

__all__ = ["LaneMath", "LaneNumbers", "Numbers", "by_number", "lane_math", "number_at", "some_surely"]

_BYTES = FIELD // 8
_WORDS = FIELD // WORD
_LOW = (1 << WORD) - 1
_ONES = (1 << FIELD) - 1


class LaneNumbers:
    """A number for each thread, as one packed word (word_algebra.py). A field of `unknown` is 1 where the
    number is not known. Equal ones have the same numbers; the hash of so large a number is computed once.
    """

    __slots__ = ("_hash", "_parts", "_true", "_values", "count", "packed", "unknown")

    def __init__(self, packed: int, unknown: int, count: int) -> None:
        self.packed = packed
        self.unknown = unknown
        self.count = count
        self._hash: int | None = None
        self._values: tuple[int | None, ...] | None = None
        self._parts: dict[tuple[int, ...], Mapping[int | None, Threads]] | None = None
        self._true: tuple[int, int] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, LaneNumbers):
            return NotImplemented
        if self.packed != other.packed:
            return False
        return self.unknown == other.unknown and self.count == other.count

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.packed, self.unknown))
        return self._hash

    @property
    def values(self) -> tuple[int | None, ...]:
        """The number of each thread; None where it is unknown."""
        if self._values is None:
            self._values = tuple(_fields(self.packed, self.count))
            if self.unknown:
                flags = _fields(self.unknown, self.count)
                self._values = tuple(
                    None if flag else value for value, flag in zip(self._values, flags, strict=True)
                )
        return self._values

    @property
    def true_fields(self) -> tuple[int, int]:
        """Of a flag: a bit, and all bits, of the field of each thread where it is 1."""
        if self._true is None:
            where = self.packed & packed_words(self.count).ones
            self._true = where, where * _ONES
        return self._true

    def at(self, lane: int) -> int | None:
        """The number of one thread."""
        if self._values is not None:
            return self._values[lane]
        if self.unknown and self.unknown >> FIELD * lane & 1:
            return None
        return self.packed >> FIELD * lane & _LOW

    def by_value(self, lanes: tuple[int, ...]) -> Mapping[int | None, Threads]:
        """Some threads by their number."""
        if self._parts is None:
            self._parts = {}
        found = self._parts.get(lanes)
        if found is None:
            made: dict[int | None, list[int]] = {}
            values = self.values
            for lane in lanes:
                made.setdefault(values[lane], []).append(lane)
            found = self._parts[lanes] = {value: Threads(some) for value, some in made.items()}
        return found


Numbers = int | LaneNumbers | None  # the same in all threads, or one for each, or unknown


def number_at(numbers: Numbers, lane: int) -> int | None:
    """The number of one thread."""
    return numbers.at(lane) if isinstance(numbers, LaneNumbers) else numbers


def by_number(numbers: Numbers, threads: tuple[int, ...]) -> Mapping[int | None, tuple[int, ...]]:
    """Some threads by their number."""
    return numbers.by_value(threads) if isinstance(numbers, LaneNumbers) else {numbers: threads}


def _fields(packed: int, count: int) -> list[int]:
    """The lower word of each field."""
    return memoryview(packed.to_bytes(count * _BYTES, "little")).cast("Q").tolist()[::_WORDS]


class LaneMath:
    """Arithmetic on the numbers of so many threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = packed_words(count)
        self._last = FIELD * (count - 1)  # the place of the last thread's number
        self._flags: dict[tuple[int, ...], LaneNumbers] = {}

    def joined(self, values: Iterable[int | None]) -> Numbers:
        """The numbers of all threads, given in their order."""
        known = list(values)
        if known.count(known[0]) == len(known):
            return known[0]
        packed = int.from_bytes(b"".join([(v or 0).to_bytes(_BYTES, "little") for v in known]), "little")
        unknown = 0
        if None in known:
            unknown = self.flags(tuple(lane for lane, value in enumerate(known) if value is None)).packed
        return LaneNumbers(packed, unknown, self.count)

    def flags(self, lanes: tuple[int, ...]) -> LaneNumbers:
        """A flag that is 1 in some threads."""
        found = self._flags.get(lanes)
        if found is None:
            fields = bytearray(self.count * _BYTES)
            for lane in lanes:
                fields[lane * _BYTES] = 1
            found = self._flags[lanes] = LaneNumbers(int.from_bytes(fields, "little"), 0, self.count)
        return found

    def made(self, packed: int, unknown: int = 0) -> Numbers:
        """Packed numbers; one number where all are the same."""
        if not unknown:
            first = packed & _ONES
            if first == packed >> self._last and first * self.words.ones == packed:
                return first
        elif unknown == self.words.ones:
            return None
        return LaneNumbers(packed, unknown, self.count)

    def packed(self, numbers: int | LaneNumbers) -> int:
        """Numbers as a packed word."""
        if isinstance(numbers, LaneNumbers):
            return numbers.packed
        return numbers * self.words.ones if numbers else 0

    def computed(
        self, words: tuple[str, ...], sources: Sequence[Numbers], rule: ArithmeticRule | None = None
    ) -> Numbers:
        """The result of an instruction, by the words of its opcode and its sources. `rule` is its rule, where
        it is known.
        """
        unknown, ones = 0, self.words.ones
        packed: list[int] = []
        single = 0
        for source in sources:
            if isinstance(source, LaneNumbers):
                unknown |= source.unknown
                packed.append(source.packed)
            else:
                single += 1
                if source is not None:
                    packed.append(source * ones)
        if single == len(sources):
            return computed(words, [source for source in sources if not isinstance(source, LaneNumbers)])
        is_open = len(packed) < len(sources)  # a source is unknown in all threads
        if is_open or unknown:
            if words[0] == "selp" and len(sources) == 3:
                return self.chosen(sources[2], sources[0], sources[1])
            if words[0] in DECIDED and words[-1] == "pred":
                return self._each(words, sources)
            if is_open:
                return None
        rule = rule or rule_of(words, len(sources))
        if rule is None:
            return None
        try:
            return self.made(rule(self.words, *packed), unknown)
        except NoResultError:
            return self._each(words, sources)

    def _each(self, words: tuple[str, ...], sources: Sequence[Numbers]) -> Numbers:
        """The same, thread by thread."""
        columns = [s.values if isinstance(s, LaneNumbers) else (s,) * self.count for s in sources]
        return self.joined(computed(words, row) for row in zip(*columns, strict=True))

    def negated(self, flag: Numbers) -> Numbers:
        """The negation of a predicate."""
        if isinstance(flag, LaneNumbers):
            ones = self.words.ones
            return LaneNumbers(flag.packed & ones ^ ones, flag.unknown, self.count)
        return None if flag is None else 1 - (flag & 1)

    def chosen(self, flag: Numbers, new: Numbers, old: Numbers) -> Numbers:
        """The new numbers where a flag is 1, the old ones where it is 0; unknown where it is unknown."""
        if not isinstance(flag, LaneNumbers):
            return None if flag is None else new if flag & 1 else old
        if new is old and not flag.unknown:
            return new
        where, mask = flag.true_fields
        (first, unknown), (second, others) = self._parts(new), self._parts(old)
        packed = second ^ (first ^ second) & mask
        if unknown != others:
            unknown = others ^ (unknown ^ others) & where
        return self.made(packed, flag.unknown | unknown)

    def _parts(self, numbers: Numbers) -> tuple[int, int]:
        """Numbers as a packed word, and where they are not known."""
        if isinstance(numbers, LaneNumbers):
            return numbers.packed, numbers.unknown
        ones = self.words.ones
        return (0, ones) if numbers is None else (numbers * ones if numbers else 0, 0)

    def both(self, one: Numbers, other: Numbers) -> Numbers:
        """A flag: whether both are 1."""
        if not isinstance(one, LaneNumbers) and one == 1:
            return other
        if not isinstance(other, LaneNumbers) and other == 1:
            return one
        return self.computed(("and", "pred"), (one, other))


@lru_cache(maxsize=64)
def lane_math(count: int) -> LaneMath:
    """The arithmetic of so many threads."""
    return LaneMath(count)


def some_surely(flag: Numbers) -> bool:
    """Whether a flag is surely 1 in some thread."""
    return 1 in flag.values if isinstance(flag, LaneNumbers) else flag == 1
