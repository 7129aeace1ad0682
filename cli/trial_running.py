"""What `ptxmma run --arithmetic` does: trials of a chip's arithmetic on a GPU, the report and the record."""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..devices.trial import SumDifference, Trial, TrialCounts
from ..devices.trial_list import trials_of
from ..spec.api import load
from ..spec.dot_product import DotProduct, ElementCode
from ..spec.errors import Question
from ..spec.selection import select, unmatched
from ..spec.specification import Specification

if TYPE_CHECKING:
    from ..devices.gpu import Gpu

__all__ = ["TrialReport", "as_json", "print_report", "run_trials"]

_SHOWN = 3  # differences of a kernel that are shown


@dataclass
class TrialReport:
    """The trials that ran, with their counts and seconds; what did not run, and why; what failed of that."""

    device: str
    seed: int
    counts: list[tuple[Trial, int, TrialCounts, float]] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    failed: int = 0


def run_trials(args: argparse.Namespace, usual: str) -> int:
    """Try every kernel that matches on `--count` sums.

    Exit code 1 when one differs, 2 without a GPU, or when a kernel failed or hung.
    """
    from ..devices.gpu import bindings, describe, find_gpu
    from ..ledger.device_observations import newest

    specification = load()
    target = specification.isa.target(args.target or usual)
    chosen = list(select(specification, args.suite, None, target))
    if not chosen:
        raise Question(unmatched(specification, args.suite))
    gpu = find_gpu(args.device)
    if not gpu.fits(specification.isa, target):
        raise Question(f"{gpu}, and what is for {target} does not run there")
    bindings()
    if args.record:
        from ..ledger.records import require_writable

        require_writable()
    trials, why = trials_of(
        specification, chosen, target, newest(specification, gpu.driver), args.invalid_codes
    )
    if not trials:
        raise Question(next(iter(why.values()), "nothing that matches computes sums"))
    name, driver = describe(args.device)
    report = TrialReport(name, args.seed, not_run=why)
    _run(args, gpu, target, trials, report)
    if args.record:
        _record(specification, args, report, target, driver)
    if args.format == "json":
        print(json.dumps(as_json(specification, report), indent=1))
    else:
        print_report(specification, report)
    if any(counts.misses for _, _, counts, _ in report.counts):
        return 1
    return 2 if report.failed else 0


def _run(
    args: argparse.Namespace,
    gpu: Gpu,
    target: str,
    trials: Sequence[Trial],
    report: TrialReport,
) -> None:
    from ..devices.gpu import DeviceFault
    from ..devices.trial_process import TrialProcess, TrialTask
    from ..devices.trial_runs import compiled
    from .suite_running import processors, progress

    with ThreadPoolExecutor(processors()) as pool, TrialProcess(target, args.device, args.limit) as process:
        binaries = pool.map(lambda trial: compiled(trial.text.text, gpu), trials)
        with progress(len(trials), "trials") as step:
            for trial, binary in zip(trials, binaries, strict=True):
                mnemonic, tiles = trial.kernel.variant.mnemonic, tiles_for(trial, args.count)
                began = time.monotonic()
                try:
                    counts = process.counts(
                        TrialTask(mnemonic, binary, args.seed, 0, tiles, args.invalid_codes)
                    )
                except DeviceFault as fault:
                    report.not_run[mnemonic] = str(fault)
                    report.failed += 1
                else:
                    report.counts.append((trial, tiles, counts, time.monotonic() - began))
                step(None)


