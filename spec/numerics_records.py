"""What spec/numerics.yaml says: the formats of element types, and the precision that clauses promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .model import Source
from .nodes import Formula

__all__ = ["Format", "Guarantee", "NumericsFile"]


@dataclass(frozen=True)
class Format:
    """What an element type's bit patterns stand for: sign, `exponent` bits, `fraction` bits, highest first.

    `specials` says which patterns are no numbers; `ignored` low bits are no part of the value.
    """

    exponent: int
    fraction: int
    bias: int
    specials: Literal["ieee", "nan", "none"]
    source: Source
    signed: bool = True
    subnormals: bool = True
    ignored: int = 0
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Guarantee:
    """A clause's promise: products, or sums, have at least the precision of a format.

    `precision` names formats, or fields that hold an element type; the most precise counts.
    """

    of: Literal["products", "sums"]
    precision: tuple[str, ...]
    when: Formula | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class NumericsFile:
    """The formats by element type, and the guarantees by clause."""

    formats: Mapping[str, Format]
    guarantees: Mapping[str, Guarantee]
