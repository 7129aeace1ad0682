"""How many columns of tensor memory each block has allocated, and where each allocation begins."""

from __future__ import annotations

from ..values.lane_numbers import number_at
from ..walks.registers import Registers
from ..walks.walk_steps import WalkStep
from .barriers import total

__all__ = ["AllocatedColumns"]


class AllocatedColumns:
    """The columns of all allocations so far, by the ranks of the blocks that are executed together: each gets
    those behind the ones before it.
    """

    def __init__(self) -> None:
        self._next: dict[int, int | None] = {}  # the first column of the next one; None: it is not known
        self._sure = True

    def count(self, rank: int) -> int | None:
        """How many a block has allocated; None: that is not known for certain."""
        return self._next.get(rank, 0) if self._sure else None

    def allocate(self, registers: Registers, step: WalkStep, thread: int, surely: bool) -> int | None:
        """The first column of what a thread allocates. `surely`: it does."""
        statement, rank = step.statement, registers.steps.rank_of(thread, len(registers.threads))
        first = self._next.get(rank, 0)
        text = None if statement.count_at is None else statement.operands[statement.count_at]
        columns = None
        if text is not None:
            columns = number_at(registers.value(text, statement.scope), thread)
            assumed = registers.steps.source(text, statement.scope) in registers.assumed
            self._sure &= surely and not assumed
        self._next[rank] = total((first, columns))
        return first if surely else None
