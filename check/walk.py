"""A walk through a function with one thread's numbers: which stage each copy fills, each wgmma reads.

Loops are walked a few times, registers hold numbers where they are known, a branch that is not known is
taken as it leads on: back into a loop a few times, else onwards. What the walk meets is one path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .divergence import COMPARE, TWO
from .flow import Flow
from .memory import BARRIER, COPY, GENERIC, INTO_SHARED, Region, is_generic, matrices, width_of
from .ptx import NAME, Function, Module, Statement
from .uses import Uses, operands_of
from .values import Value, number_of

__all__ = ["Overlap", "overlaps"]

_ROUNDS = 6  # of a loop whose end is not known: more than kernels have stages
_LONGEST = 60_000
_MASK = (1 << 64) - 1
_ADDRESS = re.compile(r"\[\s*([%$A-Za-z_][\w$]*)?\s*(?:\+\s*(-?\s*\w+))?\s*\]")
_THREADS = (0, 128, 256)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two statements that touch the same bytes with nothing that orders them.

    what: `overwritten` (a wgmma reads, then a write), `incomplete` (a copy, then a wgmma reads); `waited`:
    the own warp waited for the wgmma, but no barrier followed. `between` are the statements that count.
    """

    what: str
    first: int
    second: int
    region: Region
    between: tuple[int, ...]
    waited: bool = False


@dataclass(slots=True)
class _Flying:
    """A wgmma or copy that may not be complete; `groups` were committed after its own (−1: it was not)."""

    statement: int
    regions: tuple[Region, ...]
    groups: int = -1
    waited: bool = False
    barrier: int | None = None
    between: tuple[int, ...] = ()


def overlaps(module: Module, function: Function, flow: Flow, uses: Uses) -> Iterator[Overlap]:
    """What one path through the function, walked by each of a few threads, overwrites or reads too early."""
    seen: set[tuple[str, int, int, bool]] = set()
    limit = function.threads[0] if function.threads else 1
    for thread in _THREADS:
        if thread and thread >= limit:
            break
        walk = _Walk(module, function, flow, uses, thread)
        walk.run()
        for found in walk.found:
            key = found.what, found.first, found.second, found.waited
            if key not in seen:
                seen.add(key)
                yield found


