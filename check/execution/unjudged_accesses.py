"""Accesses of shared memory that no execution judged: nobody came there, or the PTX does not show where they
lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..not_judged import UnjudgedAccesses
from ..ptx.operation import DATA
from ..walks.walk_plan import WalkPlan
from .execution import Execution
from .generic_accesses import GenericActs
from .unshown import Unshown

__all__ = ["unjudged_accesses"]

_ACCESSES = DATA | {"copy"}


def unjudged_accesses(plan: WalkPlan, executions: Iterable[Execution]) -> UnjudgedAccesses | None:
    """The accesses that some executions did not judge, if that is because of what the PTX does not show.
    Those to which only other numbers of parameters lead are left out.
    """
    located, unplaced, lost = set[int](), dict[int, str](), list[Unshown]()
    for found in executions:
        assert isinstance(found.acts, GenericActs)
        located |= found.acts.located
        unplaced.update(found.acts.unplaced)
        lost += [one for one in (found.lost_at, found.skipped_at) if one is not None and one.parts]
    missing = {index for index in plan.roles if _is_access(plan, index)} - located
    return _behind(plan, missing, lost) or _without_place(plan, missing, unplaced)


def _is_access(plan: WalkPlan, index: int) -> bool:
    operation = plan.code.operation(index)
    return operation.does in _ACCESSES and operation.space == "shared"


def _behind(plan: WalkPlan, missing: set[int], lost: Iterable[Unshown]) -> UnjudgedAccesses | None:
    """Those behind a branch where threads were lost."""
    for one in sorted(lost):
        behind = plan.flow.reached([plan.flow.block_of(one.at)], None)
        count = sum(plan.flow.block_of(index) in behind for index in missing)
        if count:
            return UnjudgedAccesses(plan.function.statements[one.at].offset, one.why, count, True)
    return None


def _without_place(plan: WalkPlan, missing: set[int], unplaced: Mapping[int, str]) -> UnjudgedAccesses | None:
    """Those whose address is not known."""
    found = missing & unplaced.keys()
    if not found:
        return None
    first = min(found)
    return UnjudgedAccesses(plan.function.statements[first].offset, unplaced[first], len(found), False)
