"""Ordinary loads, stores and atomic updates of shared memory by different warps, and the pairs of them that
nothing orders. Two updates need no order.

A warp's access has the number of the warp's acts. Another warp knows of it once its clock has seen that.
Threads of one warp are judged against one another by their lanes (`warp_lanes.py`). Two stores may store the
same (`write_clashes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import gt
from typing import NamedTuple

from ..ptx.operation import DATA, READS, Operation
from ..values.block_threads import by_warp
from ..values.lane_numbers import LaneNumbers
from ..walks.stored_data import StoredData
from ..walks.walk_plan import PRODUCTS
from ..walks.walk_steps import WalkStep
from .access_records import GenericAccess, GenericRace, both_access, first_of
from .act_operands import is_doubtful
from .clocks import Clock
from .group_products import GroupProducts
from .misplaced_accesses import Misplaced, misplaced, unit_of
from .peer_accesses import PeerAccesses
from .thread_groups import ThreadGroup
from .unshown import why_not_known
from .warp_accesses import warp_accesses
from .warp_acts import WarpActs
from .warp_lanes import WarpLanes, is_together
from .warps import GroupWait
from .write_clashes import WriteClashes

__all__ = ["UNTOLD", "GenericActs"]

_ACCESSES = DATA | {"allocate"}
UNTOLD = "untold"  # a race under one reading only: a lane that arrives does not tell what others have done


@dataclass(slots=True)
class _Lines:
    """The lines of shared memory that are accessed, a bit for each."""

    loaded_lines: int = 0
    stored_lines: int = 0
    updated_lines: int = 0

    def touch(self, access: GenericAccess) -> None:
        """Something is accessed."""
        match access.does:
            case "store":
                self.stored_lines |= access.bytes.lines
            case "update":
                self.updated_lines |= access.bytes.lines
            case _:
                self.loaded_lines |= access.bytes.lines

    def rival_lines(self, does: str) -> int:
        """The lines with bytes that an access may conflict with, by what it does."""
        match does:
            case "load":
                return self.stored_lines | self.updated_lines
            case "store":
                return self.loaded_lines | self.updated_lines
        return self.loaded_lines | self.stored_lines

    @property
    def written_lines(self) -> int:
        """The lines that are written."""
        return self.stored_lines | self.updated_lines


@dataclass(slots=True)
class _Span(_Lines):
    """What a warp accesses between two of its releases: also a bit for each byte, once asked for."""

    act: int = 0
    accesses: list[GenericAccess] = field(default_factory=list)
    _loaded: int = 0
    _stored: int = 0
    _updated: int = 0
    _counted: int = 0  # accesses whose bytes these are

    def add(self, access: GenericAccess) -> None:
        """The warp accesses something."""
        self.accesses.append(access)
        self.touch(access)

    @property
    def loaded(self) -> int:
        """The bytes that are loaded."""
        self._count()
        return self._loaded

    @property
    def stored(self) -> int:
        """The bytes that are stored."""
        self._count()
        return self._stored

    @property
    def updated(self) -> int:
        """The bytes that are updated."""
        self._count()
        return self._updated

    def rivals(self, does: str) -> int:
        """The bytes that an access conflicts with, by what it does. What is stored here, too, is read by the
        warp itself: where two store the same bytes, compilers have them store the same.
        """
        match does:
            case "load":
                return self.stored | self.updated
            case "store":
                return self.loaded & ~self.stored | self.updated
        return self.loaded | self.stored

    def _count(self) -> None:
        for access in self.accesses[self._counted :]:
            flags = access.bytes.flags << access.bytes.start
            match access.does:
                case "store":
                    self._stored |= flags
                case "update":
                    self._updated |= flags
                case _:
                    self._loaded |= flags
        self._counted = len(self.accesses)


class _Untold(NamedTuple):
    """What some lanes of a warp have accessed, the first of them `lane`, and an arrival by other lanes does
    not tell. `act`: the number of the arrival among the warp's acts.
    """

    warp: int
    act: int
    lane: int
    access: GenericAccess


class GenericActs(WarpActs):
    """The warps and barriers of a block, and its ordinary accesses of shared memory. `maps`: they may lie in
    other blocks of the cluster. `together`: the wait of one warp for a product covers those of its warpgroup.
    `data`: where what is stored comes from, if that is asked.
    """

    skips = frozenset(
        (
            "load",
            "store",
            "allocate",
            "copy",
            "copy-commit",
            "copy-wait",
            "multiply",
            "commit",
            "wait",
        )
    )

    def __init__(
        self, threads: int, maps: bool = False, together: bool = False, data: StoredData | None = None
    ) -> None:
        super().__init__(threads)
        self.clashes = WriteClashes(data)
        self._products = GroupProducts(self.warps) if together else None
        self.within = WarpLanes(threads)
        self.races: dict[tuple[int, int], GenericRace] = {}
        self.elsewhere: dict[tuple[int, int], GenericRace] = {}  # one of the two accesses is another block's
        self._spans: list[list[_Span]] = [[] for _ in range(self.count)]
        self._last = [0] * self.count  # by warp: the act of its last span
        self.recent = _Lines()  # what all of these spans access, and a few that are dropped
        self._dropped = 0  # of these
        self.loaded: dict[int, int] = {}  # by statement, in a block of one warp: the bytes, a bit for each
        self.stored = 0  # in such a block
        self.scattered = False  # some bytes were written of which it is not known where they lie
        self.misplaced: dict[int, Misplaced] = {}  # by statement
        self.located: set[int] = set()  # statements of which it is known where they access memory
        self.unplaced: dict[int, str] = {}  # those of which it is not, and where it comes from
        self._peers = PeerAccesses(self.warps) if maps else None
        self._untold: list[_Untold] = []
        self.untold: dict[tuple[int, int], GenericRace] = {}  # those of which an arrival does not tell

    def act(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterable[GroupWait]:
        """Do a statement in some threads of a group; what they wait for, if they do not go on at once."""
        if step.statement.does in _ACCESSES:
            self._access(group, step, threads)
        elif step.statement.does in PRODUCTS and self._products is not None:
            return self._products.act(step, threads)
        elif step.statement.does not in self.skips:
            if self._arrives(step.statement.operation):
                self._tell_alone(group, step, threads)
            self.within.order(group, step, threads)
            return super().act(group, step, threads)
        return ()

    @staticmethod
    def _arrives(operation: Operation) -> bool:
        """Whether threads arrive at an mbarrier, at once."""
        is_object = operation.action.barrier == "object"
        return operation.does == "arrive" and is_object and not operation.tells_later

    def _tell_alone(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Threads arrive at an mbarrier: of what do they not tell that others of their warps did?"""
        for warp, some in by_warp(threads).items():
            act = self.warps[warp].clock.seen[warp]
            untold = self.within.untold(warp, some, step.position, group.registers.steps)
            found = [_Untold(warp, act, lane, access) for lane, access in untold]
            if found:
                self._untold = [one for one in self._untold if not self._is_passed(one)] + found

    def _is_passed(self, one: _Untold) -> bool:
        """Whether all warps know of more than the arrival."""
        return all(warp.clock.seen[one.warp] > one.act for warp in self.warps)

    def _hold_untold(self, warp: int, access: GenericAccess) -> None:
        """Hold an access against those of other warps that its warp knows by an arrival that does not tell
        them.
        """
        seen = self.warps[warp].clock.seen
        for one in self._untold:
            does = {one.access.does, access.does}
            if one.warp == warp or seen[one.warp] != one.act or does <= READS:
                continue
            region = both_access(one.access, access) if one.access.conflicts(access) else None
            if region is not None:
                key, lanes = (one.access.statement, access.statement), (one.lane, None)
                race = GenericRace(*key, (one.warp, warp), region, True, access.placed, UNTOLD, lanes)
                self.untold.setdefault(key, race)

    def _access(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        statement = step.statement
        address, width = statement.address, statement.bytes
        if address is None or width is None:
            return
        remote, updates = group.registers.is_remote(address, statement.scope), statement.does == "update"
        if remote and updates:
            return
        if (remote or self.blocks > 1) and not updates:
            for some in by_warp(threads).values():
                self.sent.send(group, step, address, some)
        if remote and not group.registers.is_elsewhere(address, statement.scope, threads):
            return
        base = group.registers.base(address, statement.scope)
        if base is None:
            self.scattered |= statement.does == "store"
            self._locate(group, step, False)
            return
        doubtful = is_doubtful(group, step) or step.guard in group.registers.assumed
        placed = group.registers.is_placed(address, statement.scope)
        if not (remote or doubtful or placed):
            self._align(step, base, threads)
        allocates = statement.does == "allocate"
        strong = updates or statement.operation.is_strong
        does, at, rows = "store" if allocates else statement.does, step.position, statement.rows
        asks_data = self.clashes.data is not None and does == "store" and not allocates
        accesses = warp_accesses(
            at, does, base, threads, width, address.offset, rows, doubtful, placed, strong
        )
        self._locate(group, step, bool(accesses))
        for warp, some, _, access, places in accesses:
            if asks_data:
                access = access._replace(data=self.clashes.written_data(step, group.registers, some))
            if not (remote or allocates):  # the whole warp does that together
                self.within.access(warp, access, statement, places)
            if not remote:
                self.objects.hold(access)
                self._judge(warp, access)
            if self._peers is not None and not updates:
                before = self._peers.sent(warp, access) if remote else self._peers.own(warp, access)
                self._find_elsewhere(before, warp, access)

        alone = {} if remote else self.lone.known_to(threads, at, group.registers.steps)
        if alone and not is_together(statement.operation):
            for warp, some, _, access, _ in warp_accesses(
                at, does, base, tuple(alone), width, address.offset, rows, True, placed, strong
            ):
                self._hold_alone(warp, access, alone[some[0]])

    def _locate(self, group: ThreadGroup, step: WalkStep, is_known: bool) -> None:
        """Remember of an access whether it is known where it lies."""
        if is_known:
            self.located.add(step.position)
        elif step.position not in self.unplaced:
            self.unplaced[step.position] = why_not_known(
                group.registers, group.registers.steps.addressed(step)
            )

    def _align(self, step: WalkStep, base: int | LaneNumbers, threads: tuple[int, ...]) -> None:
        """Remember a thread whose access does not begin where it must."""
        statement, unit = step.statement, unit_of(step.statement)
        if unit is None or statement.address is None or step.position in self.misplaced:
            return
        found = misplaced(base, threads, statement.address.offset, unit, statement.rows)
        if found is not None:
            self.misplaced[step.position] = found

    def _judge(self, warp: int, access: GenericAccess) -> None:
        """Hold an access against those of other warps that its warp does not know of."""
        if self.count == 1:
            self.put_bytes(access)
            return
        seen, does = self.warps[warp].clock.seen, access.does
        is_store = does == "store"
        start, flags, lines = access.bytes
        (self.clashes.write if is_store else self.clashes.read)(access)
        if self._untold:
            self._hold_untold(warp, access)
        near = self.recent.rival_lines(does) | (self.recent.stored_lines if is_store else 0)
        for other, span in self._unseen(seen) if near & lines else ():
            if is_store and span.stored_lines & lines:
                self._hold_stores(other, span, warp, access)
            if not span.rival_lines(does) & lines:
                continue
            met = span.rivals(does) >> start & flags
            if met and does == "load":  # so it is of what the warp has stored itself
                met &= ~(self._known(warp) >> start) | span.updated >> start
            if met:
                self._found(other, span, warp, access, met << start)
        self._remember(warp, access)

    def _hold_alone(self, warp: int, access: GenericAccess, known: Clock) -> None:
        """Hold an access by lanes that know less than their warp against what only others of it know of."""
        seen, does = self.warps[warp].clock.seen, access.does
        start, flags, lines = access.bytes
        for other, span in self._unseen(known.seen):
            if span.act <= seen[other] and span.rival_lines(does) & lines:
                self._found(other, span, warp, access, (span.rivals(does) >> start & flags) << start)

    def _hold_stores(self, other: int, span: _Span, warp: int, access: GenericAccess) -> None:
        """Hold a store against those of another warp that its warp does not know of."""
        for before in span.accesses:
            if before.does == "store" and not (before.strong and access.strong) and before.meets(access):
                self.clashes.hold(other, before, warp, access)

    def _unseen(self, seen: Sequence[int]) -> Iterable[tuple[int, _Span]]:
        """What other warps access that a warp has not seen, by its clock; of each the latest first.
        Its own last span is one that it has seen.
        """
        return self._later(seen) if any(map(gt, self._last, seen)) else ()

    def _later(self, seen: Sequence[int]) -> Iterator[tuple[int, _Span]]:
        for other, act in enumerate(self._last):
            if act > seen[other]:
                for span in reversed(self._spans[other]):
                    if span.act <= seen[other]:
                        break
                    yield other, span

    def put_bytes(self, access: GenericAccess) -> None:
        """Remember which bytes the only warp loads, and which are written."""
        flags = access.bytes.flags << access.bytes.start
        if access.does == "load":
            self.loaded[access.statement] = self.loaded.get(access.statement, 0) | flags
        else:
            self.stored |= flags

    def _find_elsewhere(
        self, rivals: Iterable[tuple[int, GenericAccess]], warp: int, access: GenericAccess
    ) -> None:
        """Accesses by warps of other blocks, and one of this block's, that nothing orders."""
        for other, before in rivals:
            region = both_access(before, access)
            key = before.statement, access.statement
            if region is not None:
                placed, doubtful = before.placed or access.placed, before.doubtful or access.doubtful
                race = GenericRace(*key, (other, warp), region, doubtful, placed, "elsewhere")
                self.elsewhere.setdefault(key, race)

    def _known(self, warp: int) -> int:
        """The bytes that a warp has stored since all others knew of it."""
        stored = 0
        least = min(one.clock.seen[warp] for one in self.warps)
        for span in self._spans[warp]:
            stored |= span.stored if span.act > least else 0
        return stored

    def _remember(self, warp: int, access: GenericAccess) -> None:
        act, spans = self.warps[warp].clock.seen[warp], self._spans[warp]
        if not spans or spans[-1].act != act:
            least = min(one.clock.seen[warp] for one in self.warps)
            before = len(spans)
            spans[:] = [span for span in spans if span.act > least]
            self._dropped += before - len(spans)
            if self._dropped >= sum(map(len, self._spans)):
                self._forget_lines()
            spans.append(_Span(act=act))
            self._last[warp] = act
        spans[-1].add(access)
        self.recent.touch(access)

    def _forget_lines(self) -> None:
        """The lines of what every warp knows of are not looked at again."""
        self.recent, self._dropped = _Lines(), 0
        for spans in self._spans:
            for span in spans:
                self.recent.loaded_lines |= span.loaded_lines
                self.recent.stored_lines |= span.stored_lines
                self.recent.updated_lines |= span.updated_lines

    def _found(self, other: int, span: _Span, warp: int, access: GenericAccess, met: int) -> None:
        for before in span.accesses:
            both = before.bytes.flags << before.bytes.start & met
            if not both or not before.conflicts(access):
                continue
            key = before.statement, access.statement
            doubtful = before.doubtful or access.doubtful
            if key not in self.races or (self.races[key].doubtful and not doubtful):
                placed = before.placed or access.placed
                self.races[key] = GenericRace(*key, (other, warp), first_of(both), doubtful, placed)
