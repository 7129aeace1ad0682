"""Spoil the barriers, waits and fences of right kernels, one statement at a time, and count what is caught.

python bench/barrier_mutants.py [FILE…] [--files N] [--most N] [--seed N] [--litmus N] [--jobs N] [--list]
                                 [--minutes N] [--write]

Waits, parities, counts, arrivals, expected bytes, the numbers of barriers, groups of copies and proxy fences
are changed, by `barrier_edits.py`. A kernel is right if `ptxmma check` finds nothing loud in it. A mutant is
- `caught` if there is a new ERROR or LIKELY;
- `equivalent` if it is proven right, as the original is, with numbers with which threads come to the
  statement that was changed. Either `block_replay.py` replays all warps with numbers and shows that every
  schedule has the same phases, no race, and an end; or the mutant differs in the number of a barrier only,
  and no other statement names the old number or the new one;
- `reading` if the text leaves it open whether it is right, and `check` calls it undefined under the readings
  by which it is not: the block may end while a bulk store reads its shared memory; or the replay proves it
  right only if a wait of one warp covers the products of its warpgroup (where the text does not say how many
  threads a block has: with some number with which the original is right), or if .sync orders what a warp's
  threads have written;
- `missed` if the original is proven right, and the mutant is not; or if the text leaves that open, and
  `check` does not say so. A phase that expects other bytes of the same tensor copies than in the original
  is wrong;
- `not judged` if nobody says what is right: the original is not proven right, or a parameter says how many
  bytes a phase expects, so that the mutant is right for a host that passes another number.

What the text leaves open of a launch is tried in turn: threads of a block, blocks of a cluster, which blocks
of the grid, what memory holds, floating-point parameters. An original counts as launched so as it is proven
right.

Without FILE: the kernels of tests/kernels, the clean cases of tests/check/cases, and litmus tests.
--files N takes N of these, and --most N takes N mutants of each kind in each kernel, both drawn by the seed;
0: all. Each proof gets SECONDS of a processor. With --minutes N no mutant is begun after that time; those
that are not come to are not counted. --write writes the tables to docs/barrier-mutants.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import inf
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

import yaml
from barrier_edits import barrier_edits
from block_replay import SIZES, Proof, is_right, reached
from kernel_statements import Kernel, kernels
from mutant_table import print_counts
from warp_traces import Lanes

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY, READING
from ptxmma.cli.main import run_script
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.workers import pool

TESTS = Path(__file__).resolve().parents[1] / "tests"
PAGE = TESTS.parent / "docs" / "barrier-mutants.md"
COLUMNS = ("made", "caught", "equivalent", "reading", "not judged", "missed")
SECONDS = 120  # of a processor, for one proof
_BLOCKS = (128, 256, 512, 64, 32)  # threads of blocks whose size the text does not say
# Blocks of a cluster whose shape the text does not say, and words of global memory.
_CLUSTERS = ((1, 2, 1), (2, 1, 1), (2, 2, 1))
_WORDS = (1, 0)
_OTHER_FIRSTS = ((0, 1, 0), (1, 0, 0), (0, 4, 0), (4, 4, 0), (0, 0, 1), (1, 1, 1))  # blocks of the grid
_OTHER_SIZES = (64, 128, 192, 320, 576, 2, 5, 9, 1, 33)  # that lead to the ends of loops, or past them
_OTHER_WORDS = (None, 1, 0)
_FEW_SIZES = (5, 3)  # where a warpgroup is replayed as one: that takes longer
_MOST = 2  # mutants of each kind in each kernel


@dataclass(frozen=True)
class BarrierMutant:
    """A changed kernel: the file and its text, the kernel, what was changed and where, and the new text."""

    name: str
    before: str
    kernel: str
    kind: str
    start: int
    text: str

    @property
    def line(self) -> int:
        """The line of the change."""
        return self.before.count("\n", 0, self.start) + 1


@dataclass(frozen=True)
class BarrierOutcome:
    """What became of a mutant: a column of the table, and why, or which rules found it."""

    mutant: BarrierMutant
    column: str
    why: str

    def __str__(self) -> str:
        found = self.mutant
        return f"{found.name}:{found.line}: {found.kind}: {self.column}: {self.why}"


def mutants(name: str, text: str) -> Iterator[BarrierMutant]:
    """The mutants of the right kernels of a file."""
    loud = {function for function, _, tier, _ in findings(name, text) if tier in (ERROR, LIKELY)}
    for kernel in kernels(text):
        if kernel.name not in loud:
            for edit in barrier_edits(kernel, text):
                yield BarrierMutant(name, text, kernel.name, edit.kind, edit.start, edit.text)


@lru_cache(maxsize=8)
def findings(name: str, text: str) -> frozenset[tuple[str, str, str, int]]:
    """What `ptxmma check` finds: function, rule, tier, line."""
    return frozenset((f.function, f.rule, f.tier, f.place.line) for f in check_text(text, name).findings)


def outcome(mutant: BarrierMutant) -> BarrierOutcome:
    """What became of a mutant."""
    new = findings(mutant.name, mutant.text) - findings(mutant.name, mutant.before)
    rules = {
        tier: sorted({rule for _, rule, of, _ in new if of == tier}) for tier in (ERROR, LIKELY, READING)
    }
    for tier in (ERROR, LIKELY):
        if rules[tier]:
            return BarrierOutcome(mutant, "caught", f"{tier} {', '.join(rules[tier])}")
    column, why = judged(mutant)
    if column == "open":
        column, why = (
            ("reading", f"{why}: {', '.join(rules[READING])}") if rules[READING] else ("missed", why)
        )
    return BarrierOutcome(mutant, column, why)


def judged(mutant: BarrierMutant) -> tuple[str, str]:
    """What is known about a mutant that nobody catches: a column of the table, and why. `open`: the text
    can be read both ways.
    """
    before, after = (one(text, mutant.kernel) for text in (mutant.before, mutant.text))
    if mutant.kind == "barrier id changed" and is_renamed(before, after):
        return "equivalent", "renamed: no other statement names the old number of the barrier, or the new one"
    lanes: Lanes = "barriers" if mutant.kind.startswith("warp") else ""
    known = original(mutant.before, mutant.kernel, lanes)
    if known.why:
        return "not judged", f"the original is not proven right: {known.why}"
    changed = next(at for at, one in enumerate(before.statements) if one.start == mutant.start)
    launch, sizes = (known.kernel, known.sizes) if lanes else coming_to(mutant.before, mutant.kernel, changed)
    if not sizes:
        return "not judged", "with no number that is tried does a thread come to the statement"
    before, after = launched(before, launch), launched(after, launch)
    why, told = proof(after, sizes, known.together, lanes)
    if why == _LATE:
        return "not judged", why
    if why and lanes and not proof(after, sizes, known.together, "sync")[0]:
        return "open", "it is right if .sync orders what the threads of a warp have written"
    if why and not known.together and _waits_for_others(after, mutant, changed, sizes):
        return "open", "it is right if a wait of one warp covers the products of its warpgroup"
    if why:
        return "missed", why
    if told.boxes != proof(before, sizes, known.together)[1].boxes:
        if is_passed(before, changed):
            return "not judged", "a parameter says how many bytes the phase expects"
        return "missed", "a phase expects other bytes than in the original, of the same tensor copies"
    if told.unwaited > known.unwaited:
        return "open", "the text does not say whether a block may end before its bulk stores"
    return "equivalent", "replayed: every schedule of the warps has the same phases, no race, and an end"


def _waits_for_others(after: Kernel, mutant: BarrierMutant, changed: int, sizes: tuple[int, ...]) -> bool:
    """Whether a mutant is right if a wait of one warp covers the products of its warpgroup: with the numbers
    with which threads come to the change, or with some of them in a block of another size.
    """
    if not any("wgmma" in statement.name for statement in after.statements):
        return False
    few = _FEW_SIZES if set(sizes) == set(SIZES) else sizes
    return any(
        not proof(replace(after, threads=threads), few, together=True)[0]
        for threads in blocks(mutant.before, mutant.kernel, changed)
    )


_LATE = f"no proof within {SECONDS} seconds"


class LateError(Exception):
    """A proof has taken too long."""


def proof(
    kernel: Kernel, sizes: Sequence[int] = SIZES, together: bool = False, lanes: Lanes = ""
) -> tuple[str, Proof]:
    """Why a kernel is not proven right, empty if it is; and what the replay tells of it."""

    def stop(*_: object) -> None:
        raise LateError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return is_right(kernel, sizes, together, lanes)
    except LateError:
        return _LATE, Proof()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Original(NamedTuple):
    """What is known of an original: why it is not proven right, how many bulk stores no thread waits for, and
    as what it is launched, and with which numbers of parameters. `together`: it is right where one warp may
    wait for the products of its warpgroup.
    """

    why: str
    unwaited: int
    kernel: Kernel
    sizes: tuple[int, ...] = SIZES
    together: bool = False


@lru_cache(maxsize=8)
def original(text: str, name: str, lanes: Lanes = "") -> Original:
    """What `proof` says of the original. Where the text leaves open how it is launched, it is the first
    launch with which the original is proven right: with others it may not be launched.
    """
    kernel = one(text, name)
    why, told = proof(kernel, lanes=lanes)
    if not why or why == _LATE:
        return Original(why, told.unwaited, kernel)
    for other in launches(kernel, why):
        for sizes in (SIZES, SIZES[1:]):  # the largest may take too long
            without, found = proof(other, sizes, lanes=lanes)
            if not without:
                return Original("", found.unwaited, other, sizes)
            if without != _LATE:
                break
    if not lanes:
        without, found = proof(kernel, _FEW_SIZES, together=True)
        if not without:
            return Original("", found.unwaited, kernel, _FEW_SIZES, True)
    return Original(why, told.unwaited, kernel)


def launches(kernel: Kernel, why: str) -> Iterator[Kernel]:
    """Other ways to launch a kernel that is not proven right as it stands, for some reason."""
    if not kernel.sized:
        yield from (replace(kernel, threads=count) for count in _BLOCKS if count != kernel.threads)
    names = [statement.name for statement in kernel.statements]
    clusters = [*_CLUSTERS] if "the cluster lacks" in why and not kernel.clustered else []
    words = (None, *_WORDS) if any("ld.global" in name for name in names) else (None,)
    reals = any(name.startswith("ld.param.f") for name in names)
    fractions = (None, 0.0) if reals else (None,)
    for cluster, word, fraction in product((kernel.cluster, *clusters), words, fractions):
        if (cluster, word, fraction) != (kernel.cluster, None, None):
            yield replace(kernel, cluster=cluster, word=word, fraction=fraction)


def launched(kernel: Kernel, like: Kernel) -> Kernel:
    """A kernel, launched like another one."""
    return replace(
        kernel,
        threads=like.threads,
        cluster=like.cluster,
        first=like.first,
        word=like.word,
        fraction=like.fraction,
    )


@lru_cache(maxsize=64)
def blocks(text: str, name: str, statement: int) -> tuple[int, ...]:
    """Numbers of threads with which the original is right, and threads come to a statement of it. Where the
    text names none, a block may have any of these.
    """
    known = original(text, name).kernel
    others = (replace(known, threads=threads) for threads in _BLOCKS if threads != known.threads)
    return known.threads, *(
        other.threads
        for other in others
        if not known.sized
        and any(statement in reached(other, size) for size in _FEW_SIZES)
        and not proof(other)[0]
    )


@lru_cache(maxsize=64)
def coming_to(text: str, name: str, statement: int) -> tuple[Kernel, tuple[int, ...]]:
    """The original as it is launched, and numbers of parameters, with which it is right, and threads come to
    a statement of it; no numbers if there are none.
    """
    known = original(text, name)
    if any(statement in comes_to(text, name, known.kernel, size) for size in known.sizes):
        return known.kernel, known.sizes
    for size in _OTHER_SIZES:
        here = statement in comes_to(text, name, known.kernel, size)
        if here and not proof(known.kernel, (size,), known.together)[0]:
            return known.kernel, (*known.sizes, size)
    fractions = dict.fromkeys((known.kernel.fraction, None))
    for word, fraction, first in product(_OTHER_WORDS, fractions, ((0, 0, 0), *_OTHER_FIRSTS)):
        other = replace(known.kernel, first=first, word=word, fraction=fraction)
        for size in (*known.sizes, *_OTHER_SIZES[:3]):
            if (
                statement in comes_to(text, name, other, size)
                and not proof(other, (size,), known.together)[0]
            ):
                return other, (size,)
    return known.kernel, ()


# What `reached` has said, by kernel, launch and number of parameters.
_REACHED: dict[tuple[object, ...], frozenset[int]] = {}


def comes_to(text: str, name: str, kernel: Kernel, size: int) -> frozenset[int]:
    """The statements that count to which threads of an original come."""
    key = text, name, kernel.threads, kernel.cluster, kernel.first, kernel.word, kernel.fraction, size
    if key not in _REACHED:
        _REACHED[key] = reached(kernel, size)
    return _REACHED[key]


def one(text: str, name: str) -> Kernel:
    """The kernel of a name."""
    return next(kernel for kernel in kernels(text) if kernel.name == name)


def is_passed(kernel: Kernel, changed: int) -> bool:
    """Whether the last operand of a statement is a number that the host passes, as it stands."""
    operand = kernel.statements[changed].operands[-1]
    writers = [one.name for one in kernel.statements if one.operands[:1] == (operand,)]
    return bool(writers) and all(name.startswith("ld.param") for name in writers)


def is_renamed(before: Kernel, after: Kernel) -> bool:
    """Whether the only difference is the name of a barrier, which no other statement uses."""
    changed = [
        (old, new)
        for old, new in zip(before.statements, after.statements, strict=False)
        if (old.name, old.operands) != (new.name, new.operands)
    ]
    if len(before.statements) != len(after.statements) or len(changed) != 1:
        return False
    old, new = changed[0]
    names = {one.operands[0] for one in before.statements if is_named(one.name)}
    others = [one for one in before.statements if is_named(one.name) and one.operands[0] == old.operands[0]]
    return all(name.isdigit() for name in names) and len(others) == 1 and new.operands[0] not in names


def is_named(name: str) -> bool:
    """Whether an instruction is about a named barrier."""
    return name.startswith(("bar.", "barrier.")) and "warp" not in name and "cluster" not in name


def sources(litmus: int) -> Iterator[tuple[str, str]]:
    """The kernels by name: those of compilers, clean cases, and litmus tests with barriers."""
    for path in sorted((TESTS / "kernels").glob("*.ptx")):
        yield f"{path.parent.name}/{path.name}", path.read_text()
    cases = TESTS / "check" / "cases"
    for name, verdict in sorted(yaml.safe_load((cases / "verdicts.yaml").read_text()).items()):
        if verdict["verdict"] == "clean":
            yield f"cases/{name}.ptx", (cases / f"{name}.ptx").read_text()
    tests = [test for test in suite() if not test.hazards]
    texts = [(test.name, module([LitmusKernel("k", (), test.program)])) for test in tests]
    with_barriers = [(name, text) for name, text in texts if "mbarrier" in text or "cp.async" in text]
    for name, text in with_barriers[:: max(1, len(with_barriers) // litmus)] if litmus else ():
        yield f"litmus {name}", text


def sampled(made: list[BarrierMutant], every: int) -> list[BarrierMutant]:
    """One mutant in so many of each kind, the same ones each time."""
    seen: Counter[str] = Counter()
    kept = []
    for mutant in made:
        if seen[mutant.kind] % every == 0:
            kept.append(mutant)
        seen[mutant.kind] += 1
    return kept


def drawn(made: Iterable[BarrierMutant], most: int, seed: int) -> list[BarrierMutant]:
    """So many mutants of each kind in each kernel, the same ones for one seed; 0: all."""
    by_kind: dict[tuple[str, str, str], list[BarrierMutant]] = {}
    for mutant in made:
        by_kind.setdefault((mutant.name, mutant.kernel, mutant.kind), []).append(mutant)
    kept: list[BarrierMutant] = []
    for key, some in by_kind.items():
        count = min(most, len(some)) if most else len(some)
        kept += Random(f"{seed} {key}").sample(some, count)
    return kept


def judge_file(name: str, text: str, most: int, seed: int, until: float = inf) -> list[BarrierOutcome]:
    """What becomes of the mutants of one file; of those that are begun until some time."""
    if monotonic() > until:
        return []
    made = drawn(mutants(name, text), most, seed)
    return [outcome(mutant) for mutant in made if monotonic() < until]


def main() -> None:
    """Print how many mutants are caught, by kind and by kernel."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--files", type=int, default=0, dest="some", help="how many files; 0: all")
    parser.add_argument("--most", type=int, default=_MOST, help="mutants of each kind in each kernel; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--litmus", type=int, default=40, help="how many litmus tests; 0: none")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes work at once")
    parser.add_argument("--minutes", type=float, default=inf, help="after which no mutant is begun")
    parser.add_argument("--list", action="store_true", help="name every mutant that is not caught")
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    args = parser.parse_args()
    files = [(path.name, path.read_text()) for path in args.files] or list(sources(args.litmus))
    files = Random(args.seed).sample(files, min(args.some or len(files), len(files)))
    outcomes: list[BarrierOutcome] = []
    with pool(args.jobs) as executor:
        until = monotonic() + 60 * args.minutes
        tasks = [executor.submit(judge_file, *file, args.most, args.seed, until) for file in files]
        for number, task in enumerate(as_completed(tasks), 1):
            outcomes += task.result()
            print(f"{number} of {len(tasks)} files", end="\r", file=sys.stderr, flush=True)
    outcomes.sort(key=lambda found: (found.mutant.name, found.mutant.line, found.mutant.kind))
    report(outcomes)
    if args.list:
        for found in outcomes:
            if found.column != "caught":
                print(found)
    if args.write:
        PAGE.write_text(page(outcomes, " ".join(sys.argv[1:])))


