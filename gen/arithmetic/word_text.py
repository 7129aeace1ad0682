"""Formulas of sums as C, each part in the shorter of two words that holds its value: word64 or word.

What may exceed 64 bits is computed as a `word`. Truth values are joined by | and &, and what is 0 where a
condition does not hold is masked by `taken`: a processor guesses neither wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...spec.arithmetic_bounds import Span
from ...spec.expressions import Expression, fold
from ..c_reading import CReading
from .value_bounds import bounds_of

__all__ = ["SHORT", "word_text", "word_type"]

SHORT = 64  # bits of a word64


def word_type(span: Span) -> str:
    """The C type of values."""
    return "word64" if _is_short(span) else "word"


def word_text(
    tree: Expression, word: int, spans: Mapping[str, Span], spelled: Callable[[str], str]
) -> tuple[str, Span]:
    """A formula as C, and its bounds, by those of its names."""
    found = fold(tree, _WordReading(word, spans, spelled))
    return found.text, found.span


def _is_short(span: Span) -> bool:
    return span[1] >> SHORT == 0


@dataclass(frozen=True)
class _WordPart:
    """A part: its text, how strongly that binds, its bounds, and whether C has it as a `word`."""

    text: str
    strength: int
    span: Span
    wide: bool = False
    is_name: bool = False
    below: tuple[str, int] | None = None  # of a comparison: a part that is less where it holds, and than what

    @property
    def pair(self) -> tuple[str, int]:
        return self.text, self.strength


_TRUTH = 0, 1
_STRONGEST = 11
_JOINED = {"and": ("&", 5), "or": ("|", 3)}


@dataclass(frozen=True)
class _WordReading:
    """The language as C, of which each part knows whether 64 bits hold it."""

    word: int
    spans: Mapping[str, Span]
    spelled: Callable[[str], str]

    @property
    def _c(self) -> CReading:
        return CReading(lambda value: f"N({value})", self.spelled)

    def number(self, value: int) -> _WordPart:
        return _WordPart(*self._c.number(value), (value, value))

    def name(self, identifier: str) -> _WordPart:
        span = self.spans[identifier]
        return _WordPart(*self._c.name(identifier), span, not _is_short(span), is_name=True)

    def binary(self, op: str, left: _WordPart, right: _WordPart) -> _WordPart:
        span = bounds_of(op, left.span, right.span, self.word)
        shifts = op in ("<<", ">>")
        wide = left.wide or (right.wide and not shifts)
        if self.word > SHORT and not wide and (not _is_short(span) or (shifts and right.span[1] >= SHORT)):
            left, wide = _widened(left), True
        return _WordPart(*self._c.binary(op, left.pair, right.pair), span, wide)

    def compare(self, op: str, left: _WordPart, right: _WordPart) -> _WordPart:
        below = (left.text, right.span[1] - 1) if op == "<" else None
        return _WordPart(*self._c.compare(op, left.pair, right.pair), _TRUTH, below=below)

    def connective(self, op: str, left: _WordPart, right: _WordPart) -> _WordPart:
        joint, strength = _JOINED[op]
        return _WordPart(f"({left.text}) {joint} ({right.text})", strength, _TRUTH)

    def negation(self, operand: _WordPart) -> _WordPart:
        return _WordPart(*self._c.negation(operand.pair), _TRUTH)

    def where(self, condition: _WordPart, then: _WordPart, otherwise: _WordPart) -> _WordPart:
        (a, b), (c, d) = then.span, otherwise.span
        if condition.below and condition.below[0] == then.text:
            b = min(b, condition.below[1])
        span = min(a, c), max(b, d)
        for holds, part, other in ((condition, then, otherwise), (self.negation(condition), otherwise, then)):
            if part.is_name and other.span == (0, 0):
                function = "taken" if part.wide else "taken64"
                return _WordPart(f"{function}({holds.text}, {part.text})", _STRONGEST, span, part.wide)
        text = self._c.where(condition.pair, then.pair, otherwise.pair)
        return _WordPart(*text, span, then.wide or otherwise.wide)

    def bits(self, operand: _WordPart) -> _WordPart:
        low, high = operand.span
        return _WordPart(*self._c.bits(operand.pair), (low.bit_length(), high.bit_length()))


def _widened(part: _WordPart) -> _WordPart:
    text = part.text if part.strength == _STRONGEST else f"({part.text})"
    return _WordPart(f"(word){text}", _STRONGEST, part.span, wide=True)
