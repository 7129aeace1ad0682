"""Bit patterns of element types to numbers and back, for arrays: the inputs and outputs of probes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.errors import Question
from ...spec.numerics_records import Format
from ...spec.specification import Specification

__all__ = ["decode", "encode", "number_type", "significand"]


_SMALL = 16  # bits of a type whose patterns are all decoded at once


def number_type(specification: Specification, element: str) -> np.dtype[Any]:
    """The numpy type with the numbers of an element type; raises Question where numpy has none."""
    form, kind = specification.formats.get(element), specification.index.types[element]
    if form is None:
        return np.dtype(f"{'i' if kind.kind == 'signed' else 'u'}{kind.bits // 8}")
    for known in (np.float16, np.float32, np.float64):
        info = np.finfo(known)
        if (info.nexp, info.nmant, kind.bits) == (form.exponent, form.fraction, info.bits):
            return np.dtype(known)
    raise Question(f"numpy has no numbers like those of .{element}")


def significand(specification: Specification, element: str) -> int:
    """The bits of an element type's significand, the leading one among them."""
    return specification.formats[element].fraction + 1


def encode(specification: Specification, element: str, value: float) -> int:
    """The bit pattern of a number; raises Question when the element type does not have it."""
    form = specification.formats.get(element)
    if form is None:
        bits = specification.index.types[element].bits
        return int(value) & ((1 << bits) - 1)
    sign = int(math.copysign(1, value) < 0)
    width = 1 + form.exponent + form.fraction
    if value == 0:
        return sign << (width - 1 + form.ignored)
    fraction, exponent = math.frexp(abs(value))
    exponent = max(exponent - 1, 1 - form.bias)
    scaled = math.ldexp(fraction, math.frexp(abs(value))[1] - exponent + form.fraction)
    stored = int(scaled)
    hidden = 1 << form.fraction
    field = 0 if stored < hidden else exponent + form.bias
    if stored != scaled or stored >= 2 * hidden or field >= 1 << form.exponent:
        raise Question(f"{value} is not a number of .{element}")
    pattern = sign << (width - 1) | field << form.fraction | stored % hidden
    return pattern << form.ignored


def decode(specification: Specification, element: str, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """The numbers of bit patterns; infinities and NaN as such."""
    form = specification.formats.get(element)
    if form is None:
        kind = specification.index.types[element]
        whole = codes.astype(np.int64)
        if kind.kind == "signed":
            whole = (whole ^ (1 << (kind.bits - 1))) - (1 << (kind.bits - 1))
        return whole.astype(np.float64)
    if _bits(form) > _SMALL:
        return _numbers(form, codes)
    found: NDArray[np.float64] = _table(form)[codes & ((1 << _bits(form)) - 1)]
    return found


def _bits(form: Format) -> int:
    return 1 + form.exponent + form.fraction + form.ignored


@lru_cache
def _table(form: Format) -> NDArray[np.float64]:
    """The number of every bit pattern of a small type."""
    return _numbers(form, np.arange(1 << _bits(form)))


def _numbers(form: Format, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    pattern = codes.astype(np.uint64) >> np.uint64(form.ignored)
    fraction = (pattern & np.uint64((1 << form.fraction) - 1)).astype(np.float64)
    top = (1 << form.exponent) - 1
    exponent = (pattern >> np.uint64(form.fraction)).astype(np.int64) & top
    sign = np.where(pattern >> np.uint64(form.fraction + form.exponent) & np.uint64(1), -1.0, 1.0)
    hidden = np.where(exponent > 0, float(1 << form.fraction), 0.0)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(hidden + fraction, np.maximum(exponent, 1) - form.bias - form.fraction)
    if form.specials == "ieee":
        scaled = np.where(exponent == top, np.where(fraction > 0, np.nan, np.inf), scaled)
    if form.specials == "nan":
        scaled = np.where((exponent == top) & (fraction == (1 << form.fraction) - 1), np.nan, scaled)
    values: NDArray[np.float64] = sign * scaled
    return values
