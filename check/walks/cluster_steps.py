"""The steps of a function as the blocks of a cluster execute it together, like one block with all threads.

The shared memory of each block is a window of its own, by the block's rank: so one number names a byte in all
blocks, as an address of .shared::cluster does. The PTX says how many blocks a cluster has; or the host does,
and the kernel asks how many these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from ..memory.byte_regions import ByteRegion
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.source import PtxModule
from ..values.block_threads import WARP, own_numbers, size_of
from ..values.lane_numbers import Numbers, lane_math
from .walk_steps import PLACES, RANK, RANKS, WalkSteps

__all__ = ["ClusterSteps", "asks_for_blocks", "clusters_together", "works_in_pairs"]

_MOST_THREADS = 2048  # of all blocks
_WINDOW = 19  # bits of an address in the shared memory of a block: more than any block has
# On chips a window has 24 bits. Kernels clear the next one, by a number with these upper bits, and so name
# the first block of a pair.
_CLEARS = 0xFEFF
_UPPER = 16
_AXES = "xyz"
_IN_CLUSTER = frozenset({RANK} | {f"%cluster_ctaid.{axis}" for axis in _AXES})
_SHAPES = tuple(f"%cluster_{name}{axis}" for name in ("ctaid", "nctaid") for axis in (".x", ".y", ".z", ""))


def asks_for_blocks(steps: WalkSteps) -> bool:
    """Whether a function takes clusters of several sizes: its head names none, and it reads how many blocks
    there are, but not how they lie.
    """
    texts = {text for statement in steps.code for text in statement.operands}
    return steps.function.cluster is None and RANKS in texts and texts.isdisjoint(_SHAPES)


def works_in_pairs(steps: WalkSteps) -> bool:
    """Whether some instruction is about a pair of blocks of a cluster, and the head does not say how many the
    cluster has.
    """
    return steps.function.cluster is None and steps.code.is_for_pairs


def clusters_together(steps: WalkSteps, cluster: tuple[int, int, int] | None) -> bool:
    """Whether the blocks of a cluster of some shape can be executed together: their number and size are
    known, and few.
    """
    function = steps.function
    threads = size_of(function.threads or (0,))
    blocks = prod(cluster or (1,))
    return blocks > 1 and threads > 0 and threads % WARP == 0 and blocks * threads <= _MOST_THREADS


class ClusterSteps(WalkSteps):
    """The same steps; what tells blocks apart are numbers of their threads."""

    def __init__(
        self,
        module: PtxModule,
        code: DecodedFunction,
        flow: Flow,
        cluster: tuple[int, int, int],
        given: Mapping[str, int],
    ) -> None:
        super().__init__(module, code, flow, given)
        self.cluster = cluster

    @property
    def blocks(self) -> int:
        return prod(self.cluster or (1,))

    @cached_property
    def grid(self) -> Mapping[str, int]:
        """The cluster's place in the grid; that of each block in the cluster differs."""
        return {name: number for name, number in super().grid.items() if name not in PLACES}

    @cached_property
    def _assumed(self) -> frozenset[str]:
        """The numbers of a block's place in its cluster are those of each block that is executed."""
        return super()._assumed - _IN_CLUSTER

    def own(
        self, shape: tuple[int, int, int] | None, threads: Sequence[int]
    ) -> Iterator[tuple[str, Numbers]]:
        """What tells the threads of all blocks apart, and where the variables of shared memory lie."""
        count = len(threads)
        math, each = lane_math(count), count // self.blocks
        for name, numbers in own_numbers(shape, range(each)):
            yield name, math.joined(numbers * self.blocks)
        ranks = [self.rank_of(thread, count) for thread in threads]
        yield RANK, math.joined(ranks)
        extent = 1
        for axis, count in zip(_AXES, self.cluster or (1, 1, 1), strict=True):
            places = math.joined(rank // extent % count for rank in ranks)
            yield from ((f"%{name}.{axis}", places) for name in ("ctaid", "cluster_ctaid"))
            extent *= count
        for name, at in self.bases.items():
            yield _lying(name), math.joined(at | rank << _WINDOW for rank in ranks)

    def source(self, text: str, scope: int) -> int | str:
        """The same; what clears the bit by which the two blocks of a pair differ on a chip, does so here. But
        where no instruction is about a pair, copies signal the mbarrier of the block into which they copy.
        """
        found = super().source(text, scope)
        if isinstance(found, int) and found >> _UPPER & 0xFFFF == _CLEARS and self.code.is_for_pairs:
            return found & ~(1 << _WINDOW)
        return found

    def named(self, text: str) -> int | str:
        """The name of what differs between blocks: where a variable lies."""
        return _lying(text) if text in self.bases else text

    def in_window(self, address: int, rank: int) -> int:
        """The same place in the shared memory of another block."""
        return (address & (1 << _WINDOW) - 1) | rank << _WINDOW

    def window_of(self, address: int) -> int:
        """The rank of the block in whose shared memory an address lies."""
        return address >> _WINDOW

    def rank_of(self, thread: int, threads: int) -> int:
        """The rank of a thread's block."""
        return thread // (threads // self.blocks)

    def in_variable(self, region: ByteRegion) -> ByteRegion:
        """Bytes of some block's shared memory, as those of the variable where they begin."""
        return super().in_variable(self.moved(region, 0))

    def _result(
        self, statement: DecodedStatement, words: tuple[str, ...], parts: tuple[str, ...]
    ) -> tuple[str, tuple[int | str, ...], tuple[int, ...]]:
        result, sources, negates = super()._result(statement, words, parts)
        return ("mapped" if statement.does == "map-address" else result), sources, negates


def _lying(variable: str) -> str:
    """The name of where a variable lies, which is no register's."""
    return f"@{variable}"
