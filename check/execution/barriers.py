"""mbarriers and named barriers as automata: arrivals, bytes, and what a complete phase makes known (9.7.13).

A phase of an mbarrier is complete when no arrival and no byte is pending. The PTX does not show how many
bytes a tensor copy brings. So a phase that expects bytes, and has such copies, completes when a thread waits
for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..values.block_threads import WARP
from .clocks import Clock

__all__ = ["Boxes", "Filled", "Landing", "Mbarrier", "NamedBarrier", "comes_to", "total"]

_FEW = 12  # copies whose sums of bytes are tried
_MOST_PHASES = WARP  # that the arrivals of a warp end, one by each thread; what counts more is undefined


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of numbers; None if one is not known."""
    found = 0
    for one in numbers:
        if one is None:
            return None
        found += one
    return found


@dataclass(slots=True)
class Landing:
    """The phase of an mbarrier that waits for a copy; −1: none. `size` is in bytes, None if unknown; then
    `box` says whose it is: of which tensor map and by which form of the copy, None if that is unknown, too.
    `row` has the bytes of a row of the matrices that products read where the copy begins; 0: there are none.
    """

    barrier: int
    phase: int
    size: int | None = None
    box: Hashable = None
    row: int = 0


def comes_to(copies: Sequence[Landing], bytes_: int) -> bool:
    """Whether the bytes of some of a few copies come to a number."""
    sums = {0}
    for copy in copies[:_FEW]:
        sums |= {one + copy.size for one in sums if copy.size is not None}
    return bytes_ in sums


class Filled(NamedTuple):
    """The tensor copies that a phase waits for, how many bytes it expects, and the statement that says so."""

    copies: list[Landing]
    expected: int
    statement: int


class Boxes(NamedTuple):
    """The boxes of tensors that a phase waits for, each with how often; how many bytes it expects, and the
    statement that says so. `assumed`: a parameter says how many, and they are those with an assumed number.
    """

    boxes: frozenset[tuple[Hashable, int]]
    expected: int
    statement: int
    assumed: bool


@dataclass(slots=True)
class _ApartExpectation:
    """An act of a warp that expects bytes and does not arrive; and what of its phase may come before it, or
    does: arrivals, bytes that these expect, and bytes of copies. None is an unknown number.
    """

    warp: int
    act: int
    statement: int
    arrivals: int
    expected: int | None
    brought: int | None

    def is_known(self, warp: int, clock: Clock) -> bool:
        """Whether a warp with a clock acts behind it."""
        return warp == self.warp or clock.seen[self.warp] >= self.act


@dataclass(slots=True)
class _MbarrierPhase:
    """The arrivals and bytes of one phase; None is an unknown number of bytes. `assumed` are the bytes with
    an assumed number of the parameters that say how many, and `given` those that threads say have come.
    """

    pending: int
    clock: Clock
    expected: int | None = 0
    assumed: int | None = 0
    given: int | None = 0
    copies: list[Landing] = field(default_factory=list)
    arrived: dict[int, int] = field(default_factory=dict)  # by warp: the number of its last arrival's act
    said: int = -1  # the last statement that expects bytes
    later: bool = False  # some arrival comes once operations of its thread are complete
    apart: list[_ApartExpectation] = field(default_factory=list)
    count: int = field(init=False)  # of its arrivals; threads that drop out leave later phases with fewer

    def __post_init__(self) -> None:
        self.count = self.pending

    def boxes(self) -> Boxes | None:
        """The boxes that it waits for; None where one is unknown, or a copy is none of a box."""
        found = Counter(copy.box for copy in self.copies)
        expected = self.assumed if self.expected is None else self.expected
        if not found or None in found or not expected or self.given != 0:
            return None
        return Boxes(frozenset(found.items()), expected, self.said, self.expected is None)

    def brings(self) -> int | None:
        """The bytes of its copies, and those that threads give."""
        return total((self.given, *(copy.size for copy in self.copies)))

    def may_end_early(self) -> bool:
        """Whether the bytes of some of its copies, and not of all, are those that it expects."""
        return self.expected is not None and comes_to(self.copies, self.expected - (self.given or 0))


