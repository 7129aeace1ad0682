"""ptxmma assemble: compare the specification with assemblers, statement by statement."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.api import judge, load
from ..spec.errors import Question
from ..spec.naming import like
from ..spec.selection import select
from ..spec.specification import Specification
from ..spec.variants import Family
from .options import add_scheduler

if TYPE_CHECKING:
    from ..assemblers.assembler_settings import Job
    from ..assemblers.comparison import Comparison, Disagreement
    from ..assemblers.gate_probes import Probed
    from ..assemblers.machine_code import Code
    from ..assemblers.toolchains import Ptxas
    from ..assemblers.universe import Universe
    from ..ledger.contradictions import ContradictionRegister

__all__ = ["add"]

_SHOWN = 12


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("pattern", nargs="?", help="only instructions that match (with *)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--release", nargs="+", metavar="R", help="12.4.131, its toolkit 12.4 or its PTX ISA version 8.4"
    )
    which.add_argument("--all", action="store_true", help="every release on this machine")
    which.add_argument("--ptxas", metavar="PATH", type=Path, help="this ptxas binary")
    parser.add_argument(
        "--target", nargs="+", metavar="T", help="these targets instead of each instruction's home target"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="also every .version and .target, gates from both sides, and machine code",
    )
    add_scheduler(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


@dataclass
class AssembleReport:
    """Everything that one run found."""

    comparison: Comparison
    seconds: float
    stale: list[str]
    probed: Probed | None = None
    codes: list[tuple[str, Code]] = field(default_factory=list)
    failures: list[Disagreement] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the register explains every disagreement, and no entry of it is stale."""
        hidden = [code for _, code in self.codes if not code.shown]
        failed = [found for found in self.failures if found.entry is None]
        return not (
            self.comparison.unregistered() or self.comparison.targets or self.stale or failed or hidden
        )


def run(args: argparse.Namespace) -> int:
    """Compare; exit code 0 they agree, 1 they do not, 2 nothing could be asked."""
    from ..assemblers.comparison import compare, compare_everywhere, stale
    from ..assemblers.universe import Universe
    from ..ledger.contradictions import register
    from ..spec.workers import over_jobs

    begun = time.perf_counter()
    specification = load()
    families = chosen(specification, args.pattern)
    for target in args.target or ():
        specification.isa.target(target)
    releases = _releases(args)
    universe = Universe(specification)
    entries = register()
    jobs = list(_home_jobs(universe, families, releases, args.target))
    if not jobs:
        raise Question("nothing of this is legal on any target that the release knows")
    found = compare(jobs, entries)
    if not found.settings:
        raise Question("\n  ".join(["nothing could be asked:", *found.refused.values()]))
    if args.full:
        del jobs
        regions = [region for part in over_jobs(families, universe.near) for region in part]
        isa, memories = specification.isa, found.memories
        found.add(compare_everywhere(isa, releases, args.target, regions, entries, memories))
    report = AssembleReport(found, 0.0, stale(found, entries))
    if args.full:
        _thorough(report, universe, families, releases, entries)
    report.seconds = time.perf_counter() - begun
    if args.format == "json":
        print(json.dumps(as_json(report), indent=1))
    else:
        as_text(report)
    return 0 if report.holds else 1


def chosen(specification: Specification, pattern: str | None) -> list[Family]:
    """The instructions that a pattern names; raises Question when it names none."""
    names = list(specification.families)
    if pattern is not None:
        exact = [name for name in names if name == pattern.lower()]
        names = exact or [name for name in names if like(pattern, name)]
        names = names or list(
            dict.fromkeys(
                v.row.family.instruction.instruction for v in select(specification, pattern, None, None)
            )
        )
    if not names:
        raise Question(f"no instruction matches {pattern!r}; there are {', '.join(specification.families)}")
    return [specification.families[name] for name in names]


def _releases(args: argparse.Namespace) -> list[Ptxas]:
    from ..assemblers.toolchains import available, locate

    if args.all:
        releases = list(available())
        if not releases:
            raise Question("there is no ptxas: `ptxmma toolchain fetch --all` brings every release")
        return releases
    if args.ptxas is not None:
        return [locate(None, args.ptxas)]
    return sorted(map(locate, args.release or (None,)), key=lambda ptxas: ptxas.ptx)


