"""What the rules of axioms.py know of one access, carried from step to step: hazards without the program.

A hazard is a pair of accesses of one location, and all that the rules ask about the earlier one is a few
facts: who is synchronised with it, which mbarriers signal it, groups and fences since. Each step changes
these facts by what they were, so nothing else of the program need be kept. Facts that no later step can ask
about are dropped; None: no later step can close a hazard with this access.

Locations are r0 and s0. A store over which another was stored, in order, or its own rule would be broken,
leaves what the async proxy sees to the later one, which is behind it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...spec.ordering import Readings, ordering
from .programs import (
    OTHER,
    WARPGROUP,
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

__all__ = ["FIRST", "Knowledge", "advance", "begin", "broken"]

_CAP = 2  # groups are counted so far: more than any wait of the alphabet leaves


class Groups(NamedTuple):
    """The groups committed since an mma, its own among them, and whether a commit makes one more."""

    made: int = 0
    loose: bool = True


class ThreadReach(NamedTuple):
    """The threads that know of a step, the mbarriers that tell of it (bits), and the mmas begun since."""

    knows: tuple[bool, bool] = (False, False)
    signals: int = 0
    since: Groups | None = None


_ALL = ThreadReach((True, True))


class Plain(NamedTuple):
    """An ordinary access of the register, no wgmma.fence since; `first`: what gave it its first value."""

    writes: bool
    first: bool = False


class PendingMma(NamedTuple):
    """An mma, not waited for, that has the register as its accumulator of a shape, or (None) as its A."""

    shape: MmaShape | None
    groups: Groups = Groups()
    fenced: bool = False
    excuse: str = ""


class Loaded(NamedTuple):
    """A generic read."""

    thread: int
    reach: ThreadReach


class Stored(NamedTuple):
    """A generic write: reached by `reach`; `own`, by the first proxy fence of its thread; `crossed`, by
    that of either thread which it reached. `landed`: nothing more is asked of what the async proxy sees."""

    thread: int
    reach: ThreadReach
    own: ThreadReach | None = None
    crossed: tuple[ThreadReach | None, ThreadReach | None] = (None, None)
    landed: bool = False


class Copying(NamedTuple):
    """A cp.async that no wait covers yet, and its thread's groups since."""

    thread: int
    commits: int = 0


class Filling(NamedTuple):
    """A bulk copy, the threads that know of its completion, and the mbarriers that tell of it."""

    barrier: int
    knows: tuple[bool, bool] = (False, False)
    signals: int = 0


class PendingRead(NamedTuple):
    """An mma that reads the buffer, not waited for."""

    groups: Groups = Groups()


class HasRead(NamedTuple):
    """An mma that read the buffer, and how far its wait reaches."""

    reach: ThreadReach


Knowledge = Plain | PendingMma | Loaded | Stored | Copying | Filling | PendingRead | HasRead
FIRST = Plain(writes=True, first=True)


def begin(step: Step, location: str) -> Knowledge | None:
    """What is known of an access of r0 (location "register") or s0 ("buffer") right after it."""
    act, thread = step.operation, step.thread
    if location == "register":
        if isinstance(act, RegisterRead | RegisterWrite) and act.register == 0:
            return Plain(isinstance(act, RegisterWrite))
        if isinstance(act, Mma) and act.d == 0:
            return PendingMma(act.shape)
        if isinstance(act, Mma) and act.a == Register(0):
            return PendingMma(None)
        return None
    if isinstance(act, Mma):
        return PendingRead() if 0 in act.buffers else None
    if not isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy) or act.buffer != 0:
        return None
    if isinstance(act, SharedRead):
        return Loaded(thread, ThreadReach((False, thread == OTHER)))
    if isinstance(act, SharedWrite):
        return Stored(thread, ThreadReach((False, thread == OTHER)))
    return Copying(thread) if isinstance(act, CpAsync) else Filling(act.barrier)


