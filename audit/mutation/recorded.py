"""The table of the last full run, file by file, and which files have other slips since.

What is recorded of a file counts as long as its slips are the same, by a hash of their names. Witnesses are
code and records: where they changed, only another run says what they notice.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...formal.mutation.slips import SLIP_KINDS, Slip
from ...spec.errors import Question
from .table import SlipCounts, counted
from .trial import SlipOutcome

__all__ = [
    "RecordedFile",
    "as_outcomes",
    "by_slip_kind",
    "equal_slips",
    "load_recorded",
    "record",
    "slips_digest",
]

_DIGITS = 16
EqualSlips = Mapping[str, tuple[str, ...]]
"""By what proves that they change no meaning, the names of slips, without their file."""


@dataclass(frozen=True)
class RecordedFile:
    """What became of all slips of a file on a day: how many of each kind each witness noticed, and by proof
    the names of those that change no meaning.
    """

    date: str
    digest: str
    counts: SlipCounts
    equal: EqualSlips


def slips_digest(slips: Iterable[Slip]) -> str:
    """A hash of the names of slips: of what a file says, of the words of other files, of the mutator."""
    return hashlib.sha256("\n".join(slip.name for slip in slips).encode()).hexdigest()[:_DIGITS]


def by_slip_kind(found: Sequence[SlipOutcome]) -> SlipCounts:
    """How many outcomes each kind of slip has in each column of the table."""
    return counted(found, lambda outcome: outcome.slip.kind)


def equal_slips(found: Sequence[SlipOutcome]) -> EqualSlips:
    """The slips that are proven to change no meaning."""
    equal: dict[str, list[str]] = {}
    for outcome in found:
        if outcome.verdict == "equal":
            equal.setdefault(outcome.why, []).append(outcome.slip.name.removeprefix(f"{outcome.slip.file} "))
    return {proof: tuple(sorted(names)) for proof, names in sorted(equal.items())}


def load_recorded(path: Path) -> dict[str, RecordedFile]:
    """By file, what is recorded; nothing where there is no record."""
    if not path.exists():
        return {}
    found = {}
    for file, one in json.loads(path.read_text(encoding="utf-8")).items():
        counts = {(kind, name): n for kind, names in one["kinds"].items() for name, n in names.items()}
        equal = {proof: tuple(names) for proof, names in one["equal"].items()}
        found[file] = RecordedFile(one["date"], one["slips"], Counter(counts), equal)
    return found


def record(path: Path, files: Mapping[str, RecordedFile]) -> None:
    """Write these files' records in place of all."""
    written: dict[str, Any] = {}
    for file, one in files.items():
        kinds: dict[str, dict[str, int]] = {}
        for kind in SLIP_KINDS:
            names = {name: n for (of, name), n in sorted(one.counts.items()) if of == kind and n}
            if names:
                kinds[kind] = names
        written[file] = {"date": one.date, "slips": one.digest, "kinds": kinds, "equal": one.equal}
    lines = (f"{json.dumps(file)}: {json.dumps(one, ensure_ascii=False)}" for file, one in written.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def as_outcomes(slips: Iterable[Slip], path: Path) -> list[SlipOutcome]:
    """The outcomes of slips that an earlier run printed as lines; raises Question where a line is not one."""
    known = {slip.name: slip for slip in slips}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            said = json.loads(line)
            name, rest = said["name"], (said["verdict"], said["by"], said["why"], said["seconds"])
        except (ValueError, KeyError, TypeError):
            raise Question(f"{path}:{number}: not a line of --format lines") from None
        if name in known:
            found[name] = SlipOutcome(known[name], *rest)
    return list(found.values())
