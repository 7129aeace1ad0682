"""Settings: an assembler under a .version and on a .target; list them, and ask about points in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..spec.gates import Isa
from ..spec.nodes import Version
from ..spec.workers import over_jobs
from .classification import Session
from .outcomes import StatementOutcome
from .toolchains import Ptxas
from .universe_points import UniversePoint, open_for

__all__ = ["AssemblerSetting", "Column", "Job", "ask", "columns", "home", "split", "targets_known"]

_BATCH = 32_000


@dataclass(frozen=True)
class AssemblerSetting:
    """One assembler under one .version and one .target."""

    ptxas: Ptxas
    ptx: Version
    target: str

    def __str__(self) -> str:
        return f"ptxas {self.ptxas.version}, PTX {self.ptx}, {self.target}"


@dataclass(frozen=True)
class Job:
    """Some points to be asked about in one setting."""

    setting: AssemblerSetting
    points: Sequence[UniversePoint]


def home(isa: Isa, points: Iterable[UniversePoint], ptxas: Ptxas) -> str | None:
    """The target on which most points are legal under an assembler's own newest version, or None.

    The first of equals in the order of specs.yaml, among the targets that the assembler knows.
    """
    gates = Counter(point.gate for point in points if point.gate is not None)
    open_on = {
        target: sum(count for gate, count in gates.items() if open_for(gate, ptxas.ptx, target))
        for target in isa.index.targets
    }
    for target in sorted(open_on, key=lambda name: -open_on[name]):
        if open_on[target] and Session(ptxas, ptxas.ptx, target).mute() is None:
            return target
    return None


def split(jobs: Iterable[Job], size: int = _BATCH) -> list[Job]:
    """Jobs of a size that keeps every core busy."""
    return [
        Job(job.setting, job.points[start : start + size])
        for job in jobs
        for start in range(0, len(job.points), size)
    ]


@dataclass(frozen=True)
class Column:
    """One assembler and target under every .version, newest first; from `since` on the assembler must take
    the target.
    """

    ptxas: Ptxas
    target: str
    versions: tuple[Version, ...]
    since: Version


def columns(isa: Isa, releases: Sequence[Ptxas], targets: Sequence[str] | None = None) -> list[Column]:
    """Every .target (of some) that assemblers know, the longest work first."""
    found = [
        Column(
            ptxas,
            target,
            tuple(sorted((v for v in isa.versions if v <= ptxas.ptx), reverse=True)),
            isa.index.targets[target].since,
        )
        for target, knowing in targets_known(isa, releases).items()
        if not targets or target in targets
        for ptxas in knowing
    ]
    return sorted(found, key=lambda column: (column.since, -len(column.versions)))


def ask(jobs: Sequence[Job]) -> list[list[StatementOutcome] | str]:
    """The outcomes of every job's points, or why its setting cannot be asked."""
    return list(over_jobs(jobs, _outcomes))


def _outcomes(job: Job) -> list[StatementOutcome] | str:
    session = Session(job.setting.ptxas, job.setting.ptx, job.setting.target)
    why = session.mute()
    return why if why is not None else session.classify([point.statement for point in job.points])


def targets_known(isa: Isa, releases: Sequence[Ptxas]) -> dict[str, list[Ptxas]]:
    """By target, the releases that know it, oldest first."""
    newest = [
        AssemblerSetting(ptxas, ptxas.ptx, target) for target in isa.index.targets for ptxas in releases
    ]
    known: dict[str, list[Ptxas]] = {target: [] for target in isa.index.targets}
    for setting, answer in zip(newest, ask([Job(setting, ()) for setting in newest]), strict=True):
        if not isinstance(answer, str):
            known[setting.target].append(setting.ptxas)
    return known
