"""Reports of `ptxmma check` as SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from ..spec.api import load
from ..spec.editions import brief
from ..spec.errors import Place
from .baseline import fingerprint
from .check_file import FileReport
from .findings import ERROR, EVERYWHERE, INFO, LIKELY, READING, Finding, Moment
from .kernel_names import demangled, readable
from .reports import CheckReport, as_range
from .rule_pages import help_text
from .rule_texts import CheckRule
from .rules import rules

__all__ = ["as_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {ERROR: "error", LIKELY: "warning", READING: "note", INFO: "note"}
_NOTIFICATIONS = {
    "unreadable": ("error", "text that could not be read, and was not judged"),
    "not-judged": ("note", "what there is no rule for"),
    "stale-baseline": ("note", "an entry of the baseline that nothing needs any more"),
}
_NEVER = -1  # the index of a rule that the driver does not list


def as_sarif(answer: CheckReport, shown: frozenset[str]) -> str:
    """The findings of the tiers `shown`; those that comments or a baseline suppress are marked.

    The driver lists every rule, found or not. A run in which something could not be read was not successful.
    """
    known = rules()
    order = {name: index for index, name in enumerate(known)}
    driver = {
        "name": "ptxmma",
        "version": _version(),
        "fullDescription": {"text": answer.claim},
        "rules": [_rule(rule) for rule in known.values()],
        "notifications": [
            {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
            for name, (level, text) in _NOTIFICATIONS.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [result for report in answer.files for result in _results(report, shown, order)],
        "invocations": [
            {
                "executionSuccessful": not answer.unreadable,
                "toolExecutionNotifications": list(_notifications(answer)),
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _version() -> str:
    try:
        return version("ptxmma")
    except PackageNotFoundError:
        return "0"


def _rule(rule: CheckRule) -> dict[str, Any]:
    section = f" ({brief(load().index, rule.section)})" if rule.section else ""
    return {
        "id": rule.name,
        "shortDescription": {"text": f"{rule.title[0].upper()}{rule.title[1:]}."},
        "fullDescription": {"text": f"{rule.says.removesuffix('.')}{section}."},
        "defaultConfiguration": {"level": _LEVELS[rule.tiers[0]]},
        "help": {"text": help_text(rule), "markdown": help_text(rule, markdown=True)},
        "helpUri": rule.address,
        "properties": {"tiers": list(rule.tiers)},
    }


def _notifications(answer: CheckReport) -> Iterator[dict[str, Any]]:
    for report in answer.files:
        for fault in report.faults:
            yield _notification("unreadable", fault.what, fault.place)
        for place, what in report.remarks:
            yield _notification("not-judged", what, place)
    if answer.baseline is not None:
        for line in answer.stale_lines:
            yield _notification("stale-baseline", line, Place(answer.baseline, 1, 1))


def _notification(name: str, what: str, place: Place) -> dict[str, Any]:
    return {
        "descriptor": {"id": name, "index": list(_NOTIFICATIONS).index(name)},
        "level": _NOTIFICATIONS[name][0],
        "message": {"text": readable(what)},
        "locations": [_location(place)],
    }


def _results(report: FileReport, shown: frozenset[str], order: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    times: Counter[str] = Counter()
    findings = (
        *((finding, None) for finding in report.faults_told),
        *((hidden.finding, hidden.kind) for hidden in report.suppressed if hidden.kind != "selection"),
    )
    for finding, suppressed in sorted(findings, key=lambda pair: pair[0].order):
        key = fingerprint(report.path, finding)
        times[key] += 1
        if finding.tier in shown:
            yield _result(finding, suppressed, order.get(finding.rule, _NEVER), f"{key}:{times[key]}")


def _result(finding: Finding, suppressed: str | None, index: int, key: str) -> dict[str, Any]:
    section = f" ({brief(load().index, finding.section)})" if finding.section else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.tier],
        "message": {"text": f"{readable(finding.message)}{section}"},
        "locations": [{**_location(finding.place), "logicalLocations": [_logical(finding.function)]}],
        "partialFingerprints": {"ptxmma/v2": key},
        "properties": {"tier": finding.tier, "more": finding.more, "right": finding.right},
    }
    if finding.source:
        result["properties"]["source"] = finding.source
    if finding.ranges:
        result["properties"]["ranges"] = [as_range(one) for one in finding.ranges]
    if finding.also:
        result["relatedLocations"] = [
            {**_location(one.place), "logicalLocations": [_logical(one.function)]} for one in finding.also
        ]
    if finding.readings != EVERYWHERE:
        result["properties"]["readings"] = [dict(settings) for settings in finding.readings]
    if finding.witness:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_step(m) for m in finding.witness]}]}]
    if suppressed:
        result["suppressions"] = [{"kind": suppressed}]
    return result


def _logical(function: str) -> Mapping[str, str]:
    return {"name": demangled(function), "decoratedName": function, "kind": "function"}


def _step(moment: Moment) -> dict[str, Any]:
    return {
        "location": {
            **_location(moment.place),
            "message": {"text": f"{moment.statement}: {moment.says}"},
        }
    }


def _location(place: Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": {"startLine": place.line, "startColumn": place.column},
        }
    }


def _uri(name: str) -> str:
    """A file as a URI: relative to the current folder where it lies in it, as code-scanning services want."""
    if os.path.isabs(name):
        inside = os.path.relpath(name)
        if inside.startswith(os.pardir):
            return f"file://{quote(name, errors='surrogateescape')}"
        name = inside
    elif not name.startswith("<"):
        name = os.path.normpath(name)
    return quote(name, errors="surrogateescape")
