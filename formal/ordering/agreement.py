"""The theorem that the two models agree, as a check of one program.

For every program and every reading of the text: a hazard that can change a value closes at the last step if
and only if the machine has two schedules of the program with different results, provided that no such hazard
closes before. So a program without hazards has one result. And every hazard of a program shows in two
schedules of the program up to the hazard's last step.
"""

from __future__ import annotations

from ...spec.ordering import Readings, ordering
from ...spec.switches import Conduct
from .alphabet import ACCESSES
from .axioms import Hazard, closing
from .machine_answers import MachineAnswers
from .programs import Program
from .schedules import differ

__all__ = ["changing_values", "disagreement", "last_step_differs"]


def changing_values(hazards: tuple[Hazard, ...]) -> tuple[Hazard, ...]:
    """The hazards that can change a value; the others break rules that exist in the text alone."""
    rules = ordering().rules
    return tuple(hazard for hazard in hazards if rules[hazard.rule].effect == "values")


def disagreement(program: Program, readings: Readings, conduct: Conduct | None = None) -> str | None:
    """How the models disagree about the last step of a program, in words; None if they agree.

    No hazard that can change a value may close before the last step.
    """
    hazards = changing_values(closing(program, readings))
    schedules = differ(program, conduct or ordering().conduct(readings))
    if bool(hazards) == (schedules is not None):
        return None
    if hazards:
        return f"{program}: {', '.join(map(str, hazards))}, but every schedule has one result"
    return f"{program}: no hazard, but schedules differ: {'; '.join(schedules[1] if schedules else ())}"


def last_step_differs(
    program: Program, conduct: Conduct, hazards: tuple[Hazard, ...], answers: MachineAnswers
) -> bool:
    """Whether two schedules of the program differ, if none do without its last step.

    The machine need not run if the last step accesses nothing: then it adds nothing to any result. `hazards`,
    what the axioms see, say where to look first; a first one of the last step alone (no fence stands before
    it) blames no step that could be delayed. `answers` are those that the machine gave already.
    """
    if not isinstance(program.steps[-1].operation, ACCESSES):
        return False
    first = hazards[0].steps[0] if hazards else None
    return answers.differ(program, conduct, None if first == len(program) - 1 else first)
