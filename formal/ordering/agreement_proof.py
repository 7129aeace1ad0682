"""The theorem that the two models agree, proven in three ways under each reading of the text.

- Joint states cover programs of every length (`states/closure.py`). Both models are run from every class of
  joint states (`states/confirmation.py`).
- Every program of at most so many steps is counted over joint states, and both models are run on every
  program of fewer steps (`states/enumeration.py`).
- z3 is asked for a program of at most so many steps that tells the models apart (`symbolic/`).

Work that no setting of a reading can change is done once, for the first reading that needs it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from ...spec.ordering import Readings, ordering
from ...spec.workers import pool
from ..smt.obligations import Obligation
from ..smt.solvers import ask
from .alphabet import LocationKind
from .machine_answers import MachineAnswers
from .programs import Program, Step
from .states.closure import Closure, close
from .states.confirmation import confirm, representatives
from .states.enumeration import AllLocations, ModelTally, ProgramCount, count_programs, run_programs
from .symbolic.induction import staged_obligations
from .symbolic.questions import memory_readings, ordering_obligations

__all__ = ["LocationProof", "ProofBounds", "ReadingProof", "prove_agreement"]

_KINDS: tuple[LocationKind, ...] = ("register", "buffer")
_PATIENCE = 1_200_000  # milliseconds for z3
_PARTS = 8  # of what the machine is run on: jobs for workers


@dataclass(frozen=True, slots=True)
class ProofBounds:
    """How far each way goes.

    `steps`: programs of so many steps are counted. `direct`: both models are run on every program of so many
    steps. `stride`: they are run from every so-manieth class of joint states. `length`: z3 is asked about
    programs of so many steps (0: it is not asked).
    """

    steps: int = 8
    direct: int = 3
    stride: int = 1
    length: int = 12


@dataclass(frozen=True, slots=True)
class LocationProof:
    """The joint states of one kind of location, and what was tried in them.

    `states` in all, and by length of the shortest program that leads to them (`levels`); `tried` pairs of
    state and next step; `hazards` that these close, by rule; `confirmed` programs that both models were run
    on.
    """

    states: int
    levels: Mapping[int, int]
    tried: int
    hazards: Mapping[str, int]
    confirmed: int = 0


@dataclass
class ReadingProof:
    """What was looked at under one reading, and the `faults` that were found, in words.

    `same_values_as`: an earlier reading under which no value can differ from this one. `answers`: of z3, by
    question.
    """

    reading: str
    same_values_as: str | None = None
    locations: dict[LocationKind, LocationProof] = field(default_factory=dict)
    counts: list[ProgramCount] = field(default_factory=list)
    tally: ModelTally = field(default_factory=ModelTally)
    answers: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def prove_agreement(
    every: Mapping[str, Readings], bounds: ProofBounds, workers: int | None = None
) -> Iterator[ReadingProof]:
    """Look at every reading; yields each proof as soon as it and those before it are done."""
    for readings in every.values():
        settings = _settings(readings)  # workers that are forked begin with these caches
        _locations(settings)
        for kind in _KINDS:
            _representatives(kind, _bearing(settings, kind))
    with pool(workers) as executor:
        jobs = _SentJobs(executor, bounds, every)
        for one in [jobs.begin(name) for name in every]:
            yield one.proof()


_Settings = tuple[tuple[str, str], ...]  # readings that can be a key
_Locations = dict[LocationKind, LocationProof]
_Count = Future[tuple[_Locations, list[ProgramCount], list[str]]]  # by all that bears on the locations
_Tallies = Future[list[ModelTally]]  # by reading
_Confirmations = Future[list[tuple[int, list[str]]]]  # by readings that bear on a kind of location
_Answer = Future[tuple[str, str]]


def _settings(readings: Readings) -> _Settings:
    return tuple(sorted(readings.items()))


def _bearing(settings: _Settings, kind: LocationKind) -> _Settings:
    """The settings that can change what happens to a kind of location."""
    return _settings(ordering().bearing(dict(settings), registers=kind == "register"))


@dataclass
class _PendingProof:
    """The proof of one reading, under way; `at` is its place in the results of a part that is for several."""

    reading: str
    same_values_as: str | None
    counted: _Count
    tallies: tuple[int, list[_Tallies]]
    confirmations: dict[LocationKind, tuple[int, list[_Confirmations]]]
    answers: list[_Answer]

    def proof(self) -> ReadingProof:
        """Wait for all parts."""
        found = ReadingProof(self.reading, self.same_values_as)
        at, parts = self.tallies
        for part in parts:
            found.tally.add(part.result()[at])
        locations, found.counts, faults = self.counted.result()
        found.faults += found.tally.faults + faults
        for kind, location in locations.items():
            at, confirmed = self.confirmations[kind]
            runs = [part.result()[at] for part in confirmed]
            found.locations[kind] = replace(location, confirmed=sum(number for number, _ in runs))
            found.faults += [fault for _, faults in runs for fault in faults]
        found.answers = dict(part.result() for part in self.answers)
        found.faults += [f"{title}: {said}" for title, said in found.answers.items() if said != "unsat"]
        return found


class _SentJobs:
    """The jobs that were sent to workers; a job is sent once for all readings that it cannot tell apart.

    A job that runs the machine is for all readings together: they share the machine's answers.
    """

    def __init__(self, executor: Executor, bounds: ProofBounds, every: Mapping[str, Readings]) -> None:
        self.executor = executor
        self.bounds = bounds
        self.every = {name: _settings(readings) for name, readings in every.items()}
        self.first_readings: dict[_Settings, str] = {}
        self.counts: dict[tuple[_Settings, ...], _Count] = {}
        self.answers: dict[tuple[LocationKind, _Settings], list[_Answer]] = {}
        readings = tuple(self.every.values())
        self.told_apart = {kind: self._told_apart(kind) for kind in _KINDS}
        self.tallies = [executor.submit(_run, readings, bounds.direct, part) for part in range(_PARTS)]
        self.confirmations = {
            kind: [executor.submit(_confirm, known, kind, part, bounds.stride) for part in range(_PARTS)]
            for kind, known in ((kind, tuple(one.values())) for kind, one in self.told_apart.items())
        }

    def _told_apart(self, kind: LocationKind) -> Mapping[_Settings, _Settings]:
        """The first reading that bears on a kind of location in each way."""
        found: dict[_Settings, _Settings] = {}
        for settings in self.every.values():
            found.setdefault(_bearing(settings, kind), settings)
        return found

    def begin(self, name: str) -> _PendingProof:
        """Send the jobs of one reading that were not sent before."""
        settings = self.every[name]
        bearing = {kind: _bearing(settings, kind) for kind in _KINDS}
        first = self.first_readings.setdefault(bearing["register"], name)
        alike = tuple(bearing.values())
        if alike not in self.counts:
            self.counts[alike] = self.executor.submit(_count, settings, self.bounds.steps)
        answers: list[_Answer] = []
        for kind in _KINDS:
            asked = bearing[kind] if kind == "register" else _settings(memory_readings(dict(settings)))
            if (kind, asked) not in self.answers:
                self.answers[kind, asked] = self._ask(name, kind, settings)
            answers += self.answers[kind, asked]
        return _PendingProof(
            name,
            None if first == name else first,
            self.counts[alike],
            (list(self.every).index(name), self.tallies),
            {
                kind: (list(self.told_apart[kind]).index(one), self.confirmations[kind])
                for kind, one in bearing.items()
            },
            answers,
        )

    def _ask(self, name: str, kind: LocationKind, settings: _Settings) -> list[_Answer]:
        if not self.bounds.length:
            return []
        questions = name, kind, settings, self.bounds.length
        count = len(_obligations(*questions))
        return [self.executor.submit(_ask, *questions, number) for number in range(count)]


@cache
def _closure(kind: LocationKind, bearing: _Settings) -> Closure:
    return close(kind, dict(bearing))


@cache
def _representatives(kind: LocationKind, bearing: _Settings) -> list[tuple[Step, ...]]:
    return representatives(_closure(kind, bearing))


def _closures(settings: _Settings) -> dict[LocationKind, Closure]:
    return {kind: _closure(kind, _bearing(settings, kind)) for kind in _KINDS}


def _locations(settings: _Settings) -> AllLocations:
    return _locations_of(tuple((kind, _bearing(settings, kind)) for kind in _KINDS))


@cache
def _locations_of(bearing: tuple[tuple[LocationKind, _Settings], ...]) -> AllLocations:
    return AllLocations({kind: _closure(kind, settings) for kind, settings in bearing})


def _count(settings: _Settings, bound: int) -> tuple[_Locations, list[ProgramCount], list[str]]:
    closures = _closures(settings)
    locations: _Locations = {}
    faults = []
    for kind, closure in closures.items():
        tried = len(closure.states) * len(closure.letters)
        levels, hazards = dict(closure.levels), dict(closure.hazards)
        locations[kind] = LocationProof(len(closure.states), levels, tried, hazards)
        faults += closure.faults
    return locations, list(count_programs(_locations(settings), bound)), faults


def _run(every: tuple[_Settings, ...], bound: int, part: int) -> list[ModelTally]:
    answers, firsts = MachineAnswers(), slice(part, None, _PARTS)
    return [run_programs(_locations(one), dict(one), bound, answers, firsts) for one in every]


def _confirm(
    every: tuple[_Settings, ...], kind: LocationKind, part: int, stride: int
) -> list[tuple[int, list[str]]]:
    answers, found = MachineAnswers(), []
    for one in every:
        bearing = _bearing(one, kind)
        chosen = [steps for steps in _representatives(kind, bearing) if _part(steps, stride) == part]
        found.append(confirm(_closure(kind, bearing), dict(one), chosen, answers))
    return found


def _part(steps: tuple[Step, ...], stride: int) -> int | None:
    """The part that runs the machine on a program, the same under every reading; None: it is passed over."""
    taken, left = divmod(zlib.crc32(str(Program(steps)).encode()), stride)
    return None if left else taken % _PARTS


@lru_cache(maxsize=1)
def _obligations(name: str, kind: LocationKind, settings: _Settings, length: int) -> tuple[Obligation, ...]:
    """What z3 is asked; what takes longest comes first."""
    if kind == "register":
        return tuple(ordering_obligations(name, dict(settings), length, ("registers",)))
    return tuple(reversed(list(staged_obligations(name, dict(settings), length))))


def _ask(name: str, kind: LocationKind, settings: _Settings, length: int, number: int) -> tuple[str, str]:
    obligation = _obligations(name, kind, settings, length)[number]
    answer = ask("z3", obligation.smt, _PATIENCE)
    said = obligation.explain(answer.model) if answer.status == "sat" else answer.status
    return obligation.subject, said
