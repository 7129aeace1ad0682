"""The whole universe of an instruction, kept in the user's cache: making it takes longer than asking.

An entry is keyed by the specification and by the code that makes it, so it can never be stale.
"""

from __future__ import annotations

import array
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..spec.cache import cached, yaml_files
from ..spec.gates import EffectiveGate
from ..spec.variants import Family
from . import asking, universe
from .universe import Universe, UniversePoint

__all__ = ["whole"]

_CODE = tuple(Path(module.__file__) for module in (asking, universe) if module.__file__)


@dataclass(frozen=True)
class _Packed:
    """Points without what they repeat: the texts, and which of the gates each has."""

    texts: bytes
    gates: tuple[EffectiveGate | None, ...]
    which: bytes

    @staticmethod
    def of(points: Sequence[UniversePoint]) -> _Packed:
        """The points of one instruction."""
        gates: dict[EffectiveGate | None, int] = {}
        which = array.array("H", [gates.setdefault(point.gate, len(gates)) for point in points])
        texts = "\n".join(point.statement for point in points)
        return _Packed(zlib.compress(texts.encode(), 1), tuple(gates), which.tobytes())

    def points(self, instruction: str) -> tuple[UniversePoint, ...]:
        """The points again."""
        which = array.array("H")
        which.frombytes(self.which)
        texts = zlib.decompress(self.texts).decode().split("\n")
        gates = map(self.gates.__getitem__, which)
        return tuple(map(UniversePoint, itertools.repeat(instruction, len(which)), texts, gates))


def whole(made: Universe, family: Family) -> tuple[UniversePoint, ...]:
    """The whole universe of an instruction of the specification that ships, as Universe.whole makes it."""
    name = family.instruction.instruction
    packed = cached(
        f"universe-{name}", _Packed, lambda: _Packed.of(made.whole(family)), (*_CODE, *yaml_files())
    )
    return packed.points(name)
