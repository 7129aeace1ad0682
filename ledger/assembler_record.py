"""Raw observations of what assemblers did with every legal form, and the verdicts recomputed from them.

A file of evidence/ holds one assembler's observations. For every row and every .version and .target that the
assembler takes, a bitmap says which of the row's forms it accepted. Hashes say which claim and which emitted
cases the row had then.
"""

from __future__ import annotations

import base64
import datetime
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ..assemblers.assembler_settings import AssemblerSetting, Column, columns
from ..assemblers.classification import Session
from ..assemblers.outcomes import AskedBefore
from ..assemblers.toolchains import Ptxas, digest
from ..assemblers.universe import Universe
from ..spec.errors import Question
from ..spec.gates import EffectiveGate
from ..spec.model import Form
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.variants import RowView, Variant
from ..spec.workers import over_jobs
from .claims import ClaimState, cases_digest, legality_digest
from .records import FOLDER, bits_of, by_release, put, read

__all__ = [
    "Claim",
    "ClaimVerdict",
    "Record",
    "claims",
    "load_records",
    "observe",
    "verdicts",
    "write",
]

_FORMAT = 2
_BITMAPS = 256


@dataclass(frozen=True)
class Claim:
    """A row's claim of legality: its forms as statements, and when each is legal."""

    view: RowView
    universe: Universe

    @property
    def id(self) -> str:
        return self.view.id

    @cached_property
    def digest(self) -> str:
        return legality_digest(self.view)

    @cached_property
    def _forms(self) -> tuple[tuple[Variant, Form], ...]:
        """Every variant of the row in every operand form."""
        return tuple((variant, form) for variant in self.view.variants() for form in variant.forms)

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Every form as a statement; the number of a statement is its bit in every bitmap."""
        return tuple(self.universe.write(variant, form).text for variant, form in self._forms)

    @cached_property
    def cases(self) -> str:
        return cases_digest(self.statements)

    @cached_property
    def _by_gate(self) -> Mapping[EffectiveGate, int]:
        """By gate, the bitmap of the forms that have it: a row has few gates and many forms."""
        effective = self.view.family.isa.effective
        found: dict[EffectiveGate, int] = {}
        for number, (variant, form) in enumerate(self._forms):
            own = [*self.view.gates_on(variant.fields), form.gate] if form.gate else ()
            gate = effective(own) if own else variant.gate
            found[gate] = found.get(gate, 0) | 1 << number
        return found

    def legal(self, ptx: Version, target: str) -> int:
        """The bitmap of the forms that are legal for a version and a target."""
        return sum(forms for gate, forms in self._by_gate.items() if gate.opens(ptx, target))


def claims(specification: Specification) -> tuple[Claim, ...]:
    """The claim of every row."""
    universe = Universe(specification)
    return tuple(Claim(view, universe) for family in specification.families.values() for view in family.rows)


@dataclass(frozen=True)
class Record:
    """One assembler's observations: for each row the hashes, the date, and the bitmap of each setting."""

    release: str
    sha256: str
    settings: tuple[tuple[str, str], ...]
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def dates(self) -> str:
        """The first and the last day on which its rows were asked about."""
        days = sorted({row["date"] for row in self.rows.values()})
        return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""

    def seen(self, claim: Claim) -> list[int] | None:
        """The bitmap of accepted forms at every setting; None where the claim has changed since."""
        row = self.rows.get(claim.id)
        if row is None or row["claim"] != claim.digest or row["cases"] != claim.cases:
            return None
        which = zlib.decompress(base64.b64decode(row["observed"]))
        bitmaps = [int(text, 16) for text in row["bitmaps"]]
        return [bitmaps[number] for number in which]


@dataclass(frozen=True)
class ClaimVerdict:
    """A record's verdict on a claim: how many points were compared, and those that differ."""

    claim: Claim
    release: str
    state: ClaimState
    points: int = 0
    differing: tuple[tuple[str, str, str, bool], ...] = ()


def verdicts(records: Sequence[Record], asked: Sequence[Claim]) -> Iterator[ClaimVerdict]:
    """The verdict of every record on every claim, recomputed from the raw observations."""
    legal = {claim.id: _Legality(claim) for claim in asked}
    for record in records:
        settings = record.settings
        for claim in asked:
            seen = record.seen(claim)
            if seen is None:
                yield ClaimVerdict(claim, record.release, "stale" if claim.id in record.rows else "unseen")
                continue
            claimed = legal[claim.id].at(settings)
            differing = tuple(
                (*setting, claim.statements[number], bool(accepted >> number & 1))
                for setting, wanted, accepted in zip(settings, claimed, seen, strict=True)
                if wanted != accepted
                for number in bits_of(wanted ^ accepted)
            )
            points = len(seen) * len(claim.statements)
            yield ClaimVerdict(claim, record.release, "differs" if differing else "agrees", points, differing)


