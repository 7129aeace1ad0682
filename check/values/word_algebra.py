"""The kinds of values that PTX's arithmetic is computed with: what each of them must be able to do.

`arithmetic.py` says each operation once, in the words of this interface. `PackedWords` computes with numbers,
those of one thread or those of many at once; `paths/path_solver.py` with terms of z3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, TypeVar

__all__ = ["FIELD", "NUMBER", "WORD", "NoResultError", "PackedWords", "WordAlgebra", "packed_words"]

WORD = 64  # bits of the widest register that arithmetic knows
FIELD = 2 * WORD  # bits for each thread's number: the product of two words fits in
W = TypeVar("W")


class NoResultError(Exception):
    """The operation has no result, or none that this kind of value can express."""


class WordAlgebra(Protocol[W]):
    """Words of 64 bits; a flag is a word that is 0 or 1. `&`, `|`, `^` and `+` are those of the words."""

    def word(self, number: int) -> W:
        """The word with a number."""

    def number(self, word: W) -> int:
        """The number of a word; raises NoResultError where it has more than one."""

    def low(self, word: W, bits: int) -> W:
        """The lowest bits, and zeros above them."""

    def signed(self, word: W, bits: int) -> W:
        """The lowest bits, and copies of the highest of them above them."""

    def minus(self, left: W, right: W) -> W:
        """A difference, modulo 2⁶⁴."""

    def times(self, left: W, right: W) -> W:
        """A product, modulo 2⁶⁴."""

    def high(self, left: W, right: W, signed: bool) -> W:
        """The upper half of a product of 128 bits."""

    def quotient(self, left: W, right: W) -> W:
        """A quotient of unsigned numbers; raises NoResultError where the divisor is 0."""

    def left(self, word: W, by: W) -> W:
        """The bits moved up; zeros come in."""

    def right(self, word: W, by: W, signed: bool) -> W:
        """The bits moved down; zeros come in, or copies of the highest bit."""

    def less(self, left: W, right: W, signed: bool) -> W:
        """A flag: whether one number is less than another."""

    def equal(self, left: W, right: W) -> W:
        """A flag: whether two words are equal."""

    def chosen(self, flag: W, one: W, other: W) -> W:
        """One word where the flag is 1, the other where it is 0."""


class _Masks(dict[int, int]):
    """By number of bits: the lowest bits of every field."""

    def __init__(self, ones: int) -> None:
        self.ones = ones

    def __missing__(self, bits: int) -> int:
        found = self[bits] = self.ones * ((1 << bits) - 1)
        return found


class PackedWords:
    """Numbers of `count` threads in one integer: thread k's lies in bits 128·k and up.

    One operation on such an integer is the operation in every thread. That is as fast as an array's, and
    numpy alone would take longer to import than a small file takes to check.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.ones = ((1 << FIELD * count) - 1) // ((1 << FIELD) - 1)
        self.masks = _Masks(self.ones)
        self._word = self.masks[WORD]
        self._beyond = self.ones << WORD
        self._sign = self.ones << WORD - 1

    def word(self, number: int) -> int:
        return self.ones * number

    def number(self, word: int) -> int:
        if self.count == 1:
            return word
        first = word & (1 << FIELD) - 1
        if first * self.ones != word:
            raise NoResultError
        return first

    def low(self, word: int, bits: int) -> int:
        return word & self.masks[bits]

    def signed(self, word: int, bits: int) -> int:
        word &= self.masks[bits]
        if bits >= WORD:
            return word
        negative = word >> bits - 1 & self.ones
        return word | negative * ((1 << WORD) - (1 << bits))

    def minus(self, left: int, right: int) -> int:
        return (left | self._beyond) - right & self._word

    def times(self, left: int, right: int) -> int:
        if self.count == 1:
            return left * right & self._word
        try:
            return left * self.number(right) & self._word
        except NoResultError:
            return right * self.number(left) & self._word

    def high(self, left: int, right: int, signed: bool) -> int:
        if self.count > 1:
            raise NoResultError  # a field has no room for it
        if signed:
            left, right = (n - (1 << WORD) if n >> WORD - 1 else n for n in (left, right))
        return left * right >> WORD & self._word

    def quotient(self, left: int, right: int) -> int:
        divisor = self.number(right)
        if divisor == 0 or (self.count > 1 and divisor & divisor - 1):
            raise NoResultError
        return left // divisor if self.count == 1 else self._right(left, divisor.bit_length() - 1)

    def left(self, word: int, by: int) -> int:
        bits = self.number(by)
        return word << bits & self._word if bits < WORD else 0

    def right(self, word: int, by: int, signed: bool) -> int:
        bits = min(self.number(by), WORD)
        found = self._right(word, bits)
        if not signed:
            return found
        negative = word >> WORD - 1 & self.ones
        return found | negative * ((1 << WORD) - (1 << WORD - bits))

    def _right(self, word: int, bits: int) -> int:
        return word >> bits & self.masks[WORD - bits]

    def less(self, left: int, right: int, signed: bool) -> int:
        if signed:
            left, right = left ^ self._sign, right ^ self._sign
        return ((left | self._beyond) - right >> WORD & self.ones) ^ self.ones

    def equal(self, left: int, right: int) -> int:
        return ((left ^ right) + self._word >> WORD & self.ones) ^ self.ones

    def chosen(self, flag: int, one: int, other: int) -> int:
        where = flag * ((1 << WORD) - 1)
        return one & where | other & (where ^ self._word)


@lru_cache(maxsize=64)
def packed_words(count: int) -> PackedWords:
    """The words of so many threads."""
    return PackedWords(count)


NUMBER = packed_words(1)  # one thread's number is its own packed word
