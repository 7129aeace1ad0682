"""What each release of ptxas did with each litmus test, as recorded; what changed since has no answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..assemblers.litmus_reactions import KINDS, Reaction, ReactionKind
from ..gen.litmus.litmus_tests import SuiteLitmus
from .records import FOLDER, in_order, put, read

__all__ = ["LitmusRecord", "load_litmus_record", "recorded_anew", "write_litmus_record"]

_FORMAT = 1
_NAME = "litmus"
_DIGITS = 12


@dataclass(frozen=True)
class LitmusRecord:
    """By release of ptxas and name of test, the hash of its PTX and what the release did with it."""

    releases: Mapping[str, Mapping[str, tuple[str, ReactionKind]]]

    def of(self, test: SuiteLitmus) -> Mapping[str, ReactionKind]:
        """What each release did with a test as it stands today, the oldest release first."""
        now = _hash(test)
        found = ((release, tests.get(test.name)) for release, tests in self.releases.items())
        return {release: said[1] for release, said in found if said and said[0] == now}

    @cached_property
    def tests(self) -> frozenset[str]:
        """The names of the tests that some release was asked about."""
        return frozenset(name for tests in self.releases.values() for name in tests)


def load_litmus_record(folder: Path = FOLDER) -> LitmusRecord:
    """The record; empty where there is none. Raises Question for any other file."""
    found = read(folder, f"{_NAME}.json", _FORMAT, _record)
    return found[0] if found else LitmusRecord({})


def recorded_anew(
    record: LitmusRecord, tests: Sequence[SuiteLitmus], found: Mapping[str, Iterable[Reaction]]
) -> LitmusRecord:
    """The record with what some releases did with all tests; what the others did is kept."""
    hashes = {test.name: _hash(test) for test in tests}
    new = {
        release: {said.test: (hashes[said.test], said.kind) for said in reactions}
        for release, reactions in found.items()
    }
    releases = {**record.releases, **new}
    return LitmusRecord({release: releases[release] for release in sorted(releases, key=in_order)})


def write_litmus_record(record: LitmusRecord, folder: Path = FOLDER) -> Path:
    """Write the record to its file: a line a test, with a digit for each release."""
    releases = list(record.releases)
    lines = []
    for name in sorted(record.tests):
        by_hash: dict[str, list[str]] = {}
        for number, release in enumerate(releases):
            said = record.releases[release].get(name)
            if said:
                digits = by_hash.setdefault(said[0], ["-"] * len(releases))
                digits[number] = str(KINDS.index(said[1]))
        lines += [json.dumps([name, code, "".join(digits)]) for code, digits in by_hash.items()]
    head = {"format": _FORMAT, "kinds": list(KINDS), "releases": releases}
    text = json.dumps(head, indent=1)[:-2] + ',\n "tests": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    return put(folder, _NAME, text)


def _record(value: Any) -> LitmusRecord:
    releases: dict[str, dict[str, tuple[str, ReactionKind]]] = {name: {} for name in value["releases"]}
    known = {kind: kind for kind in KINDS}
    kinds = [known[kind] for kind in value["kinds"]]
    for name, code, digits in value["tests"]:
        for release, digit in zip(releases, digits, strict=True):
            if digit != "-":
                releases[release][name] = code, kinds[int(digit)]
    return LitmusRecord(releases)


def _hash(test: SuiteLitmus) -> str:
    return hashlib.sha256(test.ptx.encode()).hexdigest()[:_DIGITS]
