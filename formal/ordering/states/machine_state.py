"""The machine's half of a joint state: what the machine can still do while one effect is delayed.

Take two effects on one cell, one of an earlier and one of a later step, of which at least one writes. If they
can happen in either order, the program has two schedules with different results. (`machine.py` says what
effects, cells and streams are.) To find out, delay the earlier effect for as long as possible and let
everything else go on: does the later effect still happen? Then it *overtakes* the delayed one.

While an effect is delayed, streams stop: at a step that waits for the effect, or that waits for another
stopped stream. What can still happen depends on a few facts: which streams have stopped, which mbarriers lack
a signal, and how many groups ago something was left undone. Each step changes these facts in a way that
depends on nothing else. The state is None once no later step can overtake the effect.

The location is r0 or s0, the location of the joint state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....spec.switches import Conduct
from ..alphabet import LocationKind
from ..programs import (
    OTHER,
    BlockEnd,
    Buffer,
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
    StepOperation,
    Wait,
    WgmmaFence,
)

__all__ = [
    "MOST_GROUPS",
    "DelayedInBuffer",
    "DelayedInRegister",
    "can_overtake",
    "delayed_effects",
    "delayed_first_value",
    "next_delayed",
]

MOST_GROUPS = 2  # groups are counted up to here: more than any wait of the alphabet leaves pending
_WARP, _OTHERS, _THREAD = 0, 1, 2
_ALL_STREAMS = 7  # as bits
_BOTH_HALVES = 3
_GENERIC, _ASYNC = 1, 2  # views of memory, as bits
_ELECTED = (BulkCopy, BulkStore, BulkCommit, BulkWait)  # an elected thread of the warpgroup executes them
_GroupAge = tuple[int, bool]  # groups made since, its own among them; whether the next commit makes one more


class DelayedInRegister(NamedTuple):
    """A delayed effect on r0: an ordinary access in the register's queue, or (`in_flight`) an mma.

    `shape`: of an mma whose accumulator the register is. `fenced`: a wgmma.fence that orders mmas of
    different shapes stands after it. `first_value`: it is the first values of all registers alike.
    """

    in_flight: bool
    writes: bool
    shape: MmaShape | None = None
    groups: _GroupAge = (0, True)
    fenced: bool = False
    first_value: bool = False


class DelayedInBuffer(NamedTuple):
    """A delayed effect on s0: an "issue" or "flight" of a stream, or the "landing" of a value that it stored.

    `halves` and `views` of the buffer that it accesses, as bits. `stopped`: streams, as bits. `unsignalled`:
    mbarriers that lack a signal, as bits. `mmas`: by stream (the warp, the other warps), the groups since the
    oldest mma that is left undone. `copy_groups`: the groups since its cp.async, while no wait makes certain
    that the value is stored; `bulk_groups`: since its bulk store, likewise. `store`: for a landing under a
    conduct in which a proxy fence waits for all threads, the state while the store itself is delayed.
    """

    kind: str
    stream: int
    writes: bool
    halves: int
    views: int
    stopped: int = 0
    unsignalled: int = 0
    mmas: tuple[_GroupAge | None, _GroupAge | None] = (None, None)
    copy_groups: int | None = None
    bulk_groups: int | None = None
    store: DelayedInBuffer | None = None


DelayedEffectState = DelayedInRegister | DelayedInBuffer


def delayed_first_value() -> DelayedInRegister:
    """The first value of a register has not taken effect."""
    return DelayedInRegister(in_flight=False, writes=True, first_value=True)


def delayed_effects(step: Step, kind: LocationKind, conduct: Conduct) -> Iterator[DelayedEffectState]:
    """The effects of a step on r0 (kind "register") or s0 ("buffer"), each as it begins to be delayed."""
    operation = step.operation
    if kind == "register":
        if isinstance(operation, RegisterRead | RegisterWrite) and operation.register == 0:
            yield DelayedInRegister(in_flight=False, writes=isinstance(operation, RegisterWrite))
        elif isinstance(operation, Mma) and operation.d == 0:
            yield DelayedInRegister(in_flight=True, writes=True, shape=operation.shape)
        elif isinstance(operation, Mma) and operation.a == Register(0):
            yield DelayedInRegister(in_flight=True, writes=False)
    elif _accesses_buffer(step):
        for stream in _streams(step):
            yield from _effects_in_stream(step, stream, conduct)


def _effects_in_stream(step: Step, stream: int, conduct: Conduct) -> Iterator[DelayedInBuffer]:
    operation = step.operation
    bit = 1 << stream
    if isinstance(operation, SharedRead):
        yield DelayedInBuffer("issue", stream, False, _BOTH_HALVES, _GENERIC, stopped=bit)
    elif isinstance(operation, BulkCopy):
        signal = 1 << operation.barrier
        yield DelayedInBuffer("flight", stream, True, _BOTH_HALVES, _GENERIC | _ASYNC, unsignalled=signal)
    elif isinstance(operation, BulkStore):
        yield DelayedInBuffer("flight", stream, False, _BOTH_HALVES, _ASYNC, bulk_groups=0)
    elif isinstance(operation, Mma):
        mmas: list[_GroupAge | None] = [None, None]
        mmas[stream] = (0, True)
        yield DelayedInBuffer("flight", stream, False, _BOTH_HALVES, _ASYNC, mmas=(mmas[0], mmas[1]))
    else:
        halves = _stored_halves(stream)
        copies = isinstance(operation, CpAsync)
        if copies:
            store = DelayedInBuffer("flight", stream, True, halves, _GENERIC, copy_groups=0)
        else:
            store = DelayedInBuffer("issue", stream, True, halves, _GENERIC, stopped=bit)
        yield store
        for half in (1, 2):
            if half & halves:
                yield DelayedInBuffer(
                    "landing",
                    stream,
                    True,
                    half,
                    _ASYNC,
                    copy_groups=0 if copies else None,
                    store=store if conduct.proxy_fence_covers_all else None,
                )


def _stored_halves(stream: int) -> int:
    """The halves of a buffer that a stream stores, as bits: a warp its own part, the others theirs."""
    return (1, 2, 3)[stream]


def _streams(step: Step) -> tuple[int, ...]:
    """The streams that execute a step."""
    if isinstance(step.operation, CtaBarrier | BlockEnd):
        return (_WARP, _OTHERS, _THREAD)
    if step.thread == OTHER:
        return (_THREAD,)
    return (_WARP,) if isinstance(step.operation, _ELECTED) else (_WARP, _OTHERS)


def _accesses_buffer(step: Step) -> bool:
    operation = step.operation
    if isinstance(operation, Mma):
        return operation.b == 0 or operation.a == Buffer(0)
    accesses = (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)
    return isinstance(operation, accesses) and operation.buffer == 0


def next_delayed(delayed: DelayedEffectState, step: Step, conduct: Conduct) -> DelayedEffectState | None:
    """The state after one more step, which must not overtake the effect; None once no later step can.

    A landing is not delayed beyond a store over the same half: what is stored later lands later, and is
    delayed in its own right.
    """
    operation = step.operation
    if isinstance(delayed, DelayedInBuffer):
        stores = isinstance(operation, SharedWrite | CpAsync) and operation.buffer == 0
        same_half = any(_stored_halves(stream) & delayed.halves for stream in _streams(step))
        if delayed.kind == "landing" and stores and same_half:
            return None
        after = _next_in_buffer(delayed, step, conduct)
        return None if after.stopped == _ALL_STREAMS else after
    if not delayed.in_flight:
        return None if isinstance(operation, WgmmaFence) else delayed
    if isinstance(operation, Wait) and delayed.groups[0] > operation.n:
        return None
    if isinstance(operation, WgmmaFence) and conduct.fence_orders_shapes:
        return delayed._replace(fenced=True)
    return delayed._replace(groups=_counted(delayed.groups, step, conduct))


def _next_in_buffer(delayed: DelayedInBuffer, step: Step, conduct: Conduct) -> DelayedInBuffer:
    operation = step.operation
    streams = _streams(step)
    stopped = delayed.stopped
    for stream in streams:
        if _waits(delayed, step, stream, conduct):
            stopped |= 1 << stream
    not_issued = [stream for stream in streams if stopped >> stream & 1]
    unsignalled = delayed.unsignalled
    if isinstance(operation, MbarrierArrive | BulkCopy) and not_issued:
        unsignalled |= 1 << operation.barrier
    mmas = [groups and _counted(groups, step, conduct) for groups in delayed.mmas]
    if isinstance(operation, Mma) and conduct.wait_covers_all:
        for stream in not_issued:
            mmas[stream] = mmas[stream] or (0, True)
    if stopped & 3 == 3:  # both streams of the warpgroup: nobody waits for groups any more
        mmas = [None, None]
    copy_groups, bulk_groups = delayed.copy_groups, delayed.bulk_groups
    if delayed.stream in streams:
        goes_on = not stopped >> delayed.stream & 1
        copy_groups = _own_groups(copy_groups, operation, CpAsyncCommit, CpAsyncWait) if goes_on else None
        bulk_groups = _own_groups(bulk_groups, operation, BulkCommit, BulkWait) if goes_on else None
    return delayed._replace(
        stopped=stopped,
        unsignalled=unsignalled,
        mmas=(mmas[0], mmas[1]),
        copy_groups=copy_groups,
        bulk_groups=bulk_groups,
        store=delayed.store and _next_in_buffer(delayed.store, step, conduct),
    )


def _own_groups(groups: int | None, operation: StepOperation, commit: type, wait: type) -> int | None:
    """The groups of a thread's copies or bulk stores since one of them; None once a wait covers it."""
    if groups is None:
        return None
    if isinstance(operation, commit):
        return min(MOST_GROUPS, groups + 1)
    if isinstance(operation, CpAsyncWait | BulkWait) and isinstance(operation, wait) and groups > operation.n:
        return None
    return groups


