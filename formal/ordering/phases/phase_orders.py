"""A relation that grows edge by edge and stays transitive: what comes before what."""

from __future__ import annotations

__all__ = ["Order"]


class Order:
    """A strict order of numbered nodes; `after` has, by node, a bit for every node behind it."""

    __slots__ = ("after",)

    def __init__(self, size: int) -> None:
        self.after = [0] * size

    def copy(self) -> Order:
        """An order of its own with the same pairs."""
        made = Order(0)
        made.after = self.after[:]
        return made

    def before(self, first: int, second: int) -> bool:
        """Whether a node comes before another."""
        return bool(self.after[first] >> second & 1)

    def add(self, first: int, second: int) -> bool:
        """Put a node before another; False, and nothing changes, if then a node would come before itself."""
        after = self.after
        if after[first] >> second & 1:
            return True
        if first == second or after[second] >> first & 1:
            return False
        more = after[second] | 1 << second
        after[first] |= more
        bit = 1 << first
        for node, behind in enumerate(after):
            if behind & bit:
                after[node] = behind | more
        return True
