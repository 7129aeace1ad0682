"""Run trials in forked processes: each begins with all that the baseline knows, and spoils nothing."""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...formal.mutation.slips import Slip
from .baseline import Baseline
from .trial import SlipOutcome, trial

__all__ = ["outcomes"]


@dataclass
class _Running:
    """A child with its slip, and when it is killed."""

    slip: Slip
    pid: int
    until: float
    data: bytes = b""


def outcomes(base: Baseline, slips: Sequence[Slip], at_once: int, seconds: float) -> Iterator[SlipOutcome]:
    """The outcome of every slip as trials end; a trial that takes longer than so many seconds is killed."""
    gc.collect()
    gc.freeze()
    waiting = list(reversed(slips))
    running: dict[int, _Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                _start(base, waiting.pop(), running, seconds)
            now = time.monotonic()
            wait = max(0.0, min(one.until for one in running.values()) - now)
            for reader in select.select(list(running), [], [], wait)[0]:
                chunk = os.read(reader, 1 << 16)
                running[reader].data += chunk
                if not chunk:
                    yield _ended(reader, running)
            for reader, one in list(running.items()):
                if time.monotonic() >= one.until:
                    os.kill(one.pid, signal.SIGKILL)
                    _ended(reader, running)
                    yield SlipOutcome(one.slip, "timeout", "", f"no end within {seconds:.0f} s", seconds)
    finally:
        for one in running.values():
            os.kill(one.pid, signal.SIGKILL)
        gc.unfreeze()


def _start(base: Baseline, slip: Slip, running: dict[int, _Running], seconds: float) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            gc.disable()
            found = trial(base, slip)
            with os.fdopen(writer, "wb") as file:
                pickle.dump((found.verdict, found.by, found.why, found.seconds), file)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    running[reader] = _Running(slip, pid, time.monotonic() + seconds)


def _ended(reader: int, running: dict[int, _Running]) -> SlipOutcome:
    one = running.pop(reader)
    os.close(reader)
    os.waitpid(one.pid, 0)
    try:
        return SlipOutcome(one.slip, *pickle.loads(one.data))
    except (EOFError, pickle.UnpicklingError):
        return SlipOutcome(one.slip, "crash", "", "the process died", 0.0)
