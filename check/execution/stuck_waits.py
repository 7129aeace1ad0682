"""Which waits of an execution never end?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import partial

from ...spec.lazy_dataclass import dataclass
from ..walks.walk_plan import WalkPlan
from .assumed_paths import AssumedPaths
from .deciding_numbers import deciding_numbers
from .helping_acts import HelpingActs
from .thread_groups import ThreadGroup
from .warp_acts import WarpActs
from .warps import GroupWait

__all__ = ["Stuck", "stuck_waits"]


@dataclass(frozen=True)
class Stuck:
    """A wait that never ends: its kind (of GroupWait), statement, barrier and phase, and what it lacks.
    `excused`: with the numbers that are assumed, and maybe not with others; `shown` are several of them.
    `late`: in a thread that comes late; one that comes early does not wait at all. `within`: no other block
    of a cluster can end it. `awaits_bytes`: it stands behind a wait for bytes, which others may bring;
    `awaits_some`: or for arrivals of which the PTX does not show that every block sends as many.
    """

    kind: str
    statement: int
    barrier: int
    phase: int
    pending: int
    lacks_bytes: bool
    doubtful: bool
    excused: bool = False
    shown: tuple[int, ...] = ()
    late: bool = False
    within: bool = False
    awaits_bytes: bool = False
    awaits_some: bool = False


def stuck_waits(
    plan: WalkPlan,
    acts: WarpActs,
    assumed: AssumedPaths,
    waits: Sequence[tuple[ThreadGroup, GroupWait]],
    executed: Set[int],
) -> Iterator[Stuck]:
    """The waits that are left where no group can go on, but for those that other numbers may well end.
    `executed` are the blocks that threads have come to.
    """
    if not waits:
        return
    waits = [(group, _settled(plan, acts, wait, executed)) for group, wait in waits]
    helping = HelpingActs(
        plan, acts, [wait for _, wait in waits], executed, assumed.gone_round, _partners(waits)
    )
    passed = {wait: helping.passed(assumed.passed_by, wait) for _, wait in waits}

    def is_sure(wait: GroupWait) -> bool:
        return wait.kind == "init" and _is_surely_uninitialised(plan, acts, wait, executed)

    def is_assumed(wait: GroupWait) -> bool:
        return not is_sure(wait) and (bool(passed[wait]) or _is_assumed(acts, assumed, wait, helping))

    opened = helping.freed(partial(_is_open, plan, acts))
    assumptions = helping.freed(is_assumed)
    reached = helping.freed(lambda wait: wait.kind == "phase" or wait.barrier < 0)
    brought = helping.freed(partial(_lacks_bytes, acts), True)
    sent = helping.freed(
        lambda wait: _lacks_bytes(acts, wait) or helping.is_for_some(wait, assumed.placed), True
    )
    every = zip(waits, opened, assumptions, reached, brought, sent, strict=True)
    for (group, wait), is_open, excused, others, of_bytes, of_some in every:
        if is_open and not (wait.kind == "init" and _is_past_inits(plan, executed)):
            continue
        if wait.kind == "lanes" or (wait.kind == "meet" and wait.barrier < 0):
            continue  # other waits explain these
        excused = excused and not is_sure(wait)
        if excused and not _is_shown(acts, assumed, group, wait, passed[wait]):
            continue
        lacks = 0, False
        if wait.kind == "phase":
            barrier = acts.mbarriers[wait.barrier]
            lacks = barrier.pending, barrier.lacks_bytes
        elif wait.kind == "meet":
            lacks = acts.meetings.named[wait.barrier].missing, False
        yield Stuck(
            wait.kind,
            wait.statement,
            wait.barrier,
            wait.phase,
            *lacks,
            group.doubtful or wait.kind == "invalid" or (wait.late and bool(plan.meetings)),
            excused,
            late=wait.late,
            within=not others,
            awaits_bytes=of_bytes,
            awaits_some=of_some,
        )


def _partners(waits: Sequence[tuple[ThreadGroup, GroupWait]]) -> dict[int, list[int]]:
    """By the place of a wait for lanes: those of the waits in which lanes of the same warp are."""
    return {
        place: [
            other for other, (group, _) in enumerate(waits) if other != place and wait.barrier in group.warps
        ]
        for place, (_, wait) in enumerate(waits)
        if wait.kind == "lanes"
    }


def _is_past_inits(plan: WalkPlan, executed: Set[int]) -> bool:
    """Whether threads have come to every statement that initialises an mbarrier."""
    inits = (index for index in plan.roles if plan.code.operation(index).does == "init")
    return executed >= set(map(plan.flow.block_of, inits))


def _settled(plan: WalkPlan, acts: WarpActs, wait: GroupWait, executed: Set[int]) -> GroupWait:
    """A wait for an init that an assumed number might have brought, and none can, as one for an init."""
    if wait.kind == "unknown" and _is_surely_uninitialised(plan, acts, wait, executed):
        return replace(wait, kind="init")
    return wait


def _is_surely_uninitialised(plan: WalkPlan, acts: WarpActs, wait: GroupWait, executed: Set[int]) -> bool:
    """Whether no other numbers bring the init that a wait lacks: threads have come to every init, and neither
    where these are nor where the wait is depends on an assumed number. An mbarrier lies behind it, so the
    wait has not left the mbarriers.
    """
    inits = [index for index in plan.roles if plan.code.operation(index).does == "init"]
    if wait.barrier > max(acts.mbarriers, default=0) or not _is_past_inits(plan, executed):
        return False
    if any(plan.loops.around.get(plan.flow.block_of(index)) for index in inits):
        return False
    bases = {name for at in (*inits, wait.statement) for name in plan.steps.addressed(plan.steps.step(at))}
    guards = {plan.steps.step(at).guard for at in inits}
    needed = {name for name in bases | guards if isinstance(name, str)}
    return not deciding_numbers(plan, needed)


def _is_open(plan: WalkPlan, acts: WarpActs, wait: GroupWait) -> bool:
    """Whether a wait may be over, so that what others wait for may happen: the text counts a warp's threads
    as one (9.7.13.1), but at the cluster's barrier, which completes when all threads that have not exited
    have arrived (9.7.13.3); and a thread that finds a phase incomplete may do other things before it tries
    again.
    """
    if wait.kind == "meet":
        meeting = acts.meetings.named[wait.barrier]
        return (meeting.divided and wait.barrier >= 0) or bool(meeting.unequal)
    return wait.kind == "unknown" or (wait.kind == "phase" and not plan.tries_again(wait.statement))


def _lacks_bytes(acts: WarpActs, wait: GroupWait) -> bool:
    """Whether a wait for a phase lacks bytes."""
    return wait.kind == "phase" and acts.mbarriers[wait.barrier].lacks_bytes


def _is_assumed(acts: WarpActs, assumed: AssumedPaths, wait: GroupWait, helping: HelpingActs) -> bool:
    """Whether what a wait lacks may come with other numbers of parameters, by which loops go on."""
    if wait.kind in ("init", "invalid", "arrival", "unknown", "lanes"):
        return wait.kind == "unknown"
    if wait.kind == "meet":
        return assumed.may_bring(acts.meetings.named[wait.barrier].changed_at)
    barrier = acts.mbarriers[wait.barrier]
    return assumed.may_bring(barrier.changed_at, helping.brings(wait))


def _is_shown(
    acts: WarpActs, assumed: AssumedPaths, group: ThreadGroup, wait: GroupWait, helping: Set[str]
) -> bool:
    """Whether the numbers that are assumed may show that a wait for a phase never ends."""
    if wait.kind != "phase":
        return False
    return assumed.is_shown(wait.statement, acts.mbarriers[wait.barrier].changed_at, helping, group.rounds)
