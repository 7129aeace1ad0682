"""The checker against the two models of the ordering rules, on random programs.

A program of the models is printed as PTX and checked. What the checker calls an error must be undefined under
every reading, by the axioms and by the machine; what is undefined under every reading must not pass in silence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import EVERYWHERE
from ptxmma.check.readings import undefined
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import BulkCopy, MbarrierArrive, MbarrierWait, Program
from ptxmma.formal.ordering.schedules import differ
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.spec.ordering import ordering

MMA = "mma m64n8k16.f32.f16.f16 r0 s0 s0"
STEPS = (
    "store s0",
    "store s0",
    "other: store s0",
    "cp.async s0",
    "cp.async.commit",
    "cp.async.wait 0",
    "proxy-fence",
    "proxy-fence",
    "other: proxy-fence",
    "barrier",
    "barrier",
    "arrive b0",
    "await b0",
    "other: arrive b0",
    "other: await b0",
    "bulk s0 b1",
    "other: bulk s0 b1",
    "await b1",
    "other: await b1",
    MMA,
    MMA,
    "commit",
    "wait 0",
    "wait 1",
)
KINDS = {"copy-incomplete", "proxy-fence", "proxy-fence-copy", "shared-overwritten", "shared-unsynchronised"}


BULK_STEPS = (
    "store s0",
    "store s0",
    "other: store s0",
    "cp.async s0",
    "cp.async.commit",
    "cp.async.wait 0",
    "proxy-fence",
    "proxy-fence",
    "other: proxy-fence",
    "barrier",
    "barrier",
    "barrier",
    "bulk-store s0",
    "bulk-store s0",
    "other: bulk-store s0",
    "bulk.commit",
    "bulk.commit",
    "other: bulk.commit",
    "bulk.wait 0",
    "bulk.wait 0",
    "bulk.wait 1",
    "other: bulk.wait 0",
    "bulk s0 b1",
    "await b1",
)
UNWAITED = "bulk-store-unwaited"


def has_one_phase(program: Program) -> bool:
    """Whether every wait for an mbarrier stands behind all signals, and behind one at least, and no thread waits
    twice: PTX waits for a phase, a program of the models for every signal before.
    """
    waited: set[int] = set()
    waits: set[tuple[int, int]] = set()
    signalled: set[int] = set()
    for step in program.steps:
        operation = step.operation
        if isinstance(operation, MbarrierWait):
            if operation.barrier not in signalled or (step.thread, operation.barrier) in waits:
                return False
            waits.add((step.thread, operation.barrier))
            waited.add(operation.barrier)
        elif isinstance(operation, (MbarrierArrive, BulkCopy)):
            if operation.barrier in waited:
                return False
            signalled.add(operation.barrier)
    return True


def programs(seed: int, count: int) -> Iterator[Program]:
    """Programs of the memory rules: a fence, random steps, a product at the end."""
    source = random.Random(seed)
    while count:
        words = ["fence", *source.choices(STEPS, k=source.randrange(2, 8)), MMA]
        program = parse("; ".join(words))
        if has_one_phase(program):
            count -= 1
            yield program


def bulk_programs(seed: int, count: int) -> Iterator[Program]:
    """Programs with bulk stores, to the end of the block."""
    source = random.Random(seed)
    while count:
        words = [*source.choices(BULK_STEPS, k=source.randrange(3, 10)), "end"]
        program = parse("; ".join(words))
        if has_one_phase(program) and "bulk-store" in str(program):
            count -= 1
            yield program


def by_models(program: Program) -> tuple[set[str], set[str]]:
    """The rules on values that a program breaks: under every reading, and under some."""
    rules = ordering().rules
    always: set[str] = set()
    sometimes: set[str] = set()
    for end in range(1, len(program) + 1):
        for rule, readings in undefined(Program(program.steps[:end])).items():
            if rules[rule].effect == "values":
                (always if readings == EVERYWHERE else sometimes).add(rule)
    return always, sometimes


def by_checker(program: Program) -> dict[str, set[str]]:
    """The rules that the checker finds broken, by tier."""
    found: dict[str, set[str]] = {}
    for finding in check_text(module([LitmusKernel("k", (), program)]), "k.ptx").findings:
        found.setdefault(finding.tier, set()).add(finding.rule)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_an_error_is_undefined_by_both_models(seed: int) -> None:
    conducts = {ordering().conduct(readings) for readings in ordering().every().values()}
    errors = 0
    for program in programs(seed, 150):
        if by_checker(program).get("error"):
            errors += 1
            assert by_models(program)[0], program
            if errors <= 5:
                assert all(differ(program, conduct) for conduct in conducts), program
    assert errors > 10


@pytest.mark.parametrize("seed", range(4, 8))
def test_what_is_undefined_is_no_silent_pass(seed: int) -> None:
    undefined_ones = 0
    for program in programs(seed, 150):
        if by_models(program)[0] & KINDS:
            undefined_ones += 1
            assert by_checker(program).keys() & {"error", "likely", "reading"}, program
    assert undefined_ones > 20


@pytest.mark.parametrize("seed", range(4))
def test_bulk_stores(seed: int) -> None:
    """An error is undefined by both models, and what is undefined under every reading is no silent pass."""
    conducts = {ordering().conduct(readings) for readings in ordering().every().values()}
    errors = undefined_ones = 0
    for program in bulk_programs(seed, 60):
        found, always = by_checker(program), by_models(program)[0]
        assert bool(found.get("error")) <= bool(always), program
        if found.get("error"):
            errors += 1
            if errors <= 5:  # without its end, behind which no memory is left to differ
                assert all(differ(program.without(len(program) - 1), conduct) for conduct in conducts), (
                    program
                )
        if always:
            undefined_ones += 1
            said = {rule for tier in ("error", "likely", "reading") for rule in found.get(tier, ())}
            assert said - {UNWAITED}, program
    assert errors > 20
    assert undefined_ones > 20


@pytest.mark.parametrize("seed", (4, 5, 6))
def test_the_end_of_a_block(seed: int) -> None:
    """The checker tells of a kernel that may end before its bulk stores have read, exactly where both models do."""
    must = ordering().conduct(ordering().readings({"unwaited-store": "must"}))
    seen = set()
    for program in bulk_programs(seed, 80):
        always, sometimes = by_models(program)
        assert UNWAITED not in always, program
        assert (UNWAITED in sometimes) == (UNWAITED in by_checker(program).get("reading", set())), program
        seen.add(UNWAITED in sometimes)
        if not always:  # no other hazard: the machine differs at the end, or never
            assert (differ(program, must) is not None) == (UNWAITED in sometimes), program
            assert differ(program) is None, program
    assert seen == {False, True}


def test_a_store_that_may_come_last_needs_its_own_fence() -> None:
    """Nothing orders the two stores, and only one of their threads executes a proxy fence."""
    program = parse(f"fence; barrier; store s0; other: store s0; proxy-fence; barrier; {MMA}")
    assert "proxy-fence" in by_models(program)[0]
    assert "proxy-fence" in by_checker(program)["error"]
    fenced = parse(
        f"fence; barrier; store s0; other: store s0; proxy-fence; other: proxy-fence; barrier; {MMA}"
    )
    assert "proxy-fence" not in by_checker(fenced).get("error", set())
