"""What happens before what: which acts of other warps, and which phases of mbarriers, a warp knows of."""

from __future__ import annotations

from collections.abc import Mapping
from operator import ge

__all__ = ["Clock"]


class Clock:
    """A vector clock. `seen` counts, by warp, the acts that happen before; `peers` the same of the warps of
    the cluster's other blocks, which are taken to do the same; `complete`, by mbarrier, the phases that were
    waited for; `told` the same of the mbarriers of other blocks; `least`, by mbarrier, the phases that must
    be complete because a later one has begun.
    """

    __slots__ = ("complete", "least", "peers", "seen", "told")

    def __init__(self, warps: int) -> None:
        self.seen = [0] * warps
        self.peers = [0] * warps
        self.complete: dict[int, int] = {}
        self.told: dict[int, int] = {}
        self.least: dict[int, int] = {}

    def copy(self) -> Clock:
        """A clock of its own with the same contents."""
        made = Clock.__new__(Clock)
        made.seen = self.seen[:]
        made.peers = self.peers  # nobody changes it in place
        made.complete = self.complete.copy()
        made.told = self.told.copy()
        made.least = self.least.copy()
        return made

    def join(self, other: Clock) -> None:
        """Learn what another clock has seen."""
        if self.seen != other.seen:
            self.seen = [a if a > b else b for a, b in zip(self.seen, other.seen, strict=True)]
        if self.peers is not other.peers and self.peers != other.peers:
            self.peers = [a if a > b else b for a, b in zip(self.peers, other.peers, strict=True)]
        if self.complete != other.complete:
            _raise(self.complete, other.complete)
        if other.told:
            _raise(self.told, other.told)
        if self.least != other.least:
            _raise(self.least, other.least)

    def exchange(self) -> None:
        """Learn what the same warp of the other blocks has seen; it learns the same from here."""
        self.seen = [a if a > b else b for a, b in zip(self.seen, self.peers, strict=True)]
        self.peers = self.seen[:]
        _raise(self.told, self.complete)

    def has_seen(self, acts: Mapping[int, int]) -> bool:
        """Whether acts of warps, by their numbers, are seen here."""
        return all(self.seen[warp] >= act for warp, act in acts.items())

    def has_learned(self, other: Clock) -> bool:
        """Whether all acts that another clock has seen are seen here."""
        return all(map(ge, self.seen, other.seen)) and all(map(ge, self.peers, other.peers))

    def begun(self, barrier: int) -> int:
        """The number of the earliest phase of an mbarrier that may be the current one."""
        return max(self.complete.get(barrier, 0), self.least.get(barrier, 0))

    def knows(self, barrier: int, phase: int) -> None:
        """Remember that a phase of an mbarrier has begun."""
        if phase > self.least.get(barrier, 0):
            self.least[barrier] = phase


def _raise(mine: dict[int, int], others: Mapping[int, int]) -> None:
    for key, value in others.items():
        if value > mine.get(key, 0):
            mine[key] = value