class Mbarrier:
    """An mbarrier. `phase` is the number of the current phase, and `first` of the first: an even one behind
    those of an mbarrier that was at the same address before. `slow`: bytes arrive only where a thread waits
    for them, or the next arrival needs them; otherwise those of a known number arrive at once. `is_placed`:
    an assumed number decides where it is initialised, or whether.

    `told` has what the end of each phase makes known.
    """

    def __init__(
        self,
        address: int,
        count: int,
        warp: int,
        act: int,
        statement: int,
        warps: int,
        first: int = 0,
        slow: bool = False,
        is_placed: bool = False,
    ) -> None:
        self.address = address
        self.count = count
        self.is_placed = is_placed
        self.init = warp, act, statement
        self.phase = first
        self.changed_at: set[int] = set()  # statements that arrive, copy, or expect bytes
        self.told = [Clock(warps) for _ in range(first)]
        self.arrived: list[dict[int, int]] = [{}] * first  # by warp: the number of its last arrival's act
        self.bytes: list[int | None] = [0] * first  # that each phase expected
        self.later: list[bool] = [False] * first  # whether it has waited for operations of threads
        self.boxes: list[Boxes] = []  # of ended phases
        self.filled: list[Filled] = []  # by ended phases
        # By ended phase: copies of known size beside tensor copies.
        self.beside: dict[int, list[Landing]] = {}
        self.late: set[int] = set()  # statements that expect bytes of a phase which may have ended before
        self._warps = warps
        self._slow = slow
        self._now = _MbarrierPhase(count, Clock(warps))

    @property
    def pending(self) -> int:
        """The arrivals that the current phase lacks."""
        return self._now.pending

    @property
    def lacks_bytes(self) -> bool:
        """Whether bytes are expected that no copy brings."""
        now = self._now
        return now.expected != now.brings() if now.copies or now.given != 0 else bool(now.expected)

    def has_ended(self, phase: int) -> bool:
        """Whether a phase is complete."""
        return self.phase > phase

    def begun(self, clock: Clock) -> int:
        """The earliest phase that can be the current one, for a warp with a clock.

        A phase is over for it, too, if it waited for arrivals only, which came at once, and the clock knows
        all of them.
        """
        phase = clock.begun(self.address)
        while (
            phase < self.phase
            and self.bytes[phase] == 0
            and not self.later[phase]
            and clock.has_seen(self.arrived[phase])
        ):
            phase += 1
        return phase

    def has_gone_on_without(self, phase: int, warp: int, act: int) -> bool:
        """Whether all phases behind one ended before an act of a warp could; they expected no bytes."""
        behind = self.bytes[phase + 1 : self.phase]
        return all(one == 0 for one in behind) and self.told[self.phase - 1].seen[warp] < act

    def arrive(
        self,
        clock: Clock,
        act: tuple[int, int],
        count: int,
        expected: int | None = 0,
        statement: int = -1,
        assumed: int | None = 0,
        later: bool = False,
    ) -> bool:
        """Count arrivals of a warp's act, after the bytes that they expect; whether they fall into several
        phases, or are more than are counted. `clock` is what they make known. `later`: they come once
        operations of the thread are complete, so that it does not know of them.
        """
        self.settle()
        self.expect(expected, statement, assumed)
        for one in self._now.apart:
            if not (act[0] == one.warp and act[1] >= one.act) and clock.seen[one.warp] < one.act:
                one.arrivals += count
                one.expected = total((one.expected, expected))
        left = count
        first = last = self.phase
        while left > 0 and self.phase < first + _MOST_PHASES:
            now = self._now
            taken = min(left, now.pending)
            now.pending -= taken
            left -= taken
            now.clock.join(clock)
            now.arrived.update((act,))
            now.later |= later
            now.clock.knows(self.address, self.phase)
            clock.knows(self.address, self.phase)
            if not taken:
                return True  # bytes are pending, or all have dropped out, and this arrival is one too many
            last = self.phase
            self._end()
        return count > 0 and last > first

    def expect(self, expected: int | None, statement: int, assumed: int | None) -> None:
        """Let the current phase expect more bytes: so many, or as many with an assumed number."""
        if expected != 0:
            self._now.said = statement
        self._now.expected = total((self._now.expected, expected))
        self._now.assumed = total((self._now.assumed, assumed))

    def expect_apart(
        self, warp: int, clock: Clock, expected: int | None, statement: int, assumed: int | None
    ) -> None:
        """The same in a warp with a clock, which does not arrive by that."""
        now = self._now
        for one in now.apart:
            if not one.is_known(warp, clock):
                one.expected = total((one.expected, expected))
        arrivals = now.count - now.pending
        known = _ApartExpectation(warp, clock.seen[warp], statement, arrivals, now.expected, now.brings())
        now.apart.append(known)
        self.expect(expected, statement, assumed)

    def copy(
        self,
        size: int | None,
        box: Hashable = None,
        by: tuple[int, Clock] | None = None,
        tells: bool = False,
    ) -> Landing:
        """A bulk copy that completes bytes of the current phase. `by`: the warp that starts it, with its
        clock. `tells`: who waits for the phase knows what that warp knew before it started the copy.
        """
        if tells and by is not None:
            self._now.clock.join(by[1])
        for one in self._now.apart:
            if by is None or not one.is_known(*by):
                one.brought = total((one.brought, size))
        landing = Landing(self.address, self.phase, size, box)
        self._now.copies.append(landing)
        self._end()
        return landing

    def give(self, size: int | None) -> None:
        """Let so many bytes of the current phase have come, as a thread says."""
        self._now.given = total((self._now.given, size))
        self._end()

    def _end(self) -> None:
        now = self._now
        comes = bool(now.copies) or now.given != 0
        if now.pending or now.expected is None or (now.expected and not comes):
            return
        if not now.expected and now.given == 0:
            self._leave_out()
            self._complete()
        elif now.brings() == now.expected and not (self._slow and now.copies):
            self._complete()

    def _leave_out(self) -> None:
        """Remember that the end of the phase does not show that its copies are complete."""
        for copy in self._now.copies:
            copy.phase = -1

    def settle(self) -> bool:
        """Let the bytes of copies arrive, if that may end the phase; returns whether it has ended."""
        now = self._now
        if now.pending or (now.expected == 0 and now.given == 0):
            return False
        brought = now.brings()
        if (now.copies or now.given != 0) and (None in (brought, now.expected) or brought == now.expected):
            self._complete()
            return True
        if now.may_end_early():
            self._leave_out()
            self._complete()
            return True
        return False

    def _complete(self) -> None:
        clock = self._now.clock
        for one in self._now.apart:
            if one.arrivals >= self._now.count and one.expected is not None and one.expected == one.brought:
                self.late.add(one.statement)
        sized = [copy for copy in self._now.copies if copy.size is not None]
        if 0 < len(sized) < len(self._now.copies) and self._now.given == 0:
            self.beside[self.phase] = sized
        self.phase += 1
        clock.complete[self.address] = self.phase
        self.told.append(clock)
        self.arrived.append(self._now.arrived)
        self.bytes.append(self._now.expected)
        self.later.append(self._now.later)
        if (boxes := self._now.boxes()) is not None:
            self.boxes.append(boxes)
        now = self._now
        if now.expected and now.copies and now.given == 0 and all(copy.size is None for copy in now.copies):
            self.filled.append(Filled(now.copies, now.expected, now.said))
        self._now = _MbarrierPhase(self.count, Clock(self._warps))


