"""The threads of a block: how many make a warp, and what each reads of itself (PTX ISA 10.1 to 10.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

__all__ = ["LARGEST_BLOCK", "WARP", "WARPGROUP", "Threads", "by_warp", "own_numbers", "size_of"]

WARP, WARPGROUP = 32, 128  # threads
LARGEST_BLOCK = 1024  # threads


class Threads(tuple[int, ...]):
    """Some threads, in their order. Much is remembered by them, so their hash is computed once."""

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


def size_of(shape: Iterable[int]) -> int:
    """How many threads a block of some shape has."""
    return prod(shape)


def own_numbers(
    shape: tuple[int, int, int] | None, threads: Sequence[int]
) -> Iterator[tuple[str, list[int]]]:
    """The special registers that tell threads apart, with the number of each of some threads.

    Without a shape the block is taken to lie along x.
    """
    x, y, z = (LARGEST_BLOCK, 1, 1) if shape is None else shape
    yield "%tid.x", [t % x for t in threads]
    yield "%tid.y", [t // x % y for t in threads]
    yield "%tid.z", [t // (x * y) % z for t in threads]
    yield "%laneid", [t % WARP for t in threads]
    yield "%warpid", [t // WARP for t in threads]


@lru_cache(maxsize=1 << 8)
def by_warp(threads: tuple[int, ...]) -> Mapping[int, Threads]:
    """Threads by their warp."""
    found: dict[int, list[int]] = defaultdict(list)
    for thread in threads:
        found[thread // WARP].append(thread)
    return {warp: Threads(some) for warp, some in found.items()}
