"""The records of spec/descriptors.yaml and spec/addresses.yaml: where a matrix lies in shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Gate, Source
from .nodes import Formula, Scalars

__all__ = [
    "AddressFile",
    "AddressRule",
    "ColumnMask",
    "Descriptor",
    "DescriptorField",
    "DescriptorFile",
    "DescriptorPart",
    "DescriptorRule",
    "Swizzle",
]

DescriptorPart = Literal["start", "base", "mode"]


@dataclass(frozen=True)
class DescriptorField:
    """A bit field of a descriptor."""

    what: str
    """What the field says, in a phrase.
    Noticed by: readers. Example: `stride dimension byte offset`. Refuses: `null` (text must stand)."""
    low: int
    """Its lowest bit.
    Noticed by: proofs, peers, silicon, tests.
    Example: `16`. Refuses: `low` (an integer)."""
    high: int
    """Its highest bit.
    Noticed by: proofs, peers, silicon, tests.
    Example: `29`. Refuses: `64` (a descriptor has at most the bits 0 to 63)."""
    unit: int
    """What one step of the coded value stands for.
    Noticed by: proofs, peers, silicon, tests.
    Example: `16`. Refuses: `0` (at least 1)."""
    values: Mapping[str, int] = field(default_factory=dict)
    """The coded values by name, where they have names; no other value is legal then.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{none: 0, 128B: 1}`. Refuses: `{none: zero}` (an integer)."""
    constant: int | None = None
    """The only coded value, where there is only one.
    Noticed by: proofs, peers, tests.
    Example: `1`. Refuses: `99` (the field has no bits for it)."""
    tolerated: str | None = None
    """Who puts other values into the field all the same; `check` does not call one a fault then.
    Noticed by: readers, tests.
    Example: `a released compiler leaves it 0`. Refuses: `[a]` (text, not a list)."""
    unplaced: Mapping[str, str] = field(default_factory=dict)
    """The values, by name, with which the text does not say where the elements lie, each with what it leaves
    open: no address is computed then.
    Noticed by: tests.
    Example: `{absolute: where the second chunk begins}`. Refuses: `{absolute: [a]}` (text, not a list)."""
    part: DescriptorPart | None = None
    """What the field is to the address of an element: the start of the matrix, the base offset of the
    swizzle, or its mode. Address rules name the other fields, which are strides.
    Noticed by: proofs, silicon, tests.
    Example: `start`. Refuses: `stride` (not in the list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class DescriptorRule:
    """What must hold between the fields of a descriptor and the statement that takes it."""

    id: str
    """The rule's name, for messages; it never changes.
    Noticed by: tests.
    Example: `N.two`. Refuses: `[a]` (text, not a list)."""
    holds: Formula
    """What must hold, over fields (with _ for -), settings, and the names of coded values.
    Noticed by: proofs, tests.
    Example: `"sparse == 0 or M == 256"`. Refuses: `"nosuch == 0"` (neither a field nor a setting)."""
    why: str
    """The reason, in a phrase.
    Noticed by: readers.
    Example: `only integers saturate`. Refuses: `null` (a reason must stand)."""
    source: Source
    """The section, and how the rule was read.
    Example: `{section: "9.7.16.4.2"}`. Refuses: `9.7.16` (a mapping)."""
    lifted: Gate | None = None
    """Since when and on which targets the rule no longer holds; null where it always holds.
    Noticed by: proofs, tests.
    Example: `{since: "8.8", deprecated: null, removed: null, targets: [sm_100a]}`.
    Refuses: `{since: "8.8"}` (every key of a gate is written)."""
    only: Gate | None = None
    """Since when and on which targets alone the rule holds, where a target is named; null for everywhere.
    Noticed by: proofs, tests.
    Example: `{since: "9.4", deprecated: null, removed: null, targets: [sm_107a]}`.
    Refuses: `{since: "9.4"}` (every key of a gate is written)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ColumnMask:
    """Which columns a mask zeroes: in parts of equal length, spans of zeroed and of used ones in turns."""

    counts: Scalars
    """How many columns the masked matrix may have.
    Noticed by: tests.
    Example: `[64, 128, 256]`. Refuses: `[wide]` (integers)."""
    parts: Formula
    """How many parts the mask has, over settings.
    Noticed by: tests.
    Example: `128 // M`. Refuses: `nosuch` (a setting of the descriptor)."""
    start: str
    """The fields that say how much of the first span a part leaves out; `{part}` is the part's number.
    Noticed by: tests.
    Example: `start-count-{part}`. Refuses: `nosuch-{part}` (the descriptor has no such field)."""
    first: str
    """The fields that say with which span a part begins, 1 for zeroed columns.
    Noticed by: tests.
    Example: `first-span-{part}`. Refuses: `nosuch-{part}` (the descriptor has no such field)."""
    position: Formula
    """Where in a pair of spans a column is: over `column` (from the part's first on), `start`, and fields
    that all parts share (with _ for -).
    Noticed by: proofs, tests.
    Example: `"(column + start) % 8"`. Refuses: `"column + nosuch"` (neither a field nor a word of masks)."""
    zeroed: Formula
    """Whether a column is zeroed: over `position`, `first`, and fields that all parts share.
    Noticed by: proofs, tests.
    Example: `"first == 1 and position < 4"`.
    Refuses: `"nosuch == 1"` (neither a field nor a word of masks)."""
    inverse: Mapping[str, Formula]
    """The fields of the mask of given columns: over `any` (1 where there is a zeroed column), the lengths of
    full spans (`zeros`, `used`), the part's `first` column, and how many are like it (`run`).
    Noticed by: proofs, tests.
    Example: `{skip-span: zeros - 1}`. Refuses: `{skip-span: nosuch}` (not a word of masks)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Descriptor:
    """A descriptor of 32 or 64 bits; every bit outside its fields is zero."""

    title: str
    """What the descriptor is of, in a phrase.
    Noticed by: readers.
    Example: `Matrix descriptor of wgmma.mma_async`. Refuses: `null` (text must stand)."""
    source: Source
    """The section.
    Example: `{section: "9.7.15.5.1.2.2"}`. Refuses: `9.7.15` (a mapping)."""
    fields: Mapping[str, DescriptorField]
    """The bit fields by name.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{base-offset: {what: matrix base offset, low: 49, high: 51, unit: 1}}`.
    Refuses: `{base-offset: {what: matrix base offset}}` (the key low is missing)."""
    addresses: tuple[str, ...]
    """The address rules that say where the elements of the matrix lie.
    Noticed by: silicon.
    Example: `[k-major]`. Refuses: `[nosuch]` (spec/addresses.yaml has no such rule)."""
    unnamed: tuple[int, ...] = ()
    """Bits outside the fields of which the text says nothing, and which programs set; `check` does not call
    one a fault then.
    Noticed by: readers, tests.
    Example: `[14, 15]`. Refuses: `[low]` (an integer)."""
    bits: int = 64
    """How many bits it has.
    Noticed by: proofs, tests.
    Example: `32`. Refuses: `33` (32 or 64)."""
    settings: Mapping[str, Scalars] = field(default_factory=dict)
    """What rules ask about the statement that takes the descriptor: a name for each, and its values.
    Noticed by: proofs, tests.
    Example: `{cta_group: [1, 2]}`. Refuses: `{cta_group: [one]}` (integers)."""
    rules: tuple[DescriptorRule, ...] = ()
    """Which values of the fields go together. The first that does not hold is the reason to refuse a word.
    Noticed by: proofs, tests.
    Example: `[]`. Refuses: `[{id: a}]` (the key holds is missing)."""
    says: Mapping[str, Formula] = field(default_factory=dict)
    """What else follows from a word, for the layouts of tensor memory: over fields (with _ for -), settings,
    the names of coded values, and what stands above.
    Noticed by: proofs, tests.
    Example: `{m: M, k: "16 * (1 + sp)"}`. Refuses: `{m: nosuch}` (neither a field nor a setting)."""
    columns: ColumnMask | None = None
    """Which columns it zeroes, where it is a mask.
    Noticed by: proofs, tests.
    Example: `null`. Refuses: `[0]` (a mapping)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

    def field_of(self, part: DescriptorPart) -> str | None:
        """The name of the field that is this part of an address; None where the descriptor has none."""
        return self._parts.get(part)

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        """The first field that is each part of an address."""
        named = [(field.part, name) for name, field in self.fields.items() if field.part is not None]
        return dict(reversed(named))


@dataclass(frozen=True)
class DescriptorFile:
    """spec/descriptors.yaml."""

    descriptors: Mapping[str, Descriptor]
    """The descriptors by id.
    Noticed by: silicon.
    Example: `{mine: {title: Mine, source: {section: "9.7.15"}, fields: {}, addresses: []}}`.
    Refuses: `{mine: {title: Mine}}` (the key source is missing)."""


@dataclass(frozen=True)
class Swizzle:
    """The permutation of byte addresses that a swizzling mode makes, inside lines of some bytes."""

    source: Source
    """The section.
    Example: `{section: "9.7.15.5.1.2.1.3", origin: measured}`. Refuses: `9.7.15` (a mapping)."""
    address: Formula
    """The address, over `linear`, the descriptor's base offset `base` and the mode's W.
    Noticed by: proofs, silicon, tests.
    Example: `"linear ^ (linear >> 3 & 0x70)"`. Refuses: `"linear ^ nosuch"` (only linear, base and W)."""
    line: int
    """How many bytes a line has; the permutation moves bytes inside lines only.
    Noticed by: proofs.
    Example: `128`. Refuses: `long` (an integer)."""
    unit: int = 16
    """How many bytes the permutation moves together.
    Noticed by: proofs.
    Example: `32`. Refuses: `wide` (an integer)."""


@dataclass(frozen=True)
class AddressRule:
    """How the atoms of a shared-memory layout lie: which descriptor field is the stride of which index."""

    title: str
    """Which matrices the rule is for, in a phrase.
    Noticed by: readers. Example: `A and B not transposed`. Refuses: `null` (text must stand)."""
    major: Literal["K", "MN"]
    """The dimension along which consecutive elements lie.
    Noticed by: silicon.
    Example: `K`. Refuses: `N` (not in the list)."""
    layout: str
    """The layout that splits a matrix into atoms.
    Noticed by: proofs, silicon.
    Example: `smem.k-major`. Refuses: `nosuch` (no file has such a layout)."""
    widths: Mapping[str, int]
    """The bytes of an atom's row, for each swizzling mode that the rule is for.
    Noticed by: proofs, silicon, tests.
    Example: `{none: 16, 128B: 128}`. Refuses: `{none: wide}` (an integer)."""
    strides: Mapping[str, str]
    """The descriptor field that is the stride of each of the layout's outputs `block` and `column`.
    Noticed by: silicon, tests.
    Example: `{block: stride-dimension-byte-offset}`.
    Refuses: `{block: nosuch}` (the descriptor has no such field)."""
    types: tuple[str, ...]
    """The element types that the rule is for.
    Noticed by: silicon, tests.
    Example: `[f16, bf16]`. Refuses: `[f17]` (specs.yaml has no such element type)."""
    swizzle: Swizzle | None = None
    """The swizzle of its modes, where it is not that of the file.
    Noticed by: proofs, tests.
    Example: `{source: {section: "9.7.16.3.3"}, address: linear, line: 128}`. Refuses: `none` (a mapping)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class AddressFile:
    """spec/addresses.yaml."""

    swizzle: Swizzle
    """The swizzle.
    Noticed by: proofs.
    Example: `{source: {section: "9.7.15"}, address: linear, line: 128}`. Refuses: `none` (a mapping)."""
    addresses: Mapping[str, AddressRule]
    """The address rules by id.
    Noticed by: proofs, silicon, tests.
    Example: `{mine: {title: Mine, major: K, layout: smem, widths: {none: 16}, strides: {}, types: [f16]}}`.
    Refuses: `{mine: {title: Mine}}` (the key major is missing)."""
