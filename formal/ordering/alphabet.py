"""The steps that enumerated programs are made of, and what one register or one buffer sees of each.

A *location* is one register or one buffer. Hazards and overtaking effects are about one location at a time.
To a location a step is an access, a synchronisation or nothing: `seen_from` gives the step as that location
sees it, with the location called r0 or s0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

from ...spec.lazy_dataclass import dataclass
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
    MmaShape,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
    StepOperation,
    Wait,
    WgmmaFence,
)

__all__ = [
    "ACCESSES",
    "END",
    "LOCATIONS",
    "SHAPES",
    "Location",
    "LocationKind",
    "alphabet",
    "letters",
    "seen_from",
    "with_own_buffers",
]

ACCESSES = (RegisterRead, RegisterWrite, SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore, Mma, BlockEnd)
END = Step(BlockEnd())  # no letter of the alphabet: any program can close with it
LocationKind = Literal["register", "buffer"]

# A shape; then shapes that differ from it in the types, in the types and K, and in N.
SHAPES = tuple(
    map(
        MmaShape.of,
        ("m64n8k16.f32.f16.f16", "m64n8k16.f32.bf16.bf16", "m64n8k8.f32.tf32.tf32", "m64n16k16.f32.f16.f16"),
    )
)


@dataclass(frozen=True, slots=True)
class Location:
    """A register or a buffer of the alphabet, 0 or 1."""

    kind: LocationKind
    number: int

    def __str__(self) -> str:
        return f"{'r' if self.kind == 'register' else 's'}{self.number}"


LOCATIONS = (Location("register", 0), Location("register", 1), Location("buffer", 0), Location("buffer", 1))


@cache
def alphabet() -> tuple[Step, ...]:
    """Every step over two registers, two buffers and two mbarriers, by both threads, but for the end."""
    mine: list[StepOperation] = [WgmmaFence(), Commit(), Wait(0), Wait(1), CtaBarrier()]
    for register in (0, 1):
        mine += [RegisterRead(register), RegisterWrite(register)]
        for buffer in (0, 1):
            for a in (Register(1 - register), Buffer(buffer)):
                mine += [Mma(SHAPES[0], register, a, buffer, scale) for scale in (True, False)]
            mine += [Mma(shape, register, Buffer(buffer), buffer) for shape in SHAPES[1:]]
    shared: list[StepOperation] = [ProxyFence(), CpAsyncCommit(), CpAsyncWait(0), BulkCommit(), BulkWait(0)]
    for buffer in (0, 1):
        shared += [SharedRead(buffer), SharedWrite(buffer), CpAsync(buffer), BulkCopy(buffer, buffer)]
        shared += [BulkStore(buffer)]
        shared += [MbarrierArrive(buffer), MbarrierWait(buffer)]
    return (*map(Step, (*mine, *shared)), *(Step(operation, OTHER) for operation in shared))


@cache
def letters(kind: LocationKind) -> tuple[Step, ...]:
    """What a location of a kind sees of the steps of the alphabet, each once; a buffer sees the end, too."""
    found = (
        seen_from(step, location) for location in LOCATIONS for step in alphabet() if location.kind == kind
    )
    steps = tuple(dict.fromkeys(step for step in found if step is not None))
    return steps if kind == "register" else (*steps, END)


def seen_from(step: Step, location: Location) -> Step | None:
    """What a location sees of a step, with the location called r0 or s0; None: nothing."""
    if location.kind == "register":
        return _from_register(step, location.number)
    return _from_buffer(step, location.number)


def _from_register(step: Step, number: int) -> Step | None:
    operation = step.operation
    if isinstance(operation, RegisterRead | RegisterWrite):
        return Step(type(operation)(0)) if operation.register == number else None
    if isinstance(operation, Mma):
        if operation.d == number:
            return Step(Mma(operation.shape, 0, Buffer(0), 0))
        a = Register(0) if operation.a == Register(number) else Buffer(0)
        return Step(Mma(SHAPES[0], 1 if isinstance(a, Register) else 2, a, 0))
    return step if isinstance(operation, WgmmaFence | Commit | Wait) else None


def _from_buffer(step: Step, number: int) -> Step | None:
    operation = step.operation
    if isinstance(operation, RegisterRead | RegisterWrite | WgmmaFence):
        return None
    if isinstance(operation, Mma):
        buffer = 0 if number in operation.buffers else 1
        return Step(Mma(SHAPES[0], 0, Buffer(buffer), buffer))
    if isinstance(operation, SharedRead | SharedWrite | CpAsync | BulkStore):
        return Step(type(operation)(0), step.thread) if operation.buffer == number else None
    if isinstance(operation, BulkCopy):
        return Step(BulkCopy(operation.buffer ^ number, operation.barrier ^ number), step.thread)
    if isinstance(operation, MbarrierArrive | MbarrierWait):
        return Step(type(operation)(operation.barrier ^ number), step.thread)
    return step


def with_own_buffers(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps as s0 sees them, made a program: each bulk copy into another buffer fills one of its own."""
    found = []
    for at, step in enumerate(steps):
        operation = step.operation
        if isinstance(operation, BulkCopy) and operation.buffer != 0:
            step = Step(BulkCopy(at + 2, operation.barrier), step.thread)
        found.append(step)
    return tuple(found)
