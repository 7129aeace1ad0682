"""The two ordering models as formulas about one symbolic program, for a solver to tell them apart.

The program has a first step, a last one, and any steps between (or none: a step may be empty); whatever comes
before the first concerns neither model's verdict on the two. Asked is whether one program exists in which
the axioms see a hazard between the two and the machine cannot swap their effects, or the other way round.
The machine's side: hold back one effect of the first step, let everything go on that does not wait for it,
and see whether the last step's effect on the same cell is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import z3

from ...spec.ordering import Readings, ordering
from ..smt.obligations import Model, Obligation, refuting
from .machine import Conduct
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
    Operation,
    Program,
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
from .readings import conduct

__all__ = [
    "FIRST",
    "LENGTH",
    "OTHERS",
    "STREAMS",
    "THREAD",
    "WARP",
    "Axioms",
    "Machine",
    "Symbols",
    "Verdicts",
    "held_back",
    "ordering_obligations",
    "registers",
    "settled",
    "shared_memory",
    "wellformed",
]

LENGTH = 6  # of `ptxmma prove`; `ptxmma ordering --length` asks about longer programs
_KINDS: tuple[type, ...] = (
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    ProxyFence,
    WgmmaFence,
    Mma,
    Commit,
    Wait,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    BulkCopy,
    MbarrierArrive,
    MbarrierWait,
    CtaBarrier,
)
_WARPGROUP_ONLY = (RegisterRead, RegisterWrite, WgmmaFence, Mma, Commit, Wait, CtaBarrier)
STREAMS = WARP, OTHERS, THREAD = 0, 1, 2
# Who stores which half of a buffer: a warp its own part (0), the others theirs (1), the other thread both.
_PARTS = ((WARP, 0), (OTHERS, 1), (THREAD, 0), (THREAD, 1))


def _any(parts: Sequence[z3.BoolRef]) -> z3.BoolRef:
    return z3.Or(*parts) if parts else z3.BoolVal(False)


class Symbols:
    """The constants that spell a program: for every step its kind, thread and operands."""

    def __init__(self, length: int) -> None:
        self.length = length
        steps = range(length)
        self.kind = [z3.BitVec(f"kind_{k}", 5) for k in steps]
        self.other = [z3.Bool(f"other_{k}") for k in steps]
        self.register = [z3.BitVec(f"register_{k}", 2) for k in steps]
        self.a_register = [z3.BitVec(f"a_register_{k}", 2) for k in steps]
        self.a_held = [z3.Bool(f"a_held_{k}") for k in steps]
        self.buffer = [z3.BitVec(f"buffer_{k}", 2) for k in steps]
        self.a_buffer = [z3.BitVec(f"a_buffer_{k}", 2) for k in steps]
        self.barrier = [z3.BitVec(f"barrier_{k}", 2) for k in steps]
        self.count = [z3.BitVec(f"count_{k}", 4) for k in steps]
        self.shape = {f: [z3.Bool(f"shape_{f}_{k}") for k in steps] for f in ("n", "k", "types")}

        self._is_a: dict[tuple[object, ...], z3.BoolRef] = {}

    def is_a(self, k: int, *kinds: type) -> z3.BoolRef:
        """Step k is of one of the kinds."""
        if (k, *kinds) not in self._is_a:
            self._is_a[k, *kinds] = _any([self.kind[k] == _KINDS.index(kind) for kind in kinds])
        return self._is_a[k, *kinds]

    def accesses(self, k: int, buffer: z3.BitVecRef) -> z3.BoolRef:
        """Step k accesses a buffer."""
        own = z3.And(self.is_a(k, SharedRead, SharedWrite, CpAsync, BulkCopy, Mma), self.buffer[k] == buffer)
        return z3.Or(own, z3.And(self.is_a(k, Mma), z3.Not(self.a_held[k]), self.a_buffer[k] == buffer))

    def alike(self, i: int, j: int, fields: Sequence[str]) -> z3.BoolRef:
        """The shapes of two mmas agree in some fields (M is always 64)."""
        return z3.And(*(self.shape[f][i] == self.shape[f][j] for f in fields if f in self.shape))

    def program(self, model: Model) -> Program:
        """The program of a model."""

        def of(constant: z3.ExprRef) -> int:
            return model.get(str(constant), 0)

        steps = []
        for k in range(self.length):
            number = of(self.kind[k])
            if number >= len(_KINDS):
                continue
            kind = _KINDS[number]
            act: Operation
            if kind is Mma:
                a = Register(of(self.a_register[k])) if of(self.a_held[k]) else Buffer(of(self.a_buffer[k]))
                n, depth = 8 + 8 * of(self.shape["n"][k]), 16 - 8 * of(self.shape["k"][k])
                types = ("f32.f16.f16", "f32.bf16.bf16")[of(self.shape["types"][k])]
                act = Mma(MmaShape(64, n, depth, types), of(self.register[k]), a, of(self.buffer[k]))
            elif kind in (RegisterRead, RegisterWrite):
                act = kind(of(self.register[k]))
            elif kind in (SharedRead, SharedWrite, CpAsync):
                act = kind(of(self.buffer[k]))
            elif kind is BulkCopy:
                act = BulkCopy(of(self.buffer[k]), of(self.barrier[k]))
            elif kind in (MbarrierArrive, MbarrierWait):
                act = kind(of(self.barrier[k]))
            elif kind in (Wait, CpAsyncWait):
                act = kind(of(self.count[k]))
            else:
                act = kind()
            steps.append(Step(act, OTHER if of(self.other[k]) else 0))
        return Program(tuple(steps))

    def spelling(self, program: Program) -> Mapping[z3.ExprRef, z3.ExprRef]:
        """The values of the constants that spell a program, which is as long as there are steps."""
        found: dict[z3.ExprRef, z3.ExprRef] = {}
        for k, step in enumerate(program.steps):
            act = step.operation
            found[self.kind[k]] = z3.BitVecVal(_KINDS.index(type(act)), 5)
            found[self.other[k]] = z3.BoolVal(step.thread == OTHER)
            values = {"register": 0, "a_register": 0, "buffer": 0, "a_buffer": 0, "barrier": 0, "count": 0}
            held = False
            shape = {"n": False, "k": False, "types": False}
            if isinstance(act, RegisterRead | RegisterWrite):
                values["register"] = act.register
            elif isinstance(act, Mma):
                held = isinstance(act.a, Register)
                values |= {
                    "register": act.d,
                    "buffer": act.b,
                    "a_register" if held else "a_buffer": act.a.number,
                }
                shape = {
                    "n": act.shape.n != 8,
                    "k": act.shape.k != 16,
                    "types": act.shape.types != "f32.f16.f16",
                }
            elif isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy):
                values["buffer"] = act.buffer
            if isinstance(act, BulkCopy | MbarrierArrive | MbarrierWait):
                values["barrier"] = act.barrier
            if isinstance(act, Wait | CpAsyncWait):
                values["count"] = act.n
            for name, value in values.items():
                constant = getattr(self, name)[k]
                found[constant] = z3.BitVecVal(value, constant.size())
            found[self.a_held[k]] = z3.BoolVal(held)
            for name, flag in shape.items():
                found[self.shape[name][k]] = z3.BoolVal(flag)
        return found


def wellformed(s: Symbols) -> z3.BoolRef:
    """Every step is an operation or nothing; only the warpgroup's threads execute what is theirs."""
    parts = []
    for k in range(s.length):
        parts.append(z3.ULE(s.kind[k], len(_KINDS)))
        parts.append(z3.Implies(s.other[k], z3.Not(s.is_a(k, *_WARPGROUP_ONLY))))
        held = z3.And(s.is_a(k, Mma), s.a_held[k])
        parts.append(z3.Implies(held, s.a_register[k] != s.register[k]))
    return z3.And(*parts)


