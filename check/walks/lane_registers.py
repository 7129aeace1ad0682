"""The registers of some threads that walk one path together: a number for all of them, or one for each.

The path is another walk's. A thread that leaves it at a branch is off until the sides of the branch join
again, as on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..values.arithmetic import computed, rule_of
from .thread_registers import ThreadRegisters
from .walk_plan import WalkPlan, WalkStep

__all__ = ["LaneColumn", "LaneRegisters"]

_WARP = 32
LaneColumn = int | None | list[int | None]  # a number for all threads, or one for each; None: unknown


class LaneRegisters:
    """Columns by register: those that differ by thread are in `columns`, the others in `first`."""

    def __init__(self, plan: WalkPlan, threads: range, size: int) -> None:
        self.plan = plan
        self.threads = threads
        self.first = ThreadRegisters(plan, threads[0], size)
        x, y, _ = plan.function.threads or (threads[-1] + 1, 1, 1)
        self.columns: dict[str, list[int | None]] = {
            "%tid.x": [thread % x for thread in threads],
            "%tid.y": [thread // x % y for thread in threads],
            "%tid.z": [thread // (x * y) for thread in threads],
            "%laneid": [thread % _WARP for thread in threads],
        }

    def column(self, source: int | str) -> LaneColumn:
        """What the threads hold in a source; `!` negates a predicate."""
        if isinstance(source, int):
            return source
        negated = source[:1] == "!"
        name = source[1:] if negated else source
        found: LaneColumn = self.columns.get(name)
        if found is None:
            found = self.first.numbers.get(name)
        if not negated:
            return found
        if isinstance(found, list):
            return [None if value is None else 1 - (value & 1) for value in found]
        return None if found is None else 1 - (found & 1)

    def value(self, text: str, scope: int) -> LaneColumn:
        """What the threads hold in an operand."""
        return self.column(self.plan.source(text, scope))

    def holds(self, guard: str | None, negated: bool) -> LaneColumn:
        """Whether a guard is true, as 1 or 0."""
        if guard is None:
            return 1
        return self.column(f"!{guard}" if negated else guard)

    def execute(self, step: WalkStep, on: Sequence[bool] | None) -> None:
        """Write a statement's results in the threads that are `on` (None: all) and whose guard is true."""
        guard = self.holds(step.guard, step.negated)
        if guard == 0:
            return
        columns = [self.column(source) for source in step.sources]
        alike = not any(isinstance(column, list) for column in (guard, *columns))
        if alike and on is None and step.result not in ("elected", "lane"):
            self.first.execute(step, None if guard is None else True)
            for register in step.written:
                self.columns.pop(register, None)
            return
        found = self._results(step, columns, alike)
        guards = guard if isinstance(guard, list) else [guard] * len(self.threads)
        for register, new in zip(step.written, found, strict=True):
            old = self.column(register)
            olds = old if isinstance(old, list) else [old] * len(self.threads)
            self.columns[register] = [
                before if holds == 0 or (on is not None and not on[at]) else (after if holds else None)
                for at, (before, after, holds) in enumerate(zip(olds, new, guards, strict=True))
            ]

    def forget(self, registers: set[str], threads: Sequence[bool]) -> None:
        """Make registers unknown in some threads."""
        for register in registers:
            old = self.column(register)
            olds = old if isinstance(old, list) else [old] * len(self.threads)
            self.columns[register] = [
                None if gone else value for value, gone in zip(olds, threads, strict=True)
            ]

    def _results(self, step: WalkStep, columns: list[LaneColumn], alike: bool) -> list[list[int | None]]:
        """The column of each register that a statement writes."""
        count, written = len(self.threads), len(step.written)
        unknown: list[int | None] = [None] * count
        if step.result == "unknown":
            return [unknown] * written
        if step.result == "elected":
            lowest: list[int | None] = [int(thread % _WARP == 0) for thread in self.threads]
            return [unknown, lowest] if written == 2 else [unknown] * written
        if step.result == "awaited":
            return [[1] * count] * written
        rows = [column if isinstance(column, list) else [column] * count for column in columns]
        if step.result == "lane":
            return [self._shuffled(rows[0], isinstance(columns[0], list))] + [unknown] * (written - 1)
        if step.result == "computed":
            values = self._computed(step, rows, alike)
        elif step.result == "packed":
            values = [_packed(row, step.bits // len(row)) for row in zip(*rows, strict=True)]
        else:
            values = rows[0]
        if written == 1 or step.result == "parameter":
            return [values] * written
        if step.statement.operation.is_move:
            width = step.bits // written
            low = (1 << width) - 1
            return [
                [None if value is None else value >> at * width & low for value in values]
                for at in range(written)
            ]
        return [values] + [unknown] * (written - 1)

    def _computed(self, step: WalkStep, rows: list[list[int | None]], alike: bool) -> list[int | None]:
        if alike:
            return [computed(step.words, [row[0] for row in rows])] * len(self.threads)
        rule = rule_of(step.words, len(rows))
        if rule is not None and not any(None in row for row in rows):
            return [rule(*values) for values in zip(*rows, strict=True)]
        return [computed(step.words, values) for values in zip(*rows, strict=True)]

    def _shuffled(self, values: list[int | None], differs: bool) -> list[int | None]:
        """The value of each warp's first thread, which the walk of one thread assumes, too."""
        if not differs:
            return values
        return [values[at - thread % _WARP] for at, thread in enumerate(self.threads)]


def _packed(row: Sequence[int | None], width: int) -> int | None:
    number = 0
    for place, value in enumerate(row):
        if value is None:
            return None
        number |= (value & (1 << width) - 1) << place * width
    return number
