"""Break every correct kernel of the corpus, one statement at a time, and count what `ptxmma check` catches.

python bench/mutants.py [FILE…] [--seconds N] [--jobs N | --scheduler ADDRESS] [--list]

Each wgmma.fence, commit, wait and proxy fence, and each commit and wait of cp.async, is deleted, moved or
weakened, and neighbouring groups are swapped. A kernel is correct when the checker finds nothing in it and
its abstract programs (`kernel_trace.py`) have no hazard; the others are named, with the reason. The abstract
programs of a mutant, one a path, say whether it is another kernel: the operational machine shows two
results, or proves that there is one. What it cannot search to the end in N seconds is judged by the axioms,
which their theorem ties to the machine, and is counted apart.

With --scheduler a Dask cluster does the work; its scheduler and workers have bench/ on PYTHONPATH, and see
the same files.
"""

from __future__ import annotations

import argparse
import ctypes
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernel_trace import Kernel, NoTrace, Statement, WalkPlan, abstract, kernels, program, walks
from mutant_table import print_counts

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import TIERS
from ptxmma.cli.main import run_script
from ptxmma.formal.ordering.axioms import Hazard, hazards
from ptxmma.formal.ordering.programs import Program
from ptxmma.formal.ordering.schedules import differ
from ptxmma.spec.ordering import ordering
from ptxmma.spec.workers import dask_cluster, pool

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
# Compilers fence on the side of the thread that multiplies. Under the other reading, that is undefined.
PATHS = 3
_TICK = 0.05  # seconds between two looks at the clock
LOUD = ("error", "likely")
READINGS = ordering().readings({"proxy-fence-side": "either"})


@dataclass(frozen=True)
class Mutant:
    """A changed file: which kernel, what was changed, and where."""

    file: Path
    kernel: str
    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class Verdict:
    """Whether a mutant behaves differently, and who says so: `machine` or `axioms`."""

    differs: bool
    by: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutant: the verdict on it, and the highest tier among its new findings."""

    mutant: Mutant
    verdict: Verdict
    tier: str

    @property
    def caught(self) -> bool:
        return self.tier in LOUD


class Late(Exception):
    """The machine did not finish in time."""


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
            n = int(statement.operands[0], 0)
            weaker = words[: words.rindex(statement.operands[0])] + f"{n + 1};"
            yield "wait N + 1", statement.start, put((statement.start, statement.end, weaker))
        elif statement.name.startswith("cp.async.commit_group"):
            kind, moves = "copy commit", ("cp.async.wait",)
        elif statement.name.startswith("cp.async.wait"):
            kind, moves = "copy wait", ("wgmma.mma_async",)
            n = int(statement.operands[0], 0) if statement.operands else 0
            weaker = f"cp.async.wait_group {n + 1};"
            yield "copy wait N + 1", statement.start, put((statement.start, statement.end, weaker))
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


@dataclass(frozen=True)
class Original:
    """A kernel with the paths that are walked and their programs; why it is not correct, if it is not."""

    kernel: Kernel
    paths: tuple[tuple[WalkPlan, Program], ...]
    why: str = ""


@lru_cache(maxsize=4)
def originals(path: Path) -> dict[str, Original]:
    """The kernels of a file that have a wgmma, by name."""
    loud = {function: rule for function, rule, tier, _ in sorted(before(path)) if tier in LOUD}
    return {
        kernel.name: _original(kernel, loud.get(kernel.name, ""))
        for kernel in kernels(path.read_text())
        if any(statement.name.startswith("wgmma.mma_async") for statement in kernel.statements)
    }


def _original(kernel: Kernel, loud: str) -> Original:
    """A kernel with some walks, each without a hazard, and each with statements that the others have not."""
    if loud:
        return Original(kernel, (), f"the checker finds {loud}")
    paths: list[tuple[WalkPlan, Program]] = []
    covered: set[object] = set()
    why = ""
    try:
        for walk in walks(kernel):
            if covered >= walk.covered or len(paths) == PATHS:
                continue
            found = abstract(walk)
            rules = {hazard.rule for hazard in valued(hazards(found, READINGS))}
            if rules:
                why = why or f"its trace has {', '.join(sorted(rules))}"
            else:
                paths.append((walk.plan, found))
                covered |= walk.covered
    except NoTrace as error:
        why = str(error)
    return Original(kernel, tuple(paths), "" if paths else why)


def mutants(path: Path) -> Iterator[Mutant]:
    """The mutants of a file's correct kernels."""
    text = path.read_text()
    for original in originals(path).values():
        if original.paths:
            for kind, place, new in edits(original.kernel, text):
                yield Mutant(path, original.kernel.name, kind, text.count("\n", 0, place) + 1, new)


def changed(mutant: Mutant) -> list[Program]:
    """The programs of a mutant's paths that are not the original's."""
    (kernel,) = (kernel for kernel in kernels(mutant.text) if kernel.name == mutant.kernel)
    found = []
    for plan, before in originals(mutant.file)[mutant.kernel].paths:
        try:
            after = program(kernel, plan)
        except NoTrace:
            continue
        if after != before:
            found.append(after)
    return found


