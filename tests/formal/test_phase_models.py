"""The two models of barriers with phases: verdicts judged by hand, and a slip in either breaks the theorem."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from ptxmma.formal.ordering.phases import histories
from ptxmma.formal.ordering.phases.histories import PhaseAxioms
from ptxmma.formal.ordering.phases.phase_agreement import judge_phases, phase_disagreement
from ptxmma.formal.ordering.phases.phase_comparison import compare_phases
from ptxmma.formal.ordering.phases.phase_enumeration import (
    LETTERS,
    SEEDS,
    random_programs,
    slipped_programs,
    small_programs,
)
from ptxmma.formal.ordering.phases.phase_machine import PhaseConduct, PhaseMachine
from ptxmma.formal.ordering.phases.phase_orders import Order
from ptxmma.formal.ordering.phases.phase_partitions import PhaseMember, partitions
from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, PhaseStep, parse_phases
from ptxmma.gen.litmus.phase_tests import PhaseLitmus, phase_suite
from ptxmma.spec.ordering_records import PHASE_RACES, PHASE_RULES

from ..answers import valid


@pytest.mark.parametrize("test", phase_suite(), ids=lambda test: test.name)
def test_both_models_judge_a_litmus_test_as_stated(test: PhaseLitmus) -> None:
    verdict = judge_phases(test.program)
    assert verdict.disagreement is None
    assert verdict.rules == test.hazards


def test_every_rule_is_broken_and_every_word_is_used() -> None:
    tests = phase_suite()
    assert {rule for test in tests for rule in test.hazards} == {*PHASE_RULES, *PHASE_RACES}
    used = {step.word for test in tests for thread in test.program.threads for step in thread}
    assert used == {step.word for step in LETTERS}


@pytest.mark.parametrize("program", SEEDS, ids=range(len(SEEDS)))
def test_the_protocols_that_slips_are_made_of_are_right(program: PhaseProgram) -> None:
    verdict = judge_phases(program)
    assert verdict.outcomes.defined and not verdict.hazards and not verdict.disagreement


def test_the_models_agree_on_random_programs() -> None:
    rules: set[str] = set()
    for program in random_programs(1, 60):
        verdict = judge_phases(program)
        assert verdict.disagreement is None
        rules |= {*verdict.rules}
    assert rules == {*PHASE_RULES, *PHASE_RACES}


# Longer ones on which the models, or the checker and they, once disagreed.
LONGER = {
    "b0=1 b1=1 | meet n0 2; wait b0 0; multiply s0; finish; arrive b1 "
    "| init b0; meet n0 2; store s0; arrive b1; arrive b0; arrive b1; wait b1 0; store s0": (),
    "b0=1 b1=1 | wait b0 0; multiply s0; finish; arrive.relaxed b1 | store s0; arrive b0; wait b1 0; store s0": (
        "shared-overwritten",
    ),
    "b0=1 | arrive b0; wait b0 1; arrive b0 2": ("barrier-stuck",),
}


@pytest.mark.parametrize(("text", "rules"), LONGER.items())
def test_the_models_agree_on_longer_programs(text: str, rules: tuple[str, ...]) -> None:
    verdict = judge_phases(parse_phases(text))
    assert verdict.disagreement is None and verdict.rules == rules


def test_small_programs_are_counted() -> None:
    assert [sum(1 for _ in small_programs(steps)) for steps in (1, 2)] == [27, 860]


def test_the_comparison_counts_every_program_once() -> None:
    tally = compare_phases(1, 3, workers=1)
    slipped = sum(1 for _ in slipped_programs())
    assert tally.programs == {"of length 1": 27, "with a slip": slipped, "at random": 3}
    assert {*tally.hazards} == {*PHASE_RULES, *PHASE_RACES} and not tally.faults


def test_accesses_linger_only_where_somebody_can_notice() -> None:
    for program in itertools.chain(small_programs(2), random_programs(2, 15)):
        assert PhaseMachine(program).outcomes() == PhaseMachine(program, all_linger=True).outcomes()


# Slips of the machine


class WaitsForTheParity(PhaseConduct):
    """A wait ends in a phase of its parity, not behind one."""

    def passes(self, phase: int, parity: int) -> bool:
        return phase % 2 == parity


class WaitsForAnyPhase(PhaseConduct):
    """A wait ends as soon as some phase has ended."""

    def passes(self, phase: int, parity: int) -> bool:
        return phase > 0 or parity == 1


class CountsArrivalsAlone(PhaseConduct):
    """A phase ends without its bytes."""

    def complete(self, pending: int, lacking: int) -> bool:
        return pending == 0


class CountsBytesAtMost(PhaseConduct):
    """More bytes than expected will do."""

    def complete(self, pending: int, lacking: int) -> bool:
        return pending == 0 and lacking <= 0


class HoldsRelaxedArrivals(PhaseConduct):
    """A relaxed arrival waits for the accesses before it, too."""

    def holds(self, word: str) -> bool:
        return "arrive" in word or super().holds(word)


class HoldsNoFence(PhaseConduct):
    """A fence waits for nothing."""

    def holds(self, word: str) -> bool:
        return word != "fence" and super().holds(word)


class HoldsNoMeet(PhaseConduct):
    """An arrival at a named barrier waits for nothing."""

    def holds(self, word: str) -> bool:
        return word != "join" and super().holds(word)


class HoldsRelaxedMeets(PhaseConduct):
    """Lanes that execute an instruction of their warp together wait for the accesses before it, too."""

    def holds(self, word: str) -> bool:
        return word == "join.relaxed" or super().holds(word)


@cache
def enumerated() -> tuple[PhaseProgram, ...]:
    """What the theorem is enumerated over in `ptxmma prove`, the shortest first."""
    every = (*small_programs(1), *slipped_programs(), *small_programs(2))
    return tuple(sorted(every, key=lambda program: sum(map(len, program.threads))))


def disagree(conduct: PhaseConduct | None = None, axioms: type[PhaseAxioms] = PhaseAxioms) -> bool:
    return any(phase_disagreement(program, conduct, axioms) for program in enumerated())


@pytest.mark.parametrize(
    "conduct",
    [
        WaitsForTheParity(),
        WaitsForAnyPhase(),
        CountsArrivalsAlone(),
        CountsBytesAtMost(),
        HoldsRelaxedArrivals(),
        HoldsNoFence(),
        HoldsNoMeet(),
        HoldsRelaxedMeets(),
    ],
    ids=lambda conduct: type(conduct).__name__,
)
def test_a_slip_of_the_machine_breaks_the_theorem(conduct: PhaseConduct) -> None:
    assert disagree(conduct)


# Slips of the axioms


class PassesLate(PhaseAxioms):
    """A wait may also come behind the phase after the one that it is for."""

    @staticmethod
    def may_pass(phase: int, parity: int) -> bool:
        return phase > 0 or parity == 1


class KeepsEveryOrder(PhaseAxioms):
    """A thread keeps all of its steps in order."""

    def kept(self, before: PhaseStep, after: PhaseStep) -> bool:
        return True


class KeepsNoBuffer(PhaseAxioms):
    """A thread's own accesses of one buffer are not ordered."""

    def kept(self, before: PhaseStep, after: PhaseStep) -> bool:
        both = before.word in ("load", "store") and after.word in ("load", "store", "copy", "multiply")
        return not both and super().kept(before, after)


