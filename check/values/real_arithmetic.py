"""What a floating-point instruction computes, in one thread: for walks alone, whose branches depend on it.

A number is the bits of a register, as in `arithmetic.py`. Results are those of IEEE 754, rounded to nearest
even; an instruction that rounds otherwise, or flushes or saturates, has none here (PTX ISA 9.7.3, 9.7.9).
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from .arithmetic import as_signed
from .opcode_kind import ArithmeticRule, bits_of
from .word_algebra import NoResultError, WordAlgebra

__all__ = ["is_real", "real_literal", "real_number", "real_rule"]

_REAL = "f"  # the first letter of their types
_SIGNED = "s"
_FORMATS: Mapping[int, str] = {16: "e", 32: "f", 64: "d"}  # by bits, as `struct` names them
_WORDS: Mapping[int, str] = {16: "H", 32: "I", 64: "Q"}
_LITERAL = re.compile(r"0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))")
_NOT_PLAIN = frozenset(("ftz", "sat", "rz", "rm", "rp", "rna", "satfinite", "relu", "approx"))
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_UNORDERED = "u"  # ends a comparison that is true of what is not a number
_OPERATE: Mapping[tuple[str, int], Callable[..., float]] = {
    ("add", 2): operator.add,
    ("sub", 2): operator.sub,
    ("mul", 2): operator.mul,
    ("neg", 1): operator.neg,
    ("abs", 1): abs,
}
_WHOLE: Mapping[str, Callable[[float], int]] = {
    "rzi": math.trunc,
    "rni": round,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def real_literal(text: str) -> int | None:
    """The bits of a floating-point constant; None if an operand is none."""
    found = _LITERAL.fullmatch(text)
    return int(found[1] or found[2], 16) if found else None


def is_real(words: tuple[str, ...]) -> bool:
    """Whether an instruction is about floating-point numbers whose format is modelled."""
    return words[-1][0] == _REAL and bits_of(words) in _FORMATS


def real_number(number: int, bits: int) -> int:
    """The bits of a floating-point number."""
    return _bits(float(number), bits)


@lru_cache(maxsize=1 << 10)
def real_rule(words: tuple[str, ...], count: int) -> ArithmeticRule | None:
    """The rule of a floating-point instruction of `count` sources; None if it is not modelled."""
    if not _NOT_PLAIN.isdisjoint(words):
        return None
    if words[0] == "cvt" and count == 1 and len(words) > 2:
        return _converted(words)
    if words[-1][0] != _REAL or bits_of(words) not in _FORMATS:
        return None
    bits = bits_of(words)
    if words[0] == "setp" and count == 2:
        return _compared(words[1], bits)
    operate = _OPERATE.get((words[0], count))
    if operate is None:
        return None
    return lambda m, *values: m.word(_bits(operate(*(_real(m, value, bits) for value in values)), bits))


def _compared(how: str, bits: int) -> ArithmeticRule | None:
    unordered = how not in _COMPARE
    compare = _COMPARE.get(how.removesuffix(_UNORDERED) if unordered else how)
    if compare is None:
        return None

    def rule(m: WordAlgebra[Any], a: Any, b: Any) -> Any:
        x, y = _real(m, a, bits), _real(m, b, bits)
        return m.word(int(unordered if math.isnan(x) or math.isnan(y) else compare(x, y)))

    return rule


def _converted(words: tuple[str, ...]) -> ArithmeticRule | None:
    """A number of another format; or a whole one, of either kind."""
    to, source = words[-2:]
    if _REAL not in (to[0], source[0]):
        return None
    width, read = bits_of(words[:-1]), bits_of(words)
    whole = next((_WHOLE[word] for word in words if word in _WHOLE), None)
    if to[0] == _REAL and whole is None and width in _FORMATS and read in _WORDS:
        return lambda m, a: m.word(_bits(_source(m, a, source[0], read), width))
    if to[0] != _REAL and whole is not None and read in _FORMATS:
        return lambda m, a: m.word(_rounded(_real(m, a, read), whole, to[0] == _SIGNED, width))
    return None


def _source(m: WordAlgebra[Any], word: Any, letter: str, bits: int) -> float:
    if letter == _REAL:
        return _real(m, word, bits)
    number = m.number(word) & (1 << bits) - 1
    return float(as_signed(number, bits) if letter == _SIGNED else number)


def _rounded(number: float, whole: Callable[[float], int], signed: bool, bits: int) -> int:
    """A whole number of so many bits: the nearest that they can hold, and 0 for what is not a number."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if math.isnan(number):
        return 0
    held = most if number > most else least if number < least else whole(number)
    return min(max(held, least), most) & (1 << bits) - 1


def _real(m: WordAlgebra[Any], word: Any, bits: int) -> float:
    """The number that the lowest bits of a word spell; raises NoResultError where threads differ."""
    packed = struct.pack(f"<{_WORDS[bits]}", m.number(word) & (1 << bits) - 1)
    return float(struct.unpack(f"<{_FORMATS[bits]}", packed)[0])


def _bits(number: float, bits: int) -> int:
    if math.isnan(number):
        raise NoResultError  # its payload is not modelled
    try:
        packed = struct.pack(f"<{_FORMATS[bits]}", number)
    except OverflowError:
        packed = struct.pack(f"<{_FORMATS[bits]}", math.copysign(math.inf, number))
    return int(struct.unpack(f"<{_WORDS[bits]}", packed)[0])
