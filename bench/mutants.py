"""Break every correct kernel of the corpus, one statement at a time, and count what `ptxmma check` catches.

python bench/mutants.py [FILE…] [--seconds N] [--list]

Each wgmma.fence, commit, wait and proxy fence is deleted, moved or weakened, and neighbouring groups are
swapped. The abstract program of a mutant's path (`kernel_trace.py`) says whether it is another kernel: the
operational machine shows two results, or proves that there is one. What it cannot search to the end in N
seconds is judged by the axioms, which their theorem ties to the machine, and is counted apart.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_trace import Kernel, NoTrace, Statement, kernels, program
from rich.console import Console
from rich.table import Table

from ptxmma.formal.axioms import Hazard, hazards
from ptxmma.formal.machine import differ
from ptxmma.formal.programs import Program
from ptxmma.formal.readings import conduct
from ptxmma.spec.ordering import ordering

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
# Compilers fence on the side of the thread that multiplies; the other reading is the checker's --strict.
READINGS = ordering().readings({"proxy-fence-side": "either"})


@dataclass(frozen=True)
class Mutant:
    """A changed file: what was changed, where, and the path's program after it."""

    file: Path
    kernel: str
    kind: str
    line: int
    text: str
    program: Program


@dataclass(frozen=True)
class Verdict:
    """Whether a mutant behaves differently, and who says so: `machine` or `axioms`."""

    differs: bool
    by: str
    rules: tuple[str, ...]


class Late(Exception):
    """The machine was not done in time."""


