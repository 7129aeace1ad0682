"""ptxmma check: check whole PTX files, or the inline assembly of CUDA sources, against the specification."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..check.findings import ERROR, INFO, LIKELY, READING, Finding
from ..check.ptx.source import UnreadableFile
from ..check.readings import chosen_readings
from ..check.rules import chosen, named_rules
from ..check.suppression import Suppressed
from ..spec.api import load
from ..spec.collector import uncollected
from ..spec.errors import Place, Question
from ..spec.writing import write_file
from .check_files import CUDA, PTX, STDIN, AskedFile, Exclusion, asked_files, text_of
from .check_settings import CheckSettings, read_settings
from .options import add_scheduler

if TYPE_CHECKING:
    from ..check.baseline import AcceptedFinding, AcceptedFindings
    from ..check.check_file import FileReport
    from ..check.reports import CheckReport

__all__ = ["add"]

_LARGE = 1 << 20  # bytes of PTX above which another process saves time


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="PTX files, folders (every *.ptx below), quoted patterns ('build/**/*.ptx'), - (standard input)",
    )
    parser.add_argument(
        "--cuda",
        action="store_true",
        help="the files are CUDA C++ (in folders every *.cu, *.cuh, *.h, *.hpp, *.inl): check their inline "
        "assembly, for what the #if around it admits, or for --ptx and --target",
    )
    parser.add_argument("--ptx", metavar="V", help="with --cuda: the PTX ISA version (default: any)")
    parser.add_argument(
        "--target", metavar="T", help="the target (default: the file's own; with --cuda: any)"
    )
    parser.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    parser.add_argument(
        "--strict",
        action=argparse.BooleanOptionalAction,
        help="also fail on what some readings of the text forbid (tier reading)",
    )
    parser.add_argument(
        "--reading",
        action="append",
        metavar="NAME=SETTING,…",
        help="how to read a sentence that the text leaves open; findings of the tier reading name them",
    )
    parser.add_argument(
        "--info", action=argparse.BooleanOptionalAction, help="also show findings of the tier info"
    )
    for name, what in (
        ("select", "report these rules only; `legality` means every rule behind its dot"),
        ("ignore", "do not report these rules"),
    ):
        parser.add_argument(f"--{name}", action="append", metavar="RULE,…", help=what)
    parser.add_argument(
        "--exclude",
        action="append",
        metavar="PATTERN,…",
        help="leave out files and folders that folders and patterns find",
    )
    parser.add_argument("--baseline", metavar="FILE", help="do not report the findings listed in FILE")
    parser.add_argument("--write-baseline", metavar="FILE", help="write today's findings to FILE")
    parser.add_argument("--stdin-name", metavar="NAME", help="the name to report - as (default: <stdin>)")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="read the table [tool.ptxmma.check] of FILE (default: of the nearest pyproject.toml)",
    )
    parser.add_argument("--list-rules", action="store_true", help="every rule, its tiers and its title")
    parser.add_argument("--explain", metavar="RULE", help="what a rule means, with an example each way")
    add_scheduler(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check every file; 1 where something fails, 2 where something could not be read."""
    from ..check.reports import CheckReport  # here, for --help does without; workers inherit it

    if args.list_rules or args.explain is not None:
        return _explain(args)
    settings = _settings(args)
    if not args.files:
        raise Question("no file is named; name PTX files, folders, quoted patterns, or - for standard input")
    if args.stdin_name is not None and STDIN not in args.files:
        raise Question("--stdin-name names standard input; write - among the files")
    if settings.target is not None:
        load().isa.target(settings.target)
    if args.ptx is not None:
        if not args.cuda:
            raise Question("--ptx goes with --cuda; a PTX file says its version")
        load().isa.version(args.ptx)
    baseline = _baseline(settings.baseline)
    stdin = partial(_standard_input, args.stdin_name)
    asked = asked_files(args.files, settings.exclude, stdin, CUDA if args.cuda else PTX)
    folder = os.path.dirname(settings.baseline or args.write_baseline or "") or "."
    by_path = baseline is not None or args.format == "sarif"
    questions = [_question(file, folder if by_path else None, settings, baseline) for file in asked]
    if args.cuda:
        questions = [question._replace(cuda=True, ptx=args.ptx) for question in questions]
    reports = _check_all(questions, args.scheduler is not None)
    stale = () if baseline is None else tuple(_stale(baseline, reports))
    answer = CheckReport(tuple(_selected(report, settings) for report in reports), settings.baseline, stale)
    failing = frozenset((ERROR, LIKELY, READING) if settings.strict else (ERROR, LIKELY))
    if args.write_baseline:
        _write_baseline(args.write_baseline, answer.files)
    _print(args.format, answer, failing | {INFO} if settings.info else failing)
    for report in reports:
        if report.faults:
            print(f"ptxmma: {_fault(report)}", file=sys.stderr)
    if answer.unreadable:
        return 2
    return 1 if not args.write_baseline and any(answer.counts[tier] for tier in failing) else 0


