"""What the machine of machine.py can still do while one effect is held back, carried from step to step.

Two schedules of a program differ where an effect of one operation and one of a later operation on the same
cell, of which one writes it, can happen in either order. So one effect is held back as long as can be, all
else goes on as far as it can, and asked is whether the later effect is come to. What goes on is a matter
of a few facts: which streams are stuck, which signals are withheld, and how many groups ago something was
left undone. None: whatever comes cannot be come to before the effect.

Locations are r0 and s0, as cells: the register, and the halves of the buffer in both views of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...spec.switches import Conduct
from .programs import (
    OTHER,
    Buffer,
    BulkCopy,
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

__all__ = ["Held", "HeldRegister", "effects", "first_value", "go_on", "reaches"]

_WARP, _OTHERS, _THREAD = 0, 1, 2
_MOST = 2  # groups are counted so far: more than any wait of the alphabet leaves
_GroupAge = tuple[int, bool]  # groups made since, its own among them; whether the next commit makes one


class HeldRegister(NamedTuple):
    """An effect on r0: an ordinary access in the register's queue, or an mma in flight.

    `shape` is of an mma whose D the register is; `every`: the first values of all registers alike.
    """

    flies: bool
    writes: bool
    shape: MmaShape | None = None
    group: _GroupAge = (0, True)
    fenced: bool = False
    every: bool = False


class Held(NamedTuple):
    """An effect on s0, as "issue", "flight" or "landing" of a stream (a landing: of a half), and the facts.

    `writes` whether it does; `halves` and `views` (generic, async) of the buffer, as bits; `stuck` streams,
    `withheld` mbarriers, as bits; `mmas` by stream (the warp, the others): the group of the oldest that is
    left undone; `copies`: the groups since its cp.async, while no wait makes it certain that it has stored;
    `until`: for a landing, the same while the store itself is held back.
    """

    kind: str
    stream: int
    writes: bool
    halves: int
    views: int
    stuck: int = 0
    withheld: int = 0
    mmas: tuple[_GroupAge | None, _GroupAge | None] = (None, None)
    copies: int | None = None
    until: Held | None = None


_GENERIC, _ASYNC = 1, 2


def first_value() -> HeldRegister:
    """The first value of a register has not taken effect."""
    return HeldRegister(flies=False, writes=True, every=True)


def effects(step: Step, location: str, conduct: Conduct) -> Iterator[HeldRegister | Held]:
    """The effects of a step on r0 (location "register") or s0 ("buffer"), each held back."""
    act = step.operation
    if location == "register":
        if isinstance(act, RegisterRead | RegisterWrite) and act.register == 0:
            yield HeldRegister(flies=False, writes=isinstance(act, RegisterWrite))
        elif isinstance(act, Mma) and act.d == 0:
            yield HeldRegister(flies=True, writes=True, shape=act.shape)
        elif isinstance(act, Mma) and act.a == Register(0):
            yield HeldRegister(flies=True, writes=False)
    elif _on_buffer(step):
        for stream in _streams(step):
            yield from _of_stream(step, stream, conduct)


def _of_stream(step: Step, stream: int, conduct: Conduct) -> Iterator[Held]:
    act = step.operation
    if isinstance(act, SharedRead):
        yield Held("issue", stream, False, 3, _GENERIC, stuck=1 << stream)
    elif isinstance(act, BulkCopy):
        yield Held("flight", stream, True, 3, _GENERIC | _ASYNC, withheld=1 << act.barrier)
    elif isinstance(act, Mma):
        mine: list[_GroupAge | None] = [None, None]
        mine[stream] = (0, True)
        yield Held("flight", stream, False, 3, _ASYNC, mmas=(mine[0], mine[1]))
    else:
        halves = _own(stream)
        late = isinstance(act, CpAsync)
        if late:
            stored = Held("flight", stream, True, halves, _GENERIC, copies=0)
        else:
            stored = Held("issue", stream, True, halves, _GENERIC, stuck=1 << stream)
        yield stored
        until = stored if conduct.proxy_fence_covers_all else None
        for half in (1, 2):
            if half & halves:
                copies = 0 if late else None
                yield Held("landing", stream, True, half, _ASYNC, copies=copies, until=until)


def _own(stream: int) -> int:
    """The halves of a buffer that a stream stores: a warp its own part, the others theirs."""
    return (1, 2, 3)[stream]


def _streams(step: Step) -> tuple[int, ...]:
    """The streams that execute a step."""
    act = step.operation
    if isinstance(act, CtaBarrier):
        return (_WARP, _OTHERS, _THREAD)
    if step.thread == OTHER:
        return (_THREAD,)
    return (_WARP,) if isinstance(act, BulkCopy) else (_WARP, _OTHERS)


def _on_buffer(step: Step) -> bool:
    act = step.operation
    if isinstance(act, Mma):
        return act.b == 0 or act.a == Buffer(0)
    return isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy) and act.buffer == 0


def go_on(held: HeldRegister | Held, step: Step, conduct: Conduct) -> HeldRegister | Held | None:
    """What is known one step later.

    A value that was stored over is held back no more: those stored later land later, and are held back too.
    """
    act = step.operation
    if isinstance(held, Held):
        over = isinstance(act, SharedWrite | CpAsync) and act.buffer == 0
        if held.kind == "landing" and over and any(_own(s) & held.halves for s in _streams(step)):
            return None
        after = _go_on(held, step, conduct)
        return None if after.stuck == 7 else after
    if not held.flies:
        return None if isinstance(act, WgmmaFence) else held
    if isinstance(act, Wait) and held.group[0] > act.n:
        return None
    if isinstance(act, WgmmaFence) and conduct.fence_orders_shapes:
        return held._replace(fenced=True)
    return held._replace(group=_grouped(held.group, step, conduct))


def _go_on(held: Held, step: Step, conduct: Conduct) -> Held:
    act = step.operation
    streams = _streams(step)
    stuck = held.stuck
    for stream in streams:
        if _waits(held, step, stream, conduct):
            stuck |= 1 << stream
    undone = [stream for stream in streams if stuck >> stream & 1]
    withheld = held.withheld
    if isinstance(act, MbarrierArrive | BulkCopy) and undone:
        withheld |= 1 << act.barrier
    mmas = [group and _grouped(group, step, conduct) for group in held.mmas]
    if isinstance(act, Mma) and conduct.wait_covers_all:
        for stream in undone:
            mmas[stream] = mmas[stream] or (0, True)
    if stuck & 3 == 3:
        mmas = [None, None]
    copies = held.copies
    if copies is not None and held.stream in streams:
        if stuck >> held.stream & 1:
            copies = None
        elif isinstance(act, CpAsyncCommit):
            copies = min(_MOST, copies + 1)
        elif isinstance(act, CpAsyncWait) and copies > act.n:
            copies = None
    until = held.until and _go_on(held.until, step, conduct)
    return held._replace(stuck=stuck, withheld=withheld, mmas=(mmas[0], mmas[1]), copies=copies, until=until)


def _waits(held: Held, step: Step, stream: int, conduct: Conduct) -> bool:
    """Whether a stream, not stuck before, cannot issue the step."""
    act = step.operation
    if isinstance(act, CtaBarrier):
        return bool(held.stuck)
    if isinstance(act, Wait):
        whose = held.mmas if conduct.wait_covers_all else held.mmas[stream : stream + 1]
        return any(group is not None and group[0] > act.n for group in whose)
    if isinstance(act, CpAsyncWait):
        late = held.kind == "flight" and stream == held.stream
        return late and held.copies is not None and held.copies > act.n
    if isinstance(act, MbarrierWait):
        return bool(held.withheld >> act.barrier & 1)
    if isinstance(act, ProxyFence) and held.kind == "landing":
        stored = held.stream == stream and held.copies is None
        return stored or (held.until is not None and bool(held.until.stuck >> stream & 1))
    return False


def _grouped(group: _GroupAge, step: Step, conduct: Conduct) -> _GroupAge:
    """The groups since an mma, after the step."""
    made, loose = group
    if isinstance(step.operation, Mma):
        return made, True
    if isinstance(step.operation, Commit):
        return min(_MOST, made + loose), bool(conduct.empty_groups_count)
    return group


def reaches(held: HeldRegister | Held, step: Step, conduct: Conduct) -> bool:
    """Whether an effect of the step on the same cell, one of the two writing it, happens all the same."""
    if isinstance(held, HeldRegister):
        return _reaches_register(held, step, conduct)
    if not _on_buffer(step):
        return False
    return any(not held.stuck >> stream & 1 and _conflicts(held, step, stream) for stream in _streams(step))


def _reaches_register(held: HeldRegister, step: Step, conduct: Conduct) -> bool:
    act = step.operation
    if isinstance(act, RegisterRead | RegisterWrite):
        writes = isinstance(act, RegisterWrite)
        return held.flies and act.register == 0 and (writes or held.writes)
    if not isinstance(act, Mma):
        return False
    if held.every:
        return True
    if act.d == 0:
        if held.shape is None:
            return True
        alike = all(getattr(held.shape, name) == getattr(act.shape, name) for name in conduct.same_shape)
        return not alike and not held.fenced
    return act.a == Register(0) and held.writes


def _conflicts(held: Held, step: Step, stream: int) -> bool:
    """Whether what a stream does in the step is on the held effect's cell."""
    act = step.operation
    if isinstance(act, SharedRead):
        return held.writes and bool(held.views & _GENERIC)
    if isinstance(act, Mma):
        return held.writes and bool(held.views & _ASYNC)
    if isinstance(act, BulkCopy):
        return True
    if not _own(stream) & held.halves:
        return False
    return bool(held.views & _GENERIC) or held.kind != "landing"  # a value lands after those before it
