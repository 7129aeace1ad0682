"""What `ptxmma run` does: builds a suite, runs it on a GPU, measures the GPU, and reports."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..devices.suite_runs import CaseResult, SuiteFolder, SuiteOutcome, execute
from ..gen.suite.files import emitted, lacking, suite_of
from ..spec.api import load
from ..spec.errors import Question
from ..spec.nodes import Version
from ..spec.selection import select, unmatched
from ..spec.specification import Specification
from ..spec.writing import write_folder
from .progress import hide
from .silicon_report import arithmetic_table, measured_table, named_by, print_arithmetic

if TYPE_CHECKING:
    from ..ledger.device_observations import Observations

__all__ = ["processors", "progress", "run_suite"]

_SHOWN = 10


@dataclass
class RunReport:
    """The result of a run: outcomes by way, what did not run and why, measurements, seconds."""

    suite: SuiteFolder
    outcomes: list[SuiteOutcome] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    measured: Observations | None = None
    seconds: dict[str, float] = field(default_factory=dict)


def run_suite(args: argparse.Namespace, usual: str) -> int:
    """Build, run, report; exit code 1 when a case fails or something measured differs, 2 without a GPU.

    `usual` is the target where neither the suite nor an option names one.
    """
    if args.record and (args.suite or args.via != "both"):
        raise Question(
            "a record is of everything, in both ways: --record goes with no pattern, suite or --via"
        )
    if args.record:
        from ..ledger.records import require_writable

        require_writable()
    specification = load()
    folder = SuiteFolder(Path(args.suite)) if args.suite and Path(args.suite).is_dir() else None
    target = specification.isa.target(_target(args.target, folder) or usual)
    driver = _driver(specification, args, target)
    with _suite(specification, args, folder, target) as (suite, seconds):
        report = RunReport(suite, seconds={"generation": seconds})
        report.not_run.update(_elsewhere(specification, target, suite))
        vias = _vias(suite, args.via)
        report.seconds["compilation"] = sum(suite.build(via, processors()) for via in vias)
        cases = _readable(specification, report, driver)
        for via in vias:
            with progress(len(cases), f"cases, via {via}") as step:
                outcome = execute(suite, via, cases, args.device, args.limit, report=step)
            report.outcomes.append(outcome)
            report.seconds[f"execution, {via}"] = outcome.seconds["wall"]
        if args.measure or args.record:
            began = time.monotonic()
            report.measured = _measure(specification, args, report, driver)
            report.seconds["measuring"] = time.monotonic() - began
        if args.record:
            _record(specification, args, report)
        if args.format == "json":
            print(json.dumps(_as_json(specification, report), indent=1))
        else:
            _print(specification, report)
        return 1 if _failed(specification, report) else 0


def processors() -> int:
    """How many processors this machine has."""
    import os

    return os.cpu_count() or 1


def _target(asked: str | None, suite: SuiteFolder | None) -> str | None:
    """The target that a suite or an option names; raises Question when the suite is for another."""
    own = suite.target if suite else None
    if own and asked and own != asked:
        raise Question(f"the suite is for {own}, not for {asked}")
    return own or asked


def _driver(specification: Specification, args: argparse.Namespace, target: str) -> str | None:
    """The driver's CUDA version; None for the stand-in. Raises Question when no GPU has the target."""
    if args.via == "stand-in":
        if args.measure:
            raise Question("the stand-in cannot be measured; it is the specification's maps in C++")
        return None
    from ..devices.gpu import bindings, find_gpu

    gpu = find_gpu(args.device)
    if not gpu.fits(specification.isa, target):
        raise Question(f"{gpu}, and what is for {target} does not run there")
    if args.measure or args.record:
        bindings()
    return gpu.driver


@contextmanager
def _suite(
    specification: Specification, args: argparse.Namespace, folder: SuiteFolder | None, target: str
) -> Iterator[tuple[SuiteFolder, float]]:
    """The suite, from an existing folder or newly generated for a pattern; and the seconds that generating
    took.
    """
    if folder:
        yield folder, 0.0
        return
    began = time.monotonic()
    known = [v for v in select(specification, None, None, target) if emitted(v)]
    chosen = [v for v in select(specification, args.suite, None, target) if emitted(v)]
    if not chosen:
        named = [v for v in select(specification, args.suite, None, None) if emitted(v)]
        if not named:
            raise Question(f"{unmatched(specification, args.suite)}; and no folder is called so")
        elsewhere = "; ".join(f"{row}: {why}" for row, why in lacking(named, target).items())
        raise Question(f"{target} has nothing that matches {args.suite}: {elsewhere}")
    with tempfile.TemporaryDirectory(prefix="ptxmma-") as temporary:
        write_folder(temporary, suite_of(specification, chosen, known, target).files())
        yield SuiteFolder(Path(temporary)), time.monotonic() - began