def advance(known: Knowledge, step: Step, readings: Readings) -> Knowledge | None:
    """What is known of an access one step later, provided that the step closed no hazard with it."""
    if isinstance(known, Plain):
        return None if isinstance(step.operation, WgmmaFence) else known
    if isinstance(known, PendingMma):
        return _advance_pending(known, step, readings)
    if isinstance(known, Loaded):
        reach = _carry(known.reach, known.thread, step, readings)
        return None if reach.knows == (True, True) else known._replace(reach=reach)
    if isinstance(known, Stored):
        return _advance_stored(known, step, readings)
    if isinstance(known, Copying):
        return _advance_copying(known, step)
    if isinstance(known, Filling):
        return _advance_filling(known, step)
    if isinstance(known, PendingRead):
        if _covered(known.groups, step):
            for_all = readings["wait-scope"] == "warpgroup"
            return HasRead(ThreadReach((for_all, False)))
        return PendingRead(_count(known.groups, step, readings))
    one = readings["wait-scope"] == "warpgroup"
    reach = _carry(known.reach, WARPGROUP, step, readings, one)
    return None if reach.knows == (True, True) else HasRead(reach)


def _advance_pending(known: PendingMma, step: Step, readings: Readings) -> PendingMma | None:
    act = step.operation
    if _covered(known.groups, step):
        return None
    if isinstance(act, Wait):
        excuse = "wait-too-shallow" if known.groups.made else "uncommitted-at-wait"
        known = known._replace(excuse=excuse)
    if isinstance(act, WgmmaFence) and readings["reshaped-accumulator"] == "fence":
        known = known._replace(fenced=True)
    return known._replace(groups=_count(known.groups, step, readings))


def _advance_stored(known: Stored, step: Step, readings: Readings) -> Stored | None:
    act, thread = step.operation, step.thread
    reach = _carry(known.reach, known.thread, step, readings)
    if isinstance(act, SharedWrite | CpAsync) and act.buffer == 0:
        known = known._replace(landed=True)
    if not known.landed:
        own = known.own and _carry(known.own, known.thread, step, readings)
        crossed = [r and _carry(r, who, step, readings, one=True) for who, r in enumerate(known.crossed)]
        if isinstance(act, ProxyFence):
            if thread == known.thread and own is None:
                own = ThreadReach((False, thread == OTHER))
            apart = known.thread == thread == OTHER or reach.knows[thread]
            if readings["proxy-fence-side"] == "either" and apart and crossed[thread] is None:
                crossed[thread] = ThreadReach((thread == WARPGROUP, thread == OTHER))
        known = known._replace(own=own, crossed=(crossed[0], crossed[1]))
    known = known._replace(reach=reach)
    if known.landed or all(_landed(known, who) for who in (WARPGROUP, OTHER)):
        known = known._replace(own=None, crossed=(None, None), landed=True)
    return None if known.landed and known.reach.knows == (True, True) else known


def _advance_copying(known: Copying, step: Step) -> Copying | Stored:
    act = step.operation
    if step.thread != known.thread:
        return known
    if isinstance(act, CpAsyncCommit):
        return known._replace(commits=min(_CAP, known.commits + 1))
    if isinstance(act, CpAsyncWait) and known.commits > act.n:
        return Stored(known.thread, ThreadReach((False, known.thread == OTHER)))
    return known


def _advance_filling(known: Filling, step: Step) -> Filling | None:
    act, thread = step.operation, step.thread
    knows, signals = list(known.knows), known.signals
    if isinstance(act, CtaBarrier) and any(knows):
        return None
    if isinstance(act, MbarrierArrive | BulkCopy) and knows[thread]:
        signals |= 1 << act.barrier
    elif isinstance(act, MbarrierWait):
        knows[thread] |= act.barrier == known.barrier or bool(signals >> act.barrier & 1)
    return None if all(knows) else Filling(known.barrier, (knows[0], knows[1]), signals)


