"""The theorem about phases on many programs: every small one, right protocols with slips, and random ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....spec.workers import pool
from .phase_agreement import judge_phases
from .phase_enumeration import random_programs, slipped_programs, small_programs
from .phase_programs import PhaseProgram

__all__ = ["PhaseTally", "compare_phases"]

_PARTS = 8  # jobs for workers
_SEED = 1
SLIPPED, DRAWN = "with a slip", "at random"


@dataclass
class PhaseTally:
    """The programs that were compared, by kind; those with a hazard, by rule; and the disagreements, in
    words.
    """

    programs: Counter[str] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, other: PhaseTally) -> None:
        """Add what another part has found."""
        self.programs.update(other.programs)
        self.hazards.update(other.hazards)
        self.faults += other.faults


def compare_phases(steps: int, drawn: int, workers: int | None = None) -> PhaseTally:
    """Ask both models about every program of at most so many steps, protocols with slips, and so many at
    random.
    """
    found = PhaseTally()
    with pool(workers) as executor:
        for job in [executor.submit(_compare, steps, drawn, part) for part in range(_PARTS)]:
            found.add(job.result())
    return found


def _compare(steps: int, drawn: int, part: int) -> PhaseTally:
    found = PhaseTally()
    for kind, program in itertools.islice(_programs(steps, drawn), part, None, _PARTS):
        verdict = judge_phases(program)
        found.programs[kind] += 1
        found.hazards.update(verdict.rules)
        if verdict.disagreement is not None:
            found.faults.append(verdict.disagreement)
    return found


def _programs(steps: int, drawn: int) -> Iterator[tuple[str, PhaseProgram]]:
    for length in range(1, steps + 1):
        yield from ((f"of length {length}", program) for program in small_programs(length))
    yield from ((SLIPPED, program) for program in slipped_programs())
    yield from ((DRAWN, program) for program in random_programs(_SEED, drawn))
