"""Litmus programs made from the axioms: every minimal way to order two accesses, and every way to spoil it.

Between a first and a last access of one register or one buffer, synchronising steps are added one by one. A
step is added only if it changes what the axioms know about the first access. A program without hazards is
*minimal* if leaving out any step between makes a hazard; of programs that differ in the order of their steps
only, the first is taken. Its *spoilt* versions have one step left out, weakened or moved after the next, and
so have a hazard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...spec.lazy_dataclass import dataclass
from ...spec.ordering import ordering
from .alphabet import SHAPES, LocationKind
from .axioms import hazards
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
from .states.axiom_state import AccessState, initial_state, next_state

__all__ = ["Synthesised", "renamed", "synthesise"]

_MOST_BETWEEN = 6  # synchronising steps
_FENCE = Step(WgmmaFence())


@dataclass(frozen=True)
class Synthesised:
    """A program, its name, and how it was spoilt ("": it is a minimal one).

    A name says which accesses are ordered, in which of several ways, and what was done to which step.
    """

    name: str
    program: Program
    spoilt: str


def synthesise() -> tuple[Synthesised, ...]:
    """Every minimal program and every spoilt one, no two alike up to the names of registers and buffers."""
    programs: set[Program] = set()
    names: Counter[str] = Counter()
    tests = []
    for made in _everything():
        program = renamed(made.program)
        if program not in programs and not _hangs(program):
            programs.add(program)
            names[made.name] += 1
            name = made.name if names[made.name] == 1 else f"{made.name}-{names[made.name]}"
            tests.append(Synthesised(name, program, made.spoilt))
    return tuple(tests)


def _hangs(program: Program) -> bool:
    """Whether a step waits for an mbarrier that nobody has signalled."""
    operations = [step.operation for step in program.steps]
    signals = (MbarrierArrive, BulkCopy)
    return any(
        not any(
            isinstance(before, signals) and before.barrier == operation.barrier for before in operations[:k]
        )
        for k, operation in enumerate(operations)
        if isinstance(operation, MbarrierWait)
    )


def _everything() -> Iterator[Synthesised]:
    subjects: tuple[tuple[LocationKind, dict[str, Step], Sequence[Step]], ...] = (
        ("register", _register_accesses(), _register_synchronisation()),
        ("buffer", _buffer_accesses(), _buffer_synchronisation()),
    )
    for kind, accesses, between in subjects:
        for first_name, first in accesses.items():
            ways = dict.fromkeys(accesses, 0)
            seen = set()
            for last_name, program in _minimal(kind, first, accesses, between):
                steps = last_name, tuple(sorted(map(str, program.steps)))
                if steps in seen:  # the same steps in another order
                    continue
                seen.add(steps)
                ways[last_name] += 1
                name = f"{first_name}-{last_name}-{ways[last_name]}"
                yield Synthesised(name, program, "")
                for what, spoilt in _spoilt(program):
                    if hazards(spoilt):
                        yield Synthesised(f"{name}-{what}", spoilt, what)


def _register_accesses() -> dict[str, Step]:
    plain, types, depth, wide = SHAPES
    found: dict[str, StepOperation] = {
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


def _register_synchronisation() -> Sequence[Step]:
    other = Mma(SHAPES[0], 2, Buffer(1), 1)
    return [Step(operation) for operation in (WgmmaFence(), Commit(), Wait(0), Wait(1), other)]


def _buffer_accesses() -> dict[str, Step]:
    found = {
        "mma": Step(Mma(SHAPES[0], 0, Buffer(0), 0)),
        "mma-b": Step(Mma(SHAPES[0], 0, Register(1), 0)),
    }
    both: dict[str, StepOperation] = {
        "load": SharedRead(0),
        "store": SharedWrite(0),
        "copy": CpAsync(0),
        "bulk": BulkCopy(0, 0),
    }
    found |= {name: Step(operation) for name, operation in both.items()}
    return found | {f"other-{name}": Step(operation, OTHER) for name, operation in both.items()}


def _buffer_synchronisation() -> Sequence[Step]:
    mine: list[StepOperation] = [Commit(), Wait(0), CtaBarrier()]
    both: list[StepOperation] = [
        ProxyFence(),
        CpAsyncCommit(),
        CpAsyncWait(0),
        MbarrierWait(0),
        MbarrierArrive(1),
        MbarrierWait(1),
    ]
    return [
        *(Step(operation) for operation in (*mine, *both)),
        *(Step(operation, OTHER) for operation in both),
    ]


class _Beginning(NamedTuple):
    """A program up to the next step, and what the axioms know about its first access.

    `access`: the facts that rules with an effect on values can ask about. `fenced`: a wgmma.fence stands
    after the access, which rules of the text alone ask about, too.
    """

    steps: tuple[Step, ...]
    access: AccessState | None
    fenced: bool = False


def _minimal(
    kind: LocationKind, first: Step, accesses: dict[str, Step], between: Sequence[Step]
) -> Iterator[tuple[str, Program]]:
    """The minimal programs that begin with an access, after a fence where an mma needs one."""
    starts = [(first,), (_FENCE, first)] if not isinstance(first.operation, Mma) else [(_FENCE, first)]
    for start in starts:
        level = [_Beginning(start, initial_state(first, kind))]
        while level:
            longer: list[_Beginning] = []
            for beginning in level:
                for name, last in accesses.items():
                    program = Program((*beginning.steps, last))
                    if not hazards(program) and _is_minimal(program, len(start)):
                        yield name, program
                if len(beginning.steps) - len(start) < _MOST_BETWEEN:
                    longer += _extended(beginning, between)
            level = longer


def _extended(beginning: _Beginning, between: Sequence[Step]) -> Iterator[_Beginning]:
    """The program with one more step, without a hazard, that changes what the axioms know."""
    default = ordering().default
    for step in between:
        access = beginning.access and next_state(beginning.access, step, default)
        fenced = beginning.fenced or isinstance(step.operation, WgmmaFence)
        changes = (access, fenced) != (beginning.access, beginning.fenced)
        steps = (*beginning.steps, step)
        if changes and not hazards(Program(steps)):
            yield _Beginning(steps, access, fenced)


def _is_minimal(program: Program, start: int) -> bool:
    """Whether there are steps besides the first and the last access, and each of them is needed."""
    accesses = (start - 1, len(program) - 1)
    others = [k for k in range(len(program)) if k not in accesses]
    return bool(others) and all(hazards(program.without(k)) for k in others)


def _spoilt(program: Program) -> Iterator[tuple[str, Program]]:
    """The program with one step left out, weakened or moved after the next."""
    steps = program.steps
    for k, step in enumerate(steps[:-1]):
        operation = step.operation
        if isinstance(operation, _SYNCHRONISING):
            word = str(step).replace("other: ", "other-").replace(" ", "-")
            yield f"without-{word}", program.without(k)
            weaker: StepOperation | None = None
            if isinstance(operation, Wait | CpAsyncWait):
                weaker = type(operation)(operation.n + 1)
            elif isinstance(operation, ProxyFence) and step.thread != OTHER:
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

    def change(operation: StepOperation) -> StepOperation:
        if isinstance(operation, RegisterRead | RegisterWrite):
            return type(operation)(of("r", operation.register))
        if isinstance(operation, SharedRead | SharedWrite | CpAsync):
            return type(operation)(of("s", operation.buffer))
        if isinstance(operation, BulkCopy):
            return BulkCopy(of("s", operation.buffer), of("b", operation.barrier))
        if isinstance(operation, MbarrierArrive | MbarrierWait):
            return type(operation)(of("b", operation.barrier))
        if isinstance(operation, Mma):
            d = of("r", operation.d)
            shared = isinstance(operation.a, Buffer)
            a = Buffer(of("s", operation.a.number)) if shared else Register(of("r", operation.a.number))
            return Mma(operation.shape, d, a, of("s", operation.b), operation.scale_d)
        return operation

    return Program(tuple(Step(change(step.operation), step.thread) for step in program.steps))
