"""What assemblers did with the cases of the register and with statements of its points, raw, by release.

The file of evidence/ holds the statements themselves: no hash connects it with contradictions.yaml, and the
register is judged by them as it stands (register_faults). Statements and cases are only ever added.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..spec.errors import Question
from .records import FOLDER, in_order, put, read

__all__ = [
    "AskedCase",
    "AskedSetting",
    "CaseOutcome",
    "RegisterRecord",
    "ReleaseObservations",
    "load_register",
    "write_register",
]

_FORMAT = 1
_NAME = "contradictions"
AskedSetting = tuple[str, str]
AskedCase = tuple[str, str, str]
"""A case as it was asked: the .version, the .target, the statement."""
CaseOutcome = tuple[Literal["accepted", "refused", "died"], str]
"""What a release did with a case, and its words."""
Bitmaps = Mapping[str, tuple[int, ...]]
"""By instruction, a bitmap of its statements for every setting."""


@dataclass(frozen=True)
class ReleaseObservations:
    """What one release did: the settings in which it was asked, the statements that it accepted or died of,
    and the cases that it could be asked about.
    """

    release: str
    sha256: str
    date: str
    settings: tuple[AskedSetting, ...]
    accepted: Bitmaps
    died: Bitmaps
    asked: Mapping[str, int]  # by instruction, how many of the statements
    cases: Mapping[AskedCase, CaseOutcome]

    def of(self, bitmaps: Bitmaps, instruction: str) -> tuple[int, ...]:
        """The bitmaps of an instruction, one a setting; an instruction without any has no statement in it."""
        return bitmaps.get(instruction) or (0,) * len(self.settings)

    def in_settings(self, settings: Sequence[AskedSetting]) -> ReleaseObservations:
        """What it did in some of its settings, in their order."""
        places = [self.settings.index(setting) for setting in settings]
        accepted, died = (
            {name: tuple(maps[place] for place in places) for name, maps in which.items()}
            for which in (self.accepted, self.died)
        )
        return replace(self, settings=tuple(settings), accepted=accepted, died=died)

    def and_in(self, later: ReleaseObservations) -> ReleaseObservations:
        """The same with settings in which it was asked about the same statements later."""

        def both(before: Bitmaps, after: Bitmaps) -> Bitmaps:
            known = dict.fromkeys((*before, *after))
            return {name: (*self.of(before, name), *later.of(after, name)) for name in known}

        return replace(
            self,
            date=later.date,
            settings=(*self.settings, *later.settings),
            accepted=both(self.accepted, later.accepted),
            died=both(self.died, later.died),
        )

    def and_also(self, later: ReleaseObservations) -> ReleaseObservations:
        """The same with statements and cases that were asked about later, in the same settings."""
        if set(self.settings) != set(later.settings):
            raise Question(
                f"ptxas {self.release} does not take the settings that are recorded; record it anew"
            )
        later = later.in_settings(self.settings)

        def both(before: Bitmaps, after: Bitmaps) -> Bitmaps:
            return {
                name: tuple(
                    one | other << self.asked.get(name, 0)
                    for one, other in zip(self.of(before, name), later.of(after, name), strict=True)
                )
                for name in dict.fromkeys((*before, *after))
            }

        asked = {
            name: self.asked.get(name, 0) + later.asked.get(name, 0)
            for name in dict.fromkeys((*self.asked, *later.asked))
        }
        return replace(
            self,
            date=later.date,
            accepted=both(self.accepted, later.accepted),
            died=both(self.died, later.died),
            asked=asked,
            cases={**self.cases, **later.cases},
        )


@dataclass(frozen=True)
class RegisterRecord:
    """The statements by instruction, the cases, and what every release did with them, oldest first."""

    statements: Mapping[str, tuple[str, ...]]
    cases: tuple[AskedCase, ...]
    releases: tuple[ReleaseObservations, ...]

    def with_asked(
        self, statements: Mapping[str, Sequence[str]], cases: Iterable[AskedCase]
    ) -> RegisterRecord:
        """The record with statements and cases that it does not have, behind those that it has."""
        both = {
            name: tuple(dict.fromkeys((*self.statements.get(name, ()), *statements.get(name, ()))))
            for name in dict.fromkeys((*self.statements, *statements))
        }
        return replace(self, statements=both, cases=tuple(dict.fromkeys((*self.cases, *cases))))

    def with_release(self, observed: ReleaseObservations) -> RegisterRecord:
        """The record with the observations of one release in place of earlier ones."""
        others = [one for one in self.releases if one.release != observed.release]
        ordered = sorted((*others, observed), key=lambda one: in_order(one.release))
        return replace(self, releases=tuple(ordered))


def load_register(folder: Path = FOLDER) -> RegisterRecord:
    """The record; empty where there is none. Raises Question for any other file."""
    found = read(folder, f"{_NAME}.json", _FORMAT, _record)
    return found[0] if found else RegisterRecord({}, (), ())


def write_register(record: RegisterRecord, folder: Path = FOLDER) -> Path:
    """Write the record to its file."""
    value = {
        "format": _FORMAT,
        "statements": record.statements,
        "cases": [list(case) for case in record.cases],
        "releases": {one.release: _as_json(record, one) for one in record.releases},
    }
    return put(folder, _NAME, json.dumps(value, indent=0, ensure_ascii=False) + "\n")


def _as_json(record: RegisterRecord, observed: ReleaseObservations) -> dict[str, Any]:
    by_target: dict[str, list[str]] = {}
    for ptx, target in observed.settings:
        by_target.setdefault(target, []).append(ptx)
    number = {case: place for place, case in enumerate(record.cases)}
    outcomes: dict[str, dict[str, list[int]]] = {}
    for case, (verdict, words) in observed.cases.items():
        outcomes.setdefault(verdict, {}).setdefault(words, []).append(number[case])
    return {
        "sha256": observed.sha256,
        "date": observed.date,
        "settings": {target: " ".join(versions) for target, versions in by_target.items()},
        "asked": observed.asked,
        "accepted": {name: _packed(bitmaps) for name, bitmaps in observed.accepted.items()},
        "died": {name: _packed(bitmaps) for name, bitmaps in observed.died.items() if any(bitmaps)},
        "cases": {
            verdict: {words: " ".join(map(str, numbers)) for words, numbers in said.items()}
            for verdict, said in outcomes.items()
        },
    }


def _packed(bitmaps: Sequence[int]) -> dict[str, Any]:
    distinct = sorted(set(bitmaps))
    places = {bitmap: place for place, bitmap in enumerate(distinct)}
    which = b"".join(places[bitmap].to_bytes(2, "little") for bitmap in bitmaps)
    return {
        "bitmaps": [f"{bitmap:x}" for bitmap in distinct],
        "observed": base64.b64encode(zlib.compress(which, 9)).decode(),
    }


def _unpacked(value: Any) -> tuple[int, ...]:
    bitmaps = [int(text, 16) for text in value["bitmaps"]]
    which = zlib.decompress(base64.b64decode(value["observed"]))
    return tuple(
        bitmaps[int.from_bytes(which[place : place + 2], "little")] for place in range(0, len(which), 2)
    )


def _record(value: Any) -> RegisterRecord:
    cases = tuple((ptx, target, statement) for ptx, target, statement in value["cases"])
    return RegisterRecord(
        {name: tuple(statements) for name, statements in value["statements"].items()},
        cases,
        tuple(_release(cases, name, one) for name, one in value["releases"].items()),
    )


def _release(cases: Sequence[AskedCase], name: str, value: Any) -> ReleaseObservations:
    settings = tuple((ptx, target) for target, some in value["settings"].items() for ptx in some.split())
    accepted, died = (
        {instruction: _unpacked(packed) for instruction, packed in value[which].items()}
        for which in ("accepted", "died")
    )
    return ReleaseObservations(
        name,
        value["sha256"],
        value["date"],
        settings,
        accepted,
        died,
        value["asked"],
        {
            cases[int(number)]: (verdict, words)
            for verdict, said in value["cases"].items()
            for words, numbers in said.items()
            for number in numbers.split()
        },
    )
