"""The universe of an instruction, so that the statements with some qualifiers are found at once.

It is made before slips are judged, and every process that judges one shares it.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from ...assemblers.universe_cache import PackedUniverse
from ...ledger.claims import cases_digest
from ...spec.gates import EffectiveGate

__all__ = ["UniverseTable", "words"]


def words(mnemonic: str) -> frozenset[str]:
    """The words of a mnemonic: mnemonics that are judged alike whatever their order have the same."""
    return frozenset(mnemonic.split("."))


@dataclass(frozen=True)
class UniverseTable:
    """The statements of a universe with their gates, in order of the hash of their words.

    Python's hash of text is another one in each run, and the same in processes that are forked.
    """

    cases: str
    gates: Sequence[EffectiveGate | None]
    _texts: bytes
    _starts: NDArray[numpy.int64]
    _which: array.array[int]
    _hashes: NDArray[numpy.int64]
    _order: NDArray[numpy.int64]

    @staticmethod
    def of(packed: PackedUniverse) -> UniverseTable:
        """The table of a universe; takes some microseconds a statement."""
        statements = packed.statements
        lines = [f"{statement}\n".encode() for statement in statements]
        starts = numpy.zeros(len(lines) + 1, numpy.int64)
        numpy.cumsum([len(line) for line in lines], out=starts[1:])
        known: dict[str, int] = {}
        hashes = numpy.empty(len(lines), numpy.int64)
        for number, statement in enumerate(statements):
            mnemonic = _mnemonic(statement)
            found = known.get(mnemonic)
            hashes[number] = known.setdefault(mnemonic, hash(words(mnemonic))) if found is None else found
        order = numpy.argsort(hashes, kind="stable")
        return UniverseTable(
            cases_digest(statements),
            packed.gates,
            b"".join(lines),
            starts,
            packed.which,
            hashes[order],
            order,
        )

    def statement(self, number: int) -> str:
        """One statement."""
        return self._texts[self._starts[number] : self._starts[number + 1] - 1].decode()

    def gate(self, number: int) -> EffectiveGate | None:
        """When it is legal; None for never."""
        return self.gates[self._which[number]]

    def with_words(self, wanted: Iterable[frozenset[str]]) -> list[int]:
        """The numbers of the statements whose mnemonics have exactly the words of one of these sets."""
        keys = numpy.array([hash(one) for one in wanted], numpy.int64)
        first, last = (numpy.searchsorted(self._hashes, keys, side) for side in ("left", "right"))
        found = [self._order[one:other] for one, other in zip(first, last, strict=True) if one < other]
        return sorted(int(number) for number in numpy.concatenate(found)) if found else []


def _mnemonic(statement: str) -> str:
    return statement.rstrip(";").partition(" ")[0]
