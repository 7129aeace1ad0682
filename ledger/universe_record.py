"""Raw observations of what assemblers did with the universe of every instruction; verdicts are recomputed.

A file of evidence/ holds one assembler's observations: for every instruction the target, and a bitmap of the
statements that it accepted under its own newest .version. Unchanged statements are not asked again.
"""

from __future__ import annotations

import base64
import datetime
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..assemblers.assembler_settings import AssemblerSetting, Job, home, split
from ..assemblers.classification import Session
from ..assemblers.comparison import AssemblerVerdict, ContradictionLookup
from ..assemblers.outcomes import AskedBefore, StatementOutcome
from ..assemblers.toolchains import Ptxas, digest
from ..assemblers.universe import Universe
from ..assemblers.universe_cache import PackedUniverse, packed, whole
from ..assemblers.universe_points import UniversePoint
from ..spec.gates import EffectiveGate
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.workers import over_jobs
from .asked_names import UNIVERSE_FORMAT
from .claims import cases_digest
from .records import bits_of, by_release, put, read

__all__ = [
    "ExpectedAnswers",
    "UniverseRecord",
    "UniverseVerdict",
    "judged",
    "load_universes",
    "observe_universes",
    "universes",
    "verdicts",
    "write",
]


@dataclass(frozen=True)
class UniverseRecord:
    """One assembler's observations, by instruction: target, date, hash of the statements, bitmap."""

    release: str
    sha256: str
    ptx: str
    instructions: Mapping[str, Mapping[str, Any]]

    def accepted(self, instruction: str, cases: str) -> bytes | None:
        """A bit for each statement, the first in the lowest bit of the first byte; None if the statements
        have changed.
        """
        found = self.instructions.get(instruction)
        if found is None or found["cases"] != cases:
            return None
        return zlib.decompress(base64.b64decode(found["accepted"]))


@dataclass(frozen=True)
class UniverseVerdict:
    """A record's verdict on a universe; `unregistered` has the statements that no contradiction explains."""

    release: str
    instruction: str
    stale: bool
    points: int = 0
    differing: int = 0
    unregistered: tuple[str, ...] = ()


