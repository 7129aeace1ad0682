"""Which conditions of the preprocessor stand around a place of a source, and what its `#define`s say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .tokens import Directive

__all__ = ["Conditionals", "Definition", "Guard", "GuardPart"]

_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\(([^()]*)\))?")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)")


class GuardPart(NamedTuple):
    """A condition, and whether it must hold or fail; the offset of its directive."""

    text: str
    holds: bool
    offset: int


Guard = tuple[GuardPart, ...]


class Definition(NamedTuple):
    """A `#define`: under which conditions, with which parameters (None without brackets), and its text."""

    guard: Guard
    parameters: tuple[str, ...] | None
    body: str
    offset: int


@dataclass
class _Branches:
    """One `#if` to `#endif`: the conditions of the branches so far, and the one that the source is in."""

    failed: list[GuardPart]
    now: GuardPart | None
    at: int


@dataclass
class Conditionals:
    """The conditions at the place that reading has come to."""

    open: list[_Branches] = field(default_factory=list)
    defined: dict[str, list[Definition]] = field(default_factory=dict)

    @property
    def guard(self) -> Guard:
        """What must hold for the place to be compiled."""
        parts: list[GuardPart] = []
        for branches in self.open:
            parts += (part._replace(holds=False) for part in branches.failed)
            if branches.now is not None:
                parts.append(branches.now)
        return tuple(parts)

    @property
    def branch(self) -> tuple[tuple[int, int], ...]:
        """Which branch of which conditions the place lies in."""
        return tuple((branches.at, len(branches.failed)) for branches in self.open)

    @property
    def definitions(self) -> Mapping[str, list[Definition]]:
        return self.defined

    def read(self, line: Directive) -> None:
        """Go past a directive."""
        text = " ".join(line.rest.split())
        match line.word:
            case "if":
                self._begin(text, line.offset)
            case "ifdef" | "ifndef":
                self._begin(_defined(text, line.word == "ifdef"), line.offset)
            case "elif":
                self._next(text, line.offset)
            case "elifdef" | "elifndef":
                self._next(_defined(text, line.word == "elifdef"), line.offset)
            case "else":
                self._next(None, line.offset)
            case "endif":
                if self.open:
                    self.open.pop()
            case "define":
                self._define(line)
            case "undef":
                name = _NAME.match(line.rest)
                if name:
                    self.defined.setdefault(name[1], []).append(Definition(self.guard, (), "", line.offset))

    def _begin(self, text: str, offset: int) -> None:
        self.open.append(_Branches([], GuardPart(text, True, offset), offset))

    def _next(self, text: str | None, offset: int) -> None:
        if not self.open:
            return
        branches = self.open[-1]
        if branches.now is not None:
            branches.failed.append(branches.now)
        branches.now = None if text is None else GuardPart(text, True, offset)

    def _define(self, line: Directive) -> None:
        found = _DEFINE.match(line.rest)
        if found:
            parameters = None if found[2] is None else tuple(part.strip() for part in found[3].split(","))
            body, at = line.rest[found.end() :], line.offset + found.end()
            definition = Definition(self.guard, parameters, body, at)
            self.defined.setdefault(found[1], []).append(definition)


def _defined(text: str, wanted: bool) -> str:
    name = _NAME.match(text)
    inner = f"defined({name[1]})" if name else text
    return inner if wanted else f"!{inner}"