class _Legality:
    """The legal forms of one claim by setting, computed once: releases share most of their settings."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._bitmaps: dict[tuple[str, str], int] = {}

    def at(self, settings: Iterable[tuple[str, str]]) -> list[int]:
        """The bitmap of the legal forms in every setting."""
        version = self._claim.view.family.isa.version
        for setting in settings:
            if setting not in self._bitmaps:
                ptx, target = setting
                self._bitmaps[setting] = self._claim.legal(version(ptx), target)
        return [self._bitmaps[setting] for setting in settings]


def observe(specification: Specification, ptxas: Ptxas, before: Record | None = None) -> Record:
    """Ask an assembler about every form of every row under every .version and .target that it takes.

    Observations made `before` of an unchanged claim are kept, not repeated.
    """
    every = claims(specification)
    if before is not None and before.sha256 == digest(ptxas.path):
        kept = {claim.id: before.rows[claim.id] for claim in every if before.seen(claim) is not None}
    else:
        kept = {}
    asked = [claim for claim in every if claim.id not in kept]
    known = columns(specification.isa, [ptxas])
    if not known:
        raise Question(f"ptxas {ptxas.version} takes no target of the specification")
    unreadable = _syntax_errors(asked, Session(ptxas, ptxas.ptx, known[0].target))
    found = over_jobs(known, partial(_accepted, asked, unreadable))
    seen = {setting: bitmaps for column in found for setting, bitmaps in column.items()}
    order = {target: place for place, target in enumerate(specification.index.targets)}
    taken = sorted(seen, key=lambda setting: (order[setting.target], setting.ptx))
    named = tuple((str(setting.ptx), setting.target) for setting in taken)
    if before is not None and kept and named != before.settings:
        return observe(specification, ptxas)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows: dict[str, Mapping[str, Any]] = dict(kept)
    for number, claim in enumerate(asked):
        column = [seen[setting][number] for setting in taken]
        distinct = sorted(set(column))
        if len(distinct) > _BITMAPS:
            raise Question(f"ptxas {ptxas.version} has more than {_BITMAPS} opinions about {claim.id}")
        which = bytes(distinct.index(bitmap) for bitmap in column)
        rows[claim.id] = {
            "claim": claim.digest,
            "cases": claim.cases,
            "date": today,
            "bitmaps": [f"{bitmap:x}" for bitmap in distinct],
            "observed": base64.b64encode(zlib.compress(which, 9)).decode(),
        }
    in_order = {claim.id: rows[claim.id] for claim in every}
    return Record(ptxas.version, digest(ptxas.path), named, in_order)


def _syntax_errors(asked: Sequence[Claim], session: Session) -> frozenset[str]:
    """The statements that an assembler cannot parse; its grammar is the same in every setting."""
    statements = [statement for claim in asked for statement in claim.statements]
    pairs = zip(statements, session.classify(statements), strict=True)
    return frozenset(text for text, outcome in pairs if "syntax error" in outcome.words)


def _accepted(
    asked: Sequence[Claim], unreadable: frozenset[str], column: Column
) -> dict[AssemblerSetting, list[int]]:
    """By setting and claim, the bitmap of the accepted forms; a form that kills ptxas is not accepted."""
    statements = [text for claim in asked for text in claim.statements if text not in unreadable]
    memory, found = AskedBefore(), {}
    for version in column.versions:
        setting = AssemblerSetting(column.ptxas, version, column.target)
        session = Session(setting.ptxas, setting.ptx, setting.target, memory=memory)
        if session.mute() is None:
            outcomes = zip(statements, session.classify(statements), strict=True)
            accepted = {text for text, outcome in outcomes if outcome.verdict == "accepted"}
            found[setting] = [
                sum(1 << bit for bit, text in enumerate(claim.statements) if text in accepted)
                for claim in asked
            ]
    return found


def write(record: Record, folder: Path = FOLDER) -> Path:
    """Write a record to its file."""
    by_target: dict[str, list[str]] = {}
    for ptx, target in record.settings:
        by_target.setdefault(target, []).append(ptx)
    value = {
        "format": _FORMAT,
        "tool": {"name": "ptxas", "version": record.release, "sha256": record.sha256},
        "settings": by_target,
        "rows": record.rows,
    }
    return put(folder, f"ptxas-{record.release}", json.dumps(value, indent=1) + "\n")


def _record(value: Any) -> Record:
    settings = tuple((ptx, target) for target, all_ptx in value["settings"].items() for ptx in all_ptx)
    return Record(value["tool"]["version"], value["tool"]["sha256"], settings, value["rows"])


def load_records(folder: Path = FOLDER) -> tuple[Record, ...]:
    """Every record, oldest release first; raises Question for any other file."""
    return by_release(read(folder, "ptxas-*.json", _FORMAT, _record))
