"""Compare the time of `ptxmma assemble` with ptxas alone on the same files, on one core, in processor time.

python bench/assemble.py [PATTERN…] [--release R] [--ptxas PATH]        (no pattern: every instruction)

The bench keeps every input file of ptxas; then ptxas alone reads all of them again. Prints seconds, the ratio
(limit 1.3, and half a second for one instruction) and statements a second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.table import Table

from ptxmma.assemblers.asking import Asking
from ptxmma.assemblers.assembler_settings import AssemblerSetting, Job, home
from ptxmma.assemblers.comparison import compare
from ptxmma.assemblers.toolchains import Ptxas, locate
from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import whole
from ptxmma.cli.assemble_command import chosen
from ptxmma.cli.main import run_script
from ptxmma.spec.api import load


class Kept:
    """The files of every run of ptxas, and the command's words before and behind their names."""

    def __init__(self) -> None:
        self.given: list[tuple[list[str], list[bytes], list[int], list[str]]] = []
        plain = Asking._run

        def run(
            asking: Asking, names: Sequence[str], output: str, given: BinaryIO
        ) -> tuple[int | None, str, bytes]:
            files = list(dict.fromkeys(names))
            named = {"/dev/stdin": f"/proc/self/fd/{given.fileno()}"}
            texts = [Path(named.get(file, file)).read_bytes() for file in files]
            before = [str(asking.ptxas.path), "-arch", asking.target]
            self.given.append((before, texts, [files.index(name) for name in names], ["-o", output]))
            return plain(asking, names, output, given)

        Asking._run = run  # type: ignore[method-assign, assignment]

    def replay(self) -> float:
        """Seconds of processor time that ptxas alone takes, with the same input and output streams."""
        start = os.times()
        for before, texts, order, behind in self.given:
            with ExitStack() as stack:
                said, *files = (
                    stack.enter_context(tempfile.TemporaryFile(dir="/dev/shm")) for _ in [b"", *texts]
                )
                for file, text in zip(files, texts, strict=True):
                    file.write(text)
                    file.flush()
                numbers = [files[place].fileno() for place in order]
                names = [f"/proc/self/fd/{number}" for number in numbers]
                subprocess.run([*before, *names, *behind], stdout=said, stderr=said, pass_fds=numbers)
        end = os.times()
        return end.children_user + end.children_system - start.children_user - start.children_system


def spent() -> float:
    """Seconds of processor time of this process and its children; other processes do not count."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(kept: Kept, name: str, ptxas: Ptxas) -> tuple[int, int, float, float]:
    """Statements, runs, seconds with everything, seconds of ptxas alone."""
    kept.given.clear()
    start = spent()
    universe = Universe(load())
    classified = 0
    for family in chosen(universe.specification, name):
        points = whole(universe, family)
        target = home(universe.specification.isa, points, ptxas)
        if target is not None:
            classified += compare([Job(AssemblerSetting(ptxas, ptxas.ptx, target), points)], None).classified
    ours = spent() - start
    return classified, len(kept.given), ours, kept.replay()


def row(
    table: Table, name: str, statements: int, runs: int, ours: float, theirs: float, limit: float
) -> None:
    """Add a line to the table."""
    table.add_row(
        name,
        str(statements),
        str(runs),
        f"{ours:.2f} s",
        f"{theirs:.2f} s",
        f"{ours / theirs:.2f}",
        f"{limit:.2f}" + ("" if ours / theirs <= limit else " OVER"),
        f"{statements / ours:.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--release", help="default: the newest")
    parser.add_argument("--ptxas", type=Path)
    args = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    ptxas = locate(args.release, args.ptxas)
    specification = load()
    universe = Universe(specification)
    families = {
        f.instruction.instruction: f for name in args.patterns or (None,) for f in chosen(specification, name)
    }
    for family in families.values():
        whole(universe, family)  # made once for each change of the YAML, and kept
    kept = Kept()
    table = Table(
        f"ptxas {ptxas.version}", "statements", "runs", "assemble", "ptxas", "ratio", "limit", "a second"
    )
    totals = [0, 0, 0.0, 0.0]
    for name in families:
        found = measure(kept, name, ptxas)
        if found[0]:
            totals = [total + one for total, one in zip(totals, found, strict=True)]
            row(table, name, *found, 1.3 + 0.5 / found[3])
    row(table, "all", int(totals[0]), int(totals[1]), totals[2], totals[3], 1.3)
    Console(width=None if sys.stdout.isatty() else 110, highlight=False).print(table)


if __name__ == "__main__":
    run_script(main)
