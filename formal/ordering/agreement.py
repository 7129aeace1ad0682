"""The theorem that the two ordering models agree, and its direct check: both run on every short program.

For every program and every reading of the text: a hazard whose rule has an effect on values closes at the
last step if and only if the machine has two schedules of the program with different results, provided that
no such hazard closes before. So a program without hazards has one result, and every hazard of a program is
one that schedules can show, on the program up to the hazard's last step.
"""

from __future__ import annotations

from ...spec.ordering import Readings, ordering
from ...spec.switches import Conduct
from .alphabet import ACCESSES
from .axioms import Hazard, closing
from .machine import differ
from .programs import Program

__all__ = ["disagreement", "shows", "valued"]


def valued(found: tuple[Hazard, ...]) -> tuple[Hazard, ...]:
    """The hazards that can change a value."""
    rules = ordering().rules
    return tuple(hazard for hazard in found if rules[hazard.rule].effect == "values")


def disagreement(program: Program, readings: Readings, machine: Conduct | None = None) -> str | None:
    """How the models disagree about the last step of a program without a hazard before; None: they agree."""
    found = valued(closing(program, readings))
    differs = differ(program, machine or ordering().conduct(readings))
    if bool(found) == (differs is not None):
        return None
    if found:
        return f"{program}: {', '.join(map(str, found))}, but every schedule has one result"
    return f"{program}: no hazard, but schedules differ: {'; '.join(differs[1] if differs else ())}"


def shows(program: Program, machine: Conduct, found: tuple[Hazard, ...]) -> bool:
    """Whether two schedules of the program differ, when none do without its last step.

    A last step that accesses nothing adds nothing to any result, so the machine need not run.
    """
    if not isinstance(program.steps[-1].operation, ACCESSES):
        return False
    return differ(program, machine, found[0].steps[0] if found else None) is not None
