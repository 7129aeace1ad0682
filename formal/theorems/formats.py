"""Element types: kind, width, format and signedness agree with each other and with the type's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ...spec.index import ElementType
from ...spec.numerics_records import Format
from ...spec.specification import Specification
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "format_faults", "type_faults"]

_PART = "types"
# What letters and numbers of a name say, as in .s8, .u8, .b8 and .b8x16; .f16, .bf16, .tf32; .e4m3, .ue4m3.
_INTEGER = re.compile(r"([sub])(\d+)(?:x\w+)?")
_FLOAT = re.compile(r"[bt]?f(\d+)")
_PARTS = re.compile(r"(u?)e(\d+)m(\d+)")
_INTEGERS = ("signed", "unsigned", "bits")  # by their first letters
_LEAST_WITH_NAN = 8  # bits; OCP MX has no room for a NaN in narrower formats


def type_faults(name: str, element: ElementType, form: Format | None) -> Iterator[str]:
    """What a type's kind, its width or its having a format says otherwise than its name."""
    integer, number, parts = (pattern.fullmatch(name) for pattern in (_INTEGER, _FLOAT, _PARTS))
    if integer:
        kind = next(kind for kind in _INTEGERS if kind.startswith(integer[1]))
        bits = int(integer[2])
    elif number:
        kind, bits = "float", int(number[1])
    elif parts:
        kind, bits = "scale" if parts[1] else "float", int(parts[2]) + int(parts[3])
        bits += not parts[1] or bits % 2  # a sign; without one, a bit of a byte that is not used
    else:
        yield f"{element.place}: the name of {name} does not say its kind"
        return
    if element.kind != kind:
        yield f"{element.place}: {name} is called {element.kind}; by its name it is {kind}"
    if element.bits != bits:
        yield f"{element.place}: {name} has {element.bits} bits; by its name it has {bits}"
    if (form is not None) != (element.kind in ("float", "scale")):
        has = "has" if form is not None else "has no"
        yield f"{element.place}: {name} is called {element.kind}, and {has} format"


def format_faults(name: str, element: ElementType, form: Format) -> Iterator[str]:
    """What a format says otherwise than its type, its name, or the standards say of all formats."""
    signed = element.kind == "float"
    if form.signed != signed:
        sign = "a sign" if form.signed else "no sign"
        yield f"{form.place}: the format {name} has {sign}; the type is {element.kind}"
    parts = _PARTS.fullmatch(name)
    if parts and (form.exponent, form.fraction) != (int(parts[2]), int(parts[3])):
        yield f"{form.place}: {name} has {form.exponent} bits of exponent and {form.fraction} of fraction"
    if form.bias != (middle := (1 << (form.exponent - 1)) - 1):
        yield f"{form.place}: the bias of {name} is {form.bias}; the exponent's middle is {middle}"
    if (form.specials == "none") != (element.bits < _LEAST_WITH_NAN):
        yield f"{form.place}: {name} has {element.bits} bits; formats from {_LEAST_WITH_NAN} on have a NaN"
    if form.specials == "ieee" and form.fraction < 2:
        yield f"{form.place}: with {form.fraction} bits of fraction, {name} has no room for infinity and NaN"
    if form.specials == "ieee" and element.kind == "scale":
        yield f"{form.place}: {name} has an infinity; a scale factor has none"
    if form.subnormals != bool(form.fraction):
        yield f"{form.place}: {name} has {form.fraction} bits of fraction, so subnormals: {form.fraction > 0}"


def _faults(specification: Specification, name: str) -> Iterator[str]:
    element, form = specification.index.types[name], specification.formats.get(name)
    yield from type_faults(name, element, form)
    if form is not None:
        yield from format_faults(name, element, form)


def _parts(specification: Specification) -> Iterator[ProofPart]:
    return iter(())


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    for name in specification.index.types:
        yield Enumeration("types.agree", name, _PART, partial(_faults, specification, name))


GROUP = TheoremGroup(
    55,
    (
        Theorem(
            "types.agree",
            "an element type's name, kind, width and format say the same",
            enumerated=True,
            formula="for each type: "
            "(kind, bits, sign, exponent, fraction) by its name == by its record and format",
            fails="a type of which its name, its record and its format say different things",
        ),
    ),
    _parts,
    enumerations=_enumerations,
)
