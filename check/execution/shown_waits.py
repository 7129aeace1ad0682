"""Which waits never end with several numbers of parameters, though others might end them?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..walks.parameters import AssumedSizes
from ..walks.walk_plan import WalkPlan
from .execution import Execution
from .stuck_waits import Stuck

__all__ = ["shown_waits"]


def shown_waits(
    plan: WalkPlan, threads: int, sizes: AssumedSizes, numbers: tuple[int, ...]
) -> Iterator[Stuck]:
    """The excused waits that never end with each of some numbers, of which `sizes` has another one: for some
    parameters by name, or for all. They are doubtful: nobody says that a kernel may be launched with these.
    """
    shown: dict[int, Stuck] = {}
    for time, number in enumerate(numbers):
        others = tuple((name, number) for name, _ in sizes.others)
        found = Execution(plan, threads, AssumedSizes(sizes.most if others else number, others))
        if found.doubtful or found.skipped or found.stuck:
            return
        here = {one.statement: one for one in found.excused}
        shown = {at: one for at, one in here.items() if at in shown or not time}
        if not shown:
            return
    for one in shown.values():
        yield replace(one, doubtful=True, shown=numbers)
