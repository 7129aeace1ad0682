"""What the threads of a block hold in a register: a number each, the same in all, or nothing known."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["UNIFORM", "UNKNOWN", "WARP", "WARPGROUP", "ThreadValue"]

WARP, WARPGROUP = 32, 128  # threads


@dataclass(frozen=True, slots=True)
class ThreadValue:
    """A value by thread, where it is known; else whether it is the same in all threads of the block.

    `values` are those of the block's first threads. `assumed`: they hold for a block whose threads lie along
    x, which the kernel does not say. Only values can prove a divergence; only uniform ones exclude it.
    """

    values: tuple[int, ...] | None = None
    uniform: bool = False
    assumed: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether all threads hold the same."""
        return self.uniform if self.values is None else len(set(self.values)) == 1

    @property
    def is_unknown(self) -> bool:
        """Whether threads may hold anything."""
        return self.values is None and not self.uniform

    def join(self, other: ThreadValue) -> ThreadValue:
        """What may be either, all threads taking the same one."""
        if self == other:
            return self
        return UNIFORM if self.is_uniform and other.is_uniform else UNKNOWN

    def __le__(self, other: ThreadValue) -> bool:
        """Whether all that this may be, another may be, too."""
        return self.join(other) == other

    def first_split(self, size: int) -> int | None:
        """The first thread of the first group of `size` threads that provably do not hold the same."""
        values = self.values or ()
        for first in range(0, len(values), size):
            if len(set(values[first : first + size])) > 1:
                return first
        return None


UNIFORM = ThreadValue(uniform=True)
UNKNOWN = ThreadValue()