class Axioms:
    """The relations of the axioms between the steps of a symbolic program."""

    def __init__(self, s: Symbols, readings: Readings, empty: z3.BoolRef) -> None:
        self.s = s
        self.readings = readings
        self.empty = empty  # a commit without mmas makes a group
        self.groups: dict[tuple[int, int], z3.BitVecRef] = {}
        self.commits: dict[tuple[int, int], z3.BitVecRef] = {}
        self.synced: dict[tuple[int, int], z3.BoolRef] = {}
        self.told_by_one: dict[tuple[int, int], z3.BoolRef] = {}
        # By i, j: whether the warpgroup, and the other thread, know of step i (of one warp's part) behind j.
        self.knows: dict[tuple[int, int], tuple[z3.BoolRef, z3.BoolRef]] = {}
        self.knows_one: dict[tuple[int, int], tuple[z3.BoolRef, z3.BoolRef]] = {}
        for i in range(s.length):
            self._count(i)
        for i in range(s.length):
            self._synchronise(i, False)
            self._synchronise(i, True)

    def _count(self, i: int) -> None:
        s = self.s
        groups, commits = z3.BitVecVal(0, 5), z3.BitVecVal(0, 5)
        loose: z3.BoolRef = z3.BoolVal(True)
        for j in range(i + 1, s.length):
            self.groups[i, j], self.commits[i, j] = groups, commits
            commit = s.is_a(j, Commit)
            counts = z3.And(commit, z3.Or(self.empty, loose))
            groups = z3.If(counts, groups + 1, groups)
            loose = z3.And(z3.Or(loose, s.is_a(j, Mma)), z3.Not(commit))
            own = z3.And(s.is_a(j, CpAsyncCommit), s.other[j] == s.other[i])
            commits = z3.If(own, commits + 1, commits)

    def covers(self, c: int, i: int) -> z3.BoolRef:
        """Step c waits for the mma or cp.async i."""
        s = self.s
        n = z3.ZeroExt(1, s.count[c])
        wgmma = z3.And(s.is_a(i, Mma), s.is_a(c, Wait), z3.UGT(self.groups[i, c], n))
        same = s.other[i] == s.other[c]
        copy = z3.And(s.is_a(i, CpAsync), s.is_a(c, CpAsyncWait), same, z3.UGT(self.commits[i, c], n))
        return z3.Or(wgmma, copy)

    def _synchronise(self, i: int, one: bool) -> None:
        s = self.s
        found, known = (self.told_by_one, self.knows_one) if one else (self.synced, self.knows)
        knows = [z3.BoolVal(False), z3.BoolVal(False)]
        signals: list[z3.BoolRef] = [z3.BoolVal(False)] * 4
        for j in range(i + 1, s.length):
            here = z3.If(s.other[j], knows[1], knows[0])
            mine = s.other[j] == s.other[i]
            tells = z3.Or(
                z3.And(s.is_a(j, MbarrierArrive), z3.Or(here, mine)),
                z3.And(s.is_a(j, BulkCopy), z3.Or(here, mine if one else z3.And(mine, s.other[j]))),
            )
            told = z3.And(
                s.is_a(j, MbarrierWait), _any([z3.And(s.barrier[j] == b, signals[b]) for b in range(4)])
            )
            if self.readings["wait-scope"] == "warpgroup":
                waited = _any([self.covers(j, m) for m in range(i + 1, j)])
                told = z3.Or(told, z3.And(s.is_a(j, Wait), z3.Not(s.other[i]), waited))
            meets = s.is_a(j, CtaBarrier)
            signals = [z3.Or(signals[b], z3.And(tells, s.barrier[j] == b)) for b in range(4)]
            knows = [
                z3.Or(knows[0], meets, z3.And(told, z3.Not(s.other[j]))),
                z3.Or(knows[1], meets, z3.And(told, s.other[j])),
            ]
            known[i, j] = knows[0], knows[1]
            found[i, j] = z3.And(z3.If(s.other[j], knows[1], knows[0]), z3.Not(meets))

    def ordered(self, i: int, j: int) -> z3.BoolRef:
        return z3.Or(self.s.other[i] == self.s.other[j], self.synced[i, j])

    def apart(self, i: int, j: int) -> z3.BoolRef:
        return z3.Or(z3.And(self.s.other[i], self.s.other[j]), self.synced[i, j])

    def ends(self, i: int, c: int) -> z3.BoolRef:
        s = self.s
        copied = z3.And(s.is_a(i, BulkCopy), s.is_a(c, MbarrierWait), s.barrier[i] == s.barrier[c])
        return z3.Or(self.covers(c, i), copied)

    def complete(self, i: int, j: int) -> z3.BoolRef:
        s = self.s
        for_all = (BulkCopy, Mma) if self.readings["wait-scope"] == "warpgroup" else (BulkCopy,)
        by_one = s.is_a(i, *for_all)
        found = []
        for c in range(i + 1, j):
            told = z3.If(by_one, self.told_by_one[c, j], self.synced[c, j])
            found.append(z3.And(self.ends(i, c), z3.Or(s.other[c] == s.other[j], told)))
        return _any(found)

    def fenced(self, i: int, j: int) -> z3.BoolRef:
        return _any([self.s.is_a(f, WgmmaFence) for f in range(i + 1, j)])

    def starts(self, i: int, j: int) -> list[tuple[int, z3.BoolRef]]:
        """From where on what step i stored is in the generic proxy: itself, or the waits for it."""
        stored = [(i, self.s.is_a(i, SharedWrite))]
        waits = [(c, z3.And(self.s.is_a(i, CpAsync), self.ends(i, c))) for c in range(i + 1, j)]
        return stored + waits

    def landed(self, i: int, j: int) -> z3.BoolRef:
        return _any([z3.And(self.overlays(i, k, j), self._crossed(k, j)) for k in range(i, j)])

    def overlays(self, i: int, k: int, j: int) -> z3.BoolRef:
        if i == k:
            return z3.BoolVal(True)
        s = self.s
        stores = z3.And(s.is_a(k, SharedWrite, CpAsync), s.buffer[k] == s.buffer[i])
        after = _any([z3.And(held, self.ordered(start, k)) for start, held in self.starts(i, k) if start < k])
        return z3.And(stores, after)

    def _crossed(self, k: int, j: int) -> z3.BoolRef:
        s = self.s
        found = []
        for start, held in self.starts(k, j):
            for f in range(start + 1, j):
                through = z3.And(s.other[start] == s.other[f], self.apart(f, j))
                if self.readings["proxy-fence-side"] == "either":
                    told = z3.Or(s.other[f] == s.other[j], self.told_by_one[f, j])
                    through = z3.Or(through, z3.And(self.apart(start, f), told))
                found.append(z3.And(held, s.is_a(f, ProxyFence), through))
        return _any(found)

    def register_hazard(self, i: int, j: int) -> z3.BoolRef:
        """A hazard that can change a value, on a register of step i and a later step j."""
        s = self.s
        plain = s.is_a(i, RegisterRead, RegisterWrite)
        as_a = z3.And(s.a_held[j], s.a_register[j] == s.register[i])
        unfenced = z3.And(
            plain,
            s.is_a(j, Mma),
            z3.Not(self.fenced(i, j)),
            z3.Or(s.register[i] == s.register[j], z3.And(s.is_a(i, RegisterWrite), as_a)),
        )
        held = z3.And(s.a_held[i], s.a_register[i] == s.register[j])
        pending = z3.And(s.is_a(i, Mma), z3.Not(self.complete(i, j)))
        touched = z3.And(
            pending,
            s.is_a(j, RegisterRead, RegisterWrite),
            z3.Or(s.register[i] == s.register[j], z3.And(s.is_a(j, RegisterWrite), held)),
        )
        fields = {"m-n": ("n",), "m-n-k": ("n", "k"), "types": ("n", "k", "types")}
        reshaped = z3.And(
            s.register[i] == s.register[j], z3.Not(s.alike(i, j, fields[self.readings["same-shape"]]))
        )
        if self.readings["reshaped-accumulator"] == "fence":
            reshaped = z3.And(reshaped, z3.Not(self.fenced(i, j)))
        crossed = z3.And(pending, s.is_a(j, Mma), z3.Or(reshaped, held, as_a))
        return z3.Or(unfenced, touched, crossed)

    def memory_hazard(self, i: int, j: int) -> z3.BoolRef:
        """The same, on a buffer."""
        s = self.s
        shared = z3.Or(
            z3.And(s.accesses(i, s.buffer[j]), s.accesses(j, s.buffer[j])),
            z3.And(s.accesses(i, s.a_buffer[j]), s.is_a(j, Mma), z3.Not(s.a_held[j])),
        )
        reads = s.is_a(j, SharedRead, Mma)
        if self.readings["wait-scope"] == "warpgroup":
            read = self.complete(i, j)
        else:
            read = _any([z3.And(self.ends(i, c), self.synced[c, j]) for c in range(i + 1, j)])
        overwritten = z3.And(s.is_a(i, Mma), z3.Not(reads), z3.Not(read))
        loaded = z3.And(s.is_a(i, SharedRead), z3.Not(reads), z3.Not(self.apart(i, j)))
        copied = z3.And(s.is_a(i, BulkCopy), z3.Not(self.complete(i, j)))
        starts = self.starts(i, j)
        over = _any([z3.And(held, self.ordered(start, j)) for start, held in starts])
        far = _any([z3.And(held, self.apart(start, j)) for start, held in starts])
        stored = z3.And(
            s.is_a(i, SharedWrite, CpAsync),
            z3.If(
                s.is_a(j, SharedWrite, CpAsync),
                z3.Not(over),
                z3.Or(z3.Not(far), z3.And(z3.Not(s.is_a(j, SharedRead)), z3.Not(self.landed(i, j)))),
            ),
        )
        return z3.And(shared, z3.Or(overwritten, loaded, copied, stored))


