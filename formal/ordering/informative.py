"""What the axioms can tell of one step of a program: whether one more step says anything new of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .axioms import ProgramEvents
from .programs import (
    BulkCopy,
    Commit,
    CpAsync,
    Mma,
    Operation,
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedWrite,
)

__all__ = ["told"]

_MOST = 2  # groups since an mma, as far as a wait of 0 or 1 can tell


def _loose(acts: Sequence[Operation]) -> bool:
    """Whether an mma is not committed."""
    last = max((k for k, act in enumerate(acts) if isinstance(act, Mma)), default=None)
    return last is not None and not any(isinstance(act, Commit) for act in acts[last:])


def _reach(events: ProgramEvents, i: int, one: bool = False) -> Hashable:
    reach = events.reach(i, one)
    return events.threads[i], reach.threads, reach.barriers


def told(events: ProgramEvents, i: int, end: int) -> Hashable:
    """All that the axioms know of a step before step `end`: what they can tell of it to a later one."""
    act = events.acts[i]
    ends = events.ends(i, end) if isinstance(act, Mma | CpAsync | BulkCopy) else []
    waits = frozenset(_reach(events, k, one=isinstance(act, BulkCopy)) for k in ends)
    groups: Hashable = None
    if isinstance(act, Mma) and not ends:
        groups = min(_MOST, events.groups(i, end)), _loose(events.acts)
    elif isinstance(act, CpAsync) and not ends:
        groups = min(1, events.commits(i, end))
    what = (
        (type(act), act.shape, act.d, act.a, act.b) if isinstance(act, Mma) else (type(act), *_operands(act))
    )
    landing: Hashable = None
    if isinstance(act, SharedWrite | CpAsync):
        landing = frozenset(
            (k == i, frozenset(_crossings(events, k, end)), _reach(events, k))
            for k in range(i, end)
            if events.overlays(i, k)
        )
    return what, events.threads[i], events.fenced(i, end), groups, _reach(events, i), waits, landing


def _operands(act: Operation) -> tuple[int, ...]:
    if isinstance(act, BulkCopy):
        return act.buffer, act.barrier
    if isinstance(act, RegisterRead | RegisterWrite):
        return (act.register,)
    return ()


def _crossings(events: ProgramEvents, i: int, end: int) -> list[Hashable]:
    """The proxy fences behind what a step stored."""
    act = events.acts[i]
    starts = [i] if isinstance(act, SharedWrite) else events.ends(i, end)
    found: list[Hashable] = [("waited", bool(starts)), *(("from", _reach(events, start)) for start in starts)]
    for start in starts:
        for fence in range(start, end):
            if isinstance(events.acts[fence], ProxyFence):
                own = events.threads[start] == events.threads[fence]
                found.append((own, events.apart(start, fence), _reach(events, fence)))
    if not starts:
        found.append(min(1, events.commits(i, end)))
    return found
