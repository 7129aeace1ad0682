"""What warps do to other blocks of their cluster, and whether warps of those know of it when they end."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from math import prod

from ...spec.lazy_dataclass import dataclass
from ..ptx.operands import Address
from ..values.block_threads import WARP
from ..values.lane_numbers import by_number, number_at
from ..walks.walk_steps import WalkStep
from .outside_ranks import OutsideRank
from .phase_waits import PhaseWaits
from .thread_groups import ThreadGroup
from .warps import ExecutedWarp

__all__ = ["Sent", "SentActs"]

_MOST_RANKS = 64  # more than any cluster has: what is greater is no address of shared memory


@dataclass(frozen=True)
class Sent:
    """A warp reaches into another block of the cluster, at a statement, by an act of its own. `barrier`: the
    mbarrier at which it arrives, in a phase.
    """

    statement: int
    warp: int
    act: int
    block: int = 0  # its rank, where it is executed, too
    barrier: int = -1
    phase: int = -1


class SentActs:
    """The last act of each warp at each statement by which it reaches into another block. `parted`: by warp,
    the acts that some warp has waited for at the barrier of the cluster.
    """

    def __init__(self, warps: Sequence[ExecutedWarp]) -> None:
        self._warps = warps
        self._sent: dict[tuple[int, int], Sent] = {}  # by statement and warp
        self.parted = [0] * len(warps)
        self.outside: dict[int, OutsideRank] = {}  # by statement

    def __bool__(self) -> bool:
        return bool(self._sent)

    def send(
        self, group: ThreadGroup, step: WalkStep, address: Address | None, threads: tuple[int, ...]
    ) -> None:
        """Remember that threads of a warp access an address, if that surely lies in another block of the
        cluster.
        """
        warp, block = threads[0] // WARP, 0
        if self.is_outside(group, step, address, threads):
            return
        if group.registers.steps.blocks > 1:
            found = self._window(group, step, address, threads[0])
            if found is None:
                return
            block = found
        elif not group.registers.is_elsewhere(address, step.statement.scope, threads):
            return
        act = self._warps[warp].clock.seen[warp]
        self._sent[step.position, warp] = Sent(step.position, warp, act, block)

    def is_outside(
        self, group: ThreadGroup, step: WalkStep, address: Address | None, threads: tuple[int, ...]
    ) -> bool:
        """Whether an address of some thread lies in no block that is executed; remember it if the cluster
        has no such block, by the function's head.
        """
        registers, steps = group.registers, group.registers.steps
        if address is None or address.base is None:
            return False
        blocks = prod(steps.function.cluster or (0,))
        if steps.blocks > 1:
            places = by_number(registers.value(address.base, step.statement.scope), threads)
            ranks = {steps.window_of(one) for one in places if one is not None}
        else:
            ranks = {
                one for one in registers.ranks(address, step.statement.scope, threads) if one is not None
            }
        beyond = [rank for rank in ranks if 0 < blocks <= rank < _MOST_RANKS]
        if beyond:
            found = OutsideRank(threads[0] // WARP, min(beyond), blocks)
            self.outside.setdefault(step.position, found)
        return bool(beyond) or (steps.blocks > 1 and any(rank >= steps.blocks for rank in ranks))

    @staticmethod
    def _window(group: ThreadGroup, step: WalkStep, address: Address | None, thread: int) -> int | None:
        """The rank of the other block that is executed, too, where an address of a thread lies; None if it
        lies in none.
        """
        steps = group.registers.steps
        if address is None or address.base is None:
            return None
        number = number_at(group.registers.value(address.base, step.statement.scope), thread)
        if number is None:
            return None
        found = steps.window_of(number)
        return None if found == steps.rank_of(thread, len(group.registers.threads)) else found

    def arrive(self, statement: int, warp: int, barrier: int, phase: int) -> None:
        """What a warp did there was an arrival at an mbarrier, in a phase."""
        sent = self._sent.get((statement, warp))
        if sent is not None:
            self._sent[statement, warp] = replace(sent, barrier=barrier, phase=phase)

    def part(self, warp: int, act: int) -> None:
        """Some warp has waited for an act of a warp at the barrier of the cluster."""
        self.parted[warp] = max(self.parted[warp], act)

    def unawaited(self, blocks: int, waits: PhaseWaits) -> Iterator[Sent]:
        """What warps did to other blocks, of which so many are executed together, and no warp of those knew
        of when it ended.
        """
        each = len(self._warps) // blocks
        for one in self._sent.values():
            first = one.block * each if blocks > 1 else 0
            there = range(first, first + each)
            known = any(self._is_known(one, warp, blocks) for warp in there)
            if not known and not self._is_over(one, there, waits):
                yield one

    def _is_known(self, one: Sent, warp: int, blocks: int) -> bool:
        """Whether a warp knows of an act; one of the block's own, what it knows of others that do alike."""
        clock = self._warps[warp].clock
        return (clock.seen if blocks > 1 else clock.peers)[one.warp] >= one.act

    def _is_over(self, one: Sent, warps: Container[int], waits: PhaseWaits) -> bool:
        """Whether some of these warps have waited for what comes later than what a warp did to another block:
        at the barrier of the cluster, or for the phase in which it arrived. Relaxed acts show that, too.
        """
        return self.parted[one.warp] >= one.act or any(
            address == one.barrier and phase >= one.phase and warp in warps
            for address, warp, phase in waits.awaited()
        )
