"""Each rule of rules.yaml as a formula about two steps of a symbolic program, those on the text among them.

`axioms.py` says whether two steps have a hazard that can change a value; here is which rule says so, and what
rules demand beside that. The rules are those of `formal/ordering/axioms.py`, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....spec.ordering import Readings, ordering
from ...smt.terms import And, BoolVal, Not, Or, Term
from ..programs import (
    BlockEnd,
    BulkCopy,
    BulkStore,
    Commit,
    CpAsync,
    Mma,
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
)
from .axioms import SymbolicAxioms
from .program import any_of

__all__ = ["PENDING", "RuleFormulas"]

# The rules about a register of a pending mma. Where a wait stands between the steps, another rule comes with
# them, and says why the wait does not help.
PENDING = (
    "accumulator-in-flight",
    "a-written-in-flight",
    "accumulator-reshaped",
    "a-as-accumulator",
    "accumulator-as-a",
)


class RuleFormulas:
    """By rule, whether two steps i < j break it, under some readings; `under` is not asked."""

    def __init__(self, axioms: SymbolicAxioms, readings: Readings) -> None:
        self.s = axioms.s
        self.axioms = axioms
        self.readings = readings

    def of_registers(self, i: int, j: int) -> Mapping[str, Term]:
        """The rules about the registers of two steps."""
        found = {**self._ordinary_first(i, j), **self._ordinary_last(i, j), **self._two_mmas(i, j)}
        pending = any_of([found[rule] for rule in PENDING])
        found["a-read-twice"] = Or(found["a-read-twice"], self._read_by_both(i, j))
        committed = self.committed_at_last_wait(i, j)
        found["uncommitted-at-wait"] = And(pending, self.waited(i, j), Not(committed))
        found["wait-too-shallow"] = And(pending, self.waited(i, j), committed)
        return found

    def waited(self, i: int, j: int) -> Term:
        """A wgmma.wait_group stands between the steps."""
        return any_of([self.s.is_a(k, Wait) for k in range(i + 1, j)])

    def committed_at_last_wait(self, i: int, j: int) -> Term:
        """A commit stands between step i and the last wait before step j."""
        s, found = self.s, []
        for k in range(i + 1, j):
            last = And(s.is_a(k, Wait), Not(any_of([s.is_a(later, Wait) for later in range(k + 1, j)])))
            found.append(And(last, any_of([s.is_a(c, Commit) for c in range(i + 1, k)])))
        return any_of(found)

    def _pending(self, i: int, j: int) -> Term:
        return And(self.s.is_a(i, Mma), Not(self.axioms.complete(i, j)))

    def _ordinary_first(self, i: int, j: int) -> dict[str, Term]:
        s = self.s
        as_d = s.register[i] == s.register[j]
        as_a = And(s.a_in_register[j], s.a_register[j] == s.register[i])
        unfenced = And(s.is_a(i, RegisterRead, RegisterWrite), s.is_a(j, Mma), Not(self.axioms.fenced(i, j)))
        wrote = s.is_a(i, RegisterWrite)
        return {
            "register-fence": And(unfenced, Or(as_d, And(wrote, as_a))),
            "a-read-twice": And(unfenced, Not(as_d), as_a, Not(wrote)),
        }

    def _ordinary_last(self, i: int, j: int) -> dict[str, Term]:
        s = self.s
        as_d = s.register[i] == s.register[j]
        as_a = And(s.a_in_register[i], s.a_register[i] == s.register[j], Not(as_d))
        pending = self._pending(i, j)
        return {
            "accumulator-in-flight": And(pending, s.is_a(j, RegisterRead, RegisterWrite), as_d),
            "a-written-in-flight": And(pending, s.is_a(j, RegisterWrite), as_a),
            "a-read-in-flight": And(pending, s.is_a(j, RegisterRead), as_a),
        }

    def _two_mmas(self, i: int, j: int) -> dict[str, Term]:
        s, fenced = self.s, self.axioms.fenced(i, j)
        both = And(s.is_a(i, Mma), s.is_a(j, Mma))
        pending = self._pending(i, j)
        one_d = And(both, s.register[i] == s.register[j])
        alike = s.alike(i, j, ordering().same_shape(self.readings))
        a_of_last = And(both, s.a_in_register[j], s.a_register[j] == s.register[i])
        a_of_first = And(both, s.a_in_register[i], s.a_register[i] == s.register[j], Not(a_of_last))
        excepted = fenced if self.readings["reshaped-accumulator"] == "fence" else BoolVal(False)
        reshaped = And(one_d, Not(alike), Not(a_of_last), Not(a_of_first), Not(excepted))
        used_otherwise = Or(reshaped, a_of_first, a_of_last)
        return {
            "chain-unwaited": And(one_d, alike, pending),
            "accumulator-reshaped": And(reshaped, pending),
            "a-as-accumulator": And(a_of_first, pending),
            "accumulator-as-a": And(a_of_last, pending),
            "fence-after-mma": And(used_otherwise, Not(pending), Not(fenced)),
        }

    def _read_by_both(self, i: int, j: int) -> Term:
        s = self.s
        one_a = And(s.a_in_register[i], s.a_in_register[j], s.a_register[i] == s.a_register[j])
        return And(s.is_a(i, Mma), s.is_a(j, Mma), one_a, Not(self.axioms.fenced(i, j)))

    def of_memory(self, i: int, j: int) -> Mapping[str, Term]:
        """The rules about the shared memory that two steps access."""
        s, axioms = self.s, self.axioms
        same = axioms.one_buffer(i, j)
        reads = s.is_a(j, SharedRead, Mma, BulkStore)
        waits = any_of([axioms.waits_for(c, i) for c in range(i + 1, j)])
        incomplete = Or(
            And(s.is_a(i, BulkCopy), Not(axioms.complete(i, j))), And(s.is_a(i, CpAsync), Not(waits))
        )
        points = axioms.store_points(i, j)
        ordered = any_of([And(done, axioms.ordered(at, j)) for at, done in points])
        everywhere = any_of([And(done, axioms.ordered_in_all_warps(at, j)) for at, done in points])
        stored = Or(s.is_a(i, SharedWrite), And(s.is_a(i, CpAsync), waits))
        stores = s.is_a(j, SharedWrite, CpAsync)
        unsynchronised = Or(
            And(s.is_a(i, SharedRead), Not(reads), Not(axioms.ordered_in_all_warps(i, j))),
            And(stored, stores, Not(ordered)),
            And(stored, Not(stores), Not(everywhere)),
        )
        unseen = And(stored, everywhere, Not(axioms.visible_to_async_proxy(i, j)))
        read = axioms.has_read(i, j)
        undrained = And(s.is_a(i, BulkStore), Not(axioms.has_drained(i, j)))
        found = {
            "copy-incomplete": incomplete,
            "shared-unsynchronised": unsynchronised,
            "proxy-fence": And(unseen, s.is_a(j, Mma)),
            "proxy-fence-copy": And(unseen, s.is_a(j, BulkCopy)),
            "bulk-store-fence": And(unseen, s.is_a(j, BulkStore)),
            "bulk-store-pending": And(undrained, Not(reads)),
            "shared-overwritten": And(s.is_a(i, Mma), Not(reads), Not(read)),
            "fence-after-completion": And(s.is_a(i, Mma), stores, read, Not(self._fenced_since(i, j))),
            "fence-after-load": And(
                s.is_a(i, SharedRead),
                s.is_a(j, BulkCopy),
                axioms.ordered_in_all_warps(i, j),
                Not(axioms.proxy_fence_since(i, j)),
            ),
        }
        rules = {rule: And(same, formula) for rule, formula in found.items()}
        rules["bulk-store-unwaited"] = And(undrained, s.is_a(j, BlockEnd), Not(axioms.block_lasts))
        return rules

    def _fenced_since(self, i: int, j: int) -> Term:
        """A proxy fence stands between a wait for the mma i and step j."""
        axioms, s = self.axioms, self.s
        return any_of(
            [
                And(axioms.waits_for(c, i), s.is_a(f, ProxyFence), axioms.ordered(c, f), axioms.ordered(f, j))
                for c in range(i + 1, j)
                for f in range(c + 1, j)
            ]
        )
