"""Record and read solvers' answers by the hash of each question; verdicts are recomputed."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..formal.prove import ProofResult
from ..formal.smt.obligations import Obligation
from ..formal.smt.solvers import SOLVERS, solver_version
from .records import FOLDER, put, read

__all__ = ["ProofState", "SolverRecord", "answers_of", "load_answers", "write_answers"]

_FORMAT = 1
_OTHER = {"sat": "unsat", "unsat": "sat"}
ProofState = Literal["proven", "refuted", "unknown", "unrecorded"]


@dataclass(frozen=True)
class SolverRecord:
    """One solver's answers (sat, unsat or unknown) by theorem and by the hash of the SMT-LIB text.

    A text that was asked about together with others has the answer that the solver gave to all of them.
    """

    solver: str
    version: str
    date: str
    answers: Mapping[str, Mapping[str, str]]

    def verdict(self, obligation: Obligation) -> ProofState:
        """The verdict that follows from the answer to an obligation's text; the expected one is a proof."""
        answer = self.answers.get(obligation.theorem, {}).get(obligation.digest)
        if answer is None:
            return "unrecorded"
        if answer == obligation.expects:
            return "proven"
        return "refuted" if answer in _OTHER else "unknown"


def answers_of(results: Iterable[ProofResult]) -> tuple[SolverRecord, ...]:
    """The answers behind today's results, by solver."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for result in results:
        if not isinstance(result.obligation, Obligation):
            continue  # an enumeration, which is done again wherever it is asked about
        expects = result.obligation.expects
        answer = {"proven": expects, "refuted": _OTHER[expects]}.get(result.verdict, "unknown")
        of_theorem = found.setdefault(result.solver, {}).setdefault(result.obligation.theorem, {})
        of_theorem[result.obligation.digest] = answer
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return tuple(
        SolverRecord(solver, solver_version(solver), today, given) for solver, given in found.items()
    )


def write_answers(answers: SolverRecord, folder: Path = FOLDER) -> Path:
    """Write one solver's answers to their file: a line for each theorem and answer."""
    lines = []
    for theorem, given in sorted(answers.answers.items()):
        by_answer = {a: sorted(h for h, said in given.items() if said == a) for a in set(given.values())}
        listed = {answer: " ".join(by_answer[answer]) for answer in sorted(by_answer)}
        lines.append(f"  {json.dumps(theorem)}: {json.dumps(listed)}")
    head = json.dumps({"name": answers.solver, "version": answers.version})
    body = ",\n".join(lines)
    text = (
        f'{{\n "format": {_FORMAT},\n "tool": {head},\n "date": {json.dumps(answers.date)},\n'
        f' "answers": {{\n{body}\n }}\n}}\n'
    )
    return put(folder, f"solver-{answers.solver}", text)


def _answers(value: Any) -> SolverRecord:
    given = {
        theorem: {digest: answer for answer, digests in listed.items() for digest in digests.split()}
        for theorem, listed in value["answers"].items()
    }
    solver = value["tool"]["name"]
    if solver not in SOLVERS:
        raise ValueError(f"there is no solver {solver}")
    return SolverRecord(solver, value["tool"]["version"], value["date"], given)


def load_answers(folder: Path = FOLDER) -> tuple[SolverRecord, ...]:
    """Every solver's answers; raises Question for any other file."""
    found = read(folder, "solver-*.json", _FORMAT, _answers)
    return tuple(sorted(found, key=lambda one: list(SOLVERS).index(one.solver)))
