"""Reports of `ptxmma check`: as text, as JSON, as GitHub annotations.

Each says which files could not be read, so that nobody takes a file that was not judged for a right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ..spec.api import load
from ..spec.editions import brief
from ..spec.quantities import counted
from .check_file import FileReport
from .cuda.counts import InlineCounts, total
from .findings import EVERYWHERE, TIERS, Finding, MemoryRange
from .kernel_names import demangled, readable, shortened
from .readings import shown as shown_readings

if TYPE_CHECKING:
    from .baseline import AcceptedFinding

__all__ = ["CLAIM", "CheckReport", "as_github", "as_range", "as_text", "dump"]

_PLACES = 8  # other places of a fault that text names
CLAIM = (
    "These are claims about the PTX as given: "
    "the fault may be the compiler's, and ptxas may or may not repair it."
)
_INLINE_CLAIM = (
    "These are claims about the asm statements as written, whether or not a program instantiates them."
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
        return Counter(finding.tier for report in self.files for finding in report.faults_told)

    @property
    def inline(self) -> InlineCounts | None:
        """The statements in the inline assembly of CUDA sources; None where PTX was checked."""
        counts = [report.inline for report in self.files if report.inline is not None]
        return total(counts) if counts else None

    @property
    def claim(self) -> str:
        """What the findings are claims about."""
        return CLAIM if self.inline is None else _INLINE_CLAIM

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
        lines += [f"{place}: not judged: {readable(what)}" for place, what in report.remarks]
        for finding in report.faults_told:
            if finding.tier in shown:
                lines += _finding(finding)
    lines += [f"{answer.baseline}: stale: {line}" for line in answer.stale_lines]
    counts = answer.counts
    functions = sum(report.functions for report in reports)
    statements = sum(report.statements for report in reports)
    found = ", ".join(f"{counts[tier]} {tier}" for tier in TIERS)
    inline = answer.inline
    if inline is None:
        read = f"{counted(functions, 'function')}, {statements} statements: {found}"
    else:
        read = f"{inline}; {found}"
    lines.append(f"{counted(len(reports), 'file')}, {read}")
    suppressed = sum(len(report.suppressed) for report in reports)
    if suppressed:
        lines[-1] += f"; {suppressed} suppressed"
    unjudged = sum(one.statements for report in reports for one in report.not_judged)
    if unjudged and inline is None:
        lines[-1] += f"; {unjudged} not judged"
    if answer.unreadable:
        lines[-1] += f"; {counted(answer.unreadable, 'place')} unreadable"
    if any(counts[tier] for tier in shown):
        lines.append(answer.claim)
    return "\n".join(lines)


def _finding(finding: Finding) -> Iterable[str]:
    section = f" ({brief(load().index, finding.section)})" if finding.section else ""
    yield f"{finding.place}: {finding.tier} {finding.rule}: {readable(finding.message)}{section}"
    more = f"and {finding.more} more like it" if finding.more else ""
    where = f"in {shortened(demangled(finding.function))}" if finding.function else ""
    if where or more:
        yield f"  {'; '.join(part for part in (where, more) if part)}"
    if finding.source:
        yield f"  source: {finding.source}"
    if finding.also:
        yield f"  also {_elsewhere(finding)}"
    for moment in finding.witness:
        yield f"  line {moment.place.line}: {moment.statement}: {moment.says}"
    yield from _side_by_side(_parted(finding.schedules))
    if finding.readings != EVERYWHERE:
        yield f"  undefined under: {shown_readings(finding.readings)} (--reading settles it)"
    if finding.right:
        yield f"  right would be: {finding.right}"


def _elsewhere(finding: Finding) -> str:
    """The other places of a fault: how many, the first lines, and in how many functions."""
    lines = [str(one.place.line) for one in finding.also]
    shown = ", ".join(lines[:_PLACES]) + (", …" if len(lines) > _PLACES else "")
    functions = len({one.function for one in finding.also} | {finding.function})
    where = f"in {counted(len(lines), 'other place')}: line{'s' if len(lines) > 1 else ''} {shown}"
    return where + (f"; {functions} functions in all" if functions > 1 else "")


def _side_by_side(schedules: Sequence[Sequence[str]]) -> Iterator[str]:
    """Two schedules beside each other, one step a line; any other number one after another."""
    if len(schedules) != 2:
        for number, schedule in enumerate(schedules, 1):
            yield f"  schedule {number}:"
            yield from (f"    {step}" for step in schedule)
        return
    left, right = ([f"schedule {number}:", *steps] for number, steps in enumerate(schedules, 1))
    width = max(map(len, left))
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"  {one:<{width}}  | {other}"


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
        "claim": answer.claim,
        "files": [
            {
                "file": report.name,
                "ptx": report.version,
                "target": report.target,
                "error": report.error,
                "functions": report.functions,
                "statements": report.statements,
                "inline": None if report.inline is None else _inline_json(report.inline),
                "unreadable": [
                    {"line": f.place.line, "column": f.place.column, "message": f.what} for f in report.faults
                ],
                "findings": [_as_dict(finding, report.path) for finding in report.faults_told],
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


def _inline_json(counts: InlineCounts) -> dict[str, int]:
    """The counts of a CUDA source."""
    return {
        "asm": counts.asm,
        "legal": counts.legal,
        "illegal": counts.illegal,
        "with_holes": counts.holed,
        "not_judged": counts.unjudged,
        "not_compiled": counts.left_out,
    }


def _as_dict(finding: Finding, path: str) -> dict[str, Any]:
    from .baseline import fingerprint  # text needs none
    from .rules import rules

    return {
        "rule": finding.rule,
        "tier": finding.tier,
        "line": finding.place.line,
        "column": finding.place.column,
        "function": finding.function,
        "name": demangled(finding.function),
        "source": finding.source or None,
        "also": [
            {"line": one.place.line, "column": one.place.column, "function": one.function}
            for one in finding.also
        ],
        "message": finding.message,
        "section": finding.section,
        "address": rules()[finding.rule].address,
        "right": finding.right,
        "more": finding.more,
        "witness": [
            {"line": m.place.line, "column": m.place.column, "statement": m.statement, "says": m.says}
            for m in finding.witness
        ],
        "schedules": [list(schedule) for schedule in finding.schedules],
        "readings": [dict(settings) for settings in finding.readings],
        "ranges": [as_range(one) for one in finding.ranges],
        "fingerprint": fingerprint(path, finding),
    }


def as_range(found: MemoryRange) -> dict[str, str | int]:
    """Bytes that meet, as JSON and SARIF have them."""
    return {
        "what": found.what,
        "variable": found.variable,
        "first": found.first,
        "last": found.last,
        "line": found.place.line,
        "from": found.known_from,
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
            said = readable(what)
            lines.append(_command("notice", place.file, place.line, place.column, said, "not judged"))
        for finding in report.faults_told:
            if finding.tier in shown:
                place = finding.place
                lines.append(
                    _command(
                        kinds[finding.tier],
                        place.file,
                        place.line,
                        place.column,
                        readable(finding.message),
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
