"""The loops of a function, and the blocks on one side of a branch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from ..ptx.flow import Flow

__all__ = ["Loops"]


class Loops:
    """What the flow of a function says about its loops and branches."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._sides: dict[tuple[int, int], frozenset[int]] = {}

    @property
    def blocks(self) -> Mapping[int, frozenset[int]]:
        """By the block that a branch leads back to: the blocks of the loop."""
        return self.flow.loops

    @cached_property
    def around(self) -> dict[int, tuple[int, ...]]:
        """By block: the loops that it stands in, the outermost first, by their heads."""
        found: dict[int, list[int]] = defaultdict(list)
        for head, body in sorted(self.blocks.items(), key=lambda loop: (-len(loop[1]), loop[0])):
            for block in body:
                found[block].append(head)
        return {block: tuple(heads) for block, heads in found.items()}

    def blocks_of(self, side: int, number: int) -> frozenset[int]:
        """The blocks on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._sides:
            self._sides[key] = frozenset(self.flow.reached([side], self.flow.post_dominator.get(number)))
        return self._sides[key]
