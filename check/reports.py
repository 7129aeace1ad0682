"""Reports of `ptxmma check`: as text, as JSON, as GitHub annotations.

Each says which files could not be read: a report without findings is no pass where something was not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..spec.api import load
from ..spec.editions import brief
from ..spec.quantities import counted
from .check_file import FileReport
from .findings import EVERYWHERE, TIERS, Finding
from .readings import shown as shown_readings

if TYPE_CHECKING:
    from .baseline import AcceptedFinding

__all__ = ["CLAIM", "CheckReport", "as_github", "as_text", "dump"]

CLAIM = (
    "These are claims about the PTX as given: "
    "the fault may be the compiler's, and ptxas may or may not repair it."
)


class CheckReport(NamedTuple):
    """The answer of one `ptxmma check`: a report a file, and what is stale in the baseline.

    `stale` holds a path and an entry; the entry is None where the path names no file any more.
    """

    files: tuple[FileReport, ...]
    baseline: str | None = None
    stale: tuple[tuple[str, AcceptedFinding | None], ...] = ()

    @property
    def counts(self) -> Counter[str]:
        """How many findings there are of each tier."""
        return Counter(finding.tier for report in self.files for finding in report.findings)

    @property
    def unreadable(self) -> int:
        """How many places could not be read; a file of which nothing was judged is one."""
        return sum(len(report.faults) for report in self.files)

    @property
    def stale_lines(self) -> Iterator[str]:
        """A sentence for each stale entry of the baseline."""
        for path, entry in self.stale:
            yield f"{path}: {'the file is gone' if entry is None else f'not found any more: {entry}'}"


def as_text(answer: CheckReport, shown: frozenset[str]) -> str:
    """Findings of the tiers `shown`, then one line of totals."""
    lines: list[str] = []
    reports = answer.files
    for report in reports:
        if report.error is None:  # else the command says so on standard error
            lines += [f"{fault.place}: unreadable: {fault.what}" for fault in report.faults]
        lines += [f"{place}: not judged: {what}" for place, what in report.remarks]
        for finding in report.findings:
            if finding.tier in shown:
                lines += _finding(finding)
    lines += [f"{answer.baseline}: stale: {line}" for line in answer.stale_lines]
    counts = answer.counts
    functions = sum(report.functions for report in reports)
    statements = sum(report.statements for report in reports)
    found = ", ".join(f"{counts[tier]} {tier}" for tier in TIERS)
    lines.append(
        f"{counted(len(reports), 'file')}, {counted(functions, 'function')}, {statements} statements: {found}"
    )
    suppressed = sum(len(report.suppressed) for report in reports)
    if suppressed:
        lines[-1] += f"; {suppressed} suppressed"
    unjudged = sum(one.statements for report in reports for one in report.not_judged)
    if unjudged:
        lines[-1] += f"; {unjudged} not judged"
    if answer.unreadable:
        lines[-1] += f"; {counted(answer.unreadable, 'place')} unreadable"
    if any(counts[tier] for tier in shown):
        lines.append(CLAIM)
    return "\n".join(lines)


def _finding(finding: Finding) -> Iterable[str]:
    section = f" ({brief(load().index, finding.section)})" if finding.section else ""
    yield f"{finding.place}: {finding.tier} {finding.rule}: {finding.message}{section}"
    yield f"  in {finding.function}" + (f"; and {finding.more} more like it" if finding.more else "")
    for moment in finding.witness:
        yield f"  line {moment.place.line}: {moment.statement}: {moment.says}"
    for number, schedule in enumerate(_parted(finding.schedules), 1):
        yield f"  schedule {number}: {'; '.join(schedule)}"
    if finding.readings != EVERYWHERE:
        yield f"  undefined under: {shown_readings(finding.readings)} (--reading settles it)"
    if finding.right:
        yield f"  right would be: {finding.right}"


def _parted(schedules: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Two schedules, from the step where they first differ to the step after which they agree again."""
    if len(schedules) != 2:
        return list(schedules)
    first, second = map(list, schedules)
    while first and second and first[0] == second[0]:
        del first[0], second[0]
    while first and second and first[-1] == second[-1]:
        del first[-1], second[-1]
    return [["…", *first], ["…", *second]]