def _bits(accepted: Sequence[bool]) -> bytes:
    packed = bytearray((len(accepted) + 7) // 8)
    for number, bit in enumerate(accepted):
        packed[number >> 3] |= bit << (number & 7)
    return bytes(packed)


@dataclass(frozen=True)
class ExpectedAnswers:
    """What was observed of an assembler earlier: it says what to ask apart, and what need not be asked twice.

    `assembled`: by target, the statements that it has assembled just now under its newest version.
    """

    recorded: UniverseRecord
    assembled: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class _UniversePart:
    """Some points of a universe, and as bits which of them are recorded as accepted (None: not recorded)."""

    job: Job
    likely: int | None
    assembled: frozenset[str]


def _accepted(part: _UniversePart) -> list[bool]:
    """Which points are accepted; those that are not likely to be are asked about apart from the others."""
    at, statements = part.job.setting, [point.statement for point in part.job.points]
    memory = AskedBefore()
    if part.likely is not None:
        unlikely = bits_of(~part.likely & (1 << len(statements)) - 1)
        memory.apart.update(statements[number] for number in unlikely)
    known = part.assembled.intersection(statements)
    memory.assembled.update({(at.target, text): StatementOutcome("accepted") for text in known})
    outcomes = Session(at.ptxas, at.ptx, at.target, memory=memory).classify(statements)
    return [outcome.verdict == "accepted" for outcome in outcomes]


def _parts(job: Job, cases: str, expected: ExpectedAnswers | None) -> list[_UniversePart]:
    """A job in parts."""
    name = job.points[0].instruction
    accepted = expected.recorded.accepted(name, cases) if expected else None
    assembled = expected.assembled.get(job.setting.target) if expected else None
    bits, start = None if accepted is None else int.from_bytes(accepted, "little"), 0
    found = []
    for part in split([job]):
        count = len(part.points)
        likely = None if bits is None else bits >> start & (1 << count) - 1
        found.append(_UniversePart(part, likely, assembled or frozenset()))
        start += count
    return found


def universes(specification: Specification) -> dict[str, tuple[UniversePoint, ...]]:
    """The whole universe of every instruction."""
    families = list(specification.families.values())
    made = over_jobs(families, partial(whole, Universe(specification)))
    return dict(zip(specification.families, made, strict=True))


def observe_universes(
    specification: Specification,
    every: Mapping[str, Sequence[UniversePoint]],
    ptxas: Ptxas,
    before: UniverseRecord | None = None,
    expected: ExpectedAnswers | None = None,
) -> UniverseRecord:
    """Ask an assembler about every universe that it was not asked about before."""
    sha256 = digest(ptxas.path)
    found: dict[str, Mapping[str, Any]] = {}
    jobs: dict[str, Job] = {}
    for name, points in every.items():
        cases = cases_digest(point.statement for point in points)
        if before and before.sha256 == sha256 and before.accepted(name, cases) is not None:
            found[name] = before.instructions[name]
            continue
        target = home(specification.isa, points, ptxas)
        if target is not None:
            jobs[name] = Job(AssemblerSetting(ptxas, ptxas.ptx, target), points)
    parts = {
        name: _parts(job, cases_digest(point.statement for point in job.points), expected)
        for name, job in jobs.items()
    }
    answers = over_jobs([part for several in parts.values() for part in several], _accepted)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for name, several in parts.items():
        bits = _bits([bit for _ in several for bit in next(answers)])
        found[name] = {
            "target": jobs[name].setting.target,
            "date": today,
            "points": len(every[name]),
            "cases": cases_digest(point.statement for point in every[name]),
            "accepted": base64.b64encode(zlib.compress(bits, 9)).decode(),
        }
    in_order = {name: found[name] for name in every if name in found}
    return UniverseRecord(ptxas.version, sha256, str(ptxas.ptx), in_order)


def verdicts(
    specification: Specification, records: Sequence[UniverseRecord], register: ContradictionLookup
) -> tuple[UniverseVerdict, ...]:
    """The verdict of every record on every universe, recomputed from the raw observations."""
    recorded = dict.fromkeys(name for record in records for name in record.instructions)
    names = sorted(recorded, key=lambda name: -max(_points(record, name) for record in records))
    work = partial(_judged, specification, Universe(specification), records, register)
    by_name = dict(zip(names, over_jobs(names, work), strict=True))
    return tuple(by_name[name][record.release] for record in records for name in record.instructions)


def _points(record: UniverseRecord, name: str) -> int:
    """How many statements were asked about."""
    return int(record.instructions[name]["points"]) if name in record.instructions else 0


def _judged(
    specification: Specification,
    made: Universe,
    records: Sequence[UniverseRecord],
    register: ContradictionLookup,
    name: str,
) -> dict[str, UniverseVerdict]:
    """The verdicts on one universe, by release: the universe is read once for all of them."""
    family = specification.families.get(name)
    universe = packed(made, family) if family else PackedUniverse.of(name, ())
    return judged(specification, universe, [r for r in records if name in r.instructions], register)


def judged(
    specification: Specification,
    universe: PackedUniverse,
    records: Sequence[UniverseRecord],
    register: ContradictionLookup,
) -> dict[str, UniverseVerdict]:
    """The verdicts of these records on one universe, by release."""
    name, statements = universe.instruction, universe.statements
    cases, by_gate = cases_digest(statements), _by_gate(universe)
    found = {}
    for record in records:
        seen = record.accepted(name, cases)
        if seen is None:
            found[record.release] = UniverseVerdict(record.release, name, True)
            continue
        target, ptx = str(record.instructions[name]["target"]), specification.isa.version(record.ptx)
        legal = sum(bitmap for gate, bitmap in by_gate if gate.opens(ptx, target))
        accepted = int.from_bytes(seen, "little")
        places = list(bits_of(legal ^ accepted))
        unregistered = []
        for place in places:
            said = "accepted" if accepted >> place & 1 else "refused"
            if not _explained(register, name, statements[place], record.release, ptx, target, said):
                unregistered.append(f"{target}: {said}: {statements[place]}")
        found[record.release] = UniverseVerdict(
            record.release, name, False, len(statements), len(places), tuple(unregistered)
        )
    return found


def _by_gate(universe: PackedUniverse) -> list[tuple[EffectiveGate, int]]:
    """For every gate the bitmap of the statements that have it, the first in the lowest bit."""
    which = np.array(universe.which)
    found = []
    for number, gate in enumerate(universe.gates):
        if gate is not None:
            packed_bits = np.packbits(which == number, bitorder="little")
            found.append((gate, int.from_bytes(packed_bits.tobytes(), "little")))
    return found


def _explained(
    register: ContradictionLookup, name: str, text: str, release: str, ptx: Version, target: str, said: str
) -> bool:
    """Whether an entry explains a difference; a record does not tell a death from a refusal."""
    directions: tuple[AssemblerVerdict, ...] = ("accepted",) if said == "accepted" else ("refused", "died")
    return any(register.explains(name, text, release, ptx, target, d) for d in directions)


def write(record: UniverseRecord, folder: Path) -> Path:
    """Write a record to its file."""
    value = {
        "format": UNIVERSE_FORMAT,
        "tool": {"name": "ptxas", "version": record.release, "sha256": record.sha256},
        "ptx": record.ptx,
        "instructions": record.instructions,
    }
    return put(folder, f"universe-{record.release}", json.dumps(value, indent=1) + "\n")


def _record(value: Any) -> UniverseRecord:
    tool = value["tool"]
    return UniverseRecord(tool["version"], tool["sha256"], value["ptx"], value["instructions"])


def load_universes(folder: Path) -> tuple[UniverseRecord, ...]:
    """Every record, oldest release first; raises Question for any other file."""
    return by_release(read(folder, "universe-*.json", UNIVERSE_FORMAT, _record))
