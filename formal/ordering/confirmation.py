"""Both ordering models themselves, axioms.py and machine.py, held against the joint states of a location.

Joint states that no continuation tells apart are one class. A program of every class, and each of these with
every next step, is run with every next access: so each step from each class is shown to lead where the
states say, as far as one more access can show.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.ordering import Readings, ordering
from ...spec.switches import Conduct
from .agreement import valued
from .alphabet import parted
from .axioms import closing
from .closure import BROKEN, Closure
from .locations import classes
from .machine import differ
from .programs import Program, Step, WgmmaFence

__all__ = ["confirm"]

_Steps = tuple[Step, ...]


def confirm(
    found: Closure, readings: Readings, part: slice = slice(None), machine: Conduct | None = None
) -> tuple[int, list[str]]:
    """Run both models for every class in a part of them: how many programs, and disagreements."""
    machine = machine or ordering().conduct(readings)
    runs, faults = 0, []
    for steps in _representatives(found)[part]:
        for program in (steps, *((*steps, letter) for letter in found.letters)):
            for last, said in _asked(found, program):
                runs += 1
                whole = Program(parted((*program, last)))
                axioms = bool(valued(closing(whole, readings)))
                ran = differ(whole, machine) is not None
                if not axioms == ran == said:
                    faults.append(f"{whole}: hazard {axioms}, schedules differ {ran}, by the states {said}")
    return runs, faults


def _representatives(found: Closure) -> list[_Steps]:
    """The shortest program of each class in which no access has a hazard with another.

    It begins with a wgmma.fence, where it does not stand for programs without one.
    """
    shortest: dict[int, _Steps] = {}
    for one, steps in zip(classes(found.follows), found.programs, strict=True):
        if one not in shortest:
            whole = (Step(WgmmaFence()), *steps) if steps or found.first is None else steps
            if found.after(whole) is not None:
                shortest[one] = whole
    return list(shortest.values())


def _asked(found: Closure, program: _Steps) -> Iterator[tuple[Step, bool]]:
    """Each next access after a program without a hazard, and whether the states say that it closes one."""
    states = found.after(program)
    if states is not None:
        for at, letter in enumerate(found.letters):
            if letter in found.begins:
                yield letter, any(found.follows[state][at] == BROKEN for state in states)
