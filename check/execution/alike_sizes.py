"""Do threads decide alike with two numbers of parameters? Then one execution shows what both would.

A parameter may only say how many tiles there are: then a number that is less by one often gives as many
tiles. So all that is computed once, from parameters alone, is computed with both numbers. If the results are
equal, so is all that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from ..values.lane_numbers import Numbers
from ..walks.parameters import AssumedSizes
from ..walks.registers import Registers
from ..walks.walk_plan import WalkPlan

__all__ = ["decide_alike"]

_LOADED = ("parameter", "places")


def decide_alike(plan: WalkPlan, one: AssumedSizes, other: AssumedSizes) -> bool:
    """Whether no address, count or branch depends on which of two numbers parameters have."""
    if one.memory != other.memory:
        return False
    deciding = plan.deciding | {
        part for name in plan.deciding for word in ("and", "or") for part in plan.steps.conjuncts(name, word)
    }
    return not _TwoNumbers(plan, one, other).differ(deciding)


class _TwoNumbers:
    """What registers hold with one number of parameters and with another one."""

    def __init__(self, plan: WalkPlan, one: AssumedSizes, other: AssumedSizes) -> None:
        self.steps = plan.steps
        self.wanted = plan.wanted  # others decide nothing
        self.code = plan.code
        self.sizes = one, other
        threads = range(plan.steps.blocks)  # one of each block
        self._held = [Registers(plan.steps, threads, size.most, size.others) for size in self.sizes]
        self._known: dict[str, tuple[int, int] | None] = {}

    def differ(self, registers: Set[str]) -> bool:
        """Whether one of some registers may hold different numbers."""
        waiting = list(self._starts())
        seen = set[str]()
        while waiting:
            name = waiting.pop()
            if name in registers:
                return True
            if name not in seen:
                seen.add(name)
                waiting += filter(self._may_differ, self.steps.makes[name])
        return False

    def _starts(self) -> Iterator[str]:
        """Those that are computed from parameters, or from the block's place, and may do so."""
        first, second = (set(size.others) for size in self.sizes)
        places = self.steps.grid.keys() & {name for name, _ in first ^ second}
        for index in self.code.doing("load"):
            if self.wanted.isdisjoint(self.code[index].writes):
                continue
            step = self.steps.step(index)
            if step.result in _LOADED:
                for held in self._held:
                    held.execute(step)
                yield from (name for name in step.written if self._holds(0, name) != self._holds(1, name))
        for statement in self.code if places else ():
            if not places.isdisjoint(statement.operands):
                yield from statement.writes

    def _holds(self, which: int, name: str) -> Numbers:
        return self._held[which].numbers.get(name)

    def _may_differ(self, name: str) -> bool:
        if name not in self.wanted:
            return False
        known = self._both(name)
        return known is None or known[0] != known[1]

    def _both(self, name: str) -> tuple[int, int] | None:
        """The two numbers of a register that one statement computes from parameters alone; None of others."""
        if name not in self._known:
            self._known[name] = None  # where it is computed from itself
            self._known[name] = self._computed(name)
        return self._known[name]

    def _computed(self, name: str) -> tuple[int, int] | None:
        made = self.code.definitions.get(name, ())
        step = self.steps.step(made[0]) if len(made) == 1 else None
        if step is None or step.guard is not None:
            return None
        if step.result in _LOADED:
            first, second = self._holds(0, name), self._holds(1, name)
            return (first, second) if isinstance(first, int) and isinstance(second, int) else None
        sources = [(one, one) if isinstance(one, int) else self._both(one) for one in step.sources]
        both = [step.computed([None if one is None else one[which] for one in sources]) for which in (0, 1)]
        return None if both[0] is None or both[1] is None else (both[0], both[1])
