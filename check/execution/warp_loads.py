"""Stores by threads of a warp, and loads of the whole warp that bring them to others of it, with no barrier.

Whether such a load is a barrier is a reading of the text (switch warp-sync). Which thread receives which
bytes is not looked at: those of one row go to several.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx.decode import DecodedStatement
from ..ptx.operation import Operation
from ..values.block_threads import by_warp
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import WalkStep
from .access_records import GenericAccess, GenericRace, both_access

__all__ = ["WITHIN", "WarpLoads", "loads_together"]

WITHIN = "within"  # what such a race is
_ORDERS = frozenset(("meet", "await"))


def loads_together(plan: WalkPlan) -> bool:
    """Whether a function stores into shared memory, and loads there by instructions of whole warps."""
    used = plan.code.used
    return any(one.does == "store" and one.space == "shared" for one in used) and any(map(_is_together, used))


def _is_together(operation: Operation) -> bool:
    return operation.does == "load" and operation.space == "shared" and "sync" in operation.words


class WarpLoads:
    """What the threads of each warp have stored since they met last."""

    def __init__(self, warps: int) -> None:
        self.races: dict[tuple[int, int], GenericRace] = {}
        self._stored: Sequence[dict[int, GenericAccess]] = [{} for _ in range(warps)]

    def order(self, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Forget what threads have stored once they meet."""
        if step.statement.does in _ORDERS:
            for warp in by_warp(threads):
                self._stored[warp].clear()

    def access(self, warp: int, access: GenericAccess, statement: DecodedStatement) -> None:
        """An access by threads of a warp."""
        stored = self._stored[warp]
        if access.does == "store":
            stored[access.statement] = access
        elif stored and _is_together(statement.operation):
            for before in stored.values():
                pair = before.statement, access.statement
                region = both_access(before, access) if pair not in self.races else None
                if region is not None:
                    doubtful, placed = before.doubtful or access.doubtful, before.placed or access.placed
                    self.races[pair] = GenericRace(*pair, (warp, warp), region, doubtful, placed, WITHIN)
