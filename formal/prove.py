"""Prove everything: obligations to solvers on all cores, three-valued results, nothing assumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Literal

from ..spec.specification import Specification
from ..spec.workers import pool
from .catalogue import obligations
from .smt.obligations import Obligation
from .smt.solvers import SolverAnswer, ask

__all__ = ["ProofResult", "prove"]

ProofVerdict = Literal["proven", "refuted", "unknown"]
_BATCH = 24


@dataclass(frozen=True)
class ProofResult:
    """One solver's answer to one obligation about one part of the specification."""

    part: str
    obligation: Obligation
    solver: str
    verdict: ProofVerdict
    seconds: float
    detail: str


def _batch(solver: str, texts: Sequence[str], milliseconds: int) -> list[tuple[SolverAnswer, float]]:
    answers = []
    for text in texts:
        begun = time.perf_counter()
        answer = ask(solver, text, milliseconds)
        answers.append((answer, time.perf_counter() - begun))
    return answers


def _judge(
    part: str, obligation: Obligation, solver: str, answer: SolverAnswer, seconds: float
) -> ProofResult:
    if answer.status == "unknown":
        return ProofResult(part, obligation, solver, "unknown", seconds, answer.detail or "unknown")
    if answer.status == obligation.expects:
        found = obligation.witness(answer.model) if obligation.witness else ""
        return ProofResult(part, obligation, solver, "proven", seconds, found)
    return ProofResult(part, obligation, solver, "refuted", seconds, obligation.explain(answer.model))


def prove(
    specification: Specification,
    solvers: Sequence[str],
    wanted: Callable[[str, Obligation], bool] = lambda part, obligation: True,
    milliseconds: int = 20_000,
    workers: int | None = None,
    concerning: Callable[[str], bool] = lambda part: True,
) -> Iterator[ProofResult]:
    """The result of every wanted obligation by every solver, as they come in; the same text is asked once.
    Of parts that are not `concerning` no obligation is made at all.

    A worker that dies makes its obligations `unknown`; nothing is ever counted as proven that a
    solver did not answer.
    """
    with pool(workers) as executor:
        pending: dict[Future[list[tuple[SolverAnswer, float]]], tuple[str, list[str]]]
        pending = {}
        asked: dict[str, list[tuple[str, Obligation]]] = {}
        batch: list[str] = []

        def send() -> None:
            for solver in solvers:
                future = executor.submit(_batch, solver, list(batch), milliseconds)
                pending[future] = solver, list(batch)
            batch.clear()

        for part, obligation in obligations(specification, concerning):
            if wanted(part, obligation):
                sharing = asked.setdefault(obligation.smt, [])
                sharing.append((part, obligation))
                if len(sharing) == 1:
                    batch.append(obligation.smt)
                if len(batch) == _BATCH:
                    send()
        if batch:
            send()
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                solver, texts = pending.pop(future)
                try:
                    answers = future.result()
                except Exception as error:
                    answers = [(SolverAnswer("unknown", {}, f"the solver died: {error}"), 0.0)] * len(texts)
                for text, (answer, seconds) in zip(texts, answers, strict=True):
                    for part, obligation in asked[text]:
                        yield _judge(part, obligation, solver, answer, seconds)
                        seconds = 0.0  # one answer serves all that ask the same
