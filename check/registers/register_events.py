"""What a function does that ordering depends on: wgmmas, groups, fences, accesses of their registers.

The registers of accumulators and fragments of A fall into classes: those that stand in exactly the same
vectors. A wgmma uses a class as a whole, so that a class is as good as each of its registers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ...formal.ordering.programs import MmaShape
from ...spec.statements import SyntaxFault, arguments
from ..ptx.source import NAME, Function, PtxStatement
from ..ptx.uses import Uses, operands_of

__all__ = ["AccessEvent", "CommitEvent", "Event", "Fence", "FunctionEvents", "MmaEvent", "Wait"]

_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)(?=\.|$)")
_TYPE = re.compile(r"\.(f16|f32|s32|bf16|tf32|e4m3|e5m2|s8|u8|b1)(?=\.|$)")
_MOVE = re.compile(r"mov\.\w+$")


@dataclass(frozen=True, slots=True)
class Fence:
    """wgmma.fence; `may` where it is guarded."""

    statement: int
    may: bool = False


@dataclass(frozen=True, slots=True)
class CommitEvent:
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
class MmaEvent:
    """A wgmma: the classes of its accumulator and of its fragment of A (none: A lies in shared memory)."""

    statement: int
    shape: MmaShape
    d: tuple[int, ...]
    a: tuple[int, ...]
    b: str
    a_descriptor: str | None
    scale_d: bool = True
    may: bool = False


@dataclass(frozen=True, slots=True)
class AccessEvent:
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


Event = Fence | CommitEvent | Wait | MmaEvent | AccessEvent


class FunctionEvents:
    """The events of a function, in the order of its text."""

    def __init__(self, function: Function, uses: Uses) -> None:
        self.function = function
        self.uses = uses
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
                    known[key] = self.uses.unique(NAME.findall(text), statement.scope)
                vectors.append(known[key])
            found[index] = (vectors[0] or (), vectors[1])
        return found

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
    def copies(self) -> set[str]:
        """Registers that a move copies a register of a class into, or such a copy."""
        found: set[str] = set()
        moves: dict[str, set[str]] = defaultdict(set)
        for index, statement in enumerate(self.function.statements):
            if _MOVE.match(statement.opcode):
                written, read = self.uses.of(index)
                if len(read) == 1:
                    moves[read[0]].update(written)
        waiting = [register for register in self.classes if register in moves]
        while waiting:
            for register in moves[waiting.pop()]:
                if register not in found and register not in self.classes:
                    found.add(register)
                    if register in moves:
                        waiting.append(register)
        return found

    def classes_of(self, vector: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({self.classes[register] for register in vector}))

    @cached_property
    def all(self) -> list[Event]:
        """Every event, in order."""
        found: list[Event] = []
        if not self.mmas:
            return found
        wanted = self.copies | self.classes.keys()
        for index, statement in enumerate(self.function.statements):
            opcode = statement.opcode
            if opcode.startswith("wgmma."):
                event = self._wgmma(index, statement)
                if event is not None:
                    found.append(event)
                continue
            written, read = self.uses.of(index)
            if not (wanted.isdisjoint(written) and wanted.isdisjoint(read)):
                found.append(self._access(index, statement, written, read))
        return found

    def _wgmma(self, index: int, statement: PtxStatement) -> Event | None:
        may = statement.guard is not None
        opcode = statement.opcode
        if opcode.startswith("wgmma.fence"):
            return Fence(index, may)
        if opcode.startswith("wgmma.commit_group"):
            return CommitEvent(index, may)
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
        return MmaEvent(
            index,
            MmaShape(int(shape[1]), int(shape[2]), int(shape[3]), ".".join(_TYPE.findall(opcode)[:3])),
            self.classes_of(d),
            self.classes_of(a) if a else (),
            parts[2] if len(parts) > 2 else "",
            parts[1] if a is None and len(parts) > 1 else None,
            scale != "0",
            may,
        )

    @cached_property
    def _cuts(self) -> list[int]:
        """Statements that no move is thought across backwards: fences and branches."""
        heads = ("wgmma.fence", "bra", "brx", "ret", "exit")
        return [i for i, s in enumerate(self.function.statements) if s.opcode.startswith(heads)]

    def _settled(self, index: int, register: str) -> bool:
        """Whether only moves wrote a register since the last wgmma.fence (or branch) before a statement."""
        position = bisect_left(self._cuts, index)
        cut = self._cuts[position - 1] if position else -1
        while True:
            index = self.uses.last_definition(register, index)
            if index <= cut:
                return True
            statement = self.function.statements[index]
            sources = self.uses.of(index)[1]
            if _MOVE.match(statement.opcode) is None or statement.guard is not None or len(sources) > 1:
                return False
            if not sources:
                return True
            register = sources[0]

    def _access(
        self, index: int, statement: PtxStatement, writes: tuple[str, ...], reads: tuple[str, ...]
    ) -> AccessEvent:
        classes, copies = self.classes, self.copies
        copies_written = tuple(r for r in writes if r in copies)
        plain = _MOVE.match(statement.opcode) is not None and statement.guard is None
        return AccessEvent(
            index,
            tuple(sorted({classes[r] for r in reads if r in classes})),
            tuple(sorted({classes[r] for r in writes if r in classes})),
            plain and (not reads or (len(reads) == 1 and self._settled(index, reads[0]))),
            copies_written if plain and len(reads) == 1 else (),
            tuple(r for r in reads if r in copies),
            copies_written,
            self.uses.kind(statement.opcode) is None,
            statement.guard is not None,
        )
