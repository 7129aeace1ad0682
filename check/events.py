"""What a function does that ordering depends on: wgmmas, groups, fences, accesses of their registers.

The registers of accumulators and fragments of A fall into classes: those that stand in exactly the same
vectors. A wgmma uses a class as a whole, so that a class is as good as each of its registers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..formal.programs import Shape
from ..spec.effects import ASYNCHRONOUS, CALL, EFFECT, Effects, load_effects
from ..spec.statements import SyntaxFault, arguments
from .ptx import NAME, Function, Statement

__all__ = ["Access", "Commit", "Event", "Events", "Fence", "Mma", "Wait", "operands_of", "written_and_read"]

_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)(?=\.|$)")
_TYPE = re.compile(r"\.(f16|f32|s32|bf16|tf32|e4m3|e5m2|s8|u8|b1)(?=\.|$)")
_MOVE = re.compile(r"mov\.\w+$")
_REACH = 2000  # how many statements back a move's source is looked for
_FIRST = re.compile(r"\s*(\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]|[^,]*)(?:,|$)")


@dataclass(frozen=True, slots=True)
class Fence:
    """wgmma.fence; `may` where it is guarded."""

    statement: int
    may: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """wgmma.commit_group."""

    statement: int
    may: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """wgmma.wait_group n."""

    statement: int
    n: int
    may: bool = False


@dataclass(frozen=True, slots=True)
class Mma:
    """A wgmma: the classes of its accumulator and of its fragment of A (none: A lies in shared memory)."""

    statement: int
    shape: Shape
    d: tuple[int, ...]
    a: tuple[int, ...]
    b: str
    a_descriptor: str | None
    scale_d: bool = True
    may: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """An ordinary instruction: classes read and written; registers that are copies of accumulators.

    `moved`: it is a plain move of a constant, or of a register that nothing wrote since the last
    wgmma.fence of the block, so that it may as well stand before that fence. `copies_made`: the registers
    that a plain move fills. `unknown`: the instruction is not known, so that it may do either.
    """

    statement: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    moved: bool = False
    copies_made: tuple[str, ...] = ()
    copies_read: tuple[str, ...] = ()
    copies_written: tuple[str, ...] = ()
    unknown: bool = False
    may: bool = False


Event = Fence | Commit | Wait | Mma | Access


def operands_of(statement: Statement) -> list[str]:
    """The operands' texts, parted by the commas outside braces and brackets."""
    found, depth, start = [], 0, 0
    text = statement.operands
    for position, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and not depth:
            found.append(text[start:position].strip())
            start = position + 1
    found.append(text[start:].strip())
    return found


def written_and_read(statement: Statement, effects: Effects) -> tuple[list[str], list[str], bool]:
    """The names that an instruction writes and reads, and whether the instruction is known."""
    text = statement.operands
    guard = [statement.guard.lstrip("!")] if statement.guard else []
    kind = effects.kind(statement.opcode)
    if kind is None:
        names = NAME.findall(text)
        return names, names + guard, False
    if kind in (EFFECT, ASYNCHRONOUS):
        return [], NAME.findall(text) + guard, True
    found = _FIRST.match(text)
    first = found[1] if found else ""
    if first.startswith("[") or (kind == CALL and not first.startswith("(")):
        return [], NAME.findall(text) + guard, True
    rest = text[found.end() :] if found else ""
    written = [name for name in NAME.findall(first) if name != "_"]
    return written, NAME.findall(rest) + guard, True