class RelaxedWaitAcquires(PhaseAxioms):
    """A relaxed wait orders what stands behind it."""

    def kept(self, before: PhaseStep, after: PhaseStep) -> bool:
        return before.word == "wait.relaxed" or super().kept(before, after)


class FenceIsNothing(PhaseAxioms):
    """A fence orders nothing."""

    def kept(self, before: PhaseStep, after: PhaseStep) -> bool:
        return after.word != "fence" and super().kept(before, after)


class WaitsBeforeTheEnd(PhaseAxioms):
    """A wait comes before the end of the next phase, but may come behind all that is in it."""

    def _before_end(self, order: Order, wait: int, members: object) -> Iterator[Order]:
        yield order


class NobodyIsStuck(PhaseAxioms):
    """Every thread comes to its end."""

    @staticmethod
    def _endings(thread: tuple[PhaseStep, ...]) -> Iterator[histories._ThreadEnd]:  # type: ignore[override]
        yield histories._ThreadEnd(frozenset(range(len(thread))), None)


@pytest.mark.parametrize(
    "axioms",
    [
        PassesLate,
        KeepsEveryOrder,
        KeepsNoBuffer,
        RelaxedWaitAcquires,
        FenceIsNothing,
        WaitsBeforeTheEnd,
        NobodyIsStuck,
    ],
)
def test_a_slip_of_the_axioms_breaks_the_theorem(axioms: type[PhaseAxioms]) -> None:
    assert disagree(axioms=axioms)


