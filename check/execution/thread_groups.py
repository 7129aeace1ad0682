"""Threads that have taken the same path so far, and where parts of them meet again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..values.block_threads import WARPGROUP, Threads, by_warp
from ..walks.registers import Registers

__all__ = ["Join", "ThreadGroup", "merged"]


@dataclass(eq=False)
class Join:
    """A block where the parts of a split group meet again; None is the function's end. `written` are the
    registers that parts may write before they meet.
    """

    block: int | None
    outstanding: int
    written: frozenset[str]
    around: Join | None = None
    parts: list[ThreadGroup] = field(default_factory=list)
    met: bool = False
    abandoned: bool = False

    def abandon(self) -> None:
        """Let the parts go on without each other; each of them arrives where the whole was expected."""
        self.abandoned = True
        if self.around is not None:
            self.around.outstanding += self.outstanding + len(self.parts) - 1


@dataclass(eq=False)
class ThreadGroup:
    """Threads on one path: their block, registers, the joins that they go towards, the rounds of loops.

    `doubtful`: a branch was taken by an assumed number, and it was none that ends a loop. `done`: how many
    statements of its block were executed before the group was divided. `repeats`: how often an assumed number
    has said whether a loop goes on.
    """

    threads: tuple[int, ...]
    block: int | None
    registers: Registers
    joins: tuple[Join, ...] = ()
    rounds: dict[int, int] = field(default_factory=dict)
    doubtful: bool = False
    steps: int = 0
    done: int = 0
    repeats: int = 0

    @cached_property
    def warps(self) -> Mapping[int, tuple[int, ...]]:
        """The threads by warp."""
        return by_warp(self.threads)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the threads are all those of some warpgroups."""
        groups = {thread // WARPGROUP for thread in self.threads}
        return len(self.threads) == WARPGROUP * len(groups)

    def part(self, threads: tuple[int, ...], block: int | None, join: Join) -> ThreadGroup:
        """Some of the threads, which go their own way until they meet the others."""
        return ThreadGroup(
            threads,
            block,
            self.registers.copy(),
            (*self.joins, join),
            dict(self.rounds),
            self.doubtful,
            self.steps,
            repeats=self.repeats,
        )


def merged(parts: Sequence[ThreadGroup], join: Join) -> ThreadGroup:
    """One group of the parts that have met."""
    registers = parts[0].registers.copy()
    numbers, math = registers.numbers, registers.math
    for part in parts[1:]:
        others = part.registers.numbers
        here = math.flags(part.threads)
        for name in join.written:
            mine, other = numbers.get(name), others.get(name)
            if mine is not other and mine != other:
                numbers[name] = math.chosen(here, other, mine)
        registers.assumed |= part.registers.assumed
        for name, ranks in part.registers.remote.items():
            registers.remote[name] = math.chosen(here, ranks, registers.remote.get(name))
    rounds = dict(parts[0].rounds)
    for part in parts[1:]:
        for head, count in part.rounds.items():
            rounds[head] = max(count, rounds.get(head, 0))
    return ThreadGroup(
        Threads(sorted(thread for part in parts for thread in part.threads)),
        join.block,
        registers,
        parts[0].joins[: parts[0].joins.index(join)],
        rounds,
        any(part.doubtful for part in parts),
        max(part.steps for part in parts),
        repeats=max(part.repeats for part in parts),
    )
