"""The rules of spec/ordering/ as relations over the events of a program: which hazards it has.

Events are the steps; the relations are program order, synchronisation (barriers, and mbarrier signals with
their waits), fences between, and completion. A hazard is a pair of accesses that no relation orders as its
rule demands; it is closed by its last step, so the hazards of a prefix are hazards of the whole.

Every warp of the warpgroup executes the warpgroup's steps; "synchronised" means that the step of *any* warp
that executes the earlier comes before that of any warp that executes the later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...spec.ordering import Readings, ordering
from ...spec.ordering_records import Rule
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
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)

__all__ = ["Hazard", "ProgramEvents", "SyncReach", "closing", "hazards"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A rule that is broken, and the steps that break it: the last one closes the hazard."""

    rule: str
    steps: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.rule} at {', '.join(map(str, self.steps))}"


def hazards(program: Program, readings: Readings | None = None) -> tuple[Hazard, ...]:
    """Every hazard of a program under some readings (None: the default ones), by closing step."""
    events = ProgramEvents(program, readings)
    return tuple(hazard for last in range(len(program)) for hazard in events.closed_by(last))


def closing(program: Program, readings: Readings | None = None) -> tuple[Hazard, ...]:
    """The hazards that the last step of a program closes."""
    return tuple(ProgramEvents(program, readings).closed_by(len(program) - 1))


@dataclass(frozen=True, slots=True)
class SyncReach:
    """The steps behind a step by synchronisation, the threads that know of it at the end, and the
    mbarriers on which a signal tells of it."""

    after: frozenset[int]
    threads: tuple[bool, bool]
    barriers: frozenset[int]


