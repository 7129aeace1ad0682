"""The rules that one more step breaks with an earlier access, by the state of that access alone."""

from __future__ import annotations

from ....spec.ordering import Readings, ordering
from ..programs import (
    OTHER,
    BlockEnd,
    BulkCopy,
    BulkStore,
    CpAsync,
    Mma,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
)
from .axiom_state import (
    AccessState,
    BulkStoreAccess,
    CompleteMmaRead,
    LoadAccess,
    OrdinaryAccess,
    PendingBulkCopy,
    PendingCpAsync,
    PendingMma,
    PendingMmaRead,
    StoreAccess,
    visible_to,
)

__all__ = ["broken_rules"]


def broken_rules(state: AccessState, step: Step, readings: Readings) -> frozenset[str]:
    """The rules with an effect on values that the step breaks with the access."""
    if isinstance(state, OrdinaryAccess):
        return frozenset(_broken_unfenced(state, step))
    if isinstance(state, PendingMma):
        return frozenset(_broken_pending(state, step, readings))
    if isinstance(step.operation, BlockEnd):
        pending = isinstance(state, BulkStoreAccess) and state.drained is None
        unwaited = pending and readings["unwaited-store"] == "must"
        return frozenset({"bulk-store-unwaited"}) if unwaited else frozenset()
    rule = _broken_in_memory(state, step)
    return frozenset((rule,) if rule else ())


def _broken_unfenced(state: OrdinaryAccess, step: Step) -> tuple[str, ...]:
    mma = step.operation
    if not isinstance(mma, Mma):
        return ()
    if state.first:
        return ("first-fence",)
    uses = mma.d == 0 or (state.writes and mma.a == Register(0))
    return ("register-fence",) if uses else ()


def _broken_pending(state: PendingMma, step: Step, readings: Readings) -> tuple[str, ...]:
    operation = step.operation
    rule = ""
    if isinstance(operation, RegisterRead | RegisterWrite) and operation.register == 0:
        if state.shape is not None:
            rule = "accumulator-in-flight"
        elif isinstance(operation, RegisterWrite):
            rule = "a-written-in-flight"
    elif isinstance(operation, Mma) and operation.d == 0:
        if state.shape is None:
            rule = "a-as-accumulator"
        else:
            fields = ordering().same_shape(readings)
            alike = all(getattr(state.shape, name) == getattr(operation.shape, name) for name in fields)
            rule = "" if alike or state.fenced else "accumulator-reshaped"
    elif isinstance(operation, Mma) and operation.a == Register(0) and state.shape is not None:
        rule = "accumulator-as-a"
    if not rule:
        return ()
    return (rule, state.useless_wait) if state.useless_wait else (rule,)


def _broken_in_memory(state: AccessState, step: Step) -> str | None:
    operation, thread = step.operation, step.thread
    of_one_buffer = (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)
    accesses = isinstance(operation, of_one_buffer) and operation.buffer == 0
    reads = isinstance(operation, SharedRead | Mma | BulkStore)
    if not accesses and not (isinstance(operation, Mma) and 0 in operation.buffers):
        return None
    if isinstance(state, PendingMmaRead):
        return None if reads else "shared-overwritten"
    if isinstance(state, CompleteMmaRead):
        return None if reads or state.reach.threads[thread] else "shared-overwritten"
    if isinstance(state, BulkStoreAccess):
        own = state.thread == thread and (thread == OTHER or isinstance(operation, BulkCopy))
        drained = state.drained is not None and (own or state.drained.threads[thread])
        return None if reads or drained else "bulk-store-pending"
    if isinstance(state, PendingCpAsync):
        return "copy-incomplete"
    if isinstance(state, PendingBulkCopy):
        return None if state.threads[thread] else "copy-incomplete"
    assert isinstance(state, LoadAccess | StoreAccess)
    ordered_in_all_warps = state.thread == thread == OTHER or state.reach.threads[thread]
    if isinstance(state, LoadAccess):
        return None if reads or ordered_in_all_warps else "shared-unsynchronised"
    if isinstance(operation, SharedWrite | CpAsync):
        ordered = ordered_in_all_warps or state.thread == thread
        return None if ordered else "shared-unsynchronised"
    if not ordered_in_all_warps:
        return None if state.visible and isinstance(operation, Mma | BulkStore) else "shared-unsynchronised"
    if isinstance(operation, SharedRead) or visible_to(state, thread):
        return None
    if isinstance(operation, BulkStore):
        return "bulk-store-fence"
    return "proxy-fence-copy" if isinstance(operation, BulkCopy) else "proxy-fence"
