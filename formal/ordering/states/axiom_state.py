"""The axioms' half of a joint state: all that the rules can ask about one earlier access of a location.

A *location* is one register or one buffer; here it is always r0 or s0. A hazard is between two accesses of
one location. Of the earlier access the rules need few facts: which threads synchronisation has reached since,
which mbarriers signal it, how many groups were committed since, whether a proxy fence followed. Each step
changes these facts in a way that depends on nothing else. So a program can be judged step by step, with one
state for each earlier access, and the program itself need not be kept.

Facts that no later step can ask about are dropped; that keeps the number of states finite. The state is None
once no later step can close a hazard with the access. Only rules with an effect on values count here.

A store over an earlier one is ordered after it, or that is a hazard itself. From then on the later store
answers for what the async proxy sees, and the earlier one no longer does.
"""

from __future__ import annotations

from typing import NamedTuple

from ....spec.ordering import Readings
from ..alphabet import LocationKind
from ..programs import (
    OTHER,
    WARPGROUP,
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    MmaShape,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
    Wait,
    WgmmaFence,
)

__all__ = [
    "FIRST_VALUE",
    "MOST_GROUPS",
    "AccessState",
    "BulkStoreAccess",
    "CompleteMmaRead",
    "LoadAccess",
    "OrdinaryAccess",
    "PendingBulkCopy",
    "PendingCpAsync",
    "PendingMma",
    "PendingMmaRead",
    "StoreAccess",
    "ThreadReach",
    "initial_state",
    "next_state",
    "visible_to",
]

MOST_GROUPS = 2  # groups are counted up to here: more than any wait of the alphabet leaves pending


class GroupCount(NamedTuple):
    """The groups committed since an mma, its own among them, and whether the next commit makes one more."""

    made: int = 0
    uncommitted: bool = True


class ThreadReach(NamedTuple):
    """How far synchronisation has come from a step.

    `threads`: it has reached the warpgroup, and the other thread. `barriers`: the mbarriers that signal it,
    as bits. `groups`: of the first mma since, while a wait for it could tell (under wait-scope=warpgroup
    only).
    """

    threads: tuple[bool, bool] = (False, False)
    barriers: int = 0
    groups: GroupCount | None = None


_EVERYWHERE = ThreadReach((True, True))
_OF_ONE_BUFFER = (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)


class OrdinaryAccess(NamedTuple):
    """An ordinary access of the register, and no wgmma.fence since; `first`: it gave the first value."""

    writes: bool
    first: bool = False


class PendingMma(NamedTuple):
    """A pending mma that uses the register: as accumulator of a shape, or (shape None) as A.

    `useless_wait`: the rule that says why the last wait since does not help.
    """

    shape: MmaShape | None
    groups: GroupCount = GroupCount()
    fenced: bool = False
    useless_wait: str = ""


class LoadAccess(NamedTuple):
    """A load of the buffer through the generic proxy."""

    thread: int
    reach: ThreadReach


class StoreAccess(NamedTuple):
    """A store to the buffer through the generic proxy, or a cp.async that was waited for.

    `own_fence`: how far synchronisation has come from the first proxy fence of its thread since; `fences`: by
    thread, from the first proxy fence there that comes after the store. `visible`: the async proxy sees the
    store from now on, or another store answers for it.
    """

    thread: int
    reach: ThreadReach
    own_fence: ThreadReach | None = None
    fences: tuple[ThreadReach | None, ThreadReach | None] = (None, None)
    visible: bool = False


class PendingCpAsync(NamedTuple):
    """A cp.async into the buffer that no wait covers yet, and the groups of its thread since."""

    thread: int
    groups: int = 0


class PendingBulkCopy(NamedTuple):
    """A bulk copy into the buffer, the threads that its completion has reached, mbarriers that signal it."""

    barrier: int
    threads: tuple[bool, bool] = (False, False)
    barriers: int = 0


class BulkStoreAccess(NamedTuple):
    """A bulk store of the buffer: the groups of its thread since, until a wait covers it; `drained` from then
    on, how far synchronisation has come from that wait.
    """

    thread: int
    groups: int = 0
    drained: ThreadReach | None = None


class PendingMmaRead(NamedTuple):
    """A pending mma that reads the buffer."""

    groups: GroupCount = GroupCount()


class CompleteMmaRead(NamedTuple):
    """An mma that has read the buffer, and how far synchronisation has come from the wait for it."""

    reach: ThreadReach


