"""The theorem that the two ordering models agree, proved three ways under each reading: the work, in parts.

Joint states cover every length (closure.py); every program of at most so many steps is counted over them
(enumeration.py); z3 is asked for a program of at most so many steps (symbolic.py). Both models themselves
are run from every joint state (confirmation.py), and on every program of fewer steps. Settings on which no
value can depend leave all but the last as it is under another reading, which is named instead.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache
from multiprocessing import get_context

from ..spec.ordering import Readings, ordering
from .alphabet import Kind
from .closure import Closure, close
from .confirmation import confirm
from .enumeration import Level, Plane, Tally, cover, direct
from .obligations import Obligation
from .readings import conduct
from .solvers import ask
from .symbolic import ordering_obligations

__all__ = ["Bounds", "Proof", "Scope", "prove"]

_KINDS: tuple[Kind, ...] = ("register", "buffer")
_PATIENCE = 600_000  # milliseconds for z3
_PARTS = 8  # of the classes of joint states


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far each way goes: programs counted up to `steps`, both models run on each up to `direct` and from
    every `stride`th class of joint states, z3 asked about `length` (0: not asked)."""

    steps: int = 8
    direct: int = 3
    stride: int = 1
    length: int = 12


@dataclass(frozen=True, slots=True)
class Scope:
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
    scopes: dict[str, Scope] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    asked: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def prove(every: Mapping[str, Readings], bounds: Bounds, workers: int | None = None) -> Iterator[Proof]:
    """Look at every reading; its proof as soon as it and those before are done."""
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("fork")) as pool:
        seen: dict[_Chosen, str] = {}
        begun = []
        for name, readings in every.items():
            chosen = _items(ordering().bearing(readings))
            alike = seen.setdefault(chosen, name)
            begun.append(_Begun(pool, name, readings, bounds, None if alike == name else alike))
        for one in begun:
            yield one.proof()


_Chosen = tuple[tuple[str, str], ...]


def _items(readings: Readings) -> _Chosen:
    return tuple(sorted(readings.items()))


class _Begun:
    """The parts of one reading's proof, under way."""

    def __init__(
        self, pool: ProcessPoolExecutor, name: str, readings: Readings, bounds: Bounds, alike: str | None
    ) -> None:
        self.name, self.alike = name, alike
        chosen = _items(readings)
        self.asked: list[Future[tuple[str, str]]] = []
        self.confirmed: list[tuple[Kind, Future[tuple[int, list[str]]]]] = []
        self.counted: Future[tuple[dict[str, Scope], list[Level], list[str]]] | None = None
        if alike is None:
            self.counted = pool.submit(_count, chosen, bounds.steps)
            if bounds.length:
                subjects = len(list(ordering_obligations(name, readings, bounds.length)))
                self.asked = [
                    pool.submit(_ask, name, chosen, bounds.length, number) for number in range(subjects)
                ]
            for kind in _KINDS:
                for part in range(_PARTS):
                    places = (part * bounds.stride, _PARTS * bounds.stride)
                    self.confirmed.append((kind, pool.submit(_confirm, chosen, kind, *places)))
        self.ran = pool.submit(_run, chosen, bounds.direct)

    def proof(self) -> Proof:
        """Wait for all parts."""
        found = Proof(self.name, self.alike, tally=self.ran.result())
        found.faults += found.tally.faults
        if self.counted is not None:
            found.scopes, found.levels, faults = self.counted.result()
            found.faults += faults
        runs: Counter[str] = Counter()
        for kind, part in self.confirmed:
            number, faults = part.result()
            runs[kind] += number
            found.faults += faults
        found.scopes = {
            kind: Scope(scope.states, scope.levels, scope.tried, scope.hazards, runs[kind])
            for kind, scope in found.scopes.items()
        }
        found.asked = dict(part.result() for part in self.asked)
        found.faults += [f"{subject}: {said}" for subject, said in found.asked.items() if said != "unsat"]
        return found


@cache
def _closures(chosen: _Chosen) -> dict[Kind, Closure]:
    readings = dict(chosen)
    return {kind: close(kind, ordering().bearing(readings), conduct(readings)) for kind in _KINDS}


def _count(chosen: _Chosen, bound: int) -> tuple[dict[str, Scope], list[Level], list[str]]:
    closures = _closures(chosen)
    scopes: dict[str, Scope] = {}
    faults = []
    for kind, closure in closures.items():
        tried = len(closure.states) * len(closure.letters)
        scopes[kind] = Scope(len(closure.states), dict(closure.levels), tried, dict(closure.hazards))
        faults += closure.faults
    return scopes, list(cover(Plane(closures), bound)), faults


def _run(chosen: _Chosen, bound: int) -> Tally:
    return direct(Plane(_closures(chosen)), dict(chosen), bound)


def _confirm(chosen: _Chosen, kind: Kind, start: int, stride: int) -> tuple[int, list[str]]:
    return confirm(_closures(chosen)[kind], dict(chosen), slice(start, None, stride))


@lru_cache(maxsize=1)
def _obligations(name: str, chosen: _Chosen, length: int) -> tuple[Obligation, ...]:
    return tuple(ordering_obligations(name, ordering().bearing(dict(chosen)), length))


def _ask(name: str, chosen: _Chosen, length: int, number: int) -> tuple[str, str]:
    obligation = _obligations(name, chosen, length)[number]
    answer = ask("z3", obligation.smt, _PATIENCE)
    said = obligation.explain(answer.model) if answer.status == "sat" else answer.status
    return obligation.subject, said
