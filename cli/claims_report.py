"""Claims with all their witnesses, as one table and as JSON: theorems, assemblers, silicon, peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..formal.smt.solvers import SOLVERS, solver_version
from ..ledger.silicon_record import Silicon
from ..ledger.solver_record import ProofState, SolverRecord
from ..ledger.witnesses import Agreement, DeviceWitness, Witnessed
from ..spec.quantities import counted_state
from .peers_report import verdict_as_json

__all__ = ["as_json", "print_claims"]


def as_json(claim: Witnessed) -> dict[str, Any]:
    """One claim; counts of obligations by solver and verdict."""
    return {
        "claim": claim.subject.id,
        "kind": claim.subject.kind,
        "digest": claim.subject.digest,
        "holds": claim.holds,
        "theorems": {
            theorem: {solver: dict(counted) for solver, counted in by_solver.items()}
            for theorem, by_solver in claim.theorems.items()
        },
        "assemblers": _agreement(claim.assemblers) if claim.assemblers else None,
        "silicon": [
            {
                "device": shown.device,
                "cases": {
                    via: {"passed": passed, "of": count} for via, (passed, count) in shown.cases.items()
                },
                "measured": {what: vars(tally) for what, tally in shown.measured.items()},
                "named by": shown.named_by,
                "not run": shown.not_run,
                "unclaimed": list(shown.unclaimed),
            }
            for shown in claim.silicon
        ],
        "alike": [
            {
                "what": one.what,
                "devices": list(one.devices),
                "alike": len(one.alike),
                "different": list(one.different),
                "alone": list(one.alone),
            }
            for one in claim.common
        ],
        "peers": [verdict_as_json(said) for said in claim.peers],
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "agree": found.agree,
        "of": found.of,
        "registered": found.registered,
        "stale": found.stale,
        "unrecorded": found.unrecorded,
        "differing": found.differing,
    }


def print_claims(
    claims: Sequence[Witnessed], solvers: Sequence[SolverRecord], silicon: Sequence[Silicon]
) -> None:
    """Print a table with a line for each claim, then in words what does not hold, then the witnesses."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 130, highlight=False)
    columns = ("claim", "theorems, and how often each is asked", "assemblers", "silicon", "peers")
    table = Table(*columns, show_lines=True)
    table.columns[0].overflow = "fold"
    for claim in claims:
        theorems = ", ".join(_theorem(name, by_solver) for name, by_solver in claim.theorems.items())
        shown = _devices(claim.silicon)
        cells = theorems or "none", _assemblers(claim.assemblers), "\n".join(shown) or "unrecorded"
        table.add_row(_name(claim), *cells, "\n".join(_peers(claim)))
    console.print(table)
    for claim in claims:
        if not claim.holds:
            console.print(f"DOES NOT HOLD: {_name(claim)}", markup=False)
        for said in claim.peers:
            if not said.holds:
                console.print(str(said), markup=False, soft_wrap=True)
    named = dict.fromkeys(s.named_by for claim in claims for s in claim.silicon if s.named_by)
    for words in named:
        console.print(f"what names a measured map: {words}", markup=False, soft_wrap=True)
    for claim in claims:
        for one in claim.common:
            console.print(f"{_name(claim)}: {one}", markup=False, soft_wrap=True)
            for name in one.different:
                console.print(f"NOT THE SAME: {one.what}: {name}", markup=False, soft_wrap=True)
    who = [_solver(answers) for answers in solvers] or ["no solver is recorded"]
    missing = [solver for solver in SOLVERS if solver not in {one.solver for one in solvers}]
    who += [f"{solver} is unrecorded" for solver in missing if solvers]
    who += [f"{s.device.name}, driver {s.device.driver} ({s.device.date})" for s in silicon]
    console.print(f"asked: {'; '.join(who)}", markup=False, soft_wrap=True)
    holding, silent = sum(claim.holds for claim in claims), sum(claim.silent for claim in claims)
    console.print(
        f"{holding} of {len(claims)} claims hold by every witness that was asked"
        + (f"; silicon was not asked about {silent}" if silent else "")
    )


def _solver(answers: SolverRecord) -> str:
    """Which version answered, and when; and the version that is installed, if that is another."""
    here = solver_version(answers.solver)
    other = "" if here == answers.version else f"; {here} is installed, and --prove asks it"
    return f"{answers.solver} {answers.version} ({answers.date}{other})"


def _name(claim: Witnessed) -> str:
    return f"{claim.subject.kind} {claim.subject.id}"


def _theorem(name: str, by_solver: Mapping[str, Counter[ProofState]]) -> str:
    """A theorem, its number of obligations, and those that not every solver proves."""
    asked = max((sum(counted.values()) for counted in by_solver.values()), default=0)
    bad = [
        f"{solver}: {count} {verdict}"
        for solver, counted in by_solver.items()
        for verdict, count in counted.items()
        if verdict != "proven"
    ]
    return f"{name} {asked}" + (f" ({', '.join(bad)})" if bad else "")


def _assemblers(found: Agreement | None) -> str:
    if found is None:
        return ""
    lines = [f"{found.agree} of {found.of} agree"]
    lines += [f"{found.registered} with differences that are registered"] if found.registered else []
    lines += [f"differ: {', '.join(found.differing)}"] if found.differing else []
    lines += [f"stale: {', '.join(found.stale)}"] if found.stale else []
    lines += [f"unrecorded: {', '.join(found.unrecorded)}"] if found.unrecorded else []
    return "\n".join(lines)


def _peers(claim: Witnessed) -> list[str]:
    """What each peer says of a layout, a line each; of a row peers say nothing."""
    lines = []
    for peer in dict.fromkeys(said.peer for said in claim.peers):
        own = [said for said in claim.peers if said.peer == peer]
        states = Counter(said.state for said in own)
        entries = "".join(f" ({name})" for name in sorted({said.entry for said in own if said.entry}))
        said_of = ", ".join(counted_state(count, state) for state, count in states.items())
        lines.append(f"{peer}: {said_of}{entries}")
    return lines or ([] if claim.subject.kind == "row" else ["none"])


def _devices(silicon: Sequence[DeviceWitness]) -> list[str]:
    """What devices say: a line that all of them say stands once, every other line names who says it."""
    said: dict[str, list[str]] = {}
    for shown in silicon:
        for line in _silicon(shown):
            said.setdefault(line, []).append(shown.device)
    if len(silicon) == 1:
        return list(said)
    all_say = f"{len(silicon)} devices"
    return [
        f"{all_say if len(who) == len(silicon) else ', '.join(who)}: {line}" for line, who in said.items()
    ]


def _silicon(shown: DeviceWitness) -> list[str]:
    """What one device says, a line a thing."""
    lines = []
    for via, (passed, count) in shown.cases.items():
        unrecorded = f", {shown.unrecorded[via]} unrecorded" if shown.unrecorded.get(via) else ""
        lines.append(f"{passed} of {count} cases via {via}{unrecorded}")
    for what, tally in shown.measured.items():
        agree = tally.points - tally.differing
        kernels = f"{tally.kernels} kernel{'s' * (tally.kernels != 1)}"
        stale = f", {tally.outdated} stale" if tally.outdated else ""
        lines.append(f"{what}: {agree} of {tally.points} points, {kernels}{stale}")
    if shown.unclaimed:
        lines.append(f"UNCLAIMED: {len(shown.unclaimed)} measurements, recorded and no longer claimed")
    if shown.not_run:
        lines.append(shown.not_run if shown.not_run.startswith("unrecorded") else f"not run: {shown.not_run}")
    return lines