AccessState = (
    OrdinaryAccess
    | PendingMma
    | LoadAccess
    | StoreAccess
    | PendingCpAsync
    | PendingBulkCopy
    | BulkStoreAccess
    | PendingMmaRead
    | CompleteMmaRead
)
FIRST_VALUE = OrdinaryAccess(writes=True, first=True)


def initial_state(step: Step, kind: LocationKind) -> AccessState | None:
    """The state of a step's access of r0 (kind "register") or s0 ("buffer"); None: it does not access it."""
    operation, thread = step.operation, step.thread
    if kind == "register":
        if isinstance(operation, RegisterRead | RegisterWrite) and operation.register == 0:
            return OrdinaryAccess(isinstance(operation, RegisterWrite))
        if isinstance(operation, Mma) and operation.d == 0:
            return PendingMma(operation.shape)
        if isinstance(operation, Mma) and operation.a == Register(0):
            return PendingMma(None)
        return None
    if isinstance(operation, Mma):
        return PendingMmaRead() if 0 in operation.buffers else None
    if not isinstance(operation, _OF_ONE_BUFFER) or operation.buffer != 0:
        return None
    if isinstance(operation, BulkStore):
        return BulkStoreAccess(thread)
    if isinstance(operation, SharedRead):
        return LoadAccess(thread, ThreadReach((False, thread == OTHER)))
    if isinstance(operation, SharedWrite):
        return StoreAccess(thread, ThreadReach((False, thread == OTHER)))
    return PendingCpAsync(thread) if isinstance(operation, CpAsync) else PendingBulkCopy(operation.barrier)


def next_state(state: AccessState, step: Step, readings: Readings) -> AccessState | None:
    """The state of an access after one more step, which must close no hazard with it."""
    if isinstance(state, OrdinaryAccess):
        return None if isinstance(step.operation, WgmmaFence) else state
    if isinstance(state, PendingMma):
        return _next_pending_mma(state, step, readings)
    if isinstance(state, LoadAccess):
        reach = _extended(state.reach, state.thread, step, readings)
        return None if reach.threads == (True, True) else state._replace(reach=reach)
    if isinstance(state, StoreAccess):
        return _next_store(state, step, readings)
    if isinstance(state, PendingCpAsync):
        return _next_cp_async(state, step)
    if isinstance(state, PendingBulkCopy):
        return _next_bulk_copy(state, step)
    if isinstance(state, BulkStoreAccess):
        return _next_bulk_store(state, step, readings)
    for_all = readings["wait-scope"] == "warpgroup"
    if isinstance(state, PendingMmaRead):
        if _covered(state.groups, step):
            return CompleteMmaRead(ThreadReach((for_all, False)))
        return PendingMmaRead(_counted(state.groups, step, readings))
    reach = _extended(state.reach, WARPGROUP, step, readings, one_warp=for_all)
    return None if reach.threads == (True, True) else CompleteMmaRead(reach)


def _next_pending_mma(state: PendingMma, step: Step, readings: Readings) -> PendingMma | None:
    operation = step.operation
    if _covered(state.groups, step):
        return None
    if isinstance(operation, Wait):
        rule = "wait-too-shallow" if state.groups.made else "uncommitted-at-wait"
        state = state._replace(useless_wait=rule)
    if isinstance(operation, WgmmaFence) and readings["reshaped-accumulator"] == "fence":
        state = state._replace(fenced=True)
    return state._replace(groups=_counted(state.groups, step, readings))


def _next_store(state: StoreAccess, step: Step, readings: Readings) -> StoreAccess | None:
    operation, thread = step.operation, step.thread
    reach = _extended(state.reach, state.thread, step, readings)
    if isinstance(operation, SharedWrite | CpAsync) and operation.buffer == 0:
        state = state._replace(visible=True)  # the later store answers for it
    if not state.visible:
        own = state.own_fence and _extended(state.own_fence, state.thread, step, readings)
        fences = [
            one and _extended(one, who, step, readings, one_warp=True) for who, one in enumerate(state.fences)
        ]
        if isinstance(operation, ProxyFence):
            if thread == state.thread and own is None:
                own = ThreadReach((False, thread == OTHER))
            after_store = state.thread == thread == OTHER or reach.threads[thread]
            if readings["proxy-fence-side"] == "either" and after_store and fences[thread] is None:
                fences[thread] = ThreadReach((thread == WARPGROUP, thread == OTHER))
        state = state._replace(own_fence=own, fences=(fences[0], fences[1]))
    state = state._replace(reach=reach)
    if state.visible or all(visible_to(state, who) for who in (WARPGROUP, OTHER)):
        state = state._replace(own_fence=None, fences=(None, None), visible=True)
    return None if state.visible and state.reach.threads == (True, True) else state


