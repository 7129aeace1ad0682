"""Prove everything: send obligations to the solvers on all cores. A result is proven, refuted or unknown.

Questions of theorems that are `small` are asked many at once; where the answer is not what all of them
expect, each is asked by itself. A claim about finitely many things is tried one by one, without a solver;
where it holds, it is `enumerated`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field
from typing import Literal

from ..spec.specification import Specification
from ..spec.workers import pool_with
from .catalogue import GROUPS, SMALL, enumerations, obligations
from .smt.joint import ask_together, logic_of
from .smt.obligations import Obligation
from .smt.solvers import SolverAnswer, ask
from .theorem import Enumeration, TheoremGroup

__all__ = ["ENUMERATION", "ProofResult", "prove"]

ProofVerdict = Literal["proven", "refuted", "unknown", "enumerated"]
ENUMERATION = "enumeration"  # in place of a solver
_MOST = 8  # questions of a batch
_LONGEST = 60_000  # characters of a batch, if it has more than one question
_TOGETHER = 16  # questions that are asked at once


@dataclass(frozen=True)
class ProofResult:
    """One solver's answer to one obligation about one part of the specification; or what an enumeration
    found, which is not an answer of a solver.
    """

    part: str
    obligation: Obligation | Enumeration
    solver: str
    verdict: ProofVerdict
    seconds: float
    detail: str

    @property
    def holds(self) -> bool:
        """Whether the claim holds: it is proven, or every one of its cases was tried."""
        return self.verdict in ("proven", "enumerated")


@dataclass
class _Batch:
    """Texts that a worker asks about: together where all expect one answer and have one logic, or by
    themselves.
    """

    expects: Literal["unsat", "sat"] | None = None
    texts: list[str] = field(default_factory=list)
    length: int = 0

    def has_room_for(self, text: str) -> bool:
        """Whether another text can be put in."""
        if self.expects is not None:
            return len(self.texts) < _TOGETHER
        return len(self.texts) < _MOST and (not self.texts or self.length + len(text) <= _LONGEST)

    def add(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text)


def _answers(solver: str, batch: _Batch, milliseconds: int) -> list[tuple[SolverAnswer, float]]:
    """A solver's answer to each text, and the seconds that it took; this runs in a worker."""
    begun = time.perf_counter()
    found = None
    if batch.expects is not None and len(batch.texts) > 1:
        found = ask_together(solver, batch.texts, batch.expects, milliseconds)
    share = (time.perf_counter() - begun) / len(batch.texts)
    if found is not None:
        return [(answer, share) for answer in found]
    answers = []
    for text in batch.texts:
        begun = time.perf_counter()
        answer = ask(solver, text, milliseconds)
        answers.append((answer, share + time.perf_counter() - begun))
    return answers


def _judge(
    part: str, obligation: Obligation, solver: str, answer: SolverAnswer, seconds: float
) -> ProofResult:
    """The verdict that an answer means for an obligation."""
    if answer.status == "unknown":
        return ProofResult(part, obligation, solver, "unknown", seconds, answer.detail or "unknown")
    if answer.status == obligation.expects:
        found = obligation.witness(answer.model) if obligation.witness else ""
        return ProofResult(part, obligation, solver, "proven", seconds, found)
    return ProofResult(part, obligation, solver, "refuted", seconds, obligation.explain(answer.model))


def _tried(enumeration: Enumeration) -> tuple[tuple[str, ...], float]:
    """The faults that an enumeration finds, and the seconds that it took; this runs in a worker."""
    begun = time.perf_counter()
    faults = tuple(enumeration.faults())
    return faults, time.perf_counter() - begun


def _enumerated(enumeration: Enumeration, tried: Future[tuple[tuple[str, ...], float]]) -> ProofResult:
    """The verdict of an enumeration: the first fault is told, and how many there are."""
    try:
        faults, seconds = tried.result()
    except BrokenExecutor as error:
        return ProofResult(
            enumeration.part, enumeration, ENUMERATION, "unknown", 0.0, f"the worker died: {error}"
        )
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    verdict: ProofVerdict = "refuted" if faults else "enumerated"
    said = f"{faults[0]}{more}" if faults else ""
    return ProofResult(enumeration.part, enumeration, ENUMERATION, verdict, seconds, said)


@dataclass
class _Asked:
    """The questions that were sent, and the obligations that wait for each: equal texts are sent once."""

    executor: Executor
    solvers: Sequence[str]
    milliseconds: int
    sharing: dict[str, list[tuple[str, Obligation]]] = field(default_factory=dict)
    batches: dict[object, _Batch] = field(default_factory=dict)
    pending: dict[Future[list[tuple[SolverAnswer, float]]], tuple[str, _Batch]] = field(default_factory=dict)

    def add(self, part: str, obligation: Obligation) -> None:
        """Put a question into the batch, unless its text was asked before."""
        text = obligation.smt
        sharing = self.sharing.setdefault(text, [])
        sharing.append((part, obligation))
        if len(sharing) > 1:
            return
        expects = obligation.expects if obligation.theorem in SMALL else None
        kind = expects and (expects, logic_of(text))
        batch = self.batches.get(kind, _Batch(expects))
        if not batch.has_room_for(text):
            self._send(batch)
            batch = _Batch(expects)
        batch.add(text)
        self.batches[kind] = batch

    def send(self) -> None:
        """Send what is left."""
        for batch in self.batches.values():
            self._send(batch)
        self.batches.clear()

    def _send(self, batch: _Batch) -> None:
        """Send a batch to every solver."""
        for solver in self.solvers:
            self.pending[self.executor.submit(_answers, solver, batch, self.milliseconds)] = solver, batch

    def results(self) -> Iterator[ProofResult]:
        """Yield the solvers' results as they arrive."""
        while self.pending:
            done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
            for future in done:
                solver, batch = self.pending.pop(future)
                try:
                    answers = future.result()
                except CancelledError:  # all workers are gone: no answer is on its way
                    raise
                except Exception as error:
                    answers = [(SolverAnswer("unknown", {}, f"the solver died: {error}"), 0.0)] * len(
                        batch.texts
                    )
                for text, (answer, seconds) in zip(batch.texts, answers, strict=True):
                    for part, obligation in self.sharing[text]:
                        yield _judge(part, obligation, solver, answer, seconds)
                        seconds = 0.0  # one answer serves all obligations with the same text


def prove(
    specification: Specification,
    solvers: Sequence[str],
    wanted: Callable[[str, Obligation | Enumeration], bool] = lambda part, obligation: True,
    milliseconds: int = 20_000,
    concerning: Callable[[str], bool] = lambda part: True,
    groups: Sequence[TheoremGroup] = GROUPS,
) -> Iterator[ProofResult]:
    """The result of every wanted obligation by every solver, as the solvers answer.

    A text that several obligations share is asked once. Only parts of these `groups` that are `concerning`
    make obligations, and only wanted obligations make texts. Enumerations are tried beside the solvers. A
    worker that dies leaves its obligations `unknown`: only a solver's answer proves.
    """
    listed = [one for one in enumerations(specification, concerning, groups) if wanted(one.part, one)]
    with pool_with(listed, _tried) as (executor, tried):
        asked = _Asked(executor, solvers, milliseconds)
        # The last groups take the solvers longest, so they are asked first.
        for part, obligation in obligations(specification, concerning, groups[::-1]):
            if wanted(part, obligation):
                asked.add(part, obligation)
        asked.send()
        for enumeration, found in zip(listed, tried, strict=True):
            yield _enumerated(enumeration, found)
        yield from asked.results()
