"""The rules as formulas: they say what the axioms say; each is needed; the strict settings are the strictest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest
import z3

from ptxmma.formal.ordering.alphabet import END, alphabet
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.formal.ordering.programs import Mma, Program, Step
from ptxmma.formal.ordering.symbolic.axioms import SymbolicAxioms
from ptxmma.formal.ordering.symbolic.program import SymbolicProgram
from ptxmma.formal.ordering.symbolic.rule_questions import (
    FIRST_FENCE,
    rule_obligations,
    strict_obligations,
)
from ptxmma.formal.ordering.symbolic.rules import RuleFormulas
from ptxmma.formal.smt.obligations import Obligation
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.smt.terms import BoolVal, Term, script
from ptxmma.spec.ordering import Ordering, ordering
from ptxmma.spec.ordering_records import Rule

ORDERING = "ptxmma.formal.ordering.symbolic.rule_questions.ordering"
LENGTH = 5


def refuted(obligations: Iterator[Obligation]) -> dict[str, str]:
    """By subject of a refuted theorem, what is said of it."""
    found = {}
    for obligation in obligations:
        answer = ask("z3", obligation.smt, 60_000)
        assert answer.status != "unknown"
        if answer.status != obligation.expects:
            found[f"{obligation.theorem}: {obligation.subject}"] = obligation.explain(answer.model)
    return found


def with_rules(rules: Mapping[str, Rule]) -> Callable[[], Ordering]:
    return lambda: replace(ordering(), rules=rules)


VALUES = [name for name, rule in ordering().rules.items() if rule.effect == "values" and name != FIRST_FENCE]
TEXT = [name for name, rule in ordering().rules.items() if rule.effect == "text"]


@pytest.mark.parametrize("name", ordering().rules)
def test_a_rule_that_is_gone_is_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left = {other: rule for other, rule in ordering().rules.items() if other != name}
    monkeypatch.setattr(ORDERING, with_rules(left))
    found = refuted(rule_obligations(LENGTH))
    assert found.pop(f"ordering.broken: {name}") == (
        f"spec/ordering/rules.yaml: the models name the rule {name}, which is not there"
    )
    # The rules on values say all that the axioms forbid, so one less leaves a program that no rule explains.
    assert bool(found) == (name in VALUES)
    assert all("the rules and the axioms disagree about: " in said for said in found.values())


@pytest.mark.parametrize("name", [*VALUES, *TEXT])
def test_a_rule_of_another_effect_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ordering().rules
    other = replace(rules[name], effect="text" if name in VALUES else "values")
    monkeypatch.setattr(ORDERING, with_rules({**rules, name: other}))
    assert refuted(rule_obligations(LENGTH))


def settings() -> Iterator[tuple[str, str]]:
    for name, switch in ordering().switches.items():
        for setting in switch.settings:
            if setting != switch.strict:
                yield name, setting


@pytest.mark.parametrize(("name", "setting"), list(settings()))
def test_a_setting_that_is_not_the_strictest_is_refuted(
    name: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = ordering()
    wrong = replace(rules.switches[name], strict=setting)
    monkeypatch.setattr(ORDERING, lambda: replace(rules, switches={**rules.switches, name: wrong}))
    found = refuted(strict_obligations(LENGTH))
    assert found
    for said in found.values():
        assert (
            said.startswith("spec/ordering/switches.yaml:")
            and f"{name}={rules.strict[name]} has the hazard" in said
        )


def test_every_hazard_is_one_under_the_strict_settings() -> None:
    assert refuted(strict_obligations(LENGTH)) == {}
    assert refuted(rule_obligations(LENGTH)) == {}


def valued(name: str, value: Term) -> tuple[z3.ExprRef, z3.ExprRef]:
    if value.sort == 0:
        return z3.Bool(name), z3.BoolVal(str(value) == "true")
    return z3.BitVec(name, value.sort), z3.BitVecVal(
        int(str(value).split()[1].removeprefix("bv")), value.sort
    )


@pytest.mark.parametrize("reading", ["default", "strict", "wait-scope=warpgroup", "same-shape=m-n"])
def test_the_formulas_say_what_the_axioms_say(reading: str) -> None:
    readings = ordering().every()[reading]
    every = {
        **readings,
        **{switch: s for rule in ordering().rules.values() for switch, s in rule.under.items()},
    }
    symbols = SymbolicProgram(LENGTH)
    counts, lasts = BoolVal(every["empty-groups"] == "count"), BoolVal(every["unwaited-store"] == "free")
    formulas = RuleFormulas(SymbolicAxioms(symbols, every, counts, lasts), every)
    broken = {**formulas.of_registers(0, LENGTH - 1), **formulas.of_memory(0, LENGTH - 1)}
    assert set(broken) == set(ordering().rules) - {FIRST_FENCE}
    # One formula of all, which share most of their parts: z3 puts the values in once.
    read = [z3.parse_smt2_string(script([term], "QF_BV"))[0] for term in broken.values()]
    together = z3.Function("all", *([z3.BoolSort()] * len(read)), z3.BoolSort())(*read)
    letters, source, seen = alphabet(), random.Random(reading), set()
    mmas = [letter for letter in letters if isinstance(letter.operation, Mma)]
    for _ in range(250):
        steps = [source.choice(letters) for _ in range(LENGTH)]
        if source.random() < 0.7:
            steps[0] = source.choice(mmas)
        if source.random() < 0.2:
            steps[-1] = END
        program = Program(tuple[Step, ...](steps))
        values = [valued(str(c), value) for c, value in symbols.spelling(program).items()]
        answers = z3.simplify(z3.substitute(together, *values)).children()
        said = {name for name, answer in zip(broken, answers, strict=True) if z3.is_true(answer)}
        ends = {h.rule for h in hazards(program, every) if {h.steps[0], h.steps[-1]} == {0, LENGTH - 1}}
        assert said == ends, str(program)
        seen |= said
    assert len(seen) >= 8
