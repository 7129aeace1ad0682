"""Sparse matrices as arrays: compress and decompress any multiple of A (9.7.14.6, 9.7.15.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spec.errors import Question
from ..spec.maps import LayoutMap
from ..spec.sparse import choose_code, compress_row, positions
from ..spec.sparsity_records import Sparsity
from ..spec.specification import Specification
from ..spec.variants import Variant
from .point_arrays import point_array

__all__ = ["SparseA"]

Array = NDArray[Any]


@dataclass(frozen=True)
class SparseA:
    """The sparse multiplicand A of a variant, for one sparsity selector.

    A matrix may have any multiple of the tile's m rows and k columns. The metadata are 32-bit words,
    (row tiles, column tiles, threads): the words of a tile are those that its instruction takes.
    """

    specification: Specification
    variant: Variant
    selector: int = 0

    def __post_init__(self) -> None:
        """Raise Question for a variant whose mnemonic does not say how A is coded."""
        self.specification.sparsity_of(self.variant)

    @cached_property
    def sparsity(self) -> Sparsity:
        return self.specification.sparsity_of(self.variant)

    @cached_property
    def layout(self) -> LayoutMap:
        return self.specification.layout_of(self.variant, "metadata")

    @cached_property
    def parameters(self) -> dict[str, int]:
        return self.specification.selector_parameters(self.layout, self.selector)

    @property
    def selectors(self) -> tuple[int, ...]:
        """The selectors that the instruction may have."""
        choice = self.layout.layout.params.get("s")
        return tuple(map(int, choice.values)) if choice else (0,)

    @property
    def m(self) -> int:
        return int(self.variant.fields["m"])

    @property
    def k(self) -> int:
        """The columns of the full tile; the packed one has `packed_k`."""
        return int(self.variant.fields["k"])

    @property
    def packed_k(self) -> int:
        return self.k * self.sparsity.slots // self.sparsity.chunk

    @property
    def threads(self) -> int:
        return self.layout.domain(self.parameters)["t"]

    @cached_property
    def _positions(self) -> NDArray[np.intp]:
        """(codes, slots): the column of a chunk that each stored element belongs to."""
        codes = range(1 << self.sparsity.code_bits)
        return np.array([positions(self.sparsity, code) for code in codes], np.intp)

    @cached_property
    def _bits(self) -> tuple[Array, Array, Array, Array, Array]:
        """Of every metadata bit: thread, bit, row, chunk, and its place in the code of the chunk."""
        thread, bit, row, chunk, slot, index_bit = point_array(self.layout, self.parameters).T
        return thread, bit, row, chunk, slot * self.sparsity.index_bits + index_bit

    def compress(self, matrix: Array) -> tuple[Array, NDArray[np.uint32]]:
        """Packed A, and the metadata words; the bit pattern of every stored element survives.

        Only +0 counts as absent: −0.0 and NaN are values. Raises Question for a shape that is not a
        multiple of the tile, and for a chunk with too many values, by row and columns.
        """
        tiles = self._tiles(matrix.shape, self.k, "the matrix")
        rows, chunk = matrix.shape[0], self.sparsity.chunk
        chunks = _patterns(matrix).reshape(rows, -1, chunk)
        occupied = (chunks != 0) @ (1 << np.arange(chunk))
        found = self._codes[occupied]
        if (found < 0).any():
            number = int(np.argwhere((found < 0).any(1))[0, 0])
            compress_row(self.sparsity, _patterns(matrix)[number].tolist(), bool, f"row {number}")
        packed = np.take_along_axis(chunks, self._positions[found], 2).reshape(rows, -1)
        return packed.view(matrix.dtype), self._words(found, tiles)

    def decompress(self, packed: Array, words: Array) -> Array:
        """The full matrix; raises Question for other shapes, and for a code that the text does not allow.

        The words are (row tiles, column tiles, threads), or flat in that order.
        """
        codes = self._codes_of(packed, words)
        chunks = np.zeros((*codes.shape, self.sparsity.chunk), f"u{packed.dtype.itemsize}")
        stored = _patterns(packed).reshape(*codes.shape, self.sparsity.slots)
        np.put_along_axis(chunks, self._positions[codes], stored, 2)
        return chunks.reshape(len(packed), -1).view(packed.dtype)

    def columns(self, packed: Array, words: Array) -> NDArray[np.intp]:
        """The column of the full matrix that each stored element belongs to."""
        codes = self._codes_of(packed, words)
        starts = np.arange(codes.shape[1]) * self.sparsity.chunk
        return (self._positions[codes] + starts[None, :, None]).reshape(len(packed), -1)

    def _codes_of(self, packed: Array, words: Array) -> NDArray[np.intp]:
        """The code of every (row, chunk); raises Question for other shapes, and for an invalid code."""
        tiles = self._tiles(packed.shape, self.packed_k, "packed A")
        shape = *tiles, self.threads
        if words.shape not in (shape, (prod(shape),)) or words.dtype.kind not in "ui":
            wanted, given = (" x ".join(map(str, sizes)) or "one" for sizes in (shape, words.shape))
            raise Question(
                f"the metadata must be {wanted} integers (row tiles x column tiles x threads), "
                f"not {given} of {words.dtype}"
            )
        if words.max() >= 1 << 32 or words.min() < -(1 << 31):
            raise Question("a metadata word has more than 32 bits")
        codes = self._read(words.reshape(shape).astype(np.uint64))
        self._check(codes)
        return codes

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        """The code of a chunk by the bits of its occupied columns; −1 where no code stores them all."""
        chunk = self.sparsity.chunk
        codes = (
            choose_code(self.sparsity, [bool(taken >> column & 1) for column in range(chunk)])
            for taken in range(1 << chunk)
        )
        return np.array([-1 if code is None else code for code in codes], np.intp)

    def _tiles(self, shape: tuple[int, ...], columns: int, what: str) -> tuple[int, int]:
        if len(shape) != 2 or not all(shape) or shape[0] % self.m or shape[1] % columns:
            given, name = " x ".join(map(str, shape)) or "one number", self.variant.mnemonic
            raise Question(f"{what} is {given}; for {name} it must be a multiple of {self.m} x {columns}")
        return shape[0] // self.m, shape[1] // columns

    def _words(self, codes: Array, tiles: tuple[int, int]) -> NDArray[np.uint32]:
        thread, bit, row, chunk, place = self._bits
        by_tile = codes.reshape(tiles[0], self.m, tiles[1], -1).swapaxes(1, 2)
        values = (by_tile[:, :, row, chunk] >> place & 1) << bit
        words = np.zeros((*tiles, self.threads), np.uint32)
        np.add.at(words.transpose(2, 0, 1), thread, values.astype(np.uint32).transpose(2, 0, 1))
        return words

    def _read(self, words: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The code of every (row, chunk) of the whole matrix."""
        thread, bit, row, chunk, place = self._bits
        values = (words[:, :, thread] >> bit.astype(np.uint64) & np.uint64(1)).astype(np.intp) << place
        tiles = words.shape[:2]
        chunks = self.k // self.sparsity.chunk
        codes = np.zeros((self.m * chunks, *tiles), np.intp)
        np.add.at(codes, row * chunks + chunk, values.transpose(2, 0, 1))
        codes = codes.transpose(1, 2, 0).reshape(*tiles, self.m, chunks)
        return codes.swapaxes(1, 2).reshape(tiles[0] * self.m, -1)

    def _check(self, codes: NDArray[np.intp]) -> None:
        valid = self.specification.codes_of(self.variant)
        wrong = np.argwhere(~np.isin(codes, valid))
        if wrong.size:
            row, chunk = map(int, wrong[0])
            wide = self.sparsity.code_bits
            allowed = ", ".join(f"0b{code:0{wide}b}" for code in valid)
            raise Question(
                f"row {row}, chunk {chunk}: the code 0b{codes[row, chunk]:0{wide}b} is not valid "
                f"(with selector {self.selector}); valid are {allowed}"
            )


def _patterns(array: Array) -> Array:
    """The elements as unsigned integers of the same width."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
