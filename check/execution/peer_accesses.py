"""Accesses of other blocks' shared memory, and what the threads of those blocks do with the same bytes.

The other blocks of a cluster are taken to do the same as the one that is executed. So what a warp accesses
in another block, the same warp of another block accesses here. A warp knows of that once the `peers` of its
clock have seen it: behind a barrier of the cluster, or a phase at which the other block arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .access_records import GenericAccess
from .warps import ExecutedWarp

__all__ = ["PeerAccesses"]

_Rival = tuple[int, GenericAccess]
_WRITES = frozenset(("store", "fill"))
_MANY = 64  # accesses that are remembered before those that all warps know of are dropped


class PeerAccesses:
    """The accesses of a block's threads in its own shared memory, and in that of others. Each new one comes
    with those before it, and their warps, that nothing orders beside it.
    """

    def __init__(self, warps: Sequence[ExecutedWarp]) -> None:
        self.warps = warps
        self._own: list[tuple[int, int, GenericAccess]] = []  # warp, its act
        self._sent: list[tuple[int, int, GenericAccess]] = []
        self._most = _MANY

    def own(self, warp: int, access: GenericAccess) -> Sequence[_Rival]:
        """A warp accesses its own block's memory."""
        found = self._rivals(self._sent, warp, access)
        self._own = self._remembered(self._own, warp, access)
        return found

    def sent(self, warp: int, access: GenericAccess) -> Sequence[_Rival]:
        """A warp accesses another block's memory, at the same bytes as that one accesses here."""
        found = self._rivals(self._own, warp, access)
        self._sent = self._remembered(self._sent, warp, access)
        return found

    def filled(self, warp: int, access: GenericAccess) -> Sequence[_Rival]:
        """A warp starts a copy into another block's memory; that block waits for it by a phase."""
        return self._rivals(self._own, warp, access)

    def _rivals(
        self, before: list[tuple[int, int, GenericAccess]], warp: int, access: GenericAccess
    ) -> Sequence[_Rival]:
        peers = self.warps[warp].clock.peers
        return [
            (other, one)
            for other, act, one in before
            if peers[other] < act and not _WRITES.isdisjoint((one.does, access.does)) and one.meets(access)
        ]

    def _remembered(
        self, held: list[tuple[int, int, GenericAccess]], warp: int, access: GenericAccess
    ) -> list[tuple[int, int, GenericAccess]]:
        held.append((warp, self.warps[warp].clock.seen[warp], access))
        if len(held) < self._most:
            return held
        kept = list(self._open(held))
        self._most = max(_MANY, 2 * len(kept))
        return kept

    def _open(self, held: list[tuple[int, int, GenericAccess]]) -> Iterator[tuple[int, int, GenericAccess]]:
        """Those that not every warp knows of."""
        least = [min(one.clock.peers[number] for one in self.warps) for number in range(len(self.warps))]
        return (one for one in held if one[1] > least[one[0]])
