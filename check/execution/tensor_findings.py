"""Findings about accesses of tensor memory, and of what products with sums there read of shared memory: by an
execution of a kernel's threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, Moment, Undefined
from ..memory.tensor_places import TensorPlace
from ..registers.fetches import LoadsInFlight
from ..rules import rules
from ..values.block_threads import LARGEST_BLOCK, WARP, size_of
from ..walks.kernel_walks import KernelWalks
from ..walks.parameters import USUAL_SIZES
from ..walks.walk_plan import WalkPlan
from .access_records import warp_name
from .execution import Execution
from .operand_accesses import CommittedRead
from .phase_reports import PhaseReports
from .small_sizes import smaller_sizes
from .tensor_acts import Outside, RaceKey, TensorActs, TensorFault, TensorRace
from .timed_accesses import PhaseRace
from .warp_acts import Short
from .written_columns import Unwritten

__all__ = ["TensorOrder", "tensor_order"]

_RULES: dict[TensorFault, str] = {
    "early": "tensor-product-pending",
    "unfenced": "tensor-product-pending",
    "unreleased": "tensor-unfenced",
    "unacquired": "tensor-unfenced",
    "overwritten": "tensor-overwritten",
    "load-pending": "tensor-load-pending",
    "store-pending": "tensor-store-pending",
    "unordered": "tensor-store-pending",
    "freed": "tensor-freed",
    "unpipelined": "tensor-product-pending",
    "parallel": "tensor-product-pending",
    "stale": "tensor-outside",
}
_UNWRITTEN: Undefined = ((("unwritten-columns", "fault"),),)
_THREADS: Undefined = ((("thread-fences", "needed"),),)
_OPEN: Mapping[TensorFault, Undefined] = {
    "unfenced": ((("product-fence", "needed"),),),
    "unreleased": _THREADS,
    "unacquired": _THREADS,
    "freed": ((("freed-access", "undefined"),),),
}
_READ: Undefined = ((("load-read", "unordered"),),)
_FENCES = frozenset(("unfenced", "unreleased", "unacquired"))  # nothing else is missing
_LATER = frozenset(("early", "overwritten", "unpipelined", "stale"))  # what comes second comes too early
_LIKELY = frozenset(("load-pending", "store-pending", "unpipelined"))
_DOES = {
    "fetch": "loads",
    "tensor-store": "stores to",
    "tensor-multiply": "begins a product that accesses",
    "tensor-copy": "begins a copy into",
    "tensor-shift": "begins to shift",
    "deallocate": "deallocates",
}
_READS = {"fetch": "loads", "tensor-multiply": "begins a product that reads"}
_ADDS = "begins a product that adds to"
_NOUNS = {"tensor-multiply": "product", "tensor-copy": "copy", "tensor-shift": "shift"}
_PENDING = "no phase that this warp has waited for shows that the {first} is complete"
_UNORDERED = "no barrier, and no phase of an mbarrier, orders the two"
_WHY: dict[TensorFault, str] = {
    "early": _PENDING,
    "unfenced": "no fence for tensor memory stands behind the wait for the {first}",
    "unreleased": "no fence for tensor memory stands in the first warp before what orders the two",
    "unacquired": "no fence for tensor memory stands in the second warp behind what orders the two",
    "overwritten": _UNORDERED,
    "load-pending": "no wait for the load stands before what orders the two",
    "store-pending": "no wait for the store stands before what orders the two",
    "unordered": _UNORDERED,
    "freed": _UNORDERED,
    "unpipelined": _PENDING,
    "parallel": _UNORDERED,
    "stale": "no allocation stands between the two",
}


class TensorOrder(NamedTuple):
    """What is found about tensor memory, and about what its products read of shared memory. `judged`: the
    statements that some thread came to, of which it is known what they access; none, if some thread was not
    followed.
    """

    findings: Sequence[Finding] = ()
    judged: frozenset[int] = frozenset()


class _Found(NamedTuple):
    """What executions of one plan found: of tensor memory, and of what products read of shared memory.
    `judged`: as in TensorOrder. `each`: the warps of each of the blocks that were executed together; 0: there
    is one block.
    """

    races: dict[RaceKey, TensorRace]
    outside: dict[int, Outside]
    misplaced: dict[int, int]  # by statement: the warp
    operands: dict[tuple[str, int, int], PhaseRace]
    short: dict[int, Short]  # by product
    unwritten: dict[int, Unwritten]  # by statement
    judged: frozenset[int]
    each: int

    def also_in(self, others: Sequence[_Found]) -> _Found:
        """What others have found, too."""
        return _Found(
            {key: race for key, race in self.races.items() if all(key in one.races for one in others)},
            {at: found for at, found in self.outside.items() if all(at in one.outside for one in others)},
            {at: warp for at, warp in self.misplaced.items() if all(at in one.misplaced for one in others)},
            {key: race for key, race in self.operands.items() if all(key in one.operands for one in others)},
            {at: short for at, short in self.short.items() if all(at in one.short for one in others)},
            {at: read for at, read in self.unwritten.items() if all(at in one.unwritten for one in others)},
            self.judged.intersection(*(one.judged for one in others)),
            self.each,
        )


def tensor_order(walked: KernelWalks) -> TensorOrder:
    """One finding for each rule and each place where it is broken; none where the block's size is unknown,
    or something that may matter was not followed.
    """
    function = walked.code.function
    threads = size_of(function.threads or (0,))
    if not 0 < threads <= LARGEST_BLOCK:
        return TensorOrder()
    plan = walked.tensor_plan
    if walked.code.is_for_pairs or any(one.tells_several for one in walked.code.used):
        plans = [one.tensor_cluster_plan for one in walked.clusters]
        tried = [_executed(one, threads * one.steps.blocks) for one in plans]
        known = [one for one in tried if one is not None]
        if not known or len(known) < len(tried):
            return TensorOrder()
        plan, found = plans[0], known[0].also_in(known[1:])
    else:
        alone = _executed(plan, threads)
        if alone is None:
            return TensorOrder()
        found = alone
    # That nothing is allocated any more, concerns paths of single threads (memory/allocations.py).
    others = walked.code.doing("end-allocation") if found.judged else ()
    return TensorOrder(_findings(walked, plan, found), found.judged.union(others))


def _findings(walked: KernelWalks, plan: WalkPlan, found: _Found) -> Sequence[Finding]:
    """One finding for each rule and each place where executions of a plan found that it is broken."""
    told: dict[tuple[str, int], list[TensorRace]] = {}
    races = found.races.values()
    for race in sorted(races, key=lambda race: (race.what in _FENCES, race.doubtful, race.first)):
        name = _RULES[race.what]
        if race.what in _FENCES:
            key = name, -1
        else:
            culprit = race.second if race.what in _LATER else race.first
            key = name, walked.flow.block_of(culprit)
        told.setdefault(key, []).append(race)
    findings: list[Finding] = []
    if told:
        loads = LoadsInFlight(walked.code, walked.flow)
        findings += (_finding(walked, some, loads, found.each) for some in told.values())
    findings += _of_operands(walked, plan, found.operands.values())
    if found.short and not found.operands:
        reports = PhaseReports(walked.module, walked.code, plan)
        findings += (reports.short(found.short[at]) for at in sorted(found.short)[:1])
    if found.misplaced:
        findings.append(_misplaced(walked, found.misplaced, found.each))
    if found.unwritten:
        findings.append(_blank(walked, [found.unwritten[at] for at in sorted(found.unwritten)], found.each))
    if found.outside:
        findings.append(_outside(walked, [found.outside[at] for at in sorted(found.outside)], found.each))
    return findings


def _executed(plan: WalkPlan, threads: int) -> _Found | None:
    """What executions of so many threads find; None where one passed by something that may matter. What
    blocks of a cluster do together is doubtful; it was followed to the end, or is not judged.
    """
    function, in_cluster = plan.function, plan.steps.blocks > 1
    each = threads // WARP // plan.steps.blocks if in_cluster else 0
    found = _Found({}, {}, {}, {}, {}, {}, frozenset(), each)
    filled: set[int] = set()  # statements that read what was written, by some numbers
    unplaced: set[int] = set()
    sizes = [USUAL_SIZES]
    for size in sizes:
        acts = TensorActs(threads)
        run = Execution(plan, threads, size, acts)
        if run.skipped or (in_cluster and (run.halted or not run.followed)):
            return None
        found = found._replace(
            races=acts.races | found.races,
            outside=acts.outside | found.outside,
            misplaced=acts.misplaced | found.misplaced,
            short=_short(plan, acts) | found.short,
            unwritten=_unwritten(run, acts) | found.unwritten,
        )
        if run.followed and not (run.halted or acts.waits.astray):
            found = found._replace(judged=found.judged | acts.executed)
        unplaced |= acts.unplaced
        filled |= acts.written.filled()
        guessed = in_cluster or run.sizes.memory is not None or run.counted > 0 or not function.exact
        shown = not in_cluster or function.cluster is not None  # not of a cluster whose size is assumed
        for pair, one in acts.accesses.races.items() if shown else ():
            found.operands.setdefault(pair, replace(one, doubtful=one.doubtful or guessed))
        if len(sizes) == 1:
            sizes += run.endings
        sizes += smaller_sizes(plan, run)
    # What comes too early reads what is written later: the race says so.
    filled |= {
        at for race in found.races.values() if race.what not in _FENCES for at in (race.first, race.second)
    }
    unwritten = {at: one for at, one in found.unwritten.items() if at not in filled}
    return found._replace(unwritten=unwritten, judged=found.judged - unplaced)


def _unwritten(run: Execution, acts: TensorActs) -> dict[int, Unwritten]:
    """What statements read, though nothing was written there: nobody was lost who might have."""
    if not run.followed or run.halted:
        return {}
    return acts.written.products | (acts.written.loads() if run.is_complete else {})


def _short(plan: WalkPlan, acts: TensorActs) -> dict[int, Short]:
    """By product: the phases that expect as many bytes as products read in one block of a pair, where their
    copies bring as many to the other one; or, in a single block, no more than products read of each of them.
    What a tensor copy brings, the PTX does not show, and products may read rows that nobody needs; so no
    other numbers are compared.
    """
    found = {}
    for (address, phase), matrices in acts.accesses.brought.items():
        known = acts.mbarriers[address].bytes
        read = Counter[int]()
        for low, one in matrices.items():
            read[plan.steps.window_of(low)] += one.bytes
        expected = known[phase] if phase < len(known) else None
        of_one = plan.steps.blocks == 1 and _covers_one(acts, matrices.values(), expected or 0)
        if expected and (of_one or (len(read) > 1 and {*read.values()} == {expected})):
            product = min(one.statement for one in matrices.values())
            found[product] = Short(product, expected, read.total(), doubtful=True)
    return found


def _covers_one(acts: TensorActs, matrices: Iterable[CommittedRead], expected: int) -> bool:
    """Whether so many bytes are at most what products read of each of several copies, of which some bring one
    matrix of a product and some the other one, and in whose bytes no other one begins.
    """
    read, parts = Counter[int](), set[str]()
    for one in matrices:
        read[one.copy] += one.bytes
        parts.add(one.part)
    inside = (start < other < start + size for start, size in read.items() for other in acts.accesses.copied)
    return len(parts) > 1 and len(read) > 1 and expected <= min(read.values()) and not any(inside)


def _of_operands(walked: KernelWalks, plan: WalkPlan, races: Iterable[PhaseRace]) -> Iterator[Finding]:
    """One finding for each block that writes what products read of shared memory, or that multiplies what is
    written too early: its first race explains the others. `plan`: of the executions that found them.
    """
    reports = PhaseReports(walked.module, walked.code, plan)
    by_cause: dict[tuple[str, int], list[PhaseRace]] = {}
    for race in sorted(races, key=lambda race: race.doubtful):
        by_cause.setdefault((race.reads, walked.flow.block_of(race.first)), []).append(race)
    for some in by_cause.values():
        yield reports.race(some[0], len(some) - 1)


def _misplaced(walked: KernelWalks, warps: Mapping[int, int], each: int) -> Finding:
    """All accesses of lanes that only other warps reach."""
    first = min(warps)
    warp = warp_name(warps[first], each)
    says = f"{warp} {_DOES[walked.code[first].does]} lanes of another warp of its warpgroup"
    return _of_one(walked, "tensor-lanes", first, True, says, says, len(warps) - 1)


def _outside(walked: KernelWalks, accesses: Sequence[Outside], each: int) -> Finding:
    """All accesses of columns that are not allocated: most likely too few are."""
    one = min(accesses, key=lambda one: one.doubtful)
    warp = warp_name(one.warp, each)
    says = f"{warp} {_DOES[walked.code[one.statement].does]} {_columns(one.place)}"
    what = f"{says}, counted from the first that is allocated, and {one.allocated} are allocated"
    doubtful = one.doubtful or each > 0
    return _of_one(walked, "tensor-outside", one.statement, doubtful, what, says, len(accesses) - 1)


def _blank(walked: KernelWalks, reads: Sequence[Unwritten], each: int) -> Finding:
    """All reads of what was not written: the first product explains what comes of it."""
    one, code = reads[0], walked.code
    does = _ADDS if one.adds else _READS[code[one.statement].does]
    says = f"{warp_name(one.warp, each)} {does} {_columns(one.place)}"
    what = f"{says}, counted from the first that is allocated, and nothing has written there"
    finding = _of_one(walked, "tensor-unwritten", one.statement, True, what, says, len(reads) - 1)
    return replace(finding, readings=_UNWRITTEN)


def _columns(place: TensorPlace) -> str:
    return f"columns {place.low} to {place.high - 1}"


def _of_one(
    walked: KernelWalks, name: str, index: int, doubtful: bool, what: str, says: str, more: int
) -> Finding:
    """A finding about one statement."""
    statement, rule = walked.code.function.statements[index], rules()[name]
    return Finding(
        name,
        LIKELY if doubtful or not walked.code.function.exact else ERROR,
        walked.module.place(statement.offset),
        walked.code.function.name,
        f"{rule.title}: {what}",
        rule.section,
        rule.mend,
        (Moment.of(walked.module, statement, says),),
        more=more,
    )


def _readings(race: TensorRace, loads: LoadsInFlight) -> Undefined:
    """Under which readings of the text a race is undefined."""
    if race.what in _OPEN:
        return _OPEN[race.what]
    behind = race.released if race.released >= 0 else race.second
    if race.what == "load-pending" and race.first not in loads.before(behind):
        return _READ
    return EVERYWHERE


def _finding(walked: KernelWalks, races: Sequence[TensorRace], loads: LoadsInFlight, each: int) -> Finding:
    race = min(races, key=lambda race: _readings(race, loads) != EVERYWHERE)
    rule = rules()[_RULES[race.what]]
    code = walked.code
    statements = [code.function.statements[index] for index in (race.first, race.second)]
    says = [
        f"{warp_name(warp, each)} {_DOES[code[index].does]} {_columns(place)} of what is allocated"
        for warp, index, place in zip(race.warps, (race.first, race.second), race.places, strict=True)
    ]
    why = _WHY[race.what].format(first=_NOUNS.get(code[race.first].does, ""))
    likely = race.doubtful or race.what in _LIKELY or each > 0 or not code.function.exact
    return Finding(
        rule.name,
        LIKELY if likely else ERROR,
        walked.module.place(statements[1].offset),
        code.function.name,
        f"{rule.title}: {says[0]}, then {says[1]}; {why}",
        rule.section,
        rule.mend,
        tuple(Moment.of(walked.module, *one) for one in zip(statements, says, strict=True)),
        more=len({(one.first, one.second) for one in races}) - 1,
        readings=_readings(race, loads),
    )
