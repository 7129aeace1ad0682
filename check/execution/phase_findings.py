"""Findings about barriers with phases, by the execution of a kernel's threads with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from ...spec.errors import Place
from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, Undefined
from ..memory.byte_regions import ByteRegion
from ..not_judged import Obstacle, UnjudgedBarriers
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.operands import number_of
from ..ptx.source import PtxModule
from ..values.block_threads import LARGEST_BLOCK, size_of
from ..walks.kernel_walks import KernelWalks
from ..walks.parameters import USUAL_SIZES, AssumedSizes
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import RANK, RANKS
from .assumed_paths import LAST_ROUNDS
from .barrier_acts import Drift, Unpublished, WrongCount
from .block_sizes import right_size
from .chosen_work import ChosenWork
from .cluster_ends import cluster_ends, unawaited
from .deciding_numbers import deciding_sizes
from .execution import ROUNDS, Execution
from .meetings import NAMES
from .object_accesses import object_findings
from .object_bytes import ObjectAccess
from .phase_reports import RACE_RULES, PhaseReports
from .same_faults import FaultName, is_found_in_each
from .sent_acts import Sent
from .shared_accesses import PhaseRace
from .shown_waits import shown_waits
from .small_sizes import comes_to_work, smaller_sizes
from .stuck_waits import Stuck
from .unshown import Unshown
from .warp_acts import Short, Uneven, Unlike

__all__ = ["PhaseFindings"]

_LOADS = frozenset(("nothing", "move", "map-address", "load"))
_MOST_BLOCKS = 4  # of a cluster that are executed in turn
_SHOWN_ROUNDS = 4, 8  # of loops in a cluster in which threads wait for ever before they pause
_SHORT = 400  # statements of a function that is executed for as many rounds although it has no phases
_FEW_ROUNDS = 3  # of loops of others: in the third, what two stages hold is accessed again
# What is found first explains what is found later.
_ORDER = ("unseen", "overwritten", "elsewhere", "rewritten", "early-read", "unfenced")
_ANY = -1
_WRITER: Undefined = ((("proxy-fence-side", "writer"),),)  # an execution takes either side


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


def _is_right(found: Execution) -> bool:
    """Whether all threads were followed to their end, and nothing is wrong."""
    acts = found.acts
    named = any(barrier.unequal for barrier in acts.meetings.named.values())
    barriers = (
        found.stuck,
        acts.unpublished,
        acts.ended_early,
        acts.overlaid,
        acts.objects.accesses,
        acts.drifts,
        acts.wrong_counts,
        acts.unlike(),
        acts.uneven(),
        acts.late_expectations(),
        acts.meetings.again,
        named,
    )
    wrong = (any(acts.accesses), acts.short(), *barriers)
    return found.certain and not any(wrong)


def _is_unseen(found: Execution, race: PhaseRace) -> bool:
    """Whether a copy meets its own next round, and no other warp waits for what it brings, as where a cache
    is warmed.
    """
    if race.what != "rewritten" or race.first != race.second or race.landing is None:
        return False
    barrier, warp = race.landing
    return found.acts.waits.waiters.get(barrier, set()) <= {warp}


@dataclass
class PhaseFindings:
    """The findings about one function, and what they make superfluous."""

    module: PtxModule
    code: DecodedFunction
    flow: Flow
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
    together: set[int] = field(default_factory=set)  # blocks that whole warpgroups execute
    parted: set[int] = field(default_factory=set)  # blocks that parts of them execute
    executed: set[int] = field(default_factory=set)  # blocks that some thread comes to
    sent: list[Sent] = field(default_factory=list)  # what is done to other blocks, and none there waits for
    short: dict[int, Short] = field(default_factory=dict)  # by product
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
    _done: dict[AssumedSizes, Set[int]] = field(default_factory=dict)  # by sizes: the executed blocks
    told: tuple[Finding, ...] = ()  # what was found elsewhere for certain, with the bytes of every thread
    unfenced: set[tuple[int, int]] = field(default_factory=set)  # the stores and products that it stands for

    def execute(self, shape: tuple[int, int, int] | None = None) -> None:
        """Execute the function with several numbers for its parameters. `shape`: that of a block, if the PTX
        does not say it.
        """
        threads = size_of(shape or self.code.function.threads or (0,))
        if not 0 < threads <= LARGEST_BLOCK:
            return
        plan = self.plan = self.walked.plan
        alone = not self._is_reached()
        followed, ended = True, False
        lost: list[Unshown | None] = []
        paused = True
        rounds = ROUNDS if len(self.code) <= _SHORT or self._has_phases() else _FEW_ROUNDS
        sizes = [USUAL_SIZES]
        excusing: list[AssumedSizes] = []
        even: tuple[int, ...] = ()
        tried: AssumedSizes | None = None
        for size in sizes:
            last = len(sizes) > 1
            most = max(rounds, LAST_ROUNDS + 1) if last else rounds
            found = Execution(plan, threads, size, rounds=most, shape=shape, until_asked=size.memory is None)
            if found.asks_memory and size.memory is None:
                size = size.remembered
                found = Execution(plan, threads, size, rounds=most, shape=shape)
            known = size.memory is None
            followed &= known and found.followed and not (found.halted or found.doubtful)
            ended |= found.certain
            self.followed = followed and ended
            self._collect(found, alone)
            self.executed |= found.together.keys()
            self._done[size] = found.together.keys()
            self.parted |= {number for number, whole in found.together.items() if not whole}
            if found.certain:
                self.ordered |= found.acts.accesses.ordered
                self.together |= {number for number, whole in found.together.items() if whole}
            if found.excused:
                excusing.append(size)
            lost.append(found.lost_at)
            if found.halted_at is not None:
                self.unjudged_barriers = self._from(found.halted_at.at, found.halted_at.why, "unnamed")
            paused &= found.followed and found.paused
            if found.followed and not (found.paused or found.halted):
                tried = size
            if not last:
                sizes += found.endings
                even = found.even_endings
            sizes += smaller_sizes(plan, found)
        if plan.tries and tried is not None and not self.stuck and all(one.is_open for one in self.races):
            self._collect(Execution(plan, threads, tried, rounds=rounds, shape=shape, tries=True), alone)
        self._choose(threads, tried or sizes[-1], rounds, shape)
        if ended:
            self.unjudged_barriers = None
        elif self.unjudged_barriers is None and self._has_phases() and all(lost) and (one := lost[0]):
            self.unjudged_barriers = self._from(one.at, one.why, "lost" if one.parts else "unnamed")
        if excusing and alone and not self.stuck and not self._is_signalled:
            self.stuck |= {one.statement: one for one in shown_waits(plan, threads, excusing[0], even)}
        in_cluster = not (alone and self._maps_own)
        together = in_cluster and self._execute_together(threads)
        self.clusters_followed = together and (self._clusters_ended or bool(self.stuck))
        if self._left is not None and self.unjudged_barriers is None and not (together or self.stuck):
            self.unjudged_barriers = self._from(self._left, self._why_apart(), "elsewhere")
        if self.unjudged_barriers is None and not (together or self.stuck):
            if paused:
                self._tell_missed(plan, "behind")
            elif self._excused is not None and not self._is_signalled:
                self.unjudged_barriers = self._from(self._excused, "", "left")
            elif self._has_phases() and plan.acting(frozenset()).isdisjoint(self.executed):
                self._tell_missed(plan, "passed")
        for race in self.races:
            pair = race.first, race.second
            self.ordered.discard(pair)
            if race.what == "unfenced":
                self.synchronised.add(pair)
        self.synchronised -= {(race.first, race.second) for race in self.races if race.what != "unfenced"}

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
            if found.excused and not self.stuck and not self._is_signalled_together:
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

    def _in_cluster(self, walked: KernelWalks) -> PhaseFindings:
        """The findings in a cluster of some size."""
        found = PhaseFindings(self.module, self.code, self.flow, walked)
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
        for address, drift in found.acts.drifts.items():
            if found.acts.mbarriers[address].phase > 0:
                self.drifts.setdefault((drift.init, drift.arrival), drift)
        if self.stuck or self._is_signalled_together:
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
        self.unpublished |= found.acts.unpublished
        for pair, is_open in found.acts.ended_early.items():
            self.ended_early[pair] = is_open and self.ended_early.get(pair, True)
        self.overlaid |= found.acts.overlaid
        self.of_objects |= found.acts.objects.accesses
        self.again |= found.acts.meetings.again
        if found.is_alike:
            self.unpublished |= found.acts.unknown_there
        self.wrong_counts |= found.acts.wrong_counts
        self.unlike |= {ends: one for ends, one in found.acts.unlike().items() if self._is_told(ends, one)}
        self.uneven |= found.acts.uneven()
        self.short |= found.acts.short()
        ends = [one for one in found.stuck if one.within or not self._is_signalled]
        stuck = [
            replace(one, doubtful=one.doubtful or guessed)
            for one in _causes(ends)
            if one.kind != "init" or self._initialises or self._is_own(one.barrier)
        ]
        if not alone:  # it is taken that other blocks send what this one sends
            several = self._reaches_all(found.ranks)
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

    @cached_property
    def _initialises(self) -> bool:
        """Whether nobody but the function initialises mbarriers that it can name: it does so itself, or it is
        a kernel whose every statement is shown. Another function may be a part of one that does.
        """
        does = {operation.does for operation in self.code.used}
        return "init" in does or (self.code.function.kind == "entry" and "call" not in does)

    def _has_phases(self) -> bool:
        """Whether threads wait for phases of mbarriers, or meet at barriers that others may pass by."""
        waits = (self.code[index] for index in self.code.doing("await", "arrive", "meet"))
        return any(statement.operation.has_phases(len(statement.operands)) for statement in waits)

    def _is_reached(self) -> bool:
        """Whether other blocks of a cluster may arrive at this one's mbarriers, or copy to it."""
        if any(operation.is_multicast for operation in self.code.used):
            return True
        if not (self._maps_own or self._loads_only()) or any(one.is_for_pair for one in self.code.used):
            return True
        arrivals = (self.code[index] for index in self.code.doing("arrive"))
        return not all(
            self._arrives_here(statement)
            for statement in arrivals
            if statement.operation.action.barrier == "object" and statement.operation.names_cluster
        )

    def _loads_only(self) -> bool:
        """Whether the block does nothing in other ones but to load from there."""
        assert self.plan is not None
        users = (one for one in self.code if not self.plan.steps.mapped.isdisjoint(one.reads))
        return all(one.writes and one.does in _LOADS for one in users)

    @cached_property
    def _maps_own(self) -> bool:
        """Whether every address that is mapped lies in the block that does so."""
        return all(self._is_mapped_here(self.code[index]) for index in self.code.doing("map-address"))

    def _is_mapped_here(self, statement: DecodedStatement) -> bool:
        """Whether an address is mapped into the block that executes the statement."""
        assert self.plan is not None
        return self.plan.steps.origin(statement.operands[-1], statement.scope) == RANK

    def _arrives_here(self, statement: DecodedStatement) -> bool:
        """Whether an arrival names an address that was mapped into the block that executes it; or one that
        was not mapped, where it has no form without the qualifier for mapped ones.
        """
        assert self.plan is not None
        base = statement.barrier.base if statement.barrier is not None else None
        name = None if base is None else self.plan.steps.source(base, statement.scope)
        if statement.operation.tells_later and name not in self.plan.steps.mapped:
            return True
        made = self.code.definitions.get(name, ()) if isinstance(name, str) else ()
        maps = [self.code[index] for index in made]
        return bool(maps) and all(one.does == "map-address" and self._is_mapped_here(one) for one in maps)

    def _is_own(self, address: int) -> bool:
        """Whether a variable lies at an address that only this function can name: no other initialises an
        mbarrier there.
        """
        assert self.plan is not None
        region = self.plan.steps.in_variable(ByteRegion("shared", address, address + 1))
        return any(region.base in scope.variables for scope in self.code.function.scopes)

    @cached_property
    def _is_signalled(self) -> bool:
        """Whether instructions that no execution of one block follows arrive at mbarriers, or complete bytes
        there.
        """
        return self._is_signalled_together or any(one.tells_several for one in self.code.used)

    @cached_property
    def _is_signalled_together(self) -> bool:
        """The same of instructions that no execution of a cluster follows."""
        followed = ("bulk-copy", "arrive", "await", "copy-arrive", "give")
        return any(
            operation.is_told or "complete_tx" in operation.words
            for operation in self.code.used
            if operation.does not in followed
        )

    def _reaches_all(self, reached: Set[int | None]) -> bool:
        """Whether the block sends to several blocks of the cluster, and not to a leader only. `reached`: the
        ranks of those that it did send to. Where these are known, registers that differ between threads say
        no more: a single thread may be the one that sends.
        """
        maps = [self.code[index] for index in self.code.doing("map-address")]
        ranks = {number_of(statement.operands[-1]) for statement in maps} - {None}
        named = {name for one in maps for name in self.code.unique(one.operands[-1:], one.scope)}
        differ = not named.isdisjoint(self.walked.plan.steps.differing) and (not reached or None in reached)
        return max(len(ranks), len(reached - {None})) > 1 or differ

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

    def __iter__(self) -> Iterator[Finding]:
        for finding in self._found():
            if finding.tier == ERROR and self._right_size is not None:
                smaller = f"; not so in a block of {self._right_size} threads, which .maxntid allows"
                finding = replace(finding, tier=LIKELY, message=finding.message + smaller)
            yield finding

    @cached_property
    def _right_size(self) -> int | None:
        """A smaller number of threads with which the function is right, where it may be launched so."""
        function = self.code.function
        if function.exact or self.plan is None or function.threads is None:
            return None
        plan, threads = self.plan, size_of(function.threads)

        def done_with(size: AssumedSizes) -> Set[int]:
            known = self._done.get(size)
            return Execution(plan, threads, size).together.keys() if known is None else known

        return right_size(plan, threads, self._done, done_with, _is_right)

    def _found(self) -> Iterator[Finding]:
        if self.plan is None:
            return  # nothing was executed
        yield from self._race_findings()
        for one in self.stuck.values():
            if not one.late or all(race.partly for race in self.races):
                yield self._reports.stuck(one)
        told = {race.second for race in self.races}
        yield from (self._reports.short(one) for one in self.short.values() if one.product not in told)
        is_open = all(race.is_open for race in self.races)
        if is_open and not self.stuck and self.code.doing("await"):
            yield from (self._reports.drift(one) for one in self.drifts.values())
        yield from map(self._reports.wrong_count, self.wrong_counts.values())
        yield from map(self._reports.late, sorted(self.late))
        yield from (self._reports.arrived_again(self.again[at], at) for at in sorted(self.again))
        yield from (self._reports.unlike(*ends, one) for ends, one in self.unlike.items())
        told_of = {statement for pair in self.unlike for statement in pair}
        yield from (self._reports.uneven(one) for at, one in self.uneven.items() if at not in told_of)
        for (first, second), doubtful in self.unequal.items():
            yield self._reports.unequal(first, second, doubtful)
        if not self.stuck and all(race.partly for race in self.races):
            yield from cluster_ends(self.module, self.code, self.sent)
        for init, use in self.unpublished:
            yield self._reports.unpublished(self.unpublished[init, use])
        by_weight = sorted(self.ended_early, key=lambda ends: (self.ended_early[ends], ends), reverse=True)
        first_uses = {end: use for use, end in by_weight}
        for end, use in first_uses.items():
            yield self._reports.ended_early(use, end, self.ended_early[use, end])
        again = (end for end in self.overlaid if end not in first_uses)
        yield from (self._reports.overlaid(self.overlaid[end], end) for end in again)
        yield from object_findings(self.walked, self.of_objects)

    def settles(self, finding: Finding) -> bool:
        """Whether another finding is superfluous: one of these says the same for certain, or the accesses are
        ordered.
        """
        if finding.tier not in (ERROR, LIKELY):
            return False
        places = {finding.place, *(moment.place for moment in finding.witness)}
        if any(
            RACE_RULES[race.what] == finding.rule
            and not race.doubtful
            and (not race.is_open or finding.readings != EVERYWHERE)
            and self._product(race) in places
            for race in self.races
        ):
            return True
        if finding.tier != LIKELY or not finding.witness or finding.readings == _WRITER:
            return False
        ends = finding.witness[0].place, finding.witness[-1].place
        known = self.ordered | (self.synchronised if finding.rule == RACE_RULES["unseen"] else set())
        return any((self._place(a), self._place(b)) == ends for a, b in known)

    def _product(self, race: PhaseRace) -> Place:
        """The place of the product of a race (of two copies: of the later one)."""
        return self._place(race.first if race.reads == "first" else race.second)

    def _race_findings(self) -> Iterator[Finding]:
        """One finding for each block that writes: its first race explains the others. Products that have
        ended in some warps only share one finding: one release is the cause.
        """
        by_writer: dict[int, list[PhaseRace]] = {}
        for race in sorted(
            self.races, key=lambda race: (race.is_open, race.doubtful, _ORDER.index(race.what))
        ):
            copied = self.code.operation(race.first).does == "copy"
            if race.what == "unfenced" and copied and self._is_found_elsewhere(race):
                continue  # what else is wrong with the block is not told by that
            writer = race.second if race.reads == "first" or race.what == "rewritten" else race.first
            block = _ANY if race.is_open else self.flow.block_of(writer)
            by_writer.setdefault(block, []).append(race)
        for races in by_writer.values():
            if any(self._is_found_elsewhere(race) for race in races):
                continue
            first = races[0]
            others = {(race.first, race.second) for race in races} - {(first.first, first.second)}
            yield self._reports.race(first, len(others))

    def _is_found_elsewhere(self, race: PhaseRace) -> bool:
        """Whether a finding is already about one of the two statements, and about the same rule."""
        places = self._place(race.first), self._place(race.second)
        if race.what == "unfenced" and any(
            race.first == store or race.second == product for store, product in self.unfenced
        ):
            return True  # one fence mends both
        return any(
            finding.rule == RACE_RULES[race.what]
            and (finding.witness[0].place in places or finding.witness[-1].place in places)
            for finding in self.told
        )

    @cached_property
    def _reports(self) -> PhaseReports:
        assert self.plan is not None  # an execution has found something
        return PhaseReports(self.module, self.code, self.plan)

    def _place(self, index: int) -> Place:
        return self.module.place(self.code.function.statements[index].offset)