def _fault(report: FileReport) -> str:
    """What could not be read of a file, in a line."""
    first = report.faults[0]
    where = report.name if (first.place.line, first.place.column) == (1, 1) else str(first.place)
    if report.error is not None:
        return f"{where}: {report.error}"
    count = len(report.faults)
    return f"{where}: {count} place{'s' * (count > 1)} of the file could not be read: {first.what}"


def _explain(args: argparse.Namespace) -> int:
    """Print what the rules are, or one of them; reads no file."""
    from ..check import rule_pages
    from ..check.rules import rules

    if args.files:
        raise Question("--list-rules and --explain take no files")
    if args.format not in ("text", "json"):
        raise Question(f"rules are listed as text and json, not as {args.format}")
    known = rules()
    if args.explain is not None:
        named_rules((args.explain,))
    asked = [r for r in known.values() if args.explain is None or chosen(r.name, (args.explain,))]
    if args.format == "json":
        import json

        print(json.dumps(rule_pages.as_list_json(asked), indent=1))
    elif args.explain is None:
        print(rule_pages.as_list())
    else:
        print("\n\n".join(map(rule_pages.as_explanation, asked)))
    return 0


def _settings(args: argparse.Namespace) -> CheckSettings:
    """The options; where one is not given, the table of the pyproject.toml."""
    found = read_settings(args.config)
    given = {name: getattr(args, name) for name in ("baseline", "target", "strict", "info")}
    given |= {name: named_rules(_parts(name, getattr(args, name))) for name in ("select", "ignore")}
    if args.write_baseline:  # it stands in for the table's, which may not be there yet
        found = found._replace(baseline=None)
    given["readings"] = tuple(_parts("reading", args.reading))
    chosen_readings(given["readings"])
    given["exclude"] = tuple(Exclusion(pattern, ".") for pattern in _parts("exclude", args.exclude))
    return found._replace(**{name: value for name, value in given.items() if value not in (None, ())})


def _parts(option: str, given: Sequence[str] | None) -> tuple[str, ...]:
    """The words of an option that takes several, separated by commas."""
    parts = tuple(part.strip() for text in given or () for part in text.split(","))
    if not all(parts):
        raise Question(f"--{option} has an empty word; write names, separated by commas")
    return parts


