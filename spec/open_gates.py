"""Which gates are open for one PTX ISA version and one target, and why the others are shut."""

from __future__ import annotations

from collections.abc import Iterator

from .diagnosis import Reason
from .gates import EffectiveGate, Isa
from .nodes import Version

__all__ = ["OpenGates"]


class OpenGates:
    """The gates for a version and a target (None: any target)."""

    def __init__(self, isa: Isa, ptx: Version, target: str | None) -> None:
        self._isa = isa
        self._ptx = ptx
        self._target = target
        self._known: dict[EffectiveGate, tuple[Reason, ...]] = {}
        self._open: dict[int, bool] = {}

    def is_open(self, gate: EffectiveGate) -> bool:
        """Whether a gate is open for this version and target. Memoised by identity: `isa` keeps each gate."""
        known = self._open.get(id(gate))
        if known is None:
            known = self._open[id(gate)] = not self.reasons(gate)
        return known

    def reasons(self, gate: EffectiveGate) -> tuple[Reason, ...]:
        """Why a gate is shut for this version and target; empty when it is open."""
        if gate not in self._known:
            self._known[gate] = tuple(self._found(gate))
        return self._known[gate]

    def _found(self, gate: EffectiveGate) -> Iterator[Reason]:
        since = gate.since
        if self._target is not None:
            begins = dict(gate.targets)
            exists = self._isa.index.targets[self._target].since
            if self._target not in begins:
                begun = max(self._ptx, gate.since)
                admitted = ", ".join(name for name, begin in gate.targets if begin <= begun) or "none"
                yield Reason("gate.target", f"not on {self._target}; it needs one of {admitted}")
            else:
                since = begins[self._target]
            if exists > self._ptx:
                yield Reason(
                    "gate.target_version",
                    f"the target {self._target} itself needs PTX ISA {exists} or later",
                )
                since = gate.since
        if self._ptx < since:
            yield Reason("gate.since", f"it needs PTX ISA {since} or later, not {self._ptx}")
        if gate.removed is not None and self._ptx >= gate.removed:
            yield Reason("gate.removed", f"it was removed in PTX ISA {gate.removed}")
