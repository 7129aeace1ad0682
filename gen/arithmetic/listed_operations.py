"""Operations on arrays in a list, and the program that runs those which its result needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import array_operations
from .array_operations import WIDE, WIDTHS

__all__ = [
    "ArrayProgram",
    "ArrayStep",
    "ArrayValue",
    "ArrayWord",
    "ListedOperations",
    "key_of",
    "span_of",
    "width_of",
]


@dataclass(frozen=True)
class ArrayWord:
    """A value that differs from job to job, and from product to product if `many`: its place and bounds."""

    slot: int
    low: int
    high: int
    width: int
    many: bool


ArrayValue = int | ArrayWord
_OperationKey = tuple[object, ...]


@dataclass(frozen=True)
class ArrayStep:
    """An operation on the words of a width; where they are read and written."""

    operation: str
    width: int
    function: Callable[..., Any]
    given: tuple[int, ...]
    slot: int
    dead: tuple[int, ...]  # slots that no later step reads


@dataclass(frozen=True)
class ArrayProgram:
    """The operations of a block; each puts an array into its slot.

    `values` has the numbers in their slots. `inputs` are those of A and B, unless the block has no products,
    and of the addends that are not known to be 0. The result is in `output`, or a number if all jobs have it.
    """

    steps: tuple[ArrayStep, ...]
    values: tuple[Any, ...]
    inputs: tuple[int, ...]
    output: int

    def run(self, given: Sequence[Any]) -> Any:
        """The codes of sums, of those of A and B (products, jobs), or (jobs,) of one product, and addends."""
        values = list(self.values)
        for slot, array in zip(self.inputs, given, strict=True):
            values[slot] = array
        for step in self.steps:
            values[step.slot] = step.function(*[values[slot] for slot in step.given])
            for slot in step.dead:
                values[slot] = None
        return values[self.output]


def width_of(high: int) -> int:
    """The least width of words that hold a number."""
    return next(width for width in WIDTHS if high >> width == 0)


@dataclass(frozen=True)
class ListedOperations:
    """The operations met so far; `word` is how many bits every value has at most."""

    word: int
    listed: list[tuple[str, int, tuple[int, ...], int]] = field(default_factory=list)
    made: list[tuple[str, tuple[ArrayValue, ...]]] = field(default_factory=list)  # of what, by slot
    slots: dict[_OperationKey, ArrayWord] = field(default_factory=dict)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)  # slots of numbers, by width

    def input(self, most: int, many: bool) -> ArrayWord:
        return ArrayWord(self._slot(), 0, most, width_of(most), many)

    def _slot(self, made: tuple[str, tuple[ArrayValue, ...]] = ("", ())) -> int:
        self.made.append(made)
        return len(self.made) - 1

    def of(
        self,
        operation: str,
        operands: Sequence[ArrayValue],
        span: tuple[int, int],
        *,
        width: int = 0,
        result: int = 0,
        many: bool | None = None,
    ) -> ArrayValue:
        """The value of an operation in words of the width of its operands and its value, or wider ones."""
        low, high = span[0], min(span[1], (1 << self.word) - 1)
        if low == high:
            return low
        key: _OperationKey = (operation, *map(key_of, operands))
        if key not in self.slots:
            width = max(width, width_of(high), *(width_of(span_of(one)[1]) for one in operands))
            widths, masks = _operand_widths(operation, width, len(operands)), operation in ("where", "taken")
            given = tuple(
                self._mask(one, wanted) if masks and number == 0 else self._place(one, wanted)
                for number, (one, wanted) in enumerate(zip(operands, widths, strict=True))
            )
            varies = (
                any(isinstance(one, ArrayWord) and one.many for one in operands) if many is None else many
            )
            slot = self._slot((operation, tuple(operands)))
            self.listed.append((operation, width, given, slot))
            self.slots[key] = ArrayWord(slot, low, high, result or width, varies)
        return self.slots[key]

    def _place(self, value: ArrayValue, width: int) -> int:
        """The slot of a value in words of a width."""
        if isinstance(value, int):
            return self._number(value, width)
        return value.slot if value.width == width else self._converted(f"as{width}", value)

    def _mask(self, condition: ArrayValue, width: int) -> int:
        """The slot of the words of a width that have all bits where a condition holds, else none."""
        assert isinstance(condition, ArrayWord)
        return self._converted(f"mask{width}", replace(condition, slot=self._place(condition, 8), width=8))

    def _converted(self, operation: str, value: ArrayWord) -> int:
        key = (operation, value.slot)
        if key not in self.slots:
            slot = self._slot()
            self.listed.append((operation, value.width, (value.slot,), slot))
            self.slots[key] = replace(value, slot=slot)
        return self.slots[key].slot

    def _number(self, value: int, width: int) -> int:
        if (value, width) not in self.numbers:
            self.numbers[value, width] = self._slot()
        return self.numbers[value, width]

    def maximum(self, one: ArrayValue, other: ArrayValue) -> ArrayValue:
        """The other, where it is greater."""
        (a, b), (c, d) = span_of(one), span_of(other)
        if a >= d or c >= b:
            return one if a >= d else other
        return self.of("maximum", (one, other), (max(a, c), max(b, d)))

    def program(self, inputs: Sequence[int], output: ArrayValue) -> ArrayProgram:
        """What the output needs, in order."""
        last = self._place(output, width_of(span_of(output)[1]))
        needed, steps = {last}, list[ArrayStep]()
        for operation, width, given, slot in reversed(self.listed):
            if slot in needed:
                dead = tuple(sorted(set(given) - needed - set(self.numbers.values())))
                needed |= set(given)
                function = array_operations.function_of(operation, width)
                steps.append(ArrayStep(operation, width, function, given, slot, dead))
        values: list[Any] = [None] * len(self.made)
        for (number, width), slot in self.numbers.items():
            values[slot] = array_operations.typed(number, width)
        return ArrayProgram(tuple(reversed(steps)), tuple(values), tuple(inputs), last)


def _operand_widths(operation: str, width: int, count: int) -> tuple[int, ...]:
    """Of wide words, factors, masks and the amounts of shifts have 64 bits."""
    narrow = WIDE // 2 if width == WIDE else width
    if operation in ("*", "power"):
        return (narrow,) * count
    if operation in ("where", "taken"):
        return (narrow, *[width] * (count - 1))
    return (width, narrow) if operation in ("<<", ">>", "low") else (width,) * count


def key_of(value: ArrayValue) -> object:
    return value if isinstance(value, int) else ("slot", value.slot)


def span_of(value: ArrayValue) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value.low, value.high)