class _Walk:
    """Registers, and what is in flight, of one thread."""

    def __init__(self, module: Module, function: Function, flow: Flow, uses: Uses, thread: int) -> None:
        self.function = function
        self.flow = flow
        self.uses = uses
        self.thread = thread
        self.registers: dict[str, int | None] = {}
        self.bases: dict[str, int] = {}
        self.found: list[Overlap] = []
        self.mmas: list[_Flying] = []
        self.copies: list[_Flying] = []
        self.taken: dict[int, int] = {}
        self.roles: list[int] = []
        self._by_block: dict[int, list[int]] = {}
        self._worked: dict[tuple[int, int], int] = {}
        self._place(module)
        self.wanted = self._slice()

    def _place(self, module: Module) -> None:
        """Addresses for the variables of shared memory; those of open size lie behind the others."""
        at = 0
        declared = [v for scope in self.function.scopes for v in scope.variables.values()]
        variables = [v for v in (*module.variables.values(), *declared) if v.space == "shared"]
        for variable in sorted(variables, key=lambda v: v.size is None):
            align = max(variable.align, 1024)
            at = -(-at // align) * align
            self.bases[variable.name] = at
            at += variable.size or 0

    def _slice(self) -> set[str]:
        """The registers that addresses, descriptors and branches depend on."""
        wanted: set[str] = set()
        waiting: list[str] = []
        for index, statement in enumerate(self.function.statements):
            head = statement.opcode.partition(".")[0]
            names: tuple[str, ...] = ()
            if head in ("bra", "ret", "exit") and statement.guard:
                names = (statement.guard.lstrip("!"),)
            elif self._counts(statement.opcode, head):
                parts = _tail(statement) if head == "wgmma" else operands_of(statement)
                names = tuple(NAME.findall(" ".join(parts)))
                names += (statement.guard.lstrip("!"),) if statement.guard else ()
                self.roles.append(index)
            waiting += self.uses.unique(names, statement.scope)
        while waiting:
            register = waiting.pop()
            if register in wanted:
                continue
            wanted.add(register)
            for index in self.uses.definitions.get(register, ()):
                statement = self.function.statements[index]
                if statement.opcode.partition(".")[0] not in ("ld", "atom", "mma", "wmma"):
                    waiting += self.uses.of(index)[1]
        return wanted

    @staticmethod
    def _counts(opcode: str, head: str) -> bool:
        return head in _HEADS and opcode.startswith(_OPCODES)

    def run(self) -> None:
        """Walk until the function ends, or for long enough."""
        statements, blocks = self.function.statements, self.flow.blocks
        acting = set(self.roles)
        number: int | None = 0 if blocks else None
        steps = 0
        while number is not None and steps < _LONGEST:
            block = blocks[number]
            steps += block.end - block.start
            for index in self._relevant(number, acting):
                statement = statements[index]
                guard = self._guard(statement)
                if guard is not False:
                    self._execute(index, statement, guard is None)
            number = self._next(number)

    def _relevant(self, number: int, acting: set[int]) -> list[int]:
        known = self._by_block.get(number)
        if known is None:
            block = self.flow.blocks[number]
            known = [
                i
                for i in range(block.start, block.end)
                if i in acting or not self.wanted.isdisjoint(self.uses.of(i)[0])
            ]
            self._by_block[number] = known
        return known

    def _guard(self, statement: Statement) -> bool | None:
        """Whether a statement is executed; None where that is not known."""
        if statement.guard is None:
            return True
        value = self._value(statement.guard.lstrip("!"), statement.scope)
        return None if value is None else bool(value) != (statement.guard[0] == "!")

    def _next(self, number: int) -> int | None:
        block = self.flow.blocks[number]
        if block.start == block.end:
            return block.fall
        last = block.end - 1
        statement = self.function.statements[last]
        head = statement.opcode.partition(".")[0]
        if head not in ("bra", "brx", "ret", "exit", "trap"):
            return block.fall
        guard = self._guard(statement)
        if head in ("ret", "exit", "trap"):
            return None if guard is True else block.fall
        if guard is True or block.fall is None:
            self.taken[last] = self.taken.get(last, 0) + 1
            return block.branch if self.taken[last] < 1 << 12 else block.fall
        if guard is False or block.branch is None:
            return block.fall
        if block.branch > number:
            return max((block.fall, block.branch), key=lambda side: self._work(side, number))
        self.taken[last] = self.taken.get(last, 0) + 1
        return block.branch if self.taken[last] < _ROUNDS else block.fall

    def _work(self, side: int, number: int) -> int:
        """How many statements that count stand on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._worked:
            end = self.flow.post_dominator.get(number)
            seen: set[int] = set()
            waiting = [side]
            while waiting:
                block = waiting.pop()
                if block != end and block not in seen:
                    seen.add(block)
                    waiting += self.flow.blocks[block].successors
            self._worked[key] = sum(self._counted.get(block, 0) for block in seen)
        return self._worked[key]

    @cached_property
    def _counted(self) -> Counter[int]:
        """How many statements that count stand in each block."""
        return Counter(self.flow.block_of(index) for index in self.roles)

    # Numbers

    def _value(self, text: str, scope: int) -> int | None:
        register = self.function.register(text, scope)
        if register is not None:
            return self.registers.get(register[0])
        number = number_of(text)
        if number is not None:
            return number & _MASK
        if text in self.bases:
            return self.bases[text]
        shape = self.function.threads or (128, 1, 1)
        match text:
            case "%tid.x":
                return self.thread % shape[0]
            case "%tid.y" | "%tid.z":
                return 0 if shape[1] == shape[2] == 1 else None
            case "%laneid":
                return self.thread % 32
            case "%ntid.x" if self.function.exact:
                return shape[0]
        return None

    def _execute(self, index: int, statement: Statement, maybe: bool) -> None:
        head = statement.opcode.partition(".")[0]
        if self._counts(statement.opcode, head):
            self._act(index, statement)
        written = self.uses.of(index)[0]
        if self.wanted.isdisjoint(written):
            return
        value = None if maybe else self._compute(statement, head)
        if head == "mbarrier":
            value = 1  # the wait is over
        for position, register in enumerate(written):
            self.registers[register] = value if position == 0 or head == "elect" else None
        if head == "elect" and len(written) == 2:
            self.registers[written[1]] = int(self.thread % 32 == 0)

    def _compute(self, statement: Statement, head: str) -> int | None:
        words = statement.opcode.split(".")
        parts = operands_of(statement)
        kind = words[-1]
        if head in ("ld", "call", "atom", "elect") or len(parts) < 2 or parts[1][:1] in "{[":
            return None
        values = [self._value(part.lstrip("!"), statement.scope) for part in parts[1:]]
        bits = int(kind[1:]) if kind[1:].isdigit() else 64
        if head == "shfl":
            return values[0] if self.thread % 32 == 0 else None
        if head == "selp" and len(values) == 3:
            return None if values[2] is None else values[0 if values[2] else 1]
        if kind == "pred" and head in ("and", "or") and None in values:
            stops = 0 if head == "and" else 1
            return stops if stops in values else None
        if any(value is None for value in values) or kind[0] == "f":
            return None
        signed = kind[0] == "s"

        def fit(value: int, size: int = bits) -> int:
            value &= (1 << size) - 1
            return value - (1 << size) if signed and value >> (size - 1) else value

        known = [value for value in values if value is not None]
        if head in ("mov", "cvta", "cvt"):
            if head == "cvt" and words[-1][0] == "s" and words[-1][1:].isdigit():
                size = int(words[-1][1:])
                return fit(known[0], size) & _MASK
            if head == "cvt" and words[-2][1:].isdigit():
                return known[0] & ((1 << min(bits, int(words[-2][1:]))) - 1)
            return known[0]
        if kind == "pred":
            if head == "not":
                return 1 - (known[0] & 1)
            return TWO[head](known[0], known[1]) & 1 if head in TWO and len(known) == 2 else None
        result: int | None = None
        if head == "setp" and words[1] in COMPARE and len(known) >= 2:
            result = int(COMPARE[words[1]](fit(known[0]), fit(known[1])))
            if len(known) == 3:
                joins = {"and": result & known[2], "or": result | known[2], "xor": result ^ known[2]}
                return joins.get(words[2])
            return result
        if head in ("mul", "mad") and "hi" not in words:
            wide = "wide" in words
            result = fit(known[0]) * fit(known[1]) + (known[2] if head == "mad" else 0)
            return result & (_MASK if wide else (1 << bits) - 1)
        if head == "bfe" and len(known) == 3 and not signed:
            return known[0] >> known[1] & (1 << known[2]) - 1
        if head == "bfi" and len(known) == 4:
            mask = (1 << known[3]) - 1
            return known[1] & ~(mask << known[2]) | (known[0] & mask) << known[2]
        if head in TWO and len(known) == 2 and (known[1] or head not in ("div", "rem")):
            second = known[1] if head in ("shl", "shr") else fit(known[1])
            return TWO[head](fit(known[0]), second) & ((1 << bits) - 1)
        if head == "lop3" and len(known) == 4:
            return _lop3(known[0], known[1], known[2], known[3]) & ((1 << bits) - 1)
        if head == "not":
            return ~known[0] & ((1 << bits) - 1)
        if head == "neg":
            return -known[0] & ((1 << bits) - 1)
        return None

    def _address(self, text: str, scope: int) -> int | None:
        found = _ADDRESS.match(text)
        if found is None:
            return None
        base = self._value(found[1], scope) if found[1] else 0
        offset = number_of(found[2].replace(" ", "")) if found[2] else 0
        return None if base is None or offset is None else (base + offset) & 0xFFFFFFFF

    # What counts

    def _act(self, index: int, statement: Statement) -> None:
        opcode = statement.opcode
        if opcode.startswith("wgmma.mma_async"):
            self._read(index, statement)
        elif opcode.startswith(("wgmma.commit_group", "cp.async.commit_group")):
            flying = self.mmas if opcode[0] == "w" else self.copies
            for one in flying:
                if one.barrier is None and not one.waited:
                    one.groups += 1
                    one.between += (index,)
        elif opcode.startswith("wgmma.wait_group"):
            n = number_of(statement.operands) or 0
            for one in self.mmas:
                one.between += (index,)
                if one.groups >= n:
                    one.waited = True
        elif opcode.startswith("cp.async.wait_all"):
            self.copies = [one for one in self.copies if one.barrier is not None]
        elif opcode.startswith("cp.async.wait_group"):
            n = number_of(statement.operands) or 0
            for one in self.copies:
                one.between += (index,)
            self.copies = [one for one in self.copies if one.barrier is not None or one.groups < n]
        elif opcode.startswith("cp.async.mbarrier.arrive"):
            address = self._address(operands_of(statement)[0], statement.scope)
            for one in self.copies:
                if one.barrier is None:
                    one.barrier = -1 if address is None else address
        elif opcode.startswith("mbarrier."):
            parts = operands_of(statement)
            address = next((self._address(p, statement.scope) for p in parts if p.startswith("[")), None)
            self.copies = [
                one
                for one in self.copies
                if one.barrier is None or not (address is None or one.barrier in (-1, address))
            ]
            self.mmas = [one for one in self.mmas if not one.waited]
        elif BARRIER.match(opcode):
            self.mmas = [one for one in self.mmas if not one.waited]
        elif INTO_SHARED.search(opcode) and opcode.startswith("cp.async.bulk"):
            parts = operands_of(statement)
            self._write(index, statement, parts[0], 16, None)
        elif COPY.match(opcode):
            self._write(index, statement, operands_of(statement)[0], 16, _Flying(index, ()))
        elif GENERIC.match(opcode) or (opcode.startswith("st.") and is_generic(opcode)):
            self._write(index, statement, operands_of(statement)[0], width_of(statement), None)

    def _write(
        self, index: int, statement: Statement, operand: str, width: int, copy: _Flying | None
    ) -> None:
        address = self._address(operand, statement.scope)
        if address is None:
            return
        region = Region("shared", address, address + width)
        for one in self.mmas:
            if any(region.meets(other) for other in one.regions):
                self.found.append(
                    Overlap("overwritten", one.statement, index, region, one.between, one.waited)
                )
                one.regions = ()
        if copy is not None:
            copy.regions = (region,)
            self.copies.append(copy)

    def _read(self, index: int, statement: Statement) -> None:
        regions = []
        for region in matrices(statement, self._descriptor):
            if region.base is not None:
                regions.append(region)
        for one in self.copies:
            for region in regions:
                if one.regions and region.meets(one.regions[0]):
                    self.found.append(
                        Overlap("incomplete", one.statement, index, one.regions[0], one.between)
                    )
                    one.regions = ()
        self.mmas.append(_Flying(index, tuple(regions)))

    def _descriptor(self, text: str, scope: int) -> Value:
        word = self._value(text, scope)
        if word is None:
            return Value(0, 0)
        start = (word & 0x3FFF) << 4
        return Value(start, start, "shared", 4, word >> 16 << 16)


_HEADS = frozenset(("wgmma", "cp", "st", "stmatrix", "red", "atom", "bar", "barrier", "mbarrier"))
_OPCODES = (
    "wgmma.mma_async",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "cp.async",
    "st.",
    "stmatrix",
    "red.",
    "atom.",
    "bar.",
    "barrier.",
    "mbarrier.try_wait",
    "mbarrier.test_wait",
)


def _tail(statement: Statement) -> list[str]:
    """The descriptors among a wgmma's operands."""
    return [part for part in operands_of(statement)[1:3] if not part.startswith("{")]


def _lop3(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result |= term
    return result
