"""The rules of `ptxmma check`: a page each, at the address that its findings name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...check.findings import TIERS
from ...check.rule_pages import published, suppression
from ...check.rules import rules
from ...gen.litmus.litmus_tests import SuiteLitmus, suite
from ...spec.editions import cited
from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered

__all__ = ["made"]

_SHOWN = 12  # litmus tests of a rule that its page names


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """A page for each rule, and the list of them."""
    index = atlas.specification.index
    tests = _tests()
    for name, rule in rules().items():
        body = rendered(
            "rule.html",
            rule=rule,
            section=cited(index, rule.section) if rule.section else "",
            tiers={tier: TIERS[tier] for tier in rule.tiers},
            published=published(rule),
            suppression=suppression(rule),
            tests=tests.get(name, [])[:_SHOWN],
            more=max(0, len(tests.get(name, [])) - _SHOWN),
        )
        title = f"{rule.title[0].upper()}{rule.title[1:]}"
        yield AtlasPage(f"rules/{name}.html", title, "Order", body, f"The rule {name} of ptxmma check.")
    yield AtlasPage(
        "rules.html",
        "What ptxmma check may find",
        "Order",
        rendered("rules.html", rules=rules(), tiers=TIERS),
        "A page for each rule, with an example each way and what to do.",
    )


def _tests() -> Mapping[str, list[SuiteLitmus]]:
    """The litmus tests that break each rule, those by hand first."""
    found: dict[str, list[SuiteLitmus]] = {}
    for test in suite():
        for rule in test.hazards:
            found.setdefault(rule, []).append(test)
    return found