def report(outcomes: Sequence[BarrierOutcome]) -> None:
    """The tables by kind and by kernel, with a line for all."""
    for key in (_file_of, _kind_of):
        print_counts(counted(outcomes, key), COLUMNS)
    for line in shares(outcomes):
        print(line)


def counted(
    outcomes: Iterable[BarrierOutcome], key: Callable[[BarrierOutcome], str]
) -> dict[str, Counter[str]]:
    """How often each column occurs, by some key."""
    counts: dict[str, Counter[str]] = {}
    for found in outcomes:
        counts.setdefault(key(found), Counter()).update(("made", found.column))
    return counts


def shares(outcomes: Iterable[BarrierOutcome]) -> Iterator[str]:
    """What share of the mutants is caught: of those that are wrong under every reading of the text; and what
    share is reported of all that are not equivalent.
    """
    total = Counter(found.column for found in outcomes)
    others = sum(total.values()) - total["equivalent"]
    caught, reported = total["caught"], total["caught"] + total["reading"]
    wrong = caught + total["missed"]
    if wrong:
        yield f"{caught} of {wrong} mutants that are judged wrong are caught: {caught / wrong:.2%}"
    if others:
        yield (
            f"{reported} of {others} mutants that are not proven equivalent are caught, or called undefined "
            f"under the readings by which they are: {reported / others:.2%}"
        )


