"""The dataflow analysis of registers: which wgmmas may be pending, which accesses no fence has ordered yet.

Every fact is about one class of registers and changes independently of the others. So each fact at a
statement carries a path on which it holds: its origin, and the blocks entered since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...formal.ordering.mma_shape import MmaShape
from ...spec.lazy_dataclass import dataclass
from ..ptx.dataflow import Trail, join_facts, solve_forward
from ..ptx.flow import Flow
from .register_events import AccessEvent, CommitEvent, Event, Fence, FunctionEvents, MmaEvent, WaitEvent

__all__ = [
    "Collision",
    "Copy",
    "Done",
    "Fact",
    "InFlight",
    "Redundant",
    "RegisterAnalysis",
    "RegisterFacts",
    "Touched",
    "Unfenced",
]

NOWHERE, COPIES = -1, -2  # keys beside the classes: no fence yet; copies of accumulators
UNCOMMITTED = -1


@dataclass(frozen=True, slots=True)
class InFlight:
    """A wgmma uses the class in a role (D or A); `groups` were committed after its own."""

    role: str
    shape: MmaShape
    groups: int


@dataclass(frozen=True, slots=True)
class Done:
    """A wgmma that used the class is complete; no fence since."""

    role: str
    shape: MmaShape


@dataclass(frozen=True, slots=True)
class Touched:
    """An ordinary instruction read or wrote the class; no fence since.

    how: `write`, `read`; or `moved write`, `moved read`: by a move that could equally stand before the last
    fence, which ordered everything else.
    """

    how: str


@dataclass(frozen=True, slots=True)
class Unfenced:
    """No wgmma.fence since the function began."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A register holds a copy of a class, taken while the wgmma that computes it was pending.

    `apart`: another wgmma has accumulated into the class since, so that no assembler coalesces the copy.
    """

    register: str
    source: int
    groups: int
    apart: bool = False


Fact = InFlight | Done | Touched | Unfenced | Copy
RegisterFacts = dict[int, dict[Fact, Trail]]


@dataclass(frozen=True, slots=True)
class Collision:
    """A statement that must not execute under a fact: `what` is the class, `trail` leads to the fact."""

    fact: Fact
    what: int
    trail: Trail
    statement: int
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Redundant:
    """A fence or wait that changes nothing on any path."""

    statement: int
    what: str


class RegisterAnalysis:
    """Facts at the entry of every block, and the collisions."""

    def __init__(self, flow: Flow, events: FunctionEvents) -> None:
        self.flow = flow
        self.depth = max((e.n for e in events.all if isinstance(e, WaitEvent)), default=0)
        self.by_block: list[list[Event]] = flow.by_block(events.all)
        start: list[RegisterFacts] = [{} for _ in flow.blocks]
        if start:
            start[0] = self.start()
        self.entry = solve_forward(flow, start, self._leave, _join)

    @staticmethod
    def start() -> RegisterFacts:
        """The facts where a function begins."""
        return {NOWHERE: {Unfenced(): Trail(False, 0)}}

    def _leave(self, number: int, entry: RegisterFacts) -> RegisterFacts:
        """The facts behind a block."""
        facts = {key: dict(found) for key, found in entry.items()}
        for event in self.by_block[number]:
            self.step(facts, event, None)
        return facts

    def collisions(self) -> Iterator[Collision | Redundant]:
        """Every collision, block by block."""
        for number in sorted(self.flow.order):
            facts = {key: dict(found) for key, found in self.entry[number].items()}
            found: list[Collision | Redundant] = []
            for event in self.by_block[number]:
                self.step(facts, event, found)
            yield from found

    def step(self, facts: RegisterFacts, event: Event, found: list[Collision | Redundant] | None) -> None:
        """Change facts as an event does; add to `found` what collides there."""
        match event:
            case Fence():
                self._fence(facts, event, found)
            case CommitEvent():
                self._commit(facts, event)
            case WaitEvent():
                self._wait(facts, event, found)
            case MmaEvent():
                self._mma(facts, event, found)
            case AccessEvent():
                self._access(facts, event, found)

    def _fence(self, facts: RegisterFacts, event: Fence, found: list[Collision | Redundant] | None) -> None:
        useful = False
        for key in list(facts):
            if key == COPIES:
                continue
            kept: dict[Fact, Trail] = {f: trail for f, trail in facts[key].items() if isinstance(f, InFlight)}
            useful = useful or len(kept) < len(facts[key])
            if not event.may:
                facts[key] = kept
        if found is not None and not useful:
            found.append(Redundant(event.statement, "fence"))

    def _commit(self, facts: RegisterFacts, event: CommitEvent) -> None:
        for key, held in facts.items():
            changed: dict[Fact, Trail] = {}
            for fact, trail in held.items():
                later = self._later(fact)
                changed.setdefault(later, trail)
                if event.may:
                    changed.setdefault(fact, trail)
            facts[key] = changed

    def _later(self, fact: Fact) -> Fact:
        """The fact after one more commit; the count stops at the most groups that any wait leaves pending."""
        match fact:
            case InFlight():
                return InFlight(fact.role, fact.shape, min(fact.groups + 1, self.depth))
            case Copy():
                return replace(fact, groups=min(fact.groups + 1, self.depth))
        return fact

    def _wait(
        self, facts: RegisterFacts, event: WaitEvent, found: list[Collision | Redundant] | None
    ) -> None:
        useful = False
        for key, held in facts.items():
            changed: dict[Fact, Trail] = {}
            for fact, trail in held.items():
                covered = isinstance(fact, InFlight | Copy) and fact.groups >= event.n
                covered = covered and not (isinstance(fact, InFlight | Copy) and fact.groups == UNCOMMITTED)
                useful = useful or covered
                if not covered or event.may:
                    changed.setdefault(fact, trail)
                if covered and isinstance(fact, InFlight):
                    changed.setdefault(Done(fact.role, fact.shape), trail)
                if covered and isinstance(fact, Copy) and found is not None:
                    found.append(Collision(fact, fact.source, trail, event.statement))
            facts[key] = changed
        if found is not None and not useful:
            found.append(Redundant(event.statement, "wait"))

    def _mma(self, facts: RegisterFacts, event: MmaEvent, found: list[Collision | Redundant] | None) -> None:
        mine = event.statement
        unfenced = facts.get(NOWHERE)
        if unfenced:
            if found is not None:
                for fact, trail in unfenced.items():
                    for what in (*event.d, *event.a)[:1]:
                        found.append(Collision(fact, what, trail, mine))
            facts[NOWHERE] = {}
        for role, classes in (("D", event.d), ("A", event.a)):
            for what in classes:
                held = facts.setdefault(what, {})
                if found is not None:
                    for fact, trail in held.items():
                        if self._collides(fact, role, event.shape):
                            found.append(Collision(fact, what, trail, mine))
                changed: dict[Fact, Trail] = {
                    fact: trail for fact, trail in held.items() if not isinstance(fact, Touched)
                }
                changed.setdefault(InFlight(role, event.shape, UNCOMMITTED), Trail(True, mine))
                facts[what] = changed
        copies = facts.get(COPIES)
        if copies:
            for fact, trail in list(copies.items()):
                if isinstance(fact, Copy) and fact.source in event.d and not fact.apart:
                    del copies[fact]
                    copies.setdefault(replace(fact, apart=True), trail)

    @staticmethod
    def _collides(fact: Fact, role: str, shape: MmaShape) -> bool:
        match fact:
            case Touched():
                return role == "D" or fact.how.endswith("write")
            case InFlight():
                return (fact.role, role) != ("A", "A") and not (
                    fact.role == role == "D" and fact.shape == shape
                )
            case Done():
                return (fact.role, role) != ("A", "A") and not (
                    fact.role == role == "D" and fact.shape == shape
                )
        return False

    def _access(
        self, facts: RegisterFacts, event: AccessEvent, found: list[Collision | Redundant] | None
    ) -> None:
        self._copies(facts, event, found)
        for what in event.reads:
            held = facts.setdefault(what, {})
            deferred = False
            for fact, trail in held.items():
                if not isinstance(fact, InFlight):
                    continue
                if event.copies_made and fact.role == "D" and fact.groups != UNCOMMITTED:
                    for register in event.copies_made:
                        copy = Copy(register, what, fact.groups)
                        facts[COPIES].setdefault(copy, Trail(True, event.statement, trail))
                    deferred = True
                elif found is not None:
                    found.append(Collision(fact, what, trail, event.statement, event.unknown))
            if not deferred:
                self._touch(facts, what, "read", event)
        for what in event.writes:
            held = facts.setdefault(what, {})
            if found is not None:
                for fact, trail in held.items():
                    if isinstance(fact, InFlight):
                        found.append(Collision(fact, what, trail, event.statement, event.unknown))
            self._touch(facts, what, "write", event)

    @staticmethod
    def _touch(facts: RegisterFacts, what: int, how: str, event: AccessEvent) -> None:
        """Record an access that needs a fence; a move counts as part of the access before it."""
        held = facts[what]
        if not event.moved:
            held.setdefault(Touched(how), Trail(True, event.statement))
            return
        before = [
            trail
            for fact, trail in held.items()
            if isinstance(fact, Done) or (isinstance(fact, Touched) and fact.how in ("read", "write"))
        ]
        if before:
            held.setdefault(Touched(how), Trail(True, event.statement, before[0]))
        elif not facts.get(NOWHERE):
            held.setdefault(Touched(f"moved {how}"), Trail(True, event.statement))

    @staticmethod
    def _copies(facts: RegisterFacts, event: AccessEvent, found: list[Collision | Redundant] | None) -> None:
        """Follow copies taken from a pending wgmma: they are read, copied again, or overwritten."""
        copies = facts.setdefault(COPIES, {})
        if not copies or not (event.copies_read or event.copies_written):
            return
        made: dict[Fact, Trail] = {}
        for fact, trail in list(copies.items()):
            if not isinstance(fact, Copy):
                continue
            if fact.register in event.copies_read:
                if event.copies_made:
                    for register in event.copies_made:
                        made[replace(fact, register=register)] = Trail(True, event.statement, trail)
                    continue
                if found is not None:
                    found.append(Collision(fact, fact.source, trail, event.statement))
                del copies[fact]
            elif fact.register in event.copies_written and not event.may:
                del copies[fact]
        for fact, trail in made.items():
            copies.setdefault(fact, trail)


def _join(known: RegisterFacts, arriving: RegisterFacts, block: int) -> bool:
    """Add the facts that arrive at a block to those of its entry; whether there are more now."""
    grown = [join_facts(known.setdefault(key, {}), facts, block) for key, facts in arriving.items()]
    return any(grown)
