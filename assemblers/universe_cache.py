"""Cache the whole universe of an instruction for the user: making it takes longer than asking about it.

An entry is keyed by the specification and by the code that makes it, so it can never be stale.
"""

from __future__ import annotations

import array
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..spec.cache import cached, yaml_files
from ..spec.gates import EffectiveGate
from ..spec.variants import Family
from . import asking, neighbours, universe, universe_points
from .universe import Universe
from .universe_points import UniversePoint

__all__ = ["PackedUniverse", "packed", "whole"]

_MADE_BY = (asking, neighbours, universe, universe_points)
_CODE = tuple(Path(module.__file__) for module in _MADE_BY if module.__file__)


@dataclass(frozen=True)
class PackedUniverse:
    """The universe of one instruction, small: its statements as one text, and which of the gates each has."""

    instruction: str
    gates: tuple[EffectiveGate | None, ...]
    _texts: bytes
    _which: bytes

    @staticmethod
    def of(instruction: str, points: Sequence[UniversePoint]) -> PackedUniverse:
        """The points of one instruction."""
        gates: dict[EffectiveGate | None, int] = {}
        which = array.array("H", [gates.setdefault(point.gate, len(gates)) for point in points])
        texts = "\n".join(point.statement for point in points)
        return PackedUniverse(instruction, tuple(gates), zlib.compress(texts.encode(), 1), which.tobytes())

    @property
    def which(self) -> array.array[int]:
        """The number of every statement's gate."""
        found = array.array("H")
        found.frombytes(self._which)
        return found

    @property
    def statements(self) -> list[str]:
        """Every statement."""
        return zlib.decompress(self._texts).decode().split("\n") if self._which else []

    @property
    def points(self) -> tuple[UniversePoint, ...]:
        """The points again."""
        statements = self.statements
        gates = map(self.gates.__getitem__, self.which)
        return tuple(
            map(UniversePoint, itertools.repeat(self.instruction, len(statements)), statements, gates)
        )


def packed(made: Universe, family: Family) -> PackedUniverse:
    """The whole universe of an instruction of the specification that ships, as Universe.whole makes it."""
    make = partial(_made, made, family)
    return cached(f"universe-{family.instruction.instruction}", PackedUniverse, make, (*_CODE, *yaml_files()))


def _made(made: Universe, family: Family) -> PackedUniverse:
    return PackedUniverse.of(family.instruction.instruction, made.whole(family))


def whole(made: Universe, family: Family) -> tuple[UniversePoint, ...]:
    """The points of that universe."""
    return packed(made, family).points
