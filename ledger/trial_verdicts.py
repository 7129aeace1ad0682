"""What recorded trials say today of spec/arithmetic: sums compared, sums that differ, what is stale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..devices.trial import Trial
from ..devices.trial_list import trials_of
from ..gen.kernels.modules import code_of, modules
from ..spec.selection import select
from ..spec.specification import Specification
from .claims import cases_digest
from .trial_record import DeviceTrials, RecordedTrial, trial_digest

__all__ = ["TrialVerdict", "code_digest", "trial_verdicts"]


@dataclass(frozen=True)
class TrialVerdict:
    """One row of spec/arithmetic on one device: the trials of kernels and models as they are today.

    `stale` are mnemonics whose kernel or model has changed since their trial, `untried` those without one.
    """

    device: str
    model: str
    trials: tuple[RecordedTrial, ...]
    stale: tuple[str, ...]
    untried: tuple[str, ...]

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """All that the model is about."""
        return (*(trial.kernel for trial in self.trials), *self.stale, *self.untried)

    @property
    def total(self) -> int:
        """How many sums were compared."""
        return sum(trial.counts.total for trial in self.trials)

    @property
    def misses(self) -> int:
        """How many of them differed."""
        return sum(trial.counts.misses for trial in self.trials)


def code_digest(specification: Specification, trial: Trial, target: str) -> str:
    """The hash of a trial's raw kernel."""
    (module,) = modules([trial.kernel], specification, target)
    return cases_digest([code_of(module.entries[0])])


def trial_verdicts(specification: Specification, found: DeviceTrials) -> Iterator[TrialVerdict]:
    """The verdicts of one device, by row of spec/arithmetic."""
    target = found.device.target
    recorded = {trial.key: trial for trial in found.trials}
    by_model: dict[str, list[Trial]] = {}
    for invalid, words in ((False, ""), (True, ", invalid codes")):
        variants = select(specification, None, None, target)
        for trial in trials_of(specification, variants, target, None, invalid)[0]:
            by_model.setdefault(f"{trial.arithmetic.row.id}{words}", []).append(trial)
    for model, members in by_model.items():
        listed: list[RecordedTrial] = []
        stale, untried = [], []
        for trial in members:
            mnemonic = trial.kernel.variant.mnemonic
            one = recorded.get((mnemonic, trial.invalid is not None))
            if one is None:
                untried.append(mnemonic)
            elif (one.case, one.model) == (
                code_digest(specification, trial, target),
                trial_digest(trial),
            ):
                listed.append(one)
            else:
                stale.append(mnemonic)
        yield TrialVerdict(found.device.name, model, tuple(listed), tuple(stale), tuple(untried))
