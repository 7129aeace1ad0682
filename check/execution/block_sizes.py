"""Blocks that are smaller than `.maxntid` allows: the PTX does not show which one is launched (11.4.2)."""

from __future__ import annotations

from collections.abc import Iterable

from ..values.block_threads import WARP, WARPGROUP
from ..walks.walk_plan import WalkPlan
from .execution import Execution

__all__ = ["right_size"]


def right_size(plan: WalkPlan, threads: int, sizes: Iterable[int]) -> int | None:
    """A smaller number of threads with which all that a function does is right; None if there is none.

    `sizes` are the numbers that its parameters may have. Fewer threads must do all that more do: where some
    code is for the threads that are missing, the block has them. And all of them are followed to their end.
    """
    for number in sizes:
        done = set(Execution(plan, threads, number).together)
        for fewer in reversed(_fewer(plan, threads)):
            found = Execution(plan, fewer, number)
            if done <= found.together.keys() and _is_right(found):
                return fewer
    return None


def _fewer(plan: WalkPlan, threads: int) -> list[int]:
    """Smaller numbers of threads: of whole warpgroups if these multiply, or a power of two."""
    if any(statement.does == "multiply" for statement in plan.code):
        return list(range(WARPGROUP, threads, WARPGROUP))
    return [WARP << power for power in range(threads.bit_length()) if WARP << power < threads]


def _is_right(found: Execution) -> bool:
    acts = found.acts
    named = any(barrier.unequal for barrier in acts.named.values())
    wrong = (any(acts.accesses), found.stuck, acts.unpublished, acts.short(), acts.drifts, named)
    return found.certain and not any(wrong)
