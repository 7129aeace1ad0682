"""The joint states of both ordering models: they close, count programs rightly, and notice planted faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from ptxmma.formal.ordering import alphabet as letters_of
from ptxmma.formal.ordering.agreement import changing_values
from ptxmma.formal.ordering.agreement_proof import ProofBounds, prove_agreement
from ptxmma.formal.ordering.alphabet import LOCATIONS, Location, LocationKind, alphabet, letters, seen_from
from ptxmma.formal.ordering.axioms import Hazard, closing
from ptxmma.formal.ordering.machine_answers import MachineAnswers
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import (
    BulkCopy,
    BulkWait,
    CpAsyncWait,
    MbarrierArrive,
    Mma,
    Program,
    ProxyFence,
    Step,
    Wait,
    WgmmaFence,
)
from ptxmma.formal.ordering.reached import reached
from ptxmma.formal.ordering.schedules import differ
from ptxmma.formal.ordering.states import axiom_state, confirmation, enumeration, machine_state
from ptxmma.formal.ordering.states import closure as closures
from ptxmma.formal.ordering.states.broken_rules import broken_rules
from ptxmma.formal.ordering.states.closure import Closure, close
from ptxmma.formal.ordering.states.confirmation import confirm, representatives
from ptxmma.formal.ordering.states.enumeration import AllLocations, count_programs, run_programs
from ptxmma.spec.ordering import Readings, ordering
from ptxmma.spec.switches import Conduct

EVERY = ordering().every()
DEFAULT = EVERY["default"]
KINDS: tuple[LocationKind, ...] = ("register", "buffer")


def conduct(**changes: Any) -> Conduct:
    """The default conduct of the machine, with some fields otherwise."""
    return replace(ordering().conduct(), **changes)


VALUED = [name for name, rule in ordering().rules.items() if rule.effect == "values"]


@cache
def closed_under(kind: LocationKind, bearing: tuple[tuple[str, str], ...]) -> Closure:
    return close(kind, dict(bearing))


def closed(name: str) -> Mapping[LocationKind, Closure]:
    """The joint states by the settings that bear on a location; several readings have the same."""
    bearing = ordering().bearing
    return {
        kind: closed_under(kind, tuple(bearing(EVERY[name], registers=kind == "register").items()))
        for kind in KINDS
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_the_states_are_finite_and_no_next_step_tells_the_models_apart(name: str) -> None:
    found = closed(name)
    assert all(closure.faults == [] for closure in found.values())
    assert all(len(row) == len(closure.letters) for closure in found.values() for row in closure.follows)
    rules = set(found["register"].hazards) | set(found["buffer"].hazards)
    assert rules == {rule for rule in VALUED if ordering().rules[rule].applies(EVERY[name])}


def test_the_letters_of_a_location() -> None:
    assert len(letters("register")) == 12
    assert len(letters("buffer")) == 37
    step = parse("mma m64n8k16.f32.f16.f16 r0 r1 s1").steps[0]
    seen = [str(seen_from(step, location)) for location in LOCATIONS]
    assert seen == [
        "mma m64n8k16.f32.f16.f16 r0 s0 s0",
        "mma m64n8k16.f32.f16.f16 r1 r0 s0",
        "mma m64n8k16.f32.f16.f16 r0 s1 s1",
        "mma m64n8k16.f32.f16.f16 r0 s0 s0",
    ]
    assert str(seen_from(Step(BulkCopy(0, 0), 1), Location("buffer", 1))) == "other: bulk s1 b1"
    assert seen_from(Step(WgmmaFence()), Location("buffer", 0)) is None
    swapped = str.maketrans("01", "10")
    for step in alphabet():  # swapping the buffers, with their mbarriers, keeps the alphabet
        words = [
            word.translate(swapped) if word[0] in "sb" and word[1:].isdigit() else word
            for word in str(step).split()
        ]
        assert set(parse(" ".join(words)).steps) <= set(alphabet())


def test_groups_are_counted_beyond_every_wait() -> None:
    waits = (Wait, CpAsyncWait, BulkWait)
    most = max(step.operation.n for step in alphabet() if isinstance(step.operation, waits))
    assert most < axiom_state.MOST_GROUPS
    assert most < machine_state.MOST_GROUPS


def test_the_count_of_programs_is_that_of_writing_them_all_down() -> None:
    *_, level = count_programs(AllLocations(closed("default")), 2)
    sound = [step for step in alphabet() if not changing_values(closing(Program((step,)), DEFAULT))]
    programs = [Program((first, second)) for first in sound for second in alphabet()]
    assert level.programs == len(programs)
    assert level.hazards == sum(bool(changing_values(closing(program, DEFAULT))) for program in programs)


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "strict",
        "same-shape=m-n",
        "reshaped-accumulator=fence",
        "empty-groups=skip",
        "proxy-fence-side=either",
        "wait-scope=warpgroup",
        "unwaited-store=must",
    ],
)
def test_long_programs_at_random(name: str) -> None:
    """Programs of 4 to 14 steps without hazards, then one more step: both models, and the states."""
    readings, locations, source = EVERY[name], AllLocations(closed(name)), random.Random(name)
    said = set()
    for _ in range(60):
        steps: tuple[Step, ...] = ()
        states = locations.start
        for _ in range(source.randrange(4, 14)):
            free = [n for n in range(len(locations.steps)) if not locations.closing_steps(states) >> n & 1]
            number = source.choice(free)
            steps, states = (*steps, alphabet()[number]), locations.move(states, number)
        number = source.choice(
            [n for n, step in enumerate(alphabet()) if isinstance(step.operation, letters_of.ACCESSES)]
        )
        last, hazard = alphabet()[number], bool(locations.closing_steps(states) >> number & 1)
        if source.random() < 0.1:
            last, hazard = letters_of.END, locations.end_closes(states)
        program = Program((*steps, last))
        said.add(hazard)
        assert bool(changing_values(closing(program, readings))) == hazard, str(program)
        assert (differ(program, ordering().conduct(readings)) is not None) == hazard, str(program)
    assert said == {False, True}


# Planted faults. Each way is shown to notice a slip in either model.


def _reading(rule: str) -> str:
    """A reading under which a rule applies."""
    return next(name for name, readings in EVERY.items() if ordering().rules[rule].applies(readings))


def under(rule: str) -> Readings:
    return EVERY[_reading(rule)]


@pytest.mark.parametrize("rule", VALUED)
def test_an_axiom_that_is_dropped_is_noticed_in_the_joint_states(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rule in ("uncommitted-at-wait", "wait-too-shallow"):
        pytest.skip("says why a wait does not help with another hazard")

    def forgetful(state: axiom_state.AccessState, step: Step, readings: Readings) -> frozenset[str]:
        found = broken_rules(state, step, readings)
        return frozenset() if rule in found else found

    monkeypatch.setattr(closures, "broken_rules", forgetful)
    assert any(close(kind, under(rule)).faults for kind in KINDS)


@pytest.mark.parametrize("rule", VALUED)
def test_an_axiom_that_is_dropped_is_noticed_by_running_the_models(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rule in ("uncommitted-at-wait", "wait-too-shallow"):
        pytest.skip("says why a wait does not help with another hazard")

    def forgetful(program: Program, readings: Readings) -> tuple[Hazard, ...]:
        found = closing(program, readings)
        return () if rule in {hazard.rule for hazard in found} else found

    monkeypatch.setattr(confirmation, "closing", forgetful)
    readings = under(rule)
    assert any(
        confirm(closure, readings, representatives(closure)[:12], MachineAnswers())[1]
        for closure in closed(_reading(rule)).values()
    )


MACHINES = [
    conduct(same_shape=("n",)),
    conduct(same_shape=("n", "k", "types")),
    conduct(fence_orders_shapes=True),
    conduct(empty_groups_count=False),
    conduct(proxy_fence_covers_all=True),
    conduct(wait_covers_all=True),
    conduct(block_lasts=False),
]


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_machine_that_behaves_otherwise_is_noticed_in_the_joint_states(machine: Conduct) -> None:
    assert any(close(kind, DEFAULT, machine).faults for kind in KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_machine_that_behaves_otherwise_is_noticed_by_running_it(machine: Conduct) -> None:
    closures = closed("default").values()
    assert any(
        confirm(closure, DEFAULT, representatives(closure)[:30], MachineAnswers(), machine)[1]
        for closure in closures
    )


def _blind(kind: type) -> Callable[..., bool]:
    """A machine in which operations of a kind wait for nothing."""

    def waits(delayed: machine_state.DelayedInBuffer, step: Step, stream: int, machine: Conduct) -> bool:
        return not isinstance(step.operation, kind) and _waits(delayed, step, stream, machine)

    return waits


_waits = machine_state._waits


@pytest.mark.parametrize("kind", [Wait, CpAsyncWait, BulkWait, ProxyFence], ids=lambda kind: kind.__name__)
def test_a_machine_that_does_not_wait_is_noticed(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_state, "_waits", _blind(kind))
    assert close("buffer", DEFAULT).faults


def test_a_state_that_forgets_a_signal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    extended = axiom_state._extended

    def deaf(
        reach: axiom_state.ThreadReach, origin: int, step: Step, readings: Readings, one_warp: bool = False
    ) -> axiom_state.ThreadReach:
        return (
            reach
            if isinstance(step.operation, MbarrierArrive)
            else extended(reach, origin, step, readings, one_warp)
        )

    monkeypatch.setattr(axiom_state, "_extended", deaf)
    assert close("buffer", DEFAULT).faults


def test_a_step_that_a_location_does_not_see_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(step: Step, location: Location) -> Step | None:
        return None if isinstance(step.operation, Mma) else seen_from(step, location)

    monkeypatch.setattr(enumeration, "seen_from", blind)
    assert run_programs(AllLocations(closed("default")), DEFAULT, 1, MachineAnswers()).faults


def test_settings_that_no_value_depends_on() -> None:
    known = ordering()
    memory = {"empty-groups", "proxy-fence-side", "wait-scope", "unwaited-store"}
    assert set(known.bearing(DEFAULT, registers=False)) == memory
    assert set(known.bearing(DEFAULT)) == {*memory, "same-shape", "reshaped-accumulator"}
    chosen = {name: EVERY[name] for name in ("default", "a-read-twice=fence")}
    first, second = prove_agreement(chosen, ProofBounds(steps=3, direct=1, stride=90, length=0), workers=1)
    assert (first.same_values_as, second.same_values_as) == (None, "default")
    assert first.faults == second.faults == []
    assert first.locations == second.locations


def test_every_rule_and_every_setting_is_reached_within_eight_steps() -> None:
    by_rule, by_reading = reached(8)
    assert all(by_rule.values())
    assert all(by_reading.values())
