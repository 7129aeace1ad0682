"""Do floating-point arithmetic with numbers, as far as the branches of a kernel depend on it.

This module reads PTX by itself, on purpose: it shares no code with `check/`, because it judges the checker.
A floating-point register holds a float; where it was written as a word of bits, it is read as one. Sums and
products are rounded once, to the type of the instruction; directed roundings are taken as the nearest.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable, Sequence

__all__ = ["as_bits", "is_real", "literal", "real", "real_result"]

_FORMATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_COMPARES: dict[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_ROUNDED: dict[str, Callable[[float], int]] = {
    "rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}  # fmt: skip
_DONE: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "fma": lambda a, b, c: a * b + c,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "mov": lambda a: a,
}


def is_real(kind: str) -> bool:
    """Whether a type's numbers are done here."""
    return kind in _FORMATS


def literal(operand: str) -> float | None:
    """A literal: the bits of a number of 32 or 64 bits."""
    if word := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
        return float(struct.unpack(">f", bytes.fromhex(word[1]))[0])
    if word := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand):
        return float(struct.unpack(">d", bytes.fromhex(word[1]))[0])
    return None


def as_bits(value: float, kind: str) -> int | None:
    """The word of a register that holds a float; `kind` is the type of the word."""
    form = {"16": "<e", "32": "<f", "64": "<d"}.get(kind[1:])
    if form is None:
        return None
    try:
        return int.from_bytes(struct.pack(form, value), "little")
    except OverflowError:
        return None


def real(value: int | float, kind: str) -> float:
    """The number of a register of a type."""
    if isinstance(value, float):
        return value
    form = _FORMATS[kind]
    size = struct.calcsize(form)
    word = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return float(struct.unpack(form, word)[0])


def real_result(parts: Sequence[str], known: Sequence[int | float | None]) -> int | float | None:
    """What an instruction whose types are of floats makes of numbers; None if that is not known."""
    root, kind = parts[0], parts[-1]
    if root == "setp" and parts[1].rstrip("u") in _COMPARES and len(known) == 2:
        return _compared(parts[1], kind, known)
    if any(value is None for value in known):
        return None
    values = [value for value in known if value is not None]
    if root == "cvt":
        return _converted(parts, values[0])
    if root not in _DONE or not is_real(kind):
        return None
    return _rounded(_DONE[root](*(real(value, kind) for value in values)), kind)


def _compared(how: str, kind: str, known: Sequence[int | float | None]) -> int | None:
    if None in known or not is_real(kind):
        return None
    a, b = (real(value, kind) for value in known if value is not None)
    if math.isnan(a) or math.isnan(b):
        return int(how.endswith("u"))
    return int(_COMPARES[how.rstrip("u")](a, b))


def _converted(parts: Sequence[str], value: int | float) -> int | float | None:
    to, of = parts[-2:]
    if is_real(of):
        number = real(value, of)
        if is_real(to):
            return _rounded(number, to)
        how = next((_ROUNDED[part] for part in parts if part in _ROUNDED), None)
        return None if how is None or not math.isfinite(number) else how(number) & (1 << int(to[1:])) - 1
    if isinstance(value, float) or not is_real(to):
        return None
    width = int(of[1:])
    word = value & (1 << width) - 1
    return _rounded(float(word - (1 << width) if of[0] == "s" and word >> width - 1 else word), to)


def _rounded(number: float, kind: str) -> float | None:
    form = _FORMATS[kind]
    try:
        return float(struct.unpack(form, struct.pack(form, number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
