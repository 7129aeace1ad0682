"""The theorem that the two ordering models agree, and its proof by running both on every short program.

For every program and every reading of the text: a hazard whose rule has an effect on values closes at the
last step if and only if the machine has two schedules of the program with different results, provided that
no such hazard closes before. So a program without hazards has one result, and every hazard of a program is
one that schedules can show, on the program up to the hazard's last step.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

from ..spec.ordering import Readings, ordering
from .axioms import Hazard, closing
from .machine import Conduct, differ
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
    Shape,
    SharedRead,
    SharedWrite,
    Step,
    Wait,
    WgmmaFence,
)
from .readings import conduct

__all__ = [
    "ACCESSES",
    "SHAPES",
    "Tally",
    "alphabet",
    "canonical",
    "disagreement",
    "enumerate_programs",
    "shows",
    "valued",
]

ACCESSES = (RegisterRead, RegisterWrite, SharedRead, SharedWrite, CpAsync, BulkCopy, Mma)

# A shape, and one each that differs from it in the types, in K too, and in N only.
SHAPES = tuple(
    map(
        Shape.of,
        ("m64n8k16.f32.f16.f16", "m64n8k16.f32.bf16.bf16", "m64n8k8.f32.tf32.tf32", "m64n16k16.f32.f16.f16"),
    )
)


def alphabet() -> tuple[Step, ...]:
    """Every step over two registers, two buffers and two mbarriers, by both threads."""
    mine: list[Operation] = [WgmmaFence(), Commit(), Wait(0), Wait(1), CtaBarrier()]
    for register in (0, 1):
        mine += [RegisterRead(register), RegisterWrite(register)]
        for buffer in (0, 1):
            for a in (Register(1 - register), Buffer(buffer)):
                mine += [Mma(SHAPES[0], register, a, buffer, scale) for scale in (True, False)]
        mine += [Mma(shape, register, Buffer(0), 0) for shape in SHAPES[1:]]
    shared: list[Operation] = [ProxyFence(), CpAsyncCommit(), CpAsyncWait(0)]
    for buffer in (0, 1):
        shared += [SharedRead(buffer), SharedWrite(buffer), CpAsync(buffer), BulkCopy(buffer, buffer)]
        shared += [MbarrierArrive(buffer), MbarrierWait(buffer)]
    return (*map(Step, (*mine, *shared)), *(Step(operation, OTHER) for operation in shared))


def valued(found: tuple[Hazard, ...]) -> tuple[Hazard, ...]:
    """The hazards that can change a value."""
    rules = ordering().rules
    return tuple(hazard for hazard in found if rules[hazard.rule].effect == "values")


def disagreement(program: Program, readings: Readings, machine: Conduct | None = None) -> str | None:
    """How the models disagree about the last step of a program without a hazard before; None: they agree."""
    found = valued(closing(program, readings))
    differs = differ(program, machine or conduct(readings))
    if bool(found) == (differs is not None):
        return None
    if found:
        return f"{program}: {', '.join(map(str, found))}, but every schedule has one result"
    return f"{program}: no hazard, but schedules differ: {'; '.join(differs[1] if differs else ())}"


def shows(program: Program, machine: Conduct, found: tuple[Hazard, ...]) -> bool:
    """Whether two schedules of the program differ, when none do without its last step.

    A last step that accesses nothing adds nothing to any result, so the machine need not run.
    """
    if not isinstance(program.steps[-1].operation, ACCESSES):
        return False
    return differ(program, machine, found[0].steps[0] if found else None) is not None


def canonical(steps: tuple[Step, ...]) -> bool:
    """Whether registers, and buffers with their mbarriers, are named in the order of their first use."""
    registers: list[int] = []
    stages: list[int] = []
    for step in steps:
        act = step.operation
        if isinstance(act, RegisterRead | RegisterWrite):
            registers.append(act.register)
        elif isinstance(act, Mma):
            registers.append(act.d)
            stages.append(act.b)
        elif isinstance(act, MbarrierArrive | MbarrierWait):
            stages.append(act.barrier)
        elif isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy):
            stages.append(act.buffer)
    return registers[:1] in ([], [0]) and stages[:1] in ([], [0])


@dataclass
class Tally:
    """What an enumeration has looked at: programs by length, closed hazards by rule, and disagreements."""

    programs: Counter[int] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another has looked at too."""
        self.programs.update(other.programs)
        self.hazards.update(other.hazards)
        self.faults += other.faults


def _extend(start: tuple[Step, ...], bound: int, readings: Readings) -> Tally:
    """Every program up to a length that begins with `start`, no prefix of which has a hazard."""
    tally = Tally()
    machine = conduct(readings)
    letters = alphabet()
    rest = [start]
    while rest:
        steps = rest.pop()
        for letter in letters:
            longer = (*steps, letter)
            if not canonical(longer):
                continue
            program = Program(longer)
            found = valued(closing(program, readings))
            tally.programs[len(longer)] += 1
            tally.hazards.update({hazard.rule for hazard in found})
            if bool(found) != shows(program, machine, found):
                tally.faults.append(disagreement(program, readings) or str(program))
            elif not found and len(longer) < bound:
                rest.append(longer)
    return tally


def enumerate_programs(
    bound: int, every: Mapping[str, Readings], workers: int | None = None
) -> Iterator[tuple[str, Tally]]:
    """Both models on every program of at most `bound` steps, by the name of the readings; no solver."""
    count = workers or os.cpu_count() or 1
    with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
        for name, readings in every.items():
            total = _extend((), 1, readings)
            starts = [
                (letter,)
                for letter in alphabet()
                if canonical((letter,)) and not valued(closing(Program((letter,)), readings))
            ]
            if bound > 1:
                for part in pool.map(_extend, starts, [bound] * len(starts), [readings] * len(starts)):
                    total.add(part)
            yield name, total
