"""ptxmma evidence: which claims have which witnesses, what is stale, what differs."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..check.contradictions import Register, register
from ..check.evidence import Claim, Record, Verdict, claims, load_records, observe, verdicts, write
from ..check.observations import load_silicon
from ..check.records import changed
from ..check.toolchains import locate
from ..check.universe_record import universes
from ..spec.api import load
from ..spec.errors import Question
from . import universe_report
from .silicon_report import arithmetic_table, print_arithmetic, shown_by_devices

__all__ = ["add"]

_SHOWN = 20


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("evidence", help="which claims have which witnesses, and what is stale")
    parser.add_argument("pattern", nargs="?", help="a row's id, a part of one, or a pattern with *")
    parser.add_argument("--record", nargs="+", metavar="RELEASE", help="ask these assemblers, and record")
    parser.add_argument("--again", nargs="+", metavar="RELEASE", help="ask them, and compare with the record")
    parser.add_argument("--universes", action="store_true", help="also the whole universes of statements")
    parser.add_argument(
        "--arithmetic", action="store_true", help="only what products and sums keep on a chip"
    )
    parser.add_argument("--cases", action="store_true", help="also the cases of today's conformance suite")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Recompute every verdict; exit code 1 for a stale claim or a disagreement that is not registered."""
    specification = load()
    if args.record:
        before = {record.release: record for record in load_records()}
        releases = [locate(release) for release in args.record]
        for ptxas in releases:
            record = observe(specification, ptxas, before.get(ptxas.version))
            print(f"{write(record)}: {len(record.settings)} settings, {len(record.rows)} rows")
        if args.universes:
            universe_report.record(specification, releases)
        return 0
    if args.arithmetic:
        return _arithmetic(specification, args.pattern, args.format)
    records = load_records()
    if not records:
        raise Question(
            "nothing is recorded; `ptxmma evidence --record RELEASE` asks an assembler and records"
        )
    if args.again:
        codes = [_again(specification, records, release) for release in args.again]
        if args.universes:
            every = universes(specification)
            codes += [
                not universe_report.again(specification, every, locate(release)) for release in args.again
            ]
        return max(codes)
    asked = _chosen(claims(specification), args.pattern)
    found = list(verdicts(records, asked))
    shown = shown_by_devices(specification, {claim.id for claim in asked}, args.cases)
    registered = register()
    open_points = {id(v): _unregistered(registered, v) for v in found}
    whole = (
        universe_report.shown_by_assemblers(specification) if args.universes else universe_report.Shown(())
    )
    if args.format == "json":
        listed = [_as_json(v, len(open_points[id(v)])) for v in found]
        print(json.dumps([*listed, *whole.as_json(), *shown.as_json()], indent=1))
    else:
        _print(records, found, open_points)
        if args.universes:
            whole.print()
        shown.print()
    failed = any(v.state in ("stale", "unseen") or open_points[id(v)] for v in found)
    return 1 if failed or shown.failed or whole.failed else 0


def _arithmetic(specification: Any, pattern: str | None, form: str) -> int:
    """Print the arithmetic that devices showed; 2 when nothing is recorded of what a pattern names."""
    from rich.console import Console

    console = Console(width=None if Console().is_terminal else 170, highlight=False)
    listed = []
    for silicon in load_silicon():
        observed = {name: one for name, one in silicon.arithmetic.items() if not pattern or pattern in name}
        table = arithmetic_table(specification, observed)
        listed += [{"device": silicon.device.name, **row} for row in table]
        if form == "text" and table:
            print_arithmetic(console, table, silicon.device.name)
    if not listed:
        raise Question(f"no arithmetic of {pattern or 'anything'} is recorded")
    if form == "json":
        print(json.dumps(listed, indent=1))
    return 0


def _chosen(known: Sequence[Claim], pattern: str | None) -> tuple[Claim, ...]:
    if pattern is None:
        return tuple(known)
    wild = any(sign in pattern for sign in "*?[")
    chosen = tuple(c for c in known if (fnmatch.fnmatchcase(c.id, pattern) if wild else pattern in c.id))
    if not chosen:
        raise Question(f"no row is called {pattern}; `ptxmma evidence` names those that are witnessed")
    return chosen


def _unregistered(registered: Register, verdict: Verdict) -> list[tuple[str, str, str, bool]]:
    """The points of a verdict that differ and that no contradiction explains."""
    isa = verdict.claim.view.family.isa
    instruction = verdict.claim.view.family.instruction.instruction
    return [
        (ptx, target, statement, accepted)
        for ptx, target, statement, accepted in verdict.differing
        if registered.explains(
            instruction,
            statement,
            verdict.release,
            isa.version(ptx),
            target,
            "accepted" if accepted else "refused",
        )
        is None
    ]


def _as_json(verdict: Verdict, unregistered: int) -> dict[str, Any]:
    return {
        "claim": verdict.claim.id,
        "digest": verdict.claim.digest,
        "release": verdict.release,
        "state": verdict.state,
        "points": verdict.points,
        "differing": len(verdict.differing),
        "unregistered": unregistered,
    }


def _print(
    records: Sequence[Record],
    found: Sequence[Verdict],
    open_points: dict[int, list[tuple[str, str, str, bool]]],
) -> None:
    from rich.console import Console
    from rich.table import Table

    by_release: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in found:
        by_release[verdict.release].append(verdict)
    console = Console(width=None if Console().is_terminal else 110, highlight=False)
    table = Table(
        "ptxas", "asked", "settings", "rows", "stale", "unseen", "points", "differ", "not registered"
    )
    for record in records:
        own = by_release[record.release]
        counts = [
            len(record.settings),
            len(own),
            sum(v.state == "stale" for v in own),
            sum(v.state == "unseen" for v in own),
            sum(v.points for v in own),
            sum(len(v.differing) for v in own),
            sum(len(open_points[id(v)]) for v in own),
        ]
        table.add_row(record.release, record.dates, *map(str, counts))
    console.print(table)
    for verdict in found:
        if verdict.state in ("stale", "unseen"):
            console.print(
                f"{verdict.state.upper()}: {verdict.claim.id}, ptxas {verdict.release}", markup=False
            )
    lines = [
        f"DIFFERS: {v.claim.id}, ptxas {v.release}, PTX {ptx}, {target}: "
        f"{'accepted' if accepted else 'refused'}: {statement}"
        for v in found
        for ptx, target, statement, accepted in open_points[id(v)]
    ]
    for line in lines[:_SHOWN]:
        console.print(line, markup=False, soft_wrap=True)
    if len(lines) > _SHOWN:
        console.print(f"… and {len(lines) - _SHOWN} more")


def _again(specification: Any, records: Sequence[Record], release: str) -> int:
    """Ask one assembler again; 1 when it does not do what is recorded."""
    ptxas = locate(release)
    recorded = next((r for r in records if r.release == ptxas.version), None)
    if recorded is None:
        raise Question(f"ptxas {ptxas.version} is not recorded")
    now = observe(specification, ptxas)
    asked_alike = now.settings == recorded.settings
    differing = sorted(changed(now.rows, recorded.rows if asked_alike else {}))
    for claim in differing:
        print(f"ptxas {ptxas.version} does not do what is recorded of {claim}")
    if not differing:
        print(
            f"ptxas {ptxas.version} does what is recorded: {len(now.rows)} rows, {len(now.settings)} settings"
        )
    return 1 if differing else 0
