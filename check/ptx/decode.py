"""Decode a PTX statement once: its operation, its operands by part, what it reads, writes and orders.

For instructions of the specification, the YAML gives each operand's part; for all others, spec/effects.yaml
says what they do. No analysis looks at the text of a statement again.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import islice
from math import prod

from ...spec.effects import ASYNCHRONOUS, CALL, EFFECT, RESULT
from ...spec.model import Part
from .operands import Address, NamedOperand, address_of, number_of, operand_texts
from .operation import FittingForm, Operation, Operations
from .source import NAME, Function

__all__ = ["DecodedFunction", "DecodedStatement"]

_NESTED = re.compile(r"[^\w$%, \t\n-]")  # whatever makes an operand more than one name or number
_MOST_PENDING = 64  # groups
_UNREAD = Address("", 0)
_UNKNOWN = -1
_Registers = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(eq=False, slots=True)  # nobody changes one; to freeze them would take as long as to decode them
class DecodedStatement:
    """A statement: its operation, operands, guard, and the registers that it writes and reads.

    Registers have names that are unique in the function. `scope` says what the names in operands mean.
    """

    operation: Operation
    does: str  # beside its registers: a word of spec/effects.yaml
    operands: tuple[str, ...]
    guard: str | None
    negated: bool
    scope: int
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    _address: Address | None = field(default=_UNREAD, init=False)
    _barrier: Address | None = field(default=_UNREAD, init=False)
    _bytes: int | None = field(default=_UNKNOWN, init=False)
    _form: FittingForm | None = field(default=None, init=False)

    @property
    def form(self) -> FittingForm:
        """The form of the instruction that the operands fit best."""
        found = self._form
        if found is None:
            found = self._form = self.operation.fitting(self.operands)
        return found

    @property
    def named(self) -> Iterator[NamedOperand]:
        """The operands by their names in the specification; empty for an instruction outside it."""
        expected = self.form.operands
        return (NamedOperand(n, o, text) for (n, o), text in zip(expected, self.operands, strict=False))

    @property
    def described(self) -> list[NamedOperand]:
        """The operands that are matrix descriptors."""
        return [self._named(place) for place in self.form.described if place < len(self.operands)]

    def _named(self, place: int) -> NamedOperand:
        return NamedOperand(*self.form.operands[place], self.operands[place])

    @property
    def is_complete(self) -> bool:
        """Whether the number of operands fits a form of the instruction."""
        return len(self.form.operands) == len(self.operands)

    def part(self, part: Part) -> NamedOperand | None:
        """The operand with this part in the operation."""
        place = self.form.places.get(part)
        return None if place is None or place >= len(self.operands) else self._named(place)

    @property
    def addresses(self) -> Iterator[str]:
        """The operands that are addresses."""
        return (text for text in self.operands if text[:1] == "[")

    @property
    def address(self) -> Address | None:
        """The accessed address (of a copy: the destination); None if it is not a base and an offset."""
        found = self._address
        if found is _UNREAD:
            found = self._address = address_of(next(self.addresses, ""))
        return found

    @property
    def source(self) -> Address | None:
        """The address that a copy reads; None if it is not a base and an offset."""
        return address_of(next(islice(self.addresses, 1, None), ""))

    @property
    def size(self) -> str | None:
        """The operand that says how many bytes a copy copies."""
        size = self.operation.action.size
        return None if size is None else self._operand(size)

    @property
    def bytes(self) -> int | None:
        """How many bytes one thread accesses; None if unknown."""
        found = self._bytes
        if found == _UNKNOWN:
            action = self.operation.action
            if action.bytes is not None:
                found = action.bytes
            else:
                found = self.operation.bytes if self.size is None else number_of(self.size)
            if found is not None and found < 0:
                found = None
            self._bytes = found
        return found

    @property
    def rows(self) -> int | None:
        """How many lanes of a warp supply the address of a row; None where each accesses its own bytes."""
        return _rows(self)

    @property
    def barrier(self) -> Address | None:
        """The mbarrier that the statement arrives at or waits for, or that its bulk copy completes."""
        found = self._barrier
        if found is _UNREAD:
            found = None
            if self.operation.action.barrier == "object":
                found = address_of(next(islice(self.addresses, self.operation.action.before or 0, None), ""))
            self._barrier = found
        return found

    @property
    def barrier_name(self) -> str | None:
        """The operand that names a barrier of the block by its number."""
        name = self.operation.action.name
        return None if name is None else self._operand(name)

    @property
    def count_at(self) -> int | None:
        """The position of the operand that counts threads, arrivals, groups or columns; None if it is left
        out, or the instruction has none.
        """
        action = self.operation.action
        if action.count is None or action.count + (action.behind or 0) >= len(self.operands):
            return None
        return action.count

    @property
    def phase(self) -> str | None:
        """The operand with the parity of the phase to wait for."""
        phase = self.operation.action.phase
        return (
            self._operand(phase) or None if phase is not None and "parity" in self.operation.words else None
        )

    @property
    def pending(self) -> str | None:
        """The operand that says how many groups a wait may leave pending; None if the wait is for all. No
        walk follows more than _MOST_PENDING, and there are none below 0.
        """
        count = self.operation.action.count
        text = "" if count is None else self._operand(count)
        number = number_of(text)
        return text or None if number is None else str(min(max(number, 0), _MOST_PENDING))

    @property
    def left(self) -> int:
        """How many groups a wait leaves pending; 0 where it is for all, or the PTX does not show it."""
        return number_of(self.pending or "") or 0

    def _operand(self, position: int) -> str:
        return self.operands[position] if position < len(self.operands) else ""


@lru_cache(maxsize=1 << 10)
def _rows(statement: DecodedStatement) -> int | None:
    variant = statement.operation.nearest
    part = None if variant is None else statement.part("address")
    if variant is None or part is None or part.operand.matrix is None:
        return None
    return prod(variant.evaluate(size) for size in part.operand.matrix.values())


class _UniqueNames(dict[str, str | None]):
    """By name, as one scope of a function resolves it: the register's unique name; None if it is none."""

    def __init__(self, function: Function, scope: int) -> None:
        self.function = function
        self.scope = scope

    def __missing__(self, name: str) -> str | None:
        register = self.function.register(name, self.scope)
        found = self[name] = None if register is None else register[0]
        return found