def _vias(suite: SuiteFolder, asked: str) -> tuple[str, ...]:
    """The ways to run: both where the suite has both kinds of sources."""
    if asked != "both":
        return (asked,)
    return tuple(via for via, kind in (("ptx", "ptx"), ("cubin", "cuda")) if (suite.folder / kind).is_dir())


def _elsewhere(specification: Specification, target: str, suite: SuiteFolder) -> dict[str, str]:
    """By row, the suite's instructions that the target does not have, and the targets that have them."""
    named = {str(kernel["instruction"]) for kernel in suite.manifest["kernels"]}
    families = [family for name, family in specification.families.items() if name in named]
    return lacking((v for family in families for v in family.listed() if emitted(v)), target)


def _readable(specification: Specification, report: RunReport, driver: str | None) -> list[str]:
    """The cases that the driver can load; the mnemonics of the others are not run."""
    from ..ledger.device_observations import newest

    limit = newest(specification, driver) if driver else None
    versions: dict[str, dict[str, Version]] = {}
    cases = []
    for case, kernel in report.suite.cases.items():
        version = specification.isa.version(kernel["version"])
        versions.setdefault(_row(kernel), {})[kernel["ptx"]] = version
        if limit is None or version <= limit:
            cases.append(case)
    for row, by_mnemonic in versions.items():
        late = [version for version in by_mnemonic.values() if limit and version > limit]
        if late:
            part = f"{len(late)} of {len(by_mnemonic)} mnemonics: " if len(late) < len(by_mnemonic) else ""
            why = f"it needs PTX ISA {min(late)}; the driver is for CUDA {driver} and reads {limit}"
            before = f"{report.not_run[row]}; " if row in report.not_run else ""
            report.not_run[row] = f"{before}{part}{why}"
    if not cases:
        raise Question("the driver can load no case of the suite")
    return cases


def _row(kernel: Mapping[str, Any]) -> str:
    return f"{kernel['instruction']}/{kernel['row']}"


@contextmanager
def progress(total: int, what: str) -> Iterator[Any]:
    """Show a progress bar on a terminal's standard error; yields the function that advances it."""
    hide()
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.advance(task)


def _measure(
    specification: Specification, args: argparse.Namespace, report: RunReport, driver: str | None
) -> Observations:
    """Measure the rows of the suite on the device."""
    from ..ledger.device_observations import measurable, newest, observe_device

    read, target = str(newest(specification, driver or "")), report.suite.target
    rows = {_row(kernel) for kernel in report.suite.manifest["kernels"]}
    can, cannot = measurable(specification, target, read, rows)
    for subject in cannot:
        report.not_run[f"{subject.what} of {subject.id}"] = f"the driver reads PTX ISA {read}"
    with progress(len(can), "measuring") as step:
        return observe_device(target, args.device, can, 20 * args.limit, step)


def _record(specification: Specification, args: argparse.Namespace, report: RunReport) -> None:
    from ..devices.gpu import describe
    from ..ledger.device_observations import suite_for
    from ..ledger.silicon_record import DeviceRecord, Silicon, write_silicon
    from ..ledger.strided_places import places_of

    name, driver = describe(args.device)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    assemblers = [f"{o.via}: {'the driver' if o.via == 'ptx' else _nvcc()}" for o in report.outcomes]
    device = DeviceRecord(name, report.suite.target, driver, "; ".join(assemblers), today)
    subjects, arithmetic = report.measured or ({}, {})
    silicon = Silicon(device, subjects, arithmetic, {})
    for outcome in report.outcomes:
        silicon.keep(outcome.via, outcome.results.values())
    passed = frozenset.intersection(*(silicon.passed(outcome.via) for outcome in report.outcomes))
    silicon.placed = places_of(suite_for(specification, device), passed)
    written = write_silicon(silicon)
    print(f"{written}: {len(subjects)} measurements, {len(report.suite.cases)} cases", file=sys.stderr)


def _nvcc() -> str:
    import subprocess

    done = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False)
    return next(
        (line.split("V")[-1] for line in done.stdout.splitlines() if "V" in line and "release" in line), ""
    )


def _failed(specification: Specification, report: RunReport) -> bool:
    if any(result.status != "passed" for o in report.outcomes for result in o.results.values()):
        return True
    return report.measured is not None and any(
        points != agreeing for _, _, points, agreeing, _ in measured_table(specification, report.measured[0])
    )


def _by_row(report: RunReport) -> dict[str, Counter[str]]:
    """For every row, how many cases have which status in which way."""
    rows: dict[str, Counter[str]] = {}
    for case, kernel in report.suite.cases.items():
        counted = rows.setdefault(_row(kernel), Counter())
        counted["cases"] += 1
        for outcome in report.outcomes:
            if case in outcome.results:
                counted[f"{outcome.via} {outcome.results[case].status}"] += 1
    return rows


