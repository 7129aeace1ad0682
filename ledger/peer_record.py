"""What other codebases compute, as they were asked: maps of fragments and words of descriptors, as data.

A record is one peer: a package with its version, or source files at a commit. The programs under bench/peers
ask the packages; ptxmma itself never imports one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..spec.lazy_dataclass import dataclass
from .records import FOLDER, read

__all__ = ["Peer", "PeerMap", "PeerRecord", "PeerWord", "load_peers"]

_FORMAT = 1
_NUMBERS = re.compile(r"\d+")

Bases = Mapping[str, Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Peer:
    """A codebase that was asked.

    Peers of one `origin` are copies of one author's numbers, so together they are one witness. `kind` says
    whether a program ran it or a person read it.
    """

    name: str
    origin: str
    package: str
    version: str
    kind: Literal["program", "source"]
    date: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class PeerMap:
    """What a peer says of one layout, at one value of each parameter.

    `inputs` and `outputs` have the size of each, as the peer has them; they may be those of the layout
    exchanged, where the peer says at which place an element lies. `map` is a CuTe layout with a mode for
    each input, whose value is output 0 + size 0 * output 1 + …; or it has, for each bit of each input, what
    that bit adds (XOR) to each output; an input with as many places as values has what each value adds.
    `origin` says whose numbers they are where the peer says that it follows another.
    """

    layout: str
    parameters: Mapping[str, int]
    function: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    map: str | Bases
    origin: str = ""

    def steps(self) -> list[list[int]]:
        """For each input, what each of its values adds to the number of the place."""
        if isinstance(self.map, str):
            return list(self._cute(self.map))
        return [self._linear(self.map[name], size) for name, size in self.inputs.items()]

    @property
    def is_linear(self) -> bool:
        """Whether what the inputs add is joined by XOR, not by +."""
        return not isinstance(self.map, str)

    def _cute(self, text: str) -> Iterator[list[int]]:
        shape, _, stride = text.partition(":")
        shapes, strides = _modes(shape), _modes(stride)
        if len(shapes) != len(self.inputs) or len(strides) != len(shapes):
            raise ValueError(f"{text} has not one mode for each of {', '.join(self.inputs)}")
        for extents, steps, (name, size) in zip(shapes, strides, self.inputs.items(), strict=True):
            values = [0]
            for extent, step in zip(extents, steps, strict=True):
                values = [value + step * place for place in range(extent) for value in values]
            if len(values) != size:
                raise ValueError(f"{text} has {len(values)} values of {name}, not {size}")
            yield values

    def _linear(self, bases: Sequence[Sequence[int]], size: int) -> list[int]:
        numbers = [self._number(base) for base in bases]
        if len(numbers) == size:
            return numbers
        values = [0]
        for number in numbers:
            values += [value ^ number for value in values]
        if len(values) != size:
            raise ValueError(f"{len(bases)} bases make {len(values)} values, not {size}")
        return values

    def _number(self, place: Sequence[int]) -> int:
        number, weight = 0, 1
        for part, extent in zip(place, self.outputs.values(), strict=True):
            if not 0 <= part < extent or extent & extent - 1:
                raise ValueError(f"the basis {place} does not lie in {dict(self.outputs)}")
            number += part * weight
            weight *= extent
        return number


@dataclass(frozen=True)
class PeerWord:
    """The word that a peer encodes from fields of a descriptor, in the specification's names and units."""

    descriptor: str
    function: str
    fields: Mapping[str, int | str]
    word: int
    origin: str = ""


@dataclass(frozen=True)
class PeerRecord:
    """All that one peer was asked."""

    peer: Peer
    maps: tuple[PeerMap, ...]
    words: tuple[PeerWord, ...]


def load_peers(folder: Path = FOLDER) -> tuple[PeerRecord, ...]:
    """Every peer's record; raises Question for any other file."""
    return tuple(read(folder, "peers-*.json", _FORMAT, _record))


def _record(value: Any) -> PeerRecord:
    maps = tuple(PeerMap(**one) for one in value["maps"])
    for one in maps:
        one.steps()  # what is not a map is refused at once
    words = tuple(PeerWord(**{**one, "word": int(one["word"], 16)}) for one in value["words"])
    return PeerRecord(Peer(**value["peer"]), maps, words)


def _modes(text: str) -> list[list[int]]:
    """The numbers of each top-level mode of a CuTe tuple: `((4,8),2)` has the modes 4, 8 and 2."""
    modes: list[list[int]] = []
    depth, start, inner = 0, 1, text.strip()
    for place, sign in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if (sign == "," and depth == 1) or (sign == ")" and depth == 0):
            modes.append([int(number) for number in _NUMBERS.findall(inner[start:place])])
            start = place + 1
    if depth or not modes:
        raise ValueError(f"{text} is not a tuple of modes")
    return modes
