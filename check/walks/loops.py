"""The loops of a function, and the blocks on one side of a branch."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from ..ptx.flow import Flow

__all__ = ["Loops"]


class Loops:
    """What the flow of a function says about its loops and branches."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._sides: dict[tuple[int, int], frozenset[int]] = {}

    @cached_property
    def blocks(self) -> dict[int, frozenset[int]]:
        """By the block that a branch leads back to: the blocks of the loop."""
        found: dict[int, set[int]] = {}
        for number in self.flow.order:
            for head in self.flow.blocks[number].successors:
                if head > number:
                    continue
                body, waiting = {number}, [number] if number != head else []
                while waiting:
                    for block in self.flow.blocks[waiting.pop()].predecessors:
                        if block not in body and block >= head:
                            body.add(block)
                            if block > head:
                                waiting.append(block)
                if head in body:
                    found.setdefault(head, set()).update(body)
        return {head: frozenset(body) for head, body in found.items()}

    @cached_property
    def around(self) -> dict[int, tuple[int, ...]]:
        """By block: the loops that it stands in, the outermost first, by their heads."""
        found: dict[int, list[int]] = defaultdict(list)
        for head, body in sorted(self.blocks.items()):
            for block in body:
                found[block].append(head)
        return {block: tuple(heads) for block, heads in found.items()}

    def blocks_of(self, side: int, number: int) -> frozenset[int]:
        """The blocks on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._sides:
            self._sides[key] = frozenset(self.flow.reached([side], self.flow.post_dominator.get(number)))
        return self._sides[key]
