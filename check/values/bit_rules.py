"""What instructions compute that count, find or pick single bits and bytes (PTX ISA 9.7.1, 9.7.8, 9.7.9).

Each rule is one of `arithmetic.py`'s, by the opcode's kind; the texts give loops, and these are without any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .opcode_kind import ArithmeticRule, OpcodeKind
from .word_algebra import WORD, NoResultError, WordAlgebra

__all__ = [
    "counted",
    "extended",
    "highest",
    "leading_zeros",
    "masked",
    "nth_found",
    "permuted",
    "shifted_pair",
    "turned",
]

_SHORT = 32  # bits of a register that holds a count, a place, or four bytes
_WRAP_BITS = 5  # of an amount below 32
_BYTE = 8
_NOT_FOUND = (1 << _SHORT) - 1
_STEPS = (1, 2, 4, 8, 16, 32)  # whose sums are all numbers of places below WORD
# Where each byte of the result comes from, the lowest in the lowest digit, by the last two bits of the third
# source (9.7.9.7).
_PICKED: Mapping[str, tuple[int, ...]] = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def _alternating(step: int) -> int:
    """The bits of a word at places of which `step`, a power of two, is no summand."""
    return ((1 << WORD) - 1) // ((1 << step) + 1)


def _ones(m: WordAlgebra[Any], word: Any) -> Any:
    """How many bits are 1."""
    for step in _STEPS:
        mask = m.word(_alternating(step))
        word = (word & mask) + (m.right(word, m.word(step), False) & mask)
    return word


def _length(m: WordAlgebra[Any], word: Any) -> Any:
    """How many bits the number has, up to its highest 1."""
    for step in _STEPS:
        word = word | m.right(word, m.word(step), False)
    return _ones(m, word)


def _at_most(m: WordAlgebra[Any], kind: OpcodeKind, amount: Any) -> Any:
    """A number of bits: with .wrap, its rest by 32; with .clamp, at most 32."""
    if "wrap" in kind.words:
        return m.low(amount, _WRAP_BITS)
    amount, most = m.low(amount, _SHORT), m.word(_SHORT)
    return m.chosen(m.less(amount, most, False), amount, most)


def counted(kind: OpcodeKind) -> ArithmeticRule:
    """How many bits are 1: popc."""
    return lambda m, a: _ones(m, m.low(a, kind.bits))


def leading_zeros(kind: OpcodeKind) -> ArithmeticRule:
    """How many zeros stand above the highest 1: clz."""
    return lambda m, a: m.minus(m.word(kind.bits), _length(m, m.low(a, kind.bits)))


def highest(kind: OpcodeKind) -> ArithmeticRule:
    """The place of the highest bit that is not as the sign, or how far it lies below the top: bfind."""
    bits, from_top = kind.bits, "shiftamt" in kind.words

    def rule(m: WordAlgebra[Any], a: Any) -> Any:
        a = kind.fit(m, a)
        if kind.signed:
            a = m.chosen(m.less(a, m.word(0), True), a ^ m.word((1 << WORD) - 1), a)
        length = _length(m, m.low(a, bits))
        place = m.minus(m.word(bits), length) if from_top else m.minus(length, m.word(1))
        return m.chosen(m.equal(length, m.word(0)), m.word(_NOT_FOUND), m.low(place, _SHORT))

    return rule


def nth_found(kind: OpcodeKind) -> ArithmeticRule:
    """The place of the n-th 1 from a place on, upwards or downwards: fns."""

    def rule(m: WordAlgebra[Any], mask: Any, base: Any, offset: Any) -> Any:
        bits, start, nth = (m.number(m.low(source, _SHORT)) for source in (mask, base, offset))
        if start >= _SHORT:
            raise NoResultError
        down = nth >> _SHORT - 1
        nth = (1 << _SHORT) - nth if down else nth
        places = range(start, -1, -1) if down else range(start, _SHORT if nth else start + 1)
        found = [place for place in places if bits >> place & 1]
        index = max(nth, 1) - 1
        return m.word(found[index] if index < len(found) else _NOT_FOUND)

    return rule


def turned(kind: OpcodeKind) -> ArithmeticRule:
    """The bits in reverse: brev."""

    def rule(m: WordAlgebra[Any], a: Any) -> Any:
        for step in _STEPS:
            mask, by = m.word(_alternating(step)), m.word(step)
            a = m.left(a & mask, by) | m.right(a, by, False) & mask
        return m.right(a, m.word(WORD - kind.bits), False)

    return rule


def masked(kind: OpcodeKind) -> ArithmeticRule:
    """So many ones from a place on: bmsk."""

    def rule(m: WordAlgebra[Any], place: Any, count: Any) -> Any:
        one = m.word(1)
        ones = m.minus(m.left(one, _at_most(m, kind, count)), one)
        return m.low(m.left(ones, _at_most(m, kind, place)), kind.bits)

    return rule


def extended(kind: OpcodeKind) -> ArithmeticRule:
    """So many of the lowest bits, and their sign or zeros above them: szext."""

    def rule(m: WordAlgebra[Any], a: Any, count: Any) -> Any:
        width = m.number(_at_most(m, kind, count))
        if not width:
            return m.word(0)
        return m.low(kind._replace(bits=width).fit(m, a), kind.bits)

    return rule


def shifted_pair(kind: OpcodeKind) -> ArithmeticRule:
    """Half of two registers that are shifted as one: shf."""

    def rule(m: WordAlgebra[Any], low: Any, high: Any, amount: Any) -> Any:
        by, pair = _at_most(m, kind, amount), _pair(m, low, high)
        if "l" in kind.words:
            return m.right(m.left(pair, by), m.word(_SHORT), False)
        return m.low(m.right(pair, by, False), _SHORT)

    return rule


def _pair(m: WordAlgebra[Any], low: Any, high: Any) -> Any:
    """Two registers as one word."""
    return m.left(high, m.word(_SHORT)) | m.low(low, _SHORT)


def permuted(kind: OpcodeKind, count: int) -> ArithmeticRule | None:
    """Four of the eight bytes of two registers: prmt."""
    modes = kind.words[2:]
    if count != 3 or any(mode not in _PICKED for mode in modes):
        return None

    def rule(m: WordAlgebra[Any], a: Any, b: Any, c: Any) -> Any:
        pair, picks, found = _pair(m, a, b), m.number(c), m.word(0)
        if modes:
            picks = _PICKED[modes[0]][picks & 3]
        for place in range(4):
            pick = picks >> 4 * place & 15
            byte = m.low(m.right(pair, m.word(_BYTE * (pick & 7)), False), _BYTE)
            if pick & 8:  # its sign, in every bit
                byte = m.low(m.signed(m.right(byte, m.word(_BYTE - 1), False), 1), _BYTE)
            found = found | m.left(byte, m.word(_BYTE * place))
        return found

    return rule
