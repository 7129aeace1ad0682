"""Integers times a power of two that a range of numbers does not have: as terms, and in words."""

from __future__ import annotations

from .plan_bounds import Bounds
from .plans import Range
from .smt.terms import And, Or, Term

__all__ = ["number_text", "outside", "significant_bits", "unrepresentable", "why_outside", "within"]


def outside(value: Term, magnitude: int, exponent: int, held: Range) -> Term:
    """The integer `value` (of at most a magnitude) times 2**exponent is not a number that `held` has."""
    if held.integer:
        return Or(value < held.low, value > held.greatest)
    faults = [unrepresentable(value, magnitude, held.bits)]
    up = exponent - held.quantum
    scaled = value * (1 << up) if up >= 0 else value
    greatest = held.greatest if up >= 0 else held.greatest << -up
    faults += [scaled > greatest, scaled < -greatest]
    if exponent < held.least:
        normal = 1 << (held.least - exponent)
        faults.append(And(value < normal, value > -normal, value != 0))
    return Or(*faults)


def unrepresentable(value: Term, magnitude: int, bits: int) -> Term:
    """More than `bits` bits of significand: above 2**(bits + j), and not a multiple of 2**(j + 1)."""
    if magnitude <= 1 << bits:
        return Or(value > 1 << bits, value < -(1 << bits))
    faults = []
    for j in range(max(magnitude.bit_length() - bits, 0) + 1):
        bound = 1 << (bits + j)
        faults.append(And(Or(value > bound, value < -bound), value % (1 << (j + 1)) != 0))
    return Or(*faults)


def within(value: Term, bounds: Bounds) -> Term:
    """The integer lies in an interval, both ends included."""
    return And(value >= bounds[0], value <= bounds[1])


def significant_bits(value: int) -> int:
    """The bits of significand that an integer needs."""
    value = abs(value)
    return (value // (value & -value)).bit_length() if value else 1


def number_text(value: int, exponent: int) -> str:
    """An integer times a power of two, in words."""
    return f"{value} * 2^{exponent}" if exponent else str(value)


def why_outside(value: int, exponent: int, held: Range) -> str:
    """A number, and why a range does not have it."""
    shown = number_text(value, exponent)
    if held.integer:
        return f"{shown}, which is outside {held.low} .. {held.greatest}"
    needed = significant_bits(value)
    if needed > held.bits:
        return f"{shown}, which needs {needed} bits of significand; {held.name} has {held.bits}"
    return f"{shown}, which is not a normal number of {held.name}"
