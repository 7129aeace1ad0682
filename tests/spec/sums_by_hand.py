"""What sums come to on sm_90, written down a second time: from what was measured, by hand, with integers.

An H100 and an H200 gave these bits, on 10⁹ dot products of each type set. Nothing here is read from the YAML.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

__all__ = ["FORMATS", "INTEGERS", "Format", "sum_by_hand"]


@dataclass(frozen=True)
class Format:
    """Exponent bits, fraction bits, bias; whether it has infinities; low bits that are cut off; its NaN in D."""

    exponent: int
    fraction: int
    bias: int
    infinities: bool = True
    ignored: int = 0
    nan: int = 0

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.fraction + self.ignored

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def least(self) -> int:
        """The exponent of the least normal number."""
        return 1 - self.bias


FORMATS = {
    "f16": Format(5, 10, 15, nan=0x7FFF),
    "bf16": Format(8, 7, 127),
    "tf32": Format(8, 10, 127, ignored=13),
    "f32": Format(8, 23, 127, nan=0x7FFFFFFF),
    "f64": Format(11, 52, 1023, nan=0xFFF8 << 48),
    "e4m3": Format(4, 3, 7, infinities=False),
    "e5m2": Format(5, 2, 15),
}
INTEGERS = {
    "s8": (8, True),
    "u8": (8, False),
    "s4": (4, True),
    "u4": (4, False),
    "s32": (32, True),
    "b1": (1, False),
}


@dataclass(frozen=True)
class Number:
    """A significand times 2**place, with a sign; or an infinity, or a NaN. `top` is where its exponent says
    that its first bit is."""

    negative: bool
    significand: int = 0
    place: int = 0
    top: int = 0
    infinite: bool = False
    nan: bool = False

    @property
    def zero(self) -> bool:
        return not (self.significand or self.infinite or self.nan)


def decoded(name: str, code: int) -> Number:
    form = FORMATS[name]
    code >>= form.ignored
    fraction = code % (1 << form.fraction)
    field = (code >> form.fraction) % (1 << form.exponent)
    negative = bool(code >> (form.fraction + form.exponent))
    if field == (1 << form.exponent) - 1:
        if form.infinities:
            return Number(negative, infinite=not fraction, nan=bool(fraction))
        if fraction == (1 << form.fraction) - 1:
            return Number(negative, nan=True)
    top = max(field, 1) - form.bias
    significand = fraction + (1 << form.fraction if field else 0)
    return Number(negative, significand, top - form.fraction, top)


def product(x: Number, y: Number) -> Number:
    nan = x.nan or y.nan or (x.infinite and y.zero) or (y.infinite and x.zero)
    infinite = not nan and (x.infinite or y.infinite)
    significand = 0 if nan or infinite else x.significand * y.significand
    return Number(x.negative != y.negative, significand, x.place + y.place, x.top + y.top, infinite, nan)


def special(terms: Sequence[Number], form: Format) -> int | None:
    """The result where a term is an infinity or a NaN."""
    signs = {term.negative for term in terms if term.infinite}
    if any(term.nan for term in terms) or len(signs) == 2:
        return form.nan
    if signs:
        return form.infinity | (signs == {True}) << (form.width - 1)
    return None


def rounded(form: Format, negative: bool, magnitude: int, place: int, mode: str) -> int:
    """A magnitude times 2**place in a format: to nearest even (rn), toward zero (rz), down (rm) or up (rp)."""
    sign = negative << (form.width - 1)
    if magnitude == 0:
        return sign
    last = max(place + magnitude.bit_length() - 1, form.least) - form.fraction
    if last <= place:
        whole, rest, half = magnitude << (place - last), 0, 1
    else:
        whole, rest = magnitude >> (last - place), magnitude % (1 << (last - place))
        half = 1 << (last - place - 1)
    up = {
        "rn": rest > half or (rest == half and whole % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    whole += up
    code = whole + ((last + form.fraction - form.least) << form.fraction)  # a carry raises the exponent
    if code >= form.infinity:
        away = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
        return sign | form.infinity - (0 if away else 1)
    return sign | code


def window(
    result: str, products: Sequence[Number], addend: Number, places: int = 25, digits: int | None = None
) -> int:
    """All terms cut to one window below the greatest exponent, then added."""
    form = FORMATS[result]
    terms = [*products, addend]
    found = special(terms, form)
    if found is not None:
        return found
    greatest = max([t.top for t in terms if t.significand], default=-(10**6))
    end = max(greatest, form.least - 7) - places
    total = 0
    for term in terms:
        up = term.place - end
        kept = term.significand << up if up >= 0 else term.significand >> -up
        total += -kept if term.negative else kept
    if digits is not None:
        surplus = max(abs(total).bit_length() - digits, 0)
        total = (abs(total) >> surplus << surplus) * (-1 if total < 0 else 1)
    if result == "f16":
        code = rounded(form, total < 0, abs(total), end, "rn")
    elif abs(total).bit_length() + end > form.bias + 1:
        code = form.infinity | (total < 0) << 31
    else:
        code = rounded(form, total < 0, abs(total), end, "rz")
    return code if code % (1 << (form.width - 1)) else 0


def fused(result: str, terms: Sequence[Number], mode: str = "rn") -> int:
    """IEEE 754: the exact sum of numbers, rounded once."""
    form = FORMATS[result]
    found = special(terms, form)
    if found is not None:
        return found
    end = min([t.place for t in terms if t.significand], default=0)
    values = [
        (t.significand << (t.place - end) if t.significand else 0) * (-1 if t.negative else 1) for t in terms
    ]
    total = sum(values)
    if total == 0:
        alike = {t.negative for t in terms}
        signs = alike == {True} if len(alike) == 1 and not any(values) else mode == "rm"
        return signs << (form.width - 1)
    return rounded(form, total < 0, abs(total), end, mode)


def chained(codes: Sequence[tuple[int, int]], c: int, mode: str) -> int:
    """Fused multiply-adds in f64, with the NaN that the chip picks: that of B, of the sum, of A."""
    for a, b in codes:
        numbers = [decoded("f64", code) for code in (b, c, a)]
        nan = next((code for code, x in zip((b, c, a), numbers, strict=True) if x.nan), None)
        y, addend, x = numbers
        c = nan | 1 << 51 if nan is not None else fused("f64", (product(x, y), addend), mode)
    return c


def integer(name: str, code: int) -> int:
    width, signed = INTEGERS[name]
    return code - (1 << width) if signed and code >> (width - 1) else code


def _floats(fields: Mapping[str, str | int], kind: str, codes: Sequence[tuple[int, int]], c: int) -> int:
    a, b, d = (str(fields[name]) for name in ("atype", "btype", "dtype"))
    ctype = str(fields.get("ctype", d))
    eight = a in ("e4m3", "e5m2")
    pairs = [(decoded(a, x), decoded(b, y)) for x, y in codes]
    if eight and kind == "mma":  # unpacked to f16, where fewer numbers are subnormal
        pairs = [(decoded("f16", fused("f16", [x])), decoded("f16", fused("f16", [y]))) for x, y in pairs]
    products = [product(x, y) for x, y in pairs]
    addend = decoded(ctype, c)
    zero = Number(False)
    if kind == "wgmma":
        return window(d, products, addend, 13 if eight else 25, 14 if eight and d == "f32" else None)
    if kind == "wmma" and (d, ctype) == (
        "f32",
        "f16",
    ):  # C is widened first: its subnormal numbers become normal
        addend = decoded("f32", fused("f32", [addend]))
    if kind == "wmma" and a == "tf32":
        return window(d, products[4:], decoded(d, window(d, products[:4], addend)))
    if kind == "wmma" and (d, ctype) == ("f16", "f32"):
        return fused("f16", [decoded("f32", window("f32", products, addend))])
    if eight:
        first = window(d, [p for i, p in enumerate(products) if i % 4 < 2], zero)
        second = window(d, [p for i, p in enumerate(products) if i % 4 >= 2], decoded(d, first))
        return fused(d, (addend, decoded(d, second)))
    if len(codes) == 4 and a == "f16":
        if d == "f32":
            total = 0
            for one in products:
                total = fused("f32", (one, decoded("f32", total)))
            return fused("f32", (addend, decoded("f32", total)))
        sums = [fused("f32", [decoded("f32", fused("f32", [products[i]])), products[i + 1]]) for i in (0, 2)]
        total = fused("f32", (addend, decoded("f32", sums[0])))
        total = fused("f32", (decoded("f32", total), decoded("f32", sums[1])))
        return fused("f16", [decoded("f32", total)])
    return window(d, products, addend)


def sum_by_hand(
    instruction: str, fields: Mapping[str, str | int], codes: Sequence[tuple[int, int]], c: int
) -> int:
    """The bits of D of one dot product: the instruction's first word, its fields, the pairs of codes, C."""
    a, b, d = (str(fields[name]) for name in ("atype", "btype", "dtype"))
    if d == "f64":
        rnd = str(fields.get("rnd", "none"))
        return chained(codes, c, "rn" if rnd == "none" else rnd)
    if d != "s32":
        return _floats(fields, instruction, codes, c)
    if a == "b1":
        joins: Callable[[int, int], int] = (
            operator.xor if str(fields["op"]).startswith("xor") else operator.and_
        )
        total = sum(joins(x, y) for x, y in codes)
    else:
        total = reduce(lambda s, pair: s + integer(a, pair[0]) * integer(b, pair[1]), codes, 0)
    total += integer("s32", c)
    if fields.get("satfinite") == "satfinite":
        total = min(max(total, -(1 << 31)), (1 << 31) - 1)
    return total % (1 << 32)
