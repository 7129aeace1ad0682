"""Smaller numbers for parameters, where threads pass by all that counts with the usual ones.

A kernel may end at once where a size is greater than it takes (`if (n > 8) return;`). Nobody says that a host
passes the numbers with which it goes on, so what is found with them is doubtful.
"""

from __future__ import annotations

from ..walks.parameters import USUAL_SIZES, AssumedSizes
from ..walks.walk_plan import WalkPlan
from .execution import Execution

__all__ = ["SMALL_SIZES", "comes_to_work", "smaller_sizes"]

# With few rounds of a loop, no stage is used again: great numbers come first. Some kernels take powers of two
# only, so 4 comes before 5; which others take that want a rest of 1.
SMALL_SIZES = tuple(AssumedSizes(number, guessed=True) for number in (8, 4, 3, 5, 2, 1))
_SMALLER = dict(zip((USUAL_SIZES, *SMALL_SIZES), SMALL_SIZES, strict=False))  # by numbers: what is tried next


def comes_to_work(plan: WalkPlan, found: Execution) -> bool:
    """Whether some thread comes to a statement that counts."""
    return not plan.acting(frozenset()).isdisjoint(found.together)


def smaller_sizes(plan: WalkPlan, found: Execution) -> tuple[AssumedSizes, ...]:
    """The numbers that are tried next, where numbers brought an execution to its end, but to no work."""
    if found.sizes not in _SMALLER or not (found.is_complete and found.rests_on_numbers):
        return ()
    if comes_to_work(plan, found):
        return ()
    return (_SMALLER[found.sizes],)
