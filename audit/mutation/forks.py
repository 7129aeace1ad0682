"""Run trials in forked processes: each begins with all that the baseline knows, and spoils nothing.

One process reads many slips of the register, each of which changes one entry, or of the index; for every
other slip, and for those that are not noticed there, a process of its own asks the witnesses.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ...formal.mutation.slips import Slip
from .baseline import Baseline
from .hand_tables import remember
from .reading import READ_ALONE, reading
from .trial import SlipOutcome, find_caches, trial

__all__ = ["outcomes"]

_TOGETHER = 100  # slips that one process reads


@dataclass
class _Child:
    """A process with its slips, of which it answered `answered`, and when it is killed."""

    slips: Sequence[Slip]
    pid: int
    until: float
    alone: bool
    data: bytes = b""
    answered: int = 0


def outcomes(base: Baseline, slips: Sequence[Slip], at_once: int, seconds: float) -> Iterator[SlipOutcome]:
    """The outcome of every slip as trials end; a trial that takes longer than so many seconds is killed."""
    find_caches()
    _import_solver()
    if gc.isenabled():  # else no trial collects what is garbage now
        gc.collect()
    gc.freeze()
    try:
        yield from _Trials(base, at_once, seconds).run(slips)
    finally:
        gc.unfreeze()


def _import_solver() -> None:
    """Make the solver's context, and ask nothing: its timers are threads, which a fork does not have."""
    import z3

    z3.main_ctx()


class _Trials:
    """Processes at work, and the slips that wait for one."""

    def __init__(self, base: Baseline, at_once: int, seconds: float) -> None:
        self.base = base
        self.at_once = at_once
        self.seconds = seconds
        self.running: dict[int, _Child] = {}
        self.undecided: deque[Slip] = deque()

    def run(self, slips: Sequence[Slip]) -> Iterator[SlipOutcome]:
        """The outcome of every slip."""
        quick = [slip for slip in slips if slip.file in READ_ALONE]
        self.undecided.extend(slip for slip in slips if slip.file not in READ_ALONE)
        size = max(1, min(_TOGETHER, len(quick) // (2 * self.at_once)))
        waiting = deque(quick[start : start + size] for start in range(0, len(quick), size))
        try:
            while waiting or self.undecided or self.running:
                while len(self.running) < self.at_once and (self.undecided or waiting):
                    if self.undecided:
                        self._start((self.undecided.popleft(),), alone=True)
                    else:
                        self._start(waiting.popleft(), alone=False)
                yield from self._heard()
        finally:
            for child in self.running.values():
                os.kill(child.pid, signal.SIGKILL)

    def _heard(self) -> Iterator[SlipOutcome]:
        """What the processes say until one has said something, or is late."""
        now = time.monotonic()
        wait = max(0.0, min(child.until for child in self.running.values()) - now)
        for reader in select.select(list(self.running), [], [], wait)[0]:
            child = self.running[reader]
            chunk = os.read(reader, 1 << 16)
            child.data += chunk
            yield from self._answers(child)
            if not chunk:
                self._end(reader)
                yield from self._rest(child, "crash", "the process died", 0.0)
        for reader, child in list(self.running.items()):
            if time.monotonic() >= child.until:
                os.kill(child.pid, signal.SIGKILL)
                self._end(reader)
                yield from self._rest(child, "timeout", f"no end within {self.seconds:.0f} s", self.seconds)

    def _answers(self, child: _Child) -> Iterator[SlipOutcome]:
        """The outcomes that a process has written whole."""
        while len(child.data) >= 4:
            size = int.from_bytes(child.data[:4], "little")
            if len(child.data) < 4 + size:
                return
            said = pickle.loads(child.data[4 : 4 + size])
            child.data = child.data[4 + size :]
            slip = child.slips[child.answered]
            child.answered += 1
            child.until = time.monotonic() + self.seconds
            if said is None:
                self.undecided.append(slip)
            else:
                outcome = SlipOutcome(slip, *said)
                if outcome.by == "tests":
                    remember(slip.file, outcome.why)
                yield outcome

    def _rest(self, child: _Child, verdict: str, why: str, seconds: float) -> Iterator[SlipOutcome]:
        """The slips that a process did not answer: one alone has this verdict, others are asked alone."""
        rest = child.slips[child.answered :]
        if child.alone:
            for slip in rest:
                yield SlipOutcome(slip, "timeout" if verdict == "timeout" else "crash", "", why, seconds)
        else:
            self.undecided.extend(rest)

    def _start(self, slips: Sequence[Slip], alone: bool) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(reader)
                if alone:
                    gc.disable()
                judge: Callable[[Baseline, Slip], SlipOutcome | None] = trial if alone else reading
                with os.fdopen(writer, "wb") as file:
                    for slip in slips:
                        _tell(file, judge(self.base, slip))
                code = 0
            finally:
                os._exit(code)
        os.close(writer)
        self.running[reader] = _Child(slips, pid, time.monotonic() + self.seconds, alone)

    def _end(self, reader: int) -> None:
        child = self.running.pop(reader)
        os.close(reader)
        os.waitpid(child.pid, 0)


def _tell(file: BinaryIO, found: SlipOutcome | None) -> None:
    said = (found.verdict, found.by, found.why, found.seconds) if found else None
    data = pickle.dumps(said)
    file.write(len(data).to_bytes(4, "little") + data)
    file.flush()
