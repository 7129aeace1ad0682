"""The theorem that the two phase models agree, as a check of one program.

For every program:
- some history cannot go on if and only if a schedule of the machine is stuck;
- some history has an arrival too many if and only if a schedule has one;
- the init of an mbarrier is not ordered before one of its uses if and only if in some schedule the use
  comes first;
- if none of these: two accesses race if and only if two schedules have different results.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....spec.ordering_records import PHASE_RACES
from .histories import OVERRUN, STUCK, UNPUBLISHED, PhaseAxioms, PhaseHazard
from .phase_machine import PhaseConduct, PhaseMachine, PhaseOutcomes
from .phase_programs import PhaseProgram

__all__ = ["PhaseVerdict", "judge_phases", "phase_disagreement"]


@dataclass(frozen=True)
class PhaseVerdict:
    """The hazards of a program, what its schedules show, and how the models disagree, if so."""

    hazards: tuple[PhaseHazard, ...]
    outcomes: PhaseOutcomes
    disagreement: str | None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that are broken, each once."""
        return tuple(sorted({hazard.rule for hazard in self.hazards}))


def judge_phases(
    program: PhaseProgram, conduct: PhaseConduct | None = None, axioms: type[PhaseAxioms] = PhaseAxioms
) -> PhaseVerdict:
    """Ask both models about a program."""
    hazards = axioms(program).hazards()
    outcomes = PhaseMachine(program, conduct).outcomes()
    rules = {hazard.rule for hazard in hazards}
    wrong = None
    for rule, shown in ((STUCK, outcomes.stuck), (OVERRUN, outcomes.overrun), (UNPUBLISHED, outcomes.early)):
        if (rule in rules) != shown:
            wrong = wrong or f"{program}: {rule} by {'the machine' if shown else 'the axioms'} alone"
    if not rules & {STUCK, OVERRUN, UNPUBLISHED} and bool(rules & {*PHASE_RACES}) != (outcomes.results > 1):
        races = "; ".join(map(str, hazards)) or "no race"
        wrong = wrong or f"{program}: {races}, and schedules have {outcomes.results} results"
    return PhaseVerdict(hazards, outcomes, wrong)


def phase_disagreement(
    program: PhaseProgram, conduct: PhaseConduct | None = None, axioms: type[PhaseAxioms] = PhaseAxioms
) -> str | None:
    """How the models disagree about a program, in words; None if they agree."""
    return judge_phases(program, conduct, axioms).disagreement
