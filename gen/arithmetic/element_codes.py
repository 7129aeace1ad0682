"""Elements as people write them, to bit patterns and back: 1.5, -0, inf, nan, 0x3c00, 0x1.8p-3."""

from __future__ import annotations

import re
from fractions import Fraction

from ...spec.errors import Question
from ...spec.numerics_records import Format
from ...spec.patterns import Special, decode, encode, greatest
from ...spec.specification import Specification

__all__ = ["code_of", "codes_of", "number_text", "value_of"]

_HEXADECIMAL = re.compile(r"0x[0-9a-f]+")
_POWER = re.compile(r"([-+]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([-+]?\d+)", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_WIDEST = 4096  # binary places of a number that is written with a decimal point and an exponent
_SHORT = 12  # characters of a decimal number that is shown as it is


def codes_of(specification: Specification, element: str, text: str, count: int, name: str) -> list[int]:
    """The bit patterns of a list such as `1,2.5*3,0x3c00`: `*3` stands for three of them, and what is left
    out is 0. Raises Question for what is not an element, and for more than `count`.
    """
    codes: list[int] = []
    for item in text.split(","):
        value, star, times = item.strip().partition("*")
        if star and not (times.isascii() and times.isdigit()):
            raise Question(f"{name}: {item!r} is not an element; write VALUE*COUNT for several of them")
        codes += [code_of(specification, element, value, name)] * min(int(times) if star else 1, count + 1)
        if len(codes) > count:
            raise Question(f"{name} has more than the {count} elements of a product")
    return codes + [0] * (count - len(codes))


def code_of(specification: Specification, element: str, text: str, name: str) -> int:
    """The bit pattern of one element: 0x… is a pattern, anything else a number, rounded to nearest."""
    words = text.strip().lower()
    width = specification.index.types[element].bits
    form = specification.formats.get(element)
    if _HEXADECIMAL.fullmatch(words):
        code = int(words, 16)
        if code >> width:
            raise Question(f"{name}: {text} has more than the {width} bits of .{element}")
        return code
    if form is None:
        return _integer(specification, element, words, name)
    special = {"inf": "inf", "+inf": "inf", "-inf": "-inf", "nan": "nan"}.get(words)
    if special is not None:
        return _special(form, special, element, name)
    value = _number(words)
    if value is None:
        raise Question(
            f"{name}: {text!r} is not an element; write 1.5, -0, inf, nan, 0x1.8p-3 or a pattern 0x…"
        )
    try:
        code = encode(form, value)
    except Question:
        most = number_text(greatest(form))
        what = f"{name}: {text} is not an element of .{element}"
        raise Question(f"{what}, whose greatest number is {most}") from None
    negative = words.startswith("-") and form.signed
    return code | int(negative) << form.exponent + form.fraction + form.ignored


def _integer(specification: Specification, element: str, words: str, name: str) -> int:
    kind = specification.index.types[element]
    low, high = 0, (1 << kind.bits) - 1
    if kind.kind == "signed":
        low, high = -(1 << kind.bits - 1), (1 << kind.bits - 1) - 1
    if not re.fullmatch(r"[-+]?[0-9]{1,99}", words):
        raise Question(f"{name}: {words!r} is not an integer of .{element}")
    value = int(words)
    if not low <= value <= high:
        raise Question(f"{name}: {value} is not an element of .{element}: {low} to {high}")
    return value & (1 << kind.bits) - 1


def _special(form: Format, special: str, element: str, name: str) -> int:
    """The pattern of an infinity or a NaN, the quiet one."""
    top = (1 << form.exponent) - 1 << form.fraction
    if special == "nan" and form.specials == "nan":
        return top | (1 << form.fraction) - 1
    if form.specials != "ieee":
        raise Question(f"{name}: .{element} has no {special.removeprefix('-')}")
    sign = int(special == "-inf") << form.exponent + form.fraction
    return (sign | top | int(special == "nan") << form.fraction - 1) << form.ignored


def _number(words: str) -> Fraction | None:
    power = _POWER.fullmatch(words)
    if power is not None and (power[2] or power[3]):
        scale = int(power[4]) - 4 * len(power[3])
        if abs(scale) > _WIDEST:
            return None
        value = int(power[2] + power[3], 16) * Fraction(2) ** scale
        return -value if power[1] == "-" else value
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", words, re.ASCII):
        return None
    return Fraction(words)


def value_of(specification: Specification, element: str, code: int) -> Fraction | Special:
    """The value of a bit pattern."""
    form = specification.formats.get(element)
    if form is not None:
        return decode(form, code)
    kind = specification.index.types[element]
    signed = kind.kind == "signed" and code >> kind.bits - 1
    return Fraction(code - (1 << kind.bits) if signed else code)


def number_text(value: Fraction | Special) -> str:
    """A number exactly, and short: as a decimal or as M * 2^E with an odd M."""
    if not isinstance(value, Fraction):
        return value
    decimal = repr(float(value)).removesuffix(".0") if abs(value) < 10**15 else str(value)
    if _DECIMAL.fullmatch(decimal) and len(decimal) <= _SHORT and Fraction(decimal) == value:
        return decimal
    exponent = -(value.denominator.bit_length() - 1)
    odd = value.numerator
    while odd % 2 == 0:
        odd, exponent = odd // 2, exponent + 1
    return f"{ {1: '', -1: '-'}.get(odd, f'{odd} * ') }2^{exponent}"
