"""The extreme values of every format, typed from IEEE 754 (f16, f32, f64), OCP OFP8, OCP MX and the PTX ISA."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from ptxmma.spec.patterns import Special, decode
from ptxmma.spec.specification import Specification

WATCHES = ("specs.yaml", "spec/numerics.yaml")

# By format: the greatest number, the least normal one, the greatest and the least subnormal one, each with its
# pattern; then infinities and NaNs. OFP8 table 1 and MX tables 1 to 3 have them for the narrow formats.
TWO = Fraction(2)
NUMBERS: dict[str, list[tuple[int, Fraction]]] = {
    "f16": [(0x7BFF, Fraction(65504)), (0x0400, TWO**-14), (0x03FF, 1023 * TWO**-24), (0x0001, TWO**-24)],
    "bf16": [(0x7F7F, 255 * TWO**120), (0x0080, TWO**-126), (0x007F, 127 * TWO**-133), (0x0001, TWO**-133)],
    "tf32": [
        (0x7F7FE000, 2047 * TWO**117), (0x00800000, TWO**-126), (0x007FE000, 1023 * TWO**-136), (0x00002000, TWO**-136),
    ],
    "f32": [
        (0x7F7FFFFF, 16777215 * TWO**104), (0x00800000, TWO**-126), (0x007FFFFF, 8388607 * TWO**-149), (1, TWO**-149),
    ],
    "f64": [
        (0x7FEFFFFFFFFFFFFF, 9007199254740991 * TWO**971), (0x0010000000000000, TWO**-1022),
        (0x000FFFFFFFFFFFFF, 4503599627370495 * TWO**-1074), (1, TWO**-1074),
    ],
    "e4m3": [(0x7E, Fraction(448)), (0x08, Fraction(1, 64)), (0x07, Fraction(7, 512)), (0x01, Fraction(1, 512))],
    "e5m2": [(0x7B, Fraction(57344)), (0x04, TWO**-14), (0x03, 3 * TWO**-16), (0x01, TWO**-16)],
    "e3m2": [(0x1F, Fraction(28)), (0x04, Fraction(1, 4)), (0x03, Fraction(3, 16)), (0x01, Fraction(1, 16))],
    "e2m3": [(0x1F, Fraction(15, 2)), (0x08, Fraction(1)), (0x07, Fraction(7, 8)), (0x01, Fraction(1, 8))],
    "e2m1": [(0x7, Fraction(6)), (0x2, Fraction(1)), (0x1, Fraction(1, 2)), (0x1, Fraction(1, 2))],
    "ue8m0": [(0xFE, TWO**127), (0x7F, Fraction(1)), (0x01, TWO**-126), (0x00, TWO**-127)],
    "ue4m3": [(0x7E, Fraction(448)), (0x08, Fraction(1, 64)), (0x07, Fraction(7, 512)), (0x01, Fraction(1, 512))],
}  # fmt: skip
SPECIALS: dict[str, dict[int, Special]] = {
    "f16": {0x7C00: "inf", 0xFC00: "-inf", 0x7C01: "nan", 0x7E00: "nan", 0xFFFF: "nan"},
    "bf16": {0x7F80: "inf", 0xFF80: "-inf", 0x7F81: "nan", 0x7FC0: "nan", 0xFFFF: "nan"},
    "tf32": {0x7F800000: "inf", 0xFF800000: "-inf", 0x7F802000: "nan", 0x7FC00000: "nan"},
    "f32": {0x7F800000: "inf", 0xFF800000: "-inf", 0x7F800001: "nan", 0x7FC00000: "nan"},
    "f64": {0x7FF0000000000000: "inf", 0xFFF0000000000000: "-inf", 0x7FF0000000000001: "nan"},
    "e4m3": {0x7F: "nan", 0xFF: "nan"},
    "e5m2": {
        0x7C: "inf", 0xFC: "-inf", 0x7D: "nan", 0x7E: "nan", 0x7F: "nan", 0xFD: "nan", 0xFE: "nan", 0xFF: "nan",
    },
    "e3m2": {},
    "e2m3": {},
    "e2m1": {},
    "ue8m0": {0xFF: "nan"},
    "ue4m3": {0x7F: "nan"},
}  # fmt: skip
# Of formats whose patterns can all be counted: how many there are, and how many infinities and NaNs.
COUNTS = {
    "f16": (65536, 2, 2046), "bf16": (65536, 2, 254), "e4m3": (256, 0, 2), "e5m2": (256, 2, 6), "e3m2": (64, 0, 0),
    "e2m3": (64, 0, 0), "e2m1": (16, 0, 0), "ue8m0": (256, 0, 1), "ue4m3": (128, 0, 1),
}  # fmt: skip


def test_every_format_is_here(specification: Specification) -> None:
    assert set(NUMBERS) == set(SPECIALS) == set(specification.formats)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_extreme_values(specification: Specification, name: str) -> None:
    form = specification.formats[name]
    for pattern, value in NUMBERS[name]:
        assert decode(form, pattern) == value, hex(pattern)
        if form.signed:
            sign = 1 << (specification.index.types[name].bits - 1)
            assert decode(form, pattern | sign) == -value, hex(pattern)
    for pattern, special in SPECIALS[name].items():
        assert decode(form, pattern) == special, hex(pattern)
    assert decode(form, 0) == (TWO**-127 if name == "ue8m0" else 0)


@pytest.mark.parametrize("name", COUNTS)
def test_there_are_no_others(specification: Specification, name: str) -> None:
    patterns, infinities, nans = COUNTS[name]
    values = Counter(decode(specification.formats[name], pattern) for pattern in range(patterns))
    assert values["nan"] == nans and values["inf"] + values["-inf"] == infinities
    numbers = {value for value in values if isinstance(value, Fraction)}
    greatest, _, _, least = (value for _, value in NUMBERS[name])
    assert max(numbers) == greatest and min(value for value in numbers if value > 0) == least
