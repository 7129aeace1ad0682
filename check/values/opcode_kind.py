"""What the words of an opcode say about its operation, and what a rule of arithmetic is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .word_algebra import WORD, WordAlgebra

__all__ = ["ArithmeticRule", "OpcodeKind", "bits_of"]

ArithmeticRule = Callable[..., Any]  # of an algebra and the sources, as its words; the result is a word, too


class OpcodeKind(NamedTuple):
    """What an opcode says about its operation: the words, the size of its type, and whether it is signed."""

    words: tuple[str, ...]
    bits: int
    signed: bool

    def fit(self, m: WordAlgebra[Any], word: Any) -> Any:
        """A source as the type reads it, in 64 bits."""
        return m.signed(word, self.bits) if self.signed else m.low(word, self.bits)


def bits_of(words: Sequence[str]) -> int:
    """The size of an opcode's type, its last word; 64 where that is not a number of bits."""
    size = words[-1][1:]
    return int(size) if size.isdigit() else WORD