def _next_cp_async(state: PendingCpAsync, step: Step) -> PendingCpAsync | StoreAccess:
    operation = step.operation
    if step.thread != state.thread:
        return state
    if isinstance(operation, CpAsyncCommit):
        return state._replace(groups=min(MOST_GROUPS, state.groups + 1))
    if isinstance(operation, CpAsyncWait) and state.groups > operation.n:
        return StoreAccess(state.thread, ThreadReach((False, state.thread == OTHER)))
    return state


def _next_bulk_store(state: BulkStoreAccess, step: Step, readings: Readings) -> BulkStoreAccess | None:
    operation = step.operation
    if state.drained is not None:
        reach = _extended(state.drained, state.thread, step, readings, one_warp=True)
        return None if reach.threads == (True, True) else state._replace(drained=reach)
    if step.thread != state.thread:
        return state
    if isinstance(operation, BulkCommit):
        return state._replace(groups=min(MOST_GROUPS, state.groups + 1))
    if isinstance(operation, BulkWait) and state.groups > operation.n:
        return BulkStoreAccess(state.thread, drained=ThreadReach((False, state.thread == OTHER)))
    return state


def _next_bulk_copy(state: PendingBulkCopy, step: Step) -> PendingBulkCopy | None:
    operation, thread = step.operation, step.thread
    threads, barriers = list(state.threads), state.barriers
    if isinstance(operation, CtaBarrier) and any(threads):
        return None
    if isinstance(operation, MbarrierArrive | BulkCopy) and threads[thread]:
        barriers |= 1 << operation.barrier
    elif isinstance(operation, MbarrierWait):
        threads[thread] |= operation.barrier == state.barrier or bool(barriers >> operation.barrier & 1)
    return None if all(threads) else PendingBulkCopy(state.barrier, (threads[0], threads[1]), barriers)


def _extended(
    reach: ThreadReach, origin: int, step: Step, readings: Readings, one_warp: bool = False
) -> ThreadReach:
    """How far synchronisation has come after one more step from what a thread (or one warp of it) did."""
    operation, thread = step.operation, step.thread
    threads, barriers, groups = list(reach.threads), reach.barriers, reach.groups
    if reach.threads == (True, True) or isinstance(operation, CtaBarrier):
        return _EVERYWHERE
    if isinstance(operation, MbarrierArrive | BulkCopy):
        # One elected thread starts a bulk copy: its program order is that of its own warp only.
        elected = isinstance(operation, BulkCopy) and thread == WARPGROUP and not one_warp
        if threads[thread] or (thread == origin and not elected):
            barriers |= 1 << operation.barrier
    elif isinstance(operation, MbarrierWait):
        threads[thread] |= bool(barriers >> operation.barrier & 1)
    if readings["wait-scope"] == "warpgroup" and origin == WARPGROUP and not threads[WARPGROUP]:
        if groups is not None and _covered(groups, step):
            threads[WARPGROUP], groups = True, None
        elif groups is not None:
            groups = _counted(groups, step, readings)
        elif isinstance(operation, Mma):
            groups = GroupCount()
    if all(threads):
        return _EVERYWHERE
    return ThreadReach((threads[0], threads[1]), barriers, None if threads[WARPGROUP] else groups)


def _covered(groups: GroupCount, step: Step) -> bool:
    """Whether the step waits for the mma that the groups are counted from."""
    return isinstance(step.operation, Wait) and groups.made > step.operation.n


def _counted(groups: GroupCount, step: Step, readings: Readings) -> GroupCount:
    """The groups after one more step."""
    if isinstance(step.operation, Mma):
        return groups._replace(uncommitted=True)
    if isinstance(step.operation, Commit):
        made = min(MOST_GROUPS, groups.made + groups.uncommitted)
        return GroupCount(made, readings["empty-groups"] == "count")
    return groups


def visible_to(state: StoreAccess, thread: int) -> bool:
    """A proxy fence stands between the store and an async access by a thread."""
    if state.visible:
        return True
    own = state.own_fence
    if own is not None and (state.thread == thread == OTHER or own.threads[thread]):
        return True
    return any(fence is not None and fence.threads[thread] for fence in state.fences)