# Phases


def member(step: int, arrivals: int, expected: int) -> PhaseMember:
    return PhaseMember((0, step), arrivals, expected)


def test_the_order_of_a_phase_matters_where_it_could_end_early() -> None:
    arrival, copy, expect = member(0, 1, 0), member(1, 0, -8), member(2, 0, 8)
    free = {one.place: frozenset[tuple[int, int]]() for one in (arrival, copy, expect)}
    first = {phases.all[0] for phases in partitions((arrival, copy, expect), free, 1)}
    assert first == {(arrival,), (arrival, copy, expect)}
    ways = [
        phases.sequences for phases in partitions((arrival, copy, expect), free, 1) if len(phases.all[0]) == 3
    ]
    # The arrival is behind one of the two, and the two are in either order.
    assert len(ways) == 4 and all(ways)
    two = member(3, 1, 0)
    assert [
        phases.sequences for phases in partitions((arrival, two), {**free, two.place: frozenset()}, 2)
    ] == [()]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("b0=1 | jump b0", "`jump b0`: no step is called 'jump'"),
        ("b0=1 | arrive s0", "'s0' is not an operand such as b0"),
        ("b0=1 | wait b0", "`wait b0`: wait takes 2 operands"),
        ("b0=1 | wait b0 2", "a parity is 0 or 1"),
        ("b0=0 | arrive b0", "counts and bytes are at least 1"),
        ("b0=1 | arrive b1", "`arrive b1`: b1 has no count"),
        ("b1=1 | arrive b1", "'b1=1' is not the count of b0, such as b0=1"),
        ("b0=1 | init b0 | init b0", "an mbarrier is initialised twice"),
        (" | meet n0 2 | meet n0 3", "n0 has 2 threads, and 3"),
        (" | leave n0", "`leave n0`: the step before it does not arrive there"),
        (" | cluster.wait", "arrivals at the cluster's barrier and waits take turns"),
    ],
)
def test_what_the_language_does_not_have_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_phases(text)


def test_a_program_is_read_as_it_is_written() -> None:
    for program in random_programs(3, 20):
        assert parse_phases(str(program)) == program


def test_the_command_lists_and_explains(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("litmus", "--phases", "--format", "json")
    assert code == 0
    valid("litmus-phases", json.loads(out))
    assert [record["name"] for record in json.loads(out)] == [test.name for test in phase_suite()]
    code, out, _ = run("litmus", "--phases", "meet-of-two")
    assert code == 0 and "writer" not in out
    assert "  first 0: store s0; second 2: load s0" in out
    assert out.splitlines()[-1].startswith("Sections are those of PTX ISA 9.2; ")
    assert run("litmus", "--phases", "barrier-overrun")[1].endswith("0 defined; 0 not as expected\n")
    assert run("litmus", "--phases", "nosuch")[0] == 2
