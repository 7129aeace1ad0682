"""What the machine answered about programs, kept for every conduct under which it would do the same.

The machine is asked about one program under many readings. It reads a field of its conduct only where the
program depends on it: without a fence.proxy.async it never asks what such a fence covers. So an answer holds
for each conduct that agrees in the fields which the machine read on the way to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from ...spec.switches import Conduct
from .programs import Program, Step
from .schedules import differs

__all__ = ["MachineAnswers"]

_FIELDS = frozenset(field.name for field in fields(Conduct))


class _WatchedConduct(Conduct):
    """A conduct that keeps the fields which were read, with their values."""

    read: dict[str, object]

    def __getattribute__(self, name: str) -> object:
        value: object = super().__getattribute__(name)
        if name in _FIELDS:
            self.read[name] = value
        return value


def _watched(conduct: Conduct) -> _WatchedConduct:
    watched = _WatchedConduct(**{name: getattr(conduct, name) for name in _FIELDS})
    watched.__dict__["read"] = {}
    return watched


class MachineAnswers:
    """Whether the schedules of programs differ, asked of the machine once."""

    def __init__(self) -> None:
        # By the steps of a program: an answer, and the fields of a conduct that it rests on.
        self._answers: dict[tuple[Step, ...], list[tuple[Mapping[str, object], bool]]] = {}

    def differ(self, program: Program, conduct: Conduct, suspect: int | None = None) -> bool:
        """Whether two schedules of the program have different results; `suspect` as in `schedules.differ`."""
        known = self._answers.setdefault(program.steps, [])
        for read, answer in known:
            if all(getattr(conduct, name) == value for name, value in read.items()):
                return answer
        watched = _watched(conduct)
        answer = differs(program, watched, suspect)
        known.append((watched.read, answer))
        return answer
