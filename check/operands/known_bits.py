"""Which bits of an operand hold the same on every path, though the others are not known: those that an `or`
sets above an address, behind a mask. Definitions are followed that surely reach the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.operands import number_of, vector_elements
from ..ptx.reaching import written_by
from ..values.real_arithmetic import is_real

__all__ = ["Bits", "KnownBits"]

_DEEP = 16  # definitions that are followed
_WORD = 64  # bits
_ALL = (1 << _WORD) - 1


class Bits(NamedTuple):
    """Which bits of a number are known, and the number, whose other bits are 0."""

    known: int
    value: int

    def within(self, width: int) -> Bits:
        """The lowest bits, with zeros above."""
        mask = (1 << width) - 1
        return Bits(self.known | (_ALL & ~mask), self.value & mask)


_NOTHING = Bits(0, 0)


class KnownBits:
    """The operands of one function."""

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.flow = flow

    def of(self, text: str, index: int, depth: int = _DEEP) -> Bits:
        """What is known of an operand of a statement, or of a source of it."""
        scope = self.code[index].scope
        number = number_of(text)
        if number is not None:
            return Bits(_ALL, number & _ALL)
        register = self.code.function.register(text, scope)
        at = None if register is None or not depth else written_by(self.code, self.flow, register[0], index)
        return _NOTHING if at is None or self.code[at].guard is not None else self._made(at, depth - 1)

    def _made(self, index: int, depth: int) -> Bits:
        """What is known of the result of a statement."""
        statement = self.code[index]
        words, texts = statement.operation.words, statement.operands
        count, rule = _RULES.get(words[0], (0, None))
        width = words[-1][1:]
        parted = texts[0][:1] == "{"  # some of them may be `_`
        if rule is None or parted or len(statement.writes) != 1 or not width.isdigit() or is_real(words):
            return _NOTHING
        parts = [part for text in texts[1:] for part in vector_elements(text)]
        if not parts or count not in (None, len(parts)):
            return _NOTHING
        return rule(words, [self.of(part, index, depth) for part in parts])


def _width(word: str) -> int:
    return int(word[1:])


def _move(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    """A register, or several as one."""
    width = _width(words[-1]) // len(sources)
    known = value = 0
    for place, bits in enumerate(sources):
        part = bits.within(width)
        known |= (part.known & (1 << width) - 1) << place * width
        value |= part.value << place * width
    return Bits(known, value).within(_width(words[-1]))


def _convert(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    to, source = words[-2:]
    if len(words) != 3 or to[0] not in "us" or not to[1:].isdigit():
        return _NOTHING
    bits = sources[0].within(_width(source))
    extends = source[0] == "s" and _width(to) > _width(source)
    sign = 1 << _width(source) - 1
    if extends and (not bits.known & sign or bits.value & sign):
        return _NOTHING
    return bits.within(_width(to))


def _and(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    one, other = sources
    zeros = (one.known & ~one.value) | (other.known & ~other.value)
    return Bits(one.known & other.known | zeros, one.value & other.value).within(_width(words[-1]))


def _or(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    one, other = sources
    ones = one.value | other.value
    return Bits(one.known & other.known | ones, ones).within(_width(words[-1]))


def _add(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    """A sum of numbers without a common bit is their `or`."""
    one, other = sources
    common = ~(one.known & ~one.value) & ~(other.known & ~other.value) & _ALL
    return _NOTHING if common else _or(words, sources)


def _shift(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    bits, by = sources[0].within(_width(words[-1])), sources[1]
    if by.known != _ALL or by.value >= _WORD or words[-1][0] == "s":
        return _NOTHING
    if words[0] == "shr":
        return Bits(bits.known >> by.value | _ALL & ~(_ALL >> by.value), bits.value >> by.value)
    low = (1 << by.value) - 1
    moved = Bits((bits.known << by.value | low) & _ALL, bits.value << by.value & _ALL)
    return moved.within(_width(words[-1]))


def _extract(words: Sequence[str], sources: Sequence[Bits]) -> Bits:
    bits, first, count = sources
    if first.known != _ALL or count.known != _ALL or words[-1][0] != "u":
        return _NOTHING
    bits = bits.within(_width(words[-1]))
    if first.value >= _WORD or count.value >= _WORD:
        return _NOTHING
    moved = Bits(bits.known >> first.value | _ALL & ~(_ALL >> first.value), bits.value >> first.value)
    return moved.within(count.value)


# By instruction: how many sources it has (None: any number but none), and the rule for its result.
_RULES: Mapping[str, tuple[int | None, Callable[[Sequence[str], Sequence[Bits]], Bits]]] = {
    "mov": (None, _move),
    "cvt": (1, _convert),
    "and": (2, _and),
    "or": (2, _or),
    "add": (2, _add),
    "shl": (2, _shift),
    "shr": (2, _shift),
    "bfe": (3, _extract),
}
