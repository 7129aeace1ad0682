"""Which threads of a block may come to a statement, past branches whose side each thread is known to take."""

from __future__ import annotations

from functools import cached_property

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from .register_threads import RegisterThreads

__all__ = ["ReachingThreads"]


class ReachingThreads:
    """Answers about one function. Sets of threads are bits of an integer."""

    def __init__(self, code: DecodedFunction, flow: Flow, threads: RegisterThreads) -> None:
        self.code = code
        self.flow = flow
        self.threads = threads

    def at(self, index: int) -> frozenset[int]:
        """The threads that may execute a statement."""
        reaching = self._blocks[self.flow.block_of(index)]
        return frozenset(thread for thread in range(self.threads.count) if reaching >> thread & 1)

    @cached_property
    def _blocks(self) -> list[int]:
        """By block, the threads that may come to it on some path."""
        every = (1 << self.threads.count) - 1
        reaching = [0] * len(self.flow.blocks)
        waiting = [0]
        reaching[:1] = [every]
        while waiting:
            number = waiting.pop()
            block = self.flow.blocks[number]
            sides = self._sides(block.end - 1) if block.end > block.start else None
            for side in set(block.successors):
                allowed = every
                if sides is not None and (block.leaves or block.branch != block.fall):
                    allowed = sides[side != block.branch]
                came = reaching[side] | (reaching[number] & allowed)
                if came != reaching[side]:
                    reaching[side] = came
                    waiting.append(side)
        return reaching

    def _sides(self, index: int) -> tuple[int, int] | None:
        """The threads that may take a branch or exit, and those that may pass it by; None of another
        statement, or one that all take.
        """
        statement = self.code[index]
        if statement.guard is None or self.code.operation(index).does not in ("jump", "leave"):
            return None
        holds, fails = self.threads.sides(statement.guard, statement.scope)
        return (fails, holds) if statement.negated else (holds, fails)
