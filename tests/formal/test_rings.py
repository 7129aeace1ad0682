"""The formulas about rings of stages against the models that are run, and slips that break what is proven."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from ptxmma.formal.ordering.phases.phase_agreement import judge_phases
from ptxmma.formal.ordering.phases.phase_machine import PhaseMachine, PhaseState
from ptxmma.formal.ordering.phases.phase_partitions import PhaseMember, partitions
from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, PhaseStep
from ptxmma.formal.ordering.rings import ring_invariant
from ptxmma.formal.ordering.rings.barrier_counts import MachineCounts, PhaseSums
from ptxmma.formal.ordering.rings.ring import (
    ARRIVALS_FIT,
    CONSUMER_MOVES,
    OWN_PHASE,
    PRODUCER_MOVES,
    READS_COPY,
    RIGHT,
    SLIPS,
    Position,
    ring_program,
)
from ptxmma.formal.ordering.rings.ring_history import _Round
from ptxmma.formal.ordering.rings.ring_invariant import invariant
from ptxmma.formal.ordering.rings.ring_machine import (
    READS,
    RELEASES,
    WAITS,
    Producer,
    RingConsumer,
    RingSize,
    RingState,
    consumer_moves,
    copy_moves,
    is_first,
    producer_moves,
    symbolic_size,
    symbolic_state,
)
from ptxmma.formal.ordering.rings.ring_questions import STATE_QUESTIONS
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.smt.terms import And, BoolVal, IntVal, Term

BYTES = 2  # of a copy of ring_program
STAGES, ROUNDS = 2, 2


def value(term: Term, names: Mapping[str, int] | None = None) -> int:
    """What a formula without other constants comes to."""
    if not term.args:
        text = str(term)
        if text in ("true", "false"):
            return text == "true"
        return (
            (names or {}).get(text, 0)
            if text.replace(".", "").isalpha()
            else int(text.strip("()").replace(" ", ""))
        )
    values = (value(arg, names) for arg in term.args)
    match term.head:
        case "and":
            return all(values)
        case "or":
            return any(values)
        case "ite":
            return value(term.args[1 if next(values) else 2], names)
        case "not":
            return not next(values)
    left, right = values
    return {
        "=": left == right,
        "+": left + right,
        "-": left - right,
        "mod": left % max(right, 1),
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[term.head]


def numbers(state: RingState, names: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """The numbers of a state."""
    flat: list[int] = []

    def walk(part: object) -> None:
        if isinstance(part, Term):
            flat.append(value(part, names))
        else:
            for one in part if isinstance(part, tuple) else vars(part).values():
                walk(one)

    walk(state)
    return tuple(flat)


def size_of(consumers: int, stage: int) -> RingSize:
    number = IntVal
    end = Position(number(ROUNDS), number(0))
    return RingSize(number(STAGES), number(consumers), number(BYTES), end, number(stage), number(1))


def looked_at(state: PhaseState, stage: int, consumers: int) -> RingState:
    """What a state of the machine is at one stage: each visit has four steps."""
    number = IntVal

    def position(thread: int) -> Position:
        visit = state.places[thread] // 4
        return Position(number(visit // STAGES), number(visit % STAGES))

    def counts(barrier: int) -> MachineCounts:
        return MachineCounts(*map(number, state.mbarriers[barrier]))

    def consumer(thread: int) -> RingConsumer:
        visit, done = divmod(state.places[thread], 4)
        if visit % STAGES != stage:
            return RingConsumer(position(thread), number(WAITS))
        reads = any(one == thread and at // 4 == visit for one, at in state.flights)
        step = WAITS if not done else RELEASES if done == 3 and not reads else READS
        return RingConsumer(position(thread), number(step))

    visit, done = divmod(state.places[0], 4)
    done = done if visit % STAGES == stage else 0
    producer = Producer(position(0), BoolVal(done > 0), BoolVal(done > 1), BoolVal(done > 2), BoolVal(False))
    flying = BYTES * sum(one == 0 and at // 4 % STAGES == stage for one, at in state.flights)
    pair = consumer(1), consumer(min(2, consumers))
    return RingState(producer, pair, counts(2 * stage), counts(2 * stage + 1), number(flying), number(0))


def transitions(program: PhaseProgram) -> Iterator[tuple[PhaseState, PhaseState]]:
    """Every move of the machine of phases."""
    machine = PhaseMachine(program)
    known = {machine.start()}
    rest = [*known]
    while rest:
        state = rest.pop()
        for after in machine.moves(state):
            yield state, after
            if after not in known:
                known.add(after)
                rest.append(after)


def swapped(state: RingState) -> RingState:
    return replace(state, consumers=state.consumers[::-1])


@pytest.mark.parametrize("consumers", [1, 2])
def test_every_move_of_the_machine_is_one_of_the_ring(consumers: int) -> None:
    program = ring_program(RIGHT, STAGES, consumers, ROUNDS)
    names = {"bytes.come": BYTES}
    made: set[str] = set()
    moved = {(_relevant(before), _relevant(after)): (before, after) for before, after in transitions(program)}
    for stage in range(STAGES // consumers):
        size = size_of(consumers, stage)
        seen = set()
        for before, after in moved.values():
            state, following = (_seen(one, stage, consumers) for one in (before, after))
            first, second = numbers(state), numbers(following)
            if first != second and (first, second) not in seen:
                seen.add((first, second))
                assert value(invariant(state, size)) and value(invariant(following, size)), first
                made |= {*_moved(state, second, size, names, consumers)} or {"none"}
    assert "none" not in made
    everything = (producer_moves, consumer_moves, copy_moves)
    start = symbolic_state(), symbolic_size(), RIGHT
    # The program has one order of expecting, copying and arriving.
    assert made == {name for moves in everything for name in moves(*start)}


def _relevant(state: PhaseState) -> tuple[object, ...]:
    return state.places, state.flights, state.mbarriers


def _seen(state: PhaseState, stage: int, consumers: int) -> RingState:
    """A single consumer stands for both."""
    found = looked_at(state, stage, consumers)
    return replace(found, consumers=(found.consumers[0],) * 2) if consumers == 1 else found


def _moved(
    state: RingState, after: tuple[int, ...], size: RingSize, names: Mapping[str, int], consumers: int
) -> Iterator[str]:
    """The moves that lead from one state to another."""
    for turned in (False, True)[: min(consumers, 2)]:
        start = swapped(state) if turned else state
        for moves in (producer_moves, consumer_moves, copy_moves):
            for name, (can, end) in moves(start, size, RIGHT).items():
                if not value(can, names):
                    continue
                if consumers == 1:
                    end = replace(end, consumers=(end.consumers[0],) * 2)
                if numbers(swapped(end) if turned else end, names) == after:
                    yield name


def test_the_first_state_is_the_machine_s() -> None:
    machine = PhaseMachine(ring_program(RIGHT, STAGES, 2, ROUNDS))
    for stage in range(STAGES):
        assert value(is_first(looked_at(machine.start(), stage, 2), size_of(2, stage), RIGHT))


@pytest.mark.parametrize("name", SLIPS)
def test_both_models_find_each_slip(name: str) -> None:
    assert not judge_phases(ring_program(RIGHT, 1, 2, 2)).hazards
    verdict = judge_phases(ring_program(SLIPS[name].ring, 1, 2, 2))
    assert verdict.disagreement is None
    assert verdict.hazards and not verdict.outcomes.defined


def test_one_mbarrier_is_counted_as_both_models_do() -> None:
    source = random.Random(3)
    for _ in range(60):
        count = source.randrange(1, 4)
        program = PhaseProgram((count,), ((PhaseStep("arrive", number=1),),))
        steps = [
            PhaseStep(source.choice(("arrive", "expect", "copy")), number=source.randrange(1, 3))
            for _ in range(5)
        ]
        machine, state = PhaseMachine(program), PhaseMachine(program).start()
        counted = MachineCounts(IntVal(0), IntVal(count), IntVal(0))
        sums = PhaseSums(IntVal(0), IntVal(0), IntVal(0))
        members: list[PhaseMember] = []
        for at, step in enumerate(steps):
            arrivals = step.number if step.word == "arrive" else 0
            bytes_ = {"expect": step.number, "copy": -step.number}.get(step.word, 0)
            state = machine._count(state, step)
            counted = MachineCounts(*known(counted.counted(IntVal(count), IntVal(arrivals), IntVal(bytes_))))
            sums = PhaseSums(*known(sums.joined(IntVal(count), IntVal(arrivals), IntVal(bytes_), None)))
            members.append(PhaseMember((0, at), arrivals, bytes_))
            assert tuple(map(value, terms(counted))) == state.mbarriers[0]
            before = {one.place: frozenset((0, other) for other in range(one.place[1])) for one in members}
            (phases,) = partitions(members, before, count)
            now = [one for one in phases.all[-1] if one not in phases.excess]
            said = phases.ended, sum(one.arrivals for one in now), sum(one.expected for one in now)
            assert tuple(map(value, terms(sums))) == said
            for parity in (0, 1):
                passes = machine.conduct.passes(state.mbarriers[0][0], parity)
                assert value(counted.passes(IntVal(parity))) == passes
                assert value(sums.may_pass(IntVal(parity), None)) == passes


def terms(counts: MachineCounts | PhaseSums) -> tuple[Term, ...]:
    return tuple(vars(counts).values())


def known(counts: MachineCounts | PhaseSums) -> list[Term]:
    return [IntVal(value(term)) for term in terms(counts)]


def answer(*claims: Term) -> str:
    return ask("z3", refuting(*claims, logic="QF_LIA"), 20_000).status


def test_no_claim_holds_because_nothing_meets_its_premises() -> None:
    size, s = symbolic_size(), symbolic_state()
    for moves in (producer_moves, consumer_moves, copy_moves):
        for name, (can, _) in moves(s, size, RIGHT).items():
            many = And(size.stages == 3, size.consumers == 5)
            assert answer(size.holds, many, invariant(s, size), can) == "sat", name
    history = _Round(RIGHT)
    assert answer(history.follows, history.n == 4) == "sat"


WEAKER: Mapping[str, str] = {
    "_consumer": OWN_PHASE,
    "_full": READS_COPY,
    "_empty": ARRIVALS_FIT,
}


@pytest.mark.parametrize("part", WEAKER)
def test_each_part_of_the_invariant_is_needed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_invariant, part, lambda *_: BoolVal(True))
    assert answer(STATE_QUESTIONS[WEAKER[part]](RIGHT)) == "sat"


def test_every_claim_can_break() -> None:
    states = {slip.of_states for slip in SLIPS.values()}
    histories = {slip.of_histories for slip in SLIPS.values()}
    assert {PRODUCER_MOVES, CONSUMER_MOVES, OWN_PHASE} <= states
    assert len(histories) >= 6
