"""What spec/sparsity.yaml says: how a sparse row is coded, and which readings of the text that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import Place
from .model import Source
from .nodes import Formula

__all__ = ["Reading", "Sparsity", "SparsityFile"]


@dataclass(frozen=True)
class Reading:
    """A named reading of a sentence that the text leaves open; `default` is one of `settings`."""

    question: str
    settings: Mapping[str, str]
    default: str
    why: str
    place: Place


@dataclass(frozen=True)
class Sparsity:
    """How a chunk of a sparse row is coded: of `chunk` columns, `slots` are stored.

    A chunk's code is indices of `index_bits` bits each, the first lowest; one index stands for `run`
    consecutive elements, all of them stored or none. `position` says, from `code` and `slot`, which
    column of the chunk a stored element belongs to. `valid` says, per setting of the reading
    `metadata-order`, which codes the text allows; `codes` lists those of the default, in the order in
    which compression tries them. `granule` is how many consecutive 2-bit positions one element takes.
    """

    title: str
    source: Source
    chunk: int
    slots: int
    index_bits: int
    granule: int
    run: int
    position: Formula
    valid: Mapping[str, Formula]
    codes: tuple[int, ...]
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
    """Codings of structured sparsity, by id, and the readings of the text they depend on."""

    readings: Mapping[str, Reading]
    sparsities: Mapping[str, Sparsity]
