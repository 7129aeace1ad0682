"""Structured sparsity: compress a matrix to packed elements and metadata codes, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from .errors import Question
from .expressions import compiled
from .maps import LayoutMap
from .sparsity_records import Sparsity

__all__ = [
    "choose_code",
    "compress_row",
    "decompress_row",
    "metadata_words",
    "positions",
    "read_words",
    "valid_codes",
]

T = TypeVar("T")


def positions(sparsity: Sparsity, code: int) -> tuple[int, ...]:
    """For each stored element, its column in the chunk."""
    position = compiled(sparsity.position.tree, ("code", "slot"))
    return tuple(position(code, slot) for slot in range(sparsity.slots))


def valid_codes(sparsity: Sparsity, setting: str) -> tuple[int, ...]:
    """Every code that a setting of the reading `metadata-order` allows."""
    valid = compiled(sparsity.valid[setting].tree, ("code",))
    return tuple(code for code in range(1 << sparsity.code_bits) if valid(code))


def choose_code(sparsity: Sparsity, occupied: Sequence[bool]) -> int | None:
    """The first code that stores every occupied column of a chunk; None when there is none."""
    wanted = {column for column, taken in enumerate(occupied) if taken}
    return next((code for code in sparsity.codes if wanted <= set(positions(sparsity, code))), None)


def _runs(sparsity: Sparsity, taken: Sequence[bool]) -> int:
    """How many of a chunk's runs hold something."""
    return sum(any(taken[at : at + sparsity.run]) for at in range(0, sparsity.chunk, sparsity.run))


def compress_row(
    sparsity: Sparsity, row: Sequence[T], occupied: Callable[[T], bool], name: str = "row"
) -> tuple[list[T], list[int]]:
    """The packed elements of one row and the code of each chunk.

    `occupied` says which elements must be stored (−0.0 is a value, only +0 is absent). Raises
    Question naming the chunk that has too many.
    """
    packed: list[T] = []
    codes: list[int] = []
    for start in range(0, len(row), sparsity.chunk):
        chunk = row[start : start + sparsity.chunk]
        taken = [occupied(value) for value in chunk]
        code = choose_code(sparsity, taken)
        if code is None:
            what = "non-zero elements" if sparsity.run == 1 else f"non-zero runs of {sparsity.run} elements"
            raise Question(
                f"{name}, chunk {start // sparsity.chunk} (columns {start}..{start + sparsity.chunk - 1})"
                f" has {_runs(sparsity, taken)} {what}; it may have {sparsity.indices} ({sparsity.title})"
            )
        packed += [chunk[position] for position in positions(sparsity, code)]
        codes.append(code)
    return packed, codes


def decompress_row(
    sparsity: Sparsity,
    packed: Sequence[T],
    codes: Sequence[int],
    valid: Sequence[int],
    zero: T,
    name: str = "row",
) -> list[T]:
    """The full row; raises Question naming a chunk whose code is not one of the valid ones."""
    row: list[T] = []
    for number, code in enumerate(codes):
        if code not in valid:
            allowed = ", ".join(f"0b{c:0{sparsity.code_bits}b}" for c in valid)
            raise Question(
                f"{name}, chunk {number}: the code 0b{code:0{sparsity.code_bits}b} is not valid; "
                f"valid are {allowed}"
            )
        chunk = [zero] * sparsity.chunk
        for slot, position in enumerate(positions(sparsity, code)):
            chunk[position] = packed[number * sparsity.slots + slot]
        row += chunk
    return row


def _bit_positions(
    layout: LayoutMap, parameters: Mapping[str, int]
) -> list[tuple[int, int, int, int, int, int]]:
    return [
        (thread, bit, row, chunk, slot, index_bit)
        for thread, bit, row, chunk, slot, index_bit in layout.points(parameters)
    ]


def metadata_words(
    sparsity: Sparsity,
    layout: LayoutMap,
    parameters: Mapping[str, int],
    codes: Sequence[Sequence[int]],
) -> list[int]:
    """One 32-bit metadata word a thread, from the code of every (row, chunk)."""
    words = [0] * layout.domain(parameters)["t"]
    for thread, bit, row, chunk, slot, index_bit in _bit_positions(layout, parameters):
        value = codes[row][chunk] >> (slot * sparsity.index_bits + index_bit) & 1
        words[thread] |= value << bit
    return words


def read_words(
    sparsity: Sparsity, layout: LayoutMap, parameters: Mapping[str, int], words: Sequence[int]
) -> list[list[int]]:
    """The code of every (row, chunk), from one metadata word a thread."""
    shape = layout.shape(parameters)
    codes = [[0] * shape["chunk"] for _ in range(shape["row"])]
    for thread, bit, row, chunk, slot, index_bit in _bit_positions(layout, parameters):
        value = words[thread] >> bit & 1
        codes[row][chunk] |= value << (slot * sparsity.index_bits + index_bit)
    return codes
