"""Accesses of other blocks' shared memory, and what the threads of those blocks do with the same bytes.

The other blocks of a cluster are taken to do the same as the one that is executed. So what a warp accesses
in another block, the same warp of another block accesses here. A warp knows of that once the `peers` of its
clock have seen it: behind a barrier of the cluster, or a phase at which the other block arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .access_records import GenericAccess
from .warps import ExecutedWarp

__all__ = ["PeerAccesses"]

_Told = Callable[[int, GenericAccess, int, GenericAccess], None]
_WRITES = frozenset(("store", "fill"))
_MANY = 64  # accesses that are remembered before those that all warps know of are dropped


class PeerAccesses:
    """The accesses of a block's threads in its own shared memory, and in that of others. `told` gets the
    warps and the accesses of each pair that nothing orders, the one that is executed first before the other.
    """

    def __init__(self, warps: Sequence[ExecutedWarp], told: _Told) -> None:
        self.warps = warps
        self.told = told
        self._own: list[tuple[int, int, GenericAccess]] = []  # warp, its act
        self._sent: list[tuple[int, int, GenericAccess]] = []
        self._most = _MANY

    def own(self, warp: int, access: GenericAccess) -> None:
        """A warp accesses its own block's memory."""
        self._hold(self._sent, warp, access)
        self._own = self._remembered(self._own, warp, access)

    def sent(self, warp: int, access: GenericAccess) -> None:
        """A warp accesses another block's memory, at the same bytes as that one accesses here."""
        self._hold(self._own, warp, access)
        self._sent = self._remembered(self._sent, warp, access)

    def filled(self, warp: int, access: GenericAccess) -> None:
        """A warp starts a copy into another block's memory; that block waits for it by a phase."""
        self._hold(self._own, warp, access)

    def _hold(self, before: list[tuple[int, int, GenericAccess]], warp: int, access: GenericAccess) -> None:
        peers = self.warps[warp].clock.peers
        for other, act, one in before:
            if peers[other] < act and not _WRITES.isdisjoint((one.does, access.does)) and one.meets(access):
                self.told(other, one, warp, access)

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
