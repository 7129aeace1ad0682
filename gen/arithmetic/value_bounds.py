"""The least and the greatest value of parts of formulas, for those who choose words that hold them.

The loader has proven that no value is negative or exceeds its word. Bounds hold wherever a value is taken:
in a branch that is not taken, it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...spec.arithmetic_bounds import Span

__all__ = ["bounds_of", "decided"]

_FAR = 128  # no value is shifted farther

_BOUNDS: Mapping[str, Callable[[int, int, int, int], Span]] = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "*": lambda a, b, c, d: (a * c, b * d),
    "//": lambda a, b, c, d: (a // max(1, d), b // max(1, c)),
    "%": lambda a, b, c, d: (0, min(b, max(0, d - 1))),
    "&": lambda a, b, c, d: (0, min(b, d)),
    "|": lambda a, b, c, d: (max(a, c), (1 << max(b.bit_length(), d.bit_length())) - 1),
    "^": lambda a, b, c, d: (0, (1 << max(b.bit_length(), d.bit_length())) - 1),
    "<<": lambda a, b, c, d: (a << min(c, _FAR), b << min(d, _FAR)),
    ">>": lambda a, b, c, d: (a >> d, b >> c),
}
_DECIDED: Mapping[str, Callable[[int, int, int, int], bool | None]] = {
    "<": lambda a, b, c, d: True if b < c else False if a >= d else None,
    "<=": lambda a, b, c, d: True if b <= c else False if a > d else None,
    ">": lambda a, b, c, d: True if a > d else False if b <= c else None,
    ">=": lambda a, b, c, d: True if a >= d else False if b < c else None,
    "==": lambda a, b, c, d: False if b < c or d < a else True if a == b == c == d else None,
    "!=": lambda a, b, c, d: True if b < c or d < a else False if a == b == c == d else None,
}


def bounds_of(op: str, left: Span, right: Span, word: int) -> Span:
    """The bounds of an operation, by those of its operands, in a word of so many bits."""
    low, high = _BOUNDS[op](*left, *right)
    most = (1 << word) - 1
    return min(max(0, low), most), min(max(0, high), most)


def decided(op: str, left: Span, right: Span) -> bool | None:
    """Whether a comparison holds for all values of its operands, or for none; None for some."""
    return _DECIDED[op](*left, *right)
