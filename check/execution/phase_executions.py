"""Executions of a kernel's threads with several numbers, and what they show of barriers with phases."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from ..not_judged import Obstacle, UnjudgedBarriers
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..values.block_threads import LARGEST_BLOCK, size_of
from ..walks.kernel_walks import KernelWalks
from ..walks.parameters import USUAL_SIZES, AssumedSizes
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import RANK, RANKS
from .assumed_paths import LAST_ROUNDS
from .barrier_acts import Drift, Unpublished, WrongCount
from .chosen_work import ChosenWork
from .cluster_ends import unawaited
from .deciding_numbers import deciding_sizes
from .execution import ROUNDS, Execution
from .meetings import NAMES
from .object_bytes import ObjectAccess
from .outside_ranks import OutsideRank
from .outside_signals import OutsideSignals
from .same_faults import FaultName, is_found_in_each
from .sent_acts import Sent
from .shown_waits import shown_waits
from .small_sizes import comes_to_work, smaller_sizes
from .stuck_waits import Stuck
from .timed_accesses import PhaseRace
from .unshown import Unshown
from .warp_acts import Short, Uneven, Unlike

__all__ = ["PhaseExecutions"]

_MOST_BLOCKS = 4  # of a cluster that are executed in turn
_SHOWN_ROUNDS = 4, 8  # of loops in a cluster in which threads wait for ever before they pause
_SHORT = 400  # statements of a function that is executed for as many rounds although it has no phases
_FEW_ROUNDS = 3  # of loops of others: in the third, what two stages hold is accessed again


def _causes(stuck: list[Stuck]) -> list[Stuck]:
    """The waits that explain the others: for what nobody initialises, or else for phases of mbarriers."""
    for kind in ("arrival", "init", "invalid", "phase"):
        if found := [one for one in stuck if one.kind == kind]:
            return found
    return stuck


def _waits(found: Execution) -> set[tuple[int, int]]:
    """The statements that wait for ever, with their barriers."""
    return {(one.statement, one.barrier) for one in found.stuck}


def _key(race: PhaseRace) -> FaultName:
    """What a race is, and its two statements."""
    return race.what, race.first, race.second


def _is_unseen(found: Execution, race: PhaseRace) -> bool:
    """Whether a copy meets its own next round, and no other warp waits for what it brings, as where a cache
    is warmed.
    """
    if race.what != "rewritten" or race.first != race.second or race.landing is None:
        return False
    barrier, warp = race.landing
    return found.acts.waits.waiters.get(barrier, set()) <= {warp}


@dataclass
class _Tried:
    """What executions with several numbers came to. `last`: the last numbers with which all threads came to
    their ends; `even`: some with which the loop that paused ends after whole rounds; `excusing`: those with
    which a wait may be ended by other numbers. `ended`: one is certain; `paused`: all stopped after many
    rounds of a loop; `lost`: where each first lost a thread.
    """

    last: AssumedSizes | None = None
    even: tuple[int, ...] = ()
    excusing: list[AssumedSizes] = field(default_factory=list)
    ended: bool = False
    paused: bool = True
    lost: list[Unshown | None] = field(default_factory=list)

    def add(self, size: AssumedSizes, found: Execution) -> None:
        """One more, with numbers."""
        self.ended |= found.certain
        self.paused &= found.followed and found.paused
        self.lost.append(found.lost_at)
        if found.excused:
            self.excusing.append(size)
        if found.followed and not (found.paused or found.halted):
            self.last = size


@dataclass
class PhaseExecutions:
    """What executions of one function show of its barriers, in all of them together."""

    walked: KernelWalks
    races: list[PhaseRace] = field(default_factory=list)
    stuck: dict[int, Stuck] = field(default_factory=dict)
    unequal: dict[tuple[int, int], bool] = field(default_factory=dict)
    drifts: dict[tuple[int, int], Drift] = field(default_factory=dict)
    wrong_counts: dict[int, WrongCount] = field(default_factory=dict)  # by statement
    unlike: dict[tuple[int, int], Unlike] = field(default_factory=dict)  # bytes, by statements
    uneven: dict[int, Uneven] = field(default_factory=dict)  # by statement that expects bytes
    late: set[int] = field(default_factory=set)  # statements that may expect bytes of an ended phase
    unpublished: dict[tuple[int, int], Unpublished] = field(default_factory=dict)
    # By what uses an mbarrier and what ends it: whether one reading of the text allows it.
    ended_early: dict[tuple[int, int], bool] = field(default_factory=dict)
    overlaid: dict[int, int] = field(default_factory=dict)  # by init of a valid mbarrier: the init before
    again: dict[int, int] = field(default_factory=dict)  # by arrival at the cluster's barrier: the one before
    of_objects: dict[int, ObjectAccess] = field(default_factory=dict)  # by statement
    outside: dict[int, OutsideRank] = field(default_factory=dict)  # by statement
    together: set[int] = field(default_factory=set)  # blocks that whole warpgroups execute
    parted: set[int] = field(default_factory=set)  # blocks that parts of them execute
    executed: set[int] = field(default_factory=set)  # blocks that some thread comes to
    sent: list[Sent] = field(default_factory=list)  # what is done to other blocks, and none there waits for
    short: dict[int, Short] = field(default_factory=dict)  # by product
    repeated: dict[tuple[int, int], PhaseRace] = field(default_factory=dict)  # by statements
    ordered: set[tuple[int, int]] = field(default_factory=set)
    synchronised: set[tuple[int, int]] = field(default_factory=set)  # and only a proxy fence is missing
    plan: WalkPlan | None = None
    unjudged_barriers: UnjudgedBarriers | None = None  # from where on barriers were not judged
    followed: bool = False  # every execution knew how each thread goes on, and one came to the end
    # The blocks of a cluster were executed together, all of their threads, and once to the end; or a wait of
    # theirs never ends.
    clusters_followed: bool = False
    _clusters_ended: bool = True
    _excused: int | None = None  # a wait that other numbers may end
    _left: int | None = None  # a wait that other blocks of a cluster may end
    done: dict[AssumedSizes, Set[int]] = field(default_factory=dict)  # by sizes: the executed blocks

    @property
    def code(self) -> DecodedFunction:
        """The function."""
        return self.walked.code

    @property
    def flow(self) -> Flow:
        """Its flow of control."""
        return self.walked.flow

    @cached_property
    def _outside(self) -> OutsideSignals:
        return OutsideSignals(self.walked)

    def execute(self, shape: tuple[int, int, int] | None = None) -> None:
        """Execute the function with several numbers for its parameters. `shape`: that of a block, if the PTX
        does not say it.
        """
        threads = size_of(shape or self.code.function.threads or (0,))
        if not 0 < threads <= LARGEST_BLOCK:
            return
        plan = self.plan = self.walked.plan
        alone = not self._outside.is_reached
        rounds = ROUNDS if len(self.code) <= _SHORT or self._outside.has_phases else _FEW_ROUNDS
        tried = self._try_numbers(plan, threads, rounds, shape, alone)
        if tried.excusing and alone and not self.stuck and not self._outside.is_signalled:
            waits = shown_waits(plan, threads, tried.excusing[0], tried.even)
            self.stuck |= {one.statement: one for one in waits}
        in_cluster = not (alone and self._outside.maps_own)
        together = in_cluster and self._execute_together(threads)
        self.clusters_followed = together and (self._clusters_ended or bool(self.stuck))
        if not (together or self.stuck or self.unjudged_barriers):
            self._tell_unjudged(plan, tried.paused)
        for race in self.races:
            pair = race.first, race.second
            self.ordered.discard(pair)
            if race.what == "unfenced":
                self.synchronised.add(pair)
        self.synchronised -= {(race.first, race.second) for race in self.races if race.what != "unfenced"}

    def _try_numbers(
        self, plan: WalkPlan, threads: int, rounds: int, shape: tuple[int, int, int] | None, alone: bool
    ) -> _Tried:
        """Take over what executions with several numbers find: the usual ones, those that end a loop, those
        that are small enough, and those that choose other work.
        """
        tried = _Tried()
        followed = True
        sizes = [USUAL_SIZES]
        for size in sizes:
            last = len(sizes) > 1
            most = max(rounds, LAST_ROUNDS + 1) if last else rounds
            found = Execution(plan, threads, size, rounds=most, shape=shape, until_asked=size.memory is None)
            if found.asks_memory and size.memory is None:
                size = size.remembered
                found = Execution(plan, threads, size, rounds=most, shape=shape)
            tried.add(size, found)
            known = size.memory is None
            followed &= known and found.followed and not (found.halted or found.doubtful)
            self._collect(found, alone)
            self._collect_blocks(size, found)
            if not last:
                sizes += found.endings
                tried.even = found.even_endings
            sizes += smaller_sizes(plan, found)
        self.followed = followed and tried.ended
        whole = tried.last
        if plan.tries and whole is not None and not self.stuck and all(one.is_open for one in self.races):
            self._collect(Execution(plan, threads, whole, rounds=rounds, shape=shape, tries=True), alone)
        self._choose(threads, whole or sizes[-1], rounds, shape)
        lost = tried.lost
        if tried.ended:
            self.unjudged_barriers = None
        elif self.unjudged_barriers is None and self._outside.has_phases and all(lost) and (one := lost[0]):
            self.unjudged_barriers = self._from(one.at, one.why, "lost" if one.parts else "unnamed")
        return tried

    def _collect_blocks(self, size: AssumedSizes, found: Execution) -> None:
        """Take over which blocks of the function an execution came to, and what it shows to be ordered."""
        whole = {number for number, one in found.together.items() if one}
        self.executed |= found.together.keys()
        self.done[size] = found.together.keys()
        self.parted |= found.together.keys() - whole
        if found.certain:
            self.ordered |= found.acts.accesses.ordered
            self.together |= whole
        if found.halted_at is not None:
            self.unjudged_barriers = self._from(found.halted_at.at, found.halted_at.why, "unnamed")

    def _tell_unjudged(self, plan: WalkPlan, paused: bool) -> None:
        """Remember from where on barriers were not judged, if no execution ended there. `paused`: all stopped
        after many rounds of a loop.
        """
        if self._left is not None:
            self.unjudged_barriers = self._from(self._left, self._why_apart(), "elsewhere")
        elif paused:
            self._tell_missed(plan, "behind")
        elif self._excused is not None and not self._outside.is_signalled:
            self.unjudged_barriers = self._from(self._excused, "", "left")
        elif self._outside.has_phases and plan.acting(frozenset()).isdisjoint(self.executed):
            self._tell_missed(plan, "passed")

    def _choose(
        self, threads: int, size: AssumedSizes, rounds: int, shape: tuple[int, int, int] | None
    ) -> None:
        """Take over the races of work that parameters choose. They are doubtful: nobody says that a host
        passes these numbers.
        """
        plan = self.walked.plan

        def races_with(sizes: AssumedSizes) -> dict[FaultName, PhaseRace]:
            found = Execution(plan, threads, sizes, rounds=rounds, shape=shape)
            if not found.followed or found.halted:
                return {}
            return {_key(race): race for race in found.acts.accesses if not _is_unseen(found, race)}

        chosen = ChosenWork(plan).races(size, races_with, {_key(race) for race in self.races})
        self.races += [replace(race, doubtful=True) for race in chosen.values()]

    def _tell_missed(self, plan: WalkPlan, why: Obstacle) -> None:
        """Remember the first statement that counts and to which no execution came."""
        behind = (index for index in plan.roles if self.flow.block_of(index) not in self.executed)
        for index in islice(behind, 1):
            self.unjudged_barriers = self._from(index, "", why)

    def _from(self, index: int, why: str, obstacle: Obstacle) -> UnjudgedBarriers:
        """From a statement on, barriers were not judged."""
        return UnjudgedBarriers(self.code.function.statements[index].offset, why, obstacle)

    def _why_apart(self) -> str:
        """Why the blocks of a cluster were not executed together."""
        if self.code.function.cluster is None:
            return "the PTX does not say how many blocks a cluster has"
        return "they are too many, or what their threads do is not shown by the PTX"

    def _execute_together(self, each: int) -> bool:
        """Execute the blocks of a cluster together where they can be; whether all were followed."""
        return self._execute_cluster(each) if self.walked.are_together else self._execute_clusters(each)

    def _execute_cluster(self, each: int) -> bool:
        """Execute all blocks of a cluster together, of so many threads each; whether all were followed, and
        some of them came to what counts.
        """
        plan = self.walked.cluster_plan
        threads = each * plan.steps.blocks
        sizes = [USUAL_SIZES]
        even: tuple[int, ...] = ()
        working: list[bool] = []  # whether those that came to what counts came to the end
        for size in sizes:
            found = Execution(plan, threads, size, rounds=max(ROUNDS, LAST_ROUNDS + 1))
            if not found.followed or found.halted or found.skipped:
                return False
            self._collect_cluster(found)
            if found.excused and not self.stuck and not self._outside.is_signalled_together:
                for wait in shown_waits(plan, threads, size, even or _SHOWN_ROUNDS):
                    self._tell_stuck(wait)
            if len(sizes) == 1:
                sizes += found.endings
                even = found.even_endings
            sizes += smaller_sizes(plan, found)
            working += (found.is_complete,) if comes_to_work(plan, found) else ()
        self._clusters_ended = any(working)
        return bool(working)

    def _execute_clusters(self, each: int) -> bool:
        """Execute clusters of several sizes; whether all were followed. What is found in each of them is
        doubtful, since nobody says which ones a host asks for.
        """
        sizes = [self._in_cluster(walked) for walked in self.walked.clusters]
        followed = True
        for one in sizes:
            followed = one._execute_cluster(each) and followed
        if not sizes:
            return False
        self._clusters_ended = all(one._clusters_ended for one in sizes)
        first, *others = sizes
        if not others and first.stuck:
            followed = self._execute_pairs(each, first.stuck) and followed
        known = {_key(race) for race in self.races}
        names = [[*map(_key, one.races)] for one in others]
        self.races += [
            race for race in first.races if _key(race) not in known and is_found_in_each(_key(race), names)
        ]
        for pair, early in first.unpublished.items():
            if all(pair in other.unpublished for other in others):
                self.unpublished.setdefault(pair, early)
        for key, drift in first.drifts.items():
            if all(key in other.drifts for other in others):
                self.drifts.setdefault(key, drift)
        for at, wait in first.stuck.items():
            if all(at in other.stuck for other in others):
                self.stuck.setdefault(at, wait)
        return followed

    def _in_cluster(self, walked: KernelWalks) -> PhaseExecutions:
        """The findings in a cluster of some size."""
        found = PhaseExecutions(walked)
        found.plan = self.plan
        return found

    def _execute_pairs(self, each: int, stuck: dict[int, Stuck]) -> bool:
        """Leave the waits that never end in one pair of blocks, nor in each of several: other pairs may send
        what one lacks. Returns whether that is known.
        """
        followed = False
        for walked in self.walked.pairs:
            found = self._in_cluster(walked)
            followed = found._execute_cluster(each)
            for at in stuck.keys() - found.stuck.keys():
                del stuck[at]
        if not followed:
            stuck.clear()
        return followed

    def _collect_cluster(self, found: Execution) -> None:
        """Take over what only the blocks together show."""
        known = {_key(race) for race in self.races}
        steps = found.plan.steps
        for race in found.acts.accesses:
            if _key(race) not in known and not _is_unseen(found, race):
                written, read = (steps.moved(region, 0) for region in (race.written, race.read))
                self.races.append(replace(race, doubtful=True, written=written, read=read))
        for pair, one in found.acts.unpublished.items():
            self.unpublished.setdefault(pair, replace(one, doubtful=True))
        self.sent += unawaited(found)
        self.outside = {**found.acts.sent.outside, **self.outside}
        for address, drift in found.acts.drifts.items():
            if found.acts.mbarriers[address].phase > 0:
                self.drifts.setdefault((drift.init, drift.arrival), drift)
        if self.stuck or self._outside.is_signalled_together:
            return
        for wait in _causes(found.stuck):
            self._tell_stuck(wait)

    def _tell_stuck(self, wait: Stuck) -> None:
        """Take over a wait that never ends in some block of a cluster, as one of the first block."""
        steps = self.walked.cluster_plan.steps
        barrier = wait.barrier % NAMES if wait.kind == "meet" else steps.in_window(wait.barrier, 0)
        self.stuck.setdefault(wait.statement, replace(wait, doubtful=True, barrier=barrier))

    def _collect(self, found: Execution, alone: bool) -> None:
        """Take over what an execution found. `alone`: no other block of a cluster does anything to it. What
        was found with numbers in memory is doubtful: nobody says what these are, nor where counters begin.
        """
        guessed = found.sizes.memory is not None or found.counted > 0
        if self._excused is None and not found.skipped:
            self._excused = found.left_at
        races = (one for one in found.acts.accesses if not _is_unseen(found, one))
        self.races += [replace(one, doubtful=True) if guessed else one for one in races]
        self.repeated |= found.acts.accesses.repeated
        self.unpublished |= found.acts.unpublished
        for pair, is_open in found.acts.ended_early.items():
            self.ended_early[pair] = is_open and self.ended_early.get(pair, True)
        self.overlaid |= found.acts.overlaid
        self.of_objects |= found.acts.objects.accesses
        self.outside |= found.acts.sent.outside
        self.again |= found.acts.meetings.again
        if found.is_alike:
            self.unpublished |= found.acts.unknown_there
        self.wrong_counts |= found.acts.wrong_counts
        self.unlike |= {ends: one for ends, one in found.acts.unlike().items() if self._is_told(ends, one)}
        self.uneven |= found.acts.uneven()
        self.short |= found.acts.short()
        ends = [one for one in found.stuck if one.within or not self._outside.is_signalled]
        stuck = [
            replace(one, doubtful=one.doubtful or guessed)
            for one in _causes(ends)
            if one.kind != "init" or self._outside.initialises or self._outside.is_own(one.barrier)
        ]
        if not alone:  # it is taken that other blocks send what this one sends
            several = self._outside.reaches_all(found.ranks)
            each = not several and bool(stuck) and self._reach_each_other(found, found.sizes)
            known = found.acts.receives and found.is_alike and not found.acts.shares
            left = stuck
            stuck = [
                replace(one, doubtful=True)
                for one in stuck
                if one.kind in ("arrival", "init", "invalid")
                or one.within
                or (
                    one.kind == "phase"
                    and (known or (several and not one.awaits_some) or (each and not one.awaits_bytes))
                )
            ]
            kept = {one.statement for one in stuck}
            self._left = next((one.statement for one in left if one.statement not in kept), self._left)
        self.stuck |= {one.statement: one for one in stuck}
        told = alone or found.is_alike  # in a cluster whose blocks differ, each may arrive somewhere else
        self.drifts |= {
            (one.init, one.arrival): one
            for address, one in found.acts.drifts.items()
            if found.acts.mbarriers[address].phase > 0 and (told or not one.remote)
        }
        self.late |= found.acts.late_expectations() if alone else set()
        for barrier in found.acts.meetings.named.values():
            self.unequal |= barrier.unequal
        self.sent += unawaited(found)

    def _is_told(self, statements: tuple[int, int], one: Unlike) -> bool:
        """Whether two statements expect different numbers of bytes whatever parameters are: where these say
        how many, the same ones do so in both.
        """
        assert self.plan is not None
        if not one.assumed:
            return True
        by = []
        for index in statements:
            position = self.code.operation(index).action.size
            texts = () if position is None else self.code[index].operands[position : position + 1]
            by.append(deciding_sizes(self.plan, self.code.unique(texts, self.code[index].scope)))
        return bool(by[0]) and by[0] == by[1]

    @property
    def clears(self) -> bool:
        """Whether executions followed every thread and found nothing: then no walk of one thread knows more
        about the stages that copies fill.
        """
        counts = (
            self.unequal,
            self.drifts,
            self.wrong_counts,
            self.unlike,
            self.uneven,
            self.late,
            self.again,
        )
        barriers = (self.stuck, self.unpublished, self.ended_early, self.overlaid, self.of_objects, *counts)
        return self.followed and not any((self.races, self.short, *barriers))

    @property
    def multiplies(self) -> bool:
        """Whether an execution came to every product."""
        return self.executed >= set(map(self.flow.block_of, self.code.doing("multiply")))

    def _reach_each_other(self, found: Execution, size: AssumedSizes) -> bool:
        """Whether the blocks of a cluster of known size each reach another one, by their own ranks, and all
        of them wait at the same statements for the same barriers.
        """
        plan = found.plan
        blocks, waiting = plan.steps.grid[RANKS], _waits(found)
        reached: set[int | None] = set()
        for rank in range(blocks) if 1 < blocks <= _MOST_BLOCKS else ():
            here = Execution(plan, found.acts.threads, size._replace(others=(*size.others, (RANK, rank))))
            if _waits(here) != waiting or len(here.ranks) != 1:
                return False
            reached |= here.ranks
        return len(reached) == blocks and None not in reached

    def in_step(self) -> frozenset[int]:
        """Where statements stand in the text that whole warpgroups execute, whatever their branches look
        like.
        """
        blocks = (self.flow.blocks[number] for number in self.together - self.parted)
        statements = self.code.function.statements
        together = (one for block in blocks for one in statements[block.start : block.end])
        return frozenset(statement.offset for statement in together if statement.guard is None)
