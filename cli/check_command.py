"""ptxmma check: check whole PTX files, as compilers emit them, against the specification."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ..check.check_file import FileReport, check_text
from ..check.findings import ERROR, INFO, LIKELY, STRICT
from ..check.reports import as_github, as_text, dump, tally
from ..check.suppression import baseline_text, read_baseline
from ..spec.errors import Question
from ..spec.writing import write_file
from .options import add_scheduler

__all__ = ["add"]

_LARGE = 1 << 20  # bytes of PTX above which another process saves time


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE.ptx", help="PTX files")
    parser.add_argument("--target", metavar="T", help="the target (default: the file's own)")
    parser.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    parser.add_argument(
        "--strict", action="store_true", help="also fail on what only the strictest reading forbids"
    )
    parser.add_argument("--info", action="store_true", help="also show findings of the tier info")
    parser.add_argument("--baseline", metavar="FILE", help="do not report the findings listed in FILE")
    parser.add_argument("--write-baseline", metavar="FILE", help="write today's findings to FILE")
    add_scheduler(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check every file; 1 where something fails, 2 where a file could not be read."""
    baseline = read_baseline(args.baseline) if args.baseline else {}
    asked = [(name, args.target, baseline.get(Path(name).name)) for name in args.files]
    answers = _check_all(asked, args.scheduler is not None)
    reports = [answer for answer in answers if isinstance(answer, FileReport)]
    refused = [answer for answer in answers if isinstance(answer, str)]
    failing = frozenset((ERROR, LIKELY, STRICT) if args.strict else (ERROR, LIKELY))
    shown = failing | {INFO} if args.info else failing
    if args.write_baseline:
        found = [finding for report in reports for finding in report.findings]
        write_file(args.write_baseline, baseline_text(found))
    _print(args.format, reports, shown)
    if refused:
        raise Question("\nptxmma: ".join(refused))
    if any(report.faults for report in reports):
        return 2
    if args.write_baseline:
        return 0
    counts = tally(reports)
    return 1 if any(counts[tier] for tier in failing) else 0


def _print(form: str, reports: list[FileReport], shown: frozenset[str]) -> None:
    match form:
        case "json":
            print(dump(reports))
        case "sarif":
            from ..check.sarif import as_sarif

            print(as_sarif(reports, shown))
        case "github":
            text = as_github(reports, shown)
            if text:
                print(text)
        case _:
            print(as_text(reports, shown))


_AskedFile = tuple[str, str | None, Mapping[str, int] | None]


def _check_all(asked: list[_AskedFile], elsewhere: bool) -> list[FileReport | str]:
    """The reports in the order of the files. The work goes to all cores if that saves time, or to a cluster
    (`elsewhere`).
    """
    sizes = [os.path.getsize(name) if os.path.isfile(name) else 0 for name, _, _ in asked]
    if not elsewhere and (len(asked) < 2 or sum(sizes) < _LARGE):
        return [_check(one) for one in asked]
    from ..spec.workers import over_jobs

    order = sorted(range(len(asked)), key=lambda i: -sizes[i])
    found: list[FileReport | str] = [""] * len(asked)
    answers = over_jobs([asked[i] for i in order], partial(_check, folder=os.getcwd()))
    for index, answer in zip(order, answers, strict=True):
        found[index] = answer
    return found


def _check(asked: _AskedFile, folder: str = "") -> FileReport | str:
    """The report on a file of a folder (default: the current one), or the reason why it cannot be read."""
    name, target, baseline = asked
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
        return check_text(text, name, target, baseline)
    except Question as error:
        return str(error)
    except OSError as error:
        return f"{name}: {error.strerror or error}"
