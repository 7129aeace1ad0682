"""The models of phases against the first two, on random programs that both pairs can say.

There, the warpgroup is one thread with warps of which one may be ahead, and an mbarrier has no phases. Here, two
threads stand for one warp and the others, a buffer is two (each writes a half of it), and every mbarrier has one
phase with all signals. Left out is what one pair alone knows: registers, groups that are not waited for at once,
proxies. The axioms are compared; that each machine agrees with its axioms is a theorem of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxmma.formal.ordering.agreement import changing_values
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.phases.histories import phase_hazards
from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, PhaseStep
from ptxmma.formal.ordering.programs import (
    OTHER,
    BulkCopy,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Program,
    SharedRead,
    SharedWrite,
    Wait,
)
from ptxmma.spec.ordering import ordering

MMA = "mma m64n8k16.f32.f16.f16 r0 s0 s0; commit"
STEPS = (
    "store s0; proxy-fence",
    "other: store s0; other: proxy-fence",
    "load s0",
    "other: load s0",
    "barrier",
    "arrive b0",
    "await b0",
    "other: arrive b0",
    "other: await b0",
    "arrive b1",
    "other: await b1",
    "bulk s0 b1",
    "other: bulk s0 b0",
    "other: bulk s0 b1",
    "await b1",
    MMA,
    MMA,
    "wait 0",
    "wait 0",
)
WARP, OTHERS, THREAD = range(3)
READINGS = ordering().readings({"wait-scope": "warp"})


def has_one_phase(program: Program) -> bool:
    """Whether all signals of an mbarrier stand before all waits for it, and one at least."""
    waited: set[int] = set()
    signalled: set[int] = set()
    for step in program.steps:
        if isinstance(step.operation, MbarrierWait):
            waited.add(step.operation.barrier)
            if step.operation.barrier not in signalled:
                return False
        elif isinstance(step.operation, (MbarrierArrive, BulkCopy)):
            signalled.add(step.operation.barrier)
            if step.operation.barrier in waited:
                return False
    return True


def programs(seed: int, count: int) -> Iterator[Program]:
    source = random.Random(seed)
    while count:
        program = parse("; ".join(("fence", *source.choices(STEPS, k=source.randrange(2, 7)))))
        if has_one_phase(program):
            count -= 1
            yield program


def with_phases(program: Program) -> PhaseProgram:
    """The program in the language of phases."""
    threads: list[list[PhaseStep]] = [[], [], []]
    counts = [0, 0]
    for step in program.steps:
        operation = step.operation
        for thread in (THREAD,) if step.thread == OTHER else (WARP, OTHERS):
            halves = (0, 1) if thread == THREAD else (thread,)
            steps = threads[thread]
            match operation:
                case SharedWrite():
                    steps += [PhaseStep("store", buffer=half) for half in halves]
                case SharedRead():
                    steps += [PhaseStep("load", buffer=half) for half in (0, 1)]
                case Mma():
                    steps += [PhaseStep("multiply", buffer=half) for half in (0, 1)]
                case Wait():
                    steps.append(PhaseStep("finish"))
                case MbarrierArrive(barrier):
                    counts[barrier] += 1
                    steps.append(PhaseStep("arrive", barrier=barrier, number=1))
                case MbarrierWait(barrier):
                    steps.append(PhaseStep("wait", barrier=barrier, number=0))
                case BulkCopy(_, barrier) if thread != OTHERS:
                    counts[barrier] += 1
                    steps.append(PhaseStep("expect", barrier=barrier, number=2))
                    steps += [PhaseStep("copy", half, barrier, 1) for half in (0, 1)]
                    steps.append(PhaseStep("arrive", barrier=barrier, number=1))
        if isinstance(operation, CtaBarrier):
            for steps in threads:
                steps += [PhaseStep("join", number=3), PhaseStep("leave")]
    return PhaseProgram(tuple(count or 1 for count in counts), tuple(map(tuple, threads)))


@pytest.mark.parametrize("seed", range(2))
def test_the_two_pairs_agree(seed: int) -> None:
    undefined = 0
    for program in programs(seed, 60):
        first = changing_values(hazards(program, READINGS))
        second = phase_hazards(with_phases(program))
        assert bool(second) == bool(first), f"{program}: {first}, {second}"
        undefined += bool(first)
    assert 10 < undefined < 50
