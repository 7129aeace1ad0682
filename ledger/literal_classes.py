"""Classes of literals: points of the register name one of integers in angle brackets, and one of floating
point by any of its literals.
"""

from __future__ import annotations

import re

from ..spec.float_constants import is_single

__all__ = ["ANY_INTEGER", "THE_LEGAL", "in_class", "is_class", "members", "without_class"]

ANY_INTEGER = "<integer>"  # any that is legal there
THE_LEGAL = "<it>"  # no class: the operand itself, as it is legal, among others
_LOW = "<32 bits>"  # one that is legal there by its low 32 bits alone
_MULTIPLE = re.compile(r"<multiple of ([1-9]\d*)>")  # not 0, and of 32 bits
_MASK = (1 << 32) - 1
_SINGLES = "0f00000000", "0f3f800000", "0fff800000"  # 0, 1, and an infinity below 0


def is_class(text: str) -> bool:
    """Whether a text stands for a class of literals."""
    return text in (ANY_INTEGER, _LOW) or _MULTIPLE.fullmatch(text) is not None


def in_class(text: str, value: int) -> bool:
    """Whether a literal is of a class, which a text names; False for any other text."""
    short = -(1 << 31) <= value <= _MASK
    if text == _LOW:
        return not short
    multiple = _MULTIPLE.fullmatch(text)
    if multiple is not None:
        return short and value != 0 and (value & _MASK) % int(multiple[1]) == 0
    return text == ANY_INTEGER


def without_class(text: str, value: int, usual: str) -> str:
    """What stands for a literal of a class where it is legal."""
    return str(value & _MASK) if text == _LOW else usual


def members(text: str, usual: str) -> tuple[str, ...]:
    """Literals that show what is said of a class, where a usual one is legal; of another text itself."""
    if text == ANY_INTEGER:
        return "0", "1", "2", "3", "4", "255", "32768", "65535"
    if text == _LOW:
        return tuple(str(int(usual) + high) for high in (1 << 32, -(1 << 32)))
    multiple = _MULTIPLE.fullmatch(text)
    if multiple is not None:
        return tuple(str(int(multiple[1]) * count) for count in (3, 19, 32, 33, 2048, -1, -16))
    return _SINGLES if is_single(text) else (text,)