class _Common:
    """What the machine does the same whichever effect is held back: each formula is made once."""

    def __init__(self, s: Symbols, conduct: Conduct, any_chain: bool, empty: z3.BoolRef) -> None:
        self.s = s
        self.conduct = conduct
        self.empty = empty
        self.any_chain = any_chain
        self._known: dict[tuple[object, ...], z3.BoolRef] = {}

    def _once(self, make: Callable[..., z3.BoolRef], *which: object) -> z3.BoolRef:
        key = (make.__name__, *which)
        if key not in self._known:
            self._known[key] = make(*which)
        return self._known[key]

    def left(self, i: int, k: int, copies: bool) -> z3.BoolRef:
        """The group of the asynchronous step i is not among the most recent that a wait k leaves."""
        return self._once(self._left, i, k, copies)

    def stored(self, i: int, k: int) -> z3.BoolRef:
        """What step i stores is stored for certain before its own stream issues step k."""
        return self._once(self._stored, i, k)

    def runs(self, k: int, stream: int) -> z3.BoolRef:
        """Step k is in the code of a stream."""
        return self._once(self._runs, k, stream)

    def waited(self, i: int, k: int, copies: bool) -> z3.BoolRef:
        """Step k waits for the group of the mma (or cp.async) i."""
        return self._once(self._is_waited, i, k, copies)

    def awaited(self, i: int, k: int, signal: type) -> z3.BoolRef:
        """Step k waits for the signal that step i gives."""
        return self._once(self._is_awaited, i, k, signal)

    def chained(self, i: int, k: int) -> z3.BoolRef:
        """Two mmas of which the first must take effect first."""
        return self._once(self._is_chained, i, k)

    def _left(self, i: int, k: int, copies: bool) -> z3.BoolRef:
        s = self.s
        commit, kind = (CpAsyncCommit, CpAsync) if copies else (Commit, Mma)
        later = z3.BitVecVal(0, 5)
        filled: z3.BoolRef = z3.BoolVal(True)
        committed: z3.BoolRef = z3.BoolVal(False)
        for c in range(i + 1, k):
            mine = s.other[c] == s.other[k]
            here = z3.And(s.is_a(c, commit), mine)
            counted = here if copies else z3.And(here, z3.Or(self.empty, filled))
            later = z3.If(z3.And(counted, committed), later + 1, later)
            committed = z3.Or(committed, counted)
            filled = z3.If(here, z3.BoolVal(False), z3.Or(filled, z3.And(s.is_a(c, kind), mine)))
        return z3.And(s.other[i] == s.other[k], committed, z3.UGE(later, z3.ZeroExt(1, s.count[k])))

    def _stored(self, i: int, k: int) -> z3.BoolRef:
        s = self.s
        waits = [z3.And(s.is_a(c, CpAsyncWait), self.left(i, c, True)) for c in range(i + 1, k)]
        return z3.Or(s.is_a(i, SharedWrite), _any(waits))

    def _runs(self, k: int, stream: int) -> z3.BoolRef:
        s = self.s
        if stream == THREAD:
            return z3.Or(s.other[k], s.is_a(k, CtaBarrier))
        if stream == OTHERS:
            return z3.And(
                z3.Not(s.other[k]), z3.Not(s.is_a(k, BulkCopy, RegisterRead, RegisterWrite, WgmmaFence))
            )
        return z3.Not(s.other[k])

    def _is_waited(self, i: int, k: int, copies: bool) -> z3.BoolRef:
        wait, kind = (CpAsyncWait, CpAsync) if copies else (Wait, Mma)
        return z3.And(self.s.is_a(k, wait), self.s.is_a(i, kind), self.left(i, k, copies))

    def _is_awaited(self, i: int, k: int, signal: type) -> z3.BoolRef:
        s = self.s
        return z3.And(s.is_a(k, MbarrierWait), s.is_a(i, signal), s.barrier[i] == s.barrier[k])

    def _is_chained(self, i: int, k: int) -> z3.BoolRef:
        s = self.s
        alike = z3.Bool(f"chained_{i}_{k}") if self.any_chain else s.alike(i, k, self.conduct.chained)
        if self.conduct.fence_chains:
            alike = z3.Or(alike, _any([s.is_a(f, WgmmaFence) for f in range(i + 1, k)]))
        return z3.And(s.is_a(i, Mma), s.is_a(k, Mma), s.register[i] == s.register[k], alike)


