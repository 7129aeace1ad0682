"""Trials in a process of their own: a kernel that hangs, or ends the process, costs its own trial alone."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType

from ..gen.kernels.modules import modules
from ..spec.api import load
from ..spec.errors import Question
from .gpu import DeviceFault
from .trial import TrialCounts
from .trial_list import trial_of

__all__ = ["TrialProcess", "TrialTask"]

_STARTING = 60.0  # seconds until a process has read the specification and opened the GPU
_ALIVE = None  # what a process sends when it is ready, and after each part of a trial


@dataclass(frozen=True)
class TrialTask:
    """What a process is asked: a mnemonic, the binary of its trial's text, the seed, which tiles; whether
    invalid metadata codes are drawn.
    """

    mnemonic: str
    binary: bytes
    seed: int
    first: int
    tiles: int
    invalid: bool = False


TrialWork = Callable[[Connection, str, int], None]


def work(pipe: Connection, target: str, number: int) -> None:
    """In the process: answer one task after another with counts, or with the reason why there are none."""
    from .trial_runs import TrialDevice

    try:
        specification = load()
        device = TrialDevice(number)
        with device:
            pipe.send(_ALIVE)
            while True:
                task: TrialTask = pipe.recv()
                trial = trial_of(specification, specification.find(task.mnemonic), target, task.invalid)
                (module,) = modules([trial.kernel], specification, target)
                try:
                    counts = device.trial(
                        trial,
                        module,
                        task.binary,
                        task.seed,
                        task.first,
                        task.tiles,
                        lambda: pipe.send(_ALIVE),
                    )
                except DeviceFault as fault:
                    pipe.send(fault)
                else:
                    pipe.send(counts)
    except Question as question:
        pipe.send(question)


@dataclass
class TrialProcess:
    """A process that runs trials, open as a context manager; started anew after one that was killed.

    `limit` is how many seconds each part of a trial may take: half a gigabyte of inputs and outputs, or less.
    """

    target: str
    number: int
    limit: float
    work: TrialWork = work
    _process: BaseProcess | None = field(default=None, init=False)
    _pipe: Connection | None = field(default=None, init=False)

    def __enter__(self) -> TrialProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def counts(self, task: TrialTask) -> TrialCounts:
        """What a trial counts. Raises DeviceFault where the kernel fails, hangs or ends the process."""
        pipe = self._pipe or self._start()
        try:
            pipe.send(task)
            while True:
                answer = self._answer(self.limit)
                if isinstance(answer, TrialCounts):
                    return answer
                if isinstance(answer, DeviceFault):
                    if answer.lost:
                        self._end()
                    raise answer
        except (EOFError, BrokenPipeError):
            self._end()
            raise DeviceFault("the process ended without an answer", lost=True) from None

    def _answer(self, limit: float) -> object:
        assert self._pipe is not None
        if not self._pipe.poll(limit):
            self._end()
            raise DeviceFault(f"it did not end within {limit:g} s", lost=True)
        answer: object = self._pipe.recv()
        if isinstance(answer, Question):
            raise answer
        return answer

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=self.work, args=(theirs, self.target, self.number), daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            self._answer(_STARTING)
        except EOFError:
            self._end()
            raise Question("the process that runs trials ended before the first") from None
        return self._pipe

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None
