"""What an editor's text is, PTX or CUDA C++, and which mnemonic stands at a place in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["EditorText", "WrittenMnemonic"]

_CUDA = (".cu", ".cuh", ".cpp", ".hpp", ".cc", ".hh", ".h", ".inl")
_WORD = re.compile(r"[A-Za-z_][\w:]*(?:\.[\w:]*)+|[A-Za-z_]\w*")
_HEAD = re.compile(r"^\s*\.(version|target)\s+(\S+?)(?:\s*,.*)?\s*$", re.M)


@dataclass(frozen=True)
class WrittenMnemonic:
    """A word as it is written, and the columns in which it stands, from 0."""

    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class EditorText:
    """A text with its name."""

    name: str
    text: str

    @property
    def is_cuda(self) -> bool:
        """Whether it is CUDA C++ with inline assembly, by its name."""
        return self.name.lower().endswith(_CUDA)

    @property
    def heads(self) -> tuple[str | None, str | None]:
        """The PTX ISA version and the target that PTX names; None where it names none."""
        if self.is_cuda:
            return None, None
        found = dict(_HEAD.findall(self.text))
        return found.get("version"), found.get("target")

    @property
    def lines(self) -> list[str]:
        """Its lines, without what ends them."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    def mnemonic_at(self, line: int, column: int) -> WrittenMnemonic | None:
        """The word with points in it at a place; line and column, in characters, count from 0."""
        lines = self.lines
        if not 0 <= line < len(lines):
            return None
        for found in _WORD.finditer(lines[line]):
            if found.start() <= column <= found.end():
                return WrittenMnemonic(found[0], found.start(), found.end())
        return None
