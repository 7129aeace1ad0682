"""Litmus programs made from the axioms: every least way to order two accesses, and every way to spoil it.

Between a first and a last access of one register or one buffer, synchronising steps are added while each
tells somebody something new; a program without hazards in which no step can be left out is *least* (of
those that differ in the order of their steps only, the first is taken). Its spoilt versions, with one step
left out, weakened or moved, have a hazard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .alphabet import SHAPES
from .axioms import ProgramEvents, hazards
from .informative import told
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

__all__ = ["Synthesised", "renamed", "synthesise"]

_LONGEST = 6
_FENCE = Step(WgmmaFence())


@dataclass(frozen=True)
class Synthesised:
    """A program, a name that says what it is about, and what was done to it (nothing: it is a least one)."""

    name: str
    program: Program
    spoilt: str


def synthesise() -> tuple[Synthesised, ...]:
    """Every least program and every spoilt one, no two alike up to the names of registers and buffers."""
    known: set[Program] = set()
    names: Counter[str] = Counter()
    found = []
    for made in _everything():
        alike = renamed(made.program)
        if alike not in known and not _hangs(alike):
            known.add(alike)
            names[made.name] += 1
            name = made.name if names[made.name] == 1 else f"{made.name}-{names[made.name]}"
            found.append(Synthesised(name, alike, made.spoilt))
    return tuple(found)


def _hangs(program: Program) -> bool:
    """Whether an mbarrier is waited for that nobody has signalled."""
    acts = [step.operation for step in program.steps]
    signals = (MbarrierArrive, BulkCopy)
    return any(
        not any(isinstance(before, signals) and before.barrier == act.barrier for before in acts[:k])
        for k, act in enumerate(acts)
        if isinstance(act, MbarrierWait)
    )


def _everything() -> Iterator[Synthesised]:
    for accesses, letters in (
        (_register_accesses(), _register_letters()),
        (_buffer_accesses(), _buffer_letters()),
    ):
        for first, i in accesses.items():
            ways = dict.fromkeys(accesses, 0)
            known = set()
            for last, program in _least(i, accesses, letters):
                steps = last, tuple(sorted(map(str, program.steps)))
                if steps in known:  # the same steps in another order
                    continue
                known.add(steps)
                ways[last] += 1
                name = f"{first}-{last}-{ways[last]}"
                yield Synthesised(name, program, "")
                for what, spoilt in _spoilt(program):
                    if hazards(spoilt):
                        yield Synthesised(f"{name}-{what}", spoilt, what)


def _register_accesses() -> dict[str, Step]:
    plain, types, depth, wide = SHAPES
    found: dict[str, Operation] = {
        "read": RegisterRead(0),
        "write": RegisterWrite(0),
        "accumulate": Mma(plain, 0, Buffer(0), 0),
        "overwrite": Mma(plain, 0, Buffer(0), 0, scale_d=False),
        "accumulate-types": Mma(types, 0, Buffer(0), 0),
        "accumulate-k": Mma(depth, 0, Buffer(0), 0),
        "accumulate-n": Mma(wide, 0, Buffer(0), 0),
        "multiply": Mma(plain, 1, Register(0), 0),
    }
    return {name: Step(operation) for name, operation in found.items()}


def _register_letters() -> Sequence[Step]:
    other = Mma(SHAPES[0], 2, Buffer(1), 1)
    return [Step(operation) for operation in (WgmmaFence(), Commit(), Wait(0), Wait(1), other)]


def _buffer_accesses() -> dict[str, Step]:
    found = {
        "mma": Step(Mma(SHAPES[0], 0, Buffer(0), 0)),
        "mma-b": Step(Mma(SHAPES[0], 0, Register(1), 0)),
    }
    both: dict[str, Operation] = {
        "load": SharedRead(0),
        "store": SharedWrite(0),
        "copy": CpAsync(0),
        "bulk": BulkCopy(0, 0),
    }
    found |= {name: Step(operation) for name, operation in both.items()}
    return found | {f"other-{name}": Step(operation, OTHER) for name, operation in both.items()}


def _buffer_letters() -> Sequence[Step]:
    mine: list[Operation] = [Commit(), Wait(0), CtaBarrier()]
    both: list[Operation] = [
        ProxyFence(),
        CpAsyncCommit(),
        CpAsyncWait(0),
        MbarrierWait(0),
        MbarrierArrive(1),
        MbarrierWait(1),
    ]
    return [*(Step(act) for act in (*mine, *both)), *(Step(act, OTHER) for act in both)]


def _least(i: Step, accesses: dict[str, Step], letters: Sequence[Step]) -> Iterator[tuple[str, Program]]:
    """The least programs that begin with an access, after a fence where an mma needs one."""
    starts = [(i,), (_FENCE, i)] if not isinstance(i.operation, Mma) else [(_FENCE, i)]
    for start in starts:
        level: list[tuple[Step, ...]] = [start]
        while level:
            following: list[tuple[Step, ...]] = []
            for steps in level:
                for name, last in accesses.items():
                    program = Program((*steps, last))
                    if not hazards(program) and _is_least(program, len(start)):
                        yield name, program
                if len(steps) - len(start) < _LONGEST:
                    following += _informative(steps, len(start) - 1, letters)
            level = following


def _informative(steps: tuple[Step, ...], i: int, letters: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """The steps, with one more that tells somebody something new about step i."""
    before = told(ProgramEvents(Program(steps), None), i, len(steps))
    for letter in letters:
        longer = (*steps, letter)
        after = told(ProgramEvents(Program(longer), None), i, len(longer))
        if after != before and not hazards(Program(longer)):
            yield longer


def _is_least(program: Program, start: int) -> bool:
    """Whether every step but the first and last access is needed."""
    kept = (start - 1, len(program) - 1)
    return all(hazards(program.without(k)) for k in range(len(program)) if k not in kept) and bool(
        [k for k in range(len(program)) if k not in kept]
    )


def _spoilt(program: Program) -> Iterator[tuple[str, Program]]:
    """The program with one step left out, weakened or moved behind the next."""
    steps = program.steps
    for k, step in enumerate(steps[:-1]):
        act = step.operation
        if isinstance(act, _SYNCHRONISING):
            word = str(step).replace("other: ", "other-").replace(" ", "-")
            yield f"without-{word}", program.without(k)
            weaker: Operation | None = None
            if isinstance(act, Wait | CpAsyncWait):
                weaker = type(act)(act.n + 1)
            elif isinstance(act, ProxyFence) and step.thread != OTHER:
                weaker = WgmmaFence()
            if weaker is not None:
                changed = (*steps[:k], Step(weaker, step.thread), *steps[k + 1 :])
                yield f"{word}-as-{str(weaker).replace(' ', '-')}", Program(changed)
            if k + 2 < len(steps) and isinstance(steps[k + 1].operation, _SYNCHRONISING):
                yield f"{word}-late", Program((*steps[:k], steps[k + 1], step, *steps[k + 2 :]))


_SYNCHRONISING = (
    WgmmaFence,
    ProxyFence,
    Commit,
    Wait,
    CpAsyncCommit,
    CpAsyncWait,
    MbarrierArrive,
    MbarrierWait,
    CtaBarrier,
)


def renamed(program: Program) -> Program:
    """The program with registers, buffers and mbarriers numbered in the order of their first use."""
    names: dict[tuple[str, int], int] = {}
    counts = {"r": 0, "s": 0, "b": 0}

    def of(kind: str, number: int) -> int:
        if (kind, number) not in names:
            names[kind, number] = counts[kind]
            counts[kind] += 1
        return names[kind, number]

    def change(act: Operation) -> Operation:
        if isinstance(act, RegisterRead | RegisterWrite):
            return type(act)(of("r", act.register))
        if isinstance(act, SharedRead | SharedWrite | CpAsync):
            return type(act)(of("s", act.buffer))
        if isinstance(act, BulkCopy):
            return BulkCopy(of("s", act.buffer), of("b", act.barrier))
        if isinstance(act, MbarrierArrive | MbarrierWait):
            return type(act)(of("b", act.barrier))
        if isinstance(act, Mma):
            d = of("r", act.d)
            shared = isinstance(act.a, Buffer)
            a = Buffer(of("s", act.a.number)) if shared else Register(of("r", act.a.number))
            return Mma(act.shape, d, a, of("s", act.b), act.scale_d)
        return act

    return Program(tuple(Step(change(step.operation), step.thread) for step in program.steps))
