"""Relations between the steps of one program: what comes before what, for certain.

Steps are named by their index. Every warp of the warpgroup executes the warpgroup's steps, and one warp may
be ahead of another. So there are several kinds of "before":
- program order holds within one warp, or within the other thread;
- step i is `synchronised` with a later step j if a barrier, or mbarrier signals and waits, put every warp's
  execution of i before every warp's execution of j;
- with `one_warp`, it is enough that some warp's execution of i comes before.

Further relations say when an asynchronous step is complete, and when what a step stores is visible to the
async proxy. `axioms.py` builds its rules from these. `symbolic/axioms.py` states the same relations for a
solver.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.ordering import Readings
from .programs import (
    OTHER,
    WARPGROUP,
    BlockEnd,
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Program,
    ProxyFence,
    SharedWrite,
    Wait,
    WgmmaFence,
)

__all__ = ["ProgramRelations"]


class ProgramRelations:
    """The relations between the steps of a program, under some readings of the text."""

    def __init__(self, program: Program, readings: Readings) -> None:
        self.readings = readings
        self.steps = program.steps
        self.operations = [step.operation for step in program.steps]
        self.threads = [step.thread for step in program.steps]
        self._after: dict[tuple[int, bool], frozenset[int]] = {}

    # Before

    def synchronised(self, i: int, j: int, one_warp: bool = False) -> bool:
        """Synchronisation puts step i before step j, whichever warps execute the two.

        With `one_warp` it puts some warp's execution of i before step j.
        """
        if (i, one_warp) not in self._after:
            self._after[i, one_warp] = frozenset(self._steps_after(i, one_warp))
        return j in self._after[i, one_warp]

    def _steps_after(self, i: int, one_warp: bool) -> Iterator[int]:
        """Follow barriers and mbarriers from step i on."""
        reached = [False, False]  # the warpgroup, the other thread
        signalled: set[int] = set()  # mbarriers
        for j in range(i + 1, len(self.operations)):
            operation, thread = self.operations[j], self.threads[j]
            if isinstance(operation, (CtaBarrier, BlockEnd)):
                reached = [True, True]
                if isinstance(operation, BlockEnd):
                    yield j
                continue
            if isinstance(operation, (MbarrierArrive, BulkCopy)):
                # One elected thread starts a bulk copy: its program order is that of its own warp only.
                elected = isinstance(operation, BulkCopy) and thread == WARPGROUP and not one_warp
                if reached[thread] or (thread == self.threads[i] and not elected):
                    signalled.add(operation.barrier)
            elif isinstance(operation, MbarrierWait):
                reached[thread] |= operation.barrier in signalled
            elif isinstance(operation, Wait) and self.readings["wait-scope"] == "warpgroup":
                # The wait knows that all warps have issued the mmas that it waits for.
                issued_since = any(i < mma and self.covers(j, mma) for mma in self.mmas_before(j))
                reached[WARPGROUP] |= self.threads[i] == WARPGROUP and issued_since
            if reached[thread]:
                yield j

    def ordered(self, i: int, j: int) -> bool:
        """Step i comes before step j by synchronisation, or in the warp or thread that executes both."""
        return self.threads[i] == self.threads[j] or self.synchronised(i, j)

    def ordered_for_one_warp(self, i: int, j: int) -> bool:
        """The same, if it is enough that some warp's execution of step i comes before."""
        return self.threads[i] == self.threads[j] or self.synchronised(i, j, one_warp=True)

    def ordered_in_all_warps(self, i: int, j: int) -> bool:
        """Step i comes before step j whichever warps execute the two."""
        if self.threads[i] == self.threads[j] == OTHER:
            return True
        return self.synchronised(i, j)

    def fenced(self, i: int, j: int) -> bool:
        """A wgmma.fence stands between the steps i and j (i = -1: anywhere before j)."""
        return any(isinstance(self.operations[k], WgmmaFence) for k in range(i + 1, j))

    def mmas_before(self, j: int) -> Iterator[int]:
        """The mmas before step j."""
        return (k for k in range(j) if isinstance(self.operations[k], Mma))

    # Completion

    def covers(self, wait: int, i: int) -> bool:
        """A wait waits for the group of the mma, cp.async or bulk store i."""
        operation = self.operations[wait]
        if isinstance(operation, Wait) and isinstance(self.operations[i], Mma):
            groups = self._groups(i, wait)
        elif isinstance(operation, CpAsyncWait) and isinstance(self.operations[i], CpAsync):
            groups = self._own_groups(i, wait, CpAsyncCommit)
        elif isinstance(operation, BulkWait) and isinstance(self.operations[i], BulkStore):
            groups = self._own_groups(i, wait, BulkCommit)
        else:
            return False
        return i < wait and self.threads[i] == self.threads[wait] and groups > operation.n

    def _groups(self, i: int, j: int) -> int:
        """The wgmma groups committed from the mma i to step j, its own group among them."""
        count = 0
        uncommitted = True
        for k in range(i + 1, j):
            if isinstance(self.operations[k], Mma):
                uncommitted = True
            elif isinstance(self.operations[k], Commit):
                count += uncommitted or self.readings["empty-groups"] == "count"
                uncommitted = False
        return count

    def _own_groups(self, i: int, j: int, commit: type) -> int:
        """The groups of cp.async or bulk stores that the thread of the one at step i commits up to step j."""
        between = range(i + 1, j)
        return sum(
            isinstance(self.operations[k], commit) and self.threads[k] == self.threads[i] for k in between
        )

    def waits_for(self, i: int, j: int) -> list[int]:
        """The steps before j that wait for the mma, cp.async, bulk copy or bulk store i."""
        copy = self.operations[i]
        if not isinstance(copy, BulkCopy):
            return [k for k in range(i + 1, j) if self.covers(k, i)]
        found = []
        for k in range(i + 1, j):
            wait = self.operations[k]
            if isinstance(wait, MbarrierWait) and wait.barrier == copy.barrier:
                found.append(k)
        return found

    def complete(self, i: int, j: int) -> bool:
        """The mma or copy i is complete for the warp (or thread) that executes step j."""
        for_all = isinstance(self.operations[i], Mma) and self.readings["wait-scope"] == "warpgroup"
        if for_all or isinstance(self.operations[i], BulkCopy):  # any warp's wait will do
            return any(self.ordered_for_one_warp(wait, j) for wait in self.waits_for(i, j))
        return any(self.ordered(wait, j) for wait in self.waits_for(i, j))

    def has_read_in_all_warps(self, i: int, j: int) -> bool:
        """Every warp's part of the mma i has read shared memory when step j is executed."""
        if self.readings["wait-scope"] == "warpgroup":
            return self.complete(i, j)
        return any(self.synchronised(wait, j) for wait in self.waits_for(i, j))

    def has_drained(self, i: int, j: int) -> bool:
        """The bulk store i has read shared memory when step j is executed.

        The thread that started it waits. In the warpgroup that is the elected one, which starts bulk copies,
        too: its own wait is enough for these. What other warps do must come after the wait of that thread.
        """
        elected = isinstance(self.operations[j], BulkCopy) or self.threads[j] == OTHER
        return any(
            (elected and self.threads[wait] == self.threads[j]) or self.synchronised(wait, j, one_warp=True)
            for wait in self.waits_for(i, j)
        )

    # Stores

    def store_points(self, i: int, j: int) -> list[int]:
        """The steps before j at which the generic proxy has what step i stores.

        An ordinary store is such a step itself; for a cp.async it is each wait that covers it.
        """
        return [i] if isinstance(self.operations[i], SharedWrite) else self.waits_for(i, j)

    def visible_to_async_proxy(self, i: int, j: int) -> bool:
        """The async proxy sees at step j what step i stored, or what was stored over it."""
        return any(self._same_or_later_store(i, k) and self._proxy_fenced(k, j) for k in range(i, j))

    def _same_or_later_store(self, i: int, k: int) -> bool:
        """Step k is the store i, or a store over the same buffer that comes after it for certain."""
        if self._stored_buffer(i) != self._stored_buffer(k):
            return False
        return k == i or any(self.ordered(point, k) for point in self.store_points(i, k))

    def _stored_buffer(self, i: int) -> int | None:
        operation = self.operations[i]
        return operation.buffer if isinstance(operation, (SharedWrite, CpAsync)) else None

    def _proxy_fenced(self, i: int, j: int) -> bool:
        """A proxy fence orders what step i stored before the async access j."""
        return any(self.proxy_fence_since(point, j) for point in self.store_points(i, j))

    def proxy_fence_since(self, point: int, j: int) -> bool:
        """A proxy fence orders what is complete at a step before the async access j."""
        for fence in range(point + 1, j):
            if not isinstance(self.operations[fence], ProxyFence):
                continue
            if self.threads[point] == self.threads[fence] and self.ordered_in_all_warps(fence, j):
                return True
            either = self.readings["proxy-fence-side"] == "either"
            if either and self.ordered_in_all_warps(point, fence) and self.ordered_for_one_warp(fence, j):
                return True
        return False
