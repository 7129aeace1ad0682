"""A program as the machine runs it: the steps of each stream, the cells, and what each wait waits for."""

from __future__ import annotations

from ...spec.switches import Conduct
from .programs import (
    OTHER,
    Buffer,
    BulkCopy,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Program,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    StepOperation,
    Wait,
    WgmmaFence,
)

__all__ = ["OTHERS", "THREAD", "WARP", "MachineCode"]

WARP, OTHERS, THREAD = 0, 1, 2


class MachineCode:
    """The steps of each stream, the registers, the halves of buffers, and what each wait waits for.

    `awaited`: by (stream, step) of each wait for groups, the (stream, step) that must have taken effect.
    `signals`: by step of each mbarrier wait, the steps that it waits for. `accesses_now`: by step, whether it
    accesses memory when it is issued.
    """

    def __init__(self, program: Program, conduct: Conduct) -> None:
        self.conduct = conduct
        self.operations: list[StepOperation] = [step.operation for step in program.steps]
        self.threads = [step.thread for step in program.steps]
        writers = (SharedWrite, CpAsync, BulkCopy)
        shared = any(isinstance(operation, writers) for operation in self.operations)
        # The other warps matter only if somebody writes shared memory.
        self.streams = [WARP, *([OTHERS] if shared else []), *([THREAD] if OTHER in self.threads else [])]
        self.code = {stream: self._code(stream) for stream in self.streams}
        self.registers = self._register_numbers()
        self.halves = [(buffer, half) for buffer in self._buffer_numbers() for half in (0, 1)]
        self.places = {stream: place for place, stream in enumerate(self.streams)}
        self.accesses_now = [isinstance(one, (SharedRead, SharedWrite)) for one in self.operations]
        self.signals = {
            step: [at for at in range(step) if self._signals(at, wait)]
            for step, wait in enumerate(self.operations)
            if isinstance(wait, MbarrierWait)
        }
        self.awaited = self._awaited_by(Commit, Wait, Mma)
        self.awaited |= self._awaited_by(CpAsyncCommit, CpAsyncWait, CpAsync)

    def _signals(self, step: int, wait: MbarrierWait) -> bool:
        operation = self.operations[step]
        return isinstance(operation, (MbarrierArrive, BulkCopy)) and operation.barrier == wait.barrier

    def _register_numbers(self) -> list[int]:
        found: set[int] = set()
        for operation in self.operations:
            if isinstance(operation, (RegisterRead, RegisterWrite)):
                found.add(operation.register)
            elif isinstance(operation, Mma):
                found.add(operation.d)
                if not isinstance(operation.a, Buffer):
                    found.add(operation.a.number)
        return sorted(found)

    def _buffer_numbers(self) -> list[int]:
        found: set[int] = set()
        for operation in self.operations:
            if isinstance(operation, (SharedRead, SharedWrite, CpAsync, BulkCopy)):
                found.add(operation.buffer)
            elif isinstance(operation, Mma):
                found |= operation.buffers
        return sorted(found)

    def _code(self, stream: int) -> list[int]:
        """The steps that a stream executes: barriers are for all, a bulk copy is for one elected thread."""
        thread = OTHER if stream == THREAD else 0
        skipped = (BulkCopy, RegisterRead, RegisterWrite, WgmmaFence) if stream == OTHERS else ()
        return [
            step
            for step, operation in enumerate(self.operations)
            if (self.threads[step] == thread or isinstance(operation, CtaBarrier))
            and not isinstance(operation, skipped)
        ]

    def _awaited_by(
        self, commit: type, wait: type, kind: type
    ) -> dict[tuple[int, int], set[tuple[int, int]]]:
        """By (stream, step) of each wait for groups: the (stream, step) that must have taken effect."""
        awaited = {}
        for stream in self.streams:
            groups: list[list[int]] = []
            uncommitted: list[int] = []
            for step in self.code[stream]:
                operation = self.operations[step]
                if isinstance(operation, kind):
                    uncommitted.append(step)
                elif isinstance(operation, commit):
                    if uncommitted or self.conduct.empty_groups_count or commit is CpAsyncCommit:
                        groups.append(uncommitted)
                        uncommitted = []
                elif isinstance(operation, (Wait, CpAsyncWait)) and isinstance(operation, wait):
                    due = groups[: max(0, len(groups) - operation.n)]
                    for_all = kind is Mma and self.conduct.wait_covers_all
                    streams = [one for one in self.streams if one != THREAD] if for_all else [stream]
                    awaited[stream, step] = {(one, i) for group in due for i in group for one in streams}
        return awaited
