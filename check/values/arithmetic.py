"""The result of an integer instruction for the numbers of one thread: the only place that defines PTX's
arithmetic.

A number is the bits of a register, read as an unsigned integer: −1 in a .b32 register is 0xffffffff
(PTX ISA 9.7.1, 9.7.8, 9.7.9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

__all__ = ["MASK", "as_signed", "bits_of", "computed", "rule_of"]

MASK = (1 << 64) - 1
Compute = Callable[..., int | None]
_INTEGERS = "usb"  # the first letters of their types


def _quotient(a: int, b: int) -> int:
    """A quotient towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
_BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_WRAPPING: Mapping[str, Callable[[int, int], int]] = {
    **_BITWISE,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
}
_TWO: Mapping[str, Callable[[int, int], int | None]] = {
    "min": min,
    "max": max,
    "div": lambda a, b: _quotient(a, b) if b else None,
    "rem": lambda a, b: a - b * _quotient(a, b) if b else None,
}
_ONE: Mapping[str, Callable[[int], int]] = {"not": lambda a: ~a, "neg": lambda a: -a, "abs": abs}


def bits_of(words: Sequence[str]) -> int:
    """The size of an opcode's type, its last word; 64 where that is not a number of bits."""
    size = words[-1][1:]
    return int(size) if size.isdigit() else 64


def as_signed(number: int, bits: int) -> int:
    """The number that the lowest bits spell in two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def computed(words: tuple[str, ...], values: Sequence[int | None]) -> int | None:
    """The result of an instruction, by the words of its opcode and its sources; None if unknown.

    A source may be None (unknown): the others may decide the result.
    """
    if None not in values:
        rule = rule_of(words, len(values))
        return None if rule is None else rule(*values)
    if words[0] == "selp" and len(values) == 3:
        return None if values[2] is None else values[0 if values[2] else 1]
    decides = {"and": 0, "or": 1}.get(words[0]) if words[-1] == "pred" else None
    return decides if decides is not None and decides in values else None


@lru_cache(maxsize=1 << 10)
def rule_of(words: tuple[str, ...], count: int) -> Compute | None:
    """The function that computes an instruction of `count` sources; None if it is not modelled."""
    head, kind = words[0], words[-1]
    bits = bits_of(words)
    mask = (1 << bits) - 1
    if head in ("mov", "cvta", "mapa"):
        return lambda a, *_: a & mask
    if head == "selp":
        return (lambda a, b, p: (a if p else b) & mask) if count == 3 else None
    if head == "cvt":
        return _conversion(words) if count == 1 else None
    if kind == "pred":
        return _of_predicates(head, count)
    if kind[0] not in _INTEGERS or "sat" in words:
        return None
    return _of_integers(words, count, bits)


def _conversion(words: tuple[str, ...]) -> Compute | None:
    """Sign or zero extension, then the lowest bits."""
    if len(words) < 3:
        return None  # the types do not stand
    to, source = words[-2:]
    if not (to[1:].isdigit() and source[1:].isdigit()) or "sat" in words or "pack" in words:
        return None
    if to[0] not in _INTEGERS or source[0] not in _INTEGERS:
        return None
    bits, mask = int(source[1:]), (1 << int(to[1:])) - 1
    if source[0] == "s":
        return lambda a: as_signed(a, bits) & mask
    return lambda a: a & ((1 << bits) - 1) & mask


def _of_predicates(head: str, count: int) -> Compute | None:
    if head == "not" and count == 1:
        return lambda a: 1 - (a & 1)
    two = _BITWISE.get(head)
    return (lambda a, b: two(a, b) & 1) if two and count == 2 else None


def _of_integers(words: tuple[str, ...], count: int, bits: int) -> Compute | None:
    head = words[0]
    signed = words[-1][0] == "s"
    mask = (1 << bits) - 1

    def fit(number: int) -> int:
        return as_signed(number, bits) if signed else number & mask

    low = "wide" not in words and "hi" not in words
    match head, count:
        case "mul", 2 if low:
            return lambda a, b: a * b & mask
        case "mad", 3 if low:
            return lambda a, b, c: a * b + c & mask
        case "setp", 2 | 3 if words[1] in _COMPARE:
            return _comparison(words, count, fit)
        case ("mul", 2) | ("mad", 3):
            wide = (1 << 2 * bits) - 1 if "wide" in words else mask
            down = bits if "hi" in words else 0
            return lambda a, b, c=0: ((fit(a) * fit(b) >> down) + c) & wide
        case (("shl" | "shr"), 2):
            if head == "shl":
                return lambda a, b: a << min(b, bits) & mask
            return lambda a, b: fit(a) >> min(b, bits) & mask
        case "bfe", 3:
            return lambda a, b, c: _extracted(a & mask, b & 0xFF, c & 0xFF, bits, signed)
        case "bfi", 4:
            return lambda a, b, c, d: _inserted(a, b, c & 0xFF, d & 0xFF) & mask
        case "lop3", 4:
            return lambda a, b, c, table: _looked_up(a, b, c, table) & mask
        case name, 1 if name in _ONE:
            one = _ONE[name]
            return lambda a: one(fit(a)) & mask
        case name, 2 if name in _WRAPPING:
            wrapping = _WRAPPING[name]  # the lowest bits do not depend on signs
            return lambda a, b: wrapping(a, b) & mask
        case name, 2 if name in _TWO:
            two = _TWO[name]
            return lambda a, b: None if (found := two(fit(a), fit(b))) is None else found & mask
    return None


def _comparison(words: tuple[str, ...], count: int, fit: Callable[[int], int]) -> Compute | None:
    """A comparison, and the operator that joins it to a third source."""
    compare = _COMPARE[words[1]]
    if count == 2:
        return lambda a, b: int(compare(fit(a), fit(b)))
    joins = _BITWISE.get(words[2])
    return (lambda a, b, c: joins(int(compare(fit(a), fit(b))), c & 1)) if joins else None


def _extracted(word: int, low: int, count: int, bits: int, signed: bool) -> int | None:
    """A bit field; None for a signed one that reaches beyond the word."""
    field = word >> low & (1 << count) - 1
    if not signed or not count:
        return field
    return as_signed(field, count) & (1 << bits) - 1 if low + count <= bits else None


def _inserted(field: int, word: int, low: int, count: int) -> int:
    kept = (1 << count) - 1
    return word & ~(kept << low) | (field & kept) << low


def _looked_up(a: int, b: int, c: int, table: int) -> int:
    """For each bit, the entry of an eight-entry table that the three source bits select."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result