class DecodedFunction:
    """A function's statements by their index; and where each register is written. `shared`: accesses by
    generic addresses that lie in shared memory.
    """

    def __init__(
        self, function: Function, operations: Operations, shared: frozenset[int] = frozenset()
    ) -> None:
        self.function = function
        self.operations = operations
        self.effects = operations.effects
        self._names = [_UniqueNames(function, scope) for scope in range(len(function.scopes))]
        self._opcodes = [operations.of(statement.opcode) for statement in function.statements]
        for index in shared:
            self._opcodes[index] = operations.in_shared(self._opcodes[index].opcode)
        self._vectors: dict[tuple[str, int], tuple[str, ...]] = {}
        self._decoded: list[DecodedStatement | None] = [None] * len(function.statements)

    def __len__(self) -> int:
        return len(self._decoded)

    def __getitem__(self, index: int) -> DecodedStatement:
        found = self._decoded[index]
        if found is None:
            found = self._decoded[index] = self._decode(index)
        return found

    def __iter__(self) -> Iterator[DecodedStatement]:
        return iter(self._statements)

    @cached_property
    def _statements(self) -> list[DecodedStatement]:
        """All statements, decoded."""
        return [self[index] for index in range(len(self._decoded))]

    @cached_property
    def accessing(self) -> list[DecodedStatement]:
        """The statements with an address among their operands."""
        texts = (statement.operands for statement in self.function.statements)
        return [self[index] for index, text in enumerate(texts) if "[" in text]

    def operation(self, index: int) -> Operation:
        """What a statement's opcode says, without its operands."""
        return self._opcodes[index]

    @cached_property
    def used(self) -> tuple[Operation, ...]:
        """The operations of all statements, each once."""
        return tuple(dict.fromkeys(self._opcodes))

    @cached_property
    def is_for_pairs(self) -> bool:
        """Whether some instruction is about a pair of blocks of a cluster."""
        return any(operation.is_for_pair for operation in self.used)

    def doing(self, *actions: str) -> list[int]:
        """The statements with some actions, in the order of the text."""
        found = [index for action in set(actions) for index in self._by_action.get(action, ())]
        if len(actions) > 1:
            found.sort()
        return found

    @cached_property
    def _by_action(self) -> Mapping[str, array[int]]:
        found: dict[str, array[int]] = defaultdict(partial(array, "L"))
        for index, operation in enumerate(self._opcodes):
            found[operation.does].append(index)
        return found

    def _decode(self, index: int) -> DecodedStatement:
        statement, operation = self.function.statements[index], self._opcodes[index]
        scope = statement.scope
        plain = not _NESTED.search(statement.operands)
        operands = operand_texts(statement.operands, plain)
        guard, negated = None, False
        read: tuple[str, ...] = ()
        writes: tuple[str, ...]
        if statement.guard is not None:
            negated = statement.guard[0] == "!"
            guard = statement.guard[1:] if negated else statement.guard
            read = self.unique((guard,), scope)
        if plain and operation.registers == RESULT and operation.results < 2:
            known = self._names[scope]
            first = known[operands[0]]
            writes = () if first is None else (first,)
            reads = tuple([unique for name in operands[1:] if (unique := known[name]) is not None])
        else:
            writes, reads = self._registers(operation, statement.operands, operands, scope)
        does, reads = operation.does, reads + read
        return DecodedStatement(operation, does, operands, guard, negated, scope, writes, reads)

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
        if operation.results > 1:
            return self._by_role(operation, operands, scope)
        first = operands[0]
        if first[:1] == "[" or (kind == CALL and first[:1] != "("):
            return (), self.unique(NAME.findall(text), scope)
        rest = text[len(first) :]
        return self.unique(NAME.findall(first), scope), self.unique(NAME.findall(rest), scope)

    def _by_role(self, operation: Operation, operands: tuple[str, ...], scope: int) -> _Registers:
        """The registers that an instruction writes and reads, by its operands' roles in the specification."""
        writes: list[str] = []
        reads: list[str] = []
        roles = [operand.role for _, operand in operation.fitting(operands).operands]
        for position, text in enumerate(operands):
            role = roles[position] if position < len(roles) else "both"
            names = self._vector(text, scope) if text[:1] == "{" else self.registers_in(text, scope)
            writes += names if role != "source" else ()
            reads += names if role != "destination" else ()
        return tuple(writes), tuple(reads)

    def _vector(self, text: str, scope: int) -> tuple[str, ...]:
        """The registers of a vector, which several products often share."""
        key = text, scope
        found = self._vectors.get(key)
        if found is None:
            found = self._vectors[key] = self.registers_in(text, scope)
        return found

    def unique(self, names: list[str] | tuple[str, ...], scope: int) -> tuple[str, ...]:
        """The unique names of the registers among some names, as a scope resolves them."""
        known = self._names[scope]
        return tuple([unique for name in names if (unique := known[name]) is not None])

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

    def renamed(self, function: Function, statements: Mapping[int, DecodedStatement]) -> DecodedFunction:
        """The same with other registers in some statements; `function` declares them."""
        found = DecodedFunction(function, self.operations)
        found._opcodes = self._opcodes
        found._decoded = [*self._statements]
        for index, statement in statements.items():
            found._decoded[index] = statement
        return found

    def last_definition(self, register: str, before: int) -> int:
        """The last statement of the text before another that writes a register; −1 where there is none."""
        found = self.definitions.get(register, ())
        position = bisect_left(found, before)
        return found[position - 1] if position else -1
