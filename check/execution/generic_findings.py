"""Findings about ordinary loads, and the stores and bulk copies that no barrier orders with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..findings import ERROR, LIKELY, Finding, MemoryRange, Moment
from ..rules import rules
from ..values.block_threads import LARGEST_BLOCK, WARP, size_of
from ..walks.kernel_walks import KernelWalks
from ..walks.walk_plan import WalkPlan
from .execution import Execution
from .generic_accesses import GenericActs, GenericRace

__all__ = ["generic_findings"]

_SIZES = (1024, 7)  # numbers for parameters: with the second, loops end
_OTHER_SIZES = (4096, 160)  # with these, too, what lies where a parameter says must meet
_ROUNDS = 3  # of a loop: in the third, what two stages hold is accessed again
_DOES = {"load": "reads", "store": "writes", "bulk-copy": "starts a bulk copy into"}


def generic_findings(walked: KernelWalks) -> Iterator[Finding]:
    """The loads, and the stores and bulk copies of other warps, that nothing orders: one finding for each
    place.
    """
    code = walked.code
    if code.function.threads is None:
        return
    threads = size_of(code.function.threads)
    if not WARP < threads <= LARGEST_BLOCK:
        return
    plan = walked.reading_plan
    if plan.meets_in_memory:
        return
    races: dict[tuple[int, int], GenericRace] = {}
    executions: list[Execution] = []
    for size in _SIZES:
        found = _execute(plan, threads, size)
        executions.append(found)
        races = _races(found) | races
        if not found.paused:
            break
    if any(race.placed for race in races.values()):
        executions += (_execute(plan, threads, size) for size in _OTHER_SIZES)
        races = {key: race for key, race in races.items() if not _is_cleared(race, plan, executions)}
    told: set[int] = set()
    for race in sorted(races.values(), key=lambda race: (race.doubtful, race.second)):
        block = walked.flow.block_of(race.second)
        if block not in told:
            told.add(block)
            yield _finding(walked, race)


def _execute(plan: WalkPlan, threads: int, size: int) -> Execution:
    return Execution(plan, threads, size, GenericActs(threads), _ROUNDS)


def _races(found: Execution) -> dict[tuple[int, int], GenericRace]:
    assert isinstance(found.acts, GenericActs)
    return found.acts.races


def _is_cleared(race: GenericRace, plan: WalkPlan, executions: Iterable[Execution]) -> bool:
    """Whether accesses that a parameter places lie apart with one number of it: hosts pass what fits."""
    blocks = {plan.flow.block_of(race.first), plan.flow.block_of(race.second)}
    return race.placed and any(
        blocks <= found.together.keys() and (race.first, race.second) not in _races(found)
        for found in executions
    )


def _finding(walked: KernelWalks, race: GenericRace) -> Finding:
    does = [walked.code[index].does for index in (race.first, race.second)]
    copied = does[0] == "bulk-copy"
    name = "copy-incomplete" if copied else "shared-unsynchronised"
    why = (
        "no phase that this warp knows to have ended completes the copy"
        if copied
        else "no barrier orders the two"
    )
    rule = rules()[name]
    region = walked.steps.in_variable(race.region)
    statements = [walked.code.function.statements[index] for index in (race.first, race.second)]
    places = [walked.module.place(statement.offset) for statement in statements]
    says = [
        f"warp {warp} {_DOES[what]} bytes {region.low} to {region.high - 1} of {region.variable}"
        for warp, what in zip(race.warps, does, strict=True)
    ]
    return Finding(
        name,
        LIKELY if race.doubtful or not walked.code.function.exact else ERROR,
        places[1],
        walked.code.function.name,
        f"{rule.title}: {says[0]}, then {says[1]}; {why}",
        rule.section,
        rule.mend,
        tuple(
            Moment(place, statement.opcode, said)
            for place, statement, said in zip(places, statements, says, strict=True)
        ),
        ranges=tuple(
            MemoryRange(
                "read" if what == "load" else "written",
                region.variable,
                region.low,
                region.high - 1,
                place,
                "an execution",
            )
            for what, place in zip(does, places, strict=True)
        ),
    )
