"""Operations of the expression language on arrays of words, of which each does the same to every element.

Words have 8, 16, 32 or 64 bits; those of 128 bits are pairs of arrays, the high halves first. Operands have
one width, and truth values are words of 8 bits, 0 or 1. Nothing branches: numpy's own `where` is ten times as
slow as a mask. A shift by the width or more gives 0, as numpy has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

__all__ = ["WIDE", "WIDTHS", "function_of", "typed"]

_ArrayOfWords = Any  # an array or a number of numpy
_PairOfArrays = tuple[_ArrayOfWords, _ArrayOfWords]
_ArrayFunction = Callable[..., Any]

WIDE = 128
WIDTHS = (8, 16, 32, 64, WIDE)
_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_HALF = 64
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO, _ONE, _BY, _BITS = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(_HALF)
# Of an IEEE 754 number of 64 bits: where its exponent begins, and the exponent of 1/2.
_EXPONENT, _POINT_FIVE = np.uint64(52), np.uint64(1022)


def typed(value: int, width: int) -> _ArrayOfWords:
    """A number as the words of a width have it."""
    if width == WIDE:
        return np.uint64(value >> _HALF), np.uint64(value & int(_ALL))
    return _TYPES[width](value)


def function_of(operation: str, width: int) -> _ArrayFunction:
    """The function of an operation on words of a width.

    `as16` gives words of 16 bits, and `mask16` of truth values the words of 16 bits that have all bits, or
    none; `where` and `taken` are given such masks for conditions.
    """
    if operation.startswith("as"):
        return _cast(width, int(operation.removeprefix("as")))
    if operation.startswith("mask"):
        return _mask(int(operation.removeprefix("mask")))
    return (_OF_PAIRS if width == WIDE else _OF_WORDS)[operation]


def _cast(width: int, wanted: int) -> _ArrayFunction:
    if wanted == WIDE:
        return lambda words: (_ZERO, words.astype(np.uint64))
    kind = _TYPES[wanted]
    return (lambda pair: pair[1].astype(kind)) if width == WIDE else lambda words: words.astype(kind)


def _mask(wanted: int) -> _ArrayFunction:
    """Of all bits where words of 8 bits are 1: their negative, with its sign extended."""
    kind, signed = _TYPES[wanted], f"i{wanted // 8}"
    return lambda truth: np.negative(truth).view("i1").astype(signed).view(kind)


def _compared(compare: _ArrayFunction) -> _ArrayFunction:
    return lambda a, b: compare(a, b).view(np.uint8)


def _where(mask: _ArrayOfWords, then: _ArrayOfWords, otherwise: _ArrayOfWords) -> _ArrayOfWords:
    found = then ^ otherwise
    found = found & mask if found.ndim < mask.ndim else np.bitwise_and(found, mask, out=found)
    found ^= otherwise
    return found


def _difference(a: _ArrayOfWords, b: _ArrayOfWords) -> _ArrayOfWords:
    """a - b where a is greater, else 0."""
    found = np.maximum(a, b)
    found -= b
    return found


def _bits(words: _ArrayOfWords) -> _ArrayOfWords:
    """Below the first digit of a number stands 0 here, so that it is not rounded to one of more digits."""
    rest = words >> words.dtype.type(1)
    np.invert(rest, out=rest)
    rest &= words
    found = rest.astype(np.float64).view(np.uint64)
    found >>= _EXPONENT
    np.maximum(found, _POINT_FIVE, out=found)
    found -= _POINT_FIVE
    return found.astype(np.uint8)


def _greatest(words: _ArrayOfWords) -> _ArrayOfWords:
    return words.max(axis=0)


def _total(words: _ArrayOfWords) -> _ArrayOfWords:
    return np.add.reduce(words, axis=0, dtype=words.dtype)


def _scaled(words: _ArrayOfWords, by: _ArrayOfWords, mask: _ArrayOfWords) -> _ArrayOfWords:
    """words << by & mask"""
    found = words << by
    found &= mask
    return found


_MASK = _mask(_HALF)
_ORDERS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_OF_WORDS: Mapping[str, _ArrayFunction] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
    **{op: _compared(compare) for op, compare in _ORDERS.items()},
    "where": _where,
    "taken": np.bitwise_and,
    "difference": _difference,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "bits": _bits,
    "scaled": _scaled,
    "greatest": _greatest,
    "total": _total,
}


def _wide_add(a: _PairOfArrays, b: _PairOfArrays) -> _PairOfArrays:
    low = a[1] + b[1]
    high = (low < a[1]).astype(np.uint64)
    high += a[0]
    high += b[0]
    return high, low


def _wide_subtract(a: _PairOfArrays, b: _PairOfArrays) -> _PairOfArrays:
    high = a[0] - (a[1] < b[1]).astype(np.uint64)
    high -= b[0]
    return high, a[1] - b[1]


def _wide_multiply(a: _ArrayOfWords, b: _ArrayOfWords) -> _PairOfArrays:
    """The product of words of 64 bits."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _BY, b & _LOW, b >> _BY
    first, second = a_low * b_high, a_high * b_low
    middle = a_low * b_low
    middle >>= _BY
    middle += first & _LOW
    middle += second & _LOW
    found = a_high * b_high
    for part in (first, second, middle):
        part >>= _BY
        found += part
    return found, a * b


