"""Abstract ordering programs: what the two models of the wgmma rules and the checker speak about (9.7.15.7).

A program is a trace: its steps are operations in the order of one execution, each by a thread. Thread 0 is
the warpgroup: all its warps execute each of its operations, except that one elected thread starts bulk copies
and bulk stores, and waits for the latter. Thread 1 is one other thread, which fills shared memory. Registers
and buffers are named by small integers: a register stands for a set of registers, a buffer for a stage of
shared memory, and no two of them overlap. An mbarrier wait waits for every signal on its mbarrier that stands
before it in the trace. A trace may close with the end of the block.
"""

from __future__ import annotations

from ...spec.lazy_dataclass import dataclass
from .mma_shape import MmaShape

__all__ = [
    "OTHER",
    "WARPGROUP",
    "BlockEnd",
    "Buffer",
    "BulkCommit",
    "BulkCopy",
    "BulkStore",
    "BulkWait",
    "Commit",
    "CpAsync",
    "CpAsyncCommit",
    "CpAsyncWait",
    "CtaBarrier",
    "MbarrierArrive",
    "MbarrierWait",
    "Mma",
    "MmaShape",
    "Program",
    "ProxyFence",
    "Register",
    "RegisterRead",
    "RegisterWrite",
    "SharedRead",
    "SharedWrite",
    "Step",
    "StepOperation",
    "Wait",
    "WgmmaFence",
]

WARPGROUP, OTHER = 0, 1


