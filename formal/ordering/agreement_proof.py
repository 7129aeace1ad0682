"""The theorem that the two ordering models agree, proved three ways under each reading: the work, in parts.

Joint states cover every length (closure.py); every program of at most so many steps is counted over them
(enumeration.py); z3 is asked for a program of at most so many steps (symbolic.py, in stages: induction.py).
Both models themselves are run from every joint state (confirmation.py), and on every program of fewer steps.
What no setting of a reading can change is looked at once, under the first reading that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from ...spec.ordering import Readings, ordering
from ...spec.workers import pool
from ..smt.obligations import Obligation
from ..smt.solvers import ask
from .alphabet import LocationKind
from .closure import Closure, close
from .confirmation import confirm
from .enumeration import Level, ModelTally, Plane, cover, direct
from .symbolic.induction import staged_obligations
from .symbolic.questions import memory_readings, ordering_obligations

__all__ = ["LocationStates", "Proof", "ProofBounds", "prove"]

_KINDS: tuple[LocationKind, ...] = ("register", "buffer")
_PATIENCE = 1_200_000  # milliseconds for z3
_PARTS = 8  # of the classes of joint states


@dataclass(frozen=True, slots=True)
class ProofBounds:
    """How far each way goes: programs counted up to `steps`, both models run on each up to `direct` and from
    every `stride`th class of joint states, z3 asked about `length` (0: not asked)."""

    steps: int = 8
    direct: int = 3
    stride: int = 1
    length: int = 12


@dataclass(frozen=True, slots=True)
class LocationStates:
    """The joint states of one location: how many, by length of the shortest program; next steps tried in
    them, hazards closed by these, by rule; programs that both models were run on."""

    states: int
    levels: Mapping[int, int]
    tried: int
    hazards: Mapping[str, int]
    confirmed: int = 0


@dataclass
class Proof:
    """What was looked at under one reading; `alike`: the reading that it cannot differ from in any value."""

    reading: str
    alike: str | None = None
    scopes: dict[LocationKind, LocationStates] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    tally: ModelTally = field(default_factory=ModelTally)
    asked: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def prove(every: Mapping[str, Readings], bounds: ProofBounds, workers: int | None = None) -> Iterator[Proof]:
    """Look at every reading; its proof as soon as it and those before are done."""
    with pool(workers) as executor:
        work = _Progress(executor, bounds)
        begun = [work.begin(name, readings) for name, readings in every.items()]
        for one in begun:
            yield one.proof()


_Chosen = tuple[tuple[str, str], ...]
_Confirmed = Future[tuple[int, list[str]]]
_Asked = Future[tuple[str, str]]


def _items(readings: Readings) -> _Chosen:
    return tuple(sorted(readings.items()))


def _bearing(readings: Readings, kind: LocationKind) -> _Chosen:
    return _items(ordering().bearing(readings, registers=kind == "register"))


@dataclass
class _Begun:
    """One reading's proof, under way."""

    reading: str
    alike: str | None
    counted: Future[tuple[dict[LocationKind, LocationStates], list[Level], list[str]]]
    ran: Future[ModelTally]
    confirmed: dict[LocationKind, list[_Confirmed]]
    asked: list[_Asked]

    def proof(self) -> Proof:
        """Wait for all parts."""
        found = Proof(self.reading, self.alike, tally=self.ran.result())
        scopes, found.levels, faults = self.counted.result()
        found.faults += found.tally.faults + faults
        for kind, scope in scopes.items():
            runs = [part.result() for part in self.confirmed[kind]]
            found.scopes[kind] = replace(scope, confirmed=sum(number for number, _ in runs))
            found.faults += [fault for _, faults in runs for fault in faults]
        found.asked = dict(part.result() for part in self.asked)
        found.faults += [f"{subject}: {said}" for subject, said in found.asked.items() if said != "unsat"]
        return found


class _Progress:
    """What has been begun; settings that nothing of a part depends on do not make it begin twice."""

    def __init__(self, pool: Executor, bounds: ProofBounds) -> None:
        self.pool = pool
        self.bounds = bounds
        self.named: dict[_Chosen, str] = {}
        self.confirmed: dict[tuple[LocationKind, _Chosen], list[_Confirmed]] = {}
        self.asked: dict[tuple[LocationKind, _Chosen], list[_Asked]] = {}

    def begin(self, name: str, readings: Readings) -> _Begun:
        """Begin what is new under one reading."""
        alike = self.named.setdefault(_bearing(readings, "register"), name)
        confirmed: dict[LocationKind, list[_Confirmed]] = {}
        asked: list[_Asked] = []
        counted = self.pool.submit(_count, _items(readings), self.bounds.steps)
        ran = self.pool.submit(_run, _items(readings), self.bounds.direct)
        for kind in _KINDS:
            key = kind, _bearing(readings, kind)
            if key not in self.confirmed:
                self.confirmed[key] = self._confirm(kind, readings)
            confirmed[kind] = self.confirmed[key]
            question = kind, key[1] if kind == "register" else _items(memory_readings(readings))
            if question not in self.asked:
                self.asked[question] = self._ask(name, kind, readings)
            asked += self.asked[question]
        return _Begun(name, None if alike == name else alike, counted, ran, confirmed, asked)

    def _confirm(self, kind: LocationKind, readings: Readings) -> list[_Confirmed]:
        stride = self.bounds.stride
        places = [(part * stride, _PARTS * stride) for part in range(_PARTS)]
        return [self.pool.submit(_confirm, _items(readings), kind, *place) for place in places]

    def _ask(self, name: str, kind: LocationKind, readings: Readings) -> list[_Asked]:
        if not self.bounds.length:
            return []
        asked = name, kind, _items(readings), self.bounds.length
        return [self.pool.submit(_ask, *asked, number) for number in range(len(_obligations(*asked)))]


@cache
def _closures(chosen: _Chosen) -> dict[LocationKind, Closure]:
    return {kind: close(kind, dict(_bearing(dict(chosen), kind))) for kind in _KINDS}


def _count(chosen: _Chosen, bound: int) -> tuple[dict[LocationKind, LocationStates], list[Level], list[str]]:
    closures = _closures(chosen)
    scopes: dict[LocationKind, LocationStates] = {}
    faults = []
    for kind, closure in closures.items():
        tried = len(closure.states) * len(closure.letters)
        scopes[kind] = LocationStates(len(closure.states), dict(closure.levels), tried, dict(closure.hazards))
        faults += closure.faults
    return scopes, list(cover(Plane(closures), bound)), faults


def _run(chosen: _Chosen, bound: int) -> ModelTally:
    return direct(Plane(_closures(chosen)), dict(chosen), bound)


def _confirm(chosen: _Chosen, kind: LocationKind, start: int, stride: int) -> tuple[int, list[str]]:
    return confirm(_closures(chosen)[kind], dict(chosen), slice(start, None, stride))


@lru_cache(maxsize=1)
def _obligations(name: str, kind: LocationKind, chosen: _Chosen, length: int) -> tuple[Obligation, ...]:
    """What z3 is asked; what takes longest comes first."""
    if kind == "register":
        return tuple(ordering_obligations(name, dict(chosen), length, ("registers",)))
    return tuple(reversed(list(staged_obligations(name, dict(chosen), length))))


def _ask(name: str, kind: LocationKind, chosen: _Chosen, length: int, number: int) -> tuple[str, str]:
    obligation = _obligations(name, kind, chosen, length)[number]
    answer = ask("z3", obligation.smt, _PATIENCE)
    said = obligation.explain(answer.model) if answer.status == "sat" else answer.status
    return obligation.subject, said
