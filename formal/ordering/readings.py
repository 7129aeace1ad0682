"""How the machine behaves under some readings of the text: the conduct that their settings name."""

from __future__ import annotations

from dataclasses import fields

from ...spec.ordering import Readings, ordering
from .machine import Conduct

__all__ = ["conduct"]


def conduct(readings: Readings | None = None) -> Conduct:
    """The machine's conduct under some readings (None: the default ones)."""
    known = ordering()
    chosen = readings or known.default
    changes = {}
    for name, setting in chosen.items():
        machine = known.switches[name].settings[setting].machine
        for field in fields(machine):
            value = getattr(machine, field.name)
            if value is not None:
                changes[field.name] = value
    return Conduct(**changes)
