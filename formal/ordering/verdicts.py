"""The verdict of both models on one program, and whether they agree about it."""

from __future__ import annotations

from ...spec.lazy_dataclass import dataclass
from ...spec.ordering import Readings, ordering
from .agreement import changing_values
from .axioms import Hazard, hazards
from .programs import Program
from .schedules import Schedule, differ

__all__ = ["ModelVerdict", "judge", "rules"]


@dataclass(frozen=True)
class ModelVerdict:
    """The hazards of a program, two schedules with different results, and how the models disagree, if so.

    The schedules are of the program up to the last step of its first hazard that can change a value.
    """

    hazards: tuple[Hazard, ...]
    schedules: tuple[Schedule, Schedule] | None
    disagreement: str | None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that are broken, each once, in order."""
        return tuple(dict.fromkeys(hazard.rule for hazard in self.hazards))


def rules(program: Program, readings: Readings) -> tuple[str, ...]:
    """The rules that a program breaks, each once, in order of the steps that close the hazards."""
    return tuple(dict.fromkeys(hazard.rule for hazard in hazards(program, readings)))


def judge(program: Program, readings: Readings) -> ModelVerdict:
    """Ask the axioms about a program, then the machine: up to the first hazard, and just before it."""
    found = hazards(program, readings)
    first = next(iter(changing_values(found)), None)
    conduct = ordering().conduct(readings)
    if first is None:
        schedules = differ(program, conduct)
        wrong = (
            "no hazard can change a value, but two schedules have different results" if schedules else None
        )
        return ModelVerdict(found, schedules, wrong)
    last = first.steps[-1]
    schedules = differ(Program(program.steps[: last + 1]), conduct, first.steps[0])
    wrong = None
    if schedules is None:
        wrong = f"{first}, but every schedule has one result"
    elif differ(Program(program.steps[:last]), conduct) is not None:
        wrong = f"no hazard before step {last}, but two schedules differ there"
    return ModelVerdict(found, schedules, wrong)
