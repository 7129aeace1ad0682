"""Compare the time of `ptxmma check` with `ptxas -O3` on the same files, and on kernels of growing size.

python bench/checker.py [FILE…] [--ptxas PATH] [--lines N] [--single N]

Three questions, about the processors' time: one file at a time (no longer than 0.3 s or ptxas, the longer of
the two), all files in one call (at most half of what ptxas takes for them), and synthetic kernels of 1,000
to N lines (60 s, 1.5 GiB, and whether both grow with the lines only). The exit code is 1 when an answer is
no.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ptxmma.assemblers.toolchains import locate
from ptxmma.cli.main import run_script
from ptxmma.spec.errors import Question

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
CHECK = (sys.executable, "-m", "ptxmma", "check")
LEAST, SHARE, MINUTE, MEMORY = 0.3, 0.5, 60.0, 1.5
SMALLEST = 1000  # lines of a synthetic kernel
D = ",".join(f"%f{i}" for i in range(32))


@dataclass(frozen=True)
class Cost:
    """The cost of a process: seconds by the clock and of the processors, and GiB."""

    wall: float
    cpu: float
    memory: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu, max(self.memory, other.memory))


class Refused(SystemExit):
    """A process that neither found nor passed anything."""


def timed(command: Sequence[str | Path]) -> Cost:
    """Run a process to its end; its exit code may say that something was found."""
    start = time.perf_counter()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    process.returncode = code
    if code not in (0, 1):
        raise Refused(f"{command[-1]}: exit code {code}: {process.stderr.read()[-300:]}")
    wall = time.perf_counter() - start
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def stage(number: int) -> str:
    """One stage of a pipelined product in a scope of its own, its group left in flight."""
    lines = [f"$L_{number}:", "{", ".reg .b64 %a, %b, %k;", ".reg .pred %p;"]
    lines += [
        f"add.s64 %k, %rd2, {number * 2};",
        "and.b64 %k, %k, 16383;",
        "or.b64 %a, %k, %rd1;",
        "or.b64 %b, %k, %rd1;",
    ]
    lines += ["setp.ne.b32 %p, %r1, 0;", "wgmma.fence.sync.aligned;"]
    for k in range(4):
        lines += [f"add.s64 %a, %a, {2 * k};", f"add.s64 %b, %b, {2 * k};"]
        lines.append(f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{D}}}, %a, %b, %p, 1, 1, 0, 0;")
    lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
    lines += [f"add.s32 %r{2 + i}, %r1, {number + i};" for i in range(12)]
    lines += [
        f"setp.lt.s32 %p, %r2, {number};",
        f"@%p bra $L_{number};" if number % 4 == 0 else "// straight on",
        "}",
    ]
    return "\n".join(lines) + "\n"


def synthetic(lines: int) -> str:
    """A kernel of about so many lines: stages one after another, each fourth of them a loop."""
    head = (
        ".version 8.4\n.target sm_90a\n.address_size 64\n"
        ".visible .entry synthetic(.param .u64 out)\n{\n"
        ".reg .f32 %f<32>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
        "mov.u32 %r1, 1;\nmov.b64 %rd1, 4611686293305294848;\nmov.b64 %rd2, 0;\nld.param.u64 %rd3, [out];\n"
    )
    zeros = "".join(f"mov.f32 %f{i}, 0f00000000;\n" for i in range(32))
    stores = "".join(f"st.global.f32 [%rd3+{4 * i}], %f{i};\n" for i in range(32))
    each = stage(0).count("\n")
    body = "".join(map(stage, range(max(1, (lines - 80) // each))))
    return head + zeros + body + "wgmma.wait_group.sync.aligned 0;\n" + stores + "ret;\n}\n"


def assembled(ptxas: str, path: Path) -> Cost:
    """The cost of ptxas -O3 for a file, for the file's own target."""
    return timed((ptxas, "-O3", "-arch", target(path), "-o", "/dev/null", path))


def target(path: Path) -> str:
    """The target that a file names."""
    found = re.search(r"^\s*\.target\s+(\w+)", path.read_text(), re.MULTILINE)
    return found[1] if found else "sm_90a"