def _standard_input(name: str | None) -> AskedFile:
    shown = name or "<stdin>"
    try:
        return AskedFile(shown, text=sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    except OSError as error:  # it is closed, or a folder
        return AskedFile(shown, f"standard input cannot be read: {error.strerror}")


class CheckQuestion(NamedTuple):
    """One file to check: with its path in the baseline, and what is accepted of it."""

    file: AskedFile
    path: str | None
    target: str | None
    readings: Mapping[str, str]
    accepted: Mapping[str, int]
    cuda: bool = False
    ptx: str | None = None


def _baseline(file: str | None) -> AcceptedFindings | None:
    if file is None:
        return None
    from ..check.baseline import read_baseline

    return read_baseline(file)


def _question(
    file: AskedFile, folder: str | None, settings: CheckSettings, baseline: AcceptedFindings | None
) -> CheckQuestion:
    """The question about a file; its path counts from `folder`, if a path is needed."""
    target, readings = settings.target, chosen_readings(settings.readings)
    if folder is None:
        return CheckQuestion(file, None, target, readings, {})
    from ..check.baseline import relative_path

    path = relative_path(file.name, folder)
    return CheckQuestion(file, path, target, readings, {} if baseline is None else baseline.counts(path))


def _selected(report: FileReport, settings: CheckSettings) -> FileReport:
    """The report without the findings of rules that are not selected."""
    if not settings.select and not settings.ignore:
        return report
    kept: list[Finding] = []
    dropped: list[Suppressed] = []
    for finding in report.findings:
        wanted = not settings.select or chosen(finding.rule, settings.select)
        if wanted and not chosen(finding.rule, settings.ignore):
            kept.append(finding)
        else:
            dropped.append(Suppressed(finding, "selection"))
    return replace(report, findings=tuple(kept), suppressed=(*report.suppressed, *dropped))


def _stale(
    baseline: AcceptedFindings, reports: Iterable[FileReport]
) -> Iterable[tuple[str, AcceptedFinding | None]]:
    """The entries of the baseline that nothing needs: of files that were read whole, and of files that are
    gone.
    """
    from ..check.baseline import fingerprint

    for report in reports:
        if not report.faults:
            used = Counter(
                fingerprint(report.path, one.finding) for one in report.suppressed if one.kind == "external"
            )
            for entry in baseline.stale(report.path, used):
                yield report.path, entry
    for path in baseline.gone():
        yield path, None


def _write_baseline(file: str, reports: Iterable[FileReport]) -> None:
    """Write what is found and what an older baseline accepts."""
    from ..check.baseline import baseline_text, relative_path

    folder = os.path.dirname(file) or "."
    found = {
        relative_path(report.name, folder): [
            *report.findings,
            *(one.finding for one in report.suppressed if one.kind == "external"),
        ]
        for report in reports
    }
    write_file(file, baseline_text(found))
    count = sum(finding.tier != INFO for findings in found.values() for finding in findings)
    print(f"ptxmma: {file} accepts {count} finding{'s' * (count != 1)}", file=sys.stderr)


def _print(form: str, answer: CheckReport, shown: frozenset[str]) -> None:
    from ..check.reports import as_github, as_text, dump

    match form:
        case "json":
            print(dump(answer))
        case "sarif":
            from ..check.sarif import as_sarif

            print(as_sarif(answer, shown))
        case "github":
            text = as_github(answer, shown)
            if text:
                print(text)
        case _:
            print(as_text(answer, shown))


def _check_all(asked: Sequence[CheckQuestion], elsewhere: bool) -> list[FileReport]:
    """The reports in the order of the files. The work goes to all cores if that saves time, or to a cluster
    (`elsewhere`).
    """
    sizes = [os.path.getsize(one.file.name) if os.path.isfile(one.file.name) else 0 for one in asked]
    if not elsewhere and (len(asked) < 2 or sum(sizes) < _LARGE):
        with uncollected():
            return [_check(one) for one in asked]
    from ..spec.workers import over_jobs

    order = sorted(range(len(asked)), key=lambda i: -sizes[i])
    answers = over_jobs([asked[i] for i in order], partial(_check, folder=os.getcwd()))
    return [report for _, report in sorted(zip(order, answers, strict=True), key=lambda pair: pair[0])]


def _check(asked: CheckQuestion, folder: str = "") -> FileReport:
    """The report on a file of a folder (default: the current one)."""
    from ..check.check_file import check_text, unread

    file = asked.file
    start = Place(file.name, 1, 1)
    if file.problem is not None:
        return unread(file.name, start, file.problem)
    try:
        text = file.text
        if text is None:
            text = text_of(os.path.join(folder, file.name))
        if asked.cuda:
            from ..check.cuda.check_source import check_source

            return check_source(text, file.name, asked.ptx, asked.target, asked.accepted, asked.path)
        return check_text(text, file.name, asked.target, asked.accepted, asked.path, asked.readings)
    except UnreadableFile as error:
        return unread(file.name, error.place, error.what)
    except OSError as error:
        return unread(file.name, start, error.strerror or str(error))