def _pairs(report: RunReport) -> tuple[int, int]:
    """How many pairs of settings occur together in the suite's cases, and how many can."""
    coverage = report.suite.manifest["coverage"]
    return sum(row["pairs"] for row in coverage), sum(row["possible"] for row in coverage)


def _faults(report: RunReport) -> Iterator[tuple[str, CaseResult, Mapping[str, Any]]]:
    for outcome in report.outcomes:
        for case, result in outcome.results.items():
            if result.status != "passed":
                yield outcome.via, result, report.suite.cases[case]


def _as_json(specification: Specification, report: RunReport) -> dict[str, Any]:
    value: dict[str, Any] = {
        "device": next((o.device for o in report.outcomes), ""),
        "seconds": {name: round(seconds, 3) for name, seconds in report.seconds.items()},
        "device seconds": {o.via: round(o.seconds.get("device", 0.0), 3) for o in report.outcomes},
        "rows": {row: dict(counted) for row, counted in _by_row(report).items()},
        "faults": [
            {
                "via": via,
                "case": result.case,
                "ptx": kernel["ptx"],
                "status": result.status,
                "why": result.why,
                "count": result.count,
                "wrong": list(result.wrong),
            }
            for via, result, kernel in _faults(report)
        ],
        "pairs": dict(zip(("met", "possible"), _pairs(report), strict=True)),
        "not run": report.not_run,
    }
    if report.measured:
        value["measured"] = [
            {"what": what, "kernels": kernels, "points": points, "agree": agree, "first": list(first)}
            for what, kernels, points, agree, first in measured_table(specification, report.measured[0])
        ]
        value["arithmetic"] = arithmetic_table(specification, report.measured[1])
    return value


def _print(specification: Specification, report: RunReport) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 170, highlight=False)
    vias = [outcome.via for outcome in report.outcomes]
    table = Table(
        "row", "cases", *(f"{via}: {word}" for via in vias for word in ("passed", "failed", "other"))
    )
    for row, counted in _by_row(report).items():
        cells = [row, str(counted["cases"])]
        for via in vias:
            passed, failed = counted[f"{via} passed"], counted[f"{via} failed"]
            other = sum(n for name, n in counted.items() if name.startswith(f"{via} ")) - passed - failed
            cells += [str(passed), str(failed), str(other)]
        table.add_row(*cells)
    console.print(table)
    faults = list(_faults(report))
    for via, result, kernel in faults[:_SHOWN]:
        for line in _fault_lines(via, result, kernel):
            console.print(line, markup=False, soft_wrap=True)
    if len(faults) > _SHOWN:
        console.print(f"… and {len(faults) - _SHOWN} more")
    met, possible = _pairs(report)
    if possible:
        console.print(f"pairs of settings that meet: {met} of {possible}")
    for row, why in report.not_run.items():
        console.print(f"not run: {row}: {why}", markup=False, soft_wrap=True)
    if report.measured:
        _print_measured(console, specification, report.measured)
    total = Counter(result.status for o in report.outcomes for result in o.results.values())
    console.print(", ".join(f"{count} {status}" for status, count in total.items()), markup=False)
    console.print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.seconds.items()))
    on_device = sum(o.seconds.get("device", 0.0) for o in report.outcomes)
    names = ", ".join(dict.fromkeys(o.device for o in report.outcomes))
    console.print(
        f"{names}: {on_device:.1f} s from launches to their ends, all processes together", markup=False
    )


def _fault_lines(via: str, result: CaseResult, kernel: Mapping[str, Any]) -> Iterator[str]:
    count = f", {result.count} elements" if result.count else ""
    why = f": {result.why}" if result.why else ""
    yield f"{result.status.upper()} ({via}): {kernel['ptx']}, case {result.case}{count}{why}"
    for wrong in result.wrong:
        named = ", ".join(f"{name} {value}" for name, value in wrong.items())
        yield f"  {named}"


def _print_measured(console: Any, specification: Specification, measured: Observations) -> None:
    from rich.table import Table

    table = Table("measured", "kernels", "points", "agree", "named by")
    firsts: Sequence[str] = ()
    for what, kernels, points, agree, first in measured_table(specification, measured[0]):
        table.add_row(what, str(kernels), str(points), str(agree), named_by(specification, what))
        firsts = [*firsts, *(f"DIFFERS: {what}: {line}" for line in first)]
    console.print(table)
    for line in firsts[:_SHOWN]:
        console.print(line, markup=False, soft_wrap=True)
    print_arithmetic(console, arithmetic_table(specification, measured[1]), "measured")
