"""Time whole commands, and compare `legal --batch` with ptxas on the same statements.

python bench/speed.py [--ptxas PATH] [--runs N]

Prints seconds by the clock and of the processors, and ratios (the best of N runs each). Limits are for the
clock of a quiet machine, with Python's bytecode and the specification's cache written by an earlier run.
Without a ptxas the comparison is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from statements import FAMILIES, kernel

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
COMMANDS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.2, ("check", str(Path(__file__).parents[1] / "tests" / "check" / "unwaited.ptx"))),
    (0.25, ("list",)),
    (0.25, ("legal", "wgmma.fence.sync.aligned;", "--ptx", "8.0", "--target", "sm_90a")),
    (0.25, ("show", MMA)),
    (0.25, ("layout", MMA, "--operand", "A")),
    (1, ("prove", "wgmma.mma_async/f16")),
    (1, ("prove", "layout.selective")),
    (5, ("prove", "--solver", "z3")),
    (15, ("prove",)),
)


def best(runs: int, call: Callable[[], object]) -> tuple[float, float]:
    """The shortest of some runs, in seconds by the clock; and the least that one took of the processors."""
    times, used = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), processors()
        call()
        times.append(time.perf_counter() - start)
        used.append(processors() - before)
    return min(times), min(used)


def processors() -> float:
    """The processors' seconds that all processes begun here have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def quietly(command: Sequence[str]) -> Callable[[], object]:
    """A function that runs a process. Exit codes for illegal statements (1; 255 of ptxas) are fine; others
    end the bench.
    """

    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def call() -> object:
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )
        if done.returncode not in (0, 1, 255):
            raise SystemExit(f"{' '.join(command[:3])}: exit code {done.returncode}: {done.stderr[-300:]}")
        return done

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="the ptxas to compare with")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    ptxmma = [sys.executable, "-m", "ptxmma"]
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)

    table = Table("command", "seconds", "of the processors", "limit", "")
    for limit, words in COMMANDS:
        call = quietly([*ptxmma, *words])
        if limit < 1:
            call()  # writes the bytecode and the cache
        seconds, used = best(args.runs, call)
        over = "" if seconds <= limit else "OVER"
        shown = " ".join(Path(word).name for word in words)
        table.add_row(shown[:60], f"{seconds:.2f}", f"{used:.2f}", f"{limit}", over)
    console.print(table)

    table = Table("statements", "lines", "legal --batch", "ptxas", "rate to ptxas's", "wanted")
    with tempfile.TemporaryDirectory() as folder:
        for name, (lines, version, target, wanted) in FAMILIES.items():
            statements = list(lines())
            plain, wrapped = Path(folder, f"{name}.txt"), Path(folder, f"{name}.ptx")
            plain.write_text("\n".join(statements))
            wrapped.write_text(kernel(statements, version, target))
            batch = [*ptxmma, "legal", "--batch", str(plain), "--ptx", version, "--target", target]
            ours, _ = best(args.runs, quietly(batch))
            if args.ptxas is None:
                table.add_row(name, str(len(statements)), f"{ours:.2f} s", "no ptxas", "", "")
                continue
            assemble = [args.ptxas, "-arch", target, "-o", "/dev/null", str(wrapped)]
            theirs, _ = best(args.runs, quietly(assemble))
            rate = f"{theirs / ours:.2f}"
            table.add_row(name, str(len(statements)), f"{ours:.2f} s", f"{theirs:.2f} s", rate, f"{wanted}")
    console.print(table)


if __name__ == "__main__":
    main()