def page(outcomes: Sequence[BarrierOutcome], words: str) -> str:
    """The page of the tables, with the reasons. `words` are those of the command."""
    lines = ["# What `ptxmma check` sees when a barrier, a wait or a fence is spoilt", ""]
    names = {found.mutant.name for found in outcomes}
    lines += [f"`python bench/barrier_mutants.py {words}` wrote this page;"]
    lines += [f"its first lines say what the columns mean. It came to {len(names)} files."]
    lines += ["", *shares(outcomes), ""]
    for what, key in (("kind", _kind_of), ("file", _file_of)):
        lines += [f"| {what} | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
        for name, count in sorted(counted(outcomes, key).items()):
            lines.append(f"| {name} | {' | '.join(str(count[column]) for column in COLUMNS)} |")
        lines.append("")
    lines += ["| outcome | why | mutants |", "|---|---|---|"]
    reasons = Counter((found.column, found.why) for found in outcomes if found.column != "caught")
    lines += [f"| {column} | {why} | {count} |" for (column, why), count in sorted(reasons.items())]
    return "\n".join(lines) + "\n"


def _kind_of(found: BarrierOutcome) -> str:
    return found.mutant.kind


def _file_of(found: BarrierOutcome) -> str:
    return found.mutant.name


if __name__ == "__main__":
    from barrier_mutants import main  # other processes find the functions under this name

    run_script(main)
