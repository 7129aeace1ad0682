"""Strided matrices in memory: where the elements lay in cases that passed, against today's formulas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from ..devices.arrays import Ints
from ..gen.kernels.operations import matrices
from ..gen.suite.files import Suite
from ..spec.expressions import compiled
from ..spec.nodes import Formula
from ..spec.specification import Specification
from .claims import ClaimState
from .silicon_record import Silicon, StridedPlaces
from .silicon_verdicts import SiliconVerdict

__all__ = ["WHAT", "places_of", "strided_verdicts"]

WHAT = "places"
_FIRST = 4  # faults that a verdict names


def _offsets(formula: Formula, strides: Collection[int], rows: int, columns: int) -> Ints:
    """(strides, rows, columns): how many elements behind the first each element lies."""
    row, col = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    function = compiled(formula.tree, ("row", "col", "stride"))
    return np.stack([np.broadcast_to(function(row, col, stride), row.shape) for stride in strides])


def places_of(suite: Suite, passed: AbstractSet[str]) -> dict[str, StridedPlaces]:
    """By instruction, layout and shape, where memory held the elements in the cases that passed."""
    strides: dict[tuple[str, str, int, int], set[int]] = {}
    formulas: dict[tuple[str, str], Formula] = {}
    for module in suite.modules:
        for kernel in module.kernels:
            strided = {part: access for part, access in kernel.accesses.items() if access.strided}
            held = matrices(kernel, suite.specification) if strided else {}
            cases = [case for identity, case in suite.identified[kernel.name] if identity in passed]
            for part, access in strided.items():
                instruction, layout = access.variant.instruction, str(access.variant.fields["layout"])
                formulas[instruction.instruction, layout] = instruction.memory[layout]
                key = instruction.instruction, layout, held[part].rows, held[part].cols
                used = {case.config[f"{part.lower()}.stride"] for case in cases}
                strides.setdefault(key, set()).update(used)
    return {
        f"{name} {layout} {rows}x{columns}": StridedPlaces(
            tuple(sorted(used)),
            _offsets(formulas[name, layout], sorted(used), rows, columns).astype(np.int32),
        )
        for (name, layout, rows, columns), used in sorted(strides.items())
        if used
    }


def _claimed(specification: Specification, target: str) -> Mapping[str, Formula]:
    """Today's formulas, by instruction and layout, of the instructions that a target has."""
    return {
        f"{name} {layout}": formula
        for name, family in specification.families.items()
        if any(target in dict(variant.gate.targets) for variant in family.listed())
        for layout, formula in family.instruction.memory.items()
    }


def strided_verdicts(specification: Specification, silicon: Silicon) -> Iterator[SiliconVerdict]:
    """The verdict on every recorded matrix; a formula of which nothing is recorded is unseen."""
    device, claimed = silicon.device.name, _claimed(specification, silicon.device.target)
    about = {name: name.rpartition(" ")[0] for name in silicon.placed}
    for name in claimed.keys() - set(about.values()):
        yield SiliconVerdict(device, WHAT, name, "unseen", ())
    for name, places in silicon.placed.items():
        formula = claimed.get(about[name])
        if formula is None:
            yield SiliconVerdict(device, WHAT, name, "unclaimed", ())
            continue
        seen = places.offsets
        now = _offsets(formula, places.strides, seen.shape[1], seen.shape[2])
        wrong = np.argwhere(now != seen)
        first = tuple(
            f"with a stride of {places.strides[at]}, element ({row}, {col}) lay {seen[at, row, col]} "
            f"elements behind the first; claimed: {now[at, row, col]}"
            for at, row, col in wrong[:_FIRST]
        )
        state: ClaimState = "differs" if len(wrong) else "agrees"
        yield SiliconVerdict(device, WHAT, name, state, (), seen.size, len(wrong), first)
