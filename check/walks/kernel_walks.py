"""The walks through one function, made when first asked for, and what they say about suspicions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.source import PtxModule
from .cluster_steps import ClusterSteps, asks_for_blocks, clusters_together, works_in_pairs
from .stored_data import StoredData
from .thread_walk import Walked, short_walks, walks
from .walk_plan import WalkPlan
from .walk_steps import WalkSteps

if TYPE_CHECKING:
    from ..memory.proxy_findings import Suspicion
    from .proxy_replay import Replays

__all__ = ["KernelWalks"]

_BLOCKS = (2, 4)  # of a cluster, where the host says how many
_PAIR, _PAIRS = 2, 4  # the same, where the kernel does not ask, and pairs of blocks work together


class KernelWalks:
    """The walks of a function's threads: `long` ones, and `short` ones that reach the end of its loops.
    `cluster`: the shape of a cluster, if it is known. `given`: parameters with numbers of their own.
    """

    def __init__(
        self,
        module: PtxModule,
        code: DecodedFunction,
        flow: Flow,
        cluster: tuple[int, int, int] | None = None,
        given: Mapping[str, int] | None = None,
    ) -> None:
        self.module = module
        self.code = code
        self.flow = flow
        self.cluster = cluster or code.function.cluster
        self.given = given or {}

    def with_numbers(self, given: Mapping[str, int]) -> KernelWalks:
        """The walks where parameters have numbers of their own."""
        return KernelWalks(self.module, self.code, self.flow, self.cluster, given)

    @cached_property
    def steps(self) -> WalkSteps:
        """What all walks and executions of the function share."""
        return WalkSteps(self.module, self.code, self.flow, self.given)

    @cached_property
    def plan(self) -> WalkPlan:
        """The plan of walks that look at products and at what is written."""
        return WalkPlan(self.steps)

    @cached_property
    def reading_plan(self) -> WalkPlan:
        """The plan of walks that look at ordinary reads of shared memory, too."""
        return WalkPlan(self.steps, reads=True)

    @cached_property
    def group_plan(self) -> WalkPlan:
        """The same, of walks that look at when products are issued and waited for, too."""
        return WalkPlan(self.steps, reads=True, products=True)

    @cached_property
    def tensor_plan(self) -> WalkPlan:
        """The plan of walks that look at what is done to tensor memory, too."""
        return WalkPlan(self.steps, tensors=True)

    @cached_property
    def data_plan(self) -> WalkPlan:
        """The plan of walks that look at ordinary reads, and at where what is stored comes from."""
        return WalkPlan(self.steps, reads=True, data=StoredData(self.code))

    @cached_property
    def are_together(self) -> bool:
        """Whether the blocks of a cluster can be executed together."""
        return clusters_together(self.steps, self.cluster)

    @property
    def clusters(self) -> Sequence[KernelWalks]:
        """The same in clusters whose blocks can be executed together: of one size, if that is known; of
        several ones, if a host says the size. Of a kernel for pairs that does not ask for it, one pair: what
        reaches behind it stops the execution.
        """
        return (self,) if self.are_together else self._usual_clusters

    @cached_property
    def _usual_clusters(self) -> Sequence[KernelWalks]:
        if asks_for_blocks(self.steps):
            return self._of_sizes(_BLOCKS)
        return self._of_sizes((_PAIR,)) if works_in_pairs(self.steps) else ()

    @cached_property
    def pairs(self) -> Sequence[KernelWalks]:
        """The same in a cluster of several pairs, where it is taken to be one; none if these have too many
        threads.
        """
        return self._of_sizes((_PAIRS,))

    def _of_sizes(self, counts: Iterable[int]) -> Sequence[KernelWalks]:
        """The walks in clusters of so many blocks, if these can be executed together."""
        shapes = ((blocks, 1, 1) for blocks in counts)
        sizes = (KernelWalks(self.module, self.code, self.flow, shape, self.given) for shape in shapes)
        return [one for one in sizes if one.are_together]

    @cached_property
    def _cluster_steps(self) -> ClusterSteps:
        assert self.cluster is not None
        return ClusterSteps(self.module, self.code, self.flow, self.cluster, self.given)

    @cached_property
    def cluster_plan(self) -> WalkPlan:
        """The plan of executions of all blocks of a cluster."""
        return WalkPlan(self._cluster_steps)

    @cached_property
    def reading_cluster_plan(self) -> WalkPlan:
        """The same, of those that look at ordinary reads of shared memory, too."""
        return WalkPlan(self._cluster_steps, reads=True)

    @cached_property
    def tensor_cluster_plan(self) -> WalkPlan:
        """The same, of those that look at what is done to tensor memory, too."""
        return WalkPlan(self._cluster_steps, tensors=True)

    @cached_property
    def long(self) -> list[Walked]:
        """Walks with sizes at which products are reached."""
        return walks(self.plan)

    @cached_property
    def short(self) -> list[Walked]:
        """Walks with small sizes; none unless the long ones leave a product's loop before its end."""
        return short_walks(self.plan, self.long)

    def replayed(self, suspicions: Collection[Suspicion]) -> Replays:
        """What the walks say about suspicions."""
        from .proxy_replay import Replays, replayed  # most functions have none

        return replayed(self.plan, [*self.long, *self.short], suspicions) if suspicions else Replays()