def _carry(reach: ThreadReach, origin: int, step: Step, readings: Readings, one: bool = False) -> ThreadReach:
    """How far synchronisation carries what a thread did; with `one`, what any one warp of it did."""
    act, thread = step.operation, step.thread
    knows, signals, since = list(reach.knows), reach.signals, reach.since
    if reach.knows == (True, True) or isinstance(act, CtaBarrier):
        return _ALL
    if isinstance(act, MbarrierArrive | BulkCopy):
        elected = isinstance(act, BulkCopy) and thread == WARPGROUP and not one
        if knows[thread] or (thread == origin and not elected):
            signals |= 1 << act.barrier
    elif isinstance(act, MbarrierWait):
        knows[thread] |= bool(signals >> act.barrier & 1)
    if readings["wait-scope"] == "warpgroup" and origin == WARPGROUP and not knows[WARPGROUP]:
        if since is not None and _covered(since, step):
            knows[WARPGROUP], since = True, None
        elif since is not None:
            since = _count(since, step, readings)
        elif isinstance(act, Mma):
            since = Groups()
    if all(knows):
        return _ALL
    return ThreadReach((knows[0], knows[1]), signals, None if knows[WARPGROUP] else since)


def _covered(groups: Groups, step: Step) -> bool:
    return isinstance(step.operation, Wait) and groups.made > step.operation.n


def _count(groups: Groups, step: Step, readings: Readings) -> Groups:
    if isinstance(step.operation, Mma):
        return groups._replace(loose=True)
    if isinstance(step.operation, Commit):
        return Groups(min(_CAP, groups.made + groups.loose), readings["empty-groups"] == "count")
    return groups


def _landed(known: Stored, thread: int) -> bool:
    """A proxy fence stands between the store and an async access by a thread."""
    if known.landed:
        return True
    if known.own is not None and (known.thread == thread == OTHER or known.own.knows[thread]):
        return True
    return any(reach is not None and reach.knows[thread] for reach in known.crossed)


def broken(known: Knowledge, step: Step, readings: Readings) -> frozenset[str]:
    """The rules that change values and that the step breaks with the access."""
    rules = _of_register(known, step, readings) if isinstance(known, Plain | PendingMma) else None
    if rules is None:
        rule = _of_buffer(known, step)
        rules = (rule,) if rule else ()
    return frozenset(rules)


def _of_register(known: Plain | PendingMma, step: Step, readings: Readings) -> tuple[str, ...]:
    act = step.operation
    if isinstance(known, Plain):
        if not isinstance(act, Mma):
            return ()
        if known.first:
            return ("first-fence",)
        uses = act.d == 0 or (known.writes and act.a == Register(0))
        return ("register-fence",) if uses else ()
    rule = ""
    if isinstance(act, RegisterRead | RegisterWrite) and act.register == 0:
        if known.shape is not None:
            rule = "accumulator-in-flight"
        elif isinstance(act, RegisterWrite):
            rule = "a-written-in-flight"
    elif isinstance(act, Mma) and act.d == 0:
        if known.shape is None:
            rule = "a-as-accumulator"
        else:
            fields = ordering().same_shape(readings)
            alike = all(getattr(known.shape, name) == getattr(act.shape, name) for name in fields)
            rule = "" if alike or known.fenced else "accumulator-reshaped"
    elif isinstance(act, Mma) and act.a == Register(0) and known.shape is not None:
        rule = "accumulator-as-a"
    if not rule:
        return ()
    return (rule, known.excuse) if known.excuse else (rule,)


def _of_buffer(known: Knowledge, step: Step) -> str | None:
    act, thread = step.operation, step.thread
    here = isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy) and act.buffer == 0
    reads = isinstance(act, SharedRead | Mma)
    if not here and not (isinstance(act, Mma) and 0 in act.buffers):
        return None
    if isinstance(known, PendingRead):
        return None if reads else "shared-overwritten"
    if isinstance(known, HasRead):
        return None if reads or known.reach.knows[thread] else "shared-overwritten"
    if isinstance(known, Copying):
        return "copy-incomplete"
    if isinstance(known, Filling):
        return None if known.knows[thread] else "copy-incomplete"
    assert isinstance(known, Loaded | Stored)
    apart = known.thread == thread == OTHER or known.reach.knows[thread]
    if isinstance(known, Loaded):
        return None if reads or apart else "shared-unsynchronised"
    if isinstance(act, SharedWrite | CpAsync):
        return None if apart or known.thread == thread else "shared-unsynchronised"
    if not apart:
        return None if known.landed and isinstance(act, Mma) else "shared-unsynchronised"
    if isinstance(act, SharedRead) or _landed(known, thread):
        return None
    return "proxy-fence-copy" if isinstance(act, BulkCopy) else "proxy-fence"
