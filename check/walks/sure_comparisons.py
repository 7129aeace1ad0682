"""Comparisons that hold, or do not, whatever an unknown number is: `16 >= min(x, 16)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ptx.decode import DecodedFunction
from ..ptx.operands import number_of

__all__ = ["SureComparison", "sure_comparison"]

_LARGER = frozenset(("gt", "ge", "hi", "hs"))  # true where the first source is the larger one
_SMALLER = frozenset(("lt", "le", "lo", "ls"))


class SureComparison(NamedTuple):
    """A comparison of which source `place` is the smaller or the larger of a `number` and something else.
    Where the result with the number itself is `sure`, it is so with every other one that may stand there.
    """

    place: int
    number: int
    sure: int


def sure_comparison(
    code: DecodedFunction, words: Sequence[str], sources: Sequence[int | str]
) -> SureComparison | None:
    """What is sure about a comparison, by the words of its opcode and its sources; None if nothing is."""
    if (
        words[0] != "setp"
        or len(sources) != 2
        or words[1] not in _LARGER | _SMALLER
        or words[-1][0] not in "us"
    ):
        return None
    for place, source in enumerate(sources):
        made = code.definitions.get(source, ()) if isinstance(source, str) else ()
        if len(made) != 1:
            continue
        extreme, one = code.operation(made[0]).words, code[made[0]]
        if extreme not in (("min", words[-1]), ("max", words[-1])) or one.guard is not None:
            continue
        for text in one.operands[1:]:
            if (number := number_of(text)) is not None:
                is_larger = (place == 1) == (extreme[0] == "min")
                return SureComparison(place, number, int((words[1] in _LARGER) == is_larger))
    return None
