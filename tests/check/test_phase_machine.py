"""The checker's execution against a machine that tries every schedule, on random programs with phases."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxmma.check.check_file import check_text

from .phase_machine import Op, PhaseProgram, answer, as_ptx

FULL, EMPTY = 0, 1
CONSUMER = (
    Op("await", FULL, 0),
    Op("await", FULL, 1),
    Op("multiply", 0),
    Op("multiply", 0),
    Op("wait"),
    Op("arrive", EMPTY),
)
PRODUCER = (
    Op("await", EMPTY, 0),
    Op("await", EMPTY, 1),
    Op("copy", 0, FULL),
    Op("copy", 0, FULL),
    Op("arrive", EMPTY),
)
# One round, and two, done right.
ROUND = (
    (Op("await", FULL, 0), Op("multiply", 0), Op("wait"), Op("arrive", EMPTY)),
    (Op("await", EMPTY, 1), Op("copy", 0, FULL)),
)
ROUNDS = (
    (*ROUND[0], Op("await", FULL, 1), Op("multiply", 0), Op("wait"), Op("arrive", EMPTY)),
    (*ROUND[1], Op("await", EMPTY, 0), Op("copy", 0, FULL)),
)


def programs(seed: int, count: int) -> Iterator[PhaseProgram]:
    """Programs drawn at random, and right ones with an operation changed, left out or put in."""
    source = random.Random(seed)
    for _ in range(count):
        counts = source.choice(((1, 1), (1, 1), (1, 2), (2, 1)))
        if source.random() < 0.3:
            mine = tuple(source.choices(CONSUMER, k=source.randrange(2, 6)))
            others = tuple(source.choices(PRODUCER, k=source.randrange(1, 4)))
        else:
            right = source.choice((ROUND, ROUNDS))
            changed = list(right[0]), list(right[1])
            for _ in range(source.randrange(3)):
                ops, words = source.choice(((changed[0], CONSUMER), (changed[1], PRODUCER)))
                place = source.randrange(len(ops))
                ops[place : place + source.randrange(2)] = source.choices(words, k=source.randrange(2))
                if not ops:
                    break
            mine, others = map(tuple, changed)
        third = (Op("arrive", source.randrange(2)),) if max(counts) > 1 else ()
        threads = mine, others, third
        if any(op.kind == "multiply" for op in mine) and others:
            yield PhaseProgram(counts, threads)


def tiers(program: PhaseProgram) -> set[str]:
    return {finding.tier for finding in check_text(as_ptx(program), "k.ptx").findings}


def test_right_rounds_are_defined_and_pass() -> None:
    for threads in (ROUND, ROUNDS):
        program = PhaseProgram((1, 1), (*threads, ()))
        assert answer(program).defined
        assert not tiers(program) & {"error", "likely"}


@pytest.mark.parametrize("seed", range(4))
def test_the_execution_and_the_machine_agree(seed: int) -> None:
    errors = passes = 0
    for program in programs(seed, 120):
        found, known = tiers(program), answer(program)
        assert not (known.defined and "error" in found), program
        # The limits: the execution follows one assignment of arrivals to phases, and does not look for schedules in
        # which a phase passes by unnoticed.
        if known.orderly and known.results != 1:
            assert found & {"error", "likely", "reading"}, program
        errors += "error" in found
        passes += known.defined
    assert errors > 20 and passes > 10
