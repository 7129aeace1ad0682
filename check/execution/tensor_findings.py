"""Findings about accesses of tensor memory that nothing orders, by an execution of a kernel's threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, Moment, Undefined
from ..registers.fetches import LoadsInFlight
from ..rules import rules
from ..walks.kernel_walks import KernelWalks
from ..walks.parameters import AssumedSizes
from .assumed_paths import LAST_ROUNDS
from .execution import Execution
from .tensor_acts import TensorActs, TensorFault, TensorRace

__all__ = ["tensor_findings"]

_SIZE = 1024  # the number for parameters; then one with which a loop of many rounds ends
_ROUNDS = 3  # of a loop: in the third, what two accumulators hold is written again
_MOST_THREADS = 1024
_RULES: dict[TensorFault, str] = {
    "early": "tensor-product-pending",
    "unfenced": "tensor-product-pending",
    "overwritten": "tensor-overwritten",
    "load-pending": "tensor-load-pending",
    "store-pending": "tensor-store-pending",
    "unordered": "tensor-store-pending",
}
_FENCED: Undefined = ((("product-fence", "needed"),),)
_READ: Undefined = ((("load-read", "unordered"),),)
_DOES = {
    "fetch": "loads",
    "tensor-store": "stores to",
    "tensor-multiply": "begins a product that accesses",
}
_WHY: dict[TensorFault, str] = {
    "early": "no phase that this warp has waited for shows that the product is complete",
    "unfenced": "no fence for tensor memory stands behind the wait for the product",
    "overwritten": "no barrier, and no phase of an mbarrier, orders the two",
    "load-pending": "no wait for the load stands before what orders the two",
    "store-pending": "no wait for the store stands before what orders the two",
    "unordered": "no barrier, and no phase of an mbarrier, orders the two",
}


def tensor_findings(walked: KernelWalks) -> Sequence[Finding]:
    """One finding for each rule and each place where it is broken; none where the block's size is unknown,
    or something that may matter was not followed.
    """
    function = walked.code.function
    threads = prod(function.threads or (0,))
    if not 0 < threads <= _MOST_THREADS or any(one.tells_several for one in walked.code.used):
        return ()
    races: dict[tuple[TensorFault, int, int], TensorRace] = {}
    sizes = [AssumedSizes(_SIZE)]
    for size in sizes:
        last = len(sizes) > 1
        acts = TensorActs(threads)
        found = Execution(walked.tensor_plan, threads, size, acts, LAST_ROUNDS + 1 if last else _ROUNDS)
        if found.skipped:
            return ()
        races = acts.races | races
        if not last:
            sizes += found.endings
    if not races:
        return ()
    told: dict[tuple[str, int], list[TensorRace]] = {}
    for race in sorted(races.values(), key=lambda race: (race.what == "unfenced", race.doubtful, race.first)):
        name = _RULES[race.what]
        if race.what == "unfenced":
            key = name, -1
        else:
            culprit = race.second if race.what in ("early", "overwritten") else race.first
            key = name, walked.flow.block_of(culprit)
        told.setdefault(key, []).append(race)
    loads = LoadsInFlight(walked.code, walked.flow)
    return [_finding(walked, some, loads) for some in told.values()]


def _readings(race: TensorRace, loads: LoadsInFlight) -> Undefined:
    """Under which readings of the text a race is undefined."""
    if race.what == "unfenced":
        return _FENCED
    behind = race.released if race.released >= 0 else race.second
    if race.what == "load-pending" and race.first not in loads.before(behind):
        return _READ
    return EVERYWHERE


def _finding(walked: KernelWalks, races: Sequence[TensorRace], loads: LoadsInFlight) -> Finding:
    race = min(races, key=lambda race: _readings(race, loads) != EVERYWHERE)
    rule = rules()[_RULES[race.what]]
    code = walked.code
    statements = [code.function.statements[index] for index in (race.first, race.second)]
    places = [walked.module.place(one.offset) for one in statements]
    columns = f"columns {race.place.low} to {race.place.high - 1} of what is allocated"
    says = [
        f"warp {warp} {_DOES[code[index].does]} {columns}"
        for warp, index in zip(race.warps, (race.first, race.second), strict=True)
    ]
    likely = race.doubtful or race.what in ("load-pending", "store-pending") or not code.function.exact
    return Finding(
        rule.name,
        LIKELY if likely else ERROR,
        places[1],
        code.function.name,
        f"{rule.title}: {says[0]}, then {says[1]}; {_WHY[race.what]}",
        rule.section,
        rule.mend,
        tuple(
            Moment(place, statement.opcode, said)
            for place, statement, said in zip(places, statements, says, strict=True)
        ),
        more=len({(one.first, one.second) for one in races}) - 1,
        readings=_readings(race, loads),
    )
