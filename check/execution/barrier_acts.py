"""What statements do to the mbarriers of a block (they make them, arrive, wait), and what warps then know."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Set
from functools import partial

from ...spec.lazy_dataclass import dataclass
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import by_number, number_at
from ..walks.walk_steps import WalkStep
from .act_operands import is_doubtful, masked_blocks, shown_count, shown_number, value_of
from .barriers import Landing, Mbarrier, total
from .clocks import Clock
from .lone_waits import LoneWaits
from .meetings import Meetings
from .object_bytes import ObjectBytes
from .phase_waits import PhaseWaits
from .sent_acts import SentActs
from .thread_groups import ThreadGroup
from .warps import ExecutedWarp, GroupWait, HaltedError, LostError

__all__ = ["PARTING", "BarrierActs", "Drift", "Unpublished", "WrongCount"]

PARTING = frozenset(("await", "meet"))  # threads may wait here for different barriers
_WORD = (1 << 32) - 1  # addresses of shared memory have 32 bits
_MOST_ARRIVALS = (1 << 20) - 1  # that a phase of an mbarrier can count (9.7.13.15.2)


@dataclass(frozen=True)
class Unpublished:
    """An mbarrier is used by a warp that does not know of its init."""

    init: int
    use: int
    doubtful: bool


@dataclass(frozen=True)
class Drift:
    """A warp's arrivals at one statement fall into two phases of an mbarrier. `remote`: it has arrived
    in other blocks, at mbarriers that count as its own where blocks are taken to do alike.
    """

    init: int
    arrival: int
    count: int
    remote: bool = False


@dataclass(frozen=True)
class WrongCount:
    """An mbarrier is initialised with a number of arrivals that it cannot count; or a statement, `drop`,
    leaves it with one.
    """

    init: int
    count: int
    doubtful: bool
    drop: int | None = None


class BarrierActs:
    """The warps and the barriers of a block. `parts`: how many numbers clocks have for each warp."""

    def __init__(self, threads: int, parts: int = 1) -> None:
        self.threads = threads
        self.blocks = 1  # that are executed together
        self.count = -(-threads // WARP)
        self.width = self.count * parts  # of clocks
        self.warps = [ExecutedWarp(Clock(self.width)) for _ in range(self.count)]
        for number, warp in enumerate(self.warps):
            warp.clock.seen[number] = 1
        self.mbarriers: dict[int, Mbarrier] = {}
        self.waits = PhaseWaits(self.warps)
        self.sent = SentActs(self.warps)
        self.meetings = Meetings(threads, self.warps, self.width, self.sent)
        self.lone = LoneWaits(threads)
        self.tries: Set[int] = frozenset()  # waits that fail where a phase is incomplete
        self.failed = False  # the last try has failed
        self.invalid: set[int] = set()  # mbarriers that were invalidated, and not initialised again
        self.uncounted: dict[int, int] = {}  # by mbarrier with an unknown count: what initialises it
        self.unpublished: dict[tuple[int, int], Unpublished] = {}
        self.unknown_there: dict[tuple[int, int], Unpublished] = {}  # the same in other blocks of the cluster
        # The statements that use an mbarrier, and those that end it in a warp that does not know of that.
        # By these two: whether the wait for a product told that warp of the use.
        self.ended_early: dict[tuple[int, int], bool] = {}
        self.overlaid: dict[int, int] = {}  # by init of a valid mbarrier: what has initialised it before
        self.objects = ObjectBytes()
        # By mbarrier and warp: its last act and statement.
        self._used: dict[int, dict[int, tuple[int, int]]] = {}
        self.drifts: dict[int, Drift] = {}  # by mbarrier
        self._remote: set[tuple[int, int]] = set()  # mbarriers, with the warps that arrive there elsewhere
        self.wrong_counts: dict[int, WrongCount] = {}  # by statement
        # By statement: the ranks of the blocks at whose mbarriers it arrives.
        self.ranks: dict[int, set[int | None]] = {}
        self.whole = True  # no group has stopped before its end

    def order(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Do a statement that orders threads; yields what they wait for."""
        statement = step.statement
        match statement.does:
            case "arrive" if statement.operation.tells_several:
                if self.blocks > 1:
                    yield from self._tell(group, step, threads)
            case "memory-fence":
                self._memory_fence(threads)
            case "init":
                for value, some in self._barriers(group, step, threads):
                    self._init(group, step, value, some)
            case "invalidate":
                for value, some in self._barriers(group, step, threads):
                    yield from self._invalidate(group, step, value, some)
            case "arrive" | "expect" | "give" | "copy-arrive" if (
                statement.operation.action.barrier == "object"
            ):
                for value, some in self._barriers(group, step, threads):
                    yield from self._arrive(group, step, value, some)
            case "await":
                yield from self._await(group, step, threads)
            case "arrive" | "meet":
                if statement.does == "meet":
                    self.lone.meet(threads)
                yield from self.meetings.come(group, step, threads, self._published)

    def sides(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The threads of a wait, by the barrier and the parity that they wait for."""
        statement = step.statement
        if statement.does == "await" and group.registers.steps.is_heeded(step.position):
            parity = value_of(group, statement.phase, statement.scope)
            return [
                side
                for _, some in self._barriers(group, step, threads)
                for side in by_number(parity, some).values()
            ]
        return self.meetings.sides(group, step, threads) if statement.does == "meet" else [threads]

    def _barriers(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The mbarriers of a statement, with the threads that name each; raises HaltedError where one is
        unknown, or lies in no block that is executed.
        """
        address, scope = step.statement.barrier, step.statement.scope
        if address is None:
            raise LostError
        base = group.registers.base(address, scope)
        if base is None:
            raise HaltedError(step.position)  # it may be any of them
        sides = by_number(base, threads)
        if None in sides:
            raise HaltedError(step.position)
        for value, some in sides.items():
            assert value is not None
            found = (value + address.offset) & _WORD
            if self.blocks > 1 and group.registers.steps.window_of(found) >= self.blocks:
                self.sent.is_outside(group, step, address, some)
                raise HaltedError(step.position)
            yield found, some

    def _memory_fence(self, threads: tuple[int, ...]) -> None:
        for number in by_warp(threads):
            warp = self.warps[number]
            if warp.owed is not None:
                warp.clock.join(warp.owed)
                warp.owed = None
            warp.fenced = warp.clock.copy()
            warp.clock.seen[number] += 1

    def _init(self, group: ThreadGroup, step: WalkStep, address: int, threads: tuple[int, ...]) -> None:
        before, is_placed = self.mbarriers.get(address), is_doubtful(group, step)
        if before is not None and not (address in self.invalid or is_placed or before.is_placed):
            self.overlaid.setdefault(step.position, before.init[2])
        elif len(threads) > 1 and not is_placed:
            self.overlaid.setdefault(step.position, step.position)
        self.invalid.discard(address)
        self._use_ends(step, address, threads)
        position = step.statement.operation.action.count
        count = number_at(shown_count(group, step.statement, position, 0), threads[0])
        number = threads[0] // WARP
        if count is None or not 1 <= count <= _MOST_ARRIVALS:
            if count is not None:
                wrong = WrongCount(step.position, count, group.doubtful)
                self.wrong_counts.setdefault(step.position, wrong)
            self.uncounted[address] = step.position
            return
        warp = self.warps[number]
        if not is_placed:
            self.objects.begin(address, step.position)
        first = 0 if before is None else before.phase + 2 - before.phase % 2
        warp.clock.knows(address, first)
        self.mbarriers[address] = Mbarrier(
            address,
            count,
            number,
            warp.clock.seen[number],
            step.position,
            self.width,
            first,
            slow=bool(self.tries),
            is_placed=is_placed,
        )

    def _invalidate(
        self, group: ThreadGroup, step: WalkStep, address: int, threads: tuple[int, ...]
    ) -> Iterator[GroupWait]:
        is_placed = is_doubtful(group, step)
        if not is_placed:
            yield from self._mbarrier(group, step, address, threads)
        self.invalid.add(address)
        self.objects.end(address)
        self._use_ends(step, address, threads)
        if len(threads) > 1 and not is_placed:  # all but the first invalidate what is not valid any more
            yield self._revalidated(step, address)

    def _revalidated(self, step: WalkStep, address: int) -> GroupWait:
        """A wait until an mbarrier that was invalidated is initialised again."""
        return GroupWait(lambda: address not in self.invalid, "invalid", step.position, address)

    def _use_ends(self, step: WalkStep, address: int, threads: tuple[int, ...]) -> None:
        """An mbarrier ends, with which all warps should have done."""
        number = threads[0] // WARP
        warp = self.warps[number]
        for other, (act, use) in self._used.pop(address, {}).items():
            if other != number and warp.clock.seen[other] < act:
                ends, is_open = (use, step.position), warp.multiplied.get(other, -1) >= act
                self.ended_early[ends] = is_open and self.ended_early.get(ends, True)
        self.waits.end(address)

    def _mbarrier(
        self,
        group: ThreadGroup,
        step: WalkStep,
        address: int,
        threads: tuple[int, ...],
        remote: bool = False,
    ) -> Generator[GroupWait, None, Mbarrier | None]:
        """The mbarrier at an address, of this block or of another one; waits until it is initialised. None if
        its count is unknown.
        """
        if address not in self.mbarriers and address not in self.uncounted:
            doubtful = is_doubtful(group, step)
            yield GroupWait(
                lambda: address in self.mbarriers or address in self.uncounted,
                "init" if not doubtful else "unknown",
                step.position,
                address,
            )
        if address in self.invalid:
            yield self._revalidated(step, address)
        barrier = self.mbarriers.get(address)
        if barrier is None:
            return None
        init, act, statement = barrier.init
        for number in by_warp(threads):
            clock, key = self.warps[number].clock, (statement, step.position)
            self._used.setdefault(address, {})[number] = clock.seen[number], step.position
            if remote:
                self._known_there(barrier, number, step)
            elif clock.seen[init] < act and number != init:
                self.unpublished.setdefault(key, Unpublished(*key, group.doubtful))
        return barrier

    def _known_there(self, barrier: Mbarrier, number: int, step: WalkStep) -> None:
        """A warp uses the mbarriers of other blocks: does it know that they are initialised?"""
        init, act, statement = barrier.init
        if self.warps[number].clock.peers[init] < act:
            key = statement, step.position
            self.unknown_there.setdefault(key, Unpublished(*key, True))

    def _arrival(self, number: int, step: WalkStep) -> tuple[tuple[int, int], bool]:
        """Which act of whom an arrival of a warp is, and whether clocks that know of the act do not tell that
        it has come.
        """
        return (number, self.warps[number].clock.seen[number]), step.statement.operation.tells_later

    def _is_relaxed(self, step: WalkStep) -> bool:
        """Whether an arrival makes known only what a memory fence has, or a wait only behind one."""
        return "relaxed" in step.statement.operation.words

    def _published(self, number: int, step: WalkStep) -> Clock | None:
        """What an arrival of a warp makes known; then the warp's next act begins."""
        warp = self.warps[number]
        if self._is_relaxed(step):
            self.waits.hide()
            clock = warp.fenced
        else:
            clock = warp.clock.copy()
        warp.clock.seen[number] += 1
        return clock

    def _tell(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Arrive where the thread names an mbarrier, or at the same place of several blocks that are executed
        together.
        """
        in_window = group.registers.steps.in_window
        for address, some in self._barriers(group, step, threads):
            if not step.statement.operation.is_multicast:
                yield from self._arrive(group, step, address, some)
                continue
            for thread in some:
                for rank in self._masked(group, step, thread):
                    yield from self._arrive(group, step, in_window(address, rank), (thread,))

    def _masked(self, group: ThreadGroup, step: WalkStep, thread: int) -> Iterator[int]:
        """The ranks of the blocks to which a statement of a thread goes; raises HaltedError where they are
        not known, or are more than a cluster has whose size nobody says.
        """
        mask = number_at(masked_blocks(group, step), thread)
        known = group.registers.steps.function.cluster is not None
        if mask is None or (mask >> self.blocks and not known):
            raise HaltedError(step.position)
        yield from (rank for rank in range(self.blocks) if mask >> rank & 1)

    def _arrive(
        self, group: ThreadGroup, step: WalkStep, address: int, threads: tuple[int, ...]
    ) -> Iterator[GroupWait]:
        barrier = yield from self._mbarrier(group, step, address, threads)
        if barrier is None:
            return
        statement = step.statement
        action = statement.operation.action
        barrier.changed_at.add(step.position)
        ranks = group.registers.ranks(statement.barrier, statement.scope, threads)
        self.ranks.setdefault(step.position, set()).update(ranks)
        counts = shown_count(group, statement, action.count, 1)
        bytes_ = shown_number(group, statement, action.size, 0)
        assumed = shown_number(group, statement, action.size, 0, True)
        for number, some in by_warp(threads).items():
            warp = self.warps[number]
            if statement.does == "expect":
                for thread in some:
                    size = number_at(bytes_, thread)
                    barrier.expect_apart(number, warp.clock, size, step.position, number_at(assumed, thread))
                continue
            if statement.does == "give":
                for thread in some:
                    barrier.give(number_at(bytes_, thread))
                continue
            if statement.does == "copy-arrive":
                self._copies_arrive(warp, number, barrier, step, len(some))
                continue
            counted = [number_at(counts, thread) for thread in some]
            expected = [number_at(bytes_, thread) for thread in some]
            with_parameters = [number_at(assumed, thread) for thread in some]
            if None in counted:
                raise HaltedError(step.position)
            act, unseen = self._arrival(number, step)
            self.sent.send(group, step, statement.barrier, some)
            clock = self._published(number, step) or Clock(self.width)
            remote = group.registers.is_remote(statement.barrier, statement.scope)
            if remote:
                self._remote.add((address, number))
                clock.exchange()
            if any("drop" in word for word in statement.operation.words):  # later phases count fewer
                left = barrier.count - sum(one for one in counted if one is not None)
                if left < 0:
                    wrong = WrongCount(barrier.init[2], left, is_doubtful(group, step), step.position)
                    self.wrong_counts.setdefault(step.position, wrong)
                barrier.count = max(left, 0)
            later = statement.operation.tells_later
            divided = barrier.arrive(
                clock,
                act,
                sum(one for one in counted if one is not None),
                total(expected),
                step.position,
                total(with_parameters),
                unseen,
            )
            if divided and self.whole:
                drift = Drift(
                    barrier.init[2], step.position, barrier.count, (address, number) in self._remote
                )
                self.drifts.setdefault(address, drift)
            phase = clock.least.get(address, 0)
            self.sent.arrive(step.position, number, address, phase)
            if not later:
                warp.arrivals[address] = phase
                warp.clock.knows(address, phase)

    def _copies_arrive(
        self, warp: ExecutedWarp, number: int, barrier: Mbarrier, step: WalkStep, threads: int
    ) -> None:
        """The mbarrier's phase waits for the copies of the warp's threads."""
        copies = [*warp.copies, *(copy for group in warp.copy_groups for copy in group)]
        for copy in copies:
            copy.landing = Landing(barrier.address, barrier.phase)
        warp.copies = []
        warp.copy_groups.clear()
        act = number, warp.clock.seen[number]
        clock = self._published(number, step)
        if "noinc" in step.statement.operation.words and clock is not None:
            divided = barrier.arrive(clock, act, threads)
            if divided and self.whole:
                drift = Drift(barrier.init[2], step.position, barrier.count)
                self.drifts.setdefault(barrier.address, drift)

    def _await(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        statement = step.statement
        text = statement.phase
        if not group.registers.steps.is_heeded(step.position):
            return  # it tries once, and nothing reads whether the phase is complete
        for address, some in self._barriers(group, step, threads):
            barrier = yield from self._mbarrier(group, step, address, some)
            if barrier is None:
                raise LostError(self.uncounted[address])
            parity = value_of(group, text, statement.scope)
            self.waits.waiters.setdefault(address, set()).update(by_warp(some))
            for number, lanes in by_warp(some).items():
                warp = self.warps[number]
                if text is None:
                    target = warp.arrivals.get(address, -1)
                else:
                    wanted = number_at(parity, lanes[0])
                    if wanted is None:
                        raise LostError(step.position)
                    begun = barrier.begun(warp.clock)
                    target = begun - 1 if begun % 2 != wanted % 2 else begun
                    act = warp.clock.seen[number]
                    self.waits.come(group, step.position, barrier, number, act, target)
                if target < 0:
                    continue
                if barrier.phase <= target and step.position in self.tries:
                    self.failed = True
                    return
                if barrier.phase <= target:
                    yield GroupWait(
                        partial(barrier.has_ended, target), "phase", step.position, address, target
                    )
                told = barrier.told[target]
                self.lone.wait(number, lanes, step.position, warp.clock)
                self.awaited(step, lanes, address, target)
                if self._is_relaxed(step):
                    self.waits.hide()
                    warp.owed = warp.owed or Clock(self.width)
                    warp.owed.join(told)
                    warp.clock.knows(address, target + 1)
                else:
                    warp.clock.join(told)

    def awaited(self, step: WalkStep, threads: tuple[int, ...], address: int, phase: int) -> None:
        """Threads of a warp have waited for a phase of an mbarrier: nothing that clocks do not show."""

    def late(self) -> Iterator[tuple[ThreadGroup, GroupWait]]:
        """The waits of valid mbarriers to which all their warps may come so late that they never end."""
        return self.waits.late({at: one for at, one in self.mbarriers.items() if at not in self.invalid})
