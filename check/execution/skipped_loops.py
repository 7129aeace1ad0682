"""Executions with so small a number for parameters that a loop between two accesses goes no round at all.

A kernel is launched for some work. What is wrong with no work only, since the waits stand in the loop that
does it, is no fault of the kernel's.
"""

from __future__ import annotations

from collections.abc import Collection

from ..walks.walk_plan import WalkPlan

__all__ = ["skips_work"]


def skips_work(
    plan: WalkPlan, first: int, second: int, executed: Collection[int], worked: Collection[int]
) -> bool:
    """Whether one execution went no round of a loop on the way from one statement to another, and another
    execution went round it. `executed`, `worked`: the blocks that each came to.
    """
    flow = plan.flow
    begin, end = flow.block_of(first), flow.block_of(second)
    if begin not in worked or end not in worked:
        return False
    for head, body in plan.loops.blocks.items():
        rounds = (body - {head}) or body
        if begin in body or end in body or not rounds.isdisjoint(executed) or rounds.isdisjoint(worked):
            continue
        if head in flow.reached([begin], None) and end in flow.reached([head], None):
            return True
    return False
