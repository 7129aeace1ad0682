"""What `ptxmma evidence` answers: which claims have which witnesses, what is stale, what differs."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..assemblers.toolchains import Ptxas, locate
from ..formal.prove import prove
from ..formal.smt.solvers import SOLVERS
from ..ledger.assembler_observation import observe
from ..ledger.assembler_record import (
    Claim,
    ClaimVerdict,
    Record,
    assembled,
    claims,
    load_records,
    unclaimed,
    verdicts,
    with_unrecorded,
    write,
)
from ..ledger.contradictions import register
from ..ledger.peer_verdicts import PeerVerdict
from ..ledger.records import FOLDER, changed, require_writable
from ..ledger.register_faults import RegisterFault, RegisterFaults
from ..ledger.register_observation import asked_again, observe_register, widened
from ..ledger.register_questions import needless_peers
from ..ledger.register_record import load_register, write_register
from ..ledger.silicon_record import load_silicon
from ..ledger.solver_record import SolverRecord, answers_of, load_answers
from ..ledger.target_dates import TargetFault, target_faults
from ..ledger.universe_record import universes
from ..ledger.wheel_record import load_wheels, wheel_faults
from ..ledger.witnesses import MeasuredPoint, recorded, subjects_of, unregistered, witnessed
from ..spec.api import load
from ..spec.described_products import PlacedLayouts, placed_layouts
from ..spec.errors import Question
from ..spec.naming import like
from ..spec.selection import select, unmatched
from ..spec.specification import Specification
from . import universe_report
from .claims_report import as_json, print_claims
from .peers_report import answer_peers, peers_now, print_peers
from .silicon_report import arithmetic_table, print_arithmetic, shown_by_devices
from .trial_report import print_trials, trials_shown

__all__ = ["answer"]

_SHOWN = 20


def answer(args: argparse.Namespace) -> int:
    """Recompute every verdict; exit code 1 for a stale claim or a disagreement that is not registered."""
    specification = load()
    if args.record:
        require_writable()
        before = {record.release: record for record in load_records()}
        releases = [locate(release) for release in args.record]
        for ptxas in releases:
            record = observe(specification, ptxas, before.get(ptxas.version))
            print(f"{write(record)}: {len(record.settings)} settings, {len(record.rows)} rows")
        if args.universes:
            universe_report.record(specification, releases)
        _record_register(releases)
        return 0
    if args.peers:
        return answer_peers(specification, args.pattern, args.format)
    if args.arithmetic:
        return _arithmetic(specification, args.pattern, args.format)
    records = load_records()
    if not records:
        raise Question(
            f"nothing is recorded in {FOLDER}; "
            "`ptxmma evidence --record RELEASE` asks an assembler and records"
        )
    records = with_unrecorded(specification.index, records)
    if args.again:
        return _all_again(specification, records, args.again, args.universes)
    if args.prove and not args.pattern:
        raise Question("--prove goes with a pattern; `ptxmma prove` proves everything")
    asked = _chosen(specification, args.pattern)
    found = list(verdicts(records, asked))
    whole = (
        universe_report.shown_by_assemblers(specification)
        if args.universes
        else universe_report.UniverseVerdicts(())
    )
    if args.pattern:
        return _by_claim(specification, args, asked, found, whole)
    shown = shown_by_devices(specification, {claim.id for claim in asked}, args.cases)
    open_points = {id(v): unregistered(register(), v) for v in found}
    dates, gone = list(target_faults(specification.isa, records, register())), unclaimed(records, asked)
    untight = list(RegisterFaults(register(), load_register()).every())
    carried = list(wheel_faults(specification.index, load_wheels()))
    peers = peers_now(specification)
    untight += [RegisterFault(*found) for found in needless_peers(register().entries, peers)]
    if args.format == "json":
        listed = [_as_json(v, len(open_points[id(v)])) for v in found]
        listed += [_date_as_json(fault) for fault in dates]
        listed += [_fault_as_json("contradictions.yaml", fault.what) for fault in untight]
        listed += [_fault_as_json("specs.yaml", fault.what) for fault in carried]
        listed += [_unclaimed_as_json(row, release) for row, asked_of in gone.items() for release in asked_of]
        listed += [_peer_as_json(said) for said in peers]
        print(json.dumps([*listed, *whole.as_json(), *shown.as_json()], indent=1))
    else:
        _print(records, found, open_points)
        print("".join(f"DIFFERS: {fault}\n" for fault in dates), end="")
        print("".join(f"DIFFERS: {fault}\n" for fault in (*untight, *carried)), end="")
        for row, asked_of in gone.items():
            where = _file_of(specification, row)
            print(f"UNCLAIMED (recorded, no longer claimed): {row}, ptxas {', '.join(asked_of)}{where}")
        if args.universes:
            whole.print()
        shown.print()
        print_peers(peers)
    failed = any(v.state in ("stale", "unseen") or open_points[id(v)] for v in found)
    failed = failed or bool(dates or gone or untight or carried)
    failed = failed or not all(said.holds for said in peers)
    return 1 if failed or shown.failed or whole.failed else 0


def _file_of(specification: Specification, row: str) -> str:
    """The file that has lost a row, in brackets; nothing where the instruction is gone, too."""
    instruction = specification.instructions.get(row.partition("/")[0])
    return f" ({instruction.place.file} has no such row)" if instruction else ""


def _record_register(releases: Sequence[Ptxas]) -> None:
    """Ask about the cases of the register and about statements that show its points, and record."""
    record = widened(load_register(), register())
    for ptxas in releases:
        observed = observe_register(register(), record, ptxas)
        record = record.with_release(observed)
        print(f"{write_register(record)}: ptxas {ptxas.version}")


def _fault_as_json(file: str, what: str) -> dict[str, Any]:
    return {
        "claim": f"{file}: {what}",
        "digest": "",
        "release": "",
        "state": "differs",
        "points": 1,
        "differing": 1,
        "unregistered": 1,
    }


def _peer_as_json(said: PeerVerdict) -> dict[str, Any]:
    return {
        "claim": said.part,
        "digest": "",
        "release": str(said.peer),
        "state": said.state,
        "points": said.points,
        "differing": said.differing,
        "unregistered": 0 if said.entry else said.differing,
    }


def _unclaimed_as_json(row: str, release: str) -> dict[str, Any]:
    return {
        "claim": row,
        "digest": "",
        "release": release,
        "state": "unclaimed",
        "points": 0,
        "differing": 0,
        "unregistered": 0,
    }


def _by_claim(
    specification: Specification,
    args: argparse.Namespace,
    asked: Sequence[Claim],
    found: Sequence[ClaimVerdict],
    whole: universe_report.UniverseVerdicts,
) -> int:
    """Print a table of claims with every witness; exit code 1 when a witness is silent or contradicts a
    claim.
    """
    answers = _proven(specification, asked) if args.prove else load_answers()
    solvers = recorded(answers)
    silicon = load_silicon()
    peers = peers_now(specification)
    listed = list(witnessed(specification, asked, solvers, found, register(), silicon, peers))
    if args.format == "json":
        print(json.dumps([*map(as_json, listed), *whole.as_json()], indent=1))
    else:
        print_claims(listed, answers, silicon)
        points = {
            (claim.subject.id, release): open_points
            for claim in listed
            if claim.assemblers
            for release, open_points in claim.assemblers.unregistered.items()
        }
        print("".join(f"{line}\n" for line in _differing(points)), end="")
        if args.universes:
            whole.print()
    return 0 if all(claim.holds for claim in listed) and not whole.failed else 1


def _proven(specification: Specification, asked: Sequence[Claim]) -> tuple[SolverRecord, ...]:
    """The answers of both solvers now about some claims."""
    parts = {part for subject in subjects_of(specification, asked) for part in subject.parts}
    return answers_of(prove(specification, tuple(SOLVERS), concerning=parts.__contains__))


def _arithmetic(specification: Specification, pattern: str | None, form: str) -> int:
    """Print the arithmetic that devices showed; exit code 1 where it differed from its model.

    Raises Question when nothing is recorded for the pattern.
    """
    from rich.console import Console

    console = Console(width=None if Console().is_terminal else 170, highlight=False)
    listed = []
    for silicon in load_silicon():
        observed = {name: one for name, one in silicon.arithmetic.items() if not pattern or pattern in name}
        table = arithmetic_table(specification, observed)
        listed += [{"device": silicon.device.name, **row} for row in table]
        if form == "text" and table:
            print_arithmetic(console, table, silicon.device.name)
    verdicts = trials_shown(specification, pattern)
    if form == "text":
        print_trials(console, verdicts)
    if not listed and not verdicts:
        raise Question(f"no arithmetic of {pattern or 'anything'} is recorded")
    if form == "json":
        print(json.dumps(listed, indent=1))
    return 1 if any(verdict.misses for verdict in verdicts) else 0


def _chosen(specification: Specification, pattern: str | None) -> tuple[Claim, ...]:
    """The rows that a pattern names, or else the rows of the mnemonic or layout that it names."""
    known = claims(specification)
    if pattern is None:
        return known
    chosen = tuple(c for c in known if like(pattern, c.id, c.id.replace("/", ".")))
    if not chosen:
        rows = {variant.row.id for variant in select(specification, pattern, None, None)}
        chosen = tuple(c for c in known if c.id in rows or like(pattern, *c.view.layouts))
    if not chosen:
        placed: PlacedLayouts = {}
        chosen = tuple(c for c in known if like(pattern, *placed_layouts(specification, c.view, placed)))
    if not chosen:
        raise Question(
            f"{unmatched(specification, pattern)}; `ptxmma evidence` names the rows that are witnessed"
        )
    return chosen


def _as_json(verdict: ClaimVerdict, unregistered: int) -> dict[str, Any]:
    return {
        "claim": verdict.claim.id,
        "digest": verdict.claim.digest,
        "release": verdict.release,
        "state": verdict.state,
        "points": verdict.points,
        "differing": len(verdict.differing),
        "unregistered": unregistered,
    }


def _date_as_json(fault: TargetFault) -> dict[str, Any]:
    return {
        "claim": f"target {fault.target}",
        "digest": str(fault.since),
        "release": fault.release,
        "state": "differs",
        "points": 1,
        "differing": 1,
        "unregistered": 1,
    }


def _print(
    records: Sequence[Record],
    found: Sequence[ClaimVerdict],
    open_points: dict[int, list[tuple[str, str, str, bool]]],
) -> None:
    from rich.console import Console
    from rich.table import Table

    by_release: dict[str, list[ClaimVerdict]] = defaultdict(list)
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
    unrecorded = [record.release for record in records if not record.rows]
    if unrecorded:
        named = f"UNRECORDED: ptxas {', '.join(unrecorded)}"
        console.print(f"{named}; `ptxmma evidence --record RELEASE` asks one", markup=False, soft_wrap=True)
    for verdict in found:
        if verdict.state in ("stale", "unseen") and verdict.release not in unrecorded:
            console.print(
                f"{verdict.state.upper()}: {verdict.claim.id}, ptxas {verdict.release}", markup=False
            )
    for line in _differing({(v.claim.id, v.release): open_points[id(v)] for v in found}):
        console.print(line, markup=False, soft_wrap=True)


def _differing(open_points: Mapping[tuple[str, str], Sequence[MeasuredPoint]]) -> list[str]:
    """By claim and release, the first unregistered differences in words."""
    lines = [
        f"DIFFERS: {claim}, ptxas {release}, PTX {ptx}, {target}: "
        f"{'accepted' if accepted else 'refused'}: {statement}"
        for (claim, release), points in open_points.items()
        for ptx, target, statement, accepted in points
    ]
    more = [f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def _all_again(
    specification: Specification, records: Sequence[Record], releases: Sequence[str], with_universes: bool
) -> int:
    """Ask assemblers again; exit code 1 when one does not do what is recorded."""
    rows = [_again(specification, records, release) for release in releases]
    codes = [code for code, _ in rows]
    if with_universes:
        every = universes(specification)
        for release, (_, now) in zip(releases, rows, strict=True):
            ptxas = locate(release)
            forms = assembled(now, ptxas.ptx, claims(specification))
            codes.append(0 if universe_report.again(specification, every, ptxas, forms) else 1)
    return max(codes)


def _again(specification: Specification, records: Sequence[Record], release: str) -> tuple[int, Record]:
    """Ask one assembler again: exit code 1 when it does not do what is recorded; what it does with rows."""
    ptxas = locate(release)
    recorded = next((r for r in records if r.release == ptxas.version and r.rows), None)
    if recorded is None:
        raise Question(f"ptxas {ptxas.version} is not recorded")
    now = observe(specification, ptxas)
    asked_alike = now.settings == recorded.settings
    differing = sorted(changed(now.rows, recorded.rows if asked_alike else {}))
    for claim in differing:
        print(f"ptxas {ptxas.version} does not do what is recorded of {claim}")
    of_register = list(asked_again(load_register(), ptxas))
    for said in of_register[:_SHOWN]:
        print(f"ptxas {ptxas.version} does not do what is recorded of contradictions.yaml: {said}")
    if not (differing or of_register):
        print(
            f"ptxas {ptxas.version} does what is recorded: {len(now.rows)} rows, {len(now.settings)} settings"
        )
    return 1 if differing or of_register else 0, now
