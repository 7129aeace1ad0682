"""The points of a universe: statements in parts and as text, and when each is legal."""

from __future__ import annotations

from typing import NamedTuple

from ..spec.gates import EffectiveGate
from ..spec.lazy_dataclass import dataclass
from ..spec.nodes import Version
from ..spec.variants import Family
from .asking import REGISTERS

__all__ = ["GateRegion", "UniversePoint", "WrittenStatement", "domain", "open_for", "registers"]


@dataclass(frozen=True)
class WrittenStatement:
    """A statement in parts: the mnemonic, and every operand's text."""

    mnemonic: str
    operands: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.mnemonic} {', '.join(self.operands)};" if self.operands else f"{self.mnemonic};"


class UniversePoint(NamedTuple):
    """A statement, the instruction it was made from, and when it is legal (None: never).

    There are millions; a tuple takes a quarter of the time that a frozen dataclass takes.
    """

    instruction: str
    statement: str
    gate: EffectiveGate | None


@dataclass(frozen=True)
class GateRegion:
    """Points that are one field away from forms with certain gates; the forms themselves have none."""

    beside: frozenset[EffectiveGate]
    points: tuple[UniversePoint, ...]


def open_for(gate: EffectiveGate | None, version: Version, target: str) -> bool:
    """Whether a gate lets a statement pass for a version and a target."""
    return gate is not None and gate.opens(version, target)


def domain(family: Family, field: str) -> tuple[str | int, ...]:
    """Every value that some row of the family gives a field."""
    return tuple(dict.fromkeys(value for view in family.rows for value in view.domains[field]))


def registers(kind: str, count: int, used: dict[str, int]) -> list[str]:
    """The next `count` registers of a type, from the first again when they run out."""
    name, many = REGISTERS[kind]
    start = used.get(kind, 0)
    if start + count > many:
        start = 0
    used[kind] = start + count
    return [f"{name}{(start + i) % many}" for i in range(count)]
