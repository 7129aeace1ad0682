"""The order of what a function does: each group of analyses is imported once a function needs it.

These analyses are most of the checker's modules. To import all of them takes as long as all else that `check`
does with a small file, which needs few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..spec.errors import Place
from ..spec.lazy_dataclass import dataclass
from .findings import ERROR, EVERYWHERE, LIKELY, Finding, surest
from .not_judged import RightBlock, UnjudgedAccesses, UnjudgedBarriers
from .ptx.decode import DecodedFunction, DecodedStatement
from .ptx.flow import Flow
from .ptx.operation import COPIES, DATA, ORDINARY, Operation, copies_both_ways
from .ptx.source import PtxModule
from .values.register_intervals import RegisterIntervals

if TYPE_CHECKING:
    from .execution.generic_findings import GenericFindings
    from .registers.register_events import FunctionEvents
    from .walks.kernel_walks import KernelWalks

__all__ = ["OrderOutcome", "check_order"]

_PRODUCT = "multiply"
_LANES = "warp-unsynchronised"
_PHASES = frozenset(("init", "await"))  # an mbarrier is made, or waited for
_PRIVATE = frozenset(("global", "param", "const", "local"))  # no matrix of a wgmma lies there
_APART = frozenset(("nothing", "move", _PRODUCT, "fence", "commit", "wait", "leave"))


@dataclass(frozen=True)
class OrderOutcome:
    """What is known of a function beside findings, by where statements stand in the text: those that whole
    warpgroups execute; one from which on barriers were not judged; one by which threads may meet in memory,
    if that is why their loads and stores were not judged; accesses of shared memory that were not judged for
    another reason; and one that only smaller blocks do rightly than there may be. `together`: the blocks of a
    cluster were executed together, all of their threads followed, and once to the end. `judged`: the
    statements about tensor memory of which the order was judged.
    """

    in_step: frozenset[int] = frozenset()
    unjudged_barriers: UnjudgedBarriers | None = None
    met_at: int | None = None
    unjudged_accesses: UnjudgedAccesses | None = None
    right_block: RightBlock | None = None
    together: bool = False
    judged: frozenset[int] = frozenset()


def check_order(
    module: PtxModule, code: DecodedFunction, whole: DecodedFunction, flow: Flow, values: RegisterIntervals
) -> Generator[Finding, None, OrderOutcome]:
    """Findings about the order of what a function does. `whole` has the bodies that it calls in the place of
    the calls, and `flow` and `values` are about that.
    """
    operations = whole.used
    does = {operation.does for operation in operations}
    if does & (COPIES | {_PRODUCT}):
        from ..spec.ordering import ordering

        ordering()  # rules that are wrong are refused, also where they would find nothing
    if "fetch" in does:
        from .registers.fetches import fetch_findings

        yield from fetch_findings(module, whole, flow)
    if "allocate" in does:
        from .memory.allocations import allocation_findings

        yield from allocation_findings(module, whole, flow, values)
    if "bulk-copy" in does:
        from .memory.unwaited_stores import unwaited_stores

        yield from unwaited_stores(module, whole, flow)
    if _PRODUCT in does:
        from .registers.register_events import FunctionEvents

        events = FunctionEvents(whole)
        yield from _register_order(module, code, flow, events)
        if len(flow.blocks) > 1 or not all(map(_leaves_shared_memory, operations)):
            from .walks.kernel_walks import KernelWalks

            walked = KernelWalks(module, whole, flow)
            found = _with_rings(walked, partial(_shared_order, values, events))
            yield from _without_lanes(found.findings)
            return found.outcome
    elif (
        any(operation.instruction is not None for operation in operations)
        or does & (COPIES | _PHASES)
        or any(map(_names_mbarrier, whole))
    ):
        phased = _has_phases(whole)
        if not (phased or does & (COPIES | _PHASES) or _is_shared(operations)):
            return OrderOutcome()
        from .walks.kernel_walks import KernelWalks

        walked = KernelWalks(module, whole, flow)
        found = _with_rings(walked, _phased_order if phased else _unphased_order)
        yield from _without_lanes(found.findings)
        return found.outcome
    return OrderOutcome()


def _with_rings(walked: KernelWalks, judge: Callable[[KernelWalks], _Ordered]) -> _Ordered:
    """What is found; where parameters say how long rings are, what is found with each of some lengths. If the
    usual numbers do not show it, it is doubtful: nobody says that a host passes these.
    """
    names: Sequence[str] = ()
    if walked.code.doing("init"):
        from .execution.ring_lengths import ring_lengths, ring_parameters

        names = ring_parameters(walked.plan)
    if not names:
        return judge(walked)
    first, *others = (
        walked.with_numbers(dict.fromkeys(names, length)) for length in ring_lengths(walked.plan)
    )
    found = judge(first)
    in_each = set(map(_named, found.findings))
    for one in others:
        if in_each:
            in_each &= set(map(_named, judge(one).findings))
    known = {_named(one): one for one in judge(walked).findings} if in_each else {}
    findings = [
        known.get(_named(one), replace(one, tier=LIKELY) if one.tier == ERROR else one)
        for one in found.findings
        if _named(one) in in_each
    ]
    return found._replace(findings=findings)


def _named(finding: Finding) -> tuple[str, Place]:
    """What the same finding has with other numbers of parameters, too."""
    return finding.rule, finding.place


def _unphased_order(walked: KernelWalks) -> _Ordered:
    return _with_tensors(walked, _access_order(walked))


def _phased_order(walked: KernelWalks) -> _Ordered:
    from .execution.guessed_blocks import guessed_findings
    from .execution.phase_executions import PhaseExecutions
    from .execution.phase_findings import PhaseFindings

    shown = PhaseExecutions(walked)
    shown.execute()
    guessed = guessed_findings(walked)
    accesses = _access_order(walked)
    findings = (*PhaseFindings(shown), *guessed.findings, *accesses.findings)
    outcome = _outcome(shown.unjudged_barriers or guessed.unjudged_barriers, accesses)
    outcome = replace(outcome, together=shown.clusters_followed)
    if guessed.right_block is not None:
        outcome = replace(outcome, right_block=guessed.right_block)
    return _with_tensors(walked, _Ordered(findings, outcome))


def _has_phases(code: DecodedFunction) -> bool:
    """Whether threads wait for phases of mbarriers, at barriers that others may pass by, or at several."""
    meetings = [code[index] for index in code.doing("meet")]
    barriers = {one.barrier_name for one in meetings}
    if any(one.operation.action.barrier == "cluster" for one in meetings):
        return True
    return len(barriers - {None}) > 1 or any(
        statement.operation.has_phases(len(statement.operands)) or _names_mbarrier(statement)
        for statement in code
    )


class _Ordered(NamedTuple):
    """What is found about the order of what threads do; and what else is known of it."""

    findings: Sequence[Finding]
    outcome: OrderOutcome = OrderOutcome()


def _outcome(
    barriers: UnjudgedBarriers | None, accesses: _Ordered, in_step: frozenset[int] = frozenset()
) -> OrderOutcome:
    """What is known beside findings. Where nobody gets past a barrier, that is all that is said."""
    unjudged = accesses.outcome.unjudged_accesses if barriers is None else None
    return replace(accesses.outcome, in_step=in_step, unjudged_barriers=barriers, unjudged_accesses=unjudged)


def _access_order(walked: KernelWalks) -> _Ordered:
    code = walked.code
    generic: tuple[Finding, ...] = ()
    outcome = OrderOutcome()
    if _is_shared(code.used):
        from .execution.generic_findings import GenericFindings

        found = GenericFindings(walked)
        generic = tuple(found)
        outcome = _outcome_of(code, found)
        if found.clears:
            return _Ordered(generic, outcome)
    if not any(operation.does in COPIES for operation in code.used):
        return _Ordered(generic, outcome)
    from .walks.block_findings import block_findings

    return _Ordered((*block_findings(walked), *generic), outcome)


def _without_lanes(findings: Sequence[Finding]) -> Sequence[Finding]:
    """All but those about lanes of a warp where other threads do the same: one barrier mends both."""
    others = (one for one in findings if one.rule != _LANES and one.readings == EVERYWHERE)
    told = {one.place for one in others if one.tier in (ERROR, LIKELY)}
    return [one for one in findings if one.rule != _LANES or one.place not in told]


def _outcome_of(code: DecodedFunction, found: GenericFindings) -> OrderOutcome:
    """What the executions of loads and stores of shared memory say beside findings."""
    if found.met_at is not None:
        met_at = code.function.statements[found.met_at].offset
        return OrderOutcome(met_at=met_at, right_block=found.right_block)
    return OrderOutcome(unjudged_accesses=found.unjudged, right_block=found.right_block)


def _with_tensors(walked: KernelWalks, found: _Ordered) -> _Ordered:
    """The same, and what is found about tensor memory, and about what its products read of shared memory."""
    from .memory.tensor_places import TENSOR_ACTIONS

    if all(operation.does not in TENSOR_ACTIONS for operation in walked.code.used):
        return found._replace(findings=surest(found.findings))
    from .execution.tensor_findings import tensor_order

    tensors, code = tensor_order(walked), walked.code
    judged = frozenset(code.function.statements[at].offset for at in tensors.judged)
    return _Ordered(surest((*found.findings, *tensors.findings)), replace(found.outcome, judged=judged))


def _is_shared(operations: Iterable[Operation]) -> bool:
    """Whether threads store and load shared memory by themselves; or copy into it by themselves; or do one
    beside bulk copies, bulk stores or mbarriers; or whether there are both of these.
    """
    operations = list(operations)
    does = {op.does for op in operations if op.space == "shared" or op.does in ("bulk-copy", "init")}
    if not does.isdisjoint(("allocate", "update")):
        does.add("store")  # of the address that is allocated, or of what is updated
    ordinary = does & ORDINARY
    if ordinary == ORDINARY or "copy" in does or ({"bulk-copy", "init"} & does and ordinary):
        return True
    return copies_both_ways(operations)


def _leaves_shared_memory(operation: Operation) -> bool:
    """Whether an instruction neither writes shared memory, nor orders or parts threads: then the matrices of
    wgmmas were written before the function, and all of its threads go one way.
    """
    if operation.does in DATA:
        return operation.space in _PRIVATE
    return operation.does in _APART and not operation.is_unknown


def _names_mbarrier(statement: DecodedStatement) -> bool:
    """Whether a statement arrives at an mbarrier or waits for it, or its bulk copy completes bytes there."""
    return statement.does != "init" and statement.barrier is not None


def _register_order(
    module: PtxModule, code: DecodedFunction, flow: Flow, events: FunctionEvents
) -> Iterator[Finding]:
    from .advice import advice
    from .registers.collisions import order_findings

    ordered = list(order_findings(module, events.code.function, flow, events))
    yield from ordered
    yield from advice(module, code, ordered)


def _shared_order(values: RegisterIntervals, events: FunctionEvents, walked: KernelWalks) -> _Ordered:
    from .execution.guessed_blocks import guessed_findings
    from .execution.phase_executions import PhaseExecutions
    from .execution.phase_findings import PhaseFindings
    from .memory.proxy_findings import proxy_findings
    from .walks.stages import stage_findings, stages_are_stored, stages_are_written

    module, code, flow = walked.module, walked.code, walked.flow
    shown = PhaseExecutions(walked)
    shown.execute()
    phases = PhaseFindings(shown)
    proxies = list(proxy_findings(module, code, flow, values, walked.replayed, phases.unfenced))
    walks = stages_are_written(code) and (not shown.clears or stages_are_stored(code))
    stages = list(stage_findings(module, code, flow, events, walked)) if walks else []
    certain = [one for one in proxies if one.tier == ERROR and one.readings == EVERYWHERE]
    phases.told = tuple(certain)
    accesses = _access_order(walked)
    rest = (
        *(one for one in proxies if one not in certain),
        *stages,
        *accesses.findings,
    )
    others = [finding for finding in rest if not phases.settles(finding)]
    loud = any(finding.tier in (ERROR, LIKELY) for finding in (*certain, *others))
    guessed = () if loud else guessed_findings(walked).findings
    findings = surest((*certain, *phases, *guessed, *others))
    return _Ordered(findings, _outcome(shown.unjudged_barriers, accesses, shown.in_step()))
