"""What spec/descriptors.yaml and spec/addresses.yaml say: where a matrix lies in shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .model import Source
from .nodes import Formula

__all__ = ["AddressFile", "AddressRule", "Descriptor", "DescriptorField", "DescriptorFile", "Swizzle"]


@dataclass(frozen=True)
class DescriptorField:
    """A bit field of the matrix descriptor; `unit` is what one step of the coded value stands for."""

    what: str
    low: int
    high: int
    unit: int
    values: Mapping[str, int] = field(default_factory=dict)
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Descriptor:
    """A 64-bit descriptor: its fields; every bit outside them is zero."""

    title: str
    source: Source
    fields: Mapping[str, DescriptorField]
    place: Place


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
