"""Which waits of a walk never end? Those for the first phase of an mbarrier that is initialised, no more."""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx.operation import Operation
from ..values.lane_numbers import LaneNumbers, Numbers
from .block_walk import BlockAct
from .walk_plan import WalkPlan

__all__ = ["endless_waits"]

_BRINGS = frozenset(("arrive", "copy-arrive", "fill"))  # what may complete a phase
_FOLLOWED = _BRINGS | {"bulk-copy", "await", "init", "invalidate", "expect"}


def endless_waits(plan: WalkPlan, acts: Sequence[BlockAct]) -> frozenset[int]:
    """The waits, by the identity of their acts; none where the walk may not have come to what ends them."""
    others = (one for one in plan.code.used if one.does not in _FOLLOWED)
    if any(act.kind == "cut" for act in acts) or any(map(_completes, others)):
        return frozenset()
    touched, made = set[int | None](), set[int | None]()
    for act in acts:
        if act.kind in _BRINGS:
            touched |= _numbers(act.barrier)
        elif act.kind == "init":
            made |= _numbers(act.barrier)
    if None in touched:
        return frozenset()
    return frozenset(
        id(act)
        for act in acts
        if act.kind == "await"
        and act.parity == 0
        and (waited := _numbers(act.barrier)) <= made - {None}
        and touched.isdisjoint(waited)
    )


def _completes(operation: Operation) -> bool:
    """Whether an instruction that no walk follows may complete the phase of an mbarrier."""
    return operation.is_told or operation.action.barrier == "object" or operation.does == "call"


def _numbers(barrier: Numbers) -> set[int | None]:
    return {*barrier.values} if isinstance(barrier, LaneNumbers) else {barrier}
