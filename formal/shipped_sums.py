"""What the rows of the specification that ships compute, in a cache on disk: a proof about one row needs to
know what other rows share with it, and finding that out takes longer than the proof.

An entry is keyed by the YAML and by the code that makes it, so it can never be stale. For any other
specification, and for any other chip family, the same is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..spec.api import load
from ..spec.arithmetic import Arithmetic, arithmetic
from ..spec.arithmetic_records import ArithmeticFile
from ..spec.cache import cached, yaml_files
from ..spec.specification import Specification
from .exact_sums import PlannedSums, planned_sums
from .kept import kept
from .plans import Computation, InputPlan, computations
from .sum_shapes import FamilySums, SumShape, family_sums

__all__ = ["all_computations", "planned_of", "sums_of"]

_Computations = Mapping[str, tuple[Computation, tuple[InputPlan, ...]]]
_Planned = Mapping[SumShape, Mapping[PlannedSums, str]]


@dataclass(frozen=True)
class ShippedSums:
    """Every arithmetic with its plans, by its name. By chip family: its sums, what plans make of them."""

    computations: _Computations
    sums: Mapping[str, FamilySums]
    planned: Mapping[str, _Planned]


def all_computations(specification: Specification) -> _Computations:
    """Every arithmetic with its plans, by its name."""
    if specification is load():
        return _shipped(specification, arithmetic()).computations
    return _computed(specification)


def sums_of(specification: Specification, family: ArithmeticFile) -> FamilySums:
    """All sums of a family."""
    if _ships(specification, family):
        return _shipped(specification, arithmetic()).sums[family.family]
    return family_sums(specification, family)


def planned_of(specification: Specification, family: ArithmeticFile) -> _Planned:
    """For each shape of a family's floating-point sums, what plans make of it, with a name for each."""
    if _ships(specification, family):
        return _shipped(specification, arithmetic()).planned[family.family]
    return planned_sums(specification, family)


def _ships(specification: Specification, family: ArithmeticFile) -> bool:
    return specification is load() and any(family is one for one in arithmetic().families)


@kept
def _shipped(specification: Specification, chips: Arithmetic) -> ShippedSums:
    """What ships, or what a mutation run reads in its place: then nothing is cached. Kept."""
    code = sorted(Path(__file__).resolve().parent.glob("*.py"))
    make = partial(_made, specification, chips)
    return cached("sums", ShippedSums, make, (*code, *yaml_files()))


def _made(specification: Specification, chips: Arithmetic) -> ShippedSums:
    return ShippedSums(
        _computed(specification),
        {one.family: family_sums(specification, one) for one in chips.families},
        {one.family: planned_sums(specification, one) for one in chips.families},
    )


@kept
def _computed(specification: Specification) -> _Computations:
    """Every arithmetic with its plans, by its name. Kept."""
    return {
        str(computed): (computed, listed)
        for family in specification.families.values()
        for view in family.rows
        for computed, listed in computations(specification, view)
    }
