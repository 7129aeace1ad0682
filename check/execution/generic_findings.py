"""Findings about ordinary loads and stores of shared memory, and copies, that nothing orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, MemoryRange, Moment, Undefined
from ..memory.shared_memory import fills_shared, sends_shared
from ..not_judged import RightBlock, UnjudgedAccesses
from ..ptx.decode import DecodedStatement
from ..ptx.operation import COPIES, READS
from ..rules import rules
from ..values.block_threads import LARGEST_BLOCK, WARP, WARPGROUP, size_of
from ..walks.kernel_walks import KernelWalks
from ..walks.parameters import USUAL_SIZES, AssumedSizes
from ..walks.walk_plan import WalkPlan
from .access_records import GenericRace
from .alike_sizes import decide_alike
from .assumed_paths import LAST_ROUNDS
from .block_sizes import rounded_sizes, usual_shapes
from .chosen_work import ChosenWork
from .cluster_ends import cluster_ends, unawaited
from .copy_accesses import CopyActs
from .execution import Execution
from .generic_accesses import UNTOLD, GenericActs
from .misplaced_accesses import Misplaced, misplaced_findings
from .object_accesses import object_findings
from .object_bytes import ObjectAccess
from .outside_ranks import OutsideRank, outside_findings
from .phase_reports import ONE_WARP, PhaseReports
from .same_faults import FaultName, is_found_in_each
from .sent_acts import Sent
from .skipped_loops import skips_work
from .small_sizes import SMALL_SIZES, comes_to_work
from .unjudged_accesses import unjudged_accesses
from .warp_acts import Short
from .warp_lanes import LANES, WITHIN, met_between
from .write_clashes import CLASH

__all__ = ["GenericFindings"]

_UNORDERED = "unsynchronised"
_OTHER_SIZES = (4096, 160)  # with these, too, what lies where a parameter says must meet
_ROUNDS = 3  # of a loop: in the third, what two stages hold is accessed again
# By what a race is: the rule, and why.
_RULES = {
    _UNORDERED: ("shared-unsynchronised", "no barrier orders the two"),
    WITHIN: ("warp-unsynchronised", "no barrier of the warp stands between the two"),
    LANES: (
        "warp-unsynchronised",
        "nothing that the lanes of the warp execute together stands between the two",
    ),
    UNTOLD: ("shared-unsynchronised", "only another lane of its warp arrives, and the two have not met"),
    "elsewhere": (
        "shared-unsynchronised",
        "one of them does so from another block, and no barrier of the cluster orders the two",
    ),
    "incomplete": ("copy-incomplete", "no wait that the second knows of covers the copy"),
    CLASH: ("shared-unsynchronised", "no barrier orders the two, each has got elsewhere what it writes"),
    "draining": ("bulk-store-pending", "no wait covers the bulk store"),
    "unfenced-store": ("bulk-store-fence", "no thread that is ordered between the two executes one"),
    "unfenced": ("proxy-fence-copy", "no thread that is ordered between the two executes a proxy fence"),
}
_DOES = {
    "load": "reads",
    "store": "writes",
    "update": "updates",
    "allocate": "allocates, and writes the address to",
    "copy": "copies into",
    "fill": "starts a bulk copy into",
    "drain": "starts a bulk store of",
    "send": "starts a copy between blocks of",
    "await": "waits for a copy into",
    "bulk-wait": "has waited for a bulk store of",
}
_WAITS: Undefined = ((("warp-sync", "waits"),),)
_UNTOLD: Undefined = ((("lane-arrival", "own"),),)
_ALLOCATED: Undefined = ((("allocation-proxy", "generic"),),)
_FENCES = ("unfenced", "unfenced-store")
# Other blocks of the grid: some compare their numbers, or parts of them, and leave.
_OTHER_PLACES = tuple(
    tuple((f"%ctaid.{axis}", number) for axis in axes) for number in (1, 4) for axes in ("y", "x", "z", "xyz")
)
_FEWER = (1, 2)  # rounds: by what a loop leaves in flight, of up to three stages; or elements: a remainder


class _Raced(NamedTuple):
    """The races in a block; whether each thread was followed to its end; what they did to other blocks that
    none waited for; the blocks of the function that were executed; and whether an execution stopped early.
    `within`: races of threads of one warp. `met_at`: where threads stopped that may meet in memory.
    `clashed`: two warps have written the same bytes, and nothing orders them. `misplaced`: by statement, an
    access that does not begin where it must; `of_objects`: one of the bytes of an mbarrier. `unjudged`:
    accesses that no execution judged. `short`: by load, a phase that expects fewer bytes than are loaded.
    `outside`: by access, the rank of a block that the cluster does not have. `stuck`: some thread waits for
    ever.
    """

    races: dict[FaultName, GenericRace]
    within: dict[FaultName, GenericRace]
    followed: bool
    sent: list[Sent]
    executed: frozenset[int]
    halted: bool
    met_at: int | None
    clashed: bool
    misplaced: dict[int, Misplaced]
    of_objects: dict[int, ObjectAccess]
    short: dict[int, Short]
    outside: dict[int, OutsideRank]
    unjudged: UnjudgedAccesses | None
    stuck: bool


class GenericFindings:
    """The loads and stores by several warps of a block, and the copies, that nothing orders: one finding for
    each rule and place.

    `followed`: every thread was executed to its end, with the number of threads that the PTX names. `met_at`:
    a statement by which threads may meet in memory, so that what stands behind it was not judged. `unjudged`:
    accesses that were not judged with the first shape of a block. `right_block`: one that does right, where
    blocks with more threads do not.
    """

    def __init__(self, walked: KernelWalks) -> None:
        self.walked = walked
        self.plan = walked.reading_plan
        self.followed = False
        self._sent: list[Sent] = []
        self._within: dict[FaultName, GenericRace] = {}
        self._executed: frozenset[int] = frozenset()
        self._misplaced: dict[int, Misplaced] = {}
        self._of_objects: dict[int, ObjectAccess] = {}
        self._short: dict[int, Short] = {}
        self._outside: dict[int, OutsideRank] = {}
        self.unjudged: UnjudgedAccesses | None = None
        self.right_block: RightBlock | None = None
        self.met_at = self.plan.meetings.decisive
        self._races = self._found() if self.met_at is None else {}
        self._of_one_warp = self._settled_by_groups()

    @property
    def clears(self) -> bool:
        """Whether nothing was found, and no walk of some threads knows more: bulk copies have rules that only
        walks judge.
        """
        copies = (self.plan.code.operation(index).does for index in self.plan.roles)
        return self.followed and not self._has_races and not self._sent and "bulk-copy" not in copies

    @property
    def _has_races(self) -> bool:
        """Whether some accesses race, whatever an arrival by a lane tells."""
        return any(race.what != UNTOLD for race in self._races.values())

    def __iter__(self) -> Iterator[Finding]:
        told: set[tuple[str, int]] = set()
        told_of = {(race.first, race.second) for race in self._races.values()}  # of other warps, too
        within = [
            self._met(race)
            for race in self._within.values()
            if race[:2] not in told_of and not (self.right_block and self._drains(race))
        ]
        for race in sorted((*self._races.values(), *within), key=self._rank):
            at = race.first if race.what == "unfenced-store" else race.second  # the fence follows the store
            key = race.what, self.walked.flow.block_of(at)
            if key not in told:
                told.add(key)
                yield replace(_finding(self.walked, race), readings=self._readings(race))
        yield from misplaced_findings(self.walked, self._misplaced)
        yield from object_findings(self.walked, self._of_objects)
        yield from outside_findings(self.walked, self._outside)
        if self._short:
            reports = PhaseReports(self.walked.module, self.walked.code, self.plan)
            yield from map(reports.short, self._short.values())
        if not self._has_races:
            yield from cluster_ends(self.walked.module, self.walked.code, self._sent)

    def _drains(self, race: GenericRace) -> bool:
        """Whether lanes race with a bulk store, or its wait: a block of one thread may be meant."""
        both = [self.plan.code[at] for at in (race.first, race.second)]
        return any(
            one.does == "bulk-wait" or (one.does == "bulk-copy" and not fills_shared(one)) for one in both
        )

    def _met(self, race: GenericRace) -> GenericRace:
        """A race of lanes is none under one reading, if they execute something together between the two."""
        is_open = race.what == LANES and met_between(self.plan.steps, race.first, race.second)
        return race._replace(what=WITHIN) if is_open else race

    def _readings(self, race: GenericRace) -> Undefined:
        """Under which readings of the text a race is undefined."""
        if race.what == WITHIN:
            return _WAITS
        if race.what == UNTOLD:
            return _UNTOLD
        if self._is_allocated(race):
            return _ALLOCATED
        return ONE_WARP if race in self._of_one_warp else EVERYWHERE

    def _is_allocated(self, race: GenericRace) -> bool:
        """Whether a proxy fence lacks only behind the address that an allocation of tensor memory writes."""
        return race.what in _FENCES and self.plan.code.operation(race.first).does == "allocate"

    def _rank(self, race: GenericRace) -> tuple[bool, bool, int]:
        is_open = race.what == UNTOLD or race in self._of_one_warp or self._is_allocated(race)
        return is_open, race.doubtful, race.second

    def _settled_by_groups(self) -> frozenset[GenericRace]:
        """The races that are none where the wait of one warp for a product covers those of its warpgroup."""
        open_ = {key: race for key, race in self._races.items() if race.what == _UNORDERED}
        if not open_ or not self.plan.code.doing("multiply"):
            return frozenset()
        settled = frozenset(open_.values())
        for shape in _blocks(self.plan):
            found = _raced(self.walked.group_plan, shape)
            settled = settled - {
                race
                for key, race in open_.items()
                if found.halted or key in found.races or not self._blocks_of(race) <= found.executed
            }
        return settled

    def _blocks_of(self, race: GenericRace) -> set[int]:
        return {self.plan.flow.block_of(race.first), self.plan.flow.block_of(race.second)}

    def _found(self) -> dict[FaultName, GenericRace]:
        races: dict[FaultName, GenericRace] | None = None
        for shape in _blocks(self.plan):
            found = _raced(self.plan, shape)
            if found.clashed:
                asked = _raced(self.walked.data_plan, shape).races
                found.races.update((key, race) for key, race in asked.items() if race.what == CLASH)
            self.met_at = found.met_at
            self._executed |= found.executed
            if self.plan.function.threads is not None:
                self.followed, self._sent = found.followed, found.sent
            first = races is None
            self.unjudged = found.unjudged if first else self.unjudged
            kept, within = (found.races, found.within) if races is None else (races, self._within)
            races = {key: race for key, race in kept.items() if key in found.races}
            self._within = {key: race for key, race in within.items() if key in found.within}
            others = found.misplaced if first else self._misplaced
            self._misplaced = {at: one for at, one in others.items() if at in found.misplaced}
            objects = found.of_objects if first else self._of_objects
            self._of_objects = {at: one for at, one in objects.items() if at in found.of_objects}
            self._outside |= found.outside
            short = found.short if first else self._short
            self._short = {at: one for at, one in short.items() if at in found.short}
            if not (races or self._within or self._misplaced or self._of_objects or self._short):
                break
        if races and self.plan.function.threads is None and not _has_warps(self.plan):
            earliest = min(second for _, _, second in races)
            races = _of_several_warps(self.plan, races)
            self.right_block = None if races else self._right_block(earliest, WARP)
        for size in rounded_sizes(self.plan) if races else ():
            races = self._of_fewer(races or {}, size)
        return {**self._between_blocks(), **(races or {})}

    def _of_fewer(self, races: dict[FaultName, GenericRace], size: int) -> dict[FaultName, GenericRace]:
        """Those that a block of fewer threads has, too, if these do all that more do, and none is stuck."""
        found = _raced(self.plan, (size, 1, 1))
        if found.halted or found.stuck or not self._executed <= found.executed:
            return races
        others = races.keys() - found.races.keys()
        if others:
            self.right_block = self._right_block(min(second for _, _, second in others), size)
        return {key: race for key, race in races.items() if key not in others}

    def _right_block(self, first: int, threads: int) -> RightBlock:
        """A block of so many threads. `first`: the first statement that blocks with more do wrongly."""
        return RightBlock(self.plan.function.statements[first].offset, threads)

    def _between_blocks(self) -> dict[FaultName, GenericRace]:
        """The races in a cluster whose blocks can be executed together: between blocks, and within one, where
        a block alone cannot tell what those know who release its memory, or copy there. They are so in a
        cluster of each size that is tried.
        """
        shape, used = self.plan.function.threads, self.plan.code.used
        reaches = self.plan.steps.mapped or any(one.does == "bulk-copy" and one.is_multicast for one in used)
        if shape is None or not reaches or self.plan.meetings.decide:
            return {}
        tried = [_raced(walked.reading_cluster_plan, shape) for walked in self.walked.clusters]
        if not tried or any(one.halted for one in tried):
            return {}
        first, *others = tried
        self._outside = {**first.outside, **self._outside}
        self._sent += first.sent if not self._sent and all(one.sent for one in others) else ()
        each = size_of(shape) // WARP
        return {
            key: race._replace(doubtful=True, each=each)
            for key, race in first.races.items()
            if is_found_in_each(key, [one.races for one in others])
        }


def _blocks(plan: WalkPlan) -> Iterable[tuple[int, int, int]]:
    """The shapes of a block: what is wrong must be so with each of them. Where the PTX names none, they are
    those that blocks with a warpgroup, or with a barrier for several warps, may have.
    """
    function = plan.function
    least = WARPGROUP if plan.code.doing("multiply") else 2 * WARP
    if function.threads is not None:
        most = size_of(function.threads)
        return (function.threads,) if 0 < most <= LARGEST_BLOCK else ()
    if not _has_warps(plan) and function.plane:
        return ()
    return (shape for shape in usual_shapes(plan) if least <= size_of(shape) <= LARGEST_BLOCK)


def _has_warps(plan: WalkPlan) -> bool:
    """Whether a block surely has several warps: it has a warpgroup, or a barrier for more than one."""
    meets = any(one.does == "meet" and one.action.barrier == "named" for one in plan.code.used)
    return meets or bool(plan.code.doing("multiply"))


def _of_several_warps(plan: WalkPlan, races: dict[FaultName, GenericRace]) -> dict[FaultName, GenericRace]:
    """The races in a function that is not meant for blocks of one warp: there, a load of theirs would read
    bytes that nothing writes.
    """
    found = _execute(plan, (WARP, 1, 1), USUAL_SIZES, _ROUNDS)
    acts = _acts_of(found)
    updated = any(one.does == "update" and one.space != "global" for one in plan.code.used)
    if not found.followed or found.halted or found.skipped or found.doubtful:
        return {}
    if acts.scattered or updated or plan.steps.mapped:
        return {}
    missing = {at for at, flags in acts.loaded.items() if flags & ~acts.stored}
    return {key: race for key, race in races.items() if {race.first, race.second} & missing}


def _raced(plan: WalkPlan, shape: tuple[int, int, int]) -> _Raced:
    """What a block of so many threads does, with several numbers for its parameters."""
    races: dict[FaultName, GenericRace] = {}
    executions: list[Execution] = []
    first = _with_work(plan, shape)
    sizes, fewer = [first.sizes], list[AssumedSizes]()
    for size in sizes:
        last = len(sizes) > 1
        alike = (one for one in executions[1:] if size in fewer and decide_alike(plan, one.sizes, size))
        found = (next(alike, None) or _execute(plan, shape, size, LAST_ROUNDS + 1)) if last else first
        executions.append(found)
        races = _races(found) | races
        if not last:
            endings = [one._replace(others=(*size.others, *one.others)) for one in found.endings]
            sizes += endings
            if plan.code.doing("copy") and plan.data is None:
                # Where a round counts more than one, one less leaves elements over; else it is a round less.
                less = _FEWER if len(endings) == 1 else _FEWER[:1]
                fewer = [one.fewer(number) for one in endings[:1] for number in less]
                sizes += fewer
    chosen = ChosenWork(plan).races(
        sizes[-1], lambda size: _races(_execute(plan, shape, size, LAST_ROUNDS + 1)), races
    )
    races |= {key: race._replace(doubtful=True) for key, race in chosen.items()}
    for found in _elsewhere(plan, shape, sizes[-1], executions):
        executions.append(found)
        races = {key: race._replace(doubtful=True) for key, race in _races(found).items()} | races
    followed = all(one.followed and not (one.skipped or one.halted or one.doubtful) for one in executions)
    followed &= not all(one.paused for one in executions)
    if any(race.placed for race in races.values()):
        executions += (_execute(plan, shape, AssumedSizes(size), _ROUNDS) for size in _OTHER_SIZES)
        cleared = {key for key, race in races.items() if _is_cleared(key, race, plan, executions)}
        races = {key: race for key, race in races.items() if key not in cleared}
    races = {key: race for key, race in races.items() if not _is_idle(key, plan, executions)}
    sent = [sent for found in executions for sent in unawaited(found)]
    executed = frozenset[int]().union(*(one.together for one in executions))
    within = {
        (race.what, *pair): race for one in executions for pair, race in _acts_of(one).within.races.items()
    }
    clashes = [_acts_of(one).clashes for one in executions]
    races = {(race.what, *pair): race for one in clashes for pair, race in one.races.items()} | races
    clashed = any(one.met for one in clashes)
    met_at = next((one.met_at for one in executions if one.met_at is not None), None)
    halted = any(one.halted for one in executions)
    unjudged = unjudged_accesses(plan, executions)
    misplaced = {at: one for found in executions for at, one in _acts_of(found).misplaced.items()}
    objects = {at: one for found in executions for at, one in found.acts.objects.accesses.items()}
    stuck = any(one.stuck for one in executions)
    acts = _acts_of(first)
    short = acts.loaded_boxes.short(acts.mbarriers) if isinstance(acts, CopyActs) else {}
    return _Raced(
        races,
        within,
        followed,
        sent,
        executed,
        halted,
        met_at,
        clashed,
        misplaced,
        objects,
        short,
        {at: one for found in executions for at, one in found.acts.sent.outside.items()},
        unjudged,
        stuck,
    )


def _with_work(plan: WalkPlan, shape: tuple[int, int, int]) -> Execution:
    """What the grid's first block does; or another one, or one with less work, if that does nothing that
    counts.
    """
    first = _execute(plan, shape, USUAL_SIZES, _ROUNDS)
    if comes_to_work(plan, first) or (first.is_complete and not first.rests_on_numbers):
        return first
    places = (USUAL_SIZES._replace(others=place) for place in (_OTHER_PLACES if plan.steps.placed else ()))
    sizes = (*places, *(SMALL_SIZES if first.is_complete else ()))
    others = (_execute(plan, shape, size, _ROUNDS) for size in sizes)
    return next((one for one in others if comes_to_work(plan, one)), first)


def _elsewhere(
    plan: WalkPlan, shape: tuple[int, int, int], size: AssumedSizes, executions: Sequence[Execution]
) -> Iterator[Execution]:
    """What other blocks of the grid do, if the first one passes by statements that count by its place; with
    the last numbers of parameters.
    """
    missing = plan.acting(frozenset()).difference(*(one.together for one in executions))
    last = executions[-1]
    if not missing or size.others:
        return
    placed_by = last.placed_by
    for place in _OTHER_PLACES:
        if missing and placed_by.issuperset(name for name, _ in place):
            found = _execute(plan, shape, size._replace(others=place), last.rounds)
            if not missing.isdisjoint(found.together):
                missing = missing.difference(found.together)
                yield found


def _execute(plan: WalkPlan, shape: tuple[int, int, int], size: AssumedSizes, rounds: int) -> Execution:
    threads = size_of(shape) * plan.steps.blocks
    assumed = None if plan.function.threads is not None else shape
    return Execution(plan, threads, size, _acts(plan, threads), rounds, shape=assumed)


def _acts(plan: WalkPlan, threads: int) -> GenericActs:
    """What threads do, and with copies, if there are any."""
    maps = bool(plan.steps.mapped and not plan.meetings.decide)
    copies = [plan.code[index] for index in plan.roles if plan.code.operation(index).does in COPIES]
    if not copies:
        return GenericActs(threads, maps, plan.products, plan.data)
    does = set(map(_does, copies))
    drains = not does.isdisjoint(("drain", "send"))
    return CopyActs(threads, "fill" in does, drains, maps, plan.products, plan.data)


def _acts_of(found: Execution) -> GenericActs:
    assert isinstance(found.acts, GenericActs)
    return found.acts


def _races(found: Execution) -> dict[FaultName, GenericRace]:
    acts = _acts_of(found)
    elsewhere = acts.elsewhere if acts.elsewhere and found.is_alike else {}
    pairs = (*acts.races.items(), *elsewhere.items())
    races: dict[FaultName, GenericRace] = {(race.what, *pair): race for pair, race in pairs}
    races |= {(race.what, *pair): race for pair, race in acts.untold.items()}
    races |= acts.copy_races if isinstance(acts, CopyActs) else {}
    return {key: race._replace(doubtful=True) for key, race in races.items()} if found.counted else races


def _is_cleared(key: FaultName, race: GenericRace, plan: WalkPlan, executions: Iterable[Execution]) -> bool:
    """Whether accesses that a parameter places lie apart with one number of it: hosts pass what fits. It
    shows nothing if a loop around both ends in its first round, and with several numbers they meet in a
    later one.
    """
    if not race.placed:
        return False
    first, second = (plan.flow.block_of(index) for index in (race.first, race.second))
    raced, apart = list[frozenset[int]](), list[frozenset[int]]()
    for found in executions:
        if {first, second} <= found.together.keys():
            (raced if key in _races(found) else apart).append(found.gone_round)
    around = plan.loops.around
    again = {*around.get(first, ())}.intersection(around.get(second, ()), *raced) if len(raced) > 1 else set()
    return any(again <= gone for gone in apart)


def _is_idle(key: FaultName, plan: WalkPlan, executions: Sequence[Execution]) -> bool:
    """Whether accesses are unordered only with numbers so small that a loop between them does no work."""
    shown = [(found.together.keys(), key in _races(found)) for found in executions]
    racing, others = ([blocks for blocks, races in shown if races is one] for one in (True, False))
    return bool(racing) and all(
        any(skips_work(plan, *key[1:], executed, worked) for worked in others) for executed in racing
    )


def _does(statement: DecodedStatement) -> str:
    """What a statement does to shared memory, by the names of _DOES."""
    if sends_shared(statement):
        return "send"
    if statement.does == "bulk-copy":
        return "fill" if fills_shared(statement) else "drain"
    return statement.does


def _finding(walked: KernelWalks, race: GenericRace) -> Finding:
    name, why = _RULES[race.what]
    rule = rules()[name]
    steps = walked.clusters[0].cluster_plan.steps if race.each else walked.steps
    region = steps.in_variable(race.region)
    statements = [walked.code.function.statements[index] for index in (race.first, race.second)]
    places = [walked.module.place(statement.offset) for statement in statements]
    does = [_does(walked.code[index]) for index in (race.first, race.second)]
    # Other blocks are taken to do the same; and it is taken that lanes do not go on in step.
    doubtful = race.doubtful or race.what in ("elsewhere", LANES)
    how_many = "shape of a block" if walked.code.function.plane else "number of threads"
    usual = "" if walked.code.function.threads else f"; so it is with each usual {how_many}"
    says = [
        f"{who} {_DOES[what]} bytes {region.low} to {region.high - 1} of {region.variable}"
        for who, what in zip(race.who, does, strict=True)
    ]
    return Finding(
        name,
        LIKELY if doubtful or not walked.code.function.exact else ERROR,
        places[1],
        walked.code.function.name,
        f"{rule.title}: {says[0]}, then {says[1]}; {why}{usual}",
        rule.section,
        rule.mend,
        tuple(Moment.of(walked.module, *one) for one in zip(statements, says, strict=True)),
        ranges=tuple(
            MemoryRange(
                "read" if what in READS or what == "bulk-wait" else "written",
                region.variable,
                region.low,
                region.high - 1,
                place,
                "an execution",
            )
            for what, place in zip(does, places, strict=True)
        ),
    )
