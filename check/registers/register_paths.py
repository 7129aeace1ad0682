"""Confirms a collision of registers by a path that can happen, or shows that there is none."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ...spec.lazy_dataclass import dataclass
from ..paths.path_question import PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..ptx.dataflow import Trail
from ..ptx.flow import Flow
from .register_dataflow import NOWHERE, Collision, Copy, RegisterAnalysis, RegisterFacts, Touched, Unfenced
from .register_events import AccessEvent, CallEvent, Event, FunctionEvents, MmaEvent
from .witness import Path, path_of

__all__ = ["Confirmed", "RegisterPaths"]

_Searched = tuple[RegisterFacts, bool]  # and whether a function was called that the file does not hold
_VISITS = 50_000  # of blocks, in all questions about a function; then no path is certain


@dataclass(frozen=True)
class Confirmed:
    """A collision with a path to it; `certain`: the path is known to be possible."""

    collision: Collision
    path: Path
    certain: bool


class RegisterPaths:
    """Searches paths through one function on which registers collide."""

    def __init__(self, flow: Flow, events: FunctionEvents, analysis: RegisterAnalysis) -> None:
        self.flow = flow
        self.code = events.code
        self.analysis = analysis
        self.events: dict[int, Event] = {event.statement: _sure(event) for event in events.all}
        self.values = PathValues(events.code)
        self._visits = 0
        self._slices: dict[tuple[int, bool], PathSlice] = {}
        self._known: dict[Hashable, Confirmed | None] = {}

    def confirm(self, collision: Collision) -> Confirmed | None:
        """The collision, or one like it in the same block, with a path; None if no path to it can happen."""
        key = *_kind(collision), self.flow.block_of(collision.statement)
        if key not in self._known:
            self._known[key] = self._search(collision)
        return self._known[key]

    def _search(self, collision: Collision) -> Confirmed | None:
        goal = self.flow.block_of(collision.statement)
        wanted = _kind(collision)
        sliced = self._slice(collision)
        filtered = {index: _about(self.events[index], collision) for index in sliced.events}

        def step(state: _Searched, index: int) -> _Searched | None:
            facts, called = state
            if isinstance(filtered[index], CallEvent):
                return facts, called or _is_active(facts, collision)
            changed = {key: dict(held) for key, held in facts.items()}
            found: list[object] | None = [] if self.flow.block_of(index) == goal else None
            self.analysis.step(changed, filtered[index], found)  # type: ignore[arg-type]
            hit = any(isinstance(one, Collision) and _kind(one) == wanted for one in found or ())
            return None if hit else (changed, called and _is_active(changed, collision))

        origin = collision.trail.origin
        question: PathQuestion[_Searched] = PathQuestion(
            start=(self.analysis.start(), False),
            step=step,
            key=_held,
            active=lambda state: _is_active(state[0], collision),
            doubtful=lambda state: state[1],
            near=0 if origin is None else self.flow.block_of(origin),
            goal=goal,
            rounds=min(self.analysis.depth, 8),
        )
        if self._visits > _VISITS:
            return Confirmed(collision, path_of(self.analysis, collision), False)
        search: PathSearch[_Searched] = PathSearch(self.code, self.flow, sliced, self.values)
        answer = search.find(question)
        self._visits += search.visits
        if answer.verdict == "infeasible":
            return None
        if answer.verdict == "unknown":
            return Confirmed(collision, path_of(self.analysis, collision), False)
        return self._replayed(collision, answer.statements)

    def _replayed(self, collision: Collision, statements: tuple[int, ...]) -> Confirmed:
        """The collision at the end of a path, and the path from its origin on."""
        facts = self.analysis.start()
        found: list[object] = []
        for position, index in enumerate(statements):
            found.clear()
            event = replace(_about(self.events[index], collision), statement=position)
            self.analysis.step(facts, event, found)  # type: ignore[arg-type]
        hit = next(one for one in found if isinstance(one, Collision) and _kind(one) == _kind(collision))
        origin = hit.trail.origin or 0
        path = Path(tuple(self.events[index] for index in statements[origin:]), ())
        trail: Trail | None = hit.trail
        start = (
            Trail(True, statements[origin])
            if trail is not None and trail.origin is not None
            else Trail(False, 0)
        )
        return Confirmed(replace(hit, statement=statements[-1], trail=start), path, True)

    def _slice(self, collision: Collision) -> PathSlice:
        """The slice for a class of registers, and for copies of it where these are asked about."""
        what, copies = collision.what, isinstance(collision.fact, Copy)
        key = what, copies
        if key not in self._slices:
            counted = [
                index
                for index, event in self.events.items()
                if not isinstance(event, AccessEvent)
                or what in event.reads
                or what in event.writes
                or (copies and (event.copies_read or event.copies_written))
            ]
            self._slices[key] = PathSlice(self.code, self.flow, counted)
        return self._slices[key]


def _kind(collision: Collision) -> tuple[Hashable, ...]:
    """What makes two collisions one question."""
    fact = collision.fact
    if isinstance(fact, Unfenced):
        return (Unfenced.__name__,)
    moved = isinstance(fact, Touched) and fact.how.startswith("moved")
    return (collision.what, type(fact).__name__, moved)


def _sure(event: Event) -> Event:
    """The event without its guard, which the path decides."""
    return replace(event, may=False) if event.may else event


def _about(event: Event, collision: Collision) -> Event:
    """The event as one class of registers sees it."""
    what = collision.what
    if isinstance(collision.fact, Unfenced):
        return event
    if isinstance(event, MmaEvent):
        return replace(
            event, d=tuple(c for c in event.d if c == what), a=tuple(c for c in event.a if c == what)
        )
    if isinstance(event, AccessEvent):
        return replace(
            event,
            reads=tuple(c for c in event.reads if c == what),
            writes=tuple(c for c in event.writes if c == what),
        )
    return event


def _is_active(facts: RegisterFacts, collision: Collision) -> bool:
    """Whether the path has come to the first access."""
    if isinstance(collision.fact, Unfenced):
        return bool(facts.get(NOWHERE))
    return any(type(fact) is type(collision.fact) for held in facts.values() for fact in held)


def _held(state: _Searched) -> Hashable:
    facts, called = state
    return called, frozenset((key, frozenset(held)) for key, held in facts.items() if held)
