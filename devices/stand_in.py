"""A stand-in for a GPU: it runs raw kernels by the specification's layouts.

The probes are tested with it. Given a wrong layout, a probe must find that one, not the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..gen.point_arrays import point_array
from ..spec.addresses import DescribedMatrix
from ..spec.descriptor import fields_of
from ..spec.errors import Question
from ..spec.maps import LayoutMap
from ..spec.parts import computes
from ..spec.sparse import positions
from ..spec.specification import Specification
from .arrays import Ints
from .gpu import DeviceFault
from .probes.codes import decode, number_type
from .probes.probe_bench import stored_columns
from .raw_kernel import Batch, Raw, elements

__all__ = ["StandIn"]


@dataclass
class StandIn:
    """Runs raw kernels; `layouts` stand in for the specification's where they have its ids.

    `sums` adds up products and the accumulator, and may do so as inexactly as a chip.
    """

    specification: Specification
    layouts: Mapping[str, LayoutMap] = field(default_factory=dict)
    sums: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]] | None = None

    def launch(self, kernel: Raw, batch: Batch) -> NDArray[np.uint32]:
        """The registers of D of every job."""
        if computes(kernel.variant.instruction):
            return self._products(kernel, batch)
        return self._matrices(kernel, batch)

    def _layout(self, kernel: Raw, letter: str) -> LayoutMap:
        identifier = kernel.variant.layouts[letter]
        return self.layouts.get(identifier) or self.specification.layouts[identifier]

    def _points(self, kernel: Raw, letter: str) -> tuple[NDArray[np.int64], Mapping[str, int]]:
        layout = self._layout(kernel, letter)
        parameters = {name: int(kernel.variant.fields[name]) for name in layout.parameters}
        return point_array(layout, parameters), layout.shape(parameters)

    def _flat(self, kernel: Raw, letter: str) -> Ints:
        """For every (thread, element), its place in the fragment: row by row, product after product."""
        points, shape = self._points(kernel, letter)
        columns = dict(zip(shape, points[:, 2:].T, strict=True))
        where = np.zeros(len(points), np.int64)
        for name in ("product", "row", "col"):
            if name in shape:
                where = where * shape[name] + columns[name]
        return where

    def _products(self, kernel: Raw, batch: Batch) -> NDArray[np.uint32]:
        fields = kernel.variant.fields
        m, n, k = (int(fields[name]) for name in "mnk")
        count = int(fields.get("products", 1))
        sparse = kernel.variant.row.row.sparsity
        packed = stored_columns(self.specification, kernel)
        inputs = batch.inputs[batch.input]
        jobs = len(batch)

        def fragment(letter: str, rows: int, columns: int) -> NDArray[np.uint64]:
            words = inputs[:, :, kernel.place(letter)]
            codes = np.zeros((jobs, count * rows * columns), np.uint64)
            packed = elements(np.ascontiguousarray(words), kernel.width(letter))
            codes[:, self._flat(kernel, letter)] = packed.reshape(jobs, -1)
            return codes.reshape(jobs, count, rows, columns)

        if "A" in kernel.sources:
            a_codes = fragment("A", m, packed)
        else:
            a_codes = self._shared(kernel, batch, "A", batch.a, m, packed)[:, None]
        if "B" in kernel.sources:
            b_codes = fragment("B", k, n)
        else:
            b_codes = self._shared(kernel, batch, "B", batch.b, n, k).transpose(0, 2, 1)[:, None]
        a = decode(self.specification, kernel.holds("A"), a_codes)
        b = decode(self.specification, kernel.holds("B"), b_codes)
        letter = "C" if "C" in kernel.sources else "D"
        c = decode(self.specification, kernel.holds(letter), fragment(letter, m, n))
        c = np.where(batch.scale[:, None, None, None] != 0, c, 0)
        if sparse:
            codes = self._codes(kernel, inputs, m, k)
            if self.specification.sparsities[sparse].granule > 1:
                met = decode(self.specification, kernel.holds("B"), _halves(codes, b_codes[:, 0]))
                with np.errstate(invalid="ignore"):
                    total = (a[:, 0, :, :, None] * met).sum(axis=2)[:, None] + c
                return self._stored(kernel, total)
            a = self._spread(kernel, codes, a[:, 0], k)[:, None]
        if "xor" in str(fields.get("op", "none")):
            total = a.sum(axis=3)[..., None] + b.sum(axis=2)[:, :, None, :] - 2 * (a @ b) + c
        else:
            with np.errstate(invalid="ignore"):
                total = self.sums(a[..., None] * b[:, :, None], c) if self.sums else a @ b + c
        return self._stored(kernel, total)

    def _stored(self, kernel: Raw, total: NDArray[np.float64]) -> NDArray[np.uint32]:
        """The registers that hold a D."""
        jobs = len(total)
        flat = total.reshape(jobs, -1)[:, self._flat(kernel, "D")]
        with np.errstate(over="ignore"):
            words = np.ascontiguousarray(flat.astype(number_type(self.specification, kernel.holds("D"))))
        return words.view(np.uint32).reshape(jobs, kernel.threads, kernel.results)

    def _codes(self, kernel: Raw, inputs: NDArray[np.uint32], rows: int, k: int) -> Ints:
        """The code of every (job, row, chunk), from the metadata."""
        sparsity = self.specification.sparsity_of(kernel.variant)
        layout = self._layout(kernel, "metadata")
        parameters = self.specification.selector_parameters(layout, kernel.values.get("selector", 0))
        words = inputs[:, :, kernel.place("metadata")][:, :, 0].astype(np.int64)
        codes = np.zeros((len(inputs), rows, k // sparsity.chunk), np.int64)
        for thread, bit, row, chunk, slot, index_bit in layout.points(parameters):
            codes[:, row, chunk] |= (words[:, thread] >> bit & 1) << (slot * sparsity.index_bits + index_bit)
        return codes

    def _spread(self, kernel: Raw, codes: Ints, a: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Packed A at full width; an element whose position occurs twice is added twice."""
        sparsity = self.specification.sparsity_of(kernel.variant)
        rows, chunks = codes.shape[1:]
        table = np.array([positions(sparsity, code) for code in range(1 << sparsity.code_bits)])
        at = table[codes] + (np.arange(chunks) * sparsity.chunk)[:, None]
        full = np.zeros((len(a), rows, k))
        job, row = np.ogrid[: len(a), :rows]
        flat = at.reshape(len(a), rows, -1)
        for column in range(flat.shape[2]):
            np.add.at(full, (job, row, flat[:, :, column]), a[:, :, column])
        return full

    def _shared(
        self, kernel: Raw, batch: Batch, letter: str, descriptors: NDArray[np.uint64], rows: int, columns: int
    ) -> NDArray[np.uint64]:
        """The codes of the matrix (rows, columns) behind each job's descriptor."""
        width = kernel.width(letter)
        transposed = kernel.values.get(f"transpose-{letter}", 0)
        result = np.zeros((len(batch), rows, columns), np.uint64)
        for descriptor in np.unique(descriptors):
            chosen = np.flatnonzero(descriptors == descriptor)
            kind = kernel.descriptors[letter]
            try:
                bits = self._bits(kind, int(descriptor), width, bool(transposed), rows, columns)
            except Question:
                continue  # without such a mode, it finds nothing
            images = batch.images[batch.image[chosen]]
            if bits.max() // 8 >= images.shape[1]:
                raise DeviceFault("an element lies outside of shared memory", lost=True)
            codes = np.zeros((len(chosen), rows, columns), np.int64)
            for byte in range(max(1, width // 8)):
                codes |= images[:, bits // 8 + byte].astype(np.int64) << (8 * byte)
            if width < 8:
                codes = codes >> (bits % 8) & ((1 << width) - 1)
            result[chosen] = codes
        return result

    @lru_cache(maxsize=256)  # noqa: B019
    def _bits(self, kind: str, word: int, width: int, transposed: bool, rows: int, columns: int) -> Ints:
        specification = self.specification
        each = max(1, 8 // width)
        matrix = DescribedMatrix.of(
            specification.rules_of(kind),
            {**specification.layouts, **self.layouts},
            specification.addresses.swizzle,
            specification.descriptors[kind],
            fields_of(specification.descriptors[kind], word),
            "MN" if transposed else "K",
            max(1, width // 8),
        )
        x, k = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        table: Ints = 8 * matrix.places(x, k // each) + k % each * width
        return table

    __hash__ = object.__hash__

    def _matrices(self, kernel: Raw, batch: Batch) -> NDArray[np.uint32]:
        inputs = batch.inputs[batch.input]
        jobs = len(batch)
        if "address" not in kernel.sources:
            source, destination = (self._points(kernel, letter)[0] for letter in "AD")
            halves = np.ascontiguousarray(inputs).view("<u2").reshape(jobs, -1)
            place = {(row, col): t * 2 + i for t, i, row, col in source}
            order = np.array([place[row, col] for _, _, row, col in destination])
            return np.ascontiguousarray(halves[:, order]).view("<u4").reshape(jobs, kernel.threads, -1)
        given = inputs[:, :, kernel.place("address")][:, :, 0].astype(np.int64)
        letter = "D" if kernel.results else "A"
        points, _ = self._points(kernel, letter)
        at = given[:, points[:, 2]] // 2 + points[:, 3]
        memory = np.ascontiguousarray(batch.images[batch.image]).view("<u2").copy()
        job = np.arange(jobs)[:, None]
        if kernel.results:
            halves = np.ascontiguousarray(memory[job, at])
            return halves.view("<u4").reshape(jobs, kernel.threads, -1)
        words = np.ascontiguousarray(inputs[:, :, kernel.place(letter)])
        memory[job, at] = words.view("<u2").reshape(jobs, -1)
        return memory.view("<u4").reshape(jobs, 1, -1)


def _halves(codes: Ints, b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What (row, packed column) meets in each column of B: the two halves that a 4-bit code picks from the
    four of a chunk. Two codes of the sixteen pick an element of B as it is; a chip does this with all."""
    jobs, _, chunks = codes.shape
    low, high = b & np.uint64(0xFFFF), b >> np.uint64(16)
    four = np.stack([low, high], axis=2).reshape(jobs, chunks, 4, -1)
    job, chunk = np.arange(jobs)[:, None, None], np.arange(chunks)
    upper, lower = four[job, chunk, codes >> 2], four[job, chunk, codes & 3]
    halves: NDArray[np.uint64] = upper << np.uint64(16) | lower
    return halves