def _wide_left(words: _PairOfArrays, by: _ArrayOfWords) -> _PairOfArrays:
    """`by`, here and below, has 64 bits; where 64 - by or by - 64 is negative, it shifts everything away."""
    high, low = words
    if by.ndim == 0 and by < _BITS:
        return (low >> _BITS - by if high is _ZERO else high << by | low >> _BITS - by), low << by
    found = low << by - _BITS
    if high is not _ZERO:
        found |= high << by
    found |= low >> _BITS - by
    return found, low << by


def _wide_right(words: _PairOfArrays, by: _ArrayOfWords) -> _PairOfArrays:
    high, low = words
    found = high >> by - _BITS
    found |= high << _BITS - by
    found |= low >> by
    return high >> by, found


def _wide_power(by: _ArrayOfWords) -> _PairOfArrays:
    """1 << by"""
    return _ONE << by - _BITS, _ONE << by


def _wide_low(words: _PairOfArrays, count: _ArrayOfWords) -> _PairOfArrays:
    """words & (1 << count) - 1"""
    high, low = _ALL >> _BITS + _BITS - count, ~(_ALL << count)
    return words[0] & high, words[1] & low


def _wide_less(a: _PairOfArrays, b: _PairOfArrays) -> _ArrayOfWords:
    return ((a[0] < b[0]) | (a[0] == b[0]) & (a[1] < b[1])).view(np.uint8)


def _wide_equal(a: _PairOfArrays, b: _PairOfArrays) -> _ArrayOfWords:
    return ((a[0] == b[0]) & (a[1] == b[1])).view(np.uint8)


def _negated(compare: _ArrayFunction) -> _ArrayFunction:
    return lambda a, b: compare(a, b) ^ np.uint8(1)


def _swapped(compare: _ArrayFunction) -> _ArrayFunction:
    return lambda a, b: compare(b, a)


def _by_halves(operation: _ArrayFunction) -> _ArrayFunction:
    return lambda a, b: (operation(a[0], b[0]), operation(a[1], b[1]))


def _wide_where(mask: _ArrayOfWords, then: _PairOfArrays, otherwise: _PairOfArrays) -> _PairOfArrays:
    return _where(mask, then[0], otherwise[0]), _where(mask, then[1], otherwise[1])


def _wide_taken(mask: _ArrayOfWords, then: _PairOfArrays) -> _PairOfArrays:
    return then[0] & mask, then[1] & mask


def _wide_difference(a: _PairOfArrays, b: _PairOfArrays) -> _PairOfArrays:
    return _wide_taken(_MASK(_wide_less(b, a)), _wide_subtract(a, b))


def _wide_minimum(a: _PairOfArrays, b: _PairOfArrays) -> _PairOfArrays:
    return _wide_where(_MASK(_wide_less(a, b)), a, b)


def _wide_maximum(a: _PairOfArrays, b: _PairOfArrays) -> _PairOfArrays:
    return _wide_where(_MASK(_wide_less(a, b)), b, a)


def _wide_bits(words: _PairOfArrays) -> _ArrayOfWords:
    above = (words[0] > _ZERO).view(np.uint8)
    found = _bits(_where(_MASK(above), *words))
    found += above << np.uint8(6)
    return found


def _rows(take: _ArrayFunction) -> _ArrayFunction:
    """A reduction along the first axis."""
    return lambda words: reduce(take, zip(*np.broadcast_arrays(*words), strict=True))


_OF_PAIRS: Mapping[str, _ArrayFunction] = {
    "+": _wide_add,
    "-": _wide_subtract,
    "*": _wide_multiply,
    "&": _by_halves(np.bitwise_and),
    "|": _by_halves(np.bitwise_or),
    "^": _by_halves(np.bitwise_xor),
    "<<": _wide_left,
    ">>": _wide_right,
    "==": _wide_equal,
    "!=": _negated(_wide_equal),
    "<": _wide_less,
    "<=": _negated(_swapped(_wide_less)),
    ">": _swapped(_wide_less),
    ">=": _negated(_wide_less),
    "where": _wide_where,
    "taken": _wide_taken,
    "difference": _wide_difference,
    "minimum": _wide_minimum,
    "maximum": _wide_maximum,
    "low": _wide_low,
    "power": _wide_power,
    "bits": _wide_bits,
    "greatest": _rows(_wide_maximum),
    "total": _rows(_wide_add),
}
