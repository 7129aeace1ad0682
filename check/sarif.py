"""Reports of `ptxmma check` as SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..spec.api import load
from ..spec.editions import brief
from ..spec.errors import Place
from ..spec.ordering import ordering
from .check_file import FileReport
from .findings import ERROR, INFO, LIKELY, STRICT, Finding, Moment
from .reports import CLAIM
from .rules import rules
from .suppression import fingerprint

__all__ = ["as_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {ERROR: "error", LIKELY: "warning", STRICT: "note", INFO: "note"}


def as_sarif(reports: Sequence[FileReport], shown: frozenset[str]) -> str:
    """The findings of the tiers `shown`; those that comments or a baseline suppress are marked."""
    results: list[dict[str, Any]] = []
    rules: dict[str, dict[str, Any]] = {}
    notices: list[dict[str, Any]] = []
    for report in reports:
        for fault in report.faults:
            notices.append(
                {"level": "error", "message": {"text": fault.what}, "locations": [_location(fault.place)]}
            )
        for one in report.not_judged:
            notices.append(
                {
                    "level": "note",
                    "message": {"text": f"not judged: {one.message}"},
                    "locations": [_location(one.place)],
                }
            )
        for finding, why in (
            *((finding, None) for finding in report.findings),
            *((hidden.finding, hidden.kind) for hidden in report.suppressed),
        ):
            if finding.tier not in shown:
                continue
            rules.setdefault(finding.rule, _rule(finding))
            results.append(_result(finding, why, list(rules).index(finding.rule)))
    driver = {
        "name": "ptxmma",
        "version": _version(),
        "fullDescription": {"text": CLAIM},
        "rules": list(rules.values()),
    }
    readable = not any(report.faults for report in reports)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [{"executionSuccessful": readable, "toolExecutionNotifications": notices}],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _version() -> str:
    try:
        return version("ptxmma")
    except PackageNotFoundError:
        return "0"


def _rule(finding: Finding) -> dict[str, Any]:
    known = ordering().rules.get(finding.rule)
    short = rules().get(finding.rule, finding.rule)
    full = f"{known.says} ({brief(load().index, known.section)})" if known else finding.message
    return {
        "id": finding.rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "defaultConfiguration": {"level": _LEVELS[finding.tier]},
        **({"help": {"text": finding.right}} if finding.right else {}),
    }


def _result(finding: Finding, suppressed: str | None, index: int) -> dict[str, Any]:
    section = f" ({brief(load().index, finding.section)})" if finding.section else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.tier],
        "message": {"text": f"{finding.message}{section}"},
        "locations": [{**_location(finding.place), "logicalLocations": [_logical(finding.function)]}],
        "partialFingerprints": {"ptxmma/v1": fingerprint(finding)},
        "properties": {"tier": finding.tier, "more": finding.more},
    }
    if finding.witness:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_step(m) for m in finding.witness]}]}]
    if suppressed:
        result["suppressions"] = [{"kind": suppressed}]
    return result


def _logical(function: str) -> Mapping[str, str]:
    return {"name": function, "kind": "function"}


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
    from urllib.parse import quote

    return quote(name.replace("\\", "/"), errors="surrogateescape")