class Machine:
    """What cannot happen while one effect of the first step is held back."""

    def __init__(
        self,
        common: _Common,
        effect: str,
        stream: int,
        half: int = 0,
        step: int = 0,
        first: Mapping[tuple[int, int], Machine] | None = None,
    ) -> None:
        s = common.s
        self.s = s
        self.common = common
        self.conduct = common.conduct
        self.effect, self.stream, self.half, self.step = effect, stream, half, step
        self.first = first or {}
        self.issue = {stream: [z3.BoolVal(False)] * s.length for stream in STREAMS}
        self.flight = {stream: [z3.BoolVal(False)] * s.length for stream in STREAMS}
        self.settle = [z3.BoolVal(False)] * s.length
        self.landing = {part: [z3.BoolVal(False)] * s.length for part in _PARTS}
        self.stuck: dict[int, list[z3.BoolRef]] = {stream: [] for stream in STREAMS}  # behind each step
        for k in range(s.length):
            for at in STREAMS:
                self._issue(k, at)
            for at in STREAMS:
                self._effects(k, at)

    def _held(self, k: int, effect: str, stream: int) -> z3.BoolRef:
        if k != self.step or stream != self.stream:
            return z3.BoolVal(False)
        if self.effect == "store":  # at issue, or when a cp.async takes effect
            kinds = {"issue": SharedWrite, "flight": CpAsync}
            return self.s.is_a(k, kinds[effect]) if effect in kinds else z3.BoolVal(False)
        return z3.BoolVal(effect == self.effect)

    def _issue(self, k: int, stream: int) -> None:
        """Step k cannot be issued by a stream: one before cannot, or what it waits for is held back."""
        s = self.s
        stuck = {who: self.stuck[who][k - 1] if k else z3.BoolVal(False) for who in STREAMS}
        gates = [
            z3.And(s.is_a(k, WgmmaFence), _any(self.settle[:k])),
            z3.And(s.is_a(k, CtaBarrier), _any(list(stuck.values()))),
        ]
        for i in range(k):
            mmas = self.flight[stream][i]
            if self.conduct.wait_for_all:
                mmas = _any([self.flight[who][i] for who in (WARP, OTHERS)])
            gates.append(z3.And(self.common.waited(i, k, False), mmas))
            gates.append(z3.And(self.common.waited(i, k, True), self.flight[stream][i]))
            stored = [
                z3.And(self.landing[who, half][i], self._stored_before(i, who, k, stream))
                for who, half in _PARTS
                if who == stream or self.conduct.fences_for_all
            ]
            gates.append(z3.And(s.is_a(k, ProxyFence), _any(stored)))
            arrivals = [z3.And(self.common.runs(i, who), self.issue[who][i]) for who in STREAMS]
            gates.append(z3.And(self.common.awaited(i, k, MbarrierArrive), _any(arrivals)))
            ended = [z3.And(self.common.runs(i, who), self.flight[who][i]) for who in (WARP, THREAD)]
            gates.append(z3.And(self.common.awaited(i, k, BulkCopy), _any(ended)))
        blocked = z3.And(
            self.common.runs(k, stream), z3.Or(stuck[stream], self._held(k, "issue", stream), *gates)
        )
        self.issue[stream][k] = blocked
        self.stuck[stream].append(z3.Or(stuck[stream], blocked))

    def _stored_before(self, i: int, who: int, k: int, stream: int) -> z3.BoolRef:
        """What step i stores is stored for certain before a stream issues step k."""
        if who == stream:
            return self.common.stored(i, k)
        first = self.first.get((i, who))
        return first.issue[stream][k] if first else z3.BoolVal(False)

    def _effects(self, k: int, stream: int) -> None:
        """What step k does later cannot happen: it is held back, not issued, or behind what is."""
        s = self.s
        behind = [z3.And(self.common.chained(i, k), self.flight[stream][i]) for i in range(k)]
        self.flight[stream][k] = z3.And(
            self.common.runs(k, stream),
            s.is_a(k, Mma, CpAsync, BulkCopy),
            z3.Or(self._held(k, "flight", stream), self.issue[stream][k], *behind),
        )
        if stream == WARP:
            registers = (RegisterRead, RegisterWrite)
            queue = [
                z3.And(s.is_a(i, *registers), s.register[i] == s.register[k], self.settle[i])
                for i in range(k)
            ]
            self.settle[k] = z3.And(
                s.is_a(k, *registers), z3.Or(self._held(k, "settle", WARP), self.issue[WARP][k], *queue)
            )
        late = z3.If(s.is_a(k, CpAsync), self.flight[stream][k], self.issue[stream][k])
        for who, half in _PARTS:
            if who == stream:
                self.landing[who, half][k] = z3.And(
                    self.stores(k, stream),
                    z3.Or(
                        z3.And(self._held(k, "landing", who), z3.BoolVal(half == self.half)),
                        late,
                        self._under(k, half),
                    ),
                )

    def _under(self, k: int, half: int) -> z3.BoolRef:
        """Step k stores over what the first step stored, which has not landed.

        It does so after the first step's store, or there is a hazard between the two.
        """
        if k == 0:
            return z3.BoolVal(False)
        s = self.s
        first = [z3.And(self.stores(0, who), self.landing[who, of][0]) for who, of in _PARTS if of == half]
        return z3.And(s.buffer[0] == s.buffer[k], _any(first))

    def stores(self, k: int, stream: int) -> z3.BoolRef:
        """Step k stores through the generic proxy, in a stream."""
        return z3.And(self.common.runs(k, stream), self.s.is_a(k, SharedWrite, CpAsync))

    def reached_register(self, j: int) -> z3.BoolRef:
        """Step j's access of the register of the effect held back happens all the same."""
        s = self.s
        conflict = self._conflict_of_registers(j)
        if self.effect == "settle":
            return z3.And(s.is_a(0, RegisterRead, RegisterWrite), conflict, z3.Not(self.flight[WARP][j]))
        if self.effect == "flight" and self.stream == WARP:
            other = z3.If(s.is_a(j, Mma), self.flight[WARP][j], self.settle[j])
            return z3.And(s.is_a(0, Mma), conflict, z3.Not(other))
        return z3.BoolVal(False)

    def reached_memory(self, j: int) -> z3.BoolRef:
        """Some effect of step j on the cell of the one held back happens all the same."""
        found = [
            z3.And(self._conflict_of_memory(j, at), z3.Not(late)) for at, late in self._memory_effects(j)
        ]
        return _any(found)

    def _conflict_of_registers(self, j: int) -> z3.BoolRef:
        """The register effects of steps 0 and j are on one register, and one of them writes it."""
        s = self.s
        as_a_first = z3.And(s.is_a(0, Mma), s.a_held[0], s.a_register[0] == s.register[j])
        as_a_last = z3.And(s.is_a(j, Mma), s.a_held[j], s.a_register[j] == s.register[0])
        accesses = (RegisterRead, RegisterWrite, Mma)
        both = z3.And(s.is_a(0, *accesses), s.is_a(j, *accesses), z3.Or(s.is_a(0, Mma), s.is_a(j, Mma)))
        writes_first, writes_last = s.is_a(0, RegisterWrite, Mma), s.is_a(j, RegisterWrite, Mma)
        return z3.And(
            both,
            z3.Or(
                s.register[0] == s.register[j],
                z3.And(as_a_first, writes_last),
                z3.And(as_a_last, writes_first),
            ),
        )

    def _memory_effects(self, j: int) -> list[tuple[tuple[str, int, int], z3.BoolRef]]:
        """The effects of step j on shared memory, each with why it cannot happen."""
        found = []
        for stream in STREAMS:
            for half in (0, 1):
                found.append((("issue", stream, half), self.issue[stream][j]))
                found.append((("flight", stream, half), self.flight[stream][j]))
        for stream, half in _PARTS:
            found.append((("landing", stream, half), self.landing[stream, half][j]))
        return found

    def _conflict_of_memory(self, j: int, at: tuple[str, int, int]) -> z3.BoolRef:
        """The effect held back and one of step j, on a half, are on one cell of one view; one writes it."""
        s = self.s
        one = z3.Or(
            z3.And(s.accesses(0, s.buffer[j]), s.accesses(j, s.buffer[j])),
            z3.And(s.accesses(0, s.a_buffer[j]), s.is_a(j, Mma), z3.Not(s.a_held[j])),
        )
        effect, stream, half = at
        if self.effect == "landing" and half != self.half:
            return z3.BoolVal(False)
        parts = []
        for view in ("generic", "async"):
            first = self._touches(0, self.effect, self.stream, view, half)
            last = self._touches(j, effect, stream, view, half)
            parts.append(z3.And(first[0], last[0], z3.Or(first[1], last[1])))
        return z3.And(one, _any(parts))

    def _touches(
        self, k: int, effect: str, stream: int, view: str, half: int
    ) -> tuple[z3.BoolRef, z3.BoolRef]:
        """An effect of step k touches a half in a view; and it writes it."""
        s = self.s
        runs = self.common.runs(k, stream)
        mine = stream in (THREAD, half)
        no = z3.BoolVal(False)
        if view == "generic" and effect == "issue":
            write = z3.And(runs, s.is_a(k, SharedWrite)) if mine else no
            return z3.Or(write, z3.And(runs, s.is_a(k, SharedRead))), write
        if view == "generic" and effect == "flight":
            write = z3.And(runs, z3.Or(s.is_a(k, BulkCopy), s.is_a(k, CpAsync) if mine else no))
            return write, write
        if view == "async" and effect == "flight":
            write = z3.And(runs, s.is_a(k, BulkCopy))
            return z3.Or(write, z3.And(runs, s.is_a(k, Mma))), write
        if view == "async" and effect == "landing" and mine:
            write = self.stores(k, stream)
            return write, write
        return no, no


