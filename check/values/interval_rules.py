"""The result of an instruction for intervals: it contains every result for numbers in the intervals.

A rule takes the words of an opcode and the intervals of the sources, none of them empty. It returns TOP if
nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .interval import TOP, Interval, address_encoding, between
from .opcode_kind import bits_of

__all__ = ["RULES", "IntervalRule"]

OpcodeWords = tuple[str, ...]
_LOW = (1 << 32) - 1
_NEAR = 1 << 20  # a smaller number that is or-ed to an address counts as an offset in shared memory


class IntervalRule(NamedTuple):
    """The least number of sources of an instruction, and the function that computes its result."""

    sources: int
    apply: Callable[[OpcodeWords, Sequence[Interval]], Interval]


def _first(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    return sources[0]


def _convert(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    value = sources[0]
    if len(words) < 3:
        return TOP  # the types do not stand
    to, source = words[-2:]
    if to[0] not in "usb" or source[0] not in "usb":
        return TOP
    bits = int(to[1:]) if to[1:].isdigit() else 0
    fits = bits and value.low >= 0 and value.high < (1 << (bits - 1))
    if not value.is_plain or fits or (to, source) == ("s64", "s32") or to == source:
        return value
    return between(0, (1 << bits) - 1) if to[0] == "u" and bits <= 32 else TOP


def _add(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, right = _address_first(sources)
    if right.base is not None or (left.shift and right.shift):
        return TOP
    number = right.constant
    if number is not None and number > _LOW and left.is_plain:
        return TOP
    if number is not None and left.shift and not left.fields:
        fields = address_encoding().nearest_fields(number)
        known = None if left.fields is None else fields
        return replace(left, fields=known).plus(number - fields, number - fields)
    return left.plus(right.low, right.high)


def _subtract(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, right = sources[:2]
    return TOP if right.base is not None else left.plus(-right.high, -right.low)


def _multiply(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    return sources[0].times(sources[1]) if _multiplies(words, sources) else TOP


def _multiply_and_add(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    if not _multiplies(words, sources):
        return TOP
    product = sources[0].times(sources[1])
    return sources[2].plus(product.low, product.high)


def _multiplies(words: OpcodeWords, sources: Sequence[Interval]) -> bool:
    """Whether the instruction gives the lower half of a product of integers."""
    return "hi" not in words and words[-1][0] != "f" and sources[0].is_plain and sources[1].is_plain


def _shift_left(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, amount = sources[0], sources[1].constant
    if amount is None or left.base or not 0 <= amount < 32:
        return TOP
    if left.shift:
        return replace(left, shift=left.shift - amount) if amount <= left.shift else TOP
    return left.times(Interval(1 << amount, 1 << amount))


def _shift_right(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, amount = sources[0], sources[1].constant
    if amount is None or not 0 <= amount < 64:
        return TOP
    if left.base is not None:
        encodes = left.shift + amount == address_encoding().dropped
        return replace(left, shift=left.shift + amount) if encodes else TOP
    if left.shift:
        return TOP
    if left.low < 0 and words[-1][0] != "s":
        return between(0, (1 << bits_of(words)) - 1 >> amount)
    return between(left.low >> amount, left.high >> amount, 0)


def _extract(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    value, low, count = sources[0], sources[1].constant, sources[2].constant
    if low is None or count is None or not 0 < count < 32:
        return TOP
    if value.base is not None:
        encoding = address_encoding()
        encodes = low == encoding.dropped and count >= encoding.kept and not value.shift
        return replace(value, shift=encoding.dropped) if encodes else TOP
    if words[-1][0] == "s":
        return between(-(1 << count - 1), (1 << count - 1) - 1)
    high = (1 << count) - 1
    fits = value.low >= 0 and value.high >> low <= high
    return Interval(0, value.high >> low if fits else high)


def _and(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, right = _address_first(sources)
    if left.base is not None:
        mask, encoding = right.constant, address_encoding()
        wanted = encoding.mask << encoding.dropped >> left.shift
        return left if mask is not None and mask & wanted == wanted else TOP
    bounds = [value.high for value in (left, right) if value.low >= 0]
    if not bounds:
        return TOP
    return Interval(0, min(bounds), fields=None if min(bounds) > _LOW else 0)


def _or(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, right = _address_first(sources)
    differs = words[0] == "xor"
    if left.base is not None and right.is_plain:
        return _or_to_address(left, right, differs)
    if not (left.is_plain and right.is_plain) or min(left.low, right.low) < 0:
        return TOP
    a, b = left.constant, right.constant
    if a is not None and b is not None:
        number = a ^ b if differs else a | b
        return Interval(number, number)
    return between(0 if differs else max(left.low, right.low), _ones(max(left.high, right.high)))


def _or_to_address(left: Interval, right: Interval, differs: bool) -> Interval:
    """An `or` that sets fields above an encoded address, or sets an offset in an aligned address."""
    number, encoding = right.constant, address_encoding()
    if left.shift and number is not None and not number & encoding.mask:
        return replace(left, fields=None if left.fields is None else left.fields | encoding.fields(number))
    if right.low < 0 or right.high >= _NEAR:
        return TOP
    width = _ones(right.high)
    below = width if differs else 0
    return left.plus(-(below >> left.shift), width >> left.shift)


def _select(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    return sources[0].join(sources[1])


def _extreme(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, right = sources[:2]
    if left.base or right.base or words[-1][0] == "f":
        return TOP
    choose: Callable[[int, int], int] = min if words[0] == "min" else max
    return between(choose(left.low, right.low), choose(left.high, right.high))


def _divide(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, number = sources[0], sources[1].constant
    if number is None or number <= 0 or left.base or left.low < 0:
        return TOP
    return between(left.low // number, left.high // number)


def _remainder(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    left, number = sources[0], sources[1].constant
    if number is None or number <= 0 or left.base:
        return TOP
    return Interval(0 if left.low >= 0 else 1 - number, min(number - 1, max(left.high, 0)))


def _look_up(words: OpcodeWords, sources: Sequence[Interval]) -> Interval:
    """Bits that are 0 in all three sources are 0 where the table's first entry says so."""
    table = sources[3].constant
    values = sources[:3]
    if table is None or table & 1 or any(v.low < 0 or not v.is_plain for v in values):
        return TOP
    return between(0, _ones(max(v.high for v in values)))


