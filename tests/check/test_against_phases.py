"""The checker against the two models of barriers with phases, on litmus tests and on random programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.formal.ordering.phases.histories import PhaseAxioms
from ptxmma.formal.ordering.phases.phase_agreement import judge_phases
from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, parse_phases, parse_thread
from ptxmma.gen.litmus.phase_tests import PhaseLitmus, phase_suite

from .phase_kernels import as_ptx

# One round of a ring, two, one in which a second warp stores, and an init that is published, done right; and what
# each thread's steps are drawn from.
ROUND = parse_phases(
    "b0=1 b1=1 | wait b0 0; multiply s0; finish; arrive b1 | wait b1 1; expect b0 8; copy s0 b0 8; arrive b0"
)
ROUNDS = parse_phases(
    "b0=1 b1=1 | wait b0 0; multiply s0; finish; arrive b1; wait b0 1; multiply s0; finish; arrive b1 "
    "| wait b1 1; expect b0 8; copy s0 b0 8; arrive b0; wait b1 0; expect b0 8; copy s0 b0 8; arrive b0"
)
STORED = parse_phases(
    "b0=1 b1=1 | meet n0 2; multiply s0; finish; arrive b1; wait b0 0; multiply s0; finish "
    "| store s0; meet n0 2; wait b1 0; expect b0 8; copy s0 b0 8; arrive b0"
)
PUBLISHED = parse_phases(
    "b0=1 b1=1 | meet n0 2; wait b0 0; multiply s0; finish; arrive b1 "
    "| init b0; meet n0 2; store s0; arrive b0; wait b1 0; store s0"
)
RIGHT = (ROUND, ROUND, ROUNDS, ROUNDS, STORED, PUBLISHED)
CONSUMER = parse_thread(
    ("wait b0 0", "wait b0 1", "multiply s0", "multiply s0", "finish", "arrive b1", "arrive.relaxed b1")
)
PRODUCER = parse_thread(
    ("wait b1 0", "wait b1 1", "expect b0 8", "copy s0 b0 8", "arrive b0", "arrive b1", "store s0", "fence")
)
# Named barriers, the cluster's, relaxed waits, and two consumers, done right. A thread that does not meet stands by:
# where all threads of a block meet, those that have exited are not waited for.
MEETING = tuple(
    parse_phases(text)
    for text in (
        "b0=1 b1=1 | meet n0 2; multiply s0; finish; meet n0 2 "
        "| store s0; fence; meet n0 2; meet n0 2; store s0 | fence",
        "b0=1 b1=1 | meet n0 2; multiply s0; finish; join n1 2 | store s0; join n0 2; meet n1 2; store s0 | fence",
        "b0=1 b1=1 | cluster.arrive; cluster.wait; multiply s0; finish; cluster.arrive; cluster.wait "
        "| store s0; cluster.arrive; cluster.wait; cluster.arrive; cluster.wait; store s0 "
        "| cluster.arrive; cluster.wait; cluster.arrive; cluster.wait",
        "b0=1 b1=1 | wait.relaxed b0 0; fence; multiply s0; finish; fence; arrive.relaxed b1 "
        "| store s0; fence; arrive.relaxed b0; wait.relaxed b1 0; fence; store s0",
        "b0=1 b1=2 | wait b0 0; multiply s0; finish; arrive b1 "
        "| wait b1 1; expect b0 8; copy s0 b0 8; arrive b0; wait b1 0; store s0 | wait b0 0; arrive b1",
    )
)
MEETS = tuple(
    parse_thread((text,))
    for text in (
        *("meet n0 2", "meet n1 2", "join n0 2", "join n1 2", "cluster.arrive", "cluster.arrive.relaxed"),
        *(
            "cluster.wait",
            "fence",
            "wait.relaxed b0 0",
            "wait.relaxed b1 0",
            "arrive b1",
            "arrive.relaxed b0",
        ),
        *("store s0", "multiply s0", "finish"),
    )
)
SILENT = {"info"}


def programs(seed: int, count: int) -> Iterator[PhaseProgram]:
    """Right programs with steps changed, left out or put in; some with other counts, and with a third thread."""
    source = random.Random(seed)
    while count:
        right = source.choice(RIGHT)
        threads = [list(thread) for thread in right.threads]
        for _ in range(source.randrange(3)):
            steps, words = source.choice(((threads[0], CONSUMER), (threads[1], PRODUCER)))
            place = source.randrange(len(steps) + 1)
            steps[place : place + source.randrange(2)] = source.choices(words, k=source.randrange(2))
        counts = source.choice((right.counts, right.counts, right.counts, (1, 2), (2, 1)))
        if max(counts) > 1:
            threads.append(list(parse_thread((f"arrive b{source.randrange(2)}",))))
        multiplies = any(step.word == "multiply" for step in threads[0])
        try:
            program = PhaseProgram(counts, tuple(map(tuple, threads)))
        except ValueError:
            continue
        if multiplies and threads[1]:
            count -= 1
            yield program


def meeting_programs(seed: int, count: int) -> Iterator[PhaseProgram]:
    """The same of programs that meet. Threads that multiply do not store: here they are many."""
    source = random.Random(seed)
    while count:
        right = source.choice(MEETING)
        threads = [list(thread) for thread in right.threads]
        for _ in range(source.randrange(3)):
            steps = source.choice(threads)
            place = source.randrange(len(steps) + 1)
            met = [step.word for step in steps[place : place + 2]] == ["join", "leave"]
            left_out = source.randrange(2) * (2 if met else 1)
            put = source.choice(MEETS) if source.randrange(2) else ()
            unfit = ("store",) if steps is threads[0] else ("multiply", "finish")
            steps[place : place + left_out] = [step for step in put if step.word not in unfit]
        try:
            program = PhaseProgram(right.counts, tuple(map(tuple, threads)))
        except ValueError:
            continue
        multiplies = any(step.word == "multiply" for step in threads[0])
        if multiplies and all(threads) and is_fenced(program) and is_paired(program):
            count -= 1
            yield program


def is_fenced(program: PhaseProgram) -> bool:
    """Whether fences stand at relaxed steps. Without them the models order what the text does not: an arrival keeps
    its place behind a relaxed wait, and a meeting is known to threads that do not meet.
    """
    for thread in program.threads:
        owes = published = False
        for step in thread:
            if step.word == "fence":
                owes, published = False, True
            elif step.word == "wait.relaxed":
                owes = True
            elif owes or (step.word == "arrive.relaxed" and not published):
                return False
            elif step.word in ("join", "cluster.arrive", "multiply", "store"):
                published = False
    return True


def is_paired(program: PhaseProgram) -> bool:
    """Whether as many threads use a named barrier as it is for: warps and warpgroups are not alike."""
    users: dict[int, int] = {}
    for thread in program.threads:
        for barrier in {step.barrier for step in thread if step.word == "join"}:
            users[barrier] = users.get(barrier, 0) + 1
    return all(users[barrier] == size for barrier, size in program.named.items() if barrier in users)


def is_judged(program: PhaseProgram) -> bool:
    """Whether something is wrong beside two stores that nothing orders, which may store the same."""
    return any(
        {program.threads[thread][at].word for thread, at in hazard.steps} != {"store"}
        for hazard in judge_phases(program).hazards
    )


def tiers(program: PhaseProgram) -> set[str]:
    return {finding.tier for finding in check_text(as_ptx(program), "k.ptx").findings} - SILENT


def orderly(program: PhaseProgram) -> bool:
    """Whether each arrival and copy is in one phase, whatever happens."""
    return all(len(phases) == 1 for phases in PhaseAxioms(program).arrivals().values())


def sorted_threads(program: PhaseProgram) -> PhaseProgram:
    """The program with the threads that multiply first."""
    first = [any(step.word == "multiply" for step in thread) for thread in program.threads]
    order = sorted(range(len(first)), key=lambda number: not first[number])
    return PhaseProgram(program.counts, tuple(program.threads[number] for number in order))


@pytest.mark.parametrize("program", RIGHT[1::2], ids=range(3))
def test_right_programs_are_defined_and_pass(program: PhaseProgram) -> None:
    verdict = judge_phases(program)
    assert verdict.outcomes.defined and not verdict.hazards
    assert not tiers(program) & {"error", "likely"}


def test_a_relaxed_arrival_is_not_known_to_be_over() -> None:
    """The wait may end before the first arrival, and the copy come before the product."""
    text = "b0=1 b1=1 | ARRIVE b1; multiply s0; finish; arrive b1 | wait b1 1; expect b0 8; copy s0 b0 8; arrive b0"
    for arrive in ("arrive", "arrive.relaxed"):
        assert "error" in tiers(parse_phases(text.replace("ARRIVE", arrive)))


# Lanes that meet at an instruction of their warp: test_against_lanes.py prints these otherwise.
OF_WARPS = [test for test in phase_suite() if "relaxed n" not in "".join(test.lines)]


@pytest.mark.parametrize("test", OF_WARPS, ids=lambda test: test.name)
def test_what_both_models_call_defined_is_not_accused(test: PhaseLitmus) -> None:
    found = tiers(sorted_threads(test.program))
    if not test.hazards:
        assert not found & {"error", "likely"}
    elif test.name.startswith("ring"):
        assert "error" in found


@pytest.mark.parametrize("seed", range(4))
def test_the_checker_and_both_models_agree(seed: int) -> None:
    errors = passes = 0
    for program in programs(seed, 60):
        found, verdict = tiers(program), judge_phases(program)
        assert verdict.disagreement is None
        assert not (verdict.outcomes.defined and "error" in found), program
        # The limits: an execution follows one assignment of arrivals to phases, and does not look for schedules in
        # which a phase passes by unnoticed.
        if verdict.outcomes.results != 1 and orderly(program):
            assert found, program
        errors += "error" in found
        passes += verdict.outcomes.defined
    assert errors > 10 and passes > 5


@pytest.mark.parametrize("program", MEETING, ids=range(5))
def test_right_meetings_are_defined_and_pass(program: PhaseProgram) -> None:
    verdict = judge_phases(program)
    assert verdict.outcomes.defined and not verdict.hazards
    assert not tiers(program) & {"error", "likely"}


@pytest.mark.parametrize("seed", range(2))
def test_the_checker_and_both_models_agree_on_meetings(seed: int) -> None:
    errors = passes = 0
    for program in meeting_programs(seed, 60):
        found, verdict = tiers(program), judge_phases(program)
        assert verdict.disagreement is None
        assert not (verdict.outcomes.defined and "error" in found), program
        if verdict.outcomes.results != 1 and orderly(program) and is_judged(program):
            assert found, program
        errors += "error" in found
        passes += verdict.outcomes.defined
    assert errors > 5 and passes > 20