@dataclass(frozen=True)
class Verdicts:
    """What holds of every program asked about: it is well-formed, and no step `before` the last has a hazard
    with the first. Then whether the axioms see a hazard between the first and the last step, and whether the
    machine can swap them; and the relations and held-back effects that say so."""

    wellformed: z3.BoolRef
    before: tuple[z3.BoolRef, ...]  # of the second step, the third, …
    hazard: z3.BoolRef
    swapped: z3.BoolRef
    relations: Axioms
    machines: tuple[Machine, ...]

    @property
    def given(self) -> z3.BoolRef:
        """The programs asked about."""
        return z3.And(self.wellformed, *self.before)


def registers(s: Symbols, readings: Readings) -> Verdicts:
    """Both models about the registers of the first and last step."""
    machine = conduct(readings)
    relations = Axioms(s, readings, z3.BoolVal(readings["empty-groups"] == "count"))
    common = _Common(s, machine, any_chain=False, empty=z3.BoolVal(machine.empty_groups))
    last = s.length - 1
    machines = tuple(Machine(common, effect, WARP) for effect in ("settle", "flight"))
    swapped = _any([held.reached_register(last) for held in machines])
    before = tuple(z3.Not(relations.register_hazard(0, k)) for k in range(1, last))
    return Verdicts(wellformed(s), before, relations.register_hazard(0, last), swapped, relations, machines)


