"""Say how many there are of something (`1 operand`, `4 operands`), and which of some integers is meant."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["counted", "counted_state", "one_of"]

_LISTED = 4  # so many consecutive integers are listed


def counted(count: int, what: str) -> str:
    """A number with its noun, which gets an s unless the number is 1."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def one_of(values: Sequence[object]) -> str:
    """The values to choose from: `0 or 1`; many in equal steps are `0 to 15`, `8 to 256 in steps of 8`."""
    numbers = [value for value in values if isinstance(value, int)]
    if len(values) > _LISTED and len(numbers) == len(values):
        first, last, step = numbers[0], numbers[-1], numbers[1] - numbers[0]
        if step > 0 and numbers == list(range(first, last + 1, step)):
            return f"{first} to {last}{f' in steps of {step}' if step > 1 else ''}"
    return " or ".join(map(str, values))


def counted_state(count: int, state: str) -> str:
    """How many are in a state, as a person says it: `1 differs`, `2 differ`, `2 stale`."""
    return f"{count} {state.removesuffix('s') if count != 1 else state}"
