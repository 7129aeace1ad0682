"""Do the joint states say what axioms.py and machine.py say? Both models are run from every class of states.

For each class (`classes.py`) a shortest program that leads to it is taken, alone and with every next step
after it. Each of these programs is run with every next access, by both models. So each step from each class
is shown to lead where the joint states say, as far as one more access can show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....spec.ordering import Readings, ordering
from ....spec.switches import Conduct
from ..agreement import changing_values
from ..alphabet import END, with_own_buffers
from ..axioms import closing
from ..machine_answers import MachineAnswers
from ..programs import Program, Step, WgmmaFence
from .classes import classes
from .closure import HAZARD, Closure

__all__ = ["confirm", "representatives"]

_Steps = tuple[Step, ...]


def confirm(
    closure: Closure,
    readings: Readings,
    of_classes: Iterable[_Steps],
    answers: MachineAnswers,
    conduct: Conduct | None = None,
) -> tuple[int, list[str]]:
    """Run both models for some classes: how many programs were run, and disagreements in words.

    `of_classes`: the programs that lead to these classes, of `representatives`. `answers`: what the machine
    answered already.
    """
    conduct = conduct or ordering().conduct(readings)
    runs, faults = 0, []
    for steps in of_classes:
        for program in (steps, *((*steps, letter) for letter in closure.letters if letter != END)):
            for access, expected in _next_accesses(closure, program):
                runs += 1
                whole = Program(with_own_buffers((*program, access)))
                hazards = changing_values(closing(whole, readings))
                hazard = bool(hazards)
                differs = answers.differ(whole, conduct, hazards[0].steps[0] if hazards else None)
                if not hazard == differs == expected:
                    faults.append(
                        f"{whole}: hazard {hazard}, schedules differ {differs}, by the states {expected}"
                    )
    return runs, faults


def representatives(closure: Closure) -> list[_Steps]:
    """For each class, a shortest program without hazards that leads to it.

    A wgmma.fence goes before it, unless it stands for the programs that have none.
    """
    shortest: dict[int, _Steps] = {}
    for one, steps in zip(classes(closure.follows), closure.programs, strict=True):
        if one not in shortest:
            whole = (Step(WgmmaFence()), *steps) if steps or closure.first is None else steps
            if closure.after(whole) is not None:
                shortest[one] = whole
    return list(shortest.values())


def _next_accesses(closure: Closure, program: _Steps) -> Iterator[tuple[Step, bool]]:
    """Each access after a program without hazards, or the end, and whether the states say that it closes a
    hazard.
    """
    states = closure.after(program)
    if states is not None:
        for at, letter in enumerate(closure.letters):
            if letter in closure.begins or letter == END:
                yield letter, any(closure.follows[state][at] == HAZARD for state in states)