def _home_jobs(
    universe: Universe, families: Sequence[Family], releases: Sequence[Ptxas], targets: Sequence[str] | None
) -> Iterator[Job]:
    """Every instruction's whole universe on each release's newest version and the instruction's target."""
    from ..assemblers.assembler_settings import AssemblerSetting, Job, home
    from ..assemblers.universe_cache import whole
    from ..spec.workers import over_jobs

    universes = list(over_jobs(families, partial(whole, universe)))
    for ptxas in releases:
        for points in universes:
            at = home(universe.specification.isa, points, ptxas) if targets is None else None
            for target in targets or ([at] if at else []):
                yield Job(AssemblerSetting(ptxas, ptxas.ptx, target), points)


def _thorough(
    report: AssembleReport,
    universe: Universe,
    families: Sequence[Family],
    releases: Sequence[Ptxas],
    entries: ContradictionRegister,
) -> None:
    """Probe gates from both sides, and look at machine code."""
    from ..assemblers.comparison import explained
    from ..assemblers.gate_probes import probe
    from ..assemblers.machine_code import assembled

    report.probed = probe(universe, families, releases)
    report.failures = [
        explained(one.point.instruction, one.point.statement, one.setting, one.accepts, outcome, entries)
        for one, outcome in report.probed.failed
    ]
    report.codes = list(assembled(universe, families, releases))


# What is printed.


def _reasons(found: Disagreement) -> list[str]:
    """Why the specification calls a statement illegal there."""
    from ..assemblers.asking import register_types
    from ..spec.constants import SyntaxFault
    from ..spec.statements import read_statement

    asked = judge(str(found.setting.ptx), found.setting.target)
    try:
        statement = read_statement(found.statement)
    except SyntaxFault as fault:
        return [str(fault)]
    verdict = asked.judge_statement(replace(statement, declared=register_types()))
    return [reason.message for reason in verdict.reasons]


def _entry(found: Disagreement) -> dict[str, Any]:
    return {
        "instruction": found.instruction,
        "statement": found.statement,
        "release": found.setting.ptxas.version,
        "ptx": str(found.setting.ptx),
        "target": found.setting.target,
        "specification": "legal" if found.legal else "illegal",
        "reasons": _reasons(found),
        "ptxas": found.outcome.verdict,
        "words": found.outcome.words,
        "contradiction": found.entry,
    }


def _matrix(found: Comparison) -> list[dict[str, Any]]:
    """The confusion matrix by instruction and release."""
    rows: dict[tuple[str, str], Counter[tuple[bool, str]]] = defaultdict(Counter)
    for (instruction, release, legal, verdict), count in found.counts.items():
        rows[instruction, release][legal, verdict] += count
    verdicts = ("accepted", "refused", "died")
    return [
        {
            "instruction": instruction,
            "release": release,
            "legal": {verdict: counts[True, verdict] for verdict in verdicts},
            "illegal": {verdict: counts[False, verdict] for verdict in verdicts},
        }
        for (instruction, release), counts in rows.items()
    ]


def as_json(report: AssembleReport) -> dict[str, Any]:
    """A report as the JSON output has it."""
    found, probed = report.comparison, report.probed
    return {
        "holds": report.holds,
        "seconds": round(report.seconds, 3),
        "statements": found.classified,
        "runs": found.runs,
        "settings": len(found.settings),
        "matrix": _matrix(found),
        "disagreements": [_entry(d) for d in found.disagreements],
        "deaths": [_entry(d) for d in found.deaths],
        "stale": report.stale,
        "targets": found.targets,
        "not_asked": list(found.refused.values()),
        "warnings": [
            {"instruction": instruction, "words": words, "count": count}
            for (instruction, words), count in sorted(found.warnings.items())
        ],
        "advisories": [{"words": words, "count": n} for words, n in sorted(found.advisories.items())],
        "gates": None
        if probed is None
        else {
            "gates": probed.gates,
            "both_sides": probed.both_sides,
            "passed": dict(probed.passed),
            "unprobed": dict(probed.unprobed),
            "elsewhere": [_probe(one, outcome) for one, outcome in probed.elsewhere],
            "failed": [_entry(d) for d in report.failures],
        },
        "code": [
            {
                "instruction": name,
                "statement": code.statement,
                "release": code.setting.ptxas.version,
                "target": code.setting.target,
                "opcodes": [f"0x{op:03x}" for op in code.opcodes],
                "words": code.words,
            }
            for name, code in report.codes
        ],
    }


