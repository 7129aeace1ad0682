"""The events of a function that register ordering depends on: wgmmas, groups, fences, accesses of registers.

The registers of accumulators and fragments of A fall into classes: those that stand in exactly the same
vectors. A wgmma uses a class as a whole, so one fact about the class holds for each of its registers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache

from ...formal.ordering.mma_shape import MmaShape
from ...spec.lazy_dataclass import dataclass
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.inlining import call_of
from ..ptx.operands import NamedOperand, number_of
from ..ptx.operation import Operation

__all__ = [
    "AccessEvent",
    "CallEvent",
    "CommitEvent",
    "Event",
    "Fence",
    "FunctionEvents",
    "MmaEvent",
    "WaitEvent",
]

_CUTS = frozenset(("fence", "jump", "switch", "leave"))  # a move cannot be moved back across these


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
class WaitEvent:
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

    `moved`: it is a plain move of a constant, or of a register that was not written since the last
    wgmma.fence of the block, so it could equally stand before that fence. `copies_made`: the registers that a
    plain move fills. `unknown`: the instruction is unknown, so it may read or write.
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


@dataclass(frozen=True, slots=True)
class CallEvent:
    """A call of a function that the file does not hold: it may fence, commit and wait."""

    statement: int
    name: str
    may: bool = False


Event = Fence | CommitEvent | WaitEvent | MmaEvent | AccessEvent | CallEvent


class FunctionEvents:
    """The events of a function, in the order of its text."""

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code
        self.mmas = code.doing("multiply")

    @cached_property
    def _vectors(self) -> dict[int, tuple[tuple[str, ...], tuple[str, ...] | None]]:
        """By wgmma: the registers of D, and those of A (None where A lies in shared memory)."""
        known: dict[tuple[str, int], tuple[str, ...]] = {}

        def registers(operand: NamedOperand | None, scope: int) -> tuple[str, ...] | None:
            if operand is None or not operand.is_vector:
                return None
            key = operand.text, scope
            if key not in known:
                known[key] = self.code.registers_in(*key)
            return known[key]

        found = {}
        for index in self.mmas:
            mma = self.code[index]
            found[index] = registers(mma.part("D"), mma.scope) or (), registers(mma.part("A"), mma.scope)
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
        """Registers that hold a copy of a class's register, or a copy of such a copy."""
        found: set[str] = set()
        moves: dict[str, set[str]] = defaultdict(set)
        for statement in self.code:
            if statement.operation.is_move and len(statement.reads) == 1:
                moves[statement.reads[0]].update(statement.writes)
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
        for index, statement in enumerate(self.code):
            make = _EVENTS.get(statement.does)
            if make is not None:
                event = make(self, index, statement)
                if event is not None:
                    found.append(event)
            elif not (wanted.isdisjoint(statement.writes) and wanted.isdisjoint(statement.reads)):
                found.append(self._access(index, statement))
        return found

    def _fence(self, index: int, statement: DecodedStatement) -> Fence:
        return Fence(index, statement.guard is not None)

    def _commit(self, index: int, statement: DecodedStatement) -> CommitEvent:
        return CommitEvent(index, statement.guard is not None)

    def _wait(self, index: int, statement: DecodedStatement) -> WaitEvent | None:
        n = number_of(statement.pending or "")
        return None if n is None else WaitEvent(index, n, statement.guard is not None)

    def _mma(self, index: int, statement: DecodedStatement) -> MmaEvent | None:
        shape = _shape(statement.operation)
        if shape is None:
            return None
        d, a = self._vectors[index]
        in_memory, b, scale = statement.part("A"), statement.part("B"), statement.part("scale-d")
        return MmaEvent(
            index,
            shape,
            self.classes_of(d),
            self.classes_of(a) if a else (),
            b.text if b else "",
            in_memory.text if a is None and in_memory else None,
            scale is None or scale.text != "0",
            statement.guard is not None,
        )

    def _call(self, index: int, statement: DecodedStatement) -> CallEvent:
        name = call_of(self.code.function.statements[index]).name
        return CallEvent(index, name or "a function that is computed", statement.guard is not None)

    @cached_property
    def _cuts(self) -> list[int]:
        """Statements that a move cannot be moved back across: fences and branches."""
        return self.code.doing(*_CUTS)

    def _settled(self, index: int, register: str) -> bool:
        """Whether only moves wrote a register since the last wgmma.fence (or branch) before a statement."""
        position = bisect_left(self._cuts, index)
        cut = self._cuts[position - 1] if position else -1
        while True:
            index = self.code.last_definition(register, index)
            if index <= cut:
                return True
            statement = self.code[index]
            moves = statement.operation.is_move and statement.guard is None
            if not moves or len(statement.reads) > 1:
                return False
            if not statement.reads:
                return True
            register = statement.reads[0]

    def _access(self, index: int, statement: DecodedStatement) -> AccessEvent:
        classes, copies = self.classes, self.copies
        writes, reads = statement.writes, statement.reads
        copies_written = tuple(r for r in writes if r in copies)
        plain = statement.operation.is_move and statement.guard is None
        return AccessEvent(
            index,
            tuple(sorted({classes[r] for r in reads if r in classes})),
            tuple(sorted({classes[r] for r in writes if r in classes})),
            plain and (not reads or (len(reads) == 1 and self._settled(index, reads[0]))),
            copies_written if plain and len(reads) == 1 else (),
            tuple(r for r in reads if r in copies),
            copies_written,
            statement.operation.is_unknown,
            statement.guard is not None,
        )


_EVENTS: Mapping[str, Callable[[FunctionEvents, int, DecodedStatement], Event | None]] = {
    "fence": FunctionEvents._fence,
    "commit": FunctionEvents._commit,
    "wait": FunctionEvents._wait,
    "multiply": FunctionEvents._mma,
    "call": FunctionEvents._call,
}


@lru_cache(maxsize=1 << 10)
def _shape(operation: Operation) -> MmaShape | None:
    """The shape and the types of a product; None if its qualifiers spell no existing shape."""
    factors = operation.factors
    return None if factors is None else MmaShape(factors.m, factors.n, factors.k, ".".join(operation.types))
