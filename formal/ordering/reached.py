"""How many short litmus tests break each rule, and notice each setting, by the axioms."""

from __future__ import annotations

from collections import Counter

from ...spec.ordering import litmus_tests, ordering, synthesised_tests
from .notation import parse
from .programs import Program
from .verdicts import rules

__all__ = ["reached"]


def reached(bound: int) -> tuple[Counter[str], Counter[str]]:
    """Count the litmus tests of at most `bound` steps: by rule, and by reading other than the default.

    A test counts for a rule that it breaks under some reading, and for a reading under which it breaks other
    rules than by default.
    """
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
