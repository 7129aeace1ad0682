"""What spec/descriptors.yaml and spec/addresses.yaml say: where a matrix lies in shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .model import Source
from .nodes import Formula

__all__ = [
    "AddressFile",
    "AddressRule",
    "Descriptor",
    "DescriptorField",
    "DescriptorFile",
    "DescriptorPart",
    "Swizzle",
]

DescriptorPart = Literal["start", "base", "mode"]


@dataclass(frozen=True)
class DescriptorField:
    """A bit field of the matrix descriptor; `unit` is what one step of the coded value stands for.

    `part` marks what the address of an element is made of: the `start` of the matrix, the `base` offset of
    the swizzle and its `mode`. Address rules name the other fields, which are strides.
    """

    what: str
    low: int
    high: int
    unit: int
    values: Mapping[str, int] = field(default_factory=dict)
    part: DescriptorPart | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Descriptor:
    """A 64-bit descriptor: its fields; every bit outside them is zero.

    `addresses` names the address rules that say where the elements of the matrix lie.
    """

    title: str
    source: Source
    fields: Mapping[str, DescriptorField]
    addresses: tuple[str, ...]
    place: Place

    def field_of(self, part: DescriptorPart) -> str | None:
        """The name of the field that is this part of an address; None where the descriptor has none."""
        return next((name for name, field in self.fields.items() if field.part == part), None)


@dataclass(frozen=True)
class DescriptorFile:
    """The descriptors, by id."""

    descriptors: Mapping[str, Descriptor]


@dataclass(frozen=True)
class Swizzle:
    """The permutation of byte addresses of a swizzling mode: over `linear`, the descriptor's `base`
    offset and the mode's W. It moves bytes inside lines of `line` bytes only."""

    source: Source
    address: Formula
    line: int


@dataclass(frozen=True)
class AddressRule:
    """How a shared-memory layout's atoms lie: the descriptor field that is the stride of each index.

    `widths` gives W for every swizzling mode that the rule is for; `types` the element types.
    """

    title: str
    major: Literal["K", "MN"]
    layout: str
    widths: Mapping[str, int]
    strides: Mapping[str, str]
    types: tuple[str, ...]
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class AddressFile:
    """The swizzle, and the address rules by id."""

    swizzle: Swizzle
    addresses: Mapping[str, AddressRule]