def readable(ptxas: str, path: Path) -> bool:
    """Whether an assembler knows the file's .version and .target."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder, "empty.ptx")
        found = re.search(r"^\.version.*$", path.read_text(), re.MULTILINE)
        arch = target(path)
        empty.write_text(f"{found[0] if found else ''}\n.target {arch}\n.address_size 64\n")
        command = (ptxas, "-arch", arch, "-o", "/dev/null", str(empty))
        return subprocess.run(command, capture_output=True).returncode == 0


def one_by_one(paths: Sequence[Path], ptxas: str, console: Console) -> bool:
    """Compare one file at a time."""
    table = Table("file", "lines", "check", "by the clock", "ptxas -O3", "by the clock", "limit", "")
    good = True
    for path in paths:
        ours, theirs = timed((*CHECK, path)), assembled(ptxas, path)
        limit = max(LEAST, theirs.cpu)
        good &= ours.cpu <= limit
        seconds = (ours.cpu, ours.wall, theirs.cpu, theirs.wall, limit)
        over = "" if ours.cpu <= limit else "OVER"
        lines = str(path.read_text().count("\n"))
        table.add_row(path.name[:50], lines, *(f"{value:.2f}" for value in seconds), over)
    console.print(table)
    return good


def together(paths: Sequence[Path], ptxas: str, console: Console) -> bool:
    """Compare all files in one call with ptxas on one after another, but for those that ptxas refuses."""
    theirs, taken = Cost(0, 0, 0), []
    for path in paths:
        try:
            theirs += assembled(ptxas, path)
        except Refused:
            continue
        taken.append(path)
    if len(taken) < len(paths):
        console.print(f"left out, refused by ptxas: {len(paths) - len(taken)} of {len(paths)} files")
    ours = timed((*CHECK, *taken))
    console.print(
        f"{len(taken)} files in one call: check {ours.cpu:.2f} s ({ours.wall:.2f} by the clock, "
        f"{ours.memory:.2f} GiB); ptxas {theirs.cpu:.2f} s ({theirs.wall:.2f} by the clock)"
    )
    console.print(f"check takes {ours.cpu / theirs.cpu:.2f} of what ptxas takes (limit {SHARE})")
    return ours.cpu <= SHARE * theirs.cpu


def sizes(largest: int) -> list[int]:
    """Lines of kernels, each with ten times as many as the one before, up to the largest."""
    found = [largest]
    while found[0] > SMALLEST:
        found.insert(0, max(found[0] // 10, SMALLEST))
    return found


def growing(largest: int, console: Console) -> bool:
    """Check synthetic kernels of growing size."""
    table = Table("lines", "seconds", "by the clock", "microseconds a line", "GiB", "bytes a line")
    rates: list[float] = []
    good = True
    idle = timed((*CHECK[:-1], "--version")).cpu  # the same for every size
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes(largest):
            path = Path(folder, f"{size}.ptx")
            path.write_text(synthetic(size))
            lines = path.read_text().count("\n")
            cost = timed((*CHECK, path))
            rates.append((cost.cpu - idle) / lines)
            good &= cost.cpu <= MINUTE and cost.memory <= MEMORY
            figures = (cost.cpu, cost.wall, rates[-1] * 1e6, cost.memory)
            a_line = f"{cost.memory * 2**30 / lines:.0f}"
            table.add_row(f"{lines:,}", *(f"{f:.2f}" for f in figures), a_line)
    console.print(table)
    least = min(rates[1:] or rates)  # of the smallest, most is what every call takes
    console.print(f"growth: the largest takes {rates[-1] / least:.2f} times the least time a line")
    return good and rates[-1] <= 1.5 * least


def newest() -> str | None:
    """The newest ptxas of this machine; None if it has none."""
    try:
        return str(locate().path)
    except Question:
        return None


def main() -> None:
    """Ask the three questions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--ptxas", default=newest(), help="the ptxas to compare with (default: the newest here)"
    )
    parser.add_argument(
        "--lines", type=int, default=1_000_000, help="the synthetic kernel's lines; 0 for none"
    )
    parser.add_argument(
        "--single", type=int, default=12, help="how many files are also timed alone; 0 for none"
    )
    args = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    paths = args.files or sorted(KERNELS.glob("*.ptx"))
    good = True
    if args.ptxas is None:
        console.print("no ptxas: nothing to compare with")
    else:
        known = [path for path in paths if readable(args.ptxas, path)]
        if len(known) < len(paths):
            console.print(
                f"left out, too new for this ptxas: {len(paths) - len(known)} of {len(paths)} files"
            )
        sample = sorted(known, key=lambda path: path.stat().st_size)
        sample = sample[:: max(1, len(sample) // max(1, args.single - 1))]
        timed((*CHECK, known[0]))  # writes the bytecode and the cache
        good = one_by_one(sample, args.ptxas, console) if args.single else True
        good &= together(known, args.ptxas, console)
    if args.lines:
        good &= growing(args.lines, console)
    raise SystemExit(not good)


if __name__ == "__main__":
    run_script(main)
