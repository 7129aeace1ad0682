"""Is a text a floating-point constant of PTX, or a sum or product of some (PTX ISA 4.5.2 and 4.5.4)?"""

from __future__ import annotations

import math
import re

__all__ = ["is_float", "is_single"]

_BITS = r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"  # ptxas takes no sign before one, and no operator beside
_DECIMAL = re.compile(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")
_VALUE = "\0"  # stands for what has a value: it is in no statement
_SIGNED = rf"(?:[+-]\s*)*{_VALUE}"
_SUM = rf"\s*{_SIGNED}(?:\s*[-+*/]\s*{_SIGNED})*\s*"
_ALONE = re.compile(_BITS)
_WHOLE = re.compile(_SUM)
_GROUP = re.compile(rf"\((?:\s*(?:{_BITS})\s*|{_SUM})\)")
_SINGLE = re.compile(r"[\s(+-]*0[fF]")


def is_float(text: str) -> bool:
    """Whether a text is such a constant: `0f3f800000`, `-.5`, `2.0*(1e3+1.0)`."""
    if _ALONE.fullmatch(text):
        return True
    if not all(map(_fits, _DECIMAL.findall(text))):
        return False
    left, rest = "", _DECIMAL.sub(_VALUE, text)
    while rest != left:
        left, rest = rest, _GROUP.sub(_VALUE, rest)
    return _WHOLE.fullmatch(rest) is not None


def is_single(text: str) -> bool:
    """Whether such a constant has 32 bits: all others have 64."""
    return _SINGLE.match(text) is not None


def _fits(number: str) -> bool:
    """Whether a decimal number is neither too large nor too small for 64 bits."""
    value = float(number)
    return not math.isinf(value) and (value != 0 or not re.search("[1-9]", re.split("[eE]", number)[0]))
