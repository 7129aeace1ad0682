"""Some lanes of a warp have waited, others have not: what do the others know? What the warp knew before.

The clock of a warp is that of all its lanes. Some lanes that wait for a phase alone know more than the
others, until all of them meet or wait. Lanes of which this is not clear are taken to know what the warp does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..values.block_threads import WARP, by_warp
from ..walks.walk_steps import WalkSteps
from .clocks import Clock
from .warp_lanes import met_between
from .warps import lanes_of

__all__ = ["LoneWaits"]


@dataclass(slots=True)
class _LoneWait:
    """Lanes that have waited alone, at a statement last, and what the warp knew before the first time."""

    lanes: int
    statement: int
    before: Clock


class LoneWaits:
    """Which lanes of the warps of a block have waited alone since all of them met."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._alone: dict[int, _LoneWait] = {}

    def wait(self, warp: int, threads: tuple[int, ...], statement: int, clock: Clock) -> None:
        """Threads of a warp with a clock have waited for a phase."""
        if len(threads) >= min(WARP, self._threads - warp * WARP):
            self._alone.pop(warp, None)
            return
        lanes, known = lanes_of(threads), self._alone.get(warp)
        if known is None:
            self._alone[warp] = _LoneWait(lanes, statement, clock.copy())
        elif known.lanes == lanes:
            known.statement = statement
        else:
            del self._alone[warp]

    def meet(self, threads: tuple[int, ...]) -> None:
        """Threads come to a barrier."""
        for warp in by_warp(threads):
            self._alone.pop(warp, None)

    def known_to(self, threads: tuple[int, ...], statement: int, steps: WalkSteps) -> Mapping[int, Clock]:
        """What threads know at a statement: of those whose warps know more."""
        found: dict[int, Clock] = {}
        for warp, some in by_warp(threads).items() if self._alone else ():
            known = self._alone.get(warp)
            if known is None:
                continue
            if not met_between(steps, known.statement, statement):
                found |= {one: known.before for one in some if not known.lanes >> one % WARP & 1}
        return found
