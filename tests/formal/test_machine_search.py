"""The search that leaves out schedules finds every result that the search through all schedules finds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ptxmma.formal.ordering.alphabet import alphabet
from ptxmma.formal.ordering.machine import Machine, MachineResult, MachineState
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import Program, Step
from ptxmma.formal.ordering.schedules import outcomes
from ptxmma.spec.ordering import ordering
from ptxmma.spec.switches import Conduct

DEFAULT = ordering().conduct()
CONDUCTS = (
    DEFAULT,
    replace(DEFAULT, proxy_fence_covers_all=not DEFAULT.proxy_fence_covers_all),
    replace(DEFAULT, wait_covers_all=not DEFAULT.wait_covers_all, fence_orders_shapes=True),
)
MANY = 1500  # states


def through_all(program: Program, conduct: Conduct) -> tuple[frozenset[MachineResult] | None, int]:
    """Every result by every schedule, and how many states that visits; None: too many."""
    machine = Machine(program, conduct)
    visited: set[MachineState] = {machine.start()}
    rest, found = list(visited), set()
    while rest:
        state = rest.pop()
        moves = list(machine.moves(state))
        if not moves:
            found.add(machine.result(state))
        for move in moves:
            after = machine.after(state, move)
            if after not in visited:
                visited.add(after)
                rest.append(after)
        if len(visited) > MANY:
            return None, len(visited)
    return frozenset(found), len(visited)


# Steps that meet in one buffer and one register more often than steps of the whole alphabet do.
CLOSE = [step for step in alphabet() if not {"s1", "b1", "r1"} & {*str(step).split()}]


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(CLOSE), min_size=2, max_size=7)
    | st.lists(st.sampled_from(alphabet()), min_size=2, max_size=6),
    st.sampled_from(CONDUCTS),
)
def test_no_result_is_lost(steps: list[Step], conduct: Conduct) -> None:
    program = Program(tuple(steps))
    every, _ = through_all(program, conduct)
    assume(every is not None)
    assert outcomes(program, conduct) == every


MMA = "mma m64n8k16.f32.f16.f16 r0 s0 s0 scale-d=0"


@pytest.mark.parametrize(
    ("text", "results"),
    [
        # Each half has landed or not when the warp's mma reads, and when the other warps' does: 4 * 4 pairs,
        # but for the 2 in which each mma alone has seen one half.
        (f"fence; store s0; {MMA}", 14),
        (f"fence; store s0; proxy-fence; barrier; {MMA}", 1),
        ("store s0; other: load s0", 4),  # the warp and the other warps have stored their halves, or not
        ("store s0; barrier; other: load s0", 1),
    ],
)
def test_results_are_counted_by_hand(text: str, results: int) -> None:
    assert len(outcomes(parse(text))) == results


def test_a_store_that_would_hold_up_a_fence_may_come_after_it() -> None:
    program = parse(f"fence; store s0; other: proxy-fence; other: arrive b0; await b0; {MMA}")
    assert len(outcomes(program, replace(DEFAULT, proxy_fence_covers_all=True))) == 14
