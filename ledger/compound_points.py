"""Do several entries of the register together explain a statement? They do if undoing all is legal.

A statement can disagree for several reasons at once, as one on a target that is taken too early with an
operand that no text allows. The register has one reason in each of its points; what follows from several
of them follows by this rule, and stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..spec.gates import EffectiveGate
from ..spec.nodes import Version
from ..spec.statements import Statement
from ..spec.variants import Variant
from .covered_points import CoveredPoints, among
from .pointed import Pointed

__all__ = ["Compound", "CompoundPoints"]

_REASONS = 3  # at most, at once


@dataclass(frozen=True)
class Compound:
    """Points that cover a statement together, in the order in which they are undone, and the legal rest.

    All but the last are about what is accepted. If the last is about what is refused, or kills an assembler,
    so is the statement, which the others alone would let pass.
    """

    chain: tuple[Pointed, ...]
    variant: Variant
    gate: EffectiveGate

    @property
    def accepted(self) -> bool:
        """Whether the assembler takes the statement."""
        return self.chain[-1].points.direction == "accepted"

    def reaches(self, release: str, ptx: Version, target: str) -> bool:
        """Whether they cover the statement by a release, under a version and on a target."""
        for pointed in self.chain:
            if not pointed.reaches(release, ptx, target):
                return False
            ptx, target = pointed.points.since or ptx, pointed.points.like or target
        return self.gate.opens(ptx, target)


@dataclass(frozen=True)
class CompoundPoints:
    """Which of some points cover a statement together; all of them are about one instruction."""

    covering: CoveredPoints
    every: Sequence[Pointed]

    def of(self, statement: Statement) -> Iterator[Compound]:
        """Every compound that covers a statement: the short ones first."""
        for reasons in range(2, _REASONS + 1):
            yield from self._of(statement, reasons)

    def _of(self, statement: Statement, reasons: int) -> tuple[Compound, ...]:
        """The compounds of so many points."""
        key = statement.guard, statement.mnemonic, statement.operands, reasons
        if key not in self._known:
            found = self._alone(statement) if reasons == 1 else self._longer(statement, reasons)
            self._known[key] = tuple(found)
        return self._known[key]

    def _longer(self, statement: Statement, reasons: int) -> Iterator[Compound]:
        """Those of two points or more: one that lets the statement pass, and what covers the rest."""
        for pointed in self._accepting:
            for undone in self.covering.undone(pointed.points, statement):
                for rest in self._of(undone, reasons - 1):
                    if pointed not in rest.chain and among(pointed.points, rest.variant):
                        yield Compound((pointed, *rest.chain), rest.variant, rest.gate)

    def _alone(self, statement: Statement) -> Iterator[Compound]:
        """What single points cover."""
        for pointed in self.every:
            for undoing in self.covering.undoings(pointed.points, statement):
                if undoing.variant is not None and undoing.gate is not None:
                    yield Compound((pointed,), undoing.variant, undoing.gate)

    @cached_property
    def _accepting(self) -> tuple[Pointed, ...]:
        """Those that change a statement that is accepted nevertheless."""
        return tuple(
            one for one in self.every if one.points.direction == "accepted" and not one.points.statements
        )

    @cached_property
    def _known(self) -> dict[tuple[object, ...], tuple[Compound, ...]]:
        return {}