def _waits(delayed: DelayedInBuffer, step: Step, stream: int, conduct: Conduct) -> bool:
    """Whether a stream that has not stopped before cannot issue the step."""
    operation = step.operation
    if isinstance(operation, CtaBarrier | BlockEnd):
        return bool(delayed.stopped)
    if isinstance(operation, Wait):
        undone = delayed.mmas if conduct.wait_covers_all else delayed.mmas[stream : stream + 1]
        return any(groups is not None and groups[0] > operation.n for groups in undone)
    if isinstance(operation, CpAsyncWait):
        own = delayed.kind == "flight" and stream == delayed.stream
        return own and delayed.copy_groups is not None and delayed.copy_groups > operation.n
    if isinstance(operation, BulkWait):
        own = stream == delayed.stream
        return own and delayed.bulk_groups is not None and delayed.bulk_groups > operation.n
    if isinstance(operation, MbarrierWait):
        return bool(delayed.unsignalled >> operation.barrier & 1)
    if isinstance(operation, ProxyFence) and delayed.kind == "landing":
        stored = delayed.stream == stream and delayed.copy_groups is None
        return stored or (delayed.store is not None and bool(delayed.store.stopped >> stream & 1))
    return False


def _counted(groups: _GroupAge, step: Step, conduct: Conduct) -> _GroupAge:
    """The groups since an mma, after one more step."""
    made, uncommitted = groups
    if isinstance(step.operation, Mma):
        return made, True
    if isinstance(step.operation, Commit):
        return min(MOST_GROUPS, made + uncommitted), bool(conduct.empty_groups_count)
    return groups


