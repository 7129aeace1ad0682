"""The values of a register in the threads of a block: a number in each, the same in all, or unknown."""

from __future__ import annotations

from collections.abc import Container

from ...spec.lazy_dataclass import dataclass

__all__ = ["UNIFORM", "UNKNOWN", "ThreadValue"]


@dataclass(frozen=True, slots=True)
class ThreadValue:
    """A value for each thread, if known; otherwise whether all threads of the block have the same.

    `values` are those of the block's first threads. `assumed`: they are right if the block's threads lie
    along x, which the kernel does not say. Only values can prove a divergence; only uniform ones exclude it.
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
        """The join, where all threads take the same of the two values."""
        if self == other:
            return self
        return UNIFORM if self.is_uniform and other.is_uniform else UNKNOWN

    def __le__(self, other: ThreadValue) -> bool:
        """Whether all that this may be, another may be, too."""
        return self.join(other) == other

    def first_split(self, size: int, among: Container[int] | None = None) -> int | None:
        """The first thread of the first group of `size` threads that provably hold different values.

        `among`: the threads that count; without it, all do.
        """
        values = self.values or ()
        if values.count(values[0] if values else 0) == len(values):
            return None  # all threads hold the same
        for first in range(0, len(values), size):
            group = range(first, min(first + size, len(values)))
            if len({values[thread] for thread in group if among is None or thread in among}) > 1:
                return first
        return None


UNIFORM = ThreadValue(uniform=True)
UNKNOWN = ThreadValue()
