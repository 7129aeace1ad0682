"""May threads meet by what they read from memory: by atomics, and by loads that are not weak?

What a thread reads so orders what it does behind that only where it acts by it: it waits for a number, or
goes one way or the other. An atomic whose result decides nothing orders nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from .walk_steps import WalkSteps

__all__ = ["MemoryMeetings"]

_READS = ("update", "load")
_WRITES = ("update", "store")
_LEAVES = frozenset(("leave", "abort"))
_ENDS = frozenset(("invalidate", "memory-fence"))  # no thread learns anything by them
_SIDES = frozenset(("jump", "switch"))
_OWN = frozenset(("shared", "generic"))  # where a block's threads share memory that nobody else has
_COMMON = frozenset(("global", "generic"))


class MemoryMeetings:
    """The atomics and strong loads of a function. `counted` are the statements that walks execute."""

    def __init__(self, steps: WalkSteps, counted: Iterable[int]) -> None:
        self.steps = steps
        self.code = steps.code
        self._counted = frozenset(i for i in counted if self.code.operation(i).does not in _ENDS)

    @cached_property
    def _reading(self) -> frozenset[int]:
        """The statements that read what other threads may write."""
        operations = ((index, self.code.operation(index)) for index in self.code.doing(*_READS))
        return frozenset(
            i for i, operation in operations if operation.does == "update" or operation.is_strong
        )

    def __bool__(self) -> bool:
        """Whether threads may wait for what others write to memory."""
        return bool(self._reading)

    @cached_property
    def decide(self) -> bool:
        """Whether threads, of other blocks too, may meet by what they read: it decides what they do with
        shared memory or barriers.
        """
        return self._decide(sorted(self._reading))

    # Within the block

    @cached_property
    def decisive(self) -> int | None:
        """The first statement by which threads of a block may meet: by what it reads from shared memory, or
        from memory of an unknown space, they decide what to do with shared memory or barriers.
        """
        reading = [i for i in sorted(self._reading) if self.code.operation(i).space in _OWN]
        return next((i for i in reading if self._decide([i])), None) if self._decide(reading) else None

    def _decide(self, reading: Sequence[int]) -> bool:
        """Whether what some statements read decides what threads do."""
        made = self._made_of(name for index in reading for name in self.code[index].writes)
        return bool(made) and any(self._acts_by(index, made) for index in range(len(self.code)))

    def _made_of(self, registers: Iterable[str]) -> set[str]:
        """Some registers, and all that are computed from them, also of what is stored and loaded again."""
        made = self.steps.made_of(registers)
        while True:
            stores = (self.code[index] for index in self.code.doing(*_WRITES))
            kept = {one.operation.space for one in stores if not made.isdisjoint(one.reads)}
            again = self.steps.made_of({*made, *self._loaded(kept)})
            if again == made:
                return made
            made = again

    def _loaded(self, kept: set[str]) -> Iterator[str]:
        """The registers that get what memory of some spaces holds."""
        for index in self.code.doing("load") if kept else ():
            space = self.code.operation(index).space
            if space in kept or (space not in ("param", "const") and "generic" in (space, *kept)):
                yield from self.code[index].writes

    def _acts_by(self, index: int, made: set[str]) -> bool:
        """Whether some registers decide at a statement what is done with shared memory or barriers."""
        statement = self.code[index]
        if statement.does in _SIDES:
            if made.isdisjoint(statement.reads):
                return False
            number = self.steps.flow.block_of(index)
            blocks = (self.steps.loops.blocks_of(side, number) for side in self._successors(number))
            return any(self._acts(block) for some in blocks for block in some)
        if statement.guard is None or made.isdisjoint(self.code.unique((statement.guard,), statement.scope)):
            return False
        if statement.does in _LEAVES:
            behind = self.steps.flow.reached(self._successors(self.steps.flow.block_of(index)), None)
            return any(map(self._acts, behind))
        return self._is_acting(index)

    def _successors(self, number: int) -> Iterable[int]:
        return self.steps.flow.blocks[number].successors

    def _acts(self, number: int) -> bool:
        block = self.steps.flow.blocks[number]
        return any(map(self._is_acting, range(block.start, block.end)))

    def _is_acting(self, index: int) -> bool:
        return index in self._counted or index in self._reading

    # Loops that wait

    def polls(self, number: int, predicate: str | None) -> bool:
        """Whether a block stands in a loop that reads memory until another thread has written it; by
        `predicate` it branches.
        """
        polling = self._polling(number)
        return bool(polling) and (predicate is None or self.steps.are_behind(predicate, polling))

    def _polling(self, number: int) -> set[int]:
        """The statements of the innermost loop around a block that read what other threads may write."""
        heads = self.steps.loops.around.get(number, ())[-1:]
        blocks = frozenset[int]().union(*(self.steps.loops.blocks[head] for head in heads))
        return {index for index in self._reading if self.steps.flow.block_of(index) in blocks}

    def waits_for_others(self, number: int) -> bool:
        """Whether a block branches in a loop that does nothing but to read global memory until it holds what
        no thread of this block writes there: how long they wait orders none of them.
        """
        polling = self._polling(number)
        if not polling or self._tells:
            return False
        sides = (self.steps.loops.blocks_of(side, number) for side in self._successors(number))
        return all(self.code.operation(index).space == "global" for index in polling) and not any(
            index in self._counted
            for some in sides
            for block in some
            for index in range(self.steps.flow.blocks[block].start, self.steps.flow.blocks[block].end)
        )

    @cached_property
    def _tells(self) -> bool:
        """Whether threads may tell one another by global memory of what they have done: by an atomic, a
        strong store, one behind a fence, or what nothing is known of.
        """
        used = self.code.used
        fences = any(one.does == "memory-fence" for one in used)
        return any(
            one.does == "update" or fences or one.is_strong
            for one in used
            if one.does in _WRITES and one.space in _COMMON
        ) or any(one.does == "nothing" and one.is_strong for one in used)
