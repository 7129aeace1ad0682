"""Where each rule of `ptxmma check` was seen to fire rightly, to stay silent rightly, and to be needed.

python bench/rule_evidence.py [--every N] [--jobs N] [--only SOURCE…] [--write]

Kernels of five sources are checked: the examples of the rules, litmus tests (the models say which are
undefined), the judged cases of tests/check/cases, the kernels of tests/kernels (tests/kernels/FINDINGS.md
judges what is found there), and mutants of right cases (one in N). In each source, a rule
- fired rightly in wrong kernels in which it is found,
- was silent rightly in right kernels, in which it is not found,
- is needed in wrong kernels in which no other rule finds anything of its tier or a higher one. A remark
  (`info`) accuses nothing: it is needed where there is no other remark.
--only asks these sources alone; the other cells stay as they stand in docs/rule-evidence.md.
--write writes that page; without it, the table is printed.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from barrier_mutants import BarrierMutant, sampled
from barrier_mutants import mutants as barrier_mutants
from kernel_statements import kernels as kernels_of
from mutants import findings as mutant_findings
from mutants import mutants as group_mutants
from spelling_slips import slips
from tensor_mutants import spoilt as tensor_mutants

from ptxmma.check.check_file import check_text
from ptxmma.check.cuda.check_source import check_source
from ptxmma.check.findings import INFO, TIERS
from ptxmma.check.rules import rules
from ptxmma.cli.main import run_script
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.workers import pool

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rule-evidence.md"
SOURCES = ("examples", "litmus", "cases", "corpus", "mutants")
LOUD = ("error", "likely")
HEAD = """# What shows that each rule of `ptxmma check` is right, and needed

`python bench/rule_evidence.py --write` writes this page. Each cell counts kernels: those in which the rule
*fired* rightly (wrong ones), those in which it was *silent* rightly (right ones), and those in which it is
*needed*: no other rule finds anything as sure there (for a remark: no other remark stands there). The first
such kernel is named. A cell is empty where the rule did not fire.

- examples: the wrong and the right example of each rule ([the rules](rules.md)); those of `inline.*` are
  CUDA, so they say nothing about the other rules, and the other sources nothing about these.
- litmus: the litmus tests as PTX; the models say which are undefined.
- cases: `tests/check/cases`, judged by the text before any tool ran.
- corpus: `tests/kernels`, judged by hand in `tests/kernels/FINDINGS.md`.
- mutants: right cases with one statement spoilt (`bench/mutants.py`, `bench/barrier_mutants.py`,
  `bench/tensor_mutants.py`, `bench/spelling_slips.py`), one mutant in EVERY of each kind.

