"""Bit patterns against values typed from IEEE 754, OCP OFP8 and OCP MX, and against numpy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmma.spec.api import load
from ptxmma.spec.errors import Question
from ptxmma.spec.patterns import MODES, decode, encode
from ptxmma.spec.specification import Specification

VALUES = [  # format, pattern, value: greatest, least normal, least and greatest subnormal, one, and so on
    ("f16", 0x7BFF, 65504), ("f16", 0x0400, Fraction(1, 2**14)), ("f16", 0x0001, Fraction(1, 2**24)),
    ("f16", 0x7C00, "inf"), ("f16", 0xFC00, "-inf"), ("f16", 0x7C01, "nan"), ("f16", 0xC000, -2),
    ("bf16", 0x3F80, 1), ("bf16", 0x7F7F, Fraction(255) * 2**120), ("bf16", 0x0080, Fraction(1, 2**126)),
    ("bf16", 0x0001, Fraction(1, 2**133)), ("bf16", 0xFF80, "-inf"), ("bf16", 0x7FC0, "nan"),
    ("tf32", 0x3F800000, 1), ("tf32", 0x3F801FFF, 1), ("tf32", 0x3F802000, Fraction(1025, 1024)),
    ("tf32", 0x7F7FE000, Fraction(2047) * 2**117), ("tf32", 0x7F800000, "inf"),
    ("e4m3", 0x7E, 448), ("e4m3", 0x7F, "nan"), ("e4m3", 0xFF, "nan"), ("e4m3", 0x08, Fraction(1, 64)),
    ("e4m3", 0x01, Fraction(1, 512)), ("e4m3", 0x07, Fraction(7, 512)), ("e4m3", 0x38, 1),
    ("e5m2", 0x7B, 57344), ("e5m2", 0x7C, "inf"), ("e5m2", 0x7D, "nan"), ("e5m2", 0x04, Fraction(1, 2**14)),
    ("e5m2", 0x01, Fraction(1, 2**16)), ("e5m2", 0x03, Fraction(3, 2**16)), ("e5m2", 0xBC, -1),
    ("e3m2", 0x1F, 28), ("e3m2", 0x04, Fraction(1, 4)), ("e3m2", 0x01, Fraction(1, 16)), ("e3m2", 0x2C, -1),
    ("e2m3", 0x1F, Fraction(15, 2)), ("e2m3", 0x08, 1), ("e2m3", 0x01, Fraction(1, 8)), ("e2m3", 0x27, Fraction(-7, 8)),
    ("e2m1", 0x7, 6), ("e2m1", 0x1, Fraction(1, 2)), ("e2m1", 0x2, 1), ("e2m1", 0xD, -3),
    ("ue8m0", 0x00, Fraction(1, 2**127)), ("ue8m0", 0x7F, 1), ("ue8m0", 0xFE, 2**127), ("ue8m0", 0xFF, "nan"),
    ("ue4m3", 0x7E, 448), ("ue4m3", 0x7F, "nan"), ("ue4m3", 0x38, 1), ("ue4m3", 0x01, Fraction(1, 512)),
    ("f64", 0x3FF0000000000000, 1), ("f64", 1, Fraction(1, 2**1074)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "pattern", "value"), VALUES)
def test_values_of_the_standards(
    specification: Specification, name: str, pattern: int, value: Fraction | int | str
) -> None:
    form = specification.formats[name]
    assert decode(form, pattern) == value
    if not isinstance(value, str):
        assert encode(form, Fraction(value)) == pattern & ~((1 << form.ignored) - 1)


def test_every_format_is_tried(specification: Specification) -> None:
    assert {name for name, _, _ in VALUES} == set(specification.formats) - {"f32"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0", "ue4m3"])
def test_every_pattern_returns(specification: Specification, name: str) -> None:
    form = specification.formats[name]
    bits = form.signed + form.exponent + form.fraction
    seen = set()
    for pattern in range(1 << bits):
        value = decode(form, pattern)
        if isinstance(value, Fraction):
            seen.add(value)
            back = encode(form, value)
            assert back == pattern or (value == 0 and back == 0)
            for mode in MODES:
                assert encode(form, value, mode) == back
    zeros = 1 if form.subnormals and form.signed else 0
    specials = {"ieee": (2 << form.fraction), "nan": 1 + form.signed, "none": 0}[form.specials]
    assert len(seen) == (1 << bits) - specials - zeros


@pytest.mark.parametrize(("name", "kind", "word"), [
    ("f16", numpy.float16, numpy.uint16), ("f32", numpy.float32, numpy.uint32), ("f64", numpy.float64, numpy.uint64),
])  # fmt: skip
def test_patterns_are_numpys(specification: Specification, name: str, kind: type, word: type) -> None:
    form = specification.formats[name]
    random = numpy.random.default_rng(5)
    for pattern in random.integers(0, numpy.iinfo(word).max, 3000, dtype=word, endpoint=True):
        theirs = float(pattern.view(kind))
        ours = decode(form, int(pattern))
        if isinstance(ours, Fraction):
            assert ours == Fraction(theirs)
        else:
            assert math.isnan(theirs) if ours == "nan" else theirs == float(ours)


@settings(max_examples=400, deadline=None)
@given(st.floats(-65000, 65000, allow_nan=False), st.sampled_from(["f16", "f32"]))
def test_rounding_to_nearest_is_numpys(value: float, name: str) -> None:
    theirs = numpy.float16(value) if name == "f16" else numpy.float32(value)
    pattern = encode(load().formats[name], Fraction(value))
    assert decode(load().formats[name], pattern) == Fraction(float(theirs))


@settings(max_examples=300, deadline=None)
@given(st.fractions(-400, 400), st.sampled_from(["f16", "bf16", "e4m3", "e5m2", "f64"]))
def test_modes_enclose_the_value(value: Fraction, name: str) -> None:
    form = load().formats[name]
    down, up, zero, near = (decode(form, encode(form, value, mode)) for mode in ("rm", "rp", "rz", "rn"))
    assert isinstance(down, Fraction) and isinstance(up, Fraction) and isinstance(near, Fraction)
    assert down <= value <= up
    assert zero == (down if value >= 0 else up)
    assert abs(near - value) == min(value - down, up - value)


def test_what_has_no_pattern(specification: Specification) -> None:
    formats = specification.formats
    with pytest.raises(Question, match="beyond the greatest"):
        encode(formats["e4m3"], Fraction(500))
    with pytest.raises(Question, match="no zero"):
        encode(formats["ue8m0"], Fraction(0))
    with pytest.raises(Question, match="no sign"):
        encode(formats["ue4m3"], Fraction(-1))
    with pytest.raises(Question, match="not a rounding mode"):
        encode(formats["f16"], Fraction(1, 3), "rx")
