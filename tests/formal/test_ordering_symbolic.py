"""The formulas of both ordering models against the models themselves, on programs drawn at random."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import z3

from ptxmma.formal.ordering.agreement import changing_values
from ptxmma.formal.ordering.alphabet import ACCESSES, END, alphabet
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import Program
from ptxmma.formal.ordering.schedules import differ
from ptxmma.formal.ordering.symbolic.axioms import SymbolicAxioms
from ptxmma.formal.ordering.symbolic.program import SymbolicProgram
from ptxmma.formal.ordering.symbolic.questions import memory_formulas, ordering_obligations, register_formulas
from ptxmma.formal.ordering.verdicts import judge
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.smt.terms import And, BoolVal, Or, Term, script
from ptxmma.spec.ordering import Ordering, ordering
from ptxmma.spec.switches import Conduct

pytestmark = pytest.mark.slow

EVERY = ordering().every()


def conduct(**changes: Any) -> Conduct:
    """The default conduct of the machine, with some fields otherwise."""
    return replace(ordering().conduct(), **changes)


def drawn(seed: int, length: int) -> Program:
    """A program that begins and ends with an access."""
    source = random.Random(seed)
    letters = alphabet()
    accesses = [letter for letter in letters if isinstance(letter.operation, ACCESSES)]
    last = [*accesses, END]
    between = [letter for letter in letters if not isinstance(letter.operation, ACCESSES)]
    middle = [source.choice(between) for _ in range(length - 2)]
    return Program((source.choice(accesses), *middle, source.choice(last)))


def read(formula: Term) -> z3.BoolRef:
    """The formula as z3 reads it."""
    return z3.parse_smt2_string(script([formula], "QF_BV"))[0]


def _valued(name: str, value: Term) -> tuple[z3.ExprRef, z3.ExprRef]:
    """A constant of z3, and its value."""
    if value.sort == 0:
        return z3.Bool(name), z3.BoolVal(str(value) == "true")
    number = int(str(value).split()[1].removeprefix("bv"))
    return z3.BitVec(name, value.sort), z3.BitVecVal(number, value.sort)


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "proxy-fence-side=either",
        "wait-scope=warpgroup",
        "empty-groups=skip",
        "unwaited-store=must",
    ],
)
def test_the_formulas_say_what_the_models_say(name: str) -> None:
    readings, length = EVERY[name], 5
    symbols = SymbolicProgram(length)
    found = register_formulas(symbols, readings), memory_formulas(symbols, readings)
    given = read(And(*(one.premise for one in found)))
    hazard = read(Or(*(one.hazard for one in found)))
    swapped = read(Or(*(one.overtaken for one in found)))
    kinds = set()
    for seed in range(150):
        program = drawn(seed, length)
        spelled = {str(constant): value for constant, value in symbols.spelling(program).items()}
        spelled["empty_groups_count"] = BoolVal(readings["empty-groups"] == "count")
        spelled["block_lasts"] = BoolVal(readings["unwaited-store"] == "free")

        def holds(formula: z3.BoolRef, spelled: dict[str, Term] = spelled) -> bool:
            values = [_valued(name, value) for name, value in spelled.items()]
            return bool(z3.is_true(z3.simplify(z3.substitute(formula, *values))))

        broken = changing_values(hazards(program, readings))
        between = [hazard for hazard in broken if hazard.steps == (0, length - 1)]
        assert holds(given)
        assert holds(hazard) == bool(between), str(program)
        if len(between) == len(broken):
            assert holds(swapped) == (differ(program, ordering().conduct(readings)) is not None), str(program)
            kinds.add(bool(between))
    assert kinds == {False, True}


@pytest.mark.parametrize("name", EVERY)
def test_no_short_program_tells_the_models_apart(name: str) -> None:
    asked = list(ordering_obligations(name, EVERY[name], 4))
    assert len(asked) == 9
    for obligation in asked:
        for solver in ("z3", "cvc5"):
            assert ask(solver, obligation.smt, 60_000).status == "unsat", obligation.subject


def test_a_machine_that_reads_otherwise_is_told_apart() -> None:
    symbols = SymbolicProgram(6)
    one, other = (register_formulas(symbols, EVERY[name]) for name in ("default", "empty-groups=skip"))
    answer = ask("z3", refuting(one.premise, one.hazard != other.overtaken))
    assert answer.status == "sat"
    found = symbols.program(answer.model)
    assert sum(str(step) == "commit" for step in found.steps) >= 2  # an empty group is what they differ about


@pytest.mark.parametrize(
    ("relation", "about"),
    [
        ("fenced", "registers"),
        ("visible_to_async_proxy", "shared memory"),
        ("ordered_in_all_warps", "shared memory"),
        ("complete", "registers"),
    ],
)
def test_an_axiom_that_always_holds_is_told_apart(
    relation: str, about: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SymbolicAxioms, relation, lambda *_: BoolVal(True))
    asked = ordering_obligations("default", EVERY["default"], 5, (about,))
    assert "sat" in {ask("z3", obligation.smt, 60_000).status for obligation in asked}


MACHINES = [
    (conduct(same_shape=("n", "k", "types")), "registers", 3),
    (conduct(fence_orders_shapes=True), "registers", 3),
    (conduct(empty_groups_count=False), "registers", 6),
    (conduct(proxy_fence_covers_all=True), "shared memory", 5),
    (conduct(wait_covers_all=True), "shared memory", 5),
]


@pytest.mark.parametrize(("machine", "about", "length"), MACHINES, ids=str)
def test_a_machine_that_behaves_otherwise_is_told_apart(
    machine: Conduct, about: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ordering, "conduct", lambda *_: machine)
    asked = list(ordering_obligations("default", EVERY["default"], length, (about,)))
    answers = [ask("z3", obligation.smt, 60_000) for obligation in asked]
    found = [
        obligation.explain(answer.model)
        for obligation, answer in zip(asked, answers, strict=True)
        if answer.status == "sat"
    ]
    assert found
    assert all(text.startswith("the models disagree about: ") for text in found)


# What the solvers found, that enumerating short programs had not: (reading, program, rules).
FOUND = [
    (
        {"wait-scope": "warpgroup"},
        [
            "mma m64n8k16.f32.f16.f16 r0 s3 s3",
            "commit",
            "wait 0",
            "bulk s2 b3",
            "other: await b3",
            "other: store s3",
        ],
        ("first-fence",),
    ),
    (
        {"proxy-fence-side": "either"},
        ["other: store s2", "barrier", "proxy-fence", "bulk s2 b1", "other: await b1", "other: bulk s2 b2"],
        (),
    ),
    (
        {"proxy-fence-side": "either"},
        ["store s3", "barrier", "proxy-fence", "bulk s2 b3", "other: await b3", "other: bulk s3 b0"],
        (),
    ),
]


@pytest.mark.parametrize(("chosen", "program", "rules"), FOUND)
def test_what_one_warp_waited_or_fenced_for_all_may_be_told_by_its_copy(
    chosen: dict[str, str], program: list[str], rules: tuple[str, ...]
) -> None:
    verdict = judge(parse(program), ordering().readings(chosen))
    assert (verdict.rules, verdict.disagreement) == (rules, None)