def judge(path: Program, seconds: int) -> Verdict:
    """Whether a mutant's path behaves differently."""
    found = valued(hazards(path, READINGS))
    rules = tuple(sorted({hazard.rule for hazard in found}))
    if not seconds:
        return Verdict(bool(found), "axioms", rules)

    try:
        with at_most(seconds):
            machine = ordering().conduct(READINGS)
            if found:
                first = min(found, key=lambda hazard: hazard.steps[-1])
                prefix = Program(path.steps[: first.steps[-1] + 1])
                differs = differ(prefix, machine, first.steps[0]) is not None
            else:
                differs = differ(path, machine) is not None
        return Verdict(differs, "machine", rules)
    except Late:
        return Verdict(bool(found), "axioms", rules)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise Late inside once this thread has worked so long; signals reach the main thread only."""
    thread, done = threading.get_ident(), threading.Event()
    clock = time.pthread_getcpuclockid(thread)
    end = time.clock_gettime(clock) + seconds

    def post(error: type[Exception] | None) -> None:
        pending = ctypes.py_object(error) if error else None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), pending)

    def watch() -> None:
        while not done.wait(_TICK):
            if time.clock_gettime(clock) > end:
                post(Late)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        post(None)  # it may have been posted since


def findings(name: str, text: str) -> set[tuple[str, str, str, int]]:
    """What `ptxmma check` finds in a file: function, rule, tier, line."""
    return {(f.function, f.rule, f.tier, f.place.line) for f in check_text(text, name).findings}


@lru_cache(maxsize=4)
def before(path: Path) -> set[tuple[str, str, str, int]]:
    """The findings in the unchanged file."""
    return findings(str(path), path.read_text())


def outcome(mutant: Mutant, seconds: int) -> Outcome | None:
    """The outcome of a mutant; None where its paths are the original's."""
    verdict = None
    for path in changed(mutant):
        verdict = judge(path, seconds)
        if verdict.differs:
            break
    if verdict is None:
        return None
    found = findings(str(mutant.file), mutant.text) - before(mutant.file)
    tiers = {tier for function, _, tier, _ in found if function == mutant.kernel}
    return Outcome(mutant, verdict, next((tier for tier in TIERS if tier in tiers), ""))


def main() -> None:
    """Print how many mutants are caught, by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--seconds",
        type=int,
        default=2,
        help="how long the machine may take for one mutant; 0: the axioms judge",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=2, help="how many processes work at once")
    where.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster's scheduler")
    parser.add_argument(
        "--list", action="store_true", help="name those missed, and those flagged though the same"
    )
    args = parser.parse_args()
    paths = args.files or sorted(KERNELS.glob("*.ptx"))
    with dask_cluster(args.scheduler) if args.scheduler else pool(args.jobs) as executor:
        listed = list(executor.map(_listed, [path.resolve() for path in paths]))
        made = [mutant for found, _ in listed for mutant in found]
        seconds = [args.seconds] * len(made)
        outcomes = [found for found in executor.map(outcome, made, seconds, chunksize=8) if found is not None]
    judged = [name for _, names in listed for name, why in names if not why]
    print(
        f"{len(judged)} correct kernels, {len(made)} mutants of them, "
        f"{len(outcomes)} of which change a path that is walked"
    )
    for name, why in (pair for _, names in listed for pair in names if pair[1]):
        print(f"not judged: {name}: {why}")
    counts: dict[str, Counter[str]] = {}
    for found in outcomes:
        verdict, count = found.verdict, counts.setdefault(found.mutant.kind, Counter())
        count["all"] += 1
        count[f"{'other' if verdict.differs else 'same'} by {verdict.by}"] += 1
        if verdict.differs:
            count["caught"] += found.caught
            count["by a reading only"] += found.tier == "reading"
        else:
            count["flagged though the same"] += found.caught
    report(counts)
    if args.list:
        for found in outcomes:
            mutant, verdict = found.mutant, found.verdict
            place = f"{mutant.file.name}:{mutant.line}: {mutant.kind}"
            if verdict.differs and not found.caught:
                print(f"missed: {place}: {', '.join(verdict.rules)}; {found.tier or 'nothing'} is found")
            elif found.caught and not verdict.differs:
                print(f"flagged: {place}: the same by the {verdict.by}")


def _listed(path: Path) -> tuple[list[Mutant], list[tuple[str, str]]]:
    """The mutants of a file, and its kernels, each with why it is not judged."""
    names = [(f"{path.stem} {name[:40]}", found.why) for name, found in originals(path).items()]
    return list(mutants(path)), names


def report(counts: dict[str, Counter[str]]) -> None:
    """The table, with a line for all kinds."""
    columns = ("all", "other by machine", "other by axioms", "same by machine", "same by axioms", "caught",
               "by a reading only", "flagged though the same")  # fmt: skip
    total = print_counts(counts, columns)
    others = total["other by machine"] + total["other by axioms"]
    if others:
        share = total["caught"] / others
        print(f"{total['caught']} of {others} mutants that behave differently are caught: {share:.2%}")


if __name__ == "__main__":
    from mutants import main  # other processes find the functions under this name

    run_script(main)
