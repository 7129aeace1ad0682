"""Findings about copies and bulk stores: accesses of shared memory that nothing orders in a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, MemoryRange, Moment, Undefined
from ..ptx.operation import COPIES, DATA, copies_both_ways
from ..ptx.source import PtxModule
from ..rules import rules
from .block_accesses import BlockAccess, BlockRace
from .block_races import races
from .block_walk import BlockAct, BlockWalk, walked_threads
from .endless_waits import endless_waits
from .kernel_walks import KernelWalks
from .walk_plan import WalkPlan

if TYPE_CHECKING:
    from .walk_paths import WalkPaths

__all__ = ["block_findings"]

_SIZES = (1024, 8)  # numbers for parameters, elements or steps: the first with which a walk copies
_FEW = (3, 48, 96, 192, 384)  # some with which loops end: rounds, or what so many tiles of 16 or more hold
_WAITS = frozenset(("await", "copy-wait", "bulk-wait"))  # a meet completes no copy
_ORDERED = frozenset(("copy", "fill", "drain"))
# By what a race is: the rule, the readings under which it is one, and why.
_RULES: Mapping[str, tuple[str, Undefined, str]] = {
    "incomplete": ("copy-incomplete", EVERYWHERE, "no wait on the path covers the copy"),
    "unsynchronised": ("shared-unsynchronised", EVERYWHERE, "no barrier stands between the two on the path"),
    "draining": ("bulk-store-pending", EVERYWHERE, "no wait on the path covers the bulk store"),
    "unfenced": ("bulk-store-fence", EVERYWHERE, "neither of the two threads executes one on the path"),
    "unfenced-load": (
        "fence-after-load",
        ((("read-before-copy", "fence"),),),
        "no fence.proxy.async stands between on the path",
    ),
    "fenced-late": (
        "bulk-store-fence",
        ((("proxy-fence-side", "writer"),),),
        "the thread that starts the bulk store executes one, and the writer none",
    ),
}
_SAYS: Mapping[str, str] = {
    "load": "reads",
    "store": "writes",
    "update": "updates",
    "copy": "copies into",
    "fill": "starts a bulk copy into",
    "drain": "starts a bulk store of",
}


def block_findings(walked: KernelWalks) -> Iterator[Finding]:
    """The accesses of a block's threads that nothing orders, where the function copies."""
    module, code, flow = walked.module, walked.code, walked.flow
    if not code.doing(*COPIES):
        return
    plan = walked.reading_plan
    if not _can_race(plan):
        return
    threads = walked_threads(plan)
    found: dict[tuple[str, int], Finding] = {}
    paths = _RacePaths(plan)
    for acts in _walks(plan, threads):
        for race in races(acts, threads, endless_waits(plan, acts)):
            if _may_be_told(plan, acts, race) or not (race.certain or paths.possible(race)):
                continue
            finding = _finding(module, plan, threads, race)
            key = finding.rule, flow.block_of(race.second.act.statement)
            known = found.get(key)
            found[key] = finding if known is None else replace(known, more=known.more + 1)
    yield from found.values()


def _may_be_told(plan: WalkPlan, acts: Sequence[BlockAct], race: BlockRace) -> bool:
    """Whether a thread may learn that a bulk copy is complete from threads that take another path and wait
    for it: its own path waits for some mbarrier, or meets them, between the two accesses.
    """
    if race.first.act.kind != "fill":
        return False
    others = {act.statement for act in acts if act.kind == "await" and race.second.lane not in act.path}
    return bool(others) and any(plan.code.operation(at).does in ("await", "meet") for at in race.between)


class _RacePaths:
    """Asks for paths on which the two accesses of a race stand."""

    def __init__(self, plan: WalkPlan) -> None:
        self.plan = plan

    @cached_property
    def _paths(self) -> WalkPaths:
        """The search for paths, which most functions do not need."""
        from .walk_paths import WalkPaths

        return WalkPaths(self.plan)

    def possible(self, race: BlockRace) -> bool:
        """Whether such a path can happen."""
        first, second = race.first, race.second
        alone = first.lane == second.lane
        return self._paths.possible(first.act.statement, second.act.statement, race.between, _WAITS, alone)


