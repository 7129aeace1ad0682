"""The answer to a request to cancel the launch of another cluster, as a number of ours (PTX ISA 9.7.13.17).

An answer is 16 opaque bytes: only an instruction that is asked what it means can tell. Here the lower 8 say
whether a launch was canceled, and which block is the first of its cluster. The upper 8 say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Field", "answer", "asked", "is_asked_for_block"]

Field = tuple[int, int]  # some bits of an answer: the lowest, and how many

_CANCELED: Field = (0, 1)
_BLOCK: dict[str, Field] = {"x": (1, 31), "y": (32, 16), "z": (48, 16)}  # as many as a grid has blocks


def answer(block: int | None) -> int:
    """The answer that a cluster was canceled whose first block has this number along x, and 0 along the other
    axes; or that none was.
    """
    return 0 if block is None else 1 | block << _BLOCK["x"][0]


def asked(words: Sequence[str]) -> tuple[Field, ...]:
    """Which bits of an answer an instruction writes to each destination, by the words of its opcode."""
    if not is_asked_for_block(words):
        return (_CANCELED,)
    axes = (word.rpartition("::")[2] for word in words)
    one = next((axis for axis in axes if axis in _BLOCK), None)
    return tuple(_BLOCK.values()) if one is None else (_BLOCK[one],)


def is_asked_for_block(words: Sequence[str]) -> bool:
    """Whether an instruction asks for the first block of a canceled cluster."""
    return "is_canceled" not in words
