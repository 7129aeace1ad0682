"""What `ptxmma check` finds in an editor's text: places from 0 in characters, how grave, and the right."""

from __future__ import annotations

from dataclasses import dataclass

from ...check.check_file import FileReport, check_text
from ...check.cuda.check_source import check_source
from ...check.findings import ERROR, INFO, LIKELY
from ...check.kernel_names import readable
from ...check.ptx.source import UnreadableFile
from ...check.rules import rules
from ...spec.errors import Place, Question
from .documents import EditorText

__all__ = ["EditorDiagnostic", "diagnostics"]


@dataclass(frozen=True)
class EditorDiagnostic:
    """A finding as editors show it; `grave` is error, warning or information."""

    line: int
    begin: int
    end: int
    grave: str
    code: str
    message: str
    address: str = ""


def diagnostics(document: EditorText) -> list[EditorDiagnostic]:
    """Every finding; of a text that cannot be read, why."""
    try:
        report = _report(document)
    except UnreadableFile as error:
        return [_at(document, error.place, "error", "unreadable", str(error))]
    except Question as error:
        return [_at(document, Place(document.name, 1, 1), "error", "unreadable", str(error))]
    known = rules()
    found = [
        _at(
            document,
            finding.place,
            _grave(finding.tier),
            finding.rule,
            readable(finding.message) + (f"; right would be: {finding.right}" if finding.right else ""),
            known[finding.rule].address if finding.rule in known else "",
        )
        for finding in report.faults_told
    ]
    return found + [_at(document, fault.place, "error", "unread", fault.what) for fault in report.faults]


def _report(document: EditorText) -> FileReport:
    if document.is_cuda:
        return check_source(document.text, document.name)
    return check_text(document.text, document.name)


def _grave(tier: str) -> str:
    if tier == ERROR:
        return "error"
    return "warning" if tier == LIKELY else "information" if tier != INFO else "hint"


def _at(
    document: EditorText, place: Place, grave: str, code: str, message: str, address: str = ""
) -> EditorDiagnostic:
    """To the end of the mnemonic there, or else of the line."""
    line, begin = place.line - 1, place.column - 1
    lines = document.lines
    word = document.mnemonic_at(line, begin)
    end = word.end if word else len(lines[line]) if line < len(lines) else begin
    return EditorDiagnostic(line, begin, max(end, begin), grave, code, message, address)
