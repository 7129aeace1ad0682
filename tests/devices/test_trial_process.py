"""A trial that hangs, or ends its process, is told so, and the next one has a process again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ptxmma.devices.gpu import DeviceFault
from ptxmma.devices.trial import TrialCounts
from ptxmma.devices.trial_process import TrialProcess, TrialTask
from ptxmma.spec.errors import Question

# Seconds: longer than a machine stalls, shorter than twelve parts of the slow one.
LIMIT = 2.0


def chip(pipe: Connection, target: str, number: int) -> None:
    """In place of a GPU: what it is asked says what it does."""
    pipe.send(None)
    while True:
        task = pipe.recv()
        if task.mnemonic == "slow":
            for _ in range(12):
                time.sleep(0.2)
                pipe.send(None)
        elif task.mnemonic == "hangs":
            time.sleep(60)
        elif task.mnemonic == "ends":
            os._exit(3)
        elif task.mnemonic in ("faults", "loses"):
            pipe.send(DeviceFault("the driver says no", lost=task.mnemonic == "loses"))
            continue
        pipe.send(TrialCounts({target: os.getpid()}, {}))


def no_chip(pipe: Connection, target: str, number: int) -> None:
    pipe.send(Question(f"there is no GPU {number}; there are 0"))


@pytest.fixture(scope="module", autouse=True)
def _found_by_processes() -> Iterator[None]:
    """A new process finds this module, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2]))
        yield


@pytest.fixture(scope="module")
def process() -> Iterator[TrialProcess]:
    with TrialProcess("sm_90a", 0, LIMIT, chip) as found:
        yield found


def counts(process: TrialProcess, mnemonic: str) -> int:
    """The number of the process that answers."""
    return process.counts(TrialTask(mnemonic, b"", 1, 0, 10)).compared["sm_90a"]


def test_one_process_answers_what_ends_in_time(process: TrialProcess) -> None:
    """A trial may take longer than the limit, if each part of it does not."""
    first = counts(process, "quick")
    assert counts(process, "slow") == first
    with pytest.raises(DeviceFault, match=r"^the driver says no$"):
        counts(process, "faults")
    assert counts(process, "quick") == first


@pytest.mark.parametrize(
    ("mnemonic", "said"),
    [
        ("hangs", "it did not end within 2 s"),
        ("ends", "the process ended without an answer"),
        ("loses", "the driver says no"),
    ],
)
def test_the_next_trial_has_another_process(process: TrialProcess, mnemonic: str, said: str) -> None:
    before = counts(process, "quick")
    with pytest.raises(DeviceFault, match=f"^{said}$") as caught:
        counts(process, mnemonic)
    assert caught.value.lost and counts(process, "quick") != before


def test_where_there_is_no_gpu() -> None:
    with (
        TrialProcess("sm_90a", 7, LIMIT, no_chip) as found,
        pytest.raises(Question, match="there is no GPU 7"),
    ):
        counts(found, "quick")
