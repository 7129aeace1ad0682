"""A page for each instruction: a form builder, who accepts a form where, rows, operands, what is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ...formal.catalogue import GROUPS
from ...formal.statement_mathml import statement
from ...ledger.asked_names import devices_of
from ...ledger.assembler_record import ClaimVerdict, claims, load_records, verdicts
from ...ledger.contradictions import register
from ...ledger.peer_record import load_peers
from ...ledger.solver_record import load_answers
from ...spec.editions import cited
from ...spec.gates import EffectiveGate
from ...spec.quantities import counted
from ...spec.selection import summing
from ...spec.specification import Specification
from ...spec.variants import Family, RowView
from ..asked_data import asked_data, releases_data
from ..files import Atlas, AtlasFile, AtlasPage, data_file, slug
from ..frame import rendered
from ..legality_data import page_of
from .arithmetic import SHOWN
from .home import DESCRIBED, JUDGE
from .instruction_answers import answered
from .instruction_formulas import arithmetic, layouts, models

__all__ = ["made"]


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """A page for each instruction, and what assemblers said about its forms."""
    specification = atlas.specification
    records = load_records()
    listed = claims(specification)
    said = _said(verdicts(records, listed))
    yield data_file("assemblers", releases_data(records))
    devices = list(devices_of({claim.id for claim in listed}))
    peers = {str(one.peer): frozenset(each.layout for each in one.maps) for one in load_peers()}
    entries = _entries()
    answers = answered(load_answers())
    sums = _sums(specification)
    for name, family in specification.families.items():
        own = [claim for claim in listed if claim.view.family is family]
        data = f"asked-{slug(name)}"
        yield data_file(data, asked_data(own, records))
        instruction = family.instruction
        body = rendered(
            "instruction.html",
            instruction=instruction,
            data=data,
            section=cited(specification.index, instruction.source.section),
            note=instruction.source.note,
            versions=[str(version) for version in reversed(specification.isa.versions)],
            targets=list(specification.index.targets),
            rows=[
                {
                    **_row(specification, view),
                    "assemblers": _assemblers(said[view.id]),
                    "devices": [device for device, rows in devices if view.id in rows],
                    "peers": {
                        peer: sorted(laid) for peer, of in peers.items() if (laid := of & view.layouts)
                    },
                }
                for view in family.rows
            ],
            operands=[_operand(family, operand) for operand in instruction.operands],
            clauses=_clauses(specification, family),
            layouts=list(layouts(specification, family)),
            arithmetic=arithmetic(family),
            summed=sums.get(name),
            models=models(family),
            entries=entries.get(name, []),
            theorems=_theorems(specification, family),
            answers=answers,
            statement=lambda text: Markup(statement(text)),
            assemblers=len(records),
        )
        yield AtlasPage(
            page_of(name),
            name,
            "Search",
            body,
            instruction.title,
            scripts=(*JUDGE, *DESCRIBED, "builder", "paste", "asked", "instruction"),
            data=("legality", "assemblers", data),
        )


def _said(found: Iterable[ClaimVerdict]) -> Mapping[str, Counter[str]]:
    """By row, how many assemblers agree with it, differ from it, or were not asked."""
    counted_by_row: dict[str, Counter[str]] = {}
    for verdict in found:
        counted_by_row.setdefault(verdict.claim.id, Counter())[verdict.state] += 1
    return counted_by_row


def _assemblers(said: Mapping[str, int]) -> str:
    """How many releases agree with a row."""
    every = sum(said.values())
    others = "".join(f", {count} {state}" for state, count in said.items() if state != "agrees")
    return f"{said.get('agrees', 0)} of {counted(every, 'release')} agree{others}" if every else "none"


def _gate_words(gate: EffectiveGate, known: Sequence[str]) -> str:
    """Versions and targets of a gate: `since 8.0 on sm_90a`."""
    names = [name for name, _ in gate.targets]
    if len(names) > 3 and names == list(known)[list(known).index(names[0]) :]:
        return f"{gate.versions} on {names[0]} and every later one ({len(names)} targets)"
    return f"{gate.versions} on {', '.join(names)}"


def _row(specification: Specification, view: RowView) -> dict[str, Any]:
    """What the specification says about a row."""
    row, known = view.row, list(specification.index.targets)
    gates = dict.fromkeys(variant.gate for variant in view.variants())
    source = row.source
    return {
        "id": row.id,
        "example": next(view.variants()).mnemonic,
        "count": counted(row.count, "mnemonic"),
        "fields": {name: _values(values) for name, values in view.domains.items()},
        "where": row.where.text if row.where else None,
        "gates": [_gate_words(gate, known) for gate in gates],
        "whys": list(dict.fromkeys(one.why for one in view.conditions())),
        "tolerated": row.tolerated,
        "section": cited(specification.index, source.section) if source else None,
        "layouts": sorted({pair for variant in view.variants() for pair in variant.layouts.items()}),
    }


def _values(values: Sequence[str | int]) -> str:
    if len(values) > 8:
        return f"{values[0]}, {values[1]} … {values[-1]} ({len(values)} values)"
    return ", ".join(map(str, values))


def _operand(family: Family, name: str) -> dict[str, Any]:
    """An operand: what it is, and what bounds it."""
    operand = family.instruction.operands[name]
    bounds = []
    if operand.registers:
        bounds.append(f"registers: {operand.registers.text}")
    if operand.holds:
        bounds.append(f"of the types that hold {operand.holds}")
    if operand.types:
        bounds.append(f"types: {', '.join(f'.{one}' for one in operand.types)}")
    if operand.values:
        bounds.append(f"values: {', '.join(map(str, operand.values.values))}")
    if operand.valid:
        bounds.append(f"rule: {operand.valid.text}")
    if operand.elements:
        bounds.append(f"elements: {', '.join(operand.elements)}")
    accepts = " or ".join(operand.accepts)
    return {"name": name, "what": operand.what, "accepts": accepts, "role": operand.role, "bounds": bounds}


def _clauses(specification: Specification, family: Family) -> list[dict[str, Any]]:
    """The clauses of its contracts: what must be done around it, and what its results are."""
    names = dict.fromkeys(family.instruction.execution)
    rows: dict[str, list[str]] = {}
    for view in family.rows:
        for name in view.row.numerical:
            names.setdefault(name)
            rows.setdefault(name, []).append(view.row.id)
    found = []
    for name in names:
        clause = specification.clauses[name]
        of = rows.get(name, [])
        found.append(
            {
                "id": name,
                "clause": clause,
                "rows": [] if len(of) == len(family.rows) else of,
                "section": cited(specification.index, clause.section),
            }
        )
    return found


def _entries() -> Mapping[str, list[tuple[str, str]]]:
    """By instruction, the entries of the register that have points or cases of it."""
    found: dict[str, list[tuple[str, str]]] = {}
    judge = register().specification.judge()
    for name, entry in register().entries.items():
        words = {text[0] for case in entry.cases if (text := case.text.removesuffix(";").split())}
        near = filter(None, map(judge.closest, sorted(words)))
        concerned = [points.instruction for points in entry.points]
        if entry.everywhere:
            concerned += register().specification.instructions
        for instruction in dict.fromkeys((*concerned, *(one.instruction.instruction for one in near))):
            found.setdefault(instruction, []).append((name, entry.title))
    return found


def _sums(specification: Specification) -> Mapping[str, str]:
    """By instruction, the shortest mnemonic whose sums the page of arithmetic shows."""
    target = SHOWN.targets[-1]
    found: dict[str, str] = {}
    for variant in summing(specification, None, target):
        name = variant.row.family.instruction.instruction
        found[name] = min(
            found.get(name, variant.mnemonic), variant.mnemonic, key=lambda one: (len(one), one)
        )
    return found


def _theorems(specification: Specification, family: Family) -> list[dict[str, Any]]:
    """The groups of theorems that its rows rest on, and about how many parts of the specification."""
    found = []
    for group in GROUPS:
        parts = {part for view in family.rows for part in group.behind(specification, view)}
        if parts:
            found.append(
                {
                    "name": group.name,
                    "theorems": group.theorems,
                    "parts": sorted(parts),
                    "count": counted(len(parts), "part"),
                }
            )
    return found
