"""Spoil what right kernels do with tensor memory, one statement at a time, and count what is said of it.

python bench/tensor_mutants.py FILE… [--most N] [--seed N] [--list]

Deallocations are deleted, doubled, or given another number of columns; the permit to allocate is given up
before the allocation; one instruction gets the other .cta_group; waits for loads are deleted, or come behind
a use of what is loaded; a register of a load is written before its wait. The columns say the highest tier of
what `ptxmma check` finds anew.
A read before the wait gets what is loaded (9.7.16.6.4.5), so that is a remark (info).
--most N takes N mutants of each kind in each kernel, drawn by the seed; 0: all.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from kernel_statements import Kernel, Statement, kernels
from mutant_table import print_counts

from ptxmma.check.check_file import FileReport, check_text
from ptxmma.check.findings import TIERS
from ptxmma.cli.main import run_script
from ptxmma.spec.effects import load_effects

COLUMNS = ("made", *TIERS, "nothing")
_GROUP = re.compile(r"(?<=\.cta_group::)[12]")
_REGISTER = re.compile(r"%\w+")
_AMOUNT = re.compile(r"[^,\s]+(?=\s*;)")
Spoilt = tuple[str, int, str]  # the kind, where it is, and the text of the file


def does(statement: Statement) -> str:
    """What a statement does beside its registers."""
    return load_effects().action(statement.name).does


def spoilt(text: str, kernel: Kernel) -> Iterator[Spoilt]:
    """Every mutant of one kernel."""
    allocations = [one for one in kernel.statements if does(one) == "allocate"]
    loaded: list[str] = []
    for index, one in enumerate(kernel.statements):
        words = text[one.start : one.end]
        match does(one):
            case "fetch":
                loaded = _REGISTER.findall(words.partition("}")[0])
            case "fetch-wait":
                yield "wait for loads deleted", one.start, _put(text, one, "")
                use = _next_use(kernel, index, loaded)
                if use is not None:
                    moved = text[use.start : use.end] + words
                    without = text[: one.start] + text[one.end : use.start] + moved + text[use.end :]
                    yield "wait for loads moved behind a use", one.start, without
                if loaded:
                    yield (
                        "register of a load written",
                        one.start,
                        _put(text, one, _zero(text, loaded[0]) + words),
                    )
            case "deallocate":
                yield "deallocation deleted", one.start, _put(text, one, "")
                yield "deallocation twice", one.start, _put(text, one, words * 2)
                yield "other number of columns", one.start, _put(text, one, _AMOUNT.sub("32", words))
                other = _GROUP.sub(lambda found: "12"["21".index(found[0])], words)
                yield "other group", one.start, _put(text, one, other)
            case "end-allocation" if allocations and allocations[0].start < one.start:
                first = allocations[0]
                yield (
                    "permit given up first",
                    first.start,
                    _put(text, first, words + text[first.start : first.end]),
                )


def _put(text: str, one: Statement, instead: str) -> str:
    return text[: one.start] + instead + text[one.end :]


def _zero(text: str, register: str) -> str:
    """A move of zero into a register, by the letters of its name."""
    return f"mov.f32 {register}, 0f00000000; " if register.startswith("%f") else f"mov.b32 {register}, 0; "


def _next_use(kernel: Kernel, index: int, loaded: list[str]) -> Statement | None:
    """The statement behind another one that reads what was loaded, up to the next label."""
    labels = set(kernel.labels.values())
    for at in range(index + 1, len(kernel.statements)):
        one = kernel.statements[at]
        if at in labels or not one.operands:
            return None
        read = _REGISTER.findall(" ".join(one.operands[1:]))
        if not set(loaded).isdisjoint(read):
            return one
    return None


def counted(report: FileReport) -> Counter[tuple[str, str]]:
    """How often each rule finds something in each function."""
    found = Counter[tuple[str, str]]()
    for one in report.findings:
        found[one.rule, one.function] += 1 + one.more
    return found


def tier(before: FileReport, after: FileReport) -> str:
    """The highest tier of what is found anew."""
    if after.faults:
        return "unreadable"
    known, new = counted(before), counted(after)
    fresh = {rule for rule in new if new[rule] > known[rule]}
    tiers = {one.tier for one in after.findings if (one.rule, one.function) in fresh}
    return next((name for name in TIERS if name in tiers), "nothing")


def main() -> None:
    """Judge the mutants of the files, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print each mutant about which nothing is said")
    args = parser.parse_args()
    draw, counts = Random(args.seed), dict[str, Counter[str]]()
    for path in args.files:
        text = path.read_text()
        before = check_text(text, path.name)
        for kernel in kernels(text):
            kinds: dict[str, list[Spoilt]] = {}
            for mutant in spoilt(text, kernel):
                if mutant[2] != text:
                    kinds.setdefault(mutant[0], []).append(mutant)
            for kind, mutants in kinds.items():
                chosen = draw.sample(mutants, min(args.most, len(mutants))) if args.most else mutants
                for _, start, changed in chosen:
                    found = tier(before, check_text(changed, path.name))
                    counts.setdefault(kind, Counter()).update(("made", found))
                    if args.list and found == "nothing":
                        print(f"{path}:{text[:start].count(chr(10)) + 1}: {kind}")
    print_counts(counts, COLUMNS)


if __name__ == "__main__":
    run_script(main)
