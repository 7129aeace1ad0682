"""Columns in units of the encoding that a client chose, UTF-16 unless it says, and in characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """The columns of a text's lines; a column behind the end of its line counts as the end."""

    codec: PositionCodec
    lines: Sequence[str]

    def character(self, at: lsp.Position) -> int:
        """How many characters of its line stand before a place of the client."""
        left, count = at.character, 0
        for one in self._line(at.line):
            left -= self.codec.client_num_units(one)
            if left < 0:
                break
            count += 1
        return count

    def range(self, line: int, begin: int, end: int) -> lsp.Range:
        """From one character of a line to another, as the client counts."""
        written = self._line(line)
        first, last = (lsp.Position(line, self.codec.client_num_units(written[:at])) for at in (begin, end))
        return lsp.Range(first, last)

    def _line(self, line: int) -> str:
        return self.lines[line] if 0 <= line < len(self.lines) else ""
