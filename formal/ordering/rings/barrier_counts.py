"""One mbarrier of any count, after any steps: the machine's numbers are the sums of the axioms.

The machine counts down: arrivals and bytes that the current phase lacks. The axioms add up: a phase has its
members, and has ended if they are all that it lacked, and not before. If the two say the same of an mbarrier,
they do so after one more arrival, expectation or copy. So they do after any number of them, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...smt.terms import And, If, Implies, Int, Not, Or, Term

__all__ = ["SLIPS", "MachineCounts", "count_questions"]

FIRST_PHASE = "both begin alike"
STEP = "a step keeps them alike"
TOO_MANY = "both see the same arrivals too many"
WAIT = "waits end alike"
_NO_BYTES, _ALL_COUNT, _OTHER_PARITY = (
    "bytes are not counted",
    "an arrival too many counts",
    "a wait ends in a phase of its parity",
)
SLIPS: Mapping[str, str] = {
    _NO_BYTES: STEP,
    _ALL_COUNT: TOO_MANY,
    _OTHER_PARITY: WAIT,
}  # the claim that breaks


@dataclass(frozen=True)
class MachineCounts:
    """The machine's mbarrier: the number of the phase, and what it lacks."""

    phase: Term
    pending: Term
    lacking: Term

    def counted(self, count: Term, arrivals: Term, bytes_: Term) -> MachineCounts:
        """After a step; an arrival when too few are pending changes nothing."""
        pending, lacking = self.pending - arrivals, self.lacking + bytes_
        done = And(pending == 0, lacking == 0)
        over = arrivals > self.pending
        return MachineCounts(
            If(And(done, Not(over)), self.phase + 1, self.phase),
            If(over, self.pending, If(done, count, pending)),
            If(over, self.lacking, If(done, 0, lacking)),
        )

    def passes(self, parity: Term) -> Term:
        """A wait for a parity ends."""
        return self.phase % 2 != parity


@dataclass(frozen=True)
class PhaseSums:
    """The axioms' mbarrier: how many phases have ended, and the sums over the members of the next."""

    ended: Term
    arrivals: Term
    bytes: Term

    def joined(self, count: Term, arrivals: Term, bytes_: Term, slip: str | None) -> PhaseSums:
        """With one more member, if it is not an arrival too many."""
        more = PhaseSums(self.ended, self.arrivals + arrivals, self.bytes + bytes_)
        complete = more.arrivals == count
        if slip != _NO_BYTES:
            complete = And(complete, more.bytes == 0)
        fits = self.fits(count, arrivals, slip)
        return PhaseSums(
            If(And(fits, complete), self.ended + 1, self.ended),
            If(fits, If(complete, 0, more.arrivals), self.arrivals),
            If(fits, If(complete, 0, more.bytes), self.bytes),
        )

    def fits(self, count: Term, arrivals: Term, slip: str | None) -> Term:
        """An arrival is not one too many."""
        if slip == _ALL_COUNT:
            return Or(arrivals == 0, self.arrivals < count)
        return self.arrivals + arrivals <= count

    def may_pass(self, parity: Term, slip: str | None) -> Term:
        """A wait for a parity may come now: the phase before the current one has it."""
        current = self.ended if slip == _OTHER_PARITY else self.ended - 1
        return current % 2 == parity


def count_questions(slip: str | None = None) -> dict[str, Term]:
    """By claim, a counterexample: a moment at which the two say the same of an mbarrier, and then do not."""
    count, arrivals, bytes_, parity = (Int(name) for name in ("count", "arrivals", "bytes", "parity"))
    machine = MachineCounts(Int("phase"), Int("pending"), Int("lacking"))
    sums = PhaseSums(Int("ended"), Int("arrived"), Int("sum"))
    # A step arrives, or it changes the bytes; never both.
    step = And(count >= 1, arrivals >= 0, Or(arrivals == 0, bytes_ == 0), Or(parity == 0, parity == 1))
    now = And(step, _same(machine, sums, count))
    after = machine.counted(count, arrivals, bytes_), sums.joined(count, arrivals, bytes_, slip)
    over = arrivals > machine.pending
    first = And(machine.phase == 0, machine.pending == count, machine.lacking == 0)
    none = And(sums.ended == 0, sums.arrivals == 0, sums.bytes == 0)
    return {
        FIRST_PHASE: And(step, first, none, Not(_same(machine, sums, count))),
        STEP: And(now, Not(_same(*after, count))),
        TOO_MANY: And(now, over != Not(sums.fits(count, arrivals, slip))),
        WAIT: And(now, machine.passes(parity) != sums.may_pass(parity, slip)),
    }


def _same(machine: MachineCounts, sums: PhaseSums, count: Term) -> Term:
    """Both say the same: so many phases have ended, and what the next one has and lacks is its count."""
    return And(
        machine.phase == sums.ended,
        sums.ended >= 0,
        machine.pending + sums.arrivals == count,
        machine.lacking == sums.bytes,
        sums.arrivals >= 0,
        Implies(sums.bytes == 0, sums.arrivals < count),
        sums.arrivals <= count,
    )
