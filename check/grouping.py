"""One finding for each fault, also where it stands in several instances of a kernel or at one source line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace

from .findings import Finding, Instance
from .kernel_names import template_of

__all__ = ["grouped"]


def grouped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each fault once: the first one has the other places.

    Where no source line is known, the findings of one function stay apart; the first of one instance goes
    with the first of another, and so on.
    """
    found: dict[Hashable, Finding] = {}
    times: Counter[Hashable] = Counter()
    for finding in findings:
        key = _key(finding)
        if not finding.source:
            times[key, finding.function] += 1
            key = key, times[key, finding.function]
        first = found.get(key)
        if first is None:
            found[key] = finding
            continue
        again = Instance(finding.place, finding.function)
        found[key] = replace(first, also=(*first.also, again, *finding.also), more=first.more + finding.more)
    return tuple(found.values())


def _key(finding: Finding) -> Hashable:
    """What findings about one fault have in common."""
    same = finding.rule, finding.tier, finding.readings
    if finding.source:
        return *same, finding.source
    steps = tuple(moment.statement for moment in finding.witness)
    return *same, template_of(finding.function), finding.code, steps
