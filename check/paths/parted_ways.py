"""Can threads that a branch parts go on so that only some of them execute a block?

Post-dominators do not know that two branches ask the same: a compiler lets the side that need not come back
jump past a later branch. Here, both sides take a branch alike unless its guard provably differs between
threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..values.block_threads import WARPGROUP
from ..values.register_threads import RegisterThreads
from .path_terms import PathTerm, PathValue
from .path_values import PathValues

__all__ = ["PartedWays"]

_MOST_STEPS = 2000  # blocks; a branch with more ways parts its threads
_DEEPEST = 12  # definitions of a guard that are looked at
Assumed = Mapping[PathTerm, bool]


class PartedWays:
    """The ways on from the branches of one function that divide threads."""

    def __init__(self, code: DecodedFunction, flow: Flow, threads: RegisterThreads) -> None:
        self.code = code
        self.flow = flow
        self.threads = threads
        self.values = PathValues(code)

    def part(self, branch: int, block: int) -> bool:
        """Whether one side of a branch may execute a block while the other side does not."""
        number = self.flow.block_of(branch)
        join = self.flow.post_dominator.get(number)
        sides = self.flow.blocks[number].successors
        if len(sides) != 2:
            return True
        within = self.flow.reached(sides, join)
        guards = {one: self._guard(one, within) for one in within}
        self._steps = 0
        for there, past in (sides, sides[::-1]):
            for assumed in self._ways(there, block, None, join, guards, {}, frozenset()):
                if any(True for _ in self._ways(past, join, block, join, guards, assumed, frozenset())):
                    return True
                if self._steps > _MOST_STEPS:
                    return True
        return self._steps > _MOST_STEPS

    def _ways(
        self,
        at: int,
        goal: int | None,
        avoided: int | None,
        join: int | None,
        guards: Mapping[int, PathValue | None],
        assumed: Assumed,
        passed: frozenset[int],
    ) -> Iterator[Assumed]:
        """What each way from a block to a goal (None: the end of the function) assumes, and was assumed."""
        self._steps += 1
        if at == goal:
            yield assumed
            return
        if at in (join, avoided) or at in passed or self._steps > _MOST_STEPS:
            return
        block, guard = self.flow.blocks[at], guards[at]
        if goal is None and (block.leaves or not block.successors):
            yield assumed
        for successor in block.successors:
            after = assumed
            if guard is not None and len(block.successors) == 2:
                holds = successor == block.branch
                if self.values.terms.truth(guard, assumed) is (not holds):
                    continue
                after = {**assumed, **self.values.terms.implied(guard, holds)}
            yield from self._ways(successor, goal, avoided, join, guards, after, passed | {at})

    def _guard(self, number: int, within: set[int]) -> PathValue | None:
        """The condition under which a block's branch is taken; None where threads may differ in it."""
        last = self.code[self.flow.blocks[number].end - 1]
        register = None if last.guard is None else self.code.function.register(last.guard, last.scope)
        found = None if register is None else self._value(register[0], within - {number}, 0)
        return self.values.terms.negated(found) if found is not None and last.negated else found

    def _value(self, name: str, within: set[int], depth: int) -> PathValue | None:
        """What a register holds, by definitions before the branch; None: threads provably differ in it or in
        what it is computed from, or one of the blocks `within` changes it.
        """
        definitions = self.code.definitions.get(name, [])
        if self.threads.register(name).first_split(WARPGROUP) is not None:
            return None
        if any(self.flow.block_of(index) in within for index in definitions):
            return None
        if len(definitions) == 1 and depth < _DEEPEST and self.code[definitions[0]].guard is None:
            reads = self.code[definitions[0]].reads
            values = {one: self._value(one, within, depth + 1) for one in reads}
            sources = {one: value for one, value in values.items() if value is not None}
            if len(sources) < len(values):
                return None
            return self.values.results(definitions[0], sources, ()).get(name)
        return self.values.register(name, {})