class Events:
    """The events of a function, in the order of its text."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.effects = load_effects()
        self.mmas = [i for i, s in enumerate(function.statements) if s.opcode.startswith("wgmma.mma_async")]

    @cached_property
    def _vectors(self) -> dict[int, tuple[tuple[str, ...], tuple[str, ...] | None]]:
        """By wgmma: the registers of D, and those of A (None where A is a descriptor)."""
        found = {}
        known: dict[tuple[str, int], tuple[str, ...]] = {}
        for index in self.mmas:
            statement = self.function.statements[index]
            parts = operands_of(statement)
            vectors: list[tuple[str, ...] | None] = []
            for text in (*parts, "", "")[:2]:
                if not text.startswith("{"):
                    vectors.append(None)
                    continue
                key = text, statement.scope
                if key not in known:
                    known[key] = tuple(self._unique(NAME.findall(text), statement.scope))
                vectors.append(known[key])
            found[index] = (vectors[0] or (), vectors[1])
        return found

    def _unique(self, names: Iterable[str], scope: int) -> Iterator[str]:
        for name in names:
            register = self.function.register(name, scope)
            if register:
                yield register[0]

    @cached_property
    def classes(self) -> dict[str, int]:
        """The class of every register of an accumulator or a fragment of A."""
        numbers: dict[tuple[str, ...], int] = {}
        signature: dict[str, set[int]] = defaultdict(set)
        for vectors in self._vectors.values():
            for vector in vectors:
                if vector:
                    number = numbers.setdefault(vector, len(numbers))
                    if number == len(numbers) - 1:
                        for register in vector:
                            signature[register].add(number)
        kinds: dict[frozenset[int], int] = {}
        return {
            register: kinds.setdefault(frozenset(where), len(kinds)) for register, where in signature.items()
        }

    @cached_property
    def _tracked(self) -> set[str]:
        """Names, as written, of registers of the classes."""
        return {register.partition("@")[0] for register in self.classes}

    @cached_property
    def copies(self) -> set[str]:
        """Registers that a move copies a register of a class into, or such a copy."""
        found: set[str] = set()
        names = set(self._tracked)
        moves = [s for s in self.function.statements if _MOVE.match(s.opcode)]
        grown = True
        while grown:
            grown = False
            for statement in moves:
                written, read, _ = written_and_read(statement, self.effects)
                if len(read) != 1 or read[0] not in names:
                    continue
                for register in self._unique(written, statement.scope):
                    if register not in found and register not in self.classes:
                        found.add(register)
                        names.add(register.partition("@")[0])
                        grown = True
        return found

    def classes_of(self, vector: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({self.classes[register] for register in vector}))

    @cached_property
    def all(self) -> list[Event]:
        """Every event, in order."""
        found: list[Event] = []
        if not self.mmas:
            return found
        wanted = self._tracked | {register.partition("@")[0] for register in self.copies}
        for index, statement in enumerate(self.function.statements):
            opcode = statement.opcode
            if opcode.startswith("wgmma."):
                event = self._wgmma(index, statement)
                if event is not None:
                    found.append(event)
                continue
            if wanted.isdisjoint(NAME.findall(statement.operands)):
                continue
            access = self._access(index, statement)
            if access is not None:
                found.append(access)
        return found

    def _wgmma(self, index: int, statement: Statement) -> Event | None:
        may = statement.guard is not None
        opcode = statement.opcode
        if opcode.startswith("wgmma.fence"):
            return Fence(index, may)
        if opcode.startswith("wgmma.commit_group"):
            return Commit(index, may)
        if opcode.startswith("wgmma.wait_group"):
            try:
                given = arguments(statement.operands)
            except SyntaxFault:
                return None
            return Wait(index, given[0].value, may) if given and given[0].shape == "immediate" else None
        if index not in self._vectors:
            return None
        shape = _SHAPE.search(opcode)
        if shape is None:
            return None
        d, a = self._vectors[index]
        parts = operands_of(statement)
        sparse = opcode.startswith("wgmma.mma_async.sp")
        scale = parts[5 if sparse else 3] if len(parts) > (5 if sparse else 3) else "1"
        return Mma(
            index,
            Shape(int(shape[1]), int(shape[2]), int(shape[3]), ".".join(_TYPE.findall(opcode)[:3])),
            self.classes_of(d),
            self.classes_of(a) if a else (),
            parts[2] if len(parts) > 2 else "",
            parts[1] if a is None and len(parts) > 1 else None,
            scale != "0",
            may,
        )

    def _settled(self, index: int, register: str) -> bool:
        """Whether only moves wrote a register since the last wgmma.fence (or branch) before a statement."""
        statements = self.function.statements
        for earlier in range(index - 1, max(index - _REACH, -1), -1):
            statement = statements[earlier]
            if statement.opcode.startswith(("wgmma.fence", "bra", "ret", "exit")):
                return True
            if register.partition("@")[0] not in statement.operands:
                continue
            written, read, _ = written_and_read(statement, self.effects)
            if register not in self._unique(written, statement.scope):
                continue
            if _MOVE.match(statement.opcode) is None or statement.guard is not None:
                return False
            sources = tuple(self._unique(read, statement.scope))
            return not sources or (len(sources) == 1 and self._settled(earlier, sources[0]))
        return False

    def _access(self, index: int, statement: Statement) -> Access | None:
        written, read, known = written_and_read(statement, self.effects)
        scope = statement.scope
        writes = tuple(self._unique(written, scope))
        reads = tuple(self._unique(read, scope))
        classes, copies = self.classes, self.copies
        reads_of = tuple(sorted({classes[r] for r in reads if r in classes}))
        writes_of = tuple(sorted({classes[r] for r in writes if r in classes}))
        copies_read = tuple(r for r in reads if r in copies)
        copies_written = tuple(r for r in writes if r in copies)
        if not (reads_of or writes_of or copies_read or copies_written):
            return None
        move = _MOVE.match(statement.opcode) is not None
        plain = move and statement.guard is None
        return Access(
            index,
            reads_of,
            writes_of,
            plain and (not reads or (len(reads) == 1 and self._settled(index, reads[0]))),
            copies_written if plain and len(reads) == 1 else (),
            copies_read,
            copies_written,
            not known,
            statement.guard is not None,
        )
