"""A bench for probes: a raw kernel with its multiplicands laid out; codes go in, numbers of D come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...spec.addresses import plain_fields
from ...spec.descriptor import encode
from ...spec.specification import Specification
from ..raw_kernel import Batch, Launcher, MemoryElements, Raw, elements, numbers, words
from .codes import number_type

__all__ = ["Bench", "matrices_in_memory", "plain", "plain_descriptor", "stored_columns"]

_ALIGNED = 1024
Codes = NDArray[np.integer]


def plain_descriptor(specification: Specification, kind: str, start: int, row: int, width: int) -> int:
    """The descriptor of a K-major matrix at `start` without swizzling: rows of `row` bytes, elements of
    `width` bits."""
    return encode(specification.descriptors[kind], plain(specification, kind, start, row, width))


def plain(specification: Specification, kind: str, start: int, row: int, width: int) -> dict[str, int]:
    """The fields of such a descriptor."""
    return plain_fields(
        specification.rules_of(kind),
        specification.layouts,
        specification.addresses.swizzle,
        specification.descriptors[kind],
        start,
        row,
        max(1, width // 8),
    )


def matrices_in_memory(
    specification: Specification, kernel: Raw
) -> tuple[dict[str, MemoryElements], dict[str, int], int]:
    """The matrices that a kernel reads from shared memory, one after another and not swizzled; their
    descriptors, and the bytes of all."""
    m, n, k = (int(kernel.variant.fields[name]) for name in "mnk")
    memory: dict[str, MemoryElements] = {}
    descriptors: dict[str, int] = {}
    top = 0
    for part, rows, columns in (("A", m, stored_columns(specification, kernel)), ("B", n, k)):
        if part in kernel.descriptors:
            width = kernel.width(part)
            row = columns * width // 8
            memory[part] = MemoryElements(top, width, rows * row)
            descriptors[part] = plain_descriptor(specification, kernel.descriptors[part], top, row, width)
            top += -(-rows * row // _ALIGNED) * _ALIGNED
    return memory, descriptors, top


@dataclass(frozen=True)
class Bench:
    """Where the elements of A, B and C are put, and how jobs are launched.

    Elements are flat: (thread, element) in registers, addresses in shared memory, in that order. `unit` is
    the code of 1 for an element type.
    """

    specification: Specification
    kernel: Raw
    launcher: Launcher
    unit: Callable[[str], int]
    a: MemoryElements | None
    b: MemoryElements | None
    a_descriptor: int
    b_descriptor: int
    size: int

    @classmethod
    def of(
        cls, specification: Specification, kernel: Raw, launcher: Launcher, unit: Callable[[str], int]
    ) -> Bench:
        """A bench with the matrices that lie in shared memory one after another, not swizzled."""
        memory, descriptors, size = matrices_in_memory(specification, kernel)
        a, b = memory.get("A"), memory.get("B")
        return cls(
            specification,
            kernel,
            launcher,
            unit,
            a,
            b,
            descriptors.get("A", 0),
            descriptors.get("B", 0),
            size,
        )

    def count(self, letter: str) -> int:
        """How many elements an operand has."""
        memory = {"A": self.a, "B": self.b}.get(letter)
        return memory.bytes * 8 // memory.width if memory else self.kernel.count(letter)

    def one(self, letter: str) -> int:
        """The code of 1."""
        return self.unit(self.kernel.holds(letter))

    @cached_property
    def accumulator(self) -> str:
        """The operand that is added: C, or D where D is also the input."""
        return "C" if "C" in self.kernel.sources else "D"

    @property
    def sparse(self) -> bool:
        """Whether metadata goes with A."""
        return "metadata" in self.kernel.sources

    def launch(
        self,
        a: Codes,
        b: Codes,
        c: Codes | None = None,
        metadata: NDArray[np.integer] | None = None,
        pairs: tuple[Codes, Codes] | None = None,
    ) -> NDArray[np.uint32]:
        """The words of D for jobs of codes: (jobs, elements) of A, of B, of C; (jobs, threads) metadata.

        One row stands for all jobs; `pairs` lists which rows of A and of B each job takes.
        """
        kernel = self.kernel
        if pairs is None:
            jobs = max(len(part) for part in (a, b, c, metadata) if part is not None)
            pairs = (_rows(a, jobs), _rows(b, jobs))
        jobs = len(pairs[0])
        inputs = np.zeros((jobs, kernel.threads, kernel.words), np.uint32)
        images = np.zeros((jobs, self.size), np.uint8) if self.b else None
        for letter, memory, codes, which in (("A", self.a, a, pairs[0]), ("B", self.b, b, pairs[1])):
            if memory is not None:
                region = memory.image(codes)
                images[:, memory.start : memory.start + region.shape[1]] = region[which]  # type: ignore[index]
            else:
                packed = words(codes.reshape(len(codes), kernel.threads, -1), kernel.width(letter))
                inputs[:, :, kernel.place(letter)] = packed[which]
        if c is not None:
            letter = self.accumulator
            packed = words(c.reshape(len(c), kernel.threads, -1), kernel.width(letter))
            inputs[:, :, kernel.place(letter)] = packed
        if self.sparse and metadata is not None:
            inputs[:, :, kernel.place("metadata")] = metadata[..., None]
        batch = Batch.of(
            inputs, images, image=np.arange(jobs) if self.b else 0, a=self.a_descriptor, b=self.b_descriptor
        )
        return self.launcher.launch(kernel, batch)

    def values(self, result: NDArray[np.uint32]) -> NDArray[np.float64]:
        """D as numbers, (jobs, elements)."""
        return numbers(result, number_type(self.specification, self.kernel.holds("D")))

    def patterns(self, result: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """D as bit patterns, (jobs, elements)."""
        return elements(result, self.kernel.width("D")).reshape(len(result), -1)


def _rows(codes: Codes, jobs: int) -> Codes:
    """Which row of codes each job takes: its own, or the only one."""
    return np.zeros(jobs, np.int64) if len(codes) == 1 else np.arange(jobs)


def stored_columns(specification: Specification, kernel: Raw) -> int:
    """How many elements of a row of A are stored: K, or of a sparse A what its metadata leaves."""
    k = int(kernel.variant.fields["k"])
    if kernel.variant.row.row.sparsity is None:
        return k
    sparsity = specification.sparsity_of(kernel.variant)
    return k * sparsity.slots // sparsity.chunk
