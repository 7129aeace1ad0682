"""The records of spec/sparsity.yaml: how a sparse row is coded, and questions that the text leaves open."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Source
from .nodes import Formula
from .switches import Switch

__all__ = ["Sparsity", "SparsityFile"]


@dataclass(frozen=True)
class Sparsity:
    """How a chunk of a sparse row is coded in the metadata: which of its elements are stored."""

    title: str
    """What the coding is, in a phrase.
    Noticed by: readers.
    Example: `two of four consecutive elements, two 2-bit indices`. Refuses: `null` (text must stand)."""
    source: Source
    """The section.
    Example: `{section: "9.7.15.6.1"}`. Refuses: `9.7.15` (a mapping)."""
    chunk: int
    """How many consecutive columns make a chunk.
    Noticed by: proofs, silicon, tests.
    Example: `4`. Refuses: `four` (an integer)."""
    slots: int
    """How many elements of a chunk are stored.
    Noticed by: proofs, silicon, tests.
    Example: `2`. Refuses: `two` (an integer)."""
    index_bits: int
    """How many bits an index has. A chunk's code is its indices, the first one lowest.
    Noticed by: proofs, silicon, tests.
    Example: `2`. Refuses: `two` (an integer)."""
    granule: int
    """How many consecutive 2-bit positions one element takes.
    Noticed by: proofs, silicon, tests.
    Example: `1`. Refuses: `one` (an integer)."""
    run: int
    """How many consecutive elements one index stands for, all of them stored or none.
    Noticed by: proofs, silicon, tests.
    Example: `1`. Refuses: `one` (an integer)."""
    position: Formula
    """The column of the chunk that a stored element belongs to, over `code` and `slot`.
    Noticed by: proofs, silicon, tests.
    Example: `"(code >> 2*slot) & 3"`. Refuses: `"nosuch & 3"` (only code and slot)."""
    valid: Mapping[str, Formula]
    """By the setting of the switch metadata-order: which codes (named `code`) the text allows.
    Noticed by: proofs, silicon, tests.
    Example: `{ascending: "(code & 3) < (code >> 2)"}`. Refuses: `{ascending: "nosuch < 2"}` (only code)."""
    codes: tuple[int, ...]
    """The codes that the default setting allows, in the order in which compression tries them.
    Noticed by: proofs, silicon, tests.
    Example: `[0b0100, 0b1000]`. Refuses: `[0b0000]` (the default setting does not allow it)."""
    place: Place

    @property
    def indices(self) -> int:
        """How many indices a code is made of."""
        return self.slots // self.run

    @property
    def code_bits(self) -> int:
        return self.indices * self.index_bits


@dataclass(frozen=True)
class SparsityFile:
    """spec/sparsity.yaml."""

    switches: Mapping[str, Switch]
    """The questions about sparsity that the text leaves open, by name.
    Noticed by: tests.
    Example: `{}`. Refuses: `{mine: {}}` (the key question is missing)."""
    sparsities: Mapping[str, Sparsity]
    """The codings by id.
    Noticed by: proofs, silicon, tests.
    Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""