def _can_race(plan: WalkPlan) -> bool:
    """Whether threads read or write by themselves, beside copies; or copy in bulk both into shared memory and
    out of it: two copies of one direction are not judged.
    """
    operations = [plan.code.operation(index) for index in plan.roles]
    ordinary = any(one.does in DATA for one in operations)
    return ordinary or copies_both_ways(operations)


def _walks(plan: WalkPlan, threads: tuple[int, ...]) -> Iterator[Sequence[BlockAct]]:
    """The acts of a walk with large numbers; if it leaves a loop early, of one more with small ones."""
    acts: Sequence[BlockAct] = ()
    for size in _SIZES:
        acts = _walked(plan, threads, size)
        if any(act.kind in _ORDERED for act in acts):
            break
    yield acts
    if any(act.kind == "cut" for act in acts):
        yield _to_the_end(plan, threads, {act.statement for act in acts if act.kind != "cut"})


def _walked(plan: WalkPlan, threads: tuple[int, ...], size: int) -> Sequence[BlockAct]:
    """The acts of a walk; none if it is not possible."""
    walk = BlockWalk(plan, threads, size)
    acts = walk.run()
    return acts if walk.is_possible else ()


def _to_the_end(plan: WalkPlan, threads: tuple[int, ...], reached: set[int]) -> Sequence[BlockAct]:
    """The acts of the walk with the smallest number that does all that was `reached` with a large one: of
    fewer, kernels that divide by the size of a tile do no work. If there is none, of one that does most.
    """
    most: Sequence[BlockAct] = ()
    least_missing = len(reached) + 1
    for size in _FEW:
        acts = _walked(plan, threads, size)
        missing = len(reached.difference(act.statement for act in acts))
        if missing < least_missing:
            most, least_missing = acts, missing
        if not missing:
            break
    return most


def _finding(module: PtxModule, plan: WalkPlan, threads: tuple[int, ...], race: BlockRace) -> Finding:
    name, readings, why = _RULES[race.what]
    rule = rules()[name]
    function = plan.function
    first, second = (_shown(plan, threads, one) for one in (race.first, race.second))
    certain = race.certain and function.threads is not None
    moments = [
        _moment(module, plan, race.first.act.statement, first),
        *(_moment(module, plan, index, "orders accesses, but not these two") for index in race.between[-8:]),
        _moment(module, plan, race.second.act.statement, second),
    ]
    return Finding(
        name,
        ERROR if certain else LIKELY,
        module.place(function.statements[race.second.act.statement].offset),
        function.name,
        f"{rule.title}: {first}, then {second}; {why}",
        rule.section,
        rule.mend,
        tuple(moments),
        readings=readings,
        ranges=tuple(_range(module, plan, one) for one in (race.first, race.second)),
    )


def _shown(plan: WalkPlan, threads: tuple[int, ...], access: BlockAccess) -> str:
    """Who accesses which bytes, and how."""
    at, name = _variable(plan, access)
    does = _SAYS[access.act.kind]
    return f"thread {threads[access.lane]} {does} bytes {access.low - at} to {access.high - at - 1} of {name}"


def _variable(plan: WalkPlan, access: BlockAccess) -> tuple[int, str]:
    """Where the variable of an access begins on the walk, and its name."""
    bases = [(at, name) for name, at in plan.steps.bases.items() if at <= access.low]
    return max(bases, default=(0, "shared memory"))


def _range(module: PtxModule, plan: WalkPlan, access: BlockAccess) -> MemoryRange:
    """The bytes of an access."""
    at, name = _variable(plan, access)
    place = module.place(plan.function.statements[access.act.statement].offset)
    what = "read" if access.act.kind in ("load", "drain") else "written"
    return MemoryRange(what, name, access.low - at, access.high - at - 1, place, "a walk with numbers")


def _moment(module: PtxModule, plan: WalkPlan, index: int, says: str) -> Moment:
    return Moment.of(module, plan.function.statements[index], says)
