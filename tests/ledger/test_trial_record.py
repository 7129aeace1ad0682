"""A recorded trial counts for the kernel and the model that it was of, and for no others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.devices.trial import SumDifference, TrialCounts
from ptxmma.devices.trial_list import trials_of
from ptxmma.ledger.silicon_record import DeviceRecord
from ptxmma.ledger.trial_record import DeviceTrials, RecordedTrial, load_trials, model_digest, write_trials
from ptxmma.ledger.trial_verdicts import code_digest, trial_verdicts
from ptxmma.spec.errors import Question
from ptxmma.spec.selection import select
from ptxmma.spec.specification import Specification

TARGET = "sm_90a"
DEVICE = DeviceRecord("NVIDIA X1", TARGET, "1.2.3, CUDA 13.0", "", "2026-01-01")


@pytest.fixture(scope="module")
def recorded(specification: Specification) -> RecordedTrial:
    chosen = select(specification, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", None, TARGET)
    ((trial,), _) = trials_of(specification, chosen, TARGET, None)
    variant = trial.kernel.variant
    case, model = code_digest(specification, trial, TARGET), model_digest(trial.arithmetic)
    return RecordedTrial(
        variant.mnemonic,
        variant.row.id,
        case,
        model,
        5,
        0,
        10,
        TrialCounts({"any": 1280}, {"any": 1}, (SumDifference(3, 0, 1, 2, 4, 5),)),
    )


def test_a_record_is_read_as_written(recorded: RecordedTrial, tmp_path: Path) -> None:
    path = write_trials(DEVICE, [recorded], tmp_path)
    assert path.name == "trials-x1-sm_90a.json"
    assert load_trials(tmp_path) == (DeviceTrials(DEVICE, (recorded,)),)
    other = replace(recorded, kernel="another", seed=6)
    write_trials(DEVICE, [other], tmp_path, kept=[recorded, replace(other, seed=1)])
    assert load_trials(tmp_path)[0].trials == (other, recorded)
    path.write_text(json.dumps({"format": 1, "device": {}, "trials": []}))
    with pytest.raises(Question, match="is not a record of observations"):
        load_trials(tmp_path)


def test_verdicts_are_of_today(specification: Specification, recorded: RecordedTrial) -> None:
    def verdict(trial: RecordedTrial) -> tuple[int, int, int]:
        (one,) = (
            v
            for v in trial_verdicts(specification, DeviceTrials(DEVICE, (trial,)))
            if trial.kernel in v.mnemonics
        )
        return one.total, one.misses, len(one.stale)

    assert verdict(recorded) == (1280, 1, 0)
    assert verdict(replace(recorded, model="0" * 16)) == (0, 0, 1)
    assert verdict(replace(recorded, case="0" * 16)) == (0, 0, 1)


def test_a_model_is_known_by_what_it_computes(specification: Specification, recorded: RecordedTrial) -> None:
    ((trial,), _) = trials_of(
        specification, select(specification, recorded.kernel, None, TARGET), TARGET, None
    )
    arithmetic = trial.arithmetic
    (block,) = arithmetic.blocks
    name = next(iter(block.integers))
    other = replace(block, integers={**block.integers, name: block.integers[name] + 1})
    assert model_digest(replace(arithmetic, blocks=(other,))) != recorded.model
    assert model_digest(replace(arithmetic, row=replace(arithmetic.row, id="another"))) == recorded.model


def test_both_chips_gave_a_billion_sums_of_each_kernel() -> None:
    """And none differed from the model as it was then; `ptxmma evidence --arithmetic` says what is stale."""
    h100, h200 = load_trials()
    assert (h100.device.name, h200.device.name) == ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
    for found in (h100, h200):
        assert [one.invalid_codes for one in found.trials].count(True) == 108
        assert len(found.trials) == 377 + 108
        assert all(one.counts.total >= 10**9 and one.counts.misses == 0 for one in found.trials)
        assert all(min(one.counts.compared.values()) >= 10**8 for one in found.trials)
    assert [trial.key for trial in h100.trials] == [trial.key for trial in h200.trials]
