"""Which phases of mbarriers warps have waited for, and to which of these waits a warp may come too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from .barriers import Mbarrier
from .thread_groups import ThreadGroup
from .warps import ExecutedWarp, GroupWait

__all__ = ["PhaseWaits"]


class _Came(NamedTuple):
    """A warp comes to a wait for a phase: its group, the number of its act, and the phase that may be the
    current one by what it knows, and the one that was; how many bulk copies it has started before.
    """

    group: ThreadGroup
    act: int
    phase: int
    found: int
    copies: int


class PhaseWaits:
    """The waits of some warps. `waiters`: by mbarrier, the warps that have waited for its phases; `copied`:
    by warp, the mbarriers that its bulk copies complete, in their order; `astray`: threads have gone on
    without what they waited for.
    """

    def __init__(self, warps: Sequence[ExecutedWarp]) -> None:
        self.waiters: dict[int, set[int]] = {}
        self.copied: list[list[int]] = [[] for _ in warps]
        self.astray = False
        self._warps = warps
        self._hidden = [0] * len(warps)  # by warp: its act when an arrival or a wait was relaxed last
        self._came: dict[tuple[int, int, int], _Came] = {}  # the last one, by mbarrier, warp and statement
        self._past: dict[tuple[int, int], int] = {}  # the last phase, by ended mbarrier and warp

    def come(
        self, group: ThreadGroup, statement: int, barrier: Mbarrier, warp: int, act: int, phase: int
    ) -> None:
        """A warp comes to a wait at an act of its own: for a phase, by what it knows."""
        came = _Came(group, act, phase, barrier.phase, len(self.copied[warp]))
        self._came[barrier.address, warp, statement] = came

    def hide(self) -> None:
        """Remember what clocks may not show: others go on behind what has been done until now."""
        self._hidden = [one.clock.seen[number] for number, one in enumerate(self._warps)]

    def end(self, address: int) -> None:
        """An mbarrier ends: its waits were for phases of that one."""
        for came in [came for came in self._came if came[0] == address]:
            key, phase = came[:2], self._came.pop(came).phase
            self._past[key] = max(self._past.get(key, -1), phase)

    def awaited(self) -> Iterator[tuple[int, int, int]]:
        """An mbarrier, a warp, and the last phase that it has waited for there, also of mbarriers that have
        ended.
        """
        waits = ((address, warp, came.phase) for (address, warp, _), came in self._came.items())
        return chain(waits, ((address, warp, phase) for (address, warp), phase in self._past.items()))

    def late(self, valid: Mapping[int, Mbarrier]) -> Iterator[tuple[ThreadGroup, GroupWait]]:
        """The waits that were over for all their warps by what these knew, and to which each of them may come
        so late that they never are. Warps of which others wait for one are taken to keep step with it.
        """
        waits: dict[tuple[int, int], list[tuple[int, _Came]]] = {}
        for (address, warp, statement), came in self._came.items():
            waits.setdefault((address, statement), []).append((warp, came))
        for (address, statement), some in waits.items():
            barrier = valid.get(address)
            is_left = barrier is not None and barrier.pending > 0
            if barrier is not None and is_left and all(self._may_miss(barrier, *one) for one in some):
                over = partial(barrier.has_ended, barrier.phase)
                wait = GroupWait(over, "phase", statement, address, barrier.phase, late=True)
                yield some[0][1].group, wait

    def _may_miss(self, barrier: Mbarrier, warp: int, came: _Came) -> bool:
        """Whether the phase that is left for a warp which comes late is one that goes on: it has the wanted
        parity, and began without anything that the warp does from there on. What relaxed acts make known does
        not show that.
        """
        phase = barrier.phase
        if phase <= came.phase or (phase - came.phase) % 2:
            return False
        if any(map(self.waiters.get, self.copied[warp][came.copies :])):
            return False  # who goes on has waited for its copies
        if phase == came.found:
            return True
        return self._hidden[warp] < came.act and barrier.has_gone_on_without(came.phase, warp, came.act)
