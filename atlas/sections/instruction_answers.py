"""What solvers answered about each theorem, as recorded: how many questions, over all instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ...ledger.solver_record import SolverRecord
from ...spec.quantities import counted

__all__ = ["answered"]


def answered(records: Iterable[SolverRecord]) -> Mapping[str, list[str]]:
    """By theorem, a line for each solver: its version, its questions and what it answered to them."""
    found: dict[str, list[str]] = {}
    for record in records:
        for theorem, answers in record.answers.items():
            said = ", ".join(
                f"{count} {answer}" for answer, count in sorted(Counter(answers.values()).items())
            )
            line = f"{record.solver} {record.version}: {counted(len(answers), 'question')}, {said}"
            found.setdefault(theorem, []).append(line)
    return found
