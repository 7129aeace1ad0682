"""ptxmma check: whole PTX files, as compilers emit them, held against the specification."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from ..check.findings import ERROR, INFO, LIKELY, STRICT, TIERS
from ..check.kernels import Report, check_text
from ..check.reports import as_github, as_text, dump, tally
from ..spec.errors import Question

__all__ = ["add"]

_LARGE = 1 << 20  # bytes of PTX above which another process pays


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("check", help="are the kernels of a PTX file right")
    parser.add_argument("files", nargs="+", metavar="FILE.ptx", help="PTX files")
    parser.add_argument("--target", metavar="T", help="the target (default: the file's own)")
    parser.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    parser.add_argument(
        "--strict", action="store_true", help="findings under the strictest reading fail, too"
    )
    parser.add_argument("--info", action="store_true", help="show what is worth knowing, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check every file; 1 where something fails, 2 where a file could not be read."""
    answers = _check_all(args.files, args.target)
    reports = [answer for answer in answers if isinstance(answer, Report)]
    refused = [answer for answer in answers if isinstance(answer, str)]
    failing = frozenset((ERROR, LIKELY, STRICT) if args.strict else (ERROR, LIKELY))
    shown = frozenset(TIERS) if args.info else frozenset(TIERS) - {INFO}
    if not args.strict:
        shown -= {STRICT}
    if args.format == "json":
        print(dump(reports))
    elif args.format == "github":
        print(as_github(reports, shown))
    else:
        print(as_text(reports, shown))
    if refused:
        raise Question("\nptxmma: ".join(refused))
    if any(report.faults for report in reports):
        return 2
    counts = tally(reports)
    return 1 if any(counts[tier] for tier in failing) else 0


def _check_all(names: list[str], target: str | None) -> list[Report | str]:
    total = sum(os.path.getsize(name) for name in names if os.path.isfile(name))
    workers = min(len(names), len(os.sched_getaffinity(0)))
    if workers < 2 or total < _LARGE:
        return [_check(name, target) for name in names]
    order = sorted(range(len(names)), key=lambda i: -_size(names[i]))
    found: list[Report | str] = [""] * len(names)
    with ProcessPoolExecutor(workers) as pool:
        answers = pool.map(_check, [names[i] for i in order], [target] * len(names), chunksize=1)
        for index, answer in zip(order, answers, strict=True):
            found[index] = answer
    return found


def _size(name: str) -> int:
    return os.path.getsize(name) if os.path.isfile(name) else 0


def _check(name: str, target: str | None) -> Report | str:
    """The report on a file, or why there is none."""
    try:
        with open(name, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
        return check_text(text, name, target)
    except Question as error:
        return str(error)
    except OSError as error:
        return f"{name}: {error.strerror or error}"
