"""Bit patterns of element types: the exact value of a pattern, and the pattern of a value."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from .errors import Question
from .numerics_records import Format

__all__ = ["MODES", "Special", "decode", "encode", "greatest"]

Special = Literal["inf", "-inf", "nan"]
MODES = ("rn", "rz", "rm", "rp")


def _fields(form: Format, pattern: int) -> tuple[int, int, int]:
    """Sign, exponent and fraction of a pattern; the ignored bits are left out."""
    pattern >>= form.ignored
    fraction = pattern & ((1 << form.fraction) - 1)
    exponent = pattern >> form.fraction & ((1 << form.exponent) - 1)
    sign = pattern >> (form.fraction + form.exponent) & 1 if form.signed else 0
    return sign, exponent, fraction


def _special(form: Format, exponent: int, fraction: int) -> Special | None:
    ones = exponent == (1 << form.exponent) - 1
    if form.specials == "ieee" and ones:
        return "nan" if fraction else "inf"
    if form.specials == "nan" and ones and fraction == (1 << form.fraction) - 1:
        return "nan"
    return None


def decode(form: Format, pattern: int) -> Fraction | Special:
    """The value of a bit pattern; an infinity or a NaN by name. Both zeros are 0."""
    sign, exponent, fraction = _fields(form, pattern)
    special = _special(form, exponent, fraction)
    if special is not None:
        return "-inf" if special == "inf" and sign else special
    if form.subnormals and exponent == 0:
        exponent = 1
    else:
        fraction |= 1 << form.fraction
    return _scaled(-fraction if sign else fraction, exponent - form.bias - form.fraction)


def _scaled(number: int, exponent: int) -> Fraction:
    """number * 2 ** exponent."""
    return Fraction(number << exponent) if exponent >= 0 else Fraction(number, 1 << -exponent)


@lru_cache(maxsize=64)
def _greatest(form: Format) -> int:
    """The pattern of the greatest finite value, without sign and ignored bits."""
    top = (1 << (form.exponent + form.fraction)) - 1
    while not isinstance(decode(form, top << form.ignored), Fraction):
        top -= 1 << form.fraction if form.specials == "ieee" else 1
    return top


def greatest(form: Format) -> Fraction:
    """The greatest number of a format."""
    value = decode(form, _greatest(form) << form.ignored)
    assert isinstance(value, Fraction)
    return value


def _rounded(number: int, divisor: int, mode: str) -> int:
    """An integer beside number / divisor: by .rn (ties to even), .rz, .rm or .rp. Neither is negative."""
    below, rest = divmod(number, divisor)
    if mode == "rn":
        return below + (2 * rest > divisor or (2 * rest == divisor and below & 1))
    return below + (mode == "rp" and rest > 0)


def encode(form: Format, value: Fraction, mode: str = "rn") -> int:
    """The pattern of a value, rounded to the format; +0 for zero, 0 in the ignored bits.

    Raises Question where the format has no such sign or no zero, or the value is beyond its range.
    """
    if value < 0 and not form.signed:
        raise Question(f"{value} is negative; the format has no sign")
    if mode not in MODES:
        raise Question(f"{mode!r} is not a rounding mode; it must be one of {', '.join(MODES)}")
    number, divisor = abs(value.numerator), value.denominator
    towards = {"rm": "rp", "rp": "rm"}.get(mode, mode) if value < 0 else mode
    lowest = int(form.subnormals) - form.bias
    exponent = lowest
    if number:
        exponent = number.bit_length() - divisor.bit_length()  # or one less
        low, high = (number, divisor << exponent) if exponent >= 0 else (number << -exponent, divisor)
        exponent = max(exponent - (low < high), lowest)
    elif not form.subnormals:
        raise Question("the format has no zero")
    unit = exponent - form.fraction
    fraction = _rounded(number << max(-unit, 0), divisor << max(unit, 0), towards)
    if fraction >> (form.fraction + 1):
        exponent, fraction = exponent + 1, fraction >> 1
    hidden = fraction >> form.fraction
    field = exponent + form.bias if hidden else 0
    pattern = field << form.fraction | fraction & ((1 << form.fraction) - 1)
    if pattern > _greatest(form):
        raise Question(f"{value} is beyond the greatest value of the format")
    if not hidden and not form.subnormals:
        raise Question(f"{value} is below the least value of the format")
    if value < 0 and fraction:
        pattern |= 1 << (form.fraction + form.exponent)
    return pattern << form.ignored
