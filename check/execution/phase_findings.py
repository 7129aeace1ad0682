"""Findings about barriers with phases, by the execution of a kernel's threads with numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from ...spec.errors import Place
from ...spec.ordering import ordering
from ...spec.quantities import counted
from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, MemoryRange, Moment, Undefined
from ..memory.byte_regions import ByteRegion
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.operands import number_of
from ..ptx.source import PtxModule
from ..rules import rules
from ..walks.kernel_walks import KernelWalks
from ..walks.walk_plan import WalkPlan
from .assumed_paths import LAST_ROUNDS
from .barrier_acts import Drift, Unpublished, WrongCount
from .block_sizes import right_size
from .execution import ROUNDS, Execution
from .shared_accesses import PhaseRace
from .stuck_waits import Stuck
from .warp_acts import Short

__all__ = ["PhaseFindings"]

_SIZE = 1024  # the number for parameters; then one with which a loop of many rounds ends
_MOST_THREADS = 1024
_SHORT = 400  # statements of a function that is executed for as many rounds although it has no phases
_FEW_ROUNDS = 3  # of loops of others: in the third, what two stages hold is accessed again
# What is found first explains what is found later.
_ORDER = ("unseen", "overwritten", "elsewhere", "rewritten", "early-read", "unfenced")
_RULES = {
    "unseen": "shared-unsynchronised",
    "overwritten": "shared-overwritten",
    "elsewhere": "shared-overwritten",
    "rewritten": "copy-incomplete",
    "early-read": "copy-incomplete",
    "unfenced": "proxy-fence",
}
_ANY = -1
_ONE_WARP: Undefined = ((("wait-scope", "warp"),),)
_WRITER: Undefined = ((("proxy-fence-side", "writer"),),)  # an execution takes either side
_WHY = {
    "unseen": "no barrier, and no phase of an mbarrier, orders the two",
    "overwritten": "the writer waits for no phase that ends only after every warp has waited for the product",
    "elsewhere": "the copy also fills other blocks of the cluster, and does not wait for their release",
    "rewritten": "no wait shows that the first copy into the bytes is complete",
    "early-read": "no phase that these warps have waited for shows that the copy is complete",
    "unfenced": "no thread that is ordered between the two executes a proxy fence",
}
_SAYS = {
    "unseen": ("accesses the bytes in one warp", "accesses them in another warp"),
    "overwritten": ("reads the bytes", "writes them again"),
    "elsewhere": ("reads the bytes, in every block", "writes them again, in several blocks"),
    "rewritten": ("begins to write the bytes", "writes them again"),
    "early-read": ("begins to write the bytes", "reads them"),
    "unfenced": ("writes the bytes through the generic proxy", "reads them through the async proxy"),
}


def _causes(stuck: list[Stuck]) -> list[Stuck]:
    """The waits that explain the others: for what nobody initialises, or else for phases of mbarriers."""
    for kind in ("init", "phase"):
        if found := [one for one in stuck if one.kind == kind]:
            return found
    return stuck


def _is_right(found: Execution) -> bool:
    """Whether all threads were followed to their end, and nothing is wrong."""
    acts = found.acts
    named = any(barrier.unequal for barrier in acts.named.values())
    barriers = (found.stuck, acts.unpublished, acts.drifts, acts.wrong_counts, acts.unlike(), named)
    wrong = (any(acts.accesses), acts.short(), *barriers)
    return found.certain and not any(wrong)


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
    unlike: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # bytes, by statements
    unpublished: dict[tuple[int, int], Unpublished] = field(default_factory=dict)
    together: set[int] = field(default_factory=set)  # blocks that whole warpgroups execute
    parted: set[int] = field(default_factory=set)  # blocks that parts of them execute
    executed: set[int] = field(default_factory=set)  # blocks that some thread comes to
    short: dict[int, Short] = field(default_factory=dict)  # by product
    ordered: set[tuple[int, int]] = field(default_factory=set)
    synchronised: set[tuple[int, int]] = field(default_factory=set)  # and only a proxy fence is missing
    plan: WalkPlan | None = None
    followed: bool = False  # every execution knew how each thread goes on, and one came to the end
    _done: dict[int, Set[int]] = field(default_factory=dict)  # by size: the executed blocks
    told: tuple[Finding, ...] = ()  # what was found elsewhere for certain, with the bytes of every thread
    unfenced: set[tuple[int, int]] = field(default_factory=set)  # the stores and products that it stands for

    def execute(self, threads: int = 0) -> None:
        """Execute the function with several numbers for its parameters. `threads`: so many, if the PTX does
        not say how many a block has.
        """
        shape = self.code.function.threads
        if shape is None and not threads:
            return
        threads = threads or prod(shape or ())
        if not 0 < threads <= _MOST_THREADS:
            return
        plan = self.plan = self.walked.plan
        alone = not self._in_cluster()
        followed = True
        rounds = ROUNDS if len(self.code) <= _SHORT or self._has_phases() else _FEW_ROUNDS
        sizes = [_SIZE]
        for size in sizes:
            last = len(sizes) > 1
            found = Execution(plan, threads, size, rounds=max(rounds, LAST_ROUNDS + 1) if last else rounds)
            followed &= found.followed and not (found.halted or found.doubtful)
            self.followed = followed and found.certain
            self.races += found.acts.accesses
            self.unpublished |= found.acts.unpublished
            self.wrong_counts |= found.acts.wrong_counts
            self.unlike |= found.acts.unlike()
            self.short |= found.acts.short()
            stuck = [
                one
                for one in _causes(found.stuck)
                if self._initialises or one.kind != "init" or self._is_own(one.barrier)
            ]
            if self._is_signalled():
                stuck = []
            if not alone:  # it is taken that other blocks send what this one sends
                alike = self._reaches_all() or len(found.ranks - {None}) > 1
                stuck = [
                    replace(one, doubtful=True)
                    for one in stuck
                    if one.kind == "init" or (alike and one.kind == "phase" and not one.lacks_bytes)
                ]
            self.stuck |= {one.statement: one for one in stuck}
            self.drifts |= {
                (one.init, one.arrival): one
                for address, one in found.acts.drifts.items()
                if found.acts.mbarriers[address].phase > 0
            }
            for barrier in found.acts.named.values():
                self.unequal |= barrier.unequal
            self.executed |= found.together.keys()
            self._done[size] = found.together.keys()
            self.parted |= {number for number, whole in found.together.items() if not whole}
            if found.certain:
                self.ordered |= found.acts.accesses.ordered
                self.together |= {number for number, whole in found.together.items() if whole}
            if found.paused and not last:
                sizes += found.endings
        for race in self.races:
            pair = race.first, race.second
            self.ordered.discard(pair)
            if race.what == "unfenced":
                self.synchronised.add(pair)
        self.synchronised -= {(race.first, race.second) for race in self.races if race.what != "unfenced"}

    @property
    def clears(self) -> bool:
        """Whether executions followed every thread and found nothing: then no walk of one thread knows more
        about the stages that copies fill.
        """
        counts = (self.unequal, self.drifts, self.wrong_counts, self.unlike)
        barriers = (self.stuck, self.unpublished, *counts)
        return self.followed and not any((self.races, self.short, *barriers))

    @property
    def multiplies(self) -> bool:
        """Whether an execution came to every product."""
        products = (i for i in range(len(self.code)) if self.code.operation(i).does == "multiply")
        return self.executed >= set(map(self.flow.block_of, products))

    @cached_property
    def _initialises(self) -> bool:
        """Whether the function initialises an mbarrier; one that does not may be a part of another."""
        return any(operation.does == "init" for operation in self.code.used)

    def _has_phases(self) -> bool:
        """Whether threads wait for phases of mbarriers, or meet at barriers that others may pass by."""
        return any(statement.operation.has_phases(len(statement.operands)) for statement in self.code)

    def _in_cluster(self) -> bool:
        """Whether other blocks of a cluster may arrive at this one's mbarriers, or copy to it."""
        for operation in self.code.used:
            if operation.does == "map-address" or any("multicast" in word for word in operation.words):
                return True
            arrives = operation.does == "arrive" and operation.action.barrier == "object"
            if arrives and any("shared" in word and "cluster" in word for word in operation.words):
                return True
        return False

    def _is_own(self, address: int) -> bool:
        """Whether a variable lies at an address that only this function can name: no other initialises an
        mbarrier there.
        """
        assert self.plan is not None
        region = self.plan.steps.in_variable(ByteRegion("shared", address, address + 1))
        return any(region.base in scope.variables for scope in self.code.function.scopes)

    def _is_signalled(self) -> bool:
        """Whether instructions that no execution follows arrive at mbarriers, or complete bytes there."""
        followed = ("bulk-copy", "arrive", "await", "copy-arrive")
        return any(
            any(word.startswith(("mbarrier::", "complete_tx")) for word in operation.words)
            for operation in self.code.used
            if operation.does not in followed
        )

    def _reaches_all(self) -> bool:
        """Whether the block sends to several blocks of the cluster, and not to a leader only."""
        maps = [statement for statement in self.code if statement.operation.does == "map-address"]
        ranks = {number_of(statement.operands[-1]) for statement in maps} - {None}
        named = {name for one in maps for name in self.code.unique(one.operands[-1:], one.scope)}
        return len(ranks) > 1 or not named.isdisjoint(self.walked.plan.differing)

    def in_step(self) -> frozenset[Place]:
        """The places of statements that whole warpgroups execute, whatever their branches look like."""
        blocks = (self.flow.blocks[number] for number in self.together - self.parted)
        indices = (index for block in blocks for index in range(block.start, block.end))
        return frozenset(self._place(index) for index in indices if self.code[index].guard is None)

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
        plan, threads = self.plan, prod(function.threads)

        def done_with(size: int) -> Set[int]:
            known = self._done.get(size)
            return Execution(plan, threads, size).together.keys() if known is None else known

        return right_size(plan, threads, self._done, done_with, _is_right)

    def _found(self) -> Iterator[Finding]:
        yield from self._race_findings()
        for one in self.stuck.values():
            yield self._stuck(one)
        told = {race.second for race in self._reported()}
        yield from (self._short(one) for one in self.short.values() if one.product not in told)
        if not self.races and not self.stuck:
            yield from (self._drift(one) for one in self.drifts.values())
        yield from map(self._wrong_count, self.wrong_counts.values())
        yield from (self._unlike(*ends, *counts) for ends, counts in self.unlike.items())
        for (first, second), doubtful in self.unequal.items():
            yield self._unequal(first, second, doubtful)
        for init, use in self.unpublished:
            yield self._unpublished(self.unpublished[init, use])

    def settles(self, finding: Finding) -> bool:
        """Whether another finding is superfluous: one of these says the same for certain, or the accesses are
        ordered.
        """
        if finding.tier not in (ERROR, LIKELY):
            return False
        places = {finding.place, *(moment.place for moment in finding.witness)}
        if any(
            _RULES[race.what] == finding.rule
            and not race.doubtful
            and (not race.partly or finding.readings != EVERYWHERE)
            and self._product(race) in places
            for race in self._reported()
        ):
            return True
        if finding.tier != LIKELY or not finding.witness or finding.readings == _WRITER:
            return False
        ends = finding.witness[0].place, finding.witness[-1].place
        known = self.ordered | (self.synchronised if finding.rule == _RULES["unseen"] else set())
        return any((self._place(a), self._place(b)) == ends for a, b in known)

    def _product(self, race: PhaseRace) -> Place:
        """The place of the product of a race (of two copies: of the later one)."""
        return self._place(race.first if race.reads == "first" else race.second)

    def _reported(self) -> list[PhaseRace]:
        """The races of all warps, and those of some whose wait may do for the others."""
        return [race for race in self.races if not race.partly or race.what == "overwritten"]

    def _race_findings(self) -> Iterator[Finding]:
        """One finding for each block that writes: its first race explains the others. Products that have
        ended in some warps only share one finding: one release is the cause.
        """
        by_writer: dict[int, list[PhaseRace]] = {}
        for race in sorted(
            self._reported(), key=lambda race: (race.partly, race.doubtful, _ORDER.index(race.what))
        ):
            copied = self.code.operation(race.first).does == "copy"
            if race.what == "unfenced" and copied and self._is_found_elsewhere(race):
                continue  # what else is wrong with the block is not told by that
            writer = race.second if race.reads == "first" or race.what == "rewritten" else race.first
            block = _ANY if race.partly else self.flow.block_of(writer)
            by_writer.setdefault(block, []).append(race)
        for races in by_writer.values():
            if any(self._is_found_elsewhere(race) for race in races):
                continue
            first = races[0]
            others = {(race.first, race.second) for race in races} - {(first.first, first.second)}
            yield self._race(first, len(others))

    def _is_found_elsewhere(self, race: PhaseRace) -> bool:
        """Whether a finding is already about one of the two statements, and about the same rule."""
        places = self._place(race.first), self._place(race.second)
        if race.what == "unfenced" and any(
            race.first == store or race.second == product for store, product in self.unfenced
        ):
            return True  # one fence mends both
        return any(
            finding.rule == _RULES[race.what]
            and (finding.witness[0].place in places or finding.witness[-1].place in places)
            for finding in self.told
        )

    def _race(self, race: PhaseRace, more: int) -> Finding:
        rule = ordering().rules[_RULES[race.what]]
        assert self.plan is not None  # an execution has found the race
        written, read = self.plan.steps.in_variable(race.written), self.plan.steps.in_variable(race.read)
        other = "then" if race.reads == "none" else "the matrix is"
        shown = f"writes {written}, {other} {read.span if read.base == written.base else read}"
        writer, reader = (race.second, race.first) if race.reads == "first" else (race.first, race.second)
        both = (("written", writer, written), ("read" if race.reads != "none" else "written", reader, read))
        return Finding(
            _RULES[race.what],
            LIKELY if race.doubtful else ERROR,
            self._place(race.second),
            self.code.function.name,
            f"{rule.title}: {_WHY[race.what]} ({shown})",
            rule.section,
            rule.mend,
            self._moments(zip((race.first, race.second), _SAYS[race.what], strict=True)),
            more=more,
            readings=_ONE_WARP if race.partly else EVERYWHERE,
            ranges=tuple(
                MemoryRange(
                    what, region.variable, region.low, region.high - 1, self._place(at), "an execution"
                )
                for what, at, region in both
            ),
        )

    def _stuck(self, stuck: Stuck) -> Finding:
        if stuck.kind == "init":
            steps = [(stuck.statement, "uses the mbarrier")]
            what = f"no thread initialises the one at byte {stuck.barrier} of shared memory"
            return self._of_barrier("barrier-uninitialised", stuck.doubtful, what, steps)
        if stuck.kind == "meet":
            steps = [(stuck.statement, "waits for ever")]
            what = (
                f"when no thread can go on, barrier {stuck.barrier} lacks {counted(stuck.pending, 'thread')}"
            )
            return self._of_barrier("barrier-stuck", stuck.doubtful, what, steps)
        lacks = [counted(stuck.pending, "arrival")] if stuck.pending else []
        if stuck.lacks_bytes:
            lacks.append("bytes that no copy brings")
        where = f"phase {stuck.phase} of the mbarrier at byte {stuck.barrier} of shared memory"
        what = f"when no thread can go on, {where} lacks {' and '.join(lacks)}"
        steps = [(stuck.statement, "waits for ever")]
        return self._of_barrier("barrier-stuck", stuck.doubtful, what, steps)

    def _short(self, one: Short) -> Finding:
        rule = ordering().rules["copy-incomplete"]
        expects = f"the phase of the mbarrier expects {one.expected} bytes"
        return Finding(
            "copy-incomplete",
            ERROR,
            self._place(one.product),
            self.code.function.name,
            f"{rule.title}: {expects}, and products read {one.read} bytes of what its copies bring",
            rule.section,
            rule.mend,
            self._moments([(one.product, "reads what copies bring")]),
        )

    def _drift(self, one: Drift) -> Finding:
        steps = [(one.init, "says how many arrive"), (one.arrival, "arrives in a warp, for two phases")]
        what = (
            f"the mbarrier counts {counted(one.count, 'arrival')} a phase, and those of a warp fall into "
            "two phases, so that a later phase ends without some of its threads"
        )
        return self._of_barrier("barrier-count", True, what, steps)

    def _wrong_count(self, one: WrongCount) -> Finding:
        steps = [(one.init, "says how many arrive")]
        what = f"this mbarrier is made for {one.count} arrivals a phase, and can count 1 to 2^20 − 1"
        return self._of_barrier("barrier-count", one.doubtful, what, steps)

    def _unlike(self, first: int, second: int, expected: int, others: int) -> Finding:
        steps = [(first, f"expects {expected} bytes"), (second, f"expects {others} bytes of the same copies")]
        what = (
            f"copies by the same tensor maps shall bring {expected} bytes in one phase and {others} "
            "in another, so that one of the two waits for bytes that none brings, or not for all"
        )
        return self._of_barrier("barrier-stuck", False, what, steps)

    def _unequal(self, first: int, second: int, doubtful: bool) -> Finding:
        steps = [(first, "names one count"), (second, "names another count, in the same phase")]
        what = "whose arrivals complete the phase is not defined"
        return self._of_barrier("barrier-count", doubtful, what, steps)

    def _unpublished(self, one: Unpublished) -> Finding:
        steps = [(one.init, "initialises the mbarrier"), (one.use, "uses it in another warp")]
        what = "no barrier stands between the two"
        return self._of_barrier("barrier-unpublished", one.doubtful, what, steps)

    def _of_barrier(self, name: str, doubtful: bool, what: str, steps: list[tuple[int, str]]) -> Finding:
        rule = rules()[name]
        return Finding(
            name,
            LIKELY if doubtful else ERROR,
            self._place(steps[-1][0]),
            self.code.function.name,
            f"{rule.title}: {what}",
            rule.section,
            rule.mend,
            self._moments(steps),
        )

    def _place(self, index: int) -> Place:
        return self.module.place(self.code.function.statements[index].offset)

    def _moments(self, steps: Iterable[tuple[int, str]]) -> tuple[Moment, ...]:
        return tuple(
            Moment(self._place(index), self.code.function.statements[index].opcode, says)
            for index, says in steps
        )