def held_back(machine: Conduct) -> tuple[tuple[str, int, int], ...]:
    """What is held back to see an effect of the first step on shared memory come late: kind, stream and half.

    A `store` is any step's, held back to see what can only be behind it.
    """
    stores = [("store", stream, 0) for stream in STREAMS] if machine.fences_for_all else []
    effects = [(effect, stream, 0) for effect in ("issue", "flight") for stream in STREAMS]
    return (*stores, *effects, *(("landing", stream, half) for stream, half in _PARTS))


def shared_memory(s: Symbols, readings: Readings) -> Verdicts:
    """Both models about the shared memory that the first and last step access.

    Which mmas on one accumulator take effect in order is left open, and so is the setting of empty-groups,
    which is one for both models: it holds whatever they are.
    """
    machine = conduct(readings)
    empty = z3.Bool("empty_groups_count")
    relations = Axioms(s, readings, empty)
    common = _Common(s, machine, any_chain=True, empty=empty)
    last = s.length - 1
    first: dict[tuple[int, int], Machine] = {}
    held: list[Machine] = []
    for effect, stream, half in held_back(machine):
        if effect == "store":
            for step in range(s.length):
                first[step, stream] = Machine(common, effect, stream, half, step)
        else:
            held.append(Machine(common, effect, stream, half, 0, first))
    swapped = _any([z3.And(common.runs(0, one.stream), one.reached_memory(last)) for one in held])
    before = tuple(z3.Not(relations.memory_hazard(0, k)) for k in range(1, last))
    hazard = relations.memory_hazard(0, last)
    return Verdicts(wellformed(s), before, hazard, swapped, relations, (*first.values(), *held))


