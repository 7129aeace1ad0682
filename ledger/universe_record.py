"""What assemblers did with the whole universe of every instruction: raw bitmaps, to recompute verdicts from.

A file of evidence/ holds one of an assembler: for every instruction the target, and which statements of the
universe it accepted under its own newest .version. Nothing is asked again while the statements are the same.
"""

from __future__ import annotations

import base64
import datetime
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..assemblers.classification import Session
from ..assemblers.comparison import AssemblerSetting, ContradictionLookup, Job, home, split
from ..assemblers.toolchains import Ptxas, digest
from ..assemblers.universe import Universe, UniversePoint, open_for
from ..assemblers.universe_cache import whole
from ..spec.specification import Specification
from ..spec.workers import over_jobs
from .claims import cases_digest
from .records import by_release, put, read

__all__ = [
    "UniverseRecord",
    "UniverseVerdict",
    "load_universes",
    "observe_universes",
    "universes",
    "verdicts",
    "write",
]

_FORMAT = 1


@dataclass(frozen=True)
class UniverseRecord:
    """One assembler's observations, by instruction: target, date, hash of the statements, bitmap."""

    release: str
    sha256: str
    ptx: str
    instructions: Mapping[str, Mapping[str, Any]]

    def accepted(self, instruction: str, cases: str) -> bytes | None:
        """A byte for eight statements, the first in the lowest bit; None where they are not as they were."""
        found = self.instructions.get(instruction)
        if found is None or found["cases"] != cases:
            return None
        return zlib.decompress(base64.b64decode(found["accepted"]))


@dataclass(frozen=True)
class UniverseVerdict:
    """What a record says of a universe; `unregistered` has the first statements that nothing explains."""

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


def _accepted(job: Job) -> list[bool]:
    at = job.setting
    outcomes = Session(at.ptxas, at.ptx, at.target).classify([point.statement for point in job.points])
    return [outcome.verdict == "accepted" for outcome in outcomes]


def universes(specification: Specification) -> dict[str, tuple[UniversePoint, ...]]:
    """The whole universe of every instruction."""
    families = list(specification.families.values())
    made = over_jobs(families, partial(whole, Universe(specification)))
    return dict(zip(specification.families, made, strict=True))


def _cases(points: Sequence[UniversePoint]) -> str:
    return cases_digest(point.statement for point in points)


def observe_universes(
    specification: Specification,
    every: Mapping[str, Sequence[UniversePoint]],
    ptxas: Ptxas,
    before: UniverseRecord | None = None,
) -> UniverseRecord:
    """Ask an assembler about every universe that it was not asked about before."""
    sha256 = digest(ptxas.path)
    found: dict[str, Mapping[str, Any]] = {}
    jobs: dict[str, Job] = {}
    for name, points in every.items():
        cases = _cases(points)
        if before and before.sha256 == sha256 and before.accepted(name, cases) is not None:
            found[name] = before.instructions[name]
            continue
        target = home(specification.isa, points, ptxas)
        if target is not None:
            jobs[name] = Job(AssemblerSetting(ptxas, ptxas.ptx, target), points)
    parts = {name: split([job]) for name, job in jobs.items()}
    answers = over_jobs([part for several in parts.values() for part in several], _accepted)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for name, several in parts.items():
        bits = _bits([bit for _ in several for bit in next(answers)])
        found[name] = {
            "target": jobs[name].setting.target,
            "date": today,
            "points": len(every[name]),
            "cases": _cases(every[name]),
            "accepted": base64.b64encode(zlib.compress(bits, 9)).decode(),
        }
    in_order = {name: found[name] for name in every if name in found}
    return UniverseRecord(ptxas.version, sha256, str(ptxas.ptx), in_order)


def verdicts(
    specification: Specification,
    every: Mapping[str, Sequence[UniversePoint]],
    records: Sequence[UniverseRecord],
    register: ContradictionLookup,
) -> Iterator[UniverseVerdict]:
    """The verdict of every record on every universe, recomputed from the raw observations."""
    hashes = {name: _cases(points) for name, points in every.items()}
    work = [(record, name) for record in records for name in record.instructions]
    judge = partial(_verdict, specification, every, hashes, register)
    yield from over_jobs(work, judge)


def _verdict(
    specification: Specification,
    every: Mapping[str, Sequence[UniversePoint]],
    hashes: Mapping[str, str],
    register: ContradictionLookup,
    asked: tuple[UniverseRecord, str],
) -> UniverseVerdict:
    record, name = asked
    seen = record.accepted(name, hashes.get(name, ""))
    if seen is None:
        return UniverseVerdict(record.release, name, True)
    points, target = every[name], str(record.instructions[name]["target"])
    ptx = specification.isa.version(record.ptx)
    opened = {id(point.gate): open_for(point.gate, ptx, target) for point in points}
    legal = _bits([opened[id(point.gate)] for point in points])
    differing = 0
    unregistered: list[str] = []
    for place, (left, right) in enumerate(zip(legal, seen, strict=True)):
        wrong = left ^ right
        for number in (8 * place + bit for bit in range(8) if wrong >> bit & 1):
            differing += 1
            text = points[number].statement
            said = "accepted" if right >> (number & 7) & 1 else "refused"
            if not _explained(register, name, text, record.release, ptx, target, said):
                unregistered.append(f"{target}: {said}: {text}")
    return UniverseVerdict(record.release, name, False, len(points), differing, tuple(unregistered))


def _explained(
    register: ContradictionLookup, name: str, text: str, release: str, ptx: Any, target: str, said: str
) -> bool:
    """Whether an entry explains it; a death is recorded as no acceptance."""
    directions = ("accepted",) if said == "accepted" else ("refused", "died")
    return any(register.explains(name, text, release, ptx, target, d) for d in directions)  # type: ignore[arg-type]


def write(record: UniverseRecord, folder: Path) -> Path:
    """Put a record where it belongs."""
    value = {
        "format": _FORMAT,
        "tool": {"name": "ptxas", "version": record.release, "sha256": record.sha256},
        "ptx": record.ptx,
        "instructions": record.instructions,
    }
    return put(folder, f"universe-{record.release}", json.dumps(value, indent=1) + "\n")


def _record(value: Any) -> UniverseRecord:
    tool = value["tool"]
    return UniverseRecord(tool["version"], tool["sha256"], value["ptx"], value["instructions"])


def load_universes(folder: Path) -> tuple[UniverseRecord, ...]:
    """Every record, oldest release first; raises Question for a file that is no record."""
    return by_release(read(folder, "universe-*.json", _FORMAT, _record))