class ProgramEvents:
    """The steps of a program and the relations between them."""

    def __init__(self, program: Program, readings: Readings | None) -> None:
        known = ordering()
        self.readings = readings or known.default
        self.rules: Mapping[str, Rule] = known.rules
        self.steps = program.steps
        self.acts = [step.operation for step in program.steps]
        self.threads = [step.thread for step in program.steps]
        self.shape = known.same_shape(self.readings)
        self._reached: dict[tuple[int, bool], SyncReach] = {}

    # Relations

    def synchronised(self, i: int, j: int) -> bool:
        """Step i, whoever executes it, comes before j, whoever does."""
        return j in self.reach(i).after

    def reach(self, i: int, one: bool = False) -> SyncReach:
        """How far synchronisation carries what step i did; with `one`, what it did in any one warp.

        What an elected thread signals tells of the steps of its own warp only.
        """
        if (i, one) not in self._reached:
            self._reached[i, one] = self._reach(i, one)
        return self._reached[i, one]

    def _reach(self, i: int, one: bool) -> SyncReach:
        knows = [False, False]
        signals: set[int] = set()
        after = set()
        for j in range(i + 1, len(self.acts)):
            act, thread = self.acts[j], self.threads[j]
            if isinstance(act, CtaBarrier):
                knows = [True, True]
                continue
            if isinstance(act, MbarrierArrive | BulkCopy):
                elected = isinstance(act, BulkCopy) and thread == WARPGROUP and not one
                if knows[thread] or (thread == self.threads[i] and not elected):
                    signals.add(act.barrier)
            elif isinstance(act, MbarrierWait):
                knows[thread] |= act.barrier in signals
            elif isinstance(act, Wait) and self.readings["wait-scope"] == "warpgroup":
                earlier = self.threads[i] == WARPGROUP
                knows[WARPGROUP] |= earlier and any(i < m and self.covers(j, m) for m in self._mmas(j))
            if knows[thread]:
                after.add(j)
        return SyncReach(frozenset(after), (knows[0], knows[1]), frozenset(signals))

    def ordered(self, i: int, j: int) -> bool:
        """Program order of one thread, or synchronisation; of the warpgroup's warps, each with itself."""
        return self.threads[i] == self.threads[j] or self.synchronised(i, j)

    def told_by_one(self, i: int, j: int) -> bool:
        """The same, where what any one warp did in step i is enough."""
        return self.threads[i] == self.threads[j] or j in self.reach(i, one=True).after

    def apart(self, i: int, j: int) -> bool:
        """Whoever executes i and j, i comes first: program order is enough for the other thread alone."""
        if self.threads[i] == self.threads[j] == OTHER:
            return True
        return self.synchronised(i, j)

    def covers(self, wait: int, i: int) -> bool:
        """A wait waits for the group of the asynchronous step i (wgmma or cp.async)."""
        act = self.acts[wait]
        if isinstance(act, Wait) and isinstance(self.acts[i], Mma):
            commits = self.groups(i, wait)
        elif isinstance(act, CpAsyncWait) and isinstance(self.acts[i], CpAsync):
            commits = self.commits(i, wait)
        else:
            return False
        return i < wait and self.threads[i] == self.threads[wait] and commits > act.n

    def commits(self, i: int, j: int) -> int:
        """The cp.async groups that the thread of a cp.async commits from it to j."""
        between = range(i + 1, j)
        return sum(
            isinstance(self.acts[k], CpAsyncCommit) and self.threads[k] == self.threads[i] for k in between
        )

    def groups(self, i: int, j: int) -> int:
        """The groups committed from an mma to a wait, the mma's own among them."""
        count = 0
        loose = True
        for k in range(i + 1, j):
            if isinstance(self.acts[k], Mma):
                loose = True
            elif isinstance(self.acts[k], Commit):
                count += loose or self.readings["empty-groups"] == "count"
                loose = False
        return count

    def _mmas(self, before: int) -> Iterator[int]:
        return (k for k in range(before) if isinstance(self.acts[k], Mma))

    def complete(self, i: int, j: int) -> bool:
        """The asynchronous step i is complete for the warp (or thread) that executes j."""
        for_all = isinstance(self.acts[i], Mma) and self.readings["wait-scope"] == "warpgroup"
        if for_all or isinstance(self.acts[i], BulkCopy):  # whoever waits for it
            return any(self.told_by_one(end, j) for end in self.ends(i, j))
        return any(self.ordered(end, j) for end in self.ends(i, j))

    def ends(self, i: int, j: int) -> list[int]:
        """The steps before j that wait for the asynchronous step i."""
        act = self.acts[i]
        if isinstance(act, BulkCopy):
            waits = (k for k in range(i + 1, j) if isinstance(self.acts[k], MbarrierWait))
            return [k for k in waits if self.acts[k].barrier == act.barrier]  # type: ignore[union-attr]
        return [k for k in range(i + 1, j) if self.covers(k, i)]

    def fenced(self, i: int, j: int) -> bool:
        """A wgmma.fence stands between (i = -1: anywhere before j)."""
        return any(isinstance(self.acts[k], WgmmaFence) for k in range(i + 1, j))

    def read_everywhere(self, i: int, j: int) -> bool:
        """The mma i has read shared memory in every warp when j is executed."""
        if self.readings["wait-scope"] == "warpgroup":
            return self.complete(i, j)
        return any(self.synchronised(end, j) for end in self.ends(i, j))

    def landed(self, i: int, j: int) -> bool:
        """What step i stored is visible to the async proxy at j: it, or what was stored over it since."""
        return any(self.overlays(i, k) and self._crossed(k, j) for k in range(i, j))

    def overlays(self, i: int, k: int) -> bool:
        """Step k is the store i, or one over the same buffer that comes after it for certain."""
        return self._stored(i) == self._stored(k) and (k == i or self._over(i, k))

    def _stored(self, i: int) -> int | None:
        act = self.acts[i]
        return act.buffer if isinstance(act, SharedWrite | CpAsync) else None

    def _over(self, i: int, k: int) -> bool:
        starts = [i] if isinstance(self.acts[i], SharedWrite) else self.ends(i, k)
        return any(self.ordered(start, k) for start in starts)

    def _crossed(self, i: int, j: int) -> bool:
        """A proxy fence orders what step i stored before the async access j."""
        starts = [i] if isinstance(self.acts[i], SharedWrite) else self.ends(i, j)
        fences = [k for k in range(j) if isinstance(self.acts[k], ProxyFence)]
        for start in starts:
            for fence in fences:
                if fence < start:
                    continue
                if self.threads[start] == self.threads[fence] and self.apart(fence, j):
                    return True
                either = self.readings["proxy-fence-side"] == "either"
                if either and self.apart(start, fence) and self.told_by_one(fence, j):
                    return True
        return False

    # Hazards

    def closed_by(self, j: int) -> Iterator[Hazard]:
        """The hazards whose last step is j."""
        act = self.acts[j]
        if isinstance(act, RegisterRead | RegisterWrite):
            found = self._thread_access(j, act.register, isinstance(act, RegisterWrite))
        elif isinstance(act, Mma):
            found = self._mma(j, act)
        else:
            found = iter(())
        for hazard in (*found, *self._memory(j)):
            if self.rules[hazard.rule].applies(self.readings):
                yield hazard

    def _thread_access(self, j: int, register: int, writes: bool) -> Iterator[Hazard]:
        """An ordinary access of a register that a pending mma uses."""
        for i in self._mmas(j):
            mma = self.acts[i]
            assert isinstance(mma, Mma)
            if self.complete(i, j):
                continue
            if mma.d == register:
                yield Hazard("accumulator-in-flight", (i, j))
                yield from self._excuses(i, j)
            elif mma.a == Register(register):
                yield Hazard("a-written-in-flight" if writes else "a-read-in-flight", (i, j))
                if writes:
                    yield from self._excuses(i, j)

    def _excuses(self, i: int, j: int) -> Iterator[Hazard]:
        """The last wait between a pending mma and an access: why it did not help."""
        waits = [k for k in range(i + 1, j) if isinstance(self.acts[k], Wait)]
        if waits:
            committed = any(isinstance(self.acts[k], Commit) for k in range(i + 1, waits[-1]))
            yield Hazard("wait-too-shallow" if committed else "uncommitted-at-wait", (i, waits[-1], j))

    def _mma(self, j: int, mma: Mma) -> Iterator[Hazard]:
        """What the registers of an mma demand of the steps before."""
        if not self.fenced(-1, j):
            yield Hazard("first-fence", (j,))
        for i in range(j):
            act = self.acts[i]
            if isinstance(act, RegisterRead | RegisterWrite) and not self.fenced(i, j):
                if act.register == mma.d:
                    yield Hazard("register-fence", (i, j))
                elif mma.a == Register(act.register):
                    wrote = isinstance(act, RegisterWrite)
                    yield Hazard("register-fence" if wrote else "a-read-twice", (i, j))
            elif isinstance(act, Mma):
                yield from self._mmas_in_turn(i, act, j, mma)

    def _mmas_in_turn(self, i: int, first: Mma, j: int, second: Mma) -> Iterator[Hazard]:
        """Two mmas that use the same registers."""
        pending, fenced = not self.complete(i, j), self.fenced(i, j)
        rule = None
        if first.d == second.d:
            if all(getattr(first.shape, name) == getattr(second.shape, name) for name in self.shape):
                if pending:
                    yield Hazard("chain-unwaited", (i, j))
            else:
                rule = "accumulator-reshaped"
        roles = (
            (first.a, Register(second.d), "a-as-accumulator"),
            (Register(first.d), second.a, "accumulator-as-a"),
        )
        for held, wanted, name in roles:
            if held == wanted:
                rule = name
        if rule == "accumulator-reshaped" and fenced and self.readings["reshaped-accumulator"] == "fence":
            rule = None
        if rule and pending:
            yield Hazard(rule, (i, j))
            yield from self._excuses(i, j)
        elif rule and not fenced:
            yield Hazard("fence-after-mma", (i, j))
        if first.a == second.a and isinstance(first.a, Register) and not fenced:
            yield Hazard("a-read-twice", (i, j))

    def _memory(self, j: int) -> Iterator[Hazard]:
        """What an access of shared memory demands of the steps before."""
        act = self.acts[j]
        for buffer in self._buffers(j):
            for i in range(j):
                if buffer in self._buffers(i):
                    rule = self._shared(i, j, act)
                    if rule:
                        yield Hazard(rule, (i, j))

    def _buffers(self, i: int) -> frozenset[int]:
        act = self.acts[i]
        if isinstance(act, Mma):
            return act.buffers
        if isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy):
            return frozenset((act.buffer,))
        return frozenset()

    def _shared(self, i: int, j: int, act: object) -> str | None:
        """The rule that two accesses of one buffer break."""
        first = self.acts[i]
        if isinstance(first, Mma):
            return self._overwritten(i, j)
        if isinstance(first, SharedRead):
            reads = isinstance(act, SharedRead | Mma)
            return None if reads or self.apart(i, j) else "shared-unsynchronised"
        if isinstance(first, BulkCopy):
            return None if self.complete(i, j) else "copy-incomplete"
        if isinstance(first, CpAsync) and not self.ends(i, j):
            return "copy-incomplete"
        return self._after_store(i, j)

    def _overwritten(self, i: int, j: int) -> str | None:
        act = self.acts[j]
        if isinstance(act, SharedRead | Mma):
            return None
        if not self.read_everywhere(i, j):
            return "shared-overwritten"
        if isinstance(act, BulkCopy):
            return None
        fences = [k for k in range(j) if isinstance(self.acts[k], ProxyFence)]
        through = any(
            self.ordered(end, k) and self.ordered(k, j) for end in self.ends(i, j) for k in fences if k > end
        )
        return None if through else "fence-after-completion"

    def _after_store(self, i: int, j: int) -> str | None:
        """What a store, or a cp.async that somebody waited for, demands of a later access."""
        act = self.acts[j]
        starts = [i] if isinstance(self.acts[i], SharedWrite) else self.ends(i, j)
        if isinstance(act, SharedWrite | CpAsync):
            fine = any(self.ordered(start, j) for start in starts)
            return None if fine else "shared-unsynchronised"
        if not any(self.apart(start, j) for start in starts):
            return "shared-unsynchronised"
        if isinstance(act, SharedRead) or self.landed(i, j):
            return None
        return "proxy-fence-copy" if isinstance(act, BulkCopy) else "proxy-fence"
