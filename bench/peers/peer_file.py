"""The file of what one peer computes: evidence/peers-PACKAGE.json, an observation a line.

The programs beside this one run where the peer is installed, so nothing here needs ptxmma.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Observations", "bases_of"]

_FORMAT = 1
_FOLDER = Path(__file__).parents[2] / "evidence"


@dataclass
class Observations:
    """What a peer says, in the words of the specification: layouts, inputs, outputs, fields."""

    name: str
    origin: str
    package: str
    kind: str = "program"
    version: str = ""
    maps: list[dict[str, Any]] = field(default_factory=list)
    words: list[dict[str, Any]] = field(default_factory=list)

    def add_map(
        self,
        layout: str,
        function: str,
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
        map_: str | Mapping[str, Sequence[Sequence[int]]],
        *,
        origin: str = "",
        **parameters: int,
    ) -> None:
        """A map: a CuTe layout with a mode for each input, or what each bit of each input adds (XOR).

        Of an input with a place for each value it is what each value adds.
        `origin` says whose numbers they are where the peer says that it follows another.
        """
        known = {
            "layout": layout,
            "parameters": parameters,
            "function": function,
            "inputs": dict(inputs),
            "outputs": dict(outputs),
            "map": map_,
            **({"origin": origin} if origin else {}),
        }
        if known not in self.maps:
            self.maps.append(known)

    def add_word(
        self,
        descriptor: str,
        function: str,
        fields: Mapping[str, int | str],
        word: int,
        origin: str = "",
    ) -> None:
        """The word that the peer encodes from some fields of a descriptor."""
        known = {
            "descriptor": descriptor,
            "function": function,
            "fields": dict(fields),
            "word": f"{word:#x}",
            **({"origin": origin} if origin else {}),
        }
        if known not in self.words:
            self.words.append(known)

    def write(self) -> None:
        """Write the file, and say what it holds."""
        peer = {
            "name": self.name,
            "origin": self.origin,
            "package": self.package,
            "version": self.version or version(self.package),
            "kind": self.kind,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        }
        parts = [f' "format": {_FORMAT}', f' "peer": {json.dumps(peer)}']
        for name, entries in (("maps", self.maps), ("words", self.words)):
            lines = ",\n".join("  " + json.dumps(one) for one in entries)
            parts.append(f' "{name}": [\n{lines}\n ]' if entries else f' "{name}": []')
        path = _FOLDER / f"peers-{self.package}.json"
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
        print(f"{path}: {len(self.maps)} maps, {len(self.words)} words")


def bases_of(
    inputs: Mapping[str, int], place: Callable[..., Sequence[int]], listed: str = ""
) -> dict[str, list[list[int]]]:
    """What each bit of each input adds to a function's outputs; raises ValueError if XOR does not give it.

    Of the input `listed` it is what each value adds, and the first one need not add 0.
    """
    zeros = dict.fromkeys(inputs, 0)
    begin = place(**zeros)
    if any(begin) and not listed:
        raise ValueError("the function does not begin at 0")
    bases = {
        name: [list(place(**{**zeros, name: value})) for value in range(size)]
        if name == listed
        else [
            [one ^ other for one, other in zip(place(**{**zeros, name: 1 << bit}), begin, strict=True)]
            for bit in range((size - 1).bit_length())
        ]
        for name, size in inputs.items()
    }
    points: list[dict[str, int]] = [{}]
    for name, size in inputs.items():
        points = [{**point, name: value} for point in points for value in range(size)]
    for point in points:
        parts = [0] * len(begin)
        for name, value in point.items():
            added = (
                [bases[name][value]]
                if name == listed
                else [base for bit, base in enumerate(bases[name]) if value >> bit & 1]
            )
            for base in added:
                parts = [one ^ other for one, other in zip(parts, base, strict=True)]
        if parts != list(place(**point)):
            raise ValueError(f"the function is not XOR of bits at {point}")
    return bases
