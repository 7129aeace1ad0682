"""`ptxmma litmus --phases`: what both models of barriers with phases say of their litmus tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..spec.errors import Question
from ..spec.naming import like

if TYPE_CHECKING:
    from ..formal.ordering.phases.phase_agreement import PhaseVerdict
    from ..gen.litmus.phase_tests import PhaseLitmus

__all__ = ["phase_verdicts"]


def phase_verdicts(pattern: str | None, form: str) -> int:
    """Print the verdicts; exit code 0: each is as expected and both models agree, 1: otherwise."""
    from ..formal.ordering.phases.phase_agreement import judge_phases
    from ..gen.litmus.phase_tests import phase_suite

    tests = [test for test in phase_suite() if test.name == pattern]
    tests = tests or [
        test for test in phase_suite() if not pattern or like(pattern, test.name, *test.hazards)
    ]
    if not tests:
        raise Question(f"no litmus test of phases matches {pattern!r}; `ptxmma litmus --phases` lists them")
    results = [(test, judge_phases(test.program)) for test in tests]
    wrong = sum(_wrong(*result) is not None for result in results)
    if form == "json":
        print(json.dumps([_record(*result) for result in results], indent=1))
    elif len(results) == 1:
        print("\n".join(_in_full(*results[0])))
    else:
        for test, verdict in results:
            said = _wrong(test, verdict)
            print(f"{'WRONG' if said else 'ok':<5} {test.name}: {said or _named(test.hazards)}")
        undefined = sum(bool(test.hazards) for test in tests)
        defined = len(tests) - undefined
        print(f"{len(tests)} tests, {undefined} undefined and {defined} defined; {wrong} not as expected")
    return 1 if wrong else 0


def _wrong(test: PhaseLitmus, verdict: PhaseVerdict) -> str | None:
    if verdict.rules != test.hazards:
        return f"expected {_named(test.hazards)}, found {_named(verdict.rules)}"
    return verdict.disagreement


def _named(rules: tuple[str, ...]) -> str:
    return ", ".join(rules) or "defined"


def _in_full(test: PhaseLitmus, verdict: PhaseVerdict) -> list[str]:
    from ..spec.api import load
    from ..spec.editions import note
    from ..spec.ordering import ordering, phases

    own, others = phases().rules, ordering().rules
    lines = [
        f"{test.name}: {test.title}",
        f"source: {test.source}",
        "",
        *(f"  {line}" for line in test.lines),
    ]
    lines += ["", f"verdict: {'undefined' if test.hazards else 'defined'}: {test.why}"]
    for rule in verdict.rules:
        known = own.get(rule) or others[rule]
        lines.append(f"{rule}: {known.title} ({known.section})")
        found = (hazard for hazard in verdict.hazards if hazard.rule == rule)
        shown = dict.fromkeys(_steps(test, hazard.steps) for hazard in found)
        lines += [f"  {steps}" for steps in shown]
    if said := _wrong(test, verdict):
        lines.append(f"WRONG: {said}")
    return [*lines, note(load().index)]


def _steps(test: PhaseLitmus, steps: tuple[tuple[int, int], ...]) -> str:
    """Steps in words: the thread, the step's number and the step."""
    threads = test.program.threads
    return "; ".join(f"{test.names[thread]} {at}: {threads[thread][at]}" for thread, at in steps)


def _record(test: PhaseLitmus, verdict: PhaseVerdict) -> dict[str, Any]:
    return {
        "name": test.name,
        "title": test.title,
        "source": test.source,
        "why": test.why,
        "program": list(test.lines),
        "verdict": "undefined" if test.hazards else "defined",
        "expected": list(test.hazards),
        "hazards": [
            {"rule": hazard.rule, "steps": _steps(test, hazard.steps).split("; ")}
            for hazard in verdict.hazards
        ],
        "sections": list(test.sections),
        "wrong": _wrong(test, verdict),
    }
