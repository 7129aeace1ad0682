"""Accesses of shared memory beside products that read it until a commit behind them arrives (9.7.16.6.5).

Copies into tensor memory read so, too. One thread issues them: they are over for warps that know of a phase
at which a commit behind them arrives. A clock counts them beside the acts of warps: of what each warp has
issued, how much is known to be over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .clocks import Clock
from .phase_waits import PhaseWaits
from .shared_accesses import SharedAccesses
from .timed_accesses import PhaseRace, TimedRead, TimedWrite

__all__ = ["CommittedRead", "OperandAccesses"]

_LINE = 128  # bytes: every tensor copy begins a line


@dataclass(eq=False, slots=True)
class CommittedRead(TimedRead):
    """A product reads a matrix, or a copy its source. `engine`: where clocks count what its warp has issued;
    `number`: the place of the product or copy among that. `bytes`: of the whole matrix, if it begins here.
    `copy`: where the tensor copy begins that has brought its beginning.
    """

    engine: int = 0
    number: int = 0
    bytes: int = 0
    copy: int = -1

    def unended(self, clock: Clock) -> list[int]:
        """The warp of the product, if a warp with a clock does not know that it is complete."""
        return [] if clock.seen[self.engine] >= self.number else [*self.began]

    def blind(self, clock: Clock) -> list[int]:
        """What other blocks multiply is not judged."""
        return []


class OperandAccesses(SharedAccesses):
    """What is read and written, and the races of products with what is written. Where threads have gone on
    without what they waited for (`waits`), nothing more is said of products.
    """

    def __init__(self, clocks: Sequence[Clock], waits: PhaseWaits) -> None:
        super().__init__(clocks)
        self._waits = waits
        self._reached: dict[int, int] = {}  # by the first byte of a line: how far products read in it
        # By mbarrier and phase: the matrices that its tensor copies bring, by where they begin.
        self.brought: dict[tuple[int, int], dict[int, CommittedRead]] = {}
        self.copied: set[int] = set()  # where tensor copies begin

    def read(self, read: TimedRead) -> None:
        """A product reads a matrix."""
        line = read.region.low // _LINE * _LINE
        self._reached[line] = max(self._reached.get(line, 0), read.region.high)
        if isinstance(read, CommittedRead) and read.bytes:
            self._bring(read, line)
        super().read(read)

    def _bring(self, read: CommittedRead, line: int) -> None:
        """Remember which phase's tensor copy has written the line in which a matrix begins."""
        writes = (one.last for one in self._at.get(line, ()))
        last = max(writes, key=lambda write: write.order, default=None)
        landing = None if last is None else last.landing
        if last is not None and landing is not None and landing.size is None:
            read.copy = last.region.low
            self.brought.setdefault((landing.barrier, landing.phase), {})[read.region.low] = read

    def write(self, write: TimedWrite) -> None:
        """A write begins. What products read in the line in which a tensor copy begins, that copy brings."""
        reached = self._reached.get(write.region.low, 0)
        brings_box = write.landing is not None and write.landing.size is None and not write.elsewhere
        if brings_box:
            self.copied.add(write.region.low)
        if brings_box and reached > write.region.high:
            write.region = write.region._replace(high=reached)
        super().write(write)

    def _fenced(self, write: TimedWrite, clocks: Mapping[int, Clock]) -> bool:
        """The same; one thread of the warp that writes may execute the fence for all of its threads."""
        if super()._fenced(write, clocks):
            return True
        made = write.act if write.kind == "store" else write.end
        fences = [fence.act for fence in self._fences.get(write.warp, ()) if fence.act > made]
        return all(any(clock.seen[write.warp] >= act for act in fences) for clock in clocks.values())

    def _keep(self, race: PhaseRace) -> None:
        """What is wrong with two writes is found where loads and copies are looked at."""
        if race.reads != "none" and not self._waits.astray:
            super()._keep(replace(race, what="pending") if race.what == "overwritten" else race)
