"""Find which barriers signal that a stage is free, or full, from the acts of a block's threads on their
walks.

A barrier that a thread awaits before it fills a stage again signals that the stage is free. A barrier that a
bulk copy completes, or at which a thread arrives after its stores, signals that the stage is full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...spec.lazy_dataclass import dataclass
from ..memory.byte_regions import ByteRegion
from .acts import Act
from .thread_walk import Walked

__all__ = ["FirstFill", "StageProtocol"]


@dataclass(frozen=True, slots=True)
class FirstFill:
    """The first copy or store into a stage; what its thread awaited before, and how often it met others."""

    statement: int
    meets: int
    behind: frozenset[int | None]


class StageProtocol:
    """What barriers signal about stages.

    free: by barrier, the stages that are filled again behind a wait for it, each with the filling statement.
    full: by stage, the barriers that signal its copies and stores; `first` is the first of those.
    told: by barrier, the barriers that a thread has awaited when it arrives there.
    unfenced: by barrier, the generic writes with no proxy fence behind them when a thread arrives there: the
    statements that write, and that arrive.
    awaited: the barriers that some thread awaits. None stands for an unknown barrier.
    """

    def __init__(self, walked: Sequence[Walked]) -> None:
        self.free: dict[int, dict[ByteRegion, int]] = defaultdict(dict)
        self.full: dict[ByteRegion, set[int | None]] = defaultdict(set)
        self.first: dict[ByteRegion, FirstFill] = {}
        self.told: dict[int | None, set[int | None]] = defaultdict(set)
        self.unfenced: dict[int | None, dict[ByteRegion, tuple[int, int]]] = defaultdict(dict)
        self._announcing: dict[int, set[int]] = defaultdict(set)  # by barrier: the arrivals behind them
        self.awaited: set[int | None] = set()
        self.matrices = sorted(
            {region for walk in walked for act in walk.acts if act.kind == "mma" for region in act.regions},
            key=lambda region: (region.low, region.high),
        )
        self._stages: dict[ByteRegion, tuple[ByteRegion, ...]] = {}
        full: set[int | None] = set()
        for walk in walked:
            full |= self._fills(walk.acts)
            self._signals(walk.acts)
            if not any(act.kind == "mma" for act in walk.acts):
                self._announces(walk.acts)
        for barrier in full:
            if barrier is not None:
                self.free.pop(barrier, None)  # it signals that stages are full

    def first_arrival(self, arrival: int) -> int:
        """The first statement that announces unfenced writes at a barrier at which another one does, too."""
        return min((min(some) for some in self._announcing.values() if arrival in some), default=arrival)

    def stages(self, region: ByteRegion) -> tuple[ByteRegion, ...]:
        """The matrices that some bytes are part of."""
        if region not in self._stages:
            self._stages[region] = tuple(filter(region.meets, self.matrices))
        return self._stages[region]

    def _signals(self, acts: Sequence[Act]) -> None:
        """What a thread has awaited when it arrives at a barrier, or first copies into a stage."""
        awaited: set[int | None] = set()
        behind: set[int | None] = set()  # except waits for the phase before the first, which end at once
        meets = 0
        produces = not any(act.kind == "mma" for act in acts)
        stored: dict[ByteRegion, FirstFill] = {}
        for act in acts:
            if act.kind == "await":
                if act.n != 1 or act.barrier in awaited:
                    behind.add(act.barrier)
                awaited.add(act.barrier)
            elif act.kind == "meet":
                meets += 1
            elif act.kind == "arrive":
                self.told[act.barrier] |= awaited
                for region, first in stored.items():
                    self.full[region].add(act.barrier)
                    self.first.setdefault(region, first)
                stored.clear()
            elif act.kind == "store" and produces:
                for region in act.regions:
                    stored[region] = FirstFill(act.statement, meets, frozenset(behind))
            elif act.kind == "bulk":
                for region in act.regions:
                    self.full[region].add(act.barrier)
                    self.first.setdefault(region, FirstFill(act.statement, meets, frozenset(behind)))
        self.awaited |= awaited

    def _announces(self, acts: Sequence[Act]) -> None:
        """What a thread that multiplies nothing wrote through the generic proxy when it arrives, unfenced."""
        stores: dict[ByteRegion, int] = {}
        copies: dict[ByteRegion, int] = {}
        for act in acts:
            if act.kind in ("store", "copy"):
                wrote = stores if act.kind == "store" else copies
                wrote.update((region, act.statement) for region in act.regions)
            elif act.kind == "proxy-fence":
                stores.clear()
            elif act.kind in ("arrive", "meet") and act.barrier is not None:
                self._announce(act, stores)
            elif act.kind == "copy-arrive":
                self._announce(act, copies)
                copies.clear()

    def _announce(self, act: Act, wrote: dict[ByteRegion, int]) -> None:
        self.unfenced[act.barrier].update((one, (at, act.statement)) for one, at in wrote.items())
        if wrote and act.barrier is not None:
            self._announcing[act.barrier].add(act.statement)

    def _fills(self, acts: Sequence[Act]) -> set[int | None]:
        """What a thread fills again, behind which barrier; the barriers behind which it multiplies."""
        filled: set[ByteRegion] = set()
        full: set[int | None] = set()
        last: int | None = None
        for act in acts:
            if act.kind in ("await", "meet"):
                last = act.barrier if act.kind == "await" else None
            elif act.kind == "mma":
                full.add(last)
            elif act.kind in ("bulk", "copy", "store"):
                for region in act.regions:
                    if region in filled and last is not None:
                        self.free[last].setdefault(region, act.statement)
                    filled.add(region)
        return full
