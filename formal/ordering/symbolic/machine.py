"""The machine as formulas about one symbolic program: what cannot happen while one effect is delayed.

Two schedules of a program have different results when two effects on one cell, of which one writes it, can
happen in either order (`machine.py` of the parent folder says what effects, streams and cells are). To find
out, one effect of the first step is delayed for ever, and everything that does not wait for it goes on. An
effect that still happens *overtakes* the delayed one; `overtaking.py` asks whether it is on the same cell.

The kinds of effect: an operation's `issue`; a `settle`, an ordinary access of a register taking effect for
the asynchronous unit; a `flight`, an mma or copy taking effect; a `landing`, a value stored through the
generic proxy arriving in the async proxy's view. A `store` is the moment at which a value is in the generic
view: the issue of an ordinary store, the flight of a cp.async.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....spec.switches import Conduct
from ...smt.terms import UGE, And, BitVecVal, Bool, BoolVal, If, Not, Or, Term, ZeroExt
from ..programs import (
    BlockEnd,
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
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)
from .program import SymbolicProgram, any_of

__all__ = [
    "BUFFER_PARTS",
    "OTHERS",
    "STEPS_WITH",
    "STREAMS",
    "THREAD",
    "WARP",
    "DelayedEffect",
    "EffectName",
    "MachineSteps",
]

STREAMS = WARP, OTHERS, THREAD = 0, 1, 2
# Who stores which half of a buffer: a warp its own part (0), the others theirs (1), the other thread both.
BUFFER_PARTS = ((WARP, 0), (OTHERS, 1), (THREAD, 0), (THREAD, 1))
EffectName = tuple[str, int, int]  # kind, stream, half of a buffer
# By kind of effect: the steps that have such an effect on shared memory.
STEPS_WITH: Mapping[str, tuple[type, ...]] = {
    "issue": (SharedRead, SharedWrite),
    "store": (SharedWrite, CpAsync),
    "landing": (SharedWrite, CpAsync),
    "flight": (CpAsync, BulkCopy, BulkStore, Mma),
}
_NO = BoolVal(False)
# What an elected thread of the warpgroup does, and what is not kept of the other warps.
_OF_ONE_WARP = (BulkCopy, BulkStore, BulkCommit, BulkWait, RegisterRead, RegisterWrite, WgmmaFence)


class MachineSteps:
    """What the steps of a program do in the machine, whichever effect is delayed; each formula is made once.

    With `any_chain` it is left to the solver which mmas on one accumulator take effect in order.
    """

    def __init__(
        self,
        s: SymbolicProgram,
        conduct: Conduct,
        any_chain: bool,
        empty_groups_count: Term,
        block_lasts: Term,
    ) -> None:
        self.s = s
        self.conduct = conduct
        self.any_chain = any_chain
        self.empty_groups_count = empty_groups_count
        self.block_lasts = block_lasts
        self._made: dict[tuple[object, ...], Term] = {}

    def _once(self, make: Callable[..., Term], *arguments: object) -> Term:
        key = (make.__name__, *arguments)
        if key not in self._made:
            self._made[key] = make(*arguments)
        return self._made[key]

    def runs(self, k: int, stream: int) -> Term:
        """A stream executes step k."""
        return self._once(self._runs, k, stream)

    def stored(self, i: int, k: int) -> Term:
        """What step i stores is in the generic view when its own stream issues step k."""
        return self._once(self._stored, i, k)

    def waits_for_group(self, i: int, k: int, copies: bool) -> Term:
        """The wait k waits for the group of the mma i (`copies`: of the cp.async or bulk store i)."""
        return self._once(self._waits_for_group, i, k, copies)

    def waits_for_signal(self, i: int, k: int, kind: type) -> Term:
        """Step k waits for the mbarrier that step i, of a kind, signals."""
        return self._once(self._waits_for_signal, i, k, kind)

    def in_order(self, i: int, k: int) -> Term:
        """The mmas i and k take effect in order, because they accumulate into one register."""
        return self._once(self._in_order, i, k)

    def _runs(self, k: int, stream: int) -> Term:
        s = self.s
        if stream == THREAD:
            return Or(s.other[k], s.is_a(k, CtaBarrier, BlockEnd))
        if stream == OTHERS:
            return And(Not(s.other[k]), Not(s.is_a(k, *_OF_ONE_WARP)))
        return Not(s.other[k])

    def _stored(self, i: int, k: int) -> Term:
        s = self.s
        waits = [And(s.is_a(c, CpAsyncWait), self._once(self._is_due, i, c, True)) for c in range(i + 1, k)]
        return Or(s.is_a(i, SharedWrite), any_of(waits))

    def _is_due(self, i: int, k: int, copies: bool) -> Term:
        """The group of step i is older than those that the wait k leaves pending."""
        s = self.s
        later_groups = BitVecVal(0, 5)
        uncommitted: Term = BoolVal(True)
        committed: Term = BoolVal(False)
        for c in range(i + 1, k):
            own = s.other[c] == s.other[k]
            commit = s.is_a(c, Commit)
            if copies:
                bulk = s.is_a(i, BulkStore)
                commit = If(bulk, s.is_a(c, BulkCommit), s.is_a(c, CpAsyncCommit))
            commits = And(commit, own)
            makes_group = commits if copies else And(commits, Or(self.empty_groups_count, uncommitted))
            later_groups = If(And(makes_group, committed), later_groups + 1, later_groups)
            committed = Or(committed, makes_group)
            uncommitted = If(commits, BoolVal(False), Or(uncommitted, And(s.is_a(c, Mma), own)))
        old = UGE(later_groups, ZeroExt(1, s.count[k]))
        return And(s.other[i] == s.other[k], committed, old)

    def _waits_for_group(self, i: int, k: int, copies: bool) -> Term:
        s = self.s
        waits = And(s.is_a(k, Wait), s.is_a(i, Mma))
        if copies:
            copied = And(s.is_a(k, CpAsyncWait), s.is_a(i, CpAsync))
            waits = Or(copied, And(s.is_a(k, BulkWait), s.is_a(i, BulkStore)))
        return And(waits, self._once(self._is_due, i, k, copies))

    def _waits_for_signal(self, i: int, k: int, kind: type) -> Term:
        s = self.s
        return And(s.is_a(k, MbarrierWait), s.is_a(i, kind), s.barrier[i] == s.barrier[k])

    def _in_order(self, i: int, k: int) -> Term:
        s = self.s
        alike = Bool(f"chained_{i}_{k}") if self.any_chain else s.alike(i, k, self.conduct.same_shape)
        if self.conduct.fence_orders_shapes:
            alike = Or(alike, any_of([s.is_a(f, WgmmaFence) for f in range(i + 1, k)]))
        return And(s.is_a(i, Mma), s.is_a(k, Mma), s.register[i] == s.register[k], alike)


class DelayedEffect:
    """The effects that cannot happen while one effect of the step `step` is delayed.

    By step, and by stream or half of a buffer where there are several: `no_issue`, `no_flight`, `no_settle`
    and `no_landing`. `stopped`: by stream, whether it has stopped at a step or before. `stores`: by (step,
    stream) what stops while that step's store is delayed, for a conduct in which a proxy fence waits for all
    threads.
    """

    def __init__(
        self,
        steps: MachineSteps,
        name: EffectName,
        step: int = 0,
        stores: Mapping[tuple[int, int], DelayedEffect] | None = None,
    ) -> None:
        s = steps.s
        self.s = s
        self.steps = steps
        self.conduct = steps.conduct
        self.name = name
        self.kind, self.stream, self.half = name
        self.step = step
        self.stores = stores or {}
        self.no_issue = {stream: [_NO] * s.length for stream in STREAMS}
        self.no_flight = {stream: [_NO] * s.length for stream in STREAMS}
        self.no_settle = [_NO] * s.length
        self.no_landing = {part: [_NO] * s.length for part in BUFFER_PARTS}
        self.stopped: dict[int, list[Term]] = {stream: [] for stream in STREAMS}
        for k in range(s.length):
            for stream in STREAMS:
                self._issue(k, stream)
            for stream in STREAMS:
                self._effects(k, stream)

    def _is_delayed(self, k: int, kind: str, stream: int) -> Term:
        """The effect of step k in a stream is the delayed one."""
        if k != self.step or stream != self.stream:
            return BoolVal(False)
        if self.kind == "store":
            operations = {"issue": SharedWrite, "flight": CpAsync}
            return self.s.is_a(k, operations[kind]) if kind in operations else BoolVal(False)
        return BoolVal(kind == self.kind)

    def _issue(self, k: int, stream: int) -> None:
        """A stream cannot issue step k: it has stopped, or step k waits for an effect that cannot happen."""
        s, steps = self.s, self.steps
        stopped = {who: self.stopped[who][k - 1] if k else BoolVal(False) for who in STREAMS}
        reasons = [
            And(s.is_a(k, WgmmaFence), any_of(self.no_settle[:k])),
            And(s.is_a(k, CtaBarrier, BlockEnd), any_of(list(stopped.values()))),
        ]
        for i in range(k):
            unfinished = self.no_flight[stream][i]
            if self.conduct.wait_covers_all:
                unfinished = any_of([self.no_flight[who][i] for who in (WARP, OTHERS)])
            reasons.append(And(steps.waits_for_group(i, k, False), unfinished))
            reasons.append(And(steps.waits_for_group(i, k, True), self.no_flight[stream][i]))
            landings = [
                And(self.no_landing[who, half][i], self._stored_before(i, who, k, stream))
                for who, half in BUFFER_PARTS
                if who == stream or self.conduct.proxy_fence_covers_all
            ]
            reasons.append(And(s.is_a(k, ProxyFence), any_of(landings)))
            arrivals = [And(steps.runs(i, who), self.no_issue[who][i]) for who in STREAMS]
            reasons.append(And(steps.waits_for_signal(i, k, MbarrierArrive), any_of(arrivals)))
            copies = [And(steps.runs(i, who), self.no_flight[who][i]) for who in (WARP, THREAD)]
            reasons.append(And(steps.waits_for_signal(i, k, BulkCopy), any_of(copies)))
        blocked = And(
            steps.runs(k, stream),
            Or(stopped[stream], self._is_delayed(k, "issue", stream), *reasons),
        )
        self.no_issue[stream][k] = blocked
        self.stopped[stream].append(Or(stopped[stream], blocked))

    def _stored_before(self, i: int, who: int, k: int, stream: int) -> Term:
        """What `who` stores in step i is in the generic view whenever a stream issues step k."""
        if who == stream:
            return self.steps.stored(i, k)
        store = self.stores.get((i, who))
        return store.no_issue[stream][k] if store else BoolVal(False)

    def _effects(self, k: int, stream: int) -> None:
        """Effects of step k after its issue cannot happen: delayed, not issued, or after one that cannot."""
        s, steps = self.s, self.steps
        earlier = [And(steps.in_order(i, k), self.no_flight[stream][i]) for i in range(k)]
        self.no_flight[stream][k] = And(
            steps.runs(k, stream),
            s.is_a(k, Mma, CpAsync, BulkCopy, BulkStore),
            Or(self._is_delayed(k, "flight", stream), self.no_issue[stream][k], *earlier),
        )
        if stream == WARP:
            registers = (RegisterRead, RegisterWrite)
            queue = [
                And(s.is_a(i, *registers), s.register[i] == s.register[k], self.no_settle[i])
                for i in range(k)
            ]
            self.no_settle[k] = And(
                s.is_a(k, *registers),
                Or(self._is_delayed(k, "settle", WARP), self.no_issue[WARP][k], *queue),
            )
        no_store = If(s.is_a(k, CpAsync), self.no_flight[stream][k], self.no_issue[stream][k])
        for who, half in BUFFER_PARTS:
            if who == stream:
                self.no_landing[who, half][k] = And(
                    self.stores_in(k, stream),
                    Or(
                        And(self._is_delayed(k, "landing", who), BoolVal(half == self.half)),
                        no_store,
                        self._follows_first_store(k, half),
                    ),
                )

    def _follows_first_store(self, k: int, half: int) -> Term:
        """Step k stores over what the first step stored, whose landing cannot happen.

        Values land in the order in which they were stored. That step k stores after the first step is
        certain: otherwise the two have a hazard, and the question does not arise.
        """
        if k == 0:
            return BoolVal(False)
        s = self.s
        first = [
            And(self.stores_in(0, who), self.no_landing[who, of][0]) for who, of in BUFFER_PARTS if of == half
        ]
        return And(s.buffer[0] == s.buffer[k], any_of(first))

    def stores_in(self, k: int, stream: int) -> Term:
        """Step k stores through the generic proxy, in a stream."""
        return And(self.steps.runs(k, stream), self.s.is_a(k, SharedWrite, CpAsync))