"""


@dataclass(frozen=True)
class Kernel:
    """A kernel to check: its source, its name, its text, whether it is right, and what is known before.
    `cuda`: the text is CUDA; rules are about CUDA or about PTX.
    """

    source: str
    name: str
    text: str
    right: bool
    cuda: bool = False
    before: frozenset[tuple[str, str, str, int]] = frozenset()


@dataclass
class Evidence:
    """What was seen of one rule in one source, with the first wrong kernel that needs it."""

    fired: int = 0
    silent: int = 0
    needed: int = 0
    example: str = ""

    def __str__(self) -> str:
        if not self.fired:
            return ""
        needed = f", needed {self.needed} ({self.example})" if self.needed else ""
        return f"fired {self.fired}, silent {self.silent}{needed}"


@dataclass
class Table:
    """The evidence by rule and source."""

    cells: dict[str, dict[str, Evidence]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Evidence))
    )
    kept: dict[tuple[str, str], str] = field(default_factory=dict)  # cells by rule and source

    def keep(self, page: str, asked: Collection[str]) -> None:
        """Keep the cells of a page whose sources are not asked."""
        for found in re.finditer(r"^\| \[([^]]+)\]\S+ \|(.*)\|$", page, re.MULTILINE):
            for source, text in zip(SOURCES, found[2].split("|"), strict=True):
                if source not in asked:
                    self.kept[found[1], source] = text.strip()

    def cell(self, rule: str, source: str) -> str:
        """What a cell says."""
        kept = self.kept.get((rule, source))
        return str(self.cells[rule][source]) if kept is None else kept

    def add(self, kernel: Kernel, found: dict[str, str]) -> None:
        """Count a kernel with what is found in it: tiers by rule."""
        order = list(TIERS)
        for rule in rules():
            if rules()[rule].cuda is not kernel.cuda:
                continue
            cell = self.cells[rule][kernel.source]
            if kernel.right:
                cell.silent += rule not in found
            elif rule in found:
                cell.fired += 1
                mine = found[rule]
                others = [tier for other, tier in found.items() if other != rule]
                alone = (
                    mine not in others
                    if mine == INFO
                    else all(order.index(tier) > order.index(mine) for tier in others)
                )
                if alone:
                    cell.needed += 1
                    cell.example = cell.example or kernel.name

    def lacks(self) -> list[str]:
        """What rules lack, in words."""
        found = []
        for rule in rules():
            row = " ".join(self.cell(rule, source) for source in SOURCES)
            for what in ("fired", "silent", "needed"):
                if not re.search(rf"\b{what} [1-9]", row):
                    found.append(f"{rule}: not seen {what}")
        return found

    def page(self, every: int) -> str:
        """The page."""
        lines = [f"| rule | {' | '.join(SOURCES)} |", "|---" * (1 + len(SOURCES)) + "|"]
        for rule in rules():
            cells = (self.cell(rule, source) for source in SOURCES)
            anchor = rule.replace(".", "")
            lines.append(f"| [{rule}](rules.md#{anchor}) | {' | '.join(cells)} |")
        return HEAD.replace("EVERY", str(every)) + "\n".join(lines) + "\n"


def examples() -> Iterator[Kernel]:
    """The examples of the rules."""
    for rule in rules().values():
        yield Kernel("examples", rule.name, rule.wrong, False, rule.cuda)
        yield Kernel("examples", rule.name, rule.right, True, rule.cuda)


def cases() -> Iterator[Kernel]:
    """The judged cases, without those that can be read both ways."""
    folder = ROOT / "tests" / "check" / "cases"
    for name, verdict in sorted(yaml.safe_load((folder / "verdicts.yaml").read_text()).items()):
        if verdict["verdict"] != "open":
            yield Kernel("cases", name, (folder / f"{name}.ptx").read_text(), verdict["verdict"] == "clean")


def litmus() -> Iterator[Kernel]:
    """The litmus tests, by the verdict of the models under the default readings."""
    for test in suite():
        text = module([LitmusKernel("k", (), test.program)])
        yield Kernel("litmus", test.name, text, not test.hazards and not test.under)


def corpus() -> Iterator[Kernel]:
    """The compiled kernels: wrong are those in which something is found, which a person has judged."""
    for path in sorted((ROOT / "tests" / "kernels").glob("*.ptx")):
        text = path.read_text()
        tiers = {finding.tier for finding in check_text(text, path.name).findings}
        yield Kernel("corpus", path.stem, text, not tiers & {"error", "likely", "reading"})


def mutants(path: Path) -> list[BarrierMutant]:
    """The mutants of a file: of barriers, of groups, of tensor memory, and of the spelling."""
    made = list(barrier_mutants(path.stem, path.read_text()))
    text = path.read_text()
    groups = [
        BarrierMutant(path.stem, text, one.kernel, f"group: {one.kind}", start(text, one.line), one.text)
        for one in group_mutants(path)
    ]
    tensors = [
        BarrierMutant(path.stem, text, one.name, f"tensor: {kind}", begin, changed)
        for one in kernels_of(text)
        for kind, begin, changed in tensor_mutants(text, one)
        if changed != text
    ]
    spelt = [
        BarrierMutant(path.stem, text, "", f"spelling: {kind}", start(text, line), changed)
        for kind, line, changed in slips(text)
    ]
    return made + groups + tensors + spelt


def start(text: str, line: int) -> int:
    """Where a line starts in a text; lines count from one."""
    return sum(map(len, text.splitlines(keepends=True)[: line - 1]))


def judged(kernel: Kernel) -> tuple[Kernel, dict[str, str]]:
    """What is found in a kernel: the highest tier of each rule."""
    check = check_source if kernel.cuda else check_text
    return kernel, highest({(f.rule, f.tier) for f in check(kernel.text, kernel.name).findings})


def highest(found: set[tuple[str, str]]) -> dict[str, str]:
    """The highest tier of each rule."""
    order = list(TIERS)
    return dict(sorted(found, key=lambda pair: -order.index(pair[1])))


def spoilt(mutant: BarrierMutant) -> tuple[Kernel, dict[str, str]] | None:
    """What is found in a mutant, and not in the original; None where it may be as right."""
    new = mutant_findings(mutant.name, mutant.text) - mutant_findings(mutant.name, mutant.before)
    found = highest({(rule, tier) for _, rule, tier, _ in new})
    if not set(found.values()) & set(LOUD):
        return None
    name = f"{mutant.name}:{mutant.line}: {mutant.kind}"
    return Kernel("mutants", name, "", False), found


def main() -> None:
    """Print the table, or write it; say what a rule lacks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=int, default=4, help="take one mutant in so many of each kind")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes work at once")
    parser.add_argument("--write", action="store_true", help="write docs/rule-evidence.md")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=SOURCES, help="ask these sources alone")
    args = parser.parse_args()
    table = Table()
    table.keep(PAGE.read_text(), args.only)
    made = {"examples": examples, "litmus": litmus, "cases": cases, "corpus": corpus}
    kernels = [kernel for source, kernels in made.items() if source in args.only for kernel in kernels()]
    paths = [ROOT / "tests/check/cases" / f"{one.name}.ptx" for one in cases() if one.right]
    with pool(args.jobs) as executor:
        for kernel, found in executor.map(judged, kernels, chunksize=16):
            table.add(kernel, found)
        if "mutants" in args.only:
            spoils = [one for found in executor.map(mutants, paths) for one in found]
            for one in executor.map(spoilt, sampled(spoils, args.every), chunksize=8):
                if one is not None:
                    table.add(*one)
    page = table.page(args.every)
    if args.write:
        PAGE.write_text(page)
    else:
        print(page)
    for line in table.lacks():
        print(line)


if __name__ == "__main__":
    from rule_evidence import main  # other processes find the functions under this name

    run_script(main)
