"""Questions that are asked at once get the answers that each of them gets by itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ptxmma.formal import prove as proving
from ptxmma.formal.catalogue import GROUPS, SMALL, STATEMENTS
from ptxmma.formal.prove import prove
from ptxmma.formal.smt.joint import ask_together, logic_of
from ptxmma.formal.smt.obligations import by_cases, refuting
from ptxmma.formal.smt.solvers import SOLVERS, SolverAnswer, ask
from ptxmma.formal.smt.terms import ULE, ULT, And, BitVec, BitVecVal, Bool, Int, LShR, Not, Or, Term, narrowed
from ptxmma.spec.specification import Specification

N, WIDE, SPACED = BitVec("n", 4), BitVec("n", 8), BitVec("version number", 4)
FALSE = [
    refuting(ULT(N, 3), ULT(BitVecVal(7, 4), N)),
    refuting(WIDE & 1 == 1, WIDE << 7 == 0),  # the same name, of another sort
    refuting(Bool("n"), Not(Bool("n"))),
    narrowed(refuting(SPACED == 2), SPACED == 3),  # two assertions; a name in bars
    refuting(False),  # no constants
]
TRUE = [
    refuting(ULT(N, 3), ULE(BitVecVal(2, 4), N)),
    refuting(WIDE == 200),
    refuting(N == 9, SPACED == 4),
    narrowed(refuting(Or(SPACED == 2, SPACED == 3)), SPACED == 3),
    refuting(True),
]
VALUES: list[Mapping[str, int]] = [{"n": 2}, {"n": 200}, {"n": 9, "version number": 4}, {"version number": 3}]


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_none_has_is_said_of_each(solver: str) -> None:
    assert ask_together(solver, FALSE, "unsat", 20_000) == [SolverAnswer("unsat", {})] * len(FALSE)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", range(len(FALSE) + 1))
def test_one_counterexample_is_enough(solver: str, place: int) -> None:
    for true in TRUE:
        assert ask_together(solver, [*FALSE[:place], true, *FALSE[place:]], "unsat", 20_000) is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_each_has_an_example_of_its_own(solver: str) -> None:
    found = ask_together(solver, TRUE, "sat", 20_000)
    assert found is not None
    assert [answer.status for answer in found] == ["sat"] * len(TRUE)
    for values, answer in zip(VALUES, found, strict=False):
        assert answer.model == values
    for place in range(len(TRUE) + 1):
        for false in FALSE:
            assert ask_together(solver, [*TRUE[:place], false, *TRUE[place:]], "sat", 20_000) is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_integers_are_asked_about_alike(solver: str) -> None:
    x = Int("x")
    texts = [refuting(x > 2, x < 2 + k, logic="QF_LIA") for k in (1, 0, -4)]
    assert {logic_of(text) for text in texts} == {"(set-logic QF_LIA)"}
    assert ask_together(solver, texts, "unsat", 20_000) == [SolverAnswer("unsat", {})] * 3
    assert ask_together(solver, [*texts, refuting(x < -5, logic="QF_LIA")], "unsat", 20_000) is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_answer_says_nothing(solver: str) -> None:
    assert ask_together(solver, [FALSE[0], "(set-logic QF_BV)\n(assert (= x x))\n"], "unsat", 20_000) is None


def test_small_theorems_are_declared_and_asked_of_solvers() -> None:
    assert len(SMALL) > 30 and STATEMENTS.keys() > SMALL
    assert not [one for group in GROUPS for one in group.theorems if one.small and one.enumerated]


@pytest.mark.parametrize("solver", SOLVERS)
def test_together_and_alone_the_verdicts_are_the_same(
    specification: Specification, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    def verdicts() -> dict[tuple[str, str, str], str]:
        found = prove(specification, (solver,), concerning=lambda part: part.startswith("layout wgmma"))
        return {(r.part, r.obligation.theorem, r.obligation.digest): r.verdict for r in found}

    together = verdicts()
    assert set(together.values()) == {"proven"} and len(together) > 40
    monkeypatch.setattr(proving, "SMALL", frozenset())
    assert verdicts() == together


def _shifted(shift: Term, less: int) -> Term:
    """Zeros are not all that is shifted out of a byte whose lowest digits are zeros."""
    x = BitVec("x", 8)
    zeros = x & (BitVecVal(1, 8) << shift) - 1 == 0
    return And(zeros, LShR(x, shift) << shift - less != x)


@pytest.mark.parametrize("solver", SOLVERS)
def test_cases_are_all_of_the_formula(solver: str) -> None:
    shift = BitVec("shift", 8)
    for less, status in ((0, "unsat"), (1, "sat")):
        formula = _shifted(shift, less)
        assert ask(solver, refuting(by_cases(shift, 8, formula))).status == status
        assert ask(solver, refuting(ULT(shift, 8), formula)).status == status
    assert ask(solver, refuting(by_cases(shift, 5, shift == 4))).status == "sat"
    assert ask(solver, refuting(by_cases(shift, 4, shift == 4))).status == "unsat"
