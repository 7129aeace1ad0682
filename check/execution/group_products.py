"""What the wait for a product tells of the other warps of its warpgroup, where it covers them (wait-scope).

A product of a warpgroup is complete once all of its warps have issued it. So a warp that has waited for it
knows what each of them knew then.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from ..values.block_threads import WARP, WARPGROUP, by_warp
from ..walks.walk_steps import WalkStep
from .clocks import Clock
from .warps import ExecutedWarp, GroupWait

__all__ = ["GroupProducts"]

_WARPS = WARPGROUP // WARP
_Issued = dict[int, Clock]  # by warp: what it knew when it issued a product


class GroupProducts:
    """The products of a block's warpgroups, the groups that its warps have committed, and their waits."""

    def __init__(self, warps: Sequence[ExecutedWarp]) -> None:
        self.warps = warps
        self._rounds: Counter[tuple[int, int]] = Counter()  # by warp and statement
        self._issued: dict[tuple[int, int, int], _Issued] = {}  # by warpgroup, statement and round
        self._open: list[list[_Issued]] = [[] for _ in warps]
        self._groups: list[deque[list[_Issued]]] = [deque() for _ in warps]

    def act(self, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Do a statement about products in some threads; yields what they wait for."""
        for number in by_warp(threads):
            match step.statement.does:
                case "multiply":
                    self._multiply(number, step.position)
                case "commit":
                    self._groups[number].append(self._open[number])
                    self._open[number] = []
                case _:
                    yield from self._wait(number, step)

    def _multiply(self, number: int, statement: int) -> None:
        key = number // _WARPS, statement, self._rounds[number, statement]
        self._rounds[number, statement] += 1
        issued = self._issued.setdefault(key, {})
        clock = self.warps[number].clock
        issued[number] = clock.copy()
        clock.seen[number] += 1
        self._open[number].append(issued)

    def _wait(self, number: int, step: WalkStep) -> Iterator[GroupWait]:
        left = step.statement.left
        groups = self._groups[number]
        ended = [issued for group in [*groups][: max(len(groups) - left, 0)] for issued in group]
        if any(len(issued) < _WARPS for issued in ended):
            yield GroupWait(
                lambda: all(len(issued) == _WARPS for issued in ended), "unknown", step.position, -1
            )
        while len(groups) > left:
            groups.popleft()
        for issued in ended[-1:]:  # each warp has issued it behind the others
            for clock in issued.values():
                self.warps[number].clock.join(clock)