def as_json(answer: CheckReport) -> dict[str, Any]:
    """Everything, all tiers."""
    return {
        "claim": CLAIM,
        "files": [
            {
                "file": report.name,
                "ptx": report.version,
                "target": report.target,
                "error": report.error,
                "functions": report.functions,
                "statements": report.statements,
                "unreadable": [
                    {"line": f.place.line, "column": f.place.column, "message": f.what} for f in report.faults
                ],
                "findings": [_as_dict(finding) for finding in report.findings],
                "suppressed": [
                    {"rule": s.finding.rule, "line": s.finding.place.line, "kind": s.kind}
                    for s in report.suppressed
                ],
                "not_judged": [
                    {
                        "instruction": one.instruction,
                        "statements": one.statements,
                        "line": one.place.line,
                        "column": one.place.column,
                        "why": one.why,
                    }
                    for one in report.not_judged
                ],
            }
            for report in answer.files
        ],
        "counts": {**{tier: answer.counts[tier] for tier in TIERS}, "unreadable": answer.unreadable},
        "baseline": None
        if answer.baseline is None
        else {
            "file": answer.baseline,
            "stale": [
                {
                    "file": path,
                    "rule": entry.rule if entry else None,
                    "function": entry.function if entry else None,
                    "statement": entry.statement if entry else None,
                    "count": entry.count if entry else None,
                }
                for path, entry in answer.stale
            ],
        },
    }


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "tier": finding.tier,
        "line": finding.place.line,
        "column": finding.place.column,
        "function": finding.function,
        "message": finding.message,
        "section": finding.section,
        "right": finding.right,
        "more": finding.more,
        "witness": [
            {"line": m.place.line, "column": m.place.column, "statement": m.statement, "says": m.says}
            for m in finding.witness
        ],
        "schedules": [list(schedule) for schedule in finding.schedules],
        "readings": [dict(settings) for settings in finding.readings],
        "ranges": [
            {
                "what": one.what,
                "variable": one.variable,
                "first": one.first,
                "last": one.last,
                "line": one.place.line,
                "from": one.known_from,
            }
            for one in finding.ranges
        ],
    }


def as_github(answer: CheckReport, shown: frozenset[str]) -> str:
    """Workflow commands, which GitHub shows as annotations of the file."""
    kinds = {"error": "error", "likely": "warning", "reading": "warning", "info": "notice"}
    lines = []
    for report in answer.files:
        for fault in report.faults:
            lines.append(
                _command(
                    "error", fault.place.file, fault.place.line, fault.place.column, fault.what, "unreadable"
                )
            )
        for place, what in report.remarks:
            lines.append(_command("notice", place.file, place.line, place.column, what, "not judged"))
        for finding in report.findings:
            if finding.tier in shown:
                place = finding.place
                lines.append(
                    _command(
                        kinds[finding.tier],
                        place.file,
                        place.line,
                        place.column,
                        finding.message,
                        finding.rule,
                    )
                )
    if answer.baseline is not None:
        for line in answer.stale_lines:
            lines.append(_command("notice", answer.baseline, 1, 1, line, "stale baseline"))
    return "\n".join(lines)


def _command(kind: str, file: str, line: int, column: int, message: str, title: str) -> str:
    def escape(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def escape_property(text: str) -> str:
        return escape(text).replace(":", "%3A").replace(",", "%2C")

    where = f"file={escape_property(file)},line={line},col={column}"
    return f"::{kind} {where},title=ptxmma {escape_property(title)}::{escape(message)}"


def dump(answer: CheckReport) -> str:
    """The JSON text."""
    import json  # slow to import, and text needs none

    return json.dumps(as_json(answer), indent=1)
