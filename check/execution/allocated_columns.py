"""How many columns of tensor memory a block has allocated, and where each allocation begins."""

from __future__ import annotations

from ..values.lane_numbers import number_at
from ..walks.registers import Registers
from ..walks.walk_steps import WalkStep
from .barriers import total

__all__ = ["AllocatedColumns"]


class AllocatedColumns:
    """The columns of all allocations so far: each gets those behind the ones before it."""

    def __init__(self) -> None:
        self._next: int | None = 0  # the first column of the next allocation; None: it is not known
        self._sure = True

    @property
    def count(self) -> int | None:
        """How many are allocated; None: that is not known for certain."""
        return self._next if self._sure else None

    def allocate(self, registers: Registers, step: WalkStep, thread: int, surely: bool) -> int | None:
        """The first column of what a thread allocates. `surely`: it does."""
        statement, first = step.statement, self._next
        text = None if statement.count_at is None else statement.operands[statement.count_at]
        columns = None
        if text is not None:
            columns = number_at(registers.value(text, statement.scope), thread)
            assumed = registers.steps.source(text, statement.scope) in registers.assumed
            self._sure &= surely and not assumed
        self._next = total((self._next, columns))
        return first if surely else None
