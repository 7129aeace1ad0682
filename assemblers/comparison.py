"""Compare the specification with assemblers, point by point: a confusion matrix and every disagreement.

Points are asked about in batches over all cores. A disagreement is registered when contradictions.yaml
explains it. An entry is stale if it should explain something in the compared settings and explains nothing.
Answers that hold in several settings are asked once (AskedBefore).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal, Protocol

from ..spec.errors import Question
from ..spec.gates import Isa
from ..spec.nodes import Version
from ..spec.workers import over_jobs
from .assembler_settings import AssemblerSetting, Column, Job, columns, split
from .classification import Session
from .outcomes import AskedBefore, StatementOutcome
from .toolchains import Ptxas
from .universe_points import GateRegion, open_for

__all__ = [
    "Comparison",
    "ContradictionLookup",
    "Disagreement",
    "compare",
    "compare_everywhere",
    "explained",
    "stale",
]

AssemblerVerdict = Literal["accepted", "refused", "died"]


class ContradictionLookup(Protocol):
    """The questions that the register of contradictions answers."""

    def explains(
        self,
        instruction: str,
        statement: str,
        release: str,
        ptx: Version,
        target: str,
        direction: AssemblerVerdict,
    ) -> str | None:
        """The entry that explains what an assembler does; None when none does."""

    def expected(self, release: str, ptx: Version, target: str) -> Mapping[str, Mapping[str, bool]]:
        """The entries that must explain something there, each with the instructions of which it does; True
        where mnemonics alone show it.
        """


@dataclass(frozen=True)
class Disagreement:
    """A statement on which the specification and an assembler differ; `entry` names what explains it."""

    instruction: str
    statement: str
    setting: AssemblerSetting
    legal: bool
    outcome: StatementOutcome
    entry: str | None = None


@dataclass
class Comparison:
    """The result of a comparison; results of parts add up. `whole` lists where a whole universe was asked."""

    counts: Counter[tuple[str, str, bool, AssemblerVerdict]] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    deaths: list[Disagreement] = field(default_factory=list)
    warnings: Counter[tuple[str, str]] = field(default_factory=Counter)
    advisories: Counter[str] = field(default_factory=Counter)
    settings: set[AssemblerSetting] = field(default_factory=set)
    whole: set[tuple[str, AssemblerSetting]] = field(default_factory=set)
    refused: dict[AssemblerSetting, str] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)
    memories: dict[str, AskedBefore] = field(default_factory=dict)
    runs: int = 0

    def add(self, other: Comparison) -> None:
        """Add the result of another part."""
        self.counts += other.counts
        self.disagreements += other.disagreements
        self.deaths += other.deaths
        self.warnings += other.warnings
        self.advisories += other.advisories
        self.settings |= other.settings
        self.whole |= other.whole
        self.refused |= other.refused
        self.targets += other.targets
        for release, memory in other.memories.items():
            self.memories.setdefault(release, AskedBefore()).add(memory)
        self.runs += other.runs

    @property
    def classified(self) -> int:
        """How many statements were classified."""
        return self.counts.total()

    def unregistered(self) -> list[Disagreement]:
        """The disagreements that no entry explains."""
        return [found for found in self.disagreements if found.entry is None]

    def explained(self) -> Counter[str]:
        """How many disagreements each entry explains."""
        return Counter(found.entry for found in self.disagreements if found.entry is not None)


def compare(jobs: Iterable[Job], register: ContradictionLookup | None) -> Comparison:
    """Ask about every point of every job, and compare the answers with the specification."""
    found = Comparison()
    for part in over_jobs(split(jobs), partial(_alone, register=register)):
        found.whole |= {(asked[0], setting) for asked in part.counts for setting in part.settings}
        found.add(part)
    return found


def compare_everywhere(
    isa: Isa,
    releases: Sequence[Ptxas],
    targets: Sequence[str] | None,
    regions: Sequence[GateRegion],
    register: ContradictionLookup | None,
    memories: Mapping[str, AskedBefore],
) -> Comparison:
    """Compare in every setting: legal forms, and the regions one field away from what is legal there.

    `memories` has the earlier answers of each release. Where an assembler refuses a target that
    specs.yaml dates earlier, `targets` of the comparison says so.
    """
    found = Comparison()
    work = partial(_column, regions=regions, register=register, memories=memories)
    for part in over_jobs(columns(isa, releases, targets), work):
        found.add(part)
    return found


@cache
def _apart() -> set[str]:
    """The statements that this process saw a later phase of some release refuse."""
    return set()


def _column(
    column: Column,
    regions: Sequence[GateRegion],
    register: ContradictionLookup | None,
    memories: Mapping[str, AskedBefore],
) -> Comparison:
    """One assembler and target under every version."""
    found, memory = Comparison(), AskedBefore(apart=_apart())
    memory.add(memories.get(column.ptxas.version, AskedBefore()))
    for version in column.versions:
        setting = AssemblerSetting(column.ptxas, version, column.target)
        if version < column.since and Session(column.ptxas, version, column.target).mute() is not None:
            break  # an older version does not take the target either; if it does, disagreements will show it
        opened = {
            gate: open_for(gate, version, column.target) for region in regions for gate in region.beside
        }
        points = [
            point
            for region in regions
            if not region.beside or any(map(opened.__getitem__, region.beside))
            for point in region.points
        ]
        part = _perform(Job(setting, points), register, memory)
        found.add(part)
        found.targets += [f"{setting}: {why}" for why in part.refused.values()]
    return found


def _alone(job: Job, register: ContradictionLookup | None) -> Comparison:
    """Compare one part of a universe; the result keeps what holds for the release on every target."""
    memory = AskedBefore(apart=_apart())
    found = _perform(job, register, memory)
    found.memories[job.setting.ptxas.version] = memory.for_every_target()
    return found


def _perform(job: Job, register: ContradictionLookup | None, memory: AskedBefore) -> Comparison:
    setting, found = job.setting, Comparison()
    session = Session(setting.ptxas, setting.ptx, setting.target, memory=memory)
    try:
        outcomes = session.classify([point.statement for point in job.points])
    except Question as error:
        why = session.mute()
        if why is None:
            raise
        found.refused[setting] = str(error)
        return found
    found.settings.add(setting)
    gates = {id(point.gate): point.gate for point in job.points}
    opened = {key: open_for(gate, setting.ptx, setting.target) for key, gate in gates.items()}
    release = setting.ptxas.version
    counted: Counter[tuple[str, bool, AssemblerVerdict]] = Counter()
    for point, outcome in zip(job.points, outcomes, strict=True):
        legal, verdict = opened[id(point.gate)], outcome.verdict
        counted[point.instruction, legal, verdict] += 1
        if outcome.said and verdict == "accepted":
            found.warnings[point.instruction, outcome.words] += 1
        if verdict == "died" or legal != (verdict == "accepted"):
            differing = explained(point.instruction, point.statement, setting, legal, outcome, register)
            agrees = verdict == "died" and not legal
            (found.deaths if agrees else found.disagreements).append(differing)
    found.counts = Counter({(i, release, legal, v): n for (i, legal, v), n in counted.items()})
    found.advisories = session.advisories
    found.runs = session.runs
    return found


def explained(
    instruction: str,
    statement: str,
    at: AssemblerSetting,
    legal: bool,
    outcome: StatementOutcome,
    register: ContradictionLookup | None,
) -> Disagreement:
    """The disagreement on a statement, with the entry that explains it."""
    entry = None
    if register is not None:
        release = at.ptxas.version
        entry = register.explains(instruction, statement, release, at.ptx, at.target, outcome.verdict)
    return Disagreement(instruction, statement, at, legal, outcome, entry)


def stale(found: Comparison, register: ContradictionLookup) -> list[str]:
    """The entries that should have explained something of what was asked, and did not."""
    shown = frozenset(found.explained())
    asked = {(instruction, release) for instruction, release, _, _ in found.counts}
    missing: dict[str, None] = {}
    for setting in found.settings:
        release = setting.ptxas.version
        for entry, instructions in register.expected(release, setting.ptx, setting.target).items():
            if entry not in shown and any(
                (name, release) in asked if by_mnemonics else (name, setting) in found.whole
                for name, by_mnemonics in instructions.items()
            ):
                missing[entry] = None
    return sorted(missing)
