"""The order of asynchronous accesses: rules, readings, litmus tests and their schedules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...check.rules import rules as check_rules
from ...formal.ordering.verdicts import judge
from ...gen.litmus.litmus_tests import MAKER, SuiteLitmus, suite
from ...gen.litmus.phase_tests import phase_suite
from ...ledger.litmus_record import LitmusRecord, load_litmus_record
from ...spec.editions import cited, note
from ...spec.ordering import ordering, phases
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered

__all__ = ["made"]


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page, and the tests as data."""
    known, record = ordering(), load_litmus_record()
    index = atlas.specification.index
    tests = suite()
    body = rendered(
        "order.html",
        rules={name: (rule, cited(index, rule.section)) for name, rule in known.rules.items()},
        phase_rules={name: (rule, cited(index, rule.section)) for name, rule in phases().rules.items()},
        explained=frozenset(check_rules()),
        switches={name: (switch, cited(index, switch.section)) for name, switch in known.switches.items()},
        written=[test for test in tests if test.source != MAKER],
        count=len(tests) + len(phase_suite()),
        phases=phase_suite(),
        note=note(index),
    )
    yield AtlasPage(
        "order.html",
        "Is this order of accesses defined?",
        "Order",
        body,
        "Small programs, their verdicts under every reading of the text, and two schedules of each fault.",
        scripts=("schedules", "order"),
        data=("manual",),
    )
    titles = {name: [rule.title, rule.mend] for name, rule in known.rules.items()}
    yield data_file(
        "litmus",
        {
            "rules": titles,
            "releases": list(record.releases),
            "tests": {test.name: _test(test, record) for test in tests},
        },
    )


def _test(test: SuiteLitmus, record: LitmusRecord) -> dict[str, Any]:
    """A test as the page shows it; a line of its schedules is said once, and named by its number."""
    verdict = judge(test.program, ordering().default)
    events: dict[str, int] = {}
    schedules = [[events.setdefault(line, len(events)) for line in one] for one in verdict.schedules or ()]
    found = {
        "title": test.title,
        "source": test.source,
        "why": test.why,
        "steps": [str(step) for step in test.program.steps],
        "hazards": [[hazard.rule, list(hazard.steps)] for hazard in verdict.hazards],
        "under": {setting: list(rules) for setting, rules in test.under.items()},
        "events": list(events),
        "schedules": schedules,
        "ptxas": list(record.of(test).values()),
    }
    return {key: value for key, value in found.items() if value}