def _address_first(sources: Sequence[Interval]) -> tuple[Interval, Interval]:
    """Two sources, an address before a number."""
    left, right = sources[:2]
    return (left, right) if right.is_plain else (right, left)


def _ones(number: int) -> int:
    """The least number of the form 2**k - 1 that is not smaller."""
    return (1 << number.bit_length()) - 1


RULES: Mapping[str, IntervalRule] = {
    "mov": IntervalRule(1, _first),
    "cvta": IntervalRule(1, _first),
    "cvt": IntervalRule(1, _convert),
    "add": IntervalRule(2, _add),
    "sub": IntervalRule(2, _subtract),
    "mul": IntervalRule(2, _multiply),
    "mad": IntervalRule(3, _multiply_and_add),
    "shl": IntervalRule(2, _shift_left),
    "shr": IntervalRule(2, _shift_right),
    "bfe": IntervalRule(3, _extract),
    "and": IntervalRule(2, _and),
    "or": IntervalRule(2, _or),
    "xor": IntervalRule(2, _or),
    "selp": IntervalRule(3, _select),
    "min": IntervalRule(2, _extreme),
    "max": IntervalRule(2, _extreme),
    "rem": IntervalRule(2, _remainder),
    "div": IntervalRule(2, _divide),
    "shfl": IntervalRule(1, _first),
    "lop3": IntervalRule(4, _look_up),
}
