"""Abstract ordering programs: what two models of the wgmma rules and the checker speak about (9.7.15.7).

A program is a trace: operations in the order of one execution, each by a thread. Thread 0 is the warpgroup,
every operation of which all its warps execute (a bulk copy: one elected thread of it); thread 1 is one
other thread, which fills shared memory. Registers and buffers are small integers: names of disjoint sets
of registers, and of disjoint stages of shared memory. The trace fixes which signals an mbarrier wait waits
for: all that stand before it on its barrier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "OTHER",
    "WARPGROUP",
    "Buffer",
    "BulkCopy",
    "Commit",
    "CpAsync",
    "CpAsyncCommit",
    "CpAsyncWait",
    "CtaBarrier",
    "MbarrierArrive",
    "MbarrierWait",
    "Mma",
    "MmaShape",
    "Operation",
    "Program",
    "ProxyFence",
    "Register",
    "RegisterRead",
    "RegisterWrite",
    "SharedRead",
    "SharedWrite",
    "Step",
    "Wait",
    "WgmmaFence",
    "parse",
]

WARPGROUP, OTHER = 0, 1


@dataclass(frozen=True, slots=True)
class MmaShape:
    """The shape and the types of a wgmma: m64n8k16 and f32.f16.f16 (D, A, B)."""

    m: int
    n: int
    k: int
    types: str

    def __str__(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}.{self.types}"

    @classmethod
    def of(cls, text: str) -> MmaShape:
        """Read what str() writes; raises ValueError for anything else."""
        found = _SHAPE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no shape with types, such as m64n8k16.f32.f16.f16")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4])


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\.(\w+\.\w+\.\w+)")


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
    """The thread reads the buffer through the generic proxy (every warp of the warpgroup: all of it)."""

    buffer: int

    def __str__(self) -> str:
        return f"load s{self.buffer}"


@dataclass(frozen=True, slots=True)
class SharedWrite:
    """The thread writes the buffer through the generic proxy (every warp of the warpgroup: its part)."""

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
    """cp.async into the buffer (every thread of the warpgroup: its part): generic proxy, asynchronous."""

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


Operation = (
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
    | MbarrierArrive
    | MbarrierWait
    | CtaBarrier
)
_OF_THE_WARPGROUP = (RegisterRead, RegisterWrite, WgmmaFence, Mma, Commit, Wait, CtaBarrier)


@dataclass(frozen=True, slots=True)
class Step:
    """An operation and the thread that executes it."""

    operation: Operation
    thread: int = WARPGROUP

    def __post_init__(self) -> None:
        if self.thread not in (WARPGROUP, OTHER):
            raise ValueError(f"there is no thread {self.thread}; 0 is the warpgroup, 1 the other thread")
        if self.thread == OTHER and isinstance(self.operation, _OF_THE_WARPGROUP):
            raise ValueError(f"`{self.operation}` is the warpgroup's; the other thread cannot execute it")

    def __str__(self) -> str:
        return f"{'other: ' if self.thread else ''}{self.operation}"


@dataclass(frozen=True, slots=True)
class Program:
    """A trace of steps; hazards and schedules name them by index, from 0."""

    steps: tuple[Step, ...]

    @classmethod
    def of(cls, *steps: Operation | Step) -> Program:
        """A program of steps; an operation alone is the warpgroup's."""
        return cls(tuple(step if isinstance(step, Step) else Step(step) for step in steps))

    def without(self, *indices: int) -> Program:
        """The program without some of its steps."""
        return Program(tuple(step for i, step in enumerate(self.steps) if i not in indices))

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))


def parse(lines: str | Sequence[str]) -> Program:
    """Read what str() writes: steps, one an item or parted by `;`. Raises ValueError with the faulty step."""
    items: Iterable[str] = lines.split(";") if isinstance(lines, str) else lines
    return Program(tuple(_step(" ".join(item.split())) for item in items if item.strip()))


def _step(text: str) -> Step:
    words = text.removeprefix("other: ").split(" ")
    kind = _KINDS.get(words[0])
    try:
        if words[0] == "mma":
            return Step(_mma(words[1:]))
        if kind is None:
            raise ValueError(f"no operation is called {words[0]!r}")
        letters, make = kind
        if len(letters) != len(words) - 1:
            raise ValueError(f"{words[0]} takes {len(letters)} operands")
        numbers = [_number(letter, word) for letter, word in zip(letters, words[1:], strict=True)]
        return Step(make(*numbers), OTHER if text.startswith("other: ") else WARPGROUP)
    except ValueError as error:
        raise ValueError(f"`{text}`: {error}") from None


def _mma(words: Sequence[str]) -> Mma:
    scale_d = "scale-d=0" not in words
    rest = [word for word in words if word != "scale-d=0"]
    if len(rest) != 4:
        raise ValueError("an mma is written `mma m64n8k16.f32.f16.f16 r0 s0 s1` (shape, D, A, B)")
    shape, d, a, b = rest
    first: Register | Buffer
    first = Register(_number("r", a)) if a.startswith("r") else Buffer(_number("s", a))
    return Mma(MmaShape.of(shape), _number("r", d), first, _number("s", b), scale_d)


def _number(letter: str, word: str) -> int:
    digits = word.removeprefix(letter)
    if not word.startswith(letter) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{word!r} is no operand such as {letter}0")
    return int(digits)


_KINDS = {
    "read": ("r", RegisterRead),
    "write": ("r", RegisterWrite),
    "load": ("s", SharedRead),
    "store": ("s", SharedWrite),
    "proxy-fence": ("", ProxyFence),
    "fence": ("", WgmmaFence),
    "commit": ("", Commit),
    "wait": (("",), Wait),
    "cp.async": ("s", CpAsync),
    "cp.async.commit": ("", CpAsyncCommit),
    "cp.async.wait": (("",), CpAsyncWait),
    "bulk": ("sb", BulkCopy),
    "arrive": ("b", MbarrierArrive),
    "await": ("b", MbarrierWait),
    "barrier": ("", CtaBarrier),
}
