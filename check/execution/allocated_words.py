"""Addresses of tensor memory that threads read back from shared memory, where an allocation wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx.operands import vector_places
from ..values.lane_numbers import Numbers, by_number
from ..walks.registers import Registers
from ..walks.walk_steps import WalkStep
from .allocated_columns import AllocatedColumns
from .clocks import Clock
from .shared_words import SharedWords

__all__ = ["AllocatedWords"]

_STORES = frozenset(("store", "update"))


class AllocatedWords(SharedWords):
    """What threads stored in shared memory, and the addresses of what they allocated. `whole`: other numbers
    are remembered, too. `columns`: those that are allocated.
    """

    def __init__(self, clocks: Sequence[Clock], whole: bool, columns: AllocatedColumns) -> None:
        super().__init__(clocks)
        self._whole = whole
        self._columns = columns
        self._allocated: dict[int, int | None] = {}  # by address in shared memory: the first column

    def store(
        self, registers: Registers, step: WalkStep, threads: tuple[int, ...], surely: bool = True
    ) -> None:
        """Remember what threads write."""
        if step.statement.does == "allocate":
            rank_of, count = registers.steps.rank_of, len(registers.threads)
            for thread in {rank_of(thread, count): thread for thread in reversed(threads)}.values():
                self._allocate(registers, step, thread, surely)
        elif self._allocated and step.statement.does in _STORES:
            self._overwrite(registers, step, threads)
        if self._whole:
            super().store(registers, step, threads, surely)

    def _allocate(self, registers: Registers, step: WalkStep, thread: int, surely: bool) -> None:
        statement = step.statement
        first = self._columns.allocate(registers, step, thread, surely)
        at = registers.at(statement.address, statement.scope, thread)
        if at is not None:
            self._allocated[at] = first

    def _overwrite(self, registers: Registers, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Forget the addresses where threads store something else, as far as it is known where they do."""
        statement, address = step.statement, step.statement.address
        if address is None or statement.operation.space != "shared":
            return
        lows = [
            low for low in by_number(registers.base(address, statement.scope), threads) if low is not None
        ]
        for at in list(self._allocated):
            if any(0 <= at - address.offset - low < (statement.bytes or 1) for low in lows):
                del self._allocated[at]

    def _by_thread(
        self, registers: Registers, base: Numbers, threads: tuple[int, ...], offset: int
    ) -> Numbers:
        """What threads of several blocks read back; None where one reads something else."""
        row: list[int | None] = [None] * len(registers.threads)
        columns: set[int | None] = set()
        for low, some in by_number(base, threads).items():
            column = None if low is None else self._allocated.get(low + offset)
            columns.add(column)
            for thread in some:
                row[thread] = column
        if None in columns or len(columns) < 2:
            return None if None in columns else next(iter(columns), None)
        return registers.math.joined(row)

    def load(
        self, registers: Registers, step: WalkStep, threads: tuple[int, ...]
    ) -> tuple[list[Numbers], bool]:
        """What a load brings to each thread, by destination."""
        statement, address = step.statement, step.statement.address
        if address is not None and vector_places(statement.operands[0]) == ((0,), 1) and threads:
            base = registers.base(address, statement.scope)
            found: Numbers = None
            if isinstance(base, int):
                found = self._allocated.get(base + address.offset)
            elif registers.steps.blocks > 1:
                found = self._by_thread(registers, base, threads, address.offset)
            if found is not None:
                return [found], False
        if self._whole:
            return super().load(registers, step, threads)
        return [None] * len(step.written), True
