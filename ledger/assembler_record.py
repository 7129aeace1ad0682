"""Raw observations of what assemblers did with every legal form, and the verdicts recomputed from them.

A file of evidence/ holds one assembler's observations. For every row and every .version and .target that the
assembler takes, a bitmap says which of the row's forms it accepted. Hashes say which claim and which emitted
cases the row had then.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..assemblers.universe import Universe
from ..spec.gates import EffectiveGate
from ..spec.index import Index
from ..spec.lazy_dataclass import dataclass
from ..spec.model import Form
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.variants import RowView, Variant
from .asked_names import ASSEMBLER_FORMAT
from .claims import ClaimState, cases_digest, legality_digest
from .listed import releases_of
from .records import FOLDER, bits_of, by_release, put, read

__all__ = [
    "Claim",
    "ClaimVerdict",
    "Record",
    "assembled",
    "claims",
    "load_records",
    "unclaimed",
    "verdicts",
    "with_unrecorded",
    "write",
]


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
    def forms(self) -> tuple[tuple[Variant, Form], ...]:
        """Every variant of the row in every operand form."""
        return tuple((variant, form) for variant in self.view.variants() for form in variant.forms)

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Every form as a statement; the number of a statement is its bit in every bitmap."""
        return tuple(self.universe.write(variant, form).text for variant, form in self.forms)

    @cached_property
    def cases(self) -> str:
        return cases_digest(self.statements)

    @cached_property
    def by_gate(self) -> Mapping[EffectiveGate, int]:
        """By gate, the bitmap of the forms that have it: a row has few gates and many forms."""
        effective = self.view.family.isa.effective
        found: dict[EffectiveGate, int] = {}
        for number, (variant, form) in enumerate(self.forms):
            own = [*self.view.gates_on(variant.fields), form.gate] if form.gate else ()
            gate = effective(own) if own else variant.gate
            found[gate] = found.get(gate, 0) | 1 << number
        return found

    def legal(self, ptx: Version, target: str) -> int:
        """The bitmap of the forms that are legal for a version and a target."""
        return sum(forms for gate, forms in self.by_gate.items() if gate.opens(ptx, target))


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


def assembled(record: Record, ptx: Version, asked: Iterable[Claim]) -> dict[str, frozenset[str]]:
    """By target, the forms that an assembler accepted under a version."""
    places = {target: at for at, (version, target) in enumerate(record.settings) if version == str(ptx)}
    found: dict[str, set[str]] = {target: set() for target in places}
    for claim in asked:
        bitmaps = record.seen(claim) or []
        for target, at in places.items() if bitmaps else ():
            found[target].update(claim.statements[number] for number in bits_of(bitmaps[at]))
    return {target: frozenset(texts) for target, texts in found.items()}


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


def unclaimed(records: Sequence[Record], every: Sequence[Claim]) -> dict[str, tuple[str, ...]]:
    """The rows that are recorded and that nothing claims any more, each with the releases that were asked."""
    known, found = {claim.id for claim in every}, dict[str, tuple[str, ...]]()
    for record in records:
        for row in record.rows.keys() - known:
            found[row] = (*found.get(row, ()), record.release)
    return dict(sorted(found.items()))


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


def write(record: Record, folder: Path = FOLDER) -> Path:
    """Write a record to its file."""
    by_target: dict[str, list[str]] = {}
    for ptx, target in record.settings:
        by_target.setdefault(target, []).append(ptx)
    value = {
        "format": ASSEMBLER_FORMAT,
        "tool": {"name": "ptxas", "version": record.release, "sha256": record.sha256},
        "settings": by_target,
        "rows": record.rows,
    }
    return put(folder, f"ptxas-{record.release}", json.dumps(value, indent=1) + "\n")


def _record(value: Any) -> Record:
    settings = tuple((ptx, target) for target, all_ptx in value["settings"].items() for ptx in all_ptx)
    return Record(value["tool"]["version"], value["tool"]["sha256"], settings, value["rows"])


def with_unrecorded(index: Index, records: Sequence[Record]) -> tuple[Record, ...]:
    """The records, with an empty one of each release that has none: it is named, and agrees with nothing."""
    known = {record.release for record in records}
    empty = (Record(release, "", (), {}) for release in releases_of(index) if release not in known)
    return by_release((*records, *empty))


def load_records(folder: Path = FOLDER) -> tuple[Record, ...]:
    """Every record, oldest release first; raises Question for any other file."""
    return by_release(read(folder, "ptxas-*.json", ASSEMBLER_FORMAT, _record))
