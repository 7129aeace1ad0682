"""Recorded trials: how many sums of which kernels a device gave, and how many differed from its arithmetic.

A trial can be repeated: its inputs follow from the seed and the numbers of its tiles. It says nothing of a
kernel or of a model that has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..devices.trial import SumDifference, Trial, TrialCounts
from ..spec.chip_arithmetic import ChipArithmetic
from ..spec.expressions import source
from .claims import cases_digest
from .records import FOLDER, put, read
from .silicon_record import DeviceRecord

__all__ = ["DeviceTrials", "RecordedTrial", "load_trials", "model_digest", "trial_digest", "write_trials"]

_FORMAT = 1


@dataclass(frozen=True)
class RecordedTrial:
    """One kernel's trial: the hashes of its code and of the model, the tiles, the counts.

    The sums that differed are kept without their elements of A and B, which the seed gives again.
    """

    kernel: str
    row: str
    case: str
    model: str
    seed: int
    first: int
    tiles: int
    counts: TrialCounts
    invalid_codes: bool = False

    @property
    def key(self) -> tuple[str, bool]:
        """What a device has one trial of: a kernel, with valid metadata codes or with invalid ones."""
        return self.kernel, self.invalid_codes


@dataclass(frozen=True)
class DeviceTrials:
    """The trials of one device."""

    device: DeviceRecord
    trials: tuple[RecordedTrial, ...]


def model_digest(arithmetic: ChipArithmetic) -> str:
    """The hash of a variant's arithmetic: formulas, integers, blocks and types; not of words for readers."""
    lines = [str(sorted(arithmetic.types.items()))]
    for block in arithmetic.blocks:
        lines += [f"{key}={value}" for key, value in sorted(block.integers.items())]
        lines.append(f"{block.products} {block.addends} {block.types} {block.result}")
        for stage in block.model.stages:
            lines.append(f"{stage.each} {stage.reduce}")
            lines += [f"{name}: {source(formula.tree)}" for name, formula in stage.let.items()]
    return cases_digest(lines)


def trial_digest(trial: Trial) -> str:
    """The hash of what a trial is held against; where invalid codes are drawn, of what they do, too."""
    digest = model_digest(trial.arithmetic)
    if trial.invalid is None:
        return digest
    return cases_digest(
        [digest, *(f"{name}: {trial.tables[name].tolist()}" for name in ("columns", "metadata"))]
    )


def write_trials(
    device: DeviceRecord,
    trials: Sequence[RecordedTrial],
    folder: Path = FOLDER,
    kept: Iterable[RecordedTrial] = (),
) -> Path:
    """Write a device's trials to its file, one a line; those of `kept` that are not made again stay."""
    new = {trial.key for trial in trials}
    listed = sorted([*trials, *(t for t in kept if t.key not in new)], key=lambda trial: trial.key)
    lines = ",\n".join(json.dumps(_line(trial)) for trial in listed)
    slug = device.name.lower().replace("nvidia ", "").replace(" ", "-")
    text = f'{{"format": {_FORMAT},\n"device": {json.dumps(vars(device))},\n"trials": [\n{lines}\n]}}\n'
    return put(folder, f"trials-{slug}-{device.target}", text)


def load_trials(folder: Path = FOLDER) -> tuple[DeviceTrials, ...]:
    """The trials of every device; raises Question for a file that is none."""
    return tuple(read(folder, "trials-*.json", _FORMAT, _trials))


def _line(trial: RecordedTrial) -> dict[str, Any]:
    """A trial as the file has it."""
    counts = trial.counts
    own = {name: value for name, value in vars(trial).items() if name != "counts"}
    differences = [(d.tile, d.row, d.column, d.c, d.got, d.expected) for d in counts.differences]
    return {
        **own,
        "compared": counts.compared,
        "different": counts.different,
        "differences": differences,
    }


def _trial(
    *,
    compared: dict[str, int],
    different: dict[str, int],
    differences: Sequence[tuple[int, int, int, int, int, int]],
    **own: Any,
) -> RecordedTrial:
    """A trial from its line."""
    kept = tuple(SumDifference(*one) for one in differences)
    return RecordedTrial(**own, counts=TrialCounts(compared, different, kept))


def _trials(value: Any) -> DeviceTrials:
    return DeviceTrials(DeviceRecord(**value["device"]), tuple(_trial(**one) for one in value["trials"]))
