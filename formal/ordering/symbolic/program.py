"""One symbolic program, as SMT constants: whatever values a solver gives to them spell a program.

A program has a fixed number of steps. Each step has a kind, a thread, operands and, for an mma, a shape. A
kind beyond the last one spells an empty step, so shorter programs are covered too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...smt.obligations import Model
from ...smt.terms import ULE, And, BitVec, BitVecVal, Bool, BoolVal, Implies, Not, Or, Term
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
    Program,
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

__all__ = ["SymbolicProgram", "any_of", "wellformed"]

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
    BulkStore,
    BulkCommit,
    BulkWait,
    BlockEnd,
)
_WARPGROUP_ONLY = (RegisterRead, RegisterWrite, WgmmaFence, Mma, Commit, Wait, CtaBarrier, BlockEnd)
_OF_ONE_BUFFER = (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)


def any_of(parts: Sequence[Term]) -> Term:
    """At least one of the formulas holds; false if there are none."""
    return Or(*parts) if parts else BoolVal(False)


class SymbolicProgram:
    """The constants that spell a program of `length` steps, whose first step is of the kind `first` if one is
    given: what depends on that kind is then no formula, but true or false.

    `other`: the other thread executes the step, not the warpgroup. `register` is D of an mma, `buffer` its B;
    A is `a_register` if `a_in_register`, else `a_buffer`. `count` is the N of a wait. `shape`: whether N, K
    or the types of an mma are the other of two choices.
    """

    def __init__(self, length: int, first: type | None = None) -> None:
        self.length = length
        self.first = first
        steps = range(length)
        self.kind = [BitVec(f"kind_{k}", 5) for k in steps]
        self.other = [Bool(f"other_{k}") for k in steps]
        self.register = [BitVec(f"register_{k}", 2) for k in steps]
        self.a_register = [BitVec(f"a_register_{k}", 2) for k in steps]
        self.a_in_register = [Bool(f"a_held_{k}") for k in steps]
        self.buffer = [BitVec(f"buffer_{k}", 2) for k in steps]
        self.a_buffer = [BitVec(f"a_buffer_{k}", 2) for k in steps]
        self.barrier = [BitVec(f"barrier_{k}", 2) for k in steps]
        self.count = [BitVec(f"count_{k}", 4) for k in steps]
        self.shape = {f: [Bool(f"shape_{f}_{k}") for k in steps] for f in ("n", "k", "types")}

        self._is_a: dict[tuple[object, ...], Term] = {}

    def is_a(self, k: int, *kinds: type) -> Term:
        """Step k is of one of the kinds."""
        if k == 0 and self.first is not None:
            return BoolVal(self.first in kinds)
        if (k, *kinds) not in self._is_a:
            self._is_a[k, *kinds] = any_of([self.kind[k] == _KINDS.index(kind) for kind in kinds])
        return self._is_a[k, *kinds]

    def accesses(self, k: int, buffer: Term) -> Term:
        """Step k accesses a buffer."""
        own = And(self.is_a(k, *_OF_ONE_BUFFER, Mma), self.buffer[k] == buffer)
        return Or(own, And(self.is_a(k, Mma), Not(self.a_in_register[k]), self.a_buffer[k] == buffer))

    def alike(self, i: int, j: int, fields: Sequence[str]) -> Term:
        """The shapes of two mmas agree in some fields (M is always 64)."""
        return And(*(self.shape[f][i] == self.shape[f][j] for f in fields if f in self.shape))

    def program(self, model: Model) -> Program:
        """The program that a solver's model spells."""

        def of(constant: Term) -> int:
            return model.get(str(constant), 0)

        steps = []
        for k in range(self.length):
            number = of(self.kind[k])
            if number >= len(_KINDS):
                continue
            kind = _KINDS[number]
            act: StepOperation
            if kind is Mma:
                a = (
                    Register(of(self.a_register[k]))
                    if of(self.a_in_register[k])
                    else Buffer(of(self.a_buffer[k]))
                )
                n, depth = 8 + 8 * of(self.shape["n"][k]), 16 - 8 * of(self.shape["k"][k])
                types = ("f32.f16.f16", "f32.bf16.bf16")[of(self.shape["types"][k])]
                act = Mma(MmaShape(64, n, depth, types), of(self.register[k]), a, of(self.buffer[k]))
            elif kind in (RegisterRead, RegisterWrite):
                act = kind(of(self.register[k]))
            elif kind in (SharedRead, SharedWrite, CpAsync, BulkStore):
                act = kind(of(self.buffer[k]))
            elif kind is BulkCopy:
                act = BulkCopy(of(self.buffer[k]), of(self.barrier[k]))
            elif kind in (MbarrierArrive, MbarrierWait):
                act = kind(of(self.barrier[k]))
            elif kind in (Wait, CpAsyncWait, BulkWait):
                act = kind(of(self.count[k]))
            else:
                act = kind()
            steps.append(Step(act, OTHER if of(self.other[k]) else 0))
        return Program(tuple(steps))

    def spelling(self, program: Program) -> Mapping[Term, Term]:
        """The values of the constants that spell a program of exactly `length` steps."""
        found: dict[Term, Term] = {}
        for k, step in enumerate(program.steps):
            act = step.operation
            found[self.kind[k]] = BitVecVal(_KINDS.index(type(act)), 5)
            found[self.other[k]] = BoolVal(step.thread == OTHER)
            values = {"register": 0, "a_register": 0, "buffer": 0, "a_buffer": 0, "barrier": 0, "count": 0}
            a_in_register = False
            shape = {"n": False, "k": False, "types": False}
            if isinstance(act, RegisterRead | RegisterWrite):
                values["register"] = act.register
            elif isinstance(act, Mma):
                a_in_register = isinstance(act.a, Register)
                values |= {
                    "register": act.d,
                    "buffer": act.b,
                    "a_register" if a_in_register else "a_buffer": act.a.number,
                }
                shape = {
                    "n": act.shape.n != 8,
                    "k": act.shape.k != 16,
                    "types": act.shape.types != "f32.f16.f16",
                }
            elif isinstance(act, _OF_ONE_BUFFER):
                values["buffer"] = act.buffer
            if isinstance(act, BulkCopy | MbarrierArrive | MbarrierWait):
                values["barrier"] = act.barrier
            if isinstance(act, Wait | CpAsyncWait | BulkWait):
                values["count"] = act.n
            for name, value in values.items():
                constant = getattr(self, name)[k]
                found[constant] = BitVecVal(value, constant.size())
            found[self.a_in_register[k]] = BoolVal(a_in_register)
            for name, flag in shape.items():
                found[self.shape[name][k]] = BoolVal(flag)
        return found


def wellformed(s: SymbolicProgram) -> Term:
    """Every step is an operation or empty, its thread and its registers are ones that it can have, only the
    last one can be the end, and the first one is of the kind that is given.
    """
    parts = [] if s.first is None else [s.kind[0] == _KINDS.index(s.first)]
    for k in range(s.length):
        parts.append(ULE(s.kind[k], len(_KINDS)))
        parts.append(Implies(s.other[k], Not(s.is_a(k, *_WARPGROUP_ONLY))))
        if k < s.length - 1:
            parts.append(Not(s.is_a(k, BlockEnd)))
        a_in_register = And(s.is_a(k, Mma), s.a_in_register[k])
        parts.append(Implies(a_in_register, s.a_register[k] != s.register[k]))
    return And(*parts)
