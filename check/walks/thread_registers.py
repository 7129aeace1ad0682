"""The registers of one thread on its walk, with their numbers if known."""

from __future__ import annotations

from collections.abc import Iterator

from ..values.arithmetic import computed
from .walk_plan import GRID, SIZE, WalkPlan, WalkStep

__all__ = ["ThreadRegisters"]

_WARP = 32


class ThreadRegisters:
    """Numbers by register; those in `assumed` follow from assumed numbers, of parameters or of the grid."""

    def __init__(self, plan: WalkPlan, thread: int, size: int) -> None:
        self.plan = plan
        self.thread = thread
        self.numbers: dict[str, int | None] = {**dict(self._specials()), SIZE: size}
        self.assumed: set[str] = set()

    def _specials(self) -> Iterator[tuple[str, int]]:
        """The special registers whose numbers are known."""
        function = self.plan.function
        shape = function.threads or (128, 1, 1)
        yield "%tid.x", self.thread % shape[0]
        yield "%laneid", self.thread % _WARP
        if shape[1] == shape[2] == 1:
            yield from (("%tid.y", 0), ("%tid.z", 0))
        if function.exact:
            yield "%ntid.x", shape[0]
        yield from GRID.items()

    def value(self, text: str, scope: int) -> int | None:
        """The value of an operand; None if unknown."""
        found = self.plan.source(text, scope)
        return found if isinstance(found, int) else self.numbers.get(found)

    def holds(self, guard: str | None, negated: bool) -> bool | None:
        """Whether a guard is true; None if unknown."""
        if guard is None:
            return True
        value = self.numbers.get(guard)
        return None if value is None else bool(value) != negated

    def execute(self, step: WalkStep, guard: bool | None) -> None:
        """Write a statement's result; `guard` says whether its guard is true."""
        written = step.written
        if guard is False:
            if step.guard in self.assumed:
                self.assumed.update(written)
            return
        if step.result != "awaited" and (step.assumes or not self.assumed.isdisjoint(step.read)):
            self.assumed.update(written)
        else:
            self.assumed.difference_update(written)
        value = None if guard is None else self._result(step)
        if len(written) == 1 or value is None or step.result == "parameter":
            for register in written:
                self.numbers[register] = value
        elif step.statement.operation.is_move:  # a vector, the lowest bits first
            width = step.bits // len(written)
            for position, register in enumerate(written):
                self.numbers[register] = value >> position * width & (1 << width) - 1
        else:
            for position, register in enumerate(written):
                self.numbers[register] = None if position else value
        if step.result == "elected" and len(written) == 2:
            self.numbers[written[1]] = int(self.thread % _WARP == 0)

    def _value(self, name: str) -> int | None:
        """The number of a register, or of a predicate that `!` negates; None if it is not known."""
        if not name.startswith("!"):
            return self.numbers.get(name)
        value = self.numbers.get(name[1:])
        return None if value is None else 1 - value

    def _result(self, step: WalkStep) -> int | None:
        if step.result == "unknown" or step.result == "elected":
            return None
        if step.result == "awaited":
            return 1
        values = [s if isinstance(s, int) else self._value(s) for s in step.sources]
        if step.result == "computed":
            return computed(step.words, values)
        if step.result == "packed":
            width, number = step.bits // len(values), 0
            for place, value in enumerate(values):
                if value is None:
                    return None
                number |= (value & (1 << width) - 1) << place * width
            return number
        if step.result == "lane" and self.thread % _WARP:
            return None
        return values[0]
