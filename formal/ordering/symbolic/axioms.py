"""The axioms as formulas about one symbolic program: relations between its steps, and hazards.

Each relation means what the relation of the same name in `relations.py` means. It is written a second time
here, because a solver needs it for every program at once. A hazard is a pair of steps that a rule with an
effect on values forbids; which rule that is does not matter here.
"""

from __future__ import annotations

from ....spec.ordering import Readings, ordering
from ...smt.terms import UGT, And, BitVecVal, BoolVal, If, Not, Or, Term, ZeroExt
from ..programs import (
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
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)
from .program import SymbolicProgram, any_of

__all__ = ["SymbolicAxioms"]

_READERS = (SharedRead, Mma, BulkStore)


class SymbolicAxioms:
    """The relations of the axioms between the steps of a symbolic program.

    Pairs of steps i < j are the keys. `groups` and `own_groups` count the groups that are committed between
    the two: for an mma i, and for a cp.async or a bulk store i. `synchronised`: step i comes before step j,
    whichever warps execute them; `synchronised_one_warp`: what any one warp did in step i comes before step
    j. `reached` says the same right after step j, for two threads: the warpgroup and the other thread.
    """

    def __init__(
        self, s: SymbolicProgram, readings: Readings, empty_groups_count: Term, block_lasts: Term
    ) -> None:
        self.s = s
        self.readings = readings
        self.empty_groups_count = empty_groups_count
        self.block_lasts = block_lasts
        self.groups: dict[tuple[int, int], Term] = {}
        self.own_groups: dict[tuple[int, int], Term] = {}
        self.synchronised: dict[tuple[int, int], Term] = {}
        self.synchronised_one_warp: dict[tuple[int, int], Term] = {}
        self.reached: dict[tuple[int, int], tuple[Term, Term]] = {}
        self.reached_one_warp: dict[tuple[int, int], tuple[Term, Term]] = {}
        for i in range(s.length):
            self._count_groups(i)
        for i in range(s.length):
            self._synchronise(i, False)
            self._synchronise(i, True)

    def _count_groups(self, i: int) -> None:
        """Count the groups committed after step i, up to each later step."""
        s = self.s
        groups, own_groups = BitVecVal(0, 5), BitVecVal(0, 5)
        uncommitted: Term = BoolVal(True)
        for j in range(i + 1, s.length):
            self.groups[i, j], self.own_groups[i, j] = groups, own_groups
            commit = s.is_a(j, Commit)
            makes_group = And(commit, Or(self.empty_groups_count, uncommitted))
            groups = If(makes_group, groups + 1, groups)
            uncommitted = And(Or(uncommitted, s.is_a(j, Mma)), Not(commit))
            copies = And(s.is_a(i, CpAsync), s.is_a(j, CpAsyncCommit))
            stores = And(s.is_a(i, BulkStore), s.is_a(j, BulkCommit))
            own = And(Or(copies, stores), s.other[j] == s.other[i])
            own_groups = If(own, own_groups + 1, own_groups)

    def _synchronise(self, i: int, one_warp: bool) -> None:
        """Follow barriers and mbarriers from step i on."""
        s = self.s
        before = self.synchronised_one_warp if one_warp else self.synchronised
        reached_after = self.reached_one_warp if one_warp else self.reached
        reached = [BoolVal(False), BoolVal(False)]
        signalled: list[Term] = [BoolVal(False)] * 4  # by mbarrier
        for j in range(i + 1, s.length):
            here = If(s.other[j], reached[1], reached[0])
            same_thread = s.other[j] == s.other[i]
            # One elected thread starts a bulk copy: its program order is that of its own warp only.
            elected = same_thread if one_warp else And(same_thread, s.other[j])
            signals = Or(
                And(s.is_a(j, MbarrierArrive), Or(here, same_thread)),
                And(s.is_a(j, BulkCopy), Or(here, elected)),
            )
            receives = And(
                s.is_a(j, MbarrierWait), any_of([And(s.barrier[j] == b, signalled[b]) for b in range(4)])
            )
            if self.readings["wait-scope"] == "warpgroup":
                waited = any_of([self.covers(j, m) for m in range(i + 1, j)])
                receives = Or(receives, And(s.is_a(j, Wait), Not(s.other[i]), waited))
            barrier = s.is_a(j, CtaBarrier)
            meet = s.is_a(j, CtaBarrier, BlockEnd)
            signalled = [Or(signalled[b], And(signals, s.barrier[j] == b)) for b in range(4)]
            reached = [
                Or(reached[0], meet, And(receives, Not(s.other[j]))),
                Or(reached[1], meet, And(receives, s.other[j])),
            ]
            reached_after[i, j] = reached[0], reached[1]
            before[i, j] = And(If(s.other[j], reached[1], reached[0]), Not(barrier))

    def ordered(self, i: int, j: int) -> Term:
        """Step i comes before step j, in the thread or the warp that executes both or by synchronisation."""
        return Or(self.s.other[i] == self.s.other[j], self.synchronised[i, j])

    def ordered_in_all_warps(self, i: int, j: int) -> Term:
        """Step i comes before step j, whichever warps execute them."""
        return Or(And(self.s.other[i], self.s.other[j]), self.synchronised[i, j])

    def covers(self, c: int, i: int) -> Term:
        """Step c waits for the group of the mma, cp.async or bulk store i."""
        s = self.s
        n = ZeroExt(1, s.count[c])
        wgmma = And(s.is_a(i, Mma), s.is_a(c, Wait), UGT(self.groups[i, c], n))
        same = s.other[i] == s.other[c]
        waits = Or(
            And(s.is_a(i, CpAsync), s.is_a(c, CpAsyncWait)), And(s.is_a(i, BulkStore), s.is_a(c, BulkWait))
        )
        own = And(waits, same, UGT(self.own_groups[i, c], n))
        return Or(wgmma, own)

    def waits_for(self, c: int, i: int) -> Term:
        """Step c waits for the mma, cp.async, bulk copy or bulk store i."""
        s = self.s
        copied = And(s.is_a(i, BulkCopy), s.is_a(c, MbarrierWait), s.barrier[i] == s.barrier[c])
        return Or(self.covers(c, i), copied)

    def complete(self, i: int, j: int) -> Term:
        """The mma or copy i is complete for the warp or thread that executes step j."""
        s = self.s
        for_all = (BulkCopy, Mma) if self.readings["wait-scope"] == "warpgroup" else (BulkCopy,)
        one_wait_is_enough = s.is_a(i, *for_all)
        found = []
        for c in range(i + 1, j):
            later = If(one_wait_is_enough, self.synchronised_one_warp[c, j], self.synchronised[c, j])
            found.append(And(self.waits_for(c, i), Or(s.other[c] == s.other[j], later)))
        return any_of(found)

    def fenced(self, i: int, j: int) -> Term:
        """A wgmma.fence stands between the steps i and j."""
        return any_of([self.s.is_a(f, WgmmaFence) for f in range(i + 1, j)])

    def store_points(self, i: int, j: int) -> list[tuple[int, Term]]:
        """The steps before j at which the generic proxy has what step i stores, each with its condition.

        An ordinary store is such a step itself; for a cp.async it is each wait that covers it.
        """
        store = [(i, self.s.is_a(i, SharedWrite))]
        waits = [(c, And(self.s.is_a(i, CpAsync), self.waits_for(c, i))) for c in range(i + 1, j)]
        return store + waits

    def visible_to_async_proxy(self, i: int, j: int) -> Term:
        """The async proxy sees at step j what step i stored, or what was stored over it."""
        return any_of([And(self.same_or_later_store(i, k, j), self._proxy_fenced(k, j)) for k in range(i, j)])

    def same_or_later_store(self, i: int, k: int, j: int) -> Term:
        """Step k is the store i, or a store over the same buffer that comes after it for certain."""
        if i == k:
            return BoolVal(True)
        s = self.s
        stores = And(s.is_a(k, SharedWrite, CpAsync), s.buffer[k] == s.buffer[i])
        points = [(at, done) for at, done in self.store_points(i, k) if at < k]
        return And(stores, any_of([And(done, self.ordered(at, k)) for at, done in points]))

    def _proxy_fenced(self, k: int, j: int) -> Term:
        """A proxy fence orders what step k stored before the async access j."""
        points = self.store_points(k, j)
        return any_of([And(done, self.proxy_fence_since(point, j)) for point, done in points])

    def proxy_fence_since(self, point: int, j: int) -> Term:
        """A proxy fence orders what is complete at a step before the async access j."""
        s = self.s
        found = []
        for f in range(point + 1, j):
            through = And(s.other[point] == s.other[f], self.ordered_in_all_warps(f, j))
            if self.readings["proxy-fence-side"] == "either":
                later = Or(s.other[f] == s.other[j], self.synchronised_one_warp[f, j])
                through = Or(through, And(self.ordered_in_all_warps(point, f), later))
            found.append(And(s.is_a(f, ProxyFence), through))
        return any_of(found)

    def register_hazard(self, i: int, j: int) -> Term:
        """The steps i and j break a rule about a register, and a value can change."""
        s = self.s
        ordinary = s.is_a(i, RegisterRead, RegisterWrite)
        d_is_a = And(s.a_in_register[j], s.a_register[j] == s.register[i])
        unfenced = And(
            ordinary,
            s.is_a(j, Mma),
            Not(self.fenced(i, j)),
            Or(s.register[i] == s.register[j], And(s.is_a(i, RegisterWrite), d_is_a)),
        )
        a_is_d = And(s.a_in_register[i], s.a_register[i] == s.register[j])
        pending = And(s.is_a(i, Mma), Not(self.complete(i, j)))
        accessed_while_pending = And(
            pending,
            s.is_a(j, RegisterRead, RegisterWrite),
            Or(s.register[i] == s.register[j], And(s.is_a(j, RegisterWrite), a_is_d)),
        )
        same_shape = s.alike(i, j, ordering().same_shape(self.readings))
        reshaped = And(s.register[i] == s.register[j], Not(same_shape))
        if self.readings["reshaped-accumulator"] == "fence":
            reshaped = And(reshaped, Not(self.fenced(i, j)))
        used_while_pending = And(pending, s.is_a(j, Mma), Or(reshaped, a_is_d, d_is_a))
        return Or(unfenced, accessed_while_pending, used_while_pending)

    def one_buffer(self, i: int, j: int) -> Term:
        """The steps i and j access one buffer."""
        s = self.s
        return Or(
            And(s.accesses(i, s.buffer[j]), s.accesses(j, s.buffer[j])),
            And(s.accesses(i, s.a_buffer[j]), s.is_a(j, Mma), Not(s.a_in_register[j])),
        )

    def has_read(self, i: int, j: int) -> Term:
        """Every warp's part of the mma i has read shared memory when step j is executed."""
        if self.readings["wait-scope"] == "warpgroup":
            return self.complete(i, j)
        waits = [(c, self.waits_for(c, i)) for c in range(i + 1, j)]
        return any_of([And(waited, self.synchronised[c, j]) for c, waited in waits])

    def has_drained(self, i: int, j: int) -> Term:
        """The bulk store i has read shared memory when step j is executed."""
        s = self.s
        own = Or(s.is_a(j, BulkCopy), s.other[j])  # the thread that waited executes step j
        waits = [(c, self.waits_for(c, i)) for c in range(i + 1, j)]
        return any_of(
            [
                And(waited, Or(And(own, s.other[c] == s.other[j]), self.synchronised_one_warp[c, j]))
                for c, waited in waits
            ]
        )

    def memory_hazard(self, i: int, j: int) -> Term:
        """The steps i and j break a rule about a buffer, and a value can change."""
        s = self.s
        only_reads = s.is_a(j, *_READERS)
        overwritten = And(s.is_a(i, Mma), Not(only_reads), Not(self.has_read(i, j)))
        loaded = And(s.is_a(i, SharedRead), Not(only_reads), Not(self.ordered_in_all_warps(i, j)))
        copied = And(s.is_a(i, BulkCopy), Not(self.complete(i, j)))
        points = self.store_points(i, j)
        ordered = any_of([And(done, self.ordered(at, j)) for at, done in points])
        ordered_in_all_warps = any_of([And(done, self.ordered_in_all_warps(at, j)) for at, done in points])
        stored = And(
            s.is_a(i, SharedWrite, CpAsync),
            If(
                s.is_a(j, SharedWrite, CpAsync),
                Not(ordered),
                Or(
                    Not(ordered_in_all_warps),
                    And(Not(s.is_a(j, SharedRead)), Not(self.visible_to_async_proxy(i, j))),
                ),
            ),
        )
        undrained = And(s.is_a(i, BulkStore), Not(self.has_drained(i, j)))
        drained_late = And(undrained, Not(only_reads))
        ended = And(s.is_a(j, BlockEnd), undrained, Not(self.block_lasts))
        raced = And(self.one_buffer(i, j), Or(overwritten, loaded, copied, stored, drained_late))
        return Or(raced, ended)
