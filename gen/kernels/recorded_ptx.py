"""The PTX that computes a layout: written once, and copied into every value kernel that uses the layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from .operations import LayoutUse
from .ptx_text import Affine, Writer

__all__ = ["THREAD", "MetadataRun", "index_of", "indices_of", "renamed", "runs_of"]

THREAD = "%t"  # what stands for the thread in a record


def index_of(w: Writer, where: Mapping[str, Affine], shape: Mapping[str, int]) -> Affine:
    """The index of (row, col) in a row-major matrix, behind the matrices of the products before."""
    index = where.get("product", Affine(None, 0))
    for name in ("row", "col"):
        index = w.binary("+", w.binary("*", index, Affine(None, shape[name])), where[name])
    return index


@lru_cache(maxsize=1024)
def indices_of(of: LayoutUse) -> tuple[Writer, list[Affine]]:
    """The index of each element of a fragment, computed in a writer of its own for the thread `THREAD`."""
    w = Writer()
    trees, shape = of.at.trees, of.layout.shape(of.parameters)
    indices = []
    for element in range(of.layout.domain(of.parameters)["i"]):
        where = {n: w.value(tree, {"t": THREAD, "i": element}) for n, tree in trees.items()}
        indices.append(index_of(w, where, shape))
    return w, indices


@dataclass(frozen=True)
class MetadataRun:
    """Bits `bit` … of a metadata word that are bits `place` … of the code `index`, of threads `taken`."""

    bit: int
    width: int
    index: Affine
    place: Affine
    taken: Affine


@lru_cache(maxsize=1024)
def runs_of(of: LayoutUse, index_bits: int) -> tuple[Writer, list[MetadataRun]]:
    """The runs of a thread's metadata word, computed in a writer of its own for the thread `THREAD`."""
    w = Writer()
    layout = of.at
    chunks = of.layout.shape(of.parameters)["chunk"]
    runs: list[MetadataRun] = []
    for bit in range(of.layout.domain(of.parameters)["bit"]):
        bound: dict[str, Affine | int | str] = {"t": THREAD, "bit": bit}
        where = {name: w.value(tree, bound) for name, tree in layout.trees.items()}
        index = w.binary("+", w.binary("*", where["row"], Affine(None, chunks)), where["chunk"])
        slot = w.binary("*", where["slot"], Affine(None, index_bits))
        place = w.binary("+", slot, where["index_bit"])
        taken = w.value(layout.condition, bound) if layout.condition else Affine(None, 1, truth=True)
        if runs:
            last = runs[-1]
            next_place = Affine(last.place.register, last.place.constant + last.width)
            if (last.index, next_place, last.taken) == (index, place, taken):
                runs[-1] = replace(last, width=last.width + 1)
                continue
        runs.append(MetadataRun(bit, 1, index, place, taken))
    return w, runs


def renamed(value: Affine, names: Mapping[str, str]) -> Affine:
    """A value of another writer, whose registers are called otherwise here."""
    return Affine(names[value.register], value.constant, value.truth) if value.register else value
