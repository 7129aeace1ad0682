"""The statements of a function, each decoded once, with the registers by names unique in the function."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from ...spec.effects import ASYNCHRONOUS, CALL, EFFECT
from .decode import DecodedStatement, Operation, Operations, operands_of
from .source import NAME, Function, PtxStatement

__all__ = ["DecodedFunction"]

_Registers = tuple[tuple[str, ...], tuple[str, ...]]


class DecodedFunction:
    """A function's statements by their index; and where each register is written."""

    def __init__(self, function: Function, operations: Operations) -> None:
        self.function = function
        self.operations = operations
        self.effects = operations.effects
        self._names: list[dict[str, str | None]] = [{} for _ in function.scopes]
        self._decoded: list[DecodedStatement | None] = [None] * len(function.statements)

    def __len__(self) -> int:
        return len(self._decoded)

    def __getitem__(self, index: int) -> DecodedStatement:
        found = self._decoded[index]
        if found is None:
            found = self._decoded[index] = self._decode(self.function.statements[index])
        return found

    def __iter__(self) -> Iterator[DecodedStatement]:
        return (self[index] for index in range(len(self._decoded)))

    def operation(self, index: int) -> Operation:
        """What a statement's opcode says, without its operands."""
        return self.operations.of(self.function.statements[index].opcode)

    def _decode(self, statement: PtxStatement) -> DecodedStatement:
        operation, scope = self.operations.of(statement.opcode), statement.scope
        operands = operands_of(statement.operands)
        guard, negated = None, False
        read: tuple[str, ...] = ()
        if statement.guard is not None:
            negated = statement.guard[0] == "!"
            guard = statement.guard[1:] if negated else statement.guard
            read = self.unique((guard,), scope)
        writes, reads = self._registers(operation, statement.operands, operands, scope)
        return DecodedStatement(operation, operands, guard, negated, scope, writes, reads + read)

    def _registers(
        self, operation: Operation, text: str, operands: tuple[str, ...], scope: int
    ) -> _Registers:
        """The registers that a statement writes and reads, without its guard."""
        kind = operation.registers
        if kind is None:
            if operation.instruction is not None:
                return self._by_role(operation, operands, scope)
            named = self.unique(NAME.findall(text), scope)
            return named, named
        if kind in (EFFECT, ASYNCHRONOUS):
            return (), self.unique(NAME.findall(text), scope)
        first = operands[0]
        if first[:1] == "[" or (kind == CALL and first[:1] != "("):
            return (), self.unique(NAME.findall(text), scope)
        rest = text[len(first) :]
        return self.unique(NAME.findall(first), scope), self.unique(NAME.findall(rest), scope)

    def _by_role(self, operation: Operation, operands: tuple[str, ...], scope: int) -> _Registers:
        """What an instruction writes and reads that only the specification knows: by its operands' roles."""
        writes: list[str] = []
        reads: list[str] = []
        roles = [operand.role for _, operand in operation.expected(operands)]
        for position, text in enumerate(operands):
            role = roles[position] if position < len(roles) else "both"
            names = NAME.findall(text)
            writes += names if role != "source" else ()
            reads += names if role != "destination" else ()
        return self.unique(tuple(writes), scope), self.unique(tuple(reads), scope)

    def unique(self, names: list[str] | tuple[str, ...], scope: int) -> tuple[str, ...]:
        """Names as a scope means them, without those that are not registers."""
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

    def registers_in(self, text: str, scope: int) -> tuple[str, ...]:
        """The registers that an operand names."""
        return self.unique(NAME.findall(text), scope)

    @cached_property
    def definitions(self) -> dict[str, list[int]]:
        """The statements that write each register, in order."""
        found: dict[str, list[int]] = defaultdict(list)
        for index, statement in enumerate(self):
            for register in statement.writes:
                found[register].append(index)
        return found

    def last_definition(self, register: str, before: int) -> int:
        """The last statement of the text before another that writes a register; −1 where there is none."""
        found = self.definitions.get(register, ())
        position = bisect_left(found, before)
        return found[position - 1] if position else -1
