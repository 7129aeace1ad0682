"""Tables of recorded trials: by device and model, how many sums were compared and how many differed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..ledger.trial_record import load_trials
from ..ledger.trial_verdicts import TrialVerdict, trial_verdicts
from ..spec.specification import Specification

__all__ = ["print_trials", "trials_shown"]


def trials_shown(specification: Specification, pattern: str | None) -> list[TrialVerdict]:
    """The verdicts of every device, of models that a mnemonic with the pattern has."""
    return [
        verdict
        for found in load_trials()
        for verdict in trial_verdicts(specification, found)
        if not pattern or any(pattern in mnemonic for mnemonic in verdict.mnemonics)
    ]


def print_trials(console: Any, verdicts: Sequence[TrialVerdict]) -> None:
    """A table for each device."""
    from rich.table import Table

    for device, members in groupby(verdicts, key=lambda verdict: verdict.device):
        table = Table(
            "model",
            "kernels",
            "sums",
            "differ",
            "stale",
            "not tried",
            title=f"{device}: trials of spec/arithmetic",
        )
        for verdict in members:
            numbers = (
                len(verdict.trials),
                verdict.total,
                verdict.misses,
                len(verdict.stale),
                len(verdict.untried),
            )
            table.add_row(verdict.model, *(f"{number:,}" for number in numbers))
        console.print(table)