def settled(readings: Readings) -> Readings:
    """The settings that the formulas about shared memory do not leave open."""
    bearing = ordering().bearing(readings, registers=False)
    return {name: setting for name, setting in bearing.items() if name != "empty-groups"}


def ordering_obligations(
    name: str, readings: Readings, length: int = LENGTH, about: Sequence[str] = ("registers", "shared memory")
) -> Iterator[Obligation]:
    """No program of at most so many steps has the two models disagree, by the first step's kind.

    There must be no earlier hazard of the first step with one between. The formulas are made when the text
    of the first obligation about registers, or about shared memory, is asked for.
    """
    s = Symbols(length)

    @cache
    def found(what: str) -> Verdicts:
        if what == "registers":
            return registers(s, ordering().bearing(readings))
        return shared_memory(s, settled(readings))

    def text(what: str, kind: type) -> str:
        verdicts = found(what)
        return refuting(verdicts.given, s.is_a(0, kind), verdicts.hazard != verdicts.swapped)

    def explain(model: Model) -> str:
        return f"the models disagree about: {s.program(model)}"

    for what in about:
        for kind in FIRST[what]:
            subject = f"{name}, {what}, {kind.__name__} first, {length} steps"
            yield Obligation("ordering.agree", subject, partial(text, what, kind), explain)


FIRST: Mapping[str, tuple[type, ...]] = {
    "registers": (RegisterRead, RegisterWrite, Mma),
    "shared memory": (SharedRead, SharedWrite, CpAsync, BulkCopy, Mma),
}
