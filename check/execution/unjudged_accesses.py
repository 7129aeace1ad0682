"""Accesses of shared memory that no execution judged: nobody came there, or the PTX does not show where they
lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..walks.walk_plan import WalkPlan
from .execution import Execution
from .generic_accesses import GenericActs

__all__ = ["Unjudged", "unjudged_accesses"]

_ACCESSES = frozenset(("load", "store", "update", "copy"))


class Unjudged(NamedTuple):
    """Some statements that access shared memory, and where it shows that they were not judged: at a branch,
    if it `parts` threads, or at the first of them. `why`: where what is unknown comes from.
    """

    statements: frozenset[int]
    at: int
    why: str
    parts: bool


def unjudged_accesses(plan: WalkPlan, executions: Iterable[Execution]) -> Unjudged | None:
    """The accesses that some executions did not judge, if that is because of what the PTX does not show.
    Those to which only other numbers of parameters lead are left out.
    """
    located, unplaced, lost = set[int](), dict[int, str](), list[tuple[int, str]]()
    for found in executions:
        assert isinstance(found.acts, GenericActs)
        located |= found.acts.located
        unplaced.update(found.acts.unplaced)
        if found.lost_at is not None and found.lost_at[2]:
            lost.append(found.lost_at[:2])
        if found.skipped_at is not None:
            lost.append(found.skipped_at)
    missing = {index for index in plan.roles if _is_access(plan, index)} - located
    return _behind(plan, missing, lost) or _without_place(missing, unplaced)


def _is_access(plan: WalkPlan, index: int) -> bool:
    operation = plan.code.operation(index)
    return operation.does in _ACCESSES and operation.space == "shared"


def _behind(plan: WalkPlan, missing: set[int], lost: Iterable[tuple[int, str]]) -> Unjudged | None:
    """Those behind a branch where threads were lost."""
    for at, why in sorted(lost):
        behind = plan.flow.reached([plan.flow.block_of(at)], None)
        found = frozenset(index for index in missing if plan.flow.block_of(index) in behind)
        if found:
            return Unjudged(found, at, why, True)
    return None


def _without_place(missing: set[int], unplaced: Mapping[int, str]) -> Unjudged | None:
    """Those whose address is not known."""
    found = frozenset(missing & unplaced.keys())
    return Unjudged(found, min(found), unplaced[min(found)], False) if found else None
