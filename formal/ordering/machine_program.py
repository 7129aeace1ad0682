"""A program as the machine runs it: the steps of each stream, the cells, and what each wait waits for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from ...spec.switches import Conduct
from .programs import (
    OTHER,
    BlockEnd,
    Buffer,
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Program,
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    StepOperation,
    Wait,
    WgmmaFence,
)

__all__ = ["OTHERS", "THREAD", "WARP", "Footprint", "MachineCode"]

WARP, OTHERS, THREAD = 0, 1, 2
_WAITING = (WgmmaFence, Wait, CpAsyncWait, BulkWait, ProxyFence, MbarrierWait, CtaBarrier, BlockEnd)

# What the other warps do not do: bulk copies and stores are an elected thread's, and registers are not kept.
_OF_ONE_WARP = (BulkCopy, BulkStore, BulkCommit, BulkWait, RegisterRead, RegisterWrite, WgmmaFence)


class Footprint(NamedTuple):
    """The cells that are read and those that are written, as sets of bits."""

    reads: int
    writes: int


class MachineCode:
    """The steps of each stream, the registers, the halves of buffers, and what each wait waits for.

    `awaited`: by (stream, step) of each wait for groups, the (stream, step) that must have taken effect.
    `signals`: by step of each mbarrier wait, the steps that it waits for. `accesses_now`: by step, whether it
    accesses memory when it is issued. `waits`: by step, whether it may have to wait until it can be issued.
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
        self.awaited |= self._awaited_by(BulkCommit, BulkWait, BulkStore)
        self.waits = [isinstance(one, _WAITING) for one in self.operations]
        bits = itertools.count()
        self.register_cells = {register: 1 << next(bits) for register in self.registers}
        self.generic_cells = {half: 1 << next(bits) for half in self.halves}
        self.async_cells = {half: 1 << next(bits) for half in self.halves}

    # What only a search asks, not a run that is laid down from its start.

    @cached_property
    def footprints(self) -> Mapping[tuple[int, int], Footprint]:
        """By (stream, step), the cells that the step accesses, when it is issued or later."""
        return {
            (stream, step): self._footprint(stream, self.operations[step])
            for stream in self.streams
            for step in self.code[stream]
        }

    @cached_property
    def unordered(self) -> list[bool]:
        """By step, whether it is an mma, a bulk copy or a bulk store, whose accesses no queue orders."""
        return [isinstance(one, (Mma, BulkCopy, BulkStore)) for one in self.operations]

    @cached_property
    def ahead(self) -> Mapping[int, list[Footprint]]:
        """By stream and position, the cells that the steps from there on access."""
        return {stream: self._ahead(stream, {*self.code[stream]}) for stream in self.streams}

    @cached_property
    def ahead_unordered(self) -> Mapping[int, list[Footprint]]:
        """The same, of the accesses that no queue orders."""
        unordered = {step for step, one in enumerate(self.unordered) if one}
        return {stream: self._ahead(stream, unordered) for stream in self.streams}

    @cached_property
    def ends_early(self) -> bool:
        """Whether the block may end, and its memory change, before its bulk stores have read it."""
        ends = any(isinstance(operation, BlockEnd) for operation in self.operations)
        return ends and not self.conduct.block_lasts

    @cached_property
    def holds_up_fences(self) -> bool:
        """Whether a store of one stream can hold up a proxy fence of another."""
        fences = any(isinstance(operation, ProxyFence) for operation in self.operations)
        return fences and bool(self.conduct.proxy_fence_covers_all)

    def _footprint(self, stream: int, operation: StepOperation) -> Footprint:
        """The cells that a stream accesses by an operation."""
        if isinstance(operation, RegisterRead):
            return Footprint(self.register_cells[operation.register], 0)
        if isinstance(operation, RegisterWrite):
            return Footprint(0, self.register_cells[operation.register])
        if isinstance(operation, SharedRead):
            return Footprint(self._generic(operation.buffer), 0)
        if isinstance(operation, BulkStore):
            return Footprint(self._async(operation.buffer), 0)
        if isinstance(operation, (SharedWrite, CpAsync, BulkCopy)):
            all_of_it = stream == THREAD or isinstance(operation, BulkCopy)
            halves = (0, 1) if all_of_it else (stream,)
            return Footprint(
                0, self._generic(operation.buffer, halves) | self._async(operation.buffer, halves)
            )
        if isinstance(operation, Mma):
            reads = 0
            for buffer in operation.buffers:
                reads |= self._async(buffer)
            if stream != WARP:
                return Footprint(reads, 0)
            if not isinstance(operation.a, Buffer):
                reads |= self.register_cells[operation.a.number]
            return Footprint(reads, self.register_cells[operation.d])
        return Footprint(0, 0)

    def _generic(self, buffer: int, halves: Iterable[int] = (0, 1)) -> int:
        return sum(self.generic_cells[buffer, half] for half in halves)

    def _async(self, buffer: int, halves: Iterable[int] = (0, 1)) -> int:
        return sum(self.async_cells[buffer, half] for half in halves)

    def _ahead(self, stream: int, which: set[int]) -> list[Footprint]:
        """By position, the cells that some of the steps from there on access."""
        nothing = Footprint(0, 0)
        found = [nothing]
        for step in reversed(self.code[stream]):
            own, after = self.footprints[stream, step] if step in which else nothing, found[-1]
            found.append(Footprint(own.reads | after.reads, own.writes | after.writes))
        return found[::-1]

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
            if isinstance(operation, (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)):
                found.add(operation.buffer)
            elif isinstance(operation, Mma):
                found |= operation.buffers
        return sorted(found)

    def _code(self, stream: int) -> list[int]:
        """The steps that a stream executes: barriers are for all, and what is in bulk for one."""
        thread = OTHER if stream == THREAD else 0
        skipped = _OF_ONE_WARP if stream == OTHERS else ()
        return [
            step
            for step, operation in enumerate(self.operations)
            if (self.threads[step] == thread or isinstance(operation, (CtaBarrier, BlockEnd)))
            and not isinstance(operation, skipped)
        ]

    def _awaited_by(
        self, commit: type, wait: type, kind: type
    ) -> dict[tuple[int, int], set[tuple[int, int]]]:
        """By (stream, step) of each wait for groups: the (stream, step) that must have taken effect."""
        awaited: dict[tuple[int, int], set[tuple[int, int]]] = {}
        if not any(isinstance(operation, wait) for operation in self.operations):
            return awaited
        warps = [stream for stream in self.streams if stream != THREAD]
        for stream in self.streams:
            groups: list[list[int]] = []
            uncommitted: list[int] = []
            for step in self.code[stream]:
                operation = self.operations[step]
                if isinstance(operation, kind):
                    uncommitted.append(step)
                elif isinstance(operation, commit):
                    if uncommitted or commit is not Commit or self.conduct.empty_groups_count:
                        groups.append(uncommitted)
                        uncommitted = []
                elif isinstance(operation, (Wait, CpAsyncWait, BulkWait)) and isinstance(operation, wait):
                    due = [i for group in groups[: max(0, len(groups) - operation.n)] for i in group]
                    for_all = due and kind is Mma and warps != [stream] and self.conduct.wait_covers_all
                    streams = warps if for_all else [stream]
                    awaited[stream, step] = {(one, i) for i in due for one in streams}
        return awaited
