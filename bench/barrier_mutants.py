"""Spoil the barriers, waits and fences of right kernels, one statement at a time, and count what is caught.

python bench/barrier_mutants.py [FILE…] [--every N] [--litmus N] [--jobs N] [--list]

Waits, parities, counts, arrivals, expected bytes, the numbers of barriers, groups of copies and proxy fences
are changed, by `barrier_edits.py`. A kernel is right if `ptxmma check` finds nothing in it. A mutant is
caught if there is a new ERROR or LIKELY. Of the others,
- `equivalent` are those that `block_replay.py` proves right, as it does the original: with numbers, in every
  schedule of the warps; or that differ in the name of a barrier only;
- `not shown` are those that expect other bytes of tensor copies: a tensor map, which the PTX does not show,
  says how many they bring;
- `reading` are those that `check` calls undefined under some readings of the text;
- all others are missed.

Without FILE: the kernels of tests/kernels, the clean cases of tests/check/cases, and litmus tests.
--every N takes one mutant in N of each kind.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from barrier_edits import barrier_edits
from block_replay import is_right
from kernel_statements import Kernel, kernels
from mutant_table import print_counts

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY, READING
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.workers import pool

TESTS = Path(__file__).resolve().parents[1] / "tests"
COLUMNS = ("made", "equivalent", "not shown", "caught", "reading", "missed")
_FUNCTION = 4_000  # statements of a kernel that is walked thread by thread, at most


@dataclass(frozen=True)
class BarrierMutant:
    """A changed kernel: the file and its text, the kernel, what was changed, its line, and the new text."""

    name: str
    before: str
    kernel: str
    kind: str
    line: int
    text: str


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
                line = text.count("\n", 0, edit.start) + 1
                yield BarrierMutant(name, text, kernel.name, edit.kind, line, edit.text)


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
    if mutant.kind.startswith("bytes") and tensor_copies(mutant):
        return BarrierOutcome(mutant, "not shown", "a tensor map says how many bytes are copied")
    why = proof(mutant)
    if not why:
        return BarrierOutcome(mutant, "equivalent", "proven right, as the original")
    if rules[READING]:
        return BarrierOutcome(mutant, "reading", ", ".join(rules[READING]))
    return BarrierOutcome(mutant, "missed", why)


def proof(mutant: BarrierMutant) -> str:
    """Why a mutant is not proven to be as right as the original; empty if it is."""
    before, after = (one(text, mutant.kernel) for text in (mutant.before, mutant.text))
    if mutant.kind == "barrier id changed" and is_renamed(before, after):
        return ""
    if max(len(before.statements), len(after.statements)) > _FUNCTION:
        return "too many statements to be walked"
    if why := original(mutant.before, mutant.kernel):
        return f"the original is not proven right: {why}"
    return is_right(after)


@lru_cache(maxsize=8)
def original(text: str, name: str) -> str:
    """Why the original is not proven right; empty if it is."""
    return is_right(one(text, name))


def one(text: str, name: str) -> Kernel:
    """The kernel of a name."""
    return next(kernel for kernel in kernels(text) if kernel.name == name)


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
    """Whether an instruction is about a barrier with a number."""
    return name.startswith(("bar.", "barrier.")) and "warp" not in name and "cluster" not in name


def tensor_copies(mutant: BarrierMutant) -> bool:
    """Whether the kernel's copies bring as many bytes as a tensor map says."""
    copies = [
        s.name for s in one(mutant.before, mutant.kernel).statements if s.name.startswith("cp.async.bulk")
    ]
    return any(".tensor" in name for name in copies)


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


def main() -> None:
    """Print how many mutants are caught, by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one mutant in so many of each kind")
    parser.add_argument("--litmus", type=int, default=40, help="how many litmus tests; 0: none")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes work at once")
    parser.add_argument("--list", action="store_true", help="name every mutant that is not caught")
    args = parser.parse_args()
    files = [(path.name, path.read_text()) for path in args.files] or list(sources(args.litmus))
    with pool(args.jobs) as executor:
        listed = list(executor.map(_listed, *zip(*files, strict=True)))
        made = sampled([mutant for found in listed for mutant in found], args.every)
        outcomes = list(executor.map(outcome, made, chunksize=8))
    report(outcomes)
    if args.list:
        for found in outcomes:
            if found.column in ("missed", "reading", "equivalent"):
                print(found)


def _listed(name: str, text: str) -> list[BarrierMutant]:
    return list(mutants(name, text))


def report(outcomes: list[BarrierOutcome]) -> None:
    """The table, with a line for all kinds."""
    counts: dict[str, Counter[str]] = {}
    for found in outcomes:
        count = counts.setdefault(found.mutant.kind, Counter())
        count["made"] += 1
        count[found.column] += 1
    total = print_counts(counts, COLUMNS)
    others = total["caught"] + total["missed"]
    if others:
        share = total["caught"] / others
        print(f"{total['caught']} of {others} mutants that are not proven equivalent are caught: {share:.2%}")


if __name__ == "__main__":
    from barrier_mutants import main  # other processes find the functions under this name

    main()
