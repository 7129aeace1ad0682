"""Which registers each statement of a function writes and reads, by names unique in the function."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property

from ...spec.effects import ASYNCHRONOUS, CALL, EFFECT, load_effects
from .source import NAME, Function, PtxStatement

__all__ = ["Uses", "operands_of"]

_FIRST = re.compile(r"\s*(\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]|[^,]*)(?:,|$)")


def operands_of(statement: PtxStatement) -> list[str]:
    """The operands' texts, parted by the commas outside braces, brackets and parentheses."""
    if statement.parts is None:
        statement.parts = _parted(statement.operands)
    return statement.parts


def _parted(text: str) -> list[str]:
    if "{" not in text and "(" not in text and "[" not in text:
        return [part.strip() for part in text.split(",")]
    found, depth, start = [], 0, 0
    for match in _COMMAS.finditer(text):
        letter = match[0]
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif not depth:
            found.append(text[start : match.start()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return found


_COMMAS = re.compile(r"[{}()\[\],]")


class Uses:
    """What the statements of a function write and read."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.effects = load_effects()
        self._kinds: dict[str, str | None] = {}
        self._names: list[dict[str, str | None]] = [{} for _ in function.scopes]
        self._found: list[tuple[tuple[str, ...], tuple[str, ...]] | None] = [None] * len(function.statements)

    def kind(self, opcode: str) -> str | None:
        """What an opcode does; None for an unknown one."""
        if opcode not in self._kinds:
            self._kinds[opcode] = self.effects.kind(opcode)
        return self._kinds[opcode]

    def of(self, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The registers that a statement writes, and those that it reads; an unknown one does both."""
        found = self._found[index]
        if found is None:
            found = self._found[index] = self._find(self.function.statements[index])
        return found

    def _find(self, statement: PtxStatement) -> tuple[tuple[str, ...], tuple[str, ...]]:
        text, scope = statement.operands, statement.scope
        kind = self.kind(statement.opcode)
        guard = self.unique((statement.guard.lstrip("!"),), scope) if statement.guard else ()
        if kind is None:
            named = self.unique(NAME.findall(text), scope)
            return named, named + guard
        if kind in (EFFECT, ASYNCHRONOUS):
            return (), self.unique(NAME.findall(text), scope) + guard
        if text[:1] in "{([":
            found = _FIRST.match(text)
            first, rest = (found[1], text[found.end() :]) if found else ("", text)
        else:
            first, _, rest = text.partition(",")
        if first[:1] == "[" or (kind == CALL and first[:1] != "("):
            return (), self.unique(NAME.findall(text), scope) + guard
        return self.unique(NAME.findall(first), scope), self.unique(NAME.findall(rest), scope) + guard

    def unique(self, names: list[str] | tuple[str, ...], scope: int) -> tuple[str, ...]:
        """Names as a scope means them, without those that are no registers."""
        known = self._names[scope]
        found = []
        for name in names:
            if name not in known:
                register = self.function.register(name, scope)
                known[name] = register[0] if register else None
            unique = known[name]
            if unique is not None:
                found.append(unique)
        return tuple(found)

    @cached_property
    def definitions(self) -> dict[str, list[int]]:
        """The statements that write each register, in order."""
        found: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self.function.statements)):
            for register in self.of(index)[0]:
                found[register].append(index)
        return found

    def last_definition(self, register: str, before: int) -> int:
        """The last statement of the text before another that writes a register; −1 where there is none."""
        found = self.definitions.get(register, ())
        position = bisect_left(found, before)
        return found[position - 1] if position else -1
