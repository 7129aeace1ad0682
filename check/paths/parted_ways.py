"""Can threads that a branch parts go on so that only some of them execute a block?

Post-dominators do not know that two branches ask the same: a compiler lets the side that need not come back
jump past a later branch. Here, a thread takes a branch by its own number where that decides it. Both sides
take the other branches alike unless a guard provably differs between threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, product

from ..values.block_threads import WARPGROUP
from ..values.reaching_threads import ReachingThreads
from .path_slice import PathSlice
from .path_terms import PathTerm, PathValue
from .path_values import PathValues

__all__ = ["PartedWays"]

_MOST_STEPS = 2000  # blocks; a branch with more ways parts its threads
_MOST_PAIRS = 64  # of threads whose ways differ; a branch with more parts its threads
_DEEPEST = 12  # definitions of a guard that are looked at
Assumed = Mapping[PathTerm, bool]
Guards = Mapping[int, PathValue]  # by block: when a thread takes its branch


class PartedWays:
    """The ways on from the branches of one function that divide threads."""

    def __init__(self, reaching: ReachingThreads) -> None:
        self.code = reaching.code
        self.flow = reaching.flow
        self.reaching = reaching
        self.values = PathValues(self.code)
        self._changing = count()
        self._parted: dict[tuple[int, int, int], bool] = {}
        self._decided: dict[str, tuple[int, ...]] = {}  # predicates that a thread's number decides

    def part(self, branch: int, block: int, size: int = WARPGROUP) -> bool:
        """Whether one thread of `size` that act together may execute a block while another of them, which
        takes the other side of a branch, does not.
        """
        key = branch, block, size
        if key not in self._parted:
            self._parted[key] = self._part(self.flow.block_of(branch), block, size)
        return self._parted[key]

    def _part(self, number: int, block: int, size: int) -> bool:
        join = self.flow.post_dominator.get(number)
        sides = self.flow.blocks[number].successors
        if len(sides) != 2:
            return True
        within = self.flow.reached(sides, join)
        pairs = self._pairs(number, within, size, self.reaching.at(self.flow.blocks[block].start))
        self._steps = 0
        for (first, there), (second, past) in pairs:
            for assumed in self._ways(first, block, None, join, there, {}, frozenset()):
                if any(True for _ in self._ways(second, join, block, join, past, assumed, frozenset())):
                    return True
                if self._steps > _MOST_STEPS:
                    return True
        return self._steps > _MOST_STEPS or len(pairs) > _MOST_PAIRS

    def _pairs(
        self, number: int, within: set[int], size: int, later: frozenset[int]
    ) -> list[tuple[tuple[int, Guards], tuple[int, Guards]]]:
        """Two threads that act together and come to a block, and that its branch parts: where each goes
        first, and its guards. The first is one of those that may come to where it matters, `later`.
        """
        self._decided = {}
        self._guards({number, *within}, within, 0)
        decided = tuple(self._decided.values())
        coming = self.reaching.at(self.flow.blocks[number].end - 1)
        alike: dict[tuple[int, ...], tuple[int, Guards]] = {}
        parted: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
        for start in range(0, min(map(len, decided), default=0), size):
            ways: dict[tuple[int, ...], int] = {}
            on: dict[tuple[int, ...], None] = {}
            for thread in range(start, min(start + size, *map(len, decided))):
                if thread not in coming:
                    continue
                way = tuple(values[thread] for values in decided)
                ways.setdefault(way, thread)
                if thread in later:
                    on[way] = None
            for way, thread in ways.items():
                if way not in alike:
                    guards = self._guards({number, *within}, within, thread)
                    alike[way] = self._first(number, guards), guards
            parted |= {
                (one, other): None for one, other in product(on, ways) if alike[one][0] != alike[other][0]
            }
            if len(parted) > _MOST_PAIRS:
                break
        return [(alike[one], alike[other]) for one, other in parted]

    def _first(self, number: int, guards: Guards) -> int:
        """Where a block's branch leads a thread."""
        block = self.flow.blocks[number]
        holds = self.values.terms.truth(guards[number], {})
        return next(side for side in block.successors if (side == block.branch) is holds)

    def _ways(
        self,
        at: int,
        goal: int | None,
        avoided: int | None,
        join: int | None,
        guards: Guards,
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
        block = self.flow.blocks[at]
        if goal is None and (block.leaves or not block.successors):
            yield assumed
        for successor in block.successors:
            after = assumed
            if len(block.successors) == 2:
                guard = guards[at]
                holds = successor == block.branch
                if self.values.terms.truth(guard, assumed) is (not holds):
                    continue
                after = {**assumed, **self.values.terms.implied(guard, holds)}
            yield from self._ways(successor, goal, avoided, join, guards, after, passed | {at})

    def _guards(self, blocks: set[int], within: set[int], thread: int) -> Guards:
        """The conditions under which a thread takes the branches of blocks."""
        return {
            one: self._guard(one, within, thread)
            for one in blocks
            if len(self.flow.blocks[one].successors) == 2
        }

    def _guard(self, number: int, within: set[int], thread: int) -> PathValue:
        last = self.code[self.flow.blocks[number].end - 1]
        register = None if last.guard is None else self.code.function.register(last.guard, last.scope)
        if register is None:
            return self._unknown()
        found = self._value(register[0], within, thread, 0)
        return self.values.terms.negated(found) if last.negated else found

    def _unknown(self) -> PathTerm:
        """What may differ between two threads, or change."""
        return self.values.terms.leaf(("changing", next(self._changing)))

    def _value(self, name: str, within: set[int], thread: int, depth: int) -> PathValue:
        """What a register holds in a thread, by definitions that no statement of `within` repeats with other
        numbers.
        """
        known = self.reaching.threads.register(name)
        if known.values is not None and set(known.values) <= {0, 1}:
            self._decided[name] = known.values
            return known.values[thread]
        if known.first_split(WARPGROUP) is not None:
            return self._unknown()
        definitions = self.code.definitions.get(name, [])
        changes = any(self.flow.block_of(index) in within for index in definitions)
        if len(definitions) == 1 and depth < _DEEPEST and self.code[definitions[0]].guard is None:
            index = definitions[0]
            if changes and PathSlice.is_opaque(self.code[index]):
                return self._unknown()
            sources = {one: self._value(one, within, thread, depth + 1) for one in self.code[index].reads}
            found = self.values.results(index, sources, ()).get(name)
            return self._unknown() if found is None else found
        return self._unknown() if changes else self.values.register(name, {})
