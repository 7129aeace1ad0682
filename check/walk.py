"""Walks through a function with the numbers of some threads: what each does to shared memory, in its order.

Loops whose end depends on the kernel's parameters are walked a few times, registers hold numbers where they
are known. Parameters and the block's place in the grid have numbers that stand for any: arithmetic goes on
with them, but a branch that depends on them is taken as it leads on: to where more happens. What a walk
meets is one path.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from .flow import Flow
from .memory import BARRIER, COPY, GENERIC, INTO_SHARED, Region, is_generic, matrices, width_of
from .numbers import MASK, computed
from .ptx import NAME, Function, Module, Statement
from .uses import Uses, operands_of
from .values import Value, number_of

__all__ = ["Act", "Walked", "walks"]

_ROUNDS = 16  # of a loop whose end is not known: more than kernels have stages
_OUTER_ROUNDS = 2  # where such a loop stands in it
_KNOWN_ROUNDS = 1 << 6  # of a loop whose end is known
_LONGEST = 60_000
_ADDRESS = re.compile(r"\[\s*([%$A-Za-z_][\w$]*)?\s*(?:\+\s*(-?\s*\w+))?\s*\]")
_GROUP, _WARP = 128, 32
_GRID = re.compile(r"%(?:cluster_)?n?(?:ctaid|ctarank|clusterid)(?:\.[xyz])?$")


@dataclass(frozen=True, slots=True)
class Act:
    """One statement that counts, with its numbers.

    kind: `mma`, `commit`, `wait` (wgmma); `copy`, `copy-commit`, `copy-wait`, `copy-arrive` (cp.async);
    `bulk`, `store`; `arrive`, `await` (an mbarrier, or a named barrier), `meet` (both at once). `barrier` is
    an address, or −1 less the number of a named barrier; None where it is not known. `n`: of a wait; of an
    await its parity, −1 where that is not known.
    """

    kind: str
    statement: int
    regions: tuple[Region, ...] = ()
    barrier: int | None = None
    n: int = 0


@dataclass(frozen=True)
class Walked:
    """What one thread does on its path."""

    thread: int
    acts: tuple[Act, ...]


def walks(module: Module, function: Function, flow: Flow, uses: Uses) -> list[Walked]:
    """The walks of the first thread of each warp, where barriers part their work; else of each warpgroup.

    The warps of a warpgroup that multiplies do alike.
    """
    limit = max(function.threads[0], 1) if function.threads else 1
    parted = any(s.opcode.startswith("mbarrier.arrive") for s in function.statements)
    plan = _Plan(module, function, flow, uses)
    threads = range(0, limit, _WARP) if parted else range(0, min(limit, 3 * _GROUP), _GROUP)
    found = _walked(plan, threads, False)
    if not any(act.kind == "mma" for walk in found for act in walk.acts):
        found = _walked(plan, threads, True)
    return found


def _walked(plan: _Plan, threads: range, eager: bool) -> list[Walked]:
    found: dict[tuple[Act, ...], Walked] = {}
    multiplied = -1  # the last warpgroup that did
    for thread in threads:
        if thread // _GROUP != multiplied:
            acts = tuple(_Walk(plan, thread, eager).run())
            found.setdefault(acts, Walked(thread, acts))
            if any(act.kind == "mma" for act in acts):
                multiplied = thread // _GROUP
    return list(found.values())


class _Plan:
    """What all walks through a function share: where variables lie, which statements count."""

    def __init__(self, module: Module, function: Function, flow: Flow, uses: Uses) -> None:
        self.function = function
        self.flow = flow
        self.uses = uses
        self.bases: dict[str, int] = {}
        self.roles: list[int] = []
        self._place(module)
        self.wanted = self._slice()
        self._by_block: dict[int, list[int]] = {}
        self._worked: dict[tuple[int, int], int] = {}
        self.acting = frozenset(self.roles)

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
            elif counts(statement.opcode, head):
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

    def relevant(self, number: int) -> list[int]:
        """The statements of a block that count, or make a number that does."""
        known = self._by_block.get(number)
        if known is None:
            block = self.flow.blocks[number]
            known = [
                i
                for i in range(block.start, block.end)
                if i in self.acting or not self.wanted.isdisjoint(self.uses.of(i)[0])
            ]
            self._by_block[number] = known
        return known

    def work(self, side: int, number: int) -> int:
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

    @cached_property
    def loops(self) -> dict[int, frozenset[int]]:
        """By the block that a branch leads back to: the blocks of the loop."""
        found: dict[int, set[int]] = {}
        for number in self.flow.order:
            for head in self.flow.blocks[number].successors:
                if head > number:
                    continue
                body, waiting = {number}, [number] if number != head else []
                while waiting:
                    for block in self.flow.blocks[waiting.pop()].predecessors:
                        if block not in body and block >= head:
                            body.add(block)
                            if block > head:
                                waiting.append(block)
                if head in body:
                    found.setdefault(head, set()).update(body)
        return {head: frozenset(body) for head, body in found.items()}

    @cached_property
    def rounds(self) -> dict[int, int]:
        """By loop: how often it is walked when its end is not known."""
        statements, order = self.function.statements, sorted(self.loops)
        accesses = Counter(
            self.flow.block_of(i) for i in self.roles if not statements[i].opcode.startswith(_SIGNALS)
        )
        busy = [head for head in order if any(accesses[block] for block in self.loops[head])]
        inner = {outer for head in busy for outer in self.around[head] if outer != head}
        return {head: _OUTER_ROUNDS if head in inner else _ROUNDS for head in order}

    @cached_property
    def around(self) -> dict[int, list[int]]:
        """By block: the loops that it stands in, the outermost first, by their heads."""
        found: dict[int, list[int]] = defaultdict(list)
        for head, body in sorted(self.loops.items()):
            for block in body:
                found[block].append(head)
        return found


class _Walk:
    """The registers of one thread, and where it is."""

    def __init__(self, plan: _Plan, thread: int, eager: bool) -> None:
        self.plan = plan
        self.eager = eager  # follow what happens, not the numbers that stand for any
        self.function = plan.function
        self.thread = thread
        self.registers: dict[str, int | None] = {}
        self.assumed: set[str] = set()  # registers whose numbers stand for any
        self.rounds: dict[int, int] = {}
        self.taken: Counter[int] = Counter()  # how often each side of a branch that is not known

    def run(self) -> Iterator[Act]:
        """Walk until the function ends, or for long enough."""
        statements, blocks = self.function.statements, self.plan.flow.blocks
        number: int | None = 0 if blocks else None
        steps = 0
        while number is not None and steps < _LONGEST:
            block = blocks[number]
            steps += block.end - block.start + 1
            for index in self.plan.relevant(number):
                statement = statements[index]
                guard = self._guard(statement)
                if index in self.plan.acting and (guard is not False or self._maybe(statement)):
                    act = self._act(index, statement)
                    if act is not None:
                        yield act
                self._execute(index, statement, guard)
            number = self._next(number)

    def _guard(self, statement: Statement) -> bool | None:
        """Whether a statement is executed; None where that is not known."""
        if statement.guard is None:
            return True
        value = self._value(statement.guard.lstrip("!"), statement.scope)
        return None if value is None else bool(value) != (statement.guard[0] == "!")

    def _maybe(self, statement: Statement) -> bool:
        """Whether a statement that its numbers do not execute is taken as executed."""
        return self.eager and self._open(statement)

    def _open(self, statement: Statement) -> bool:
        """Whether a guard's value stands for any."""
        if statement.guard is None:
            return False
        register = self.function.register(statement.guard.lstrip("!"), statement.scope)
        return register is not None and register[0] in self.assumed

    def _next(self, number: int) -> int | None:
        block = self.plan.flow.blocks[number]
        if block.start == block.end:
            return self._enter(number, block.fall)
        statement = self.function.statements[block.end - 1]
        head = statement.opcode.partition(".")[0]
        if head not in ("bra", "brx", "ret", "exit", "trap"):
            return self._enter(number, block.fall)
        guard = self._guard(statement)
        if head in ("ret", "exit", "trap"):
            return None if guard is True else self._enter(number, block.fall)
        sides = list(block.successors)
        if len(sides) < 2:
            return self._enter(number, sides[0] if sides else None)
        if guard is None or guard == (sides[0] != block.branch):
            sides.reverse()
        known = guard is not None and head != "brx"
        return self._enter(number, self._side(number, sides, known, self._open(statement)))

    def _side(self, number: int, sides: list[int], known: bool, is_open: bool) -> int:
        """The side of a branch that is taken; where it is known, the first is what its numbers say."""
        late = False  # a loop is to be left, whichever way leads out
        for head in self.plan.around.get(number, ()):
            body = self.plan.loops[head]
            leaving = [side for side in sides if side not in body]
            most = self.plan.rounds[head]
            if known and not is_open and most > _OUTER_ROUNDS:
                most = _KNOWN_ROUNDS
            over = self.rounds.get(head, 0) >= most
            if leaving and over:
                return leaving[0]
            late |= over
            if not known and len(leaving) < len(sides):
                sides = [side for side in sides if side in body]
        if len(sides) == 1 or (known and not (is_open and self.eager)):
            return sides[0]
        busy = sides if late else [side for side in sides if self.plan.work(side, number)] or sides[:1]
        taken = min(busy, key=lambda side: (self.taken[side], -self.plan.work(side, number)))
        self.taken[taken] += 1
        return taken

    def _enter(self, number: int, following: int | None) -> int | None:
        """Count the round where a loop begins again; a loop that is entered anew begins to count."""
        if following is not None and following in self.plan.loops:
            again = number in self.plan.loops[following]
            self.rounds[following] = self.rounds.get(following, 0) + 1 if again else 0
            if again and self.rounds[following] > 2 * _KNOWN_ROUNDS:
                return None
        return following

    # Numbers

    def _value(self, text: str, scope: int) -> int | None:
        register = self.function.register(text, scope)
        if register is not None:
            return self.registers.get(register[0])
        number = number_of(text)
        if number is not None:
            return number & MASK
        if text in self.plan.bases:
            return self.plan.bases[text]
        shape = self.function.threads or (128, 1, 1)
        match text:
            case "%tid.x":
                return self.thread % shape[0]
            case "%tid.y" | "%tid.z":
                return 0 if shape[1] == shape[2] == 1 else None
            case "%laneid":
                return self.thread % _WARP
            case "%ntid.x" if self.function.exact:
                return shape[0]
        if _GRID.match(text):
            return int(text.lstrip("%").startswith(("n", "cluster_n")))
        return None

    def _execute(self, index: int, statement: Statement, guard: bool | None) -> None:
        written, read = self.plan.uses.of(index)
        if self.plan.wanted.isdisjoint(written):
            return
        head = statement.opcode.partition(".")[0]
        if guard is False:
            if self._open(statement):
                self.assumed.update(written)
            return
        value = None if guard is None else self._computed(statement, head)
        if head == "mbarrier":
            value = 1  # the wait is over
        grid = "%" in statement.operands and any(map(_GRID.match, operands_of(statement)))
        if head != "mbarrier" and (grid or head == "ld" or not self.assumed.isdisjoint(read)):
            self.assumed.update(written)
        else:
            self.assumed.difference_update(written)
        width = _bits(statement.opcode) // max(len(written), 1)
        for position, register in enumerate(written):
            if len(written) == 1 or head == "ld" or value is None:
                self.registers[register] = value
            elif head == "mov":  # a vector, the lowest bits first
                self.registers[register] = value >> position * width & (1 << width) - 1
            else:
                self.registers[register] = None if position else value
        if head == "elect" and len(written) == 2:
            self.registers[written[1]] = int(self.thread % _WARP == 0)

    def _computed(self, statement: Statement, head: str) -> int | None:
        parts = operands_of(statement)
        if head == "ld":
            return _parameter(parts[1], statement.opcode) if ".param" in statement.opcode else None
        if head in ("call", "atom", "elect") or len(parts) < 2 or parts[1][:1] == "[":
            return None
        if parts[1][:1] == "{":
            return self._packed(statement, NAME.findall(parts[1])) if head == "mov" else None
        if head == "shfl":
            return self._value(parts[1], statement.scope) if self.thread % _WARP == 0 else None
        if head == "mapa":
            return self._value(parts[1], statement.scope)
        values = [self._value(part.lstrip("!"), statement.scope) for part in parts[1:]]
        return computed(statement.opcode, values)

    def _packed(self, statement: Statement, names: list[str]) -> int | None:
        """A vector as one number, its first element the lowest bits."""
        number, bits = 0, _bits(statement.opcode) // max(len(names), 1)
        for place, name in enumerate(names):
            value = self._value(name, statement.scope)
            if value is None:
                return None
            number |= (value & (1 << bits) - 1) << place * bits
        return number

    def _address(self, text: str, scope: int) -> int | None:
        found = _ADDRESS.match(text)
        if found is None:
            return None
        base = self._value(found[1], scope) if found[1] else 0
        offset = number_of(found[2].replace(" ", "")) if found[2] else 0
        return None if base is None or offset is None else (base + offset) & 0xFFFFFFFF

    # What counts

    def _act(self, index: int, statement: Statement) -> Act | None:
        opcode, scope = statement.opcode, statement.scope
        if opcode.startswith("wgmma.mma_async"):
            regions = tuple(r for r in matrices(statement, self._descriptor) if r.base is not None)
            return Act("mma", index, regions)
        if opcode.startswith("wgmma.commit_group"):
            return Act("commit", index)
        if opcode.startswith("wgmma.wait_group"):
            return Act("wait", index, n=number_of(statement.operands) or 0)
        if opcode.startswith("cp.async.commit_group"):
            return Act("copy-commit", index)
        if opcode.startswith("cp.async.wait_all"):
            return Act("copy-wait", index, n=-1)
        if opcode.startswith("cp.async.wait_group"):
            return Act("copy-wait", index, n=number_of(statement.operands) or 0)
        parts = operands_of(statement)
        barriers = [part for part in parts if part.startswith("[")]
        if opcode.startswith("cp.async.mbarrier.arrive"):
            return Act("copy-arrive", index, barrier=self._address(parts[0], scope))
        if opcode.startswith("mbarrier."):
            barrier = self._address(barriers[0], scope) if barriers else None
            if "_wait" not in opcode:
                return Act("arrive", index, barrier=barrier)
            parity = self._value(parts[2], scope) if ".parity" in opcode and len(parts) > 2 else None
            return Act("await", index, barrier=barrier, n=-1 if parity is None else parity & 1)
        if opcode.startswith(("bar.", "barrier.")):
            return self._named(index, opcode, parts, scope)
        if opcode.startswith("cp.async.bulk"):
            if not INTO_SHARED.search(opcode):
                return None
            barrier = self._address(barriers[-1], scope) if "mbarrier" in opcode else None
            return Act("bulk", index, self._target(parts[0], scope, 16), barrier)
        if COPY.match(opcode):
            return Act("copy", index, self._target(parts[0], scope, 16))
        if GENERIC.match(opcode) or (opcode.startswith("st.") and is_generic(opcode)):
            return Act("store", index, self._target(parts[0], scope, width_of(statement)))
        return None

    def _named(self, index: int, opcode: str, parts: list[str], scope: int) -> Act | None:
        if "cluster" in opcode:
            return Act("meet", index, barrier=-1) if "wait" in opcode else None
        number = self._value(parts[0], scope)
        barrier = None if number is None else -1 - number
        if "arrive" in opcode:
            return Act("arrive", index, barrier=barrier)
        return Act("meet", index, barrier=barrier) if BARRIER.match(opcode) else None

    def _target(self, operand: str, scope: int, width: int) -> tuple[Region, ...]:
        address = self._address(operand, scope)
        return () if address is None else (Region("shared", address, address + width),)

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
    "mbarrier.arrive",
)


_SIGNALS = ("mbarrier.", "bar.", "barrier.")


def counts(opcode: str, head: str) -> bool:
    """Whether an instruction does something to shared memory, or to the order of what does."""
    return head in _HEADS and opcode.startswith(_OPCODES)


def _bits(opcode: str) -> int:
    """The size of an instruction's type."""
    digits = opcode.rpartition(".")[2][1:]
    return int(digits) if digits.isdigit() else 64


def _tail(statement: Statement) -> list[str]:
    """The descriptors among a wgmma's operands."""
    return [part for part in operands_of(statement)[1:3] if not part.startswith("{")]


def _parameter(operand: str, opcode: str) -> int | None:
    """A parameter's number: large sizes, and pointers far apart."""
    kind = opcode.rpartition(".")[2]
    if kind.endswith("64"):
        return (crc32(operand.encode()) % 97 + 1) << 32
    return 2048 if kind[0] in "usb" else None
