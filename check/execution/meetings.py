"""Where threads meet: at named barriers, at that of the cluster, and with other lanes of their warp."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ..ptx.decode import DecodedStatement
from ..values.block_threads import WARP, Threads, by_warp
from ..values.lane_numbers import by_number, number_at
from ..walks.walk_steps import WalkStep
from .act_operands import shown_count, value_of
from .barriers import NamedBarrier
from .clocks import Clock
from .lane_meetings import LaneMeetings
from .sent_acts import SentActs
from .thread_groups import ThreadGroup
from .warps import ExecutedWarp, GroupWait, HaltedError

__all__ = ["NAMES", "Meetings"]

NAMES = 1 << 8  # of named barriers, of each of the blocks that are executed together
_CLUSTER = -1
_Published = Callable[[int, WalkStep], Clock | None]


class Meetings:
    """The barriers at which so many threads meet, in warps with clocks of some width. Other blocks of the
    cluster are taken to arrive at its barrier; `sent` learns what is over then.

    `again`: by arrival at the cluster's barrier, one that came before it has completed.
    """

    def __init__(
        self,
        threads: int,
        warps: Sequence[ExecutedWarp],
        width: int,
        sent: SentActs,
    ) -> None:
        self.named: dict[int, NamedBarrier] = {}
        self.lanes = LaneMeetings(threads)
        self.again: dict[int, int] = {}
        self._threads = threads
        self._warps = warps
        self._width = width
        self._sent = sent
        self._left: dict[int, dict[int, int]] = {}  # by phase of the cluster's barrier: the warps' acts
        # By thread: the phase in which it has arrived there last, and the statement.
        self._arrived: dict[int, tuple[int, int]] = {}
        self._waited: dict[int, int] = {}  # by thread: the phase of the cluster's barrier that it waited for

    def sides(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The threads that come to a meeting, by what they wait for."""
        match step.statement.operation.action.barrier:
            case "named":
                return list(self._by_barrier(group, step.statement, threads).values())
            case "warp":
                return self._by_lanes(group, step, threads)
        return [threads]

    def _by_lanes(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        """The lanes of each warp that wait for others of it, and the threads of all other warps."""
        masks = value_of(group, step.statement.operands[0], step.statement.scope)
        waiting = self.lanes.lacking(masks, threads)
        if not waiting:
            return [threads]
        known = {thread for some in waiting for thread in some}
        others = Threads(thread for thread in threads if thread not in known)
        return [*waiting, *([others] if others else [])]

    def come(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...], published: _Published
    ) -> Iterator[GroupWait]:
        """Threads arrive at a barrier, or wait there, or both; yields what they wait for. `published` says
        what an arrival of a warp makes known.
        """
        match step.statement.operation.action.barrier:
            case "warp":
                yield from self._meet_lanes(group, step, threads)
            case "named":
                for name, some in self._by_barrier(group, step.statement, threads).items():
                    if name is None:
                        raise HaltedError(step.position)
                    barrier = self._barrier(name)
                    phases = self._gather(group, step, barrier, some, published)
                    if step.statement.does == "meet":
                        yield from self._wait(step, name, barrier, phases)
            case "cluster":
                yield from self._meet_cluster(group, step, threads, published)

    def _meet_lanes(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]
    ) -> Iterator[GroupWait]:
        masks = value_of(group, step.statement.operands[0], step.statement.scope)
        for some in self.lanes.lacking(masks, threads):
            is_over = self.lanes.come(masks, some)
            if not is_over():
                yield GroupWait(is_over, "lanes", step.position, some[0] // WARP)

    def _meet_cluster(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...], published: _Published
    ) -> Iterator[GroupWait]:
        """Threads arrive at the cluster's barrier, or wait there."""
        barrier = self._barrier(_CLUSTER)
        if step.statement.does == "arrive":
            self._arrives_again(step, barrier, threads)
            phases = self._gather(group, step, barrier, threads, published)
            self._arrived.update((one, (phases[one // WARP], step.position)) for one in threads)
            for number, phase in phases.items():
                self._left.setdefault(phase, {})[number] = self._warps[number].clock.seen[number] - 1
            return
        again = [thread for thread in threads if self._waited.get(thread, -1) == self._phase_of(thread)]
        if again:
            yield GroupWait(lambda: False, "arrival", step.position, _CLUSTER, self._phase_of(again[0]))
        phases = {number: max(map(self._phase_of, lanes)) for number, lanes in by_warp(threads).items()}
        self._waited.update((thread, self._phase_of(thread)) for thread in threads)
        yield from self._wait(step, _CLUSTER, barrier, phases)
        for number, act in self._left.get(max(phases.values()), {}).items():
            self._sent.part(number, act)  # whatever the arrivals make known, what stands before them is done

    def _barrier(self, name: int) -> NamedBarrier:
        return self.named.setdefault(name, NamedBarrier(self._width))

    def _wait(
        self, step: WalkStep, name: int, barrier: NamedBarrier, phases: Mapping[int, int]
    ) -> Iterator[GroupWait]:
        """Warps wait for phases of a barrier, and learn what these tell."""
        last = max(phases.values())
        if barrier.phase <= last:
            yield GroupWait(partial(barrier.has_ended, last), "meet", step.position, name, last)
        for number, phase in phases.items():
            if phase >= 0:
                self._warps[number].clock.join(barrier.told[phase])

    def _arrives_again(self, step: WalkStep, barrier: NamedBarrier, threads: tuple[int, ...]) -> None:
        """Hold an arrival at the cluster's barrier against the one before it: "each thread must arrive at the
        barrier only once before the barrier completes" (9.7.13.3). One that knows of all other arrivals knows
        that it has.
        """
        for number, some in by_warp(threads).items():
            again = (one for one in some if self._waited.get(one, -1) != self._phase_of(one))
            first = next(again, None)
            if first is None:
                continue
            (phase, before), clock = self._arrived[first], self._warps[number].clock
            if not (barrier.has_ended(phase) and clock.has_learned(barrier.told[phase])):
                self.again.setdefault(step.position, before)

    def _by_barrier(
        self, group: ThreadGroup, statement: DecodedStatement, threads: tuple[int, ...]
    ) -> Mapping[int | None, tuple[int, ...]]:
        """Threads by the named barrier that they come to; each block has its own."""
        by_name = by_number(value_of(group, statement.barrier_name, statement.scope), threads)
        steps = group.registers.steps
        if steps.blocks == 1:
            return by_name
        found: dict[int | None, list[int]] = {}
        for value, some in by_name.items():
            for thread in some:
                key = None if value is None else value + steps.rank_of(thread, self._threads) * NAMES
                found.setdefault(key, []).append(thread)
        return {key: Threads(some) for key, some in found.items()}

    def _phase_of(self, thread: int) -> int:
        """The phase of the cluster's barrier in which a thread has arrived last; −1: none."""
        return self._arrived.get(thread, (-1, -1))[0]

    def _gather(
        self,
        group: ThreadGroup,
        step: WalkStep,
        barrier: NamedBarrier,
        threads: tuple[int, ...],
        published: _Published,
    ) -> dict[int, int]:
        """Threads arrive at a barrier: the phase that each warp arrives in."""
        statement, position = step.statement, step.statement.count_at
        is_named = statement.operation.action.barrier == "named"
        everybody = self._threads // (group.registers.steps.blocks if is_named else 1)
        count = number_at(shown_count(group, statement, position, everybody), threads[0])
        if count is None:
            raise HaltedError(step.position)
        phases = {}
        barrier.changed_at.add(step.position)
        for number, some in by_warp(threads).items():
            clock = published(number, step)
            if clock is not None and not is_named:
                clock.exchange()
            barrier.divided |= len(some) < min(WARP, self._threads - number * WARP)
            if position is not None:
                barrier.name(count, step.position, group.doubtful)
            phases[number] = barrier.arrive(clock, len(some), count)
        if len({*phases.values()}) > 1 and is_named:
            barrier.mix(min(phases.values()))
        return phases
