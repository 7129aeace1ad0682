"""Raw kernels: one instruction on registers and shared memory as they are, without any layout.

A device is measured through them alone. A launcher runs a batch of jobs; a job is a warp or a warpgroup that
loads its registers and its shared memory, executes the instruction once and stores the registers of D.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..gen.kernels.kernel_list import Kernel
from ..gen.kernels.statement import Vector
from ..spec.fragments import element_bits
from ..spec.parts import element_type
from ..spec.variants import Variant

__all__ = [
    "Batch",
    "Launcher",
    "MemoryElements",
    "Raw",
    "chunks",
    "elements",
    "numbers",
    "of_kernel",
    "words",
]

Words = NDArray[np.uint32]
_WORD = 32


@dataclass(frozen=True)
class Raw:
    """A raw kernel: its entry, and how many 32-bit words of each operand a thread loads and stores.

    `sources` are the register operands by their part, in operand order, an accumulator that is also the
    destination among them; `descriptors` says which descriptor a part in shared memory has; `values` are
    the immediates that the kernel was compiled with, by their part.
    """

    entry: str
    variant: Variant
    descriptors: Mapping[str, str]
    values: Mapping[str, int]
    threads: int
    sources: Mapping[str, int]
    results: int

    @property
    def words(self) -> int:
        """How many words a thread loads."""
        return sum(self.sources.values())

    def place(self, part: str) -> slice:
        """The place of an operand's words among those that a thread loads."""
        start = 0
        for name, count in self.sources.items():
            if name == part:
                return slice(start, start + count)
            start += count
        raise KeyError(part)

    def width(self, part: str) -> int:
        """The bits that an element of A, B, C or D takes."""
        return element_bits(self.variant, part)

    def count(self, part: str) -> int:
        """How many elements of a fragment all threads hold together."""
        registers = self.results if part == "D" else self.sources[part]
        return self.threads * registers * _WORD // self.width(part)

    def holds(self, part: str) -> str:
        """The element type of A, B, C or D."""
        return element_type(self.variant, part)


@dataclass
class Batch:
    """Jobs for one kernel: which inputs, which image of shared memory, which descriptors, scale-d.

    `inputs` is (pool, threads, words), `images` (pool, bytes). Descriptors count from the start of the
    image. `addresses` are for instructions that name shared memory by an address.
    """

    inputs: Words
    images: NDArray[np.uint8]
    input: NDArray[np.uint32]
    image: NDArray[np.uint32]
    a: NDArray[np.uint64]
    b: NDArray[np.uint64]
    scale: NDArray[np.uint32]

    @classmethod
    def of(
        cls,
        inputs: Words,
        images: NDArray[np.uint8] | None = None,
        *,
        input: Sequence[int] | NDArray[np.integer] | None = None,
        image: Sequence[int] | NDArray[np.integer] | int = 0,
        a: int | Sequence[int] = 0,
        b: int | Sequence[int] = 0,
        scale: int = 1,
    ) -> Batch:
        """A batch with one job an input, unless `input` lists more; a single value holds for all jobs."""
        chosen = np.arange(len(inputs)) if input is None else np.asarray(input)
        jobs = len(chosen)
        return cls(
            np.ascontiguousarray(inputs, np.uint32),
            np.zeros((1, 16), np.uint8) if images is None else np.ascontiguousarray(images),
            chosen.astype(np.uint32),
            np.broadcast_to(np.asarray(image), jobs).astype(np.uint32),
            np.broadcast_to(np.asarray(a, np.uint64), jobs).astype(np.uint64),
            np.broadcast_to(np.asarray(b, np.uint64), jobs).astype(np.uint64),
            np.full(jobs, scale, np.uint32),
        )

    def __len__(self) -> int:
        return len(self.input)


class Launcher(Protocol):
    """A runner of raw kernels: a device, or the stand-in."""

    def launch(self, kernel: Raw, batch: Batch) -> Words:
        """The registers of D of every job, (jobs, threads, words)."""


def words(codes: NDArray[np.integer], width: int) -> Words:
    """The elements (…, count) of each thread, packed low to high into 32-bit words."""
    if width > _WORD:
        pairs = np.ascontiguousarray(codes.astype("<u8")).view("<u4")
        return pairs.astype(np.uint32)
    each = _WORD // width
    parts = codes.astype(np.uint32).reshape(*codes.shape[:-1], -1, each)
    shifts = (np.arange(each) * width).astype(np.uint32)
    packed: Words = np.bitwise_or.reduce(parts << shifts, axis=-1)
    return packed


def elements(packed: Words, width: int) -> NDArray[np.uint64]:
    """The inverse of `words`: the elements of each thread, as bit patterns."""
    packed = np.ascontiguousarray(packed, "<u4")
    if width > _WORD:
        return packed.view("<u8").astype(np.uint64)
    each = _WORD // width
    shifts = (np.arange(each) * width).astype(np.uint32)
    parts = (packed[..., None] >> shifts) & np.uint32((1 << width) - 1)
    return parts.reshape(*packed.shape[:-1], -1).astype(np.uint64)


def numbers(packed: Words, kind: np.dtype[Any]) -> NDArray[np.float64]:
    """The registers of C or D as numbers, flat over (thread, element); `kind` is their numpy type."""
    flat = np.ascontiguousarray(packed, "<u4").reshape(len(packed), -1)
    return flat.view(kind).astype(np.float64)


def chunks(total: int, size: int) -> Iterator[slice]:
    """Slices of at most `size`."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


@dataclass(frozen=True)
class MemoryElements:
    """Elements in shared memory: the byte offset of the region, the bits of an element."""

    start: int
    width: int
    bytes: int = field(default=0)

    def image(self, codes: NDArray[np.integer]) -> NDArray[np.uint8]:
        """The bytes of the region (…, bytes) that hold these codes."""
        return np.ascontiguousarray(words(codes, self.width), "<u4").view(np.uint8)


def of_kernel(kernel: Kernel) -> Raw:
    """The raw kernel of an emitted one; on opaque fragments it loads no words, and stores D as a matrix."""
    sources, descriptors, results = {}, {}, 0
    for name, operand in kernel.operands():
        part = str(operand.part)
        if operand.descriptor:
            descriptors[part] = operand.descriptor
        elif operand.part == "address":
            sources[part] = 1
        elif vector := Vector.of(kernel.variant, name):
            if operand.role != "destination" and not kernel.accesses:
                sources[part] = vector.words
            if operand.role != "source":
                results += vector.words
    values = {str(kernel.instruction.operands[name].part): value for name, value in kernel.immediates.items()}
    return Raw(kernel.name, kernel.variant, descriptors, values, kernel.threads, sources, results)