def can_overtake(delayed: DelayedEffectState, step: Step, conduct: Conduct) -> bool:
    """Whether an effect of the step overtakes the delayed one, on the same cell, one of the two a write."""
    if isinstance(delayed, DelayedInRegister):
        return _overtakes_in_register(delayed, step, conduct)
    if isinstance(step.operation, BlockEnd):
        # The block ends once all threads have; its memory may not last for a bulk store.
        pending = delayed.kind == "flight" and delayed.bulk_groups is not None
        return pending and not delayed.stopped and not conduct.block_lasts
    if not _accesses_buffer(step):
        return False
    going = [stream for stream in _streams(step) if not delayed.stopped >> stream & 1]
    return any(_on_one_cell(delayed, step, stream) for stream in going)


def _overtakes_in_register(delayed: DelayedInRegister, step: Step, conduct: Conduct) -> bool:
    operation = step.operation
    if isinstance(operation, RegisterRead | RegisterWrite):
        writes = isinstance(operation, RegisterWrite)
        return delayed.in_flight and operation.register == 0 and (writes or delayed.writes)
    if not isinstance(operation, Mma):
        return False
    if delayed.first_value:
        return True
    if operation.d == 0:
        if delayed.shape is None:
            return True
        fields = conduct.same_shape
        alike = all(getattr(delayed.shape, name) == getattr(operation.shape, name) for name in fields)
        return not alike and not delayed.fenced
    return operation.a == Register(0) and delayed.writes


def _on_one_cell(delayed: DelayedInBuffer, step: Step, stream: int) -> bool:
    """Whether an effect of the step in a stream is on the delayed effect's cell, one of the two a write."""
    operation = step.operation
    if isinstance(operation, SharedRead):
        return delayed.writes and bool(delayed.views & _GENERIC)
    if isinstance(operation, Mma | BulkStore):
        return delayed.writes and bool(delayed.views & _ASYNC)
    if isinstance(operation, BulkCopy):
        return True
    if not _stored_halves(stream) & delayed.halves:
        return False
    return bool(delayed.views & _GENERIC) or delayed.kind != "landing"  # landings keep their order
