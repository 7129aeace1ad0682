"""Does the guard of a statement admit a version and a target that its gate opens for?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ...spec.gates import EffectiveGate
from ..findings import ERROR, LIKELY
from .environments import Environments
from .preprocessor import Answer

__all__ = ["Gates"]

_LISTED = 6


class Gates:
    """Gates against the environments that are asked about."""

    def __init__(self, environments: Environments) -> None:
        self.environments = environments
        self._open: dict[EffectiveGate, tuple[bool, ...]] = {}

    def open(self, gate: EffectiveGate) -> tuple[bool, ...]:
        """In which environments a gate is open."""
        found = self._open.get(gate)
        if found is None:
            found = self._open[gate] = tuple(gate.opens(one.ptx, one.target) for one in self.environments.all)
        return found

    @cached_property
    def _least(self) -> int:
        return min((one.number for one in self.environments.all), default=0)

    def fault(self, gate: EffectiveGate, holds: Answer) -> tuple[str, str] | None:
        """A tier and a sentence where the guard admits nothing that the gate opens for, or where the lowest
        architecture that it admits is too old.
        """
        opened = self.open(gate)
        if not any(is_open for is_open, held in zip(opened, holds, strict=True) if held != 0):
            tier = ERROR if any(held for held in holds) else LIKELY
            return tier, f"{_needs(gate)}; the conditions around it admit {self._admitted(holds)}"
        lowest = self._lowest(holds)
        if lowest is None or lowest == self._least:
            return None
        at = [index for index, one in enumerate(self.environments.all) if one.number == lowest]
        if any(opened[index] for index in at if holds[index] != 0):
            return None
        name = self.environments.all[at[0]].target
        return LIKELY, f"{_needs(gate)}; the conditions around it compile it for {name}, too"

    def _lowest(self, holds: Answer) -> int | None:
        """The lowest architecture for which the guard holds for certain, if it may for none below."""
        pairs = list(zip(self.environments.all, holds, strict=True))
        possible = min((one.number for one, held in pairs if held != 0), default=None)
        certain = any(held for one, held in pairs if one.number == possible)
        return possible if certain else None

    def _admitted(self, holds: Answer) -> str:
        targets: Mapping[str, None] = dict.fromkeys(
            one.target for one, held in zip(self.environments.all, holds, strict=True) if held != 0
        )
        names = list(targets)
        versions = [one.ptx for one, held in zip(self.environments.all, holds, strict=True) if held != 0]
        shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
        return f"{shown} under PTX ISA {min(versions)} to {max(versions)}"


def _needs(gate: EffectiveGate) -> str:
    """What a gate asks for, in words."""
    names = [name for name, _ in gate.targets]
    shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    ended = f", before {gate.removed}" if gate.removed else ""
    return f"it needs PTX ISA {gate.since} or later{ended}, and one of {shown or 'no target'}"