def tiles_for(trial: Trial, count: int) -> int:
    """How many tiles have at least `count` sums, every distribution the same number of tiles."""
    turns = len(trial.distributions)
    return -(-count // (trial.sums * turns)) * turns


def _record(
    specification: Specification, args: argparse.Namespace, report: TrialReport, target: str, driver: str
) -> None:
    import sys

    from ..ledger.silicon_record import DeviceRecord
    from ..ledger.trial_record import RecordedTrial, load_trials, trial_digest, write_trials
    from ..ledger.trial_verdicts import code_digest

    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    device = DeviceRecord(report.device, target, driver, "ptx: the driver; trials: NVRTC", today)
    listed = []
    for trial, tiles, counts, _ in report.counts:
        listed.append(
            RecordedTrial(
                trial.kernel.variant.mnemonic,
                trial.kernel.variant.row.id,
                code_digest(specification, trial, target),
                trial_digest(trial),
                report.seed,
                0,
                tiles,
                counts,
                invalid_codes=trial.invalid is not None,
            )
        )
    kept = [t for found in load_trials() if found.device.name == report.device for t in found.trials]
    print(f"{write_trials(device, listed, kept=kept)}: {len(listed)} trials", file=sys.stderr)


def as_json(specification: Specification, report: TrialReport) -> dict[str, Any]:
    """The report as JSON has it."""
    return {
        "device": report.device,
        "seed": report.seed,
        "trials": [
            {
                "ptx": trial.kernel.variant.mnemonic,
                "row": trial.kernel.variant.row.id,
                "model": trial.arithmetic.row.id,
                "tiles": tiles,
                "sums": counts.total,
                "different": counts.misses,
                "distributions": {
                    name: [count, counts.different[name]] for name, count in counts.compared.items()
                },
                "first": [
                    {
                        **{k: list(v) if isinstance(v, tuple) else v for k, v in vars(one).items()},
                        "steps": [dict(names) for names in _steps(specification, trial, one)],
                    }
                    for one in counts.differences[:_SHOWN]
                ],
                "seconds": round(seconds, 3),
            }
            for trial, tiles, counts, seconds in report.counts
        ],
        "not run": report.not_run,
    }


def _steps(specification: Specification, trial: Trial, one: SumDifference) -> Iterator[Mapping[str, int]]:
    """The definition, step by step, from the inputs of a sum that differed: what a block's stages give."""
    dot = DotProduct(specification, trial.arithmetic)
    a, b = ([ElementCode(code) for code in codes] for codes in (one.a, one.b))
    for steps in dot.steps(a, b, one.c):
        given = {name for stage in steps.block.model.stages for name in stage.let}
        yield {name: value for name, value in steps.result.items() if name in given}


def print_report(specification: Specification, report: TrialReport) -> None:
    """The report as text: a table, the first differences with their steps, what did not run."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 170, highlight=False)
    table = Table("instruction", "model", "sums", "differ", "distributions that differ", "seconds")
    for trial, _, counts, seconds in report.counts:
        which = ", ".join(f"{name} {count:,}" for name, count in counts.different.items() if count)
        cells = (f"{counts.total:,}", f"{counts.misses:,}", which or "-", f"{seconds:.2f}")
        table.add_row(trial.kernel.variant.mnemonic, trial.arithmetic.row.id, *cells)
    console.print(table)
    for trial, _, counts, _ in report.counts:
        for one in counts.differences[:_SHOWN]:
            console.print(
                f"DIFFERS: {trial.kernel.variant.mnemonic}: tile {one.tile}, row {one.row}, "
                f"column {one.column}: the chip gives {one.got:#x}, the model {one.expected:#x}",
                markup=False,
                soft_wrap=True,
            )
            for line in _lines(specification, trial, one):
                console.print(f"  {line}", markup=False, soft_wrap=True)
    for line in _not_run(report):
        console.print(f"not run: {line}", markup=False, soft_wrap=True)
    total = sum(counts.total for _, _, counts, _ in report.counts)
    misses = sum(counts.misses for _, _, counts, _ in report.counts)
    console.print(f"{report.device}, seed {report.seed}: {total:,} sums, {misses:,} differ", markup=False)


def _not_run(report: TrialReport) -> Iterator[str]:
    """What did not run, a line for each reason; the mnemonic in a reason is no difference."""
    alike: dict[str, list[str]] = {}
    for mnemonic, why in report.not_run.items():
        alike.setdefault(why.replace(mnemonic, "it"), []).append(mnemonic)
    for why, (first, *others) in alike.items():
        yield f"{first}{f' and {len(others)} more' if others else ''}: {why}"


def _lines(specification: Specification, trial: Trial, one: SumDifference) -> Iterator[str]:
    yield f"a {' '.join(f'{code:x}' for code in one.a)}"
    yield f"b {' '.join(f'{code:x}' for code in one.b)}"
    yield f"c {one.c:x}"
    for number, names in enumerate(_steps(specification, trial, one)):
        shown = ", ".join(f"{name} {value:#x}" for name, value in names.items())
        yield f"block {number}: {shown}"
