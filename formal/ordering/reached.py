"""Which rules and which settings the litmus tests of a bounded length reach, by the axioms."""

from __future__ import annotations

from collections import Counter

from ...spec.ordering import litmus_tests, ordering, synthesised_tests
from .programs import Program, parse
from .verdicts import rules

__all__ = ["reached"]


def reached(bound: int) -> tuple[Counter[str], Counter[str]]:
    """By rule the tests of at most so many steps that break it under some reading; by reading other than
    the default those that break other rules under it."""
    every = ordering().every()
    by_rule: Counter[str] = Counter(dict.fromkeys(ordering().rules, 0))
    by_reading: Counter[str] = Counter({name: 0 for name in every if name != "default"})
    for program in _programs(bound):
        usual = rules(program, every["default"])
        broken = set(usual)
        for name in by_reading:
            found = rules(program, every[name])
            by_reading[name] += set(found) != set(usual)
            broken |= set(found)
        by_rule.update(broken)
    return by_rule, by_reading


def _programs(bound: int) -> list[Program]:
    texts = [test.program for test in litmus_tests().values()]
    found = [parse(text) for text in (*texts, *(test.program for test in synthesised_tests().values()))]
    return [program for program in found if len(program) <= bound]
