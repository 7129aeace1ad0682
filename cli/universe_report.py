"""Verdicts on what assemblers did with whole universes, recomputed from the record, as a table or JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..assemblers.toolchains import Ptxas
from ..assemblers.universe_points import UniversePoint
from ..ledger.contradictions import register
from ..ledger.listed import releases_of
from ..ledger.records import FOLDER, changed
from ..ledger.universe_record import (
    ExpectedAnswers,
    UniverseVerdict,
    load_universes,
    observe_universes,
    universes,
    verdicts,
    write,
)
from ..spec.errors import Question
from ..spec.specification import Specification

__all__ = ["UniverseVerdicts", "again", "record", "shown_by_assemblers"]

_SHOWN = 20


@dataclass(frozen=True)
class UniverseVerdicts:
    """The verdicts of every recorded assembler on every universe, and what is `unrecorded`: assemblers, and
    the universes of instructions.
    """

    found: tuple[UniverseVerdict, ...]
    unrecorded: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a universe is stale or unrecorded, or has an unregistered difference."""
        return bool(self.unrecorded) or any(v.stale or v.unregistered for v in self.found)

    def as_json(self) -> list[dict[str, Any]]:
        """One object a universe and assembler."""
        return [
            {
                "universe": verdict.instruction,
                "release": verdict.release,
                "state": "stale" if verdict.stale else "differs" if verdict.differing else "agrees",
                "points": verdict.points,
                "differing": verdict.differing,
                "unregistered": len(verdict.unregistered),
            }
            for verdict in self.found
        ]

    def print(self) -> None:
        """Print a line for each assembler, then what is stale or not registered."""
        from rich.console import Console
        from rich.table import Table

        console = Console(width=None if Console().is_terminal else 110, highlight=False)
        by_release: dict[str, list[UniverseVerdict]] = defaultdict(list)
        for verdict in self.found:
            by_release[verdict.release].append(verdict)
        table = Table("ptxas", "universes", "stale", "points", "differ", "not registered")
        for release, own in by_release.items():
            counts = (
                len(own),
                sum(v.stale for v in own),
                sum(v.points for v in own),
                sum(v.differing for v in own),
                sum(len(v.unregistered) for v in own),
            )
            table.add_row(release, *map(str, counts))
        console.print(table)
        for what in self.unrecorded:
            console.print(f"UNRECORDED: {what}", markup=False)
        for verdict in self.found:
            if verdict.stale:
                console.print(f"STALE: the universe of {verdict.instruction}, ptxas {verdict.release}")
        lines = [
            f"DIFFERS: {v.instruction}, ptxas {v.release}, {text}"
            for v in self.found
            for text in v.unregistered
        ]
        for line in lines[:_SHOWN]:
            console.print(line, markup=False, soft_wrap=True)
        if len(lines) > _SHOWN:
            console.print(f"… and {len(lines) - _SHOWN} more")


def shown_by_assemblers(specification: Specification) -> UniverseVerdicts:
    """The verdicts that follow from what is recorded."""
    records = load_universes(FOLDER)
    releases = {known.release for known in records}
    names = {name for known in records for name in known.instructions}
    unrecorded = (
        *(f"ptxas {one}" for one in releases_of(specification.index) if one not in releases),
        *(f"the universe of {name}" for name in specification.instructions if name not in names),
    )
    found = verdicts(specification, records, register()) if records else ()
    return UniverseVerdicts(found, unrecorded)


def record(specification: Specification, releases: Sequence[Ptxas]) -> None:
    """Ask assemblers about universes that are not recorded yet, and record the answers."""
    before = {known.release: known for known in load_universes(FOLDER)}
    every = universes(specification)
    for ptxas in releases:
        found = observe_universes(specification, every, ptxas, before.get(ptxas.version))
        points = sum(int(entry["points"]) for entry in found.instructions.values())
        print(f"{write(found, FOLDER)}: {len(found.instructions)} universes, {points} points")


def again(
    specification: Specification,
    every: Mapping[str, Sequence[UniversePoint]],
    ptxas: Ptxas,
    assembled: Mapping[str, frozenset[str]],
) -> bool:
    """Ask an assembler again about every universe and print differences from the record; whether there are
    none. What it has `assembled` just now, by target, it need not assemble twice.
    """
    recorded = next((known for known in load_universes(FOLDER) if known.release == ptxas.version), None)
    if recorded is None:
        raise Question(f"no universe is recorded of ptxas {ptxas.version}")
    expected = ExpectedAnswers(recorded, assembled)
    now = observe_universes(specification, every, ptxas, expected=expected)
    differing = changed(now.instructions, recorded.instructions)
    for name in differing:
        print(f"ptxas {ptxas.version} does not do what is recorded of the universe of {name}")
    if not differing:
        print(f"ptxas {ptxas.version} does what is recorded: {len(now.instructions)} universes")
    return not differing