@dataclass(frozen=True, slots=True)
class Register:
    """A set of registers of every thread of the warpgroup: an accumulator, or a fragment of A."""

    number: int

    def __str__(self) -> str:
        return f"r{self.number}"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A stage of shared memory: the matrices that descriptors name."""

    number: int

    def __str__(self) -> str:
        return f"s{self.number}"


@dataclass(frozen=True, slots=True)
class RegisterRead:
    """An ordinary instruction reads registers of the set."""

    register: int

    def __str__(self) -> str:
        return f"read r{self.register}"


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """An ordinary instruction writes registers of the set."""

    register: int

    def __str__(self) -> str:
        return f"write r{self.register}"


@dataclass(frozen=True, slots=True)
class SharedRead:
    """The thread (or every warp of the warpgroup) reads the whole buffer through the generic proxy."""

    buffer: int

    def __str__(self) -> str:
        return f"load s{self.buffer}"


@dataclass(frozen=True, slots=True)
class SharedWrite:
    """The thread writes the buffer through the generic proxy; every warp of the warpgroup writes its part."""

    buffer: int

    def __str__(self) -> str:
        return f"store s{self.buffer}"


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """fence.proxy.async: between the generic and the async proxy (9.7.15.4)."""

    def __str__(self) -> str:
        return "proxy-fence"


@dataclass(frozen=True, slots=True)
class WgmmaFence:
    """wgmma.fence (9.7.15.7.1)."""

    def __str__(self) -> str:
        return "fence"


@dataclass(frozen=True, slots=True)
class Mma:
    """wgmma.mma_async: D = A*B + D, or A*B where scale_d is false; D and A are different registers."""

    shape: MmaShape
    d: int
    a: Register | Buffer
    b: int
    scale_d: bool = True

    def __post_init__(self) -> None:
        if self.a == Register(self.d):
            raise ValueError(
                f"an mma's accumulator r{self.d} is also its A; they must be different registers"
            )

    @property
    def buffers(self) -> frozenset[int]:
        """The buffers that it reads."""
        return frozenset((self.b, self.a.number) if isinstance(self.a, Buffer) else (self.b,))

    def __str__(self) -> str:
        tail = "" if self.scale_d else " scale-d=0"
        return f"mma {self.shape} r{self.d} {self.a} s{self.b}{tail}"


@dataclass(frozen=True, slots=True)
class Commit:
    """wgmma.commit_group (9.7.15.7.2)."""

    def __str__(self) -> str:
        return "commit"


@dataclass(frozen=True, slots=True)
class Wait:
    """wgmma.wait_group n (9.7.15.7.3)."""

    n: int

    def __str__(self) -> str:
        return f"wait {self.n}"


@dataclass(frozen=True, slots=True)
class CpAsync:
    """cp.async into the buffer, through the generic proxy; every warp of the warpgroup copies its part."""

    buffer: int

    def __str__(self) -> str:
        return f"cp.async s{self.buffer}"


@dataclass(frozen=True, slots=True)
class CpAsyncCommit:
    """cp.async.commit_group."""

    def __str__(self) -> str:
        return "cp.async.commit"


@dataclass(frozen=True, slots=True)
class CpAsyncWait:
    """cp.async.wait_group n."""

    n: int = 0

    def __str__(self) -> str:
        return f"cp.async.wait {self.n}"


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """cp.async.bulk into the buffer through the async proxy; its completion signals the mbarrier."""

    buffer: int
    barrier: int

    def __str__(self) -> str:
        return f"bulk s{self.buffer} b{self.barrier}"


@dataclass(frozen=True, slots=True)
class BulkStore:
    """cp.async.bulk from the buffer, which it reads through the async proxy; it is in a bulk group."""

    buffer: int

    def __str__(self) -> str:
        return f"bulk-store s{self.buffer}"


@dataclass(frozen=True, slots=True)
class BulkCommit:
    """cp.async.bulk.commit_group."""

    def __str__(self) -> str:
        return "bulk.commit"


@dataclass(frozen=True, slots=True)
class BulkWait:
    """cp.async.bulk.wait_group.read n."""

    n: int = 0

    def __str__(self) -> str:
        return f"bulk.wait {self.n}"


@dataclass(frozen=True, slots=True)
class MbarrierArrive:
    """The thread (every thread of the warpgroup) arrives on the mbarrier."""

    barrier: int

    def __str__(self) -> str:
        return f"arrive b{self.barrier}"


@dataclass(frozen=True, slots=True)
class MbarrierWait:
    """The thread waits for every signal that stands before this on the mbarrier."""

    barrier: int

    def __str__(self) -> str:
        return f"await b{self.barrier}"


@dataclass(frozen=True, slots=True)
class CtaBarrier:
    """bar.sync: every thread of the program (written once, as the warpgroup's) arrives and waits."""

    def __str__(self) -> str:
        return "barrier"


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """Every thread has ended (written once, as the warpgroup's): the shared memory may be another block's."""

    def __str__(self) -> str:
        return "end"


StepOperation = (
    RegisterRead
    | RegisterWrite
    | SharedRead
    | SharedWrite
    | ProxyFence
    | WgmmaFence
    | Mma
    | Commit
    | Wait
    | CpAsync
    | CpAsyncCommit
    | CpAsyncWait
    | BulkCopy
    | BulkStore
    | BulkCommit
    | BulkWait
    | MbarrierArrive
    | MbarrierWait
    | CtaBarrier
    | BlockEnd
)
_WARPGROUP_ONLY = (RegisterRead, RegisterWrite, WgmmaFence, Mma, Commit, Wait, CtaBarrier, BlockEnd)


@dataclass(frozen=True, slots=True)
class Step:
    """An operation and the thread that executes it."""

    operation: StepOperation
    thread: int = WARPGROUP

    def __post_init__(self) -> None:
        if self.thread not in (WARPGROUP, OTHER):
            raise ValueError(f"there is no thread {self.thread}; 0 is the warpgroup, 1 the other thread")
        if self.thread == OTHER and isinstance(self.operation, _WARPGROUP_ONLY):
            raise ValueError(f"`{self.operation}` is for the warpgroup; the other thread cannot execute it")

    def __str__(self) -> str:
        return f"{'other: ' if self.thread else ''}{self.operation}"


@dataclass(frozen=True, slots=True)
class Program:
    """A trace of steps; hazards and schedules name a step by its index, from 0."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if any(isinstance(step.operation, BlockEnd) for step in self.steps[:-1]):
            raise ValueError(f"`{BlockEnd()}` is the last step: nothing follows the end of the block")

    @classmethod
    def of(cls, *steps: StepOperation | Step) -> Program:
        """A program of steps; an operation alone is the warpgroup's."""
        return cls(tuple(step if isinstance(step, Step) else Step(step) for step in steps))

    def without(self, *indices: int) -> Program:
        """The program without some of its steps."""
        return Program(tuple(step for i, step in enumerate(self.steps) if i not in indices))

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))
