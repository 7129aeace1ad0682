"""A raw kernel with its multiplicands laid out for probing: element codes in, numbers of D out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...spec.descriptor import encode
from ...spec.specification import Specification
from ..raw_kernel import Batch, Launcher, MemoryElements, Raw, elements, numbers, words

__all__ = ["Bench", "plain_descriptor"]

_LINE = 16  # bytes of a row of a core matrix
_ALIGNED = 1024
Codes = NDArray[np.integer]


def plain_descriptor(specification: Specification, start: int, row_bytes: int) -> int:
    """The descriptor of a K-major matrix without swizzling whose core matrices lie one after another."""
    return encode(
        specification.descriptors["wgmma"],
        {
            "start-address": start,
            "leading-dimension-byte-offset": 8 * _LINE,
            "stride-dimension-byte-offset": 8 * row_bytes,
        },
    )


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
        fields = kernel.variant.fields
        operands = kernel.form.operands
        a = b = None
        a_descriptor = b_descriptor = top = 0
        if "a-desc" in operands:
            packed = 2 if kernel.variant.row.row.sparsity else 1
            row = int(fields["k"]) * kernel.width("A") // 8 // packed
            a = MemoryElements(0, kernel.width("A"), int(fields["m"]) * row)
            a_descriptor = plain_descriptor(specification, 0, row)
            top = -(-a.bytes // _ALIGNED) * _ALIGNED
        if "b-desc" in operands:
            width = specification.index.types[str(fields["btype"])].bits
            row = int(fields["k"]) * width // 8
            b = MemoryElements(top, width, int(fields["n"]) * row)
            b_descriptor = plain_descriptor(specification, top, row)
            top += -(-b.bytes // _ALIGNED) * _ALIGNED
        return cls(specification, kernel, launcher, unit, a, b, a_descriptor, b_descriptor, top)

    def count(self, letter: str) -> int:
        """How many elements an operand has."""
        memory = {"A": self.a, "B": self.b}.get(letter)
        return memory.bytes * 8 // memory.width if memory else self.kernel.count(letter)

    def one(self, letter: str) -> int:
        """The code of 1."""
        if letter == "B" and self.b:
            return self.unit(str(self.kernel.variant.fields["btype"]))
        return self.unit(self.kernel.holds(letter))

    @cached_property
    def accumulator(self) -> str:
        """The operand that is added: C, or D where it is both."""
        return "C" if "c" in self.kernel.sources else "D"

    @property
    def metadata(self) -> str | None:
        """The operand that holds the metadata."""
        return next((name for name in ("sp-meta", "e") if name in self.kernel.sources), None)

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
                inputs[:, :, kernel.place(letter.lower())] = packed[which]
        if c is not None:
            letter = self.accumulator
            packed = words(c.reshape(len(c), kernel.threads, -1), kernel.width(letter))
            inputs[:, :, kernel.place(letter.lower())] = packed
        if self.metadata and metadata is not None:
            inputs[:, :, kernel.place(self.metadata)] = metadata[..., None]
        batch = Batch.of(
            inputs, images, image=np.arange(jobs) if self.b else 0, a=self.a_descriptor, b=self.b_descriptor
        )
        return self.launcher.launch(kernel, batch)

    def values(self, result: NDArray[np.uint32]) -> NDArray[np.float64]:
        """D as numbers, (jobs, elements)."""
        return numbers(result, self.kernel.holds("D"))

    def patterns(self, result: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """D as bit patterns, (jobs, elements)."""
        return elements(result, self.kernel.width("D")).reshape(len(result), -1)


def _rows(codes: Codes, jobs: int) -> Codes:
    """Which row of codes each job takes: its own, or the only one."""
    return np.zeros(jobs, np.int64) if len(codes) == 1 else np.arange(jobs)