class NamedBarrier:
    """A barrier of the block with a number, or the cluster's: threads arrive, and some wait for all."""

    def __init__(self, warps: int) -> None:
        self.phase = 0
        self.changed_at: set[int] = set()  # statements that arrive
        self.told: list[Clock] = []
        self.missing = 0  # threads that the current phase lacks; 0 before the first
        self.count = 0
        self.divided = False  # a part of a warp has arrived
        self.named: dict[int, int] = {}  # counts that statements of the current phase name: the statement
        self.unequal: dict[tuple[int, int], bool] = {}  # statements of one phase with two counts: in doubt
        self._warps = warps
        self._clock = Clock(warps)

    def name(self, count: int, statement: int, doubtful: bool) -> None:
        """A statement names how many threads the current phase is for."""
        for other, before in self.named.items():
            if other != count:
                self.unequal.setdefault((before, statement), doubtful)
        self.named.setdefault(count, statement)

    def has_ended(self, phase: int) -> bool:
        """Whether a phase is complete."""
        return self.phase > phase

    def arrive(self, clock: Clock | None, threads: int, count: int) -> int:
        """Threads of one warp arrive; the number of the phase that they arrive in."""
        if not self.missing:
            self.missing = self.count = count
        phase = self.phase
        if clock is not None:
            self._clock.join(clock)
        self.missing -= threads
        if self.missing <= 0:
            self.complete()
        return phase

    def mix(self, first: int) -> None:
        """Threads that arrive together fall into several phases: which into which nobody knows, so none of
        these phases tells anything.
        """
        for phase in range(first, self.phase):
            self.told[phase] = Clock(self._warps)
        self._clock = Clock(self._warps)

    def complete(self) -> None:
        """End the current phase."""
        self.missing = 0
        self.named = {}
        self.told.append(self._clock)
        self._clock = Clock(self._warps)
        self.phase += 1