def valued(found: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """The hazards that can change a value."""
    return tuple(hazard for hazard in found if ordering().rules[hazard.rule].effect == "values")


def edits(kernel: Kernel, text: str) -> Iterator[tuple[str, int, str]]:
    """Every mutant of a kernel: its kind, its place, and the new text, in which lines keep their numbers."""

    def blank(statement: Statement) -> str:
        return "\n" * text[statement.start : statement.end].count("\n")

    def put(*changes: tuple[int, int, str]) -> str:
        new = text
        for start, end, words in sorted(changes, reverse=True):
            new = new[:start] + words + new[end:]
        return new

    def after(index: int, *names: str) -> Statement | None:
        for statement in kernel.statements[index + 1 :]:
            if statement.name.startswith(names):
                return statement
        return None

    for index, statement in enumerate(kernel.statements):
        words = text[statement.start : statement.end]
        moves: tuple[str, ...] = ()
        if statement.name.startswith("wgmma.fence"):
            kind, moves = "fence", ("wgmma.mma_async",)
        elif statement.name.startswith("wgmma.commit_group"):
            kind, moves = "commit", ("wgmma.wait_group",)
        elif statement.name.startswith("wgmma.wait_group"):
            kind, moves = "wait", ("wgmma.fence", "wgmma.mma_async")
            n = int(statement.operands[0])
            weaker = words[: words.rindex(str(n))] + f"{n + 1};"
            yield "wait N + 1", statement.start, put((statement.start, statement.end, weaker))
        elif statement.name.startswith("fence.proxy.async") and ".global" not in statement.name:
            kind, moves = "proxy fence", ("wgmma.mma_async",)
            weaker = words.replace(statement.name, "fence.proxy.async.global")
            yield "proxy fence weakened", statement.start, put((statement.start, statement.end, weaker))
        else:
            continue
        yield f"{kind} deleted", statement.start, put((statement.start, statement.end, blank(statement)))
        if moves and (target := after(index, *moves)) is not None:
            there = (target.end, target.end, " " + " ".join(words.split()))
            yield (
                f"{kind} moved",
                statement.start,
                put((statement.start, statement.end, blank(statement)), there),
            )
    yield from swapped(kernel, text)


def swapped(kernel: Kernel, text: str) -> Iterator[tuple[str, int, str]]:
    """Two neighbouring groups change places, where one stretch of statements holds both."""
    group: list[Statement] = []
    last: list[Statement] = []
    for index, statement in enumerate(kernel.statements):
        if index in kernel.labels.values() or statement.name.startswith(("bra", "wgmma.wait", "wgmma.fence")):
            if not statement.name.startswith("wgmma.fence"):
                last = []
            group = []
        elif statement.name.startswith("wgmma.mma_async"):
            group.append(statement)
        elif statement.name.startswith("wgmma.commit"):
            if last and group and len(last) == len(group):
                new = text
                for one, other in sorted(zip(last, group, strict=True), key=lambda pair: -pair[1].start):
                    first, second = text[one.start : one.end], text[other.start : other.end]
                    if first.count("\n") != second.count("\n"):
                        break
                    new = new[: other.start] + first + new[other.end :]
                for one, other in sorted(zip(last, group, strict=True), key=lambda pair: -pair[0].start):
                    new = new[: one.start] + text[other.start : other.end] + new[one.end :]
                yield "groups swapped", group[0].start, new
            last, group = group, []


def correct(path: Path) -> Iterator[tuple[Kernel, Program]]:
    """The kernels of a file with a path that has no hazard."""
    for kernel in kernels(path.read_text()):
        if not any(statement.name.startswith("wgmma.mma_async") for statement in kernel.statements):
            continue
        try:
            found = program(kernel)
        except NoTrace:
            continue
        if not valued(hazards(found, READINGS)):
            yield kernel, found


def mutants(path: Path) -> Iterator[Mutant]:
    """The mutants of a file's correct kernels whose path they change."""
    text = path.read_text()
    for kernel, original in correct(path):
        for kind, place, new in edits(kernel, text):
            changed = next((k for k in kernels(new) if k.name == kernel.name), None)
            if changed is None:
                continue
            try:
                found = program(changed)
            except NoTrace:
                continue
            if found != original:
                yield Mutant(path, kernel.name, kind, text.count("\n", 0, place) + 1, new, found)


def judge(mutant: Mutant, seconds: int) -> Verdict:
    """Whether a mutant behaves differently."""
    found = valued(hazards(mutant.program, READINGS))
    rules = tuple(sorted({hazard.rule for hazard in found}))

    def late(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        machine = conduct(READINGS)
        if found:
            first = min(found, key=lambda hazard: hazard.steps[-1])
            prefix = Program(mutant.program.steps[: first.steps[-1] + 1])
            differs = differ(prefix, machine, first.steps[0]) is not None
        else:
            differs = differ(mutant.program, machine) is not None
        return Verdict(differs, "machine", rules)
    except Late:
        return Verdict(bool(found), "axioms", rules)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def findings(paths: Sequence[Path]) -> dict[str, set[tuple[str, str, str, int]]]:
    """By file: what `ptxmma check` finds (function, rule, tier, line), at its default strictness."""
    command = [sys.executable, "-m", "ptxmma", "check", "--format", "json", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.strip()[-500:])
    return {
        file["file"]: {(f["function"], f["rule"], f["tier"], f["line"]) for f in file["findings"]}
        for file in json.loads(done.stdout)["files"]
    }


def main() -> None:
    """Print how many mutants are caught, by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seconds", type=int, default=2, help="how long the machine may take for one mutant")
    parser.add_argument(
        "--list", action="store_true", help="name those missed, and those flagged though the same"
    )
    args = parser.parse_args()
    paths = args.files or sorted(KERNELS.glob("*.ptx"))
    counts: dict[str, Counter[str]] = {}
    missed, flagged = [], []
    before = findings(paths)
    for path in paths:
        found = list(mutants(path))
        verdicts = [judge(mutant, args.seconds) for mutant in found]
        with tempfile.TemporaryDirectory() as folder:
            written = [Path(folder, f"{number}.ptx") for number in range(len(found))]
            for place, mutant in zip(written, found, strict=True):
                place.write_text(mutant.text)
            after = findings(written) if written else {}
        for place, mutant, verdict in zip(written, found, verdicts, strict=True):
            new = {f for f in after[str(place)] - before[str(path)] if f[0] == mutant.kernel}
            loud = any(tier in ("error", "likely") for _, _, tier, _ in new)
            count = counts.setdefault(mutant.kind, Counter())
            count["all"] += 1
            count[f"{'other' if verdict.differs else 'same'} by {verdict.by}"] += 1
            if verdict.differs:
                count["caught"] += loud
                count["strict only"] += not loud and any(tier == "strict" for _, _, tier, _ in new)
                if not loud:
                    missed.append((mutant, verdict))
            else:
                count["flagged though the same"] += loud
                if loud:
                    flagged.append((mutant, verdict))
    report(counts)
    if args.list:
        for mutant, verdict in missed:
            print(f"missed: {mutant.file.name}:{mutant.line}: {mutant.kind}: {', '.join(verdict.rules)}")
        for mutant, verdict in flagged:
            print(f"flagged: {mutant.file.name}:{mutant.line}: {mutant.kind}: the same by the {verdict.by}")


def report(counts: dict[str, Counter[str]]) -> None:
    """The table, with a line for all kinds."""
    columns = ("all", "other by machine", "other by axioms", "same by machine", "same by axioms", "caught",
               "strict only", "flagged though the same")  # fmt: skip
    total: Counter[str] = sum(counts.values(), Counter())
    table = Table("mutants", *columns)
    for kind, count in [*sorted(counts.items()), ("together", total)]:
        table.add_row(kind, *(str(count[column]) for column in columns))
    Console(width=None if sys.stdout.isatty() else 130, highlight=False).print(table)
    others = total["other by machine"] + total["other by axioms"]
    if others:
        share = total["caught"] / others
        print(f"{total['caught']} of {others} mutants that behave differently are caught: {share:.2%}")


if __name__ == "__main__":
    main()
