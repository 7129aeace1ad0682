"""A trial: many sums of products of one kernel, on inputs drawn by number, beside the arithmetic of the chip.

The specification's layouts say where elements lie in registers and in shared memory; the text that draws and
compares comes from gen.trials and runs on a GPU, or compiled as C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..gen.kernels.kernel_list import Kernel
from ..gen.kernels.raw_ptx import CONFIG, strided_matrices
from ..gen.point_arrays import point_array
from ..gen.trials.trial_text import DISTRIBUTIONS, INTEGER_DISTRIBUTIONS, TrialText
from ..spec.addresses import DescribedMatrix
from ..spec.arithmetic_records import ChipCodes
from ..spec.chip_arithmetic import ChipArithmetic
from ..spec.chip_codes import parts_met
from ..spec.sparse import positions
from ..spec.specification import Specification
from .arrays import Ints
from .gpu import configuration
from .probes.probe_bench import matrices_in_memory, plain, stored_columns
from .raw_kernel import Batch, MemoryElements, Raw, of_kernel

__all__ = ["SumDifference", "Trial", "TrialCounts"]

_KEPT = 8  # differences that come back
_OWN = 0x8000_0000  # the word of a configuration that stands for the job's number
_WORD = 32


@dataclass(frozen=True)
class SumDifference:
    """A sum that differed: its tile and place, the bit patterns, what came and what the model gives."""

    tile: int
    row: int
    column: int
    c: int
    got: int
    expected: int
    a: tuple[int, ...] = ()
    b: tuple[int, ...] = ()


@dataclass(frozen=True)
class TrialCounts:
    """How many sums were compared and how many differed, by distribution; the first that differed."""

    compared: Mapping[str, int]
    different: Mapping[str, int]
    differences: tuple[SumDifference, ...] = ()

    @property
    def total(self) -> int:
        """How many sums were compared."""
        return sum(self.compared.values())

    @property
    def misses(self) -> int:
        """How many differed."""
        return sum(self.different.values())


@dataclass(frozen=True)
class Trial:
    """One raw kernel, and the arithmetic that it is held against.

    Where `invalid` says what metadata codes do on the chip, those that the text calls invalid are drawn.
    """

    specification: Specification
    kernel: Kernel
    arithmetic: ChipArithmetic
    invalid: ChipCodes | None = None

    @cached_property
    def raw(self) -> Raw:
        """The kernel's words."""
        return of_kernel(self.kernel)

    @property
    def accumulator(self) -> str:
        """The operand that is added: C, or D where D is also the input."""
        return "C" if "C" in self.raw.sources or "C" in self.kernel.accesses else "D"

    @cached_property
    def _memory(self) -> tuple[dict[str, MemoryElements], dict[str, int], int]:
        if not self.kernel.accesses:
            return matrices_in_memory(self.specification, self.raw)
        given = {part: one for part, one in strided_matrices(self.kernel).items() if part != "D"}
        memory = {part: MemoryElements(one.first, one.bits, one.bytes) for part, one in given.items()}
        return memory, {}, max(one.start + one.bytes for one in memory.values())

    @cached_property
    def image_bytes(self) -> int:
        """The bytes of memory that a job has for matrices."""
        return self._memory[2]

    @cached_property
    def _shape(self) -> tuple[int, int, int, int]:
        """How many products a job has at once; rows, columns and k of one."""
        fields = self.kernel.variant.fields
        m, n, k = (int(fields[name]) for name in "mnk")
        if self.kernel.accesses:
            return 1, m, n, k
        layout = self.specification.layout_of(self.kernel.variant, "D")
        return int(fields["products"]) if "product" in layout.outputs else 1, m, n, k

    @cached_property
    def sums(self) -> int:
        """How many sums a job has."""
        products, m, n, _ = self._shape
        return products * m * n

    def _lines(self, letter: str) -> Ints:
        """For every place of an operand, its line and the number along it: (places, 2)."""
        _, m, n, k = self._shape
        if self.kernel.accesses:
            return self._strided(letter)
        stored = stored_columns(self.specification, self.raw)
        memory = self._memory[0].get(letter)
        if memory is not None:
            rows, columns = (m, stored) if letter == "A" else (n, k)
            return self._stored(letter, rows, columns)
        layout = self.specification.layout_of(self.kernel.variant, letter)
        parameters = {name: int(self.kernel.variant.fields[name]) for name in layout.parameters}
        names = (*layout.inputs, *layout.outputs)
        columns_of = dict(zip(names, point_array(layout, parameters).T, strict=True))
        product = columns_of.get("product", np.zeros(1, np.int64))
        row, column = columns_of["row"], columns_of["col"]
        line, along = (product * n + column, row) if letter == "B" else (product * m + row, column)
        flat = columns_of["t"] * (self.raw.count(letter) // self.raw.threads) + columns_of["i"]
        found = np.zeros((self.raw.count(letter), 2), np.int64)
        found[flat] = np.stack(np.broadcast_arrays(line, along), axis=1)
        return found

    def _strided(self, letter: str) -> Ints:
        """The same of a matrix whose rows or columns follow one another."""
        matrix = strided_matrices(self.kernel)[letter]
        row, column = np.indices((matrix.rows, matrix.columns))
        lines = (column, row) if letter == "B" else (row, column)
        both = np.stack(lines, axis=2)
        return (both if matrix.by_rows else both.swapaxes(0, 1)).reshape(-1, 2)

    def _stored(self, letter: str, rows: int, columns: int) -> Ints:
        """The same of a matrix in shared memory."""
        memory, kind = self._memory[0][letter], self.raw.descriptors[letter]
        width = memory.width
        each = max(1, 8 // width)
        matrix = DescribedMatrix.of(
            self.specification.rules_of(kind),
            self.specification.layouts,
            self.specification.addresses.swizzle,
            self.specification.descriptors[kind],
            plain(self.specification, kind, 0, memory.bytes // rows, width),
            "K",
            max(1, width // 8),
        )
        line, along = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        at = (8 * matrix.places(line, along // each) + along % each * width) // width
        found = np.zeros((rows * columns, 2), np.int64)
        found[at.reshape(-1)] = np.stack([line.reshape(-1), along.reshape(-1)], axis=1)
        return found

    @cached_property
    def codes(self) -> tuple[int, ...]:
        """The codes of metadata that are drawn; one that means nothing for a dense kernel."""
        variant = self.kernel.variant
        if not variant.row.row.sparsity:
            return (0,)
        valid = self.specification.codes_of(variant)
        if self.invalid is None:
            return tuple(valid)
        every = range(1 << self.specification.sparsity_of(variant).code_bits)
        return tuple(code for code in every if code not in valid)

    @property
    def _pieces(self) -> int:
        """Of how many parts of B's elements one that is met is put together."""
        return self.invalid.pieces if self.invalid else 1

    @cached_property
    def tables(self) -> Mapping[str, NDArray[np.integer]]:
        """The arrays that trial.h reads: what lies at each place, where each element lies, the metadata."""
        _, _, n, k = self._shape
        depth = {"A": stored_columns(self.specification, self.raw), "B": k, "C": n, "D": n}
        found: dict[str, NDArray[np.integer]] = {}
        for part in "ABCD":
            letter = self.accumulator if part == "C" else part
            lines = self._lines(letter)
            inverse = np.zeros(len(lines), np.uint32)
            inverse[lines[:, 0] * depth[part] + lines[:, 1]] = np.arange(len(lines))
            found[f"of_{part}"] = (lines[:, 0] << 16 | lines[:, 1]).astype(np.uint32)
            found[f"at_{part}"] = inverse
        found["columns"] = np.array([self._columns(code) for code in self.codes], np.uint16)
        found["metadata"] = np.array([self._metadata(code) for code in self.codes], np.uint32)
        found["config"] = self._config
        found["sums"] = np.array(self.text.record, np.int32)
        return found

    def _columns(self, code: int) -> list[int]:
        """The k that every stored element meets under a code; of elements with several parts, each part."""
        variant = self.kernel.variant
        if not variant.row.row.sparsity:
            return list(range(self._shape[3]))
        sparsity = self.specification.sparsity_of(variant)
        chunks = range(0, self._shape[3], sparsity.chunk)
        if self.invalid is None:
            return [start + at for start in chunks for at in positions(sparsity, code)]
        met = [part for parts in parts_met(self.invalid, sparsity, code) for part in parts]
        return [self._pieces * start + part for start in chunks for part in met]

    def _metadata(self, code: int) -> int:
        """A word that holds a code again and again."""
        variant = self.kernel.variant
        if not variant.row.row.sparsity:
            return 0
        bits = self.specification.sparsity_of(variant).code_bits
        return sum(code << at for at in range(0, _WORD, bits))

    @property
    def _config(self) -> NDArray[np.uint32]:
        """A job's configuration; what is the job's number has a mark."""
        _, descriptors, size = self._memory
        image = np.zeros((1, max(size, 16)), np.uint8)
        inputs = np.zeros((1, self.raw.threads, self.raw.words), np.uint32)
        batch = Batch.of(inputs, image, a=descriptors.get("A", 0), b=descriptors.get("B", 0))
        config: NDArray[np.uint32] = configuration(self.raw, batch, image.shape[1])[0]
        config[CONFIG.index("input")] = _OWN
        config[CONFIG.index("image")] = _OWN if size else 0
        return config

    @cached_property
    def text(self) -> TrialText:
        """The text that draws and compares."""
        products, m, n, k = self._shape
        memory = self._memory[0]
        sizes = {
            "COUNT": self.arithmetic.products,
            "PRODUCTS": products,
            "ROWS": products * m,
            "WIDTH": n,
            "DEPTH": k,
            "THREADS": self.raw.threads,
            "WORDS": max(1, self.raw.words),
            "RESULTS": self.raw.results,
            "IMAGE": self.image_bytes // 4,
            "CONFIG": len(CONFIG),
            "VALID": len(self.codes),
            "PIECES": self._pieces,
            "SPARSE": int(bool(self.kernel.variant.row.row.sparsity)),
            "KEPT": _KEPT,
        }
        for part in "ABC":
            letter = self.accumulator if part == "C" else part
            held = letter in self.raw.sources
            place = self.raw.place(letter) if held else slice(0, 0)
            sizes[f"REGISTERS_{part}"] = place.stop - place.start
            sizes[f"FIRST_{part}"] = place.start if held else memory[letter].start
            sizes[f"WORDS_{part}"] = 0 if held else memory[letter].bytes // 4
        for part in "ABCD":
            sizes[f"BITS_{part}"] = self.raw.width(self.accumulator if part == "C" else part)
        return TrialText(self.specification, self.arithmetic, sizes)

    @property
    def distributions(self) -> tuple[str, ...]:
        """What each distribution is called, by its number: the counts of those of one name are added."""
        record = self.tables["sums"]
        if record[1]:  # A has an exponent
            return DISTRIBUTIONS
        return tuple(INTEGER_DISTRIBUTIONS[i % len(INTEGER_DISTRIBUTIONS)] for i in range(len(DISTRIBUTIONS)))

    @property
    def counted_words(self) -> int:
        """The 64-bit words of the counts."""
        return 2 * len(DISTRIBUTIONS) + 1

    @property
    def difference_words(self) -> int:
        """The 64-bit words of the differences that are kept."""
        return _KEPT * (6 + 2 * self.arithmetic.products)

    def outcome(self, counts: NDArray[np.uint64], differences: NDArray[np.uint64]) -> TrialCounts:
        """What the words of the counts and of the differences say."""
        number, names = len(DISTRIBUTIONS), self.distributions
        compared, different = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for i, name in enumerate(names):
            compared[name] += int(counts[i])
            different[name] += int(counts[number + i])
        products = self.arithmetic.products
        kept = differences.reshape(_KEPT, -1)[: min(_KEPT, int(counts[2 * number]))]
        first = tuple(
            SumDifference(
                tile, row, column, c, got, expected, tuple(codes[:products]), tuple(codes[products:])
            )
            for tile, row, column, c, got, expected, *codes in kept.tolist()
        )
        return TrialCounts(compared, different, tuple(sorted(first, key=lambda one: one.tile)))
