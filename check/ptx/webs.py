"""Registers that are used again for something else, renamed apart: a name for each value that they hold.

Hand-written PTX uses a register again where a compiler takes a new one. Definitions that may reach one use
share a name; those that no use joins get names of their own. So where one definition alone reaches a use, an
analysis of values sees a register that is written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...spec.effects import RESULT
from .decode import DecodedFunction, DecodedStatement
from .flow import Flow
from .source import NAME, Function

__all__ = ["apart", "written_name"]

_MARK = "$again"  # stands between the name in the text and the number of the value


def written_name(name: str) -> str:
    """The name that the text has for a register."""
    return name.partition(_MARK)[0]


def apart(code: DecodedFunction, flow: Flow) -> DecodedFunction:
    """The function with its registers renamed apart; the function itself where nothing needs that.

    It is for analyses of values. Those of accesses of registers need the names of the text.
    """
    again = {register for register, made in code.definitions.items() if len(made) > 1}
    if not again:
        return code
    webs = _Webs(code, flow, again)
    names = webs.names()
    return _renamed(code, webs, names) if names else code


class _Webs:
    """The values of some registers. Each definition has a number, and so has what a register holds before all
    of them; sets of numbers are bits of an integer.
    """

    def __init__(self, code: DecodedFunction, flow: Flow, again: set[str]) -> None:
        self.code = code
        self.flow = flow
        self.again = again
        self.registers = sorted(again)
        self.of: dict[str, int] = {}  # by register: all of its numbers
        self.numbers: dict[tuple[int, str], int] = {}  # by statement and register, of a definition
        self.used: dict[tuple[int, str], int] = {}  # the same, of a use: one of the numbers that reach it
        self.entries = {register: number for number, register in enumerate(self.registers)}
        count = len(self.registers)
        for register in self.registers:
            bits = 1 << self.entries[register]
            for index in code.definitions[register]:
                if (index, register) not in self.numbers:
                    self.numbers[index, register] = count
                    bits |= 1 << count
                    count += 1
            self.of[register] = bits
        self.before = (1 << len(self.registers)) - 1  # the numbers of what registers hold before definitions
        self.bare: set[str] = set()  # the registers of which some use may see that
        self.parents = list(range(count))
        self._follow()

    @property
    def touched(self) -> list[int]:
        """The statements that name one of the registers."""
        others = self.again.isdisjoint
        return [
            index
            for index, statement in enumerate(self.code)
            if not (others(statement.reads) and others(statement.writes))
        ]

    def root(self, number: int) -> int:
        """The number that stands for all that share a name with one."""
        parents = self.parents
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    def _join(self, one: int, other: int) -> int:
        first, second = sorted((self.root(one), self.root(other)))
        self.parents[second] = first
        return first

    def _join_all(self, bits: int) -> int:
        """Let all numbers of a set share a name; one of them."""
        low = bits & -bits
        found = low.bit_length() - 1
        while bits := bits ^ low:
            low = bits & -bits
            found = self._join(found, low.bit_length() - 1)
        return found

    def _follow(self) -> None:
        """Join the definitions that reach each use."""
        blocks: list[list[int]] = [[] for _ in self.flow.blocks]
        for index in self.touched:
            blocks[self.flow.block_of(index)].append(index)
        entering = self._entering(blocks)
        for number, indices in enumerate(blocks):
            holds: dict[str, int] = {}
            for index in indices:
                self._step(index, holds, entering[number])

    def _step(self, index: int, holds: dict[str, int], entering: int) -> None:
        """The uses and the definitions of one statement; `holds` has what registers hold, behind a use or a
        definition in the block.
        """
        statement = self.code[index]
        for register in self.again.intersection(statement.reads):
            if register not in holds:
                reaching = entering & self.of[register]
                if reaching & self.before or not reaching:
                    self.bare.add(register)
                holds[register] = self._join_all(reaching) if reaching else self.entries[register]
            self.used[index, register] = holds[register]
        for register in self.again.intersection(statement.writes):
            made = self.numbers[index, register]
            if (index, register) in self.used and not _is_result_first(statement):
                self._join(made, self.used[index, register])
            if statement.guard is not None:
                held = holds.get(register)
                reaching = (entering & self.of[register]) if held is None else 1 << held
                made = self._join_all(reaching | 1 << made)
            holds[register] = made

    def _entering(self, blocks: list[list[int]]) -> list[int]:
        """By block, the numbers that reach its beginning."""
        made: list[int] = []
        kept: list[int] = []
        for indices in blocks:
            new, lost = 0, 0
            for index in indices:
                statement = self.code[index]
                for register in self.again.intersection(statement.writes):
                    if statement.guard is None:
                        new &= ~self.of[register]
                        lost |= self.of[register]
                    new |= 1 << self.numbers[index, register]
            made.append(new)
            kept.append(~lost)
        entering = [0] * len(blocks)
        entering[:1] = [self.before]
        changed = True
        while changed:
            changed = False
            for number in self.flow.order:
                leaving = made[number] | (entering[number] & kept[number])
                for successor in self.flow.blocks[number].successors:
                    if leaving & ~entering[successor]:
                        entering[successor] |= leaving
                        changed = True
        return entering

    def names(self) -> dict[int, str]:
        """By root, a new name for each value of a register but its first; of its name in the scope."""
        values: dict[str, dict[int, None]] = {register: {} for register in self.registers}
        for (_, register), number in self.numbers.items():
            values[register][self.root(number)] = None
        for register in sorted(self.bare):
            values[register][self.root(self.entries[register])] = None
        return {
            root: f"{register.partition('@')[0]}{_MARK}{position}"
            for register, roots in values.items()
            for position, root in enumerate(roots)
            if position
        }


def _is_result_first(statement: DecodedStatement) -> bool:
    """Whether a statement writes its first operand, and reads the others."""
    operation = statement.operation
    return operation.registers == RESULT and operation.results < 2 and statement.operands[0][:1] != "["


def _renamed(code: DecodedFunction, webs: _Webs, names: Mapping[int, str]) -> DecodedFunction:
    """The function with new names in its statements, and these declared."""
    renaming = _Renaming(code, webs, names)
    statements = {index: renaming.statement(index) for index in renaming.touched}
    return code.renamed(_declared(code.function, renaming.new), statements)


class _Renaming:
    """Gives statements their new names."""

    def __init__(self, code: DecodedFunction, webs: _Webs, names: Mapping[int, str]) -> None:
        self.code = code
        self.reads = self._by_statement(webs, webs.used, names)
        self.writes = self._by_statement(webs, webs.numbers, names)
        self.new: dict[str, str] = {}  # the registers that the text declares, by new unique name

    @staticmethod
    def _by_statement(
        webs: _Webs, numbers: Mapping[tuple[int, str], int], names: Mapping[int, str]
    ) -> dict[int, dict[str, str]]:
        """By statement: the new names of registers, by their unique names."""
        found: dict[int, dict[str, str]] = {}
        for (index, register), number in numbers.items():
            name = names.get(webs.root(number))
            if name is not None:
                found.setdefault(index, {})[register] = name
        return found

    @property
    def touched(self) -> Iterator[int]:
        """The statements that get new names."""
        return iter(sorted(self.reads.keys() | self.writes.keys()))

    def statement(self, index: int) -> DecodedStatement:
        """A statement with its new names."""
        statement = self.code[index]
        reads, writes = self.reads.get(index, {}), self.writes.get(index, {})
        within = {**reads, **writes}
        inner = reads if _is_result_first(statement) else within
        scope = statement.scope
        first, *rest = statement.operands
        return replace(
            statement,
            operands=(
                self._text(first, scope, writes if inner is reads else within),
                *(self._text(text, scope, inner) for text in rest),
            ),
            guard=None if statement.guard is None else self._text(statement.guard, scope, reads),
            reads=tuple(self._unique(register, reads) for register in statement.reads),
            writes=tuple(self._unique(register, writes) for register in statement.writes),
        )

    def _text(self, text: str, scope: int, names: Mapping[str, str]) -> str:
        """A text of operands with new names."""

        def name(found: re.Match[str]) -> str:
            unique = self.code.unique((found[0],), scope)
            return names.get(unique[0], found[0]) if unique else found[0]

        return NAME.sub(name, text) if names else text

    def _unique(self, register: str, names: Mapping[str, str]) -> str:
        """The unique name that a register has now."""
        name = names.get(register)
        if name is None:
            return register
        _, at, scope = register.partition("@")
        unique = f"{name}{at}{scope}"
        self.new[unique] = register
        return unique


def _declared(function: Function, new: Mapping[str, str]) -> Function:
    """The function with registers that have the types of those that the text declares."""
    scopes = [replace(scope, registers=dict(scope.registers)) for scope in function.scopes]
    for unique, register in new.items():
        name, _, scope = unique.partition("@")
        found = function.register(register.partition("@")[0], int(scope or 0))
        assert found is not None
        scopes[int(scope or 0)].registers[name] = found[1]
    return replace(function, scopes=scopes, outermost={})