def _probe(one: Any, outcome: Any) -> dict[str, Any]:
    return {
        "row": one.row,
        "side": one.side,
        "statement": one.point.statement,
        "release": one.setting.ptxas.version,
        "ptx": str(one.setting.ptx),
        "target": one.setting.target,
        "words": outcome.words,
    }


def as_text(report: AssembleReport) -> None:
    """A report for a person."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    found = report.comparison
    table = Table(
        "instruction",
        "release",
        *("legal, accepted", "refused", "died", "illegal, accepted", "refused", "died"),
    )
    for row in _matrix(found):
        cells = [row[side][verdict] for side in ("legal", "illegal") for verdict in row[side]]
        table.add_row(row["instruction"], row["release"], *(str(n) if n else "" for n in cells))
    console.print(table)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    _say_disagreements(report, say)
    for (instruction, words), count in found.warnings.most_common():
        say(f"warning, {instruction}, {count} times: {words}")
    for words, count in found.advisories.most_common():
        say(f"advisory, {count} times: {words}")
    _say_thorough(report, say)
    rate = found.classified / report.seconds if report.seconds else 0
    say(
        f"{found.classified} statements in {len(found.settings)} settings classified in "
        f"{report.seconds:.1f} s ({rate:.0f} a second, {found.runs} runs of ptxas); "
        f"{len(found.disagreements)} disagreements, "
        f"{len(found.unregistered())} of them unregistered; {len(found.deaths)} deaths on illegal statements"
    )


def _say_disagreements(report: AssembleReport, say: Any) -> None:
    """Print registered disagreements as one line an entry, and unregistered ones in full."""
    found = report.comparison
    for entry, count in sorted(found.explained().items()):
        say(f"registered: {entry} explains {count}")
    groups: dict[tuple[str, ...], list[Disagreement]] = defaultdict(list)
    for one in found.unregistered():
        key = (one.instruction, str(one.setting), str(one.legal), one.outcome.verdict, one.outcome.words)
        groups[key].append(one)
    for group in groups.values():
        first = group[0]
        said = f"{first.outcome.verdict}: {first.outcome.words}" if first.outcome.words else "accepted"
        say(f"DISAGREEMENT, {first.setting}, {first.instruction}: ptxas {said}")
        for one in group[:_SHOWN]:
            why = "legal" if one.legal else "illegal: " + "; ".join(_reasons(one))
            say(f"  {one.statement}\n    the specification: {why}")
        if len(group) > _SHOWN:
            say(f"  and {len(group) - _SHOWN} more of the kind (--format json has them all)")
    for one in found.deaths[:_SHOWN]:
        say(f"death, {one.setting}: {one.statement} ({one.outcome.words})")
    for entry in report.stale:
        say(f"STALE: the contradiction {entry} shows nowhere that it is registered for")
    for why in found.refused.values():
        say(f"not asked: {why}")
    for fault in found.targets:
        say(f"TARGET: {fault}")


def _shown(code: Code) -> str:
    """Whether the machine code has a statement, in words."""
    if code.opcodes:
        return "shown"
    return "without code of their own, as nothing stands around them" if code.shown else "NOT SHOWN"


def _say_thorough(report: AssembleReport, say: Any) -> None:
    """Gates and machine code."""
    from ..assemblers.gate_probes import UNPROBED

    probed = report.probed
    if probed is not None:
        passed = ", ".join(f"{count} {side}" for side, count in sorted(probed.passed.items()))
        say(f"gates: {probed.gates}, {probed.both_sides} of them from both sides; probes passed: {passed}")
        for reason, count in probed.unprobed.most_common():
            say(f"  not probed, {count} times: {UNPROBED[reason]}")
        for one, outcome in probed.elsewhere[:_SHOWN]:
            at = f"{one.side}, {one.setting}"
            say(f"  refused for another reason, {at}: {one.point.statement} ({outcome.words})")
        for failure in report.failures:
            words = failure.entry or f"NOT REGISTERED {failure.outcome.words}"
            say(f"  gate, {failure.setting}: {failure.statement} {failure.outcome.verdict}: {words}")
    by_release = Counter((name, code.setting.ptxas.version, _shown(code)) for name, code in report.codes)
    for (name, release, shown), count in sorted(by_release.items()):
        say(f"machine code, {name}, {release}: {count} {shown}")
    for _, code in [pair for pair in report.codes if not pair[1].shown][:_SHOWN]:
        say(f"  {code.setting}: {code.statement} {code.words}")
