"""The records of spec/numerics.yaml: the formats of element types, and the precision that clauses promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Source
from .nodes import Formula

__all__ = ["Format", "Guarantee", "NumericsFile"]


@dataclass(frozen=True)
class Format:
    """What an element type's bit patterns stand for: sign, exponent and fraction, highest bit first."""

    exponent: int
    """How many bits the exponent has.
    Noticed by: tests. Example: `5`. Refuses: `five` (an integer)."""
    fraction: int
    """How many bits the fraction has.
    Noticed by: tests. Example: `10`. Refuses: `60` (all bits together fill the element type)."""
    bias: int
    """What is subtracted from the coded exponent.
    Noticed by: tests. Example: `15`. Refuses: `half` (an integer)."""
    specials: Literal["ieee", "nan", "none"]
    """Which patterns are not numbers. ieee: an exponent of all ones is an infinity or a NaN; nan: only the
    pattern of all ones is a NaN; none: every pattern is a number.
    Noticed by: tests. Example: `ieee`. Refuses: `all` (not in the list)."""
    source: Source
    """The section, and the standard.
    Example: `{section: "5.2.3; OCP OFP8"}`. Refuses: `5.2.3` (a mapping)."""
    signed: bool = True
    """Whether the highest bit is a sign.
    Noticed by: tests. Example: `false`. Refuses: `unsigned` (neither true nor false)."""
    subnormals: bool = True
    """Whether an exponent of all zeros stands for zero and subnormal numbers.
    Noticed by: tests. Example: `false`. Refuses: `no such` (neither true nor false)."""
    ignored: int = 0
    """How many of the lowest bits are not part of the value.
    Noticed by: tests. Example: `13`. Refuses: `some` (an integer)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Guarantee:
    """A clause's promise: products, or sums, have at least the precision of a format."""

    of: Literal["products", "sums"]
    """What has the precision: each product, or every sum on the way to the result.
    Noticed by: tests. Example: `products`. Refuses: `results` (not in the list)."""
    precision: tuple[str, ...]
    """Formats, or fields that hold an element type; the most precise counts.
    Noticed by: tests. Example: `[atype, btype]`. Refuses: `[nosuch]` (neither a format nor a field)."""
    when: Formula | None = None
    """The variants that the promise is about; all of them if it does not stand.
    Noticed by: tests. Example: `"dtype == f32"`. Refuses: `"dtype ="` (not an expression)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class NumericsFile:
    """spec/numerics.yaml."""

    formats: Mapping[str, Format]
    """The formats by element type.
    Noticed by: tests. Example: `{f16: {exponent: 5, fraction: 10, bias: 15, specials: ieee, source:
    {section: "5.2.1"}}}`. Refuses: `{f17: {exponent: 5}}` (the key fraction is missing)."""
    guarantees: Mapping[str, Guarantee]
    """The promises by clause.
    Noticed by: tests. Example: `{num.order: {of: sums, precision: [f32]}}`. Refuses: `{num.nosuch: {of:
    sums, precision: [f32]}}` (spec/contracts.yaml has no such clause)."""
