"""The steps that programs are made of, and what each is to one register or one buffer.

Hazards and schedules are about one location at a time: whatever else a step does is, to a location, a
synchronisation or nothing. `seen_from` says what: a step over r0 and s0 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

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
    MmaShape,
    Operation,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
    Wait,
    WgmmaFence,
)

__all__ = [
    "ACCESSES",
    "LOCATIONS",
    "SHAPES",
    "Location",
    "LocationKind",
    "alphabet",
    "letters",
    "parted",
    "seen_from",
]

ACCESSES = (RegisterRead, RegisterWrite, SharedRead, SharedWrite, CpAsync, BulkCopy, Mma)
LocationKind = Literal["register", "buffer"]

# A shape, and one each that differs from it in the types, in K too, and in N only.
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
    """Every step over two registers, two buffers and two mbarriers, by both threads."""
    mine: list[Operation] = [WgmmaFence(), Commit(), Wait(0), Wait(1), CtaBarrier()]
    for register in (0, 1):
        mine += [RegisterRead(register), RegisterWrite(register)]
        for buffer in (0, 1):
            for a in (Register(1 - register), Buffer(buffer)):
                mine += [Mma(SHAPES[0], register, a, buffer, scale) for scale in (True, False)]
            mine += [Mma(shape, register, Buffer(buffer), buffer) for shape in SHAPES[1:]]
    shared: list[Operation] = [ProxyFence(), CpAsyncCommit(), CpAsyncWait(0)]
    for buffer in (0, 1):
        shared += [SharedRead(buffer), SharedWrite(buffer), CpAsync(buffer), BulkCopy(buffer, buffer)]
        shared += [MbarrierArrive(buffer), MbarrierWait(buffer)]
    return (*map(Step, (*mine, *shared)), *(Step(operation, OTHER) for operation in shared))


@cache
def letters(kind: LocationKind) -> tuple[Step, ...]:
    """What the steps of the alphabet are to one location, each once."""
    found = (
        seen_from(step, location) for location in LOCATIONS for step in alphabet() if location.kind == kind
    )
    return tuple(dict.fromkeys(step for step in found if step is not None))


def seen_from(step: Step, location: Location) -> Step | None:
    """What a step is to a location, which is called r0 or s0; None: nothing."""
    if location.kind == "register":
        return _from_register(step, location.number)
    return _from_buffer(step, location.number)


def _from_register(step: Step, number: int) -> Step | None:
    act = step.operation
    if isinstance(act, RegisterRead | RegisterWrite):
        return Step(type(act)(0)) if act.register == number else None
    if isinstance(act, Mma):
        if act.d == number:
            return Step(Mma(act.shape, 0, Buffer(0), 0))
        a = Register(0) if act.a == Register(number) else Buffer(0)
        return Step(Mma(SHAPES[0], 1 if isinstance(a, Register) else 2, a, 0))
    return step if isinstance(act, WgmmaFence | Commit | Wait) else None


def _from_buffer(step: Step, number: int) -> Step | None:
    act = step.operation
    if isinstance(act, RegisterRead | RegisterWrite | WgmmaFence):
        return None
    if isinstance(act, Mma):
        buffer = 0 if number in act.buffers else 1
        return Step(Mma(SHAPES[0], 0, Buffer(buffer), buffer))
    if isinstance(act, SharedRead | SharedWrite | CpAsync):
        return Step(type(act)(0), step.thread) if act.buffer == number else None
    if isinstance(act, BulkCopy):
        return Step(BulkCopy(act.buffer ^ number, act.barrier ^ number), step.thread)
    if isinstance(act, MbarrierArrive | MbarrierWait):
        return Step(type(act)(act.barrier ^ number), step.thread)
    return step


def parted(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps as a location sees them, made a program: each bulk copy elsewhere fills a buffer of its own."""
    found = []
    for at, step in enumerate(steps):
        act = step.operation
        if isinstance(act, BulkCopy) and act.buffer != 0:
            step = Step(BulkCopy(at + 2, act.barrier), step.thread)
        found.append(step)
    return tuple(found)
