"""What arrivals, waits and fences do to the warps and barriers of a block."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from ...spec.lazy_dataclass import dataclass
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address
from ..values.block_threads import WARP, Threads, by_warp
from ..values.lane_numbers import Numbers, by_number, number_at
from ..walks.walk_steps import RANKS, WalkStep
from .barriers import Landing, Mbarrier, NamedBarrier, total
from .clocks import Clock
from .lane_meetings import LaneMeetings
from .lone_waits import LoneWaits
from .object_bytes import ObjectBytes
from .thread_groups import ThreadGroup
from .warps import ExecutedWarp, GroupWait, HaltedError, LostError

__all__ = ["NAMES", "PARTING", "BarrierActs", "Drift", "Sent", "Unpublished", "WrongCount"]

PARTING = frozenset(("await", "meet"))  # threads may wait here for different barriers
NAMES = 1 << 8  # of named barriers, of each of the blocks that are executed together
_CLUSTER = -1
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


class _Came(NamedTuple):
    """A warp comes to a wait for a phase: its group, the number of its act, and the phase that may be the
    current one by what it knows, and the one that was; how many bulk copies it has started before.
    """

    group: ThreadGroup
    act: int
    phase: int
    found: int
    copies: int


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
        self.named: dict[int, NamedBarrier] = {}
        self.lanes = LaneMeetings(threads)
        self.lone = LoneWaits(threads)
        self.waiters: dict[int, set[int]] = {}  # by mbarrier: the warps that have waited for its phases
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
        self.sent: dict[tuple[int, int], Sent] = {}  # the last one, by statement and warp
        # By statement: the ranks of the blocks at whose mbarriers it arrives.
        self.ranks: dict[int, set[int | None]] = {}
        self._left: dict[int, dict[int, int]] = {}  # by phase of the cluster's barrier: the warps' acts
        self._parted = [0] * self.count  # of the warps of other blocks: the acts that some warp waited for
        self.again: dict[int, int] = {}  # by arrival at the cluster's barrier: one before it has completed
        # By thread: the phase in which it has arrived there last, and the statement.
        self._arrived: dict[int, tuple[int, int]] = {}
        self._waited: dict[int, int] = {}  # by thread: the phase of the cluster's barrier that it waited for
        self.whole = True  # no group has stopped before its end
        self.astray = False  # one has, and others have gone on without what they waited for
        self._hidden = [0] * self.count  # by warp: its act when an arrival or a wait was relaxed last
        # By warp: the mbarriers that its bulk copies complete, in their order.
        self.copied: list[list[int]] = [[] for _ in range(self.count)]
        self._came: dict[tuple[int, int, int], _Came] = {}  # the last one, by mbarrier, warp and statement
        self._past: dict[tuple[int, int], int] = {}  # the last phase, by ended mbarrier and warp

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
                    self._invalidate(step, value, some)
            case "arrive" | "expect" | "give" | "copy-arrive" if (
                statement.operation.action.barrier == "object"
            ):
                for value, some in self._barriers(group, step, threads):
                    yield from self._arrive(group, step, value, some)
            case "await":
                yield from self._await(group, step, threads)
            case "arrive" | "meet":
                yield from self._meeting(group, step, threads)

    def sides(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The threads of a wait, by the barrier and the parity that they wait for."""
        statement = step.statement
        if statement.does == "await" and group.registers.steps.is_heeded(step.position):
            parity = self._value(group, statement.phase, statement.scope)
            return [
                side
                for _, some in self._barriers(group, step, threads)
                for side in by_number(parity, some).values()
            ]
        if statement.does == "meet" and statement.operation.action.barrier == "named":
            return list(self._by_barrier(group, statement, threads).values())
        if statement.does == "meet" and statement.operation.action.barrier == "warp":
            return self._by_meeting(group, step, threads)
        return [threads]

    def _by_meeting(
        self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        """The lanes of each warp that wait for others of it, and the threads of all other warps."""
        masks = self._value(group, step.statement.operands[0], step.statement.scope)
        waiting = self.lanes.lacking(masks, threads)
        if not waiting:
            return [threads]
        known = {thread for some in waiting for thread in some}
        others = Threads(thread for thread in threads if thread not in known)
        return [*waiting, *([others] if others else [])]

    def _value(self, group: ThreadGroup, text: str | None, scope: int) -> Numbers:
        return None if not text else group.registers.value(text, scope)

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
                raise HaltedError(step.position)
            yield found, some

    @staticmethod
    def _doubtful(group: ThreadGroup, step: WalkStep) -> bool:
        """Whether an assumed number decides that the access happens, or where."""
        if group.doubtful or not group.registers.assumed:
            return group.doubtful
        return not group.registers.assumed.isdisjoint(group.registers.steps.placing(step))

    def _memory_fence(self, threads: tuple[int, ...]) -> None:
        for number in by_warp(threads):
            warp = self.warps[number]
            if warp.owed is not None:
                warp.clock.join(warp.owed)
                warp.owed = None
            warp.fenced = warp.clock.copy()
            warp.clock.seen[number] += 1

    def _init(self, group: ThreadGroup, step: WalkStep, address: int, threads: tuple[int, ...]) -> None:
        before, is_placed = self.mbarriers.get(address), self._doubtful(group, step)
        if before is not None and not (address in self.invalid or is_placed or before.is_placed):
            self.overlaid.setdefault(step.position, before.init[2])
        self.invalid.discard(address)
        self._use_ends(step, address, threads)
        position = step.statement.operation.action.count
        count = number_at(self._count(group, step.statement, position, 0), threads[0])
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

    def _invalidate(self, step: WalkStep, address: int, threads: tuple[int, ...]) -> None:
        self.invalid.add(address)
        self.objects.end(address)
        self._use_ends(step, address, threads)

    def _use_ends(self, step: WalkStep, address: int, threads: tuple[int, ...]) -> None:
        """An mbarrier ends, with which all warps should have done."""
        number = threads[0] // WARP
        warp = self.warps[number]
        for other, (act, use) in self._used.pop(address, {}).items():
            if other != number and warp.clock.seen[other] < act:
                ends, is_open = (use, step.position), warp.multiplied.get(other, -1) >= act
                self.ended_early[ends] = is_open and self.ended_early.get(ends, True)
        for came in [came for came in self._came if came[0] == address]:
            # Those waits were for phases of the one that ends.
            key, phase = came[:2], self._came.pop(came).phase
            self._past[key] = max(self._past.get(key, -1), phase)

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
            doubtful = self._doubtful(group, step)
            yield GroupWait(
                lambda: address in self.mbarriers or address in self.uncounted,
                "init" if not doubtful else "unknown",
                step.position,
                address,
            )
        if address in self.invalid:
            yield GroupWait(lambda: address not in self.invalid, "invalid", step.position, address)
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
            self._hide()
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
        mask = number_at(self._mask(group, step), thread)
        known = group.registers.steps.function.cluster is not None
        if mask is None or (mask >> self.blocks and not known):
            raise HaltedError(step.position)
        yield from (rank for rank in range(self.blocks) if mask >> rank & 1)

    def _mask(self, group: ThreadGroup, step: WalkStep) -> Numbers:
        """The blocks of the cluster that it is for, as bits: what stands behind its mbarrier, or all."""
        statement = step.statement
        if statement.operation.is_for_all:
            return (1 << group.registers.steps.grid[RANKS]) - 1
        places = [place for place, text in enumerate(statement.operands) if text[:1] == "["]
        return self._operand(group, statement, places[-1] + 1, 0)

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
        counts = self._count(group, statement, action.count, 1)
        bytes_ = self._operand(group, statement, action.size, 0)
        assumed = self._operand(group, statement, action.size, 0, True)
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
            self.send(group, step, statement.barrier, some)
            clock = self._published(number, step) or Clock(self.width)
            remote = group.registers.is_remote(statement.barrier, statement.scope)
            if remote:
                self._remote.add((address, number))
                clock.exchange()
            if any("drop" in word for word in statement.operation.words):  # later phases count fewer
                left = barrier.count - sum(one for one in counted if one is not None)
                if left < 0:
                    wrong = WrongCount(barrier.init[2], left, self._doubtful(group, step), step.position)
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
            sent = self.sent.get((step.position, number))
            if sent is not None:
                self.sent[step.position, number] = replace(sent, barrier=address, phase=phase)
            if not later:
                warp.arrivals[address] = phase
                warp.clock.knows(address, phase)

    def send(
        self, group: ThreadGroup, step: WalkStep, address: Address | None, threads: tuple[int, ...]
    ) -> None:
        """Remember that threads of a warp access an address, if that surely lies in another block of the
        cluster.
        """
        if self.blocks > 1:
            self._send_there(group, step, address, threads[0])
            return
        if group.registers.is_elsewhere(address, step.statement.scope, threads):
            warp = threads[0] // WARP
            act = self.warps[warp].clock.seen[warp]
            self.sent[step.position, warp] = Sent(step.position, warp, act)

    def _send_there(self, group: ThreadGroup, step: WalkStep, address: Address | None, first: int) -> None:
        """The same, where that block is executed, too. `first`: the first of the threads."""
        steps = group.registers.steps
        if address is None or address.base is None:
            return
        base = group.registers.value(address.base, step.statement.scope)
        number, warp = number_at(base, first), first // WARP
        if number is not None and steps.window_of(number) != steps.rank_of(first, self.threads):
            act = self.warps[warp].clock.seen[warp]
            self.sent[step.position, warp] = Sent(step.position, warp, act, steps.window_of(number))

    def unawaited(self) -> Iterator[Sent]:
        """What warps did to other blocks, and no warp of those knew of when it ended."""
        if self.blocks > 1:
            each = self.count // self.blocks
            for one in self.sent.values():
                first = one.block * each
                there = self.warps[first : first + each]
                known = self._is_over(one, range(first, first + each))
                if not known and all(warp.clock.seen[one.warp] < one.act for warp in there):
                    yield one
            return
        for one in self.sent.values():
            known = self._is_over(one, range(self.count))
            if not known and all(warp.clock.peers[one.warp] < one.act for warp in self.warps):
                yield one

    def _is_over(self, one: Sent, warps: Container[int]) -> bool:
        """Whether some of these warps have waited for what comes later than what a warp did to another block:
        at the barrier of the cluster, or for the phase in which it arrived. Relaxed acts show that, too.
        """
        waits = ((address, warp, came.phase) for (address, warp, _), came in self._came.items())
        past = ((address, warp, phase) for (address, warp), phase in self._past.items())
        return self._parted[one.warp] >= one.act or any(
            address == one.barrier and phase >= one.phase and warp in warps
            for address, warp, phase in chain(waits, past)
        )

    @staticmethod
    def _operand(
        group: ThreadGroup,
        statement: DecodedStatement,
        position: int | None,
        otherwise: int,
        assumed: bool = False,
    ) -> Numbers:
        """The number of an operand, or `otherwise` if it is left out; None if it is not known, or follows
        from an assumed number, unless that does.
        """
        if position is None or position >= len(statement.operands):
            return otherwise
        steps = group.registers.steps
        source = steps.source(statement.operands[position], statement.scope)
        if not assumed and source in group.registers.assumed:
            return None  # a parameter says how many
        return group.registers.value(statement.operands[position], statement.scope)

    def _count(
        self, group: ThreadGroup, statement: DecodedStatement, position: int | None, otherwise: int
    ) -> Numbers:
        """How many arrive. An assumed number may choose one of two that are known, which makes the group
        doubtful; but no count is taken to be an assumed number.
        """
        found = self._operand(group, statement, position, otherwise)
        if found is None and position is not None:
            steps, assumed = group.registers.steps, group.registers.assumed
            source = steps.source(statement.operands[position], statement.scope)
            choices = steps.choices(source)
            if choices and assumed.isdisjoint(choices):
                group.doubtful = True
                return self._operand(group, statement, position, otherwise, True)
        return found

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
            parity = self._value(group, text, statement.scope)
            self.waiters.setdefault(address, set()).update(by_warp(some))
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
                    came = _Came(
                        group, warp.clock.seen[number], target, barrier.phase, len(self.copied[number])
                    )
                    self._came[address, number, step.position] = came
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
                    self._hide()
                    warp.owed = warp.owed or Clock(self.width)
                    warp.owed.join(told)
                    warp.clock.knows(address, target + 1)
                else:
                    warp.clock.join(told)

    def awaited(self, step: WalkStep, threads: tuple[int, ...], address: int, phase: int) -> None:
        """Threads of a warp have waited for a phase of an mbarrier: nothing that clocks do not show."""

    def late(self) -> Iterator[tuple[ThreadGroup, GroupWait]]:
        """The waits that were over for all their warps by what these knew, and to which each of them may come
        so late that they never are. Warps of which others wait for one are taken to keep step with it.
        """
        waits: dict[tuple[int, int], list[tuple[int, _Came]]] = {}
        for (address, warp, statement), came in self._came.items():
            waits.setdefault((address, statement), []).append((warp, came))
        for (address, statement), some in waits.items():
            barrier = self.mbarriers[address]
            is_left = address not in self.invalid and barrier.pending > 0
            if is_left and all(self._may_miss(barrier, warp, came) for warp, came in some):
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
        if any(
            map(self.waiters.get, self.copied[warp][came.copies :])
        ):  # who goes on has waited for its copies
            return False
        if phase == came.found:
            return True
        return self._hidden[warp] < came.act and barrier.has_gone_on_without(came.phase, warp, came.act)

    def _hide(self) -> None:
        """Remember what clocks may not show: others go on behind what has been done until now."""
        self._hidden = [one.clock.seen[number] for number, one in enumerate(self.warps)]

    def _meeting(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Named barriers, and the cluster's, at which other blocks are taken to arrive."""
        statement = step.statement
        action = statement.operation.action
        if statement.does == "meet":
            self.lone.meet(threads)
        if action.barrier == "warp":
            masks = self._value(group, statement.operands[0], statement.scope)
            for some in self.lanes.lacking(masks, threads):
                is_over = self.lanes.come(masks, some)
                if not is_over():
                    yield GroupWait(is_over, "lanes", step.position, some[0] // WARP)
            return
        if action.barrier not in ("named", "cluster"):
            return
        in_cluster = action.barrier == "cluster"
        by_name = {_CLUSTER: threads} if in_cluster else self._by_barrier(group, statement, threads)
        for value, some in by_name.items():
            if value is None:
                raise HaltedError(step.position)
            barrier = self.named.setdefault(value, NamedBarrier(self.width))
            if in_cluster and statement.does == "meet":
                if any(self._waited.get(thread) == self._phase_of(thread) >= 0 for thread in some):
                    yield GroupWait(lambda: False, "arrival", step.position, value)
                phases = {number: max(map(self._phase_of, lanes)) for number, lanes in by_warp(some).items()}
                self._waited.update((thread, self._phase_of(thread)) for thread in some)
            else:
                if in_cluster:
                    self._arrives_again(step, barrier, some)
                phases = self._gather(group, step, barrier, some)
                if in_cluster:
                    self._arrived.update((one, (phases[one // WARP], step.position)) for one in some)
                    for number, phase in phases.items():
                        self._left.setdefault(phase, {})[number] = self.warps[number].clock.seen[number] - 1
            if statement.does == "arrive":
                continue
            last = max(phases.values())
            if barrier.phase <= last:
                yield GroupWait(partial(barrier.has_ended, last), "meet", step.position, value, last)
            for number, phase in phases.items():
                if phase >= 0:
                    self.warps[number].clock.join(barrier.told[phase])
            if in_cluster:  # whatever the arrivals make known, what stands before them is done
                for number, act in self._left.get(last, {}).items():
                    self._parted[number] = max(self._parted[number], act)

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
            (phase, before), clock = self._arrived[first], self.warps[number].clock
            if not (barrier.has_ended(phase) and clock.has_learned(barrier.told[phase])):
                self.again.setdefault(step.position, before)

    def _by_barrier(
        self, group: ThreadGroup, statement: DecodedStatement, threads: tuple[int, ...]
    ) -> Mapping[int | None, tuple[int, ...]]:
        """Threads by the named barrier that they come to; each block has its own."""
        by_name = by_number(self._value(group, statement.barrier_name, statement.scope), threads)
        if self.blocks == 1:
            return by_name
        rank_of = group.registers.steps.rank_of
        found: dict[int | None, list[int]] = {}
        for value, some in by_name.items():
            for thread in some:
                key = None if value is None else value + rank_of(thread, self.threads) * NAMES
                found.setdefault(key, []).append(thread)
        return {key: Threads(some) for key, some in found.items()}

    def _phase_of(self, thread: int) -> int:
        """The phase of the cluster's barrier in which a thread has arrived last; −1: none."""
        return self._arrived.get(thread, (-1, -1))[0]

    def _gather(
        self, group: ThreadGroup, step: WalkStep, barrier: NamedBarrier, threads: tuple[int, ...]
    ) -> dict[int, int]:
        """Threads arrive at a named barrier: the phase that each warp arrives in."""
        statement = step.statement
        position = statement.count_at
        everybody = self.threads
        if statement.operation.action.barrier == "named":
            everybody //= self.blocks
        count = number_at(self._count(group, statement, position, everybody), threads[0])
        if count is None:
            raise HaltedError(step.position)
        phases = {}
        barrier.changed_at.add(step.position)
        for number, some in by_warp(threads).items():
            clock = self._published(number, step)
            if clock is not None and statement.operation.action.barrier == "cluster":
                clock.exchange()
            barrier.divided |= len(some) < min(WARP, self.threads - number * WARP)
            if position is not None:
                barrier.name(count, step.position, group.doubtful)
            phases[number] = barrier.arrive(clock, len(some), count)
        if len({*phases.values()}) > 1 and statement.operation.action.barrier == "named":
            barrier.mix(min(phases.values()))
        return phases
