"""Where the registers of wmma fragments come from: load, mma and store must agree on every path."""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.lazy_dataclass import dataclass
from ...spec.variants import Variant
from ..findings import ERROR, Finding, Moment
from ..ptx.dataflow import solve_forward
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.operands import NamedOperand
from ..ptx.operation import Operation
from ..ptx.source import PtxModule
from ..rules import rules_of

__all__ = ["fragment_findings"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment as a wmma instruction names it: matrix, shape, element type, and layout if it has one."""

    matrix: str
    shape: str
    type: str
    layout: str | None

    def differs(self, other: Fragment) -> str | None:
        """The first trait in which another fragment differs; None if none does."""
        if self.matrix != other.matrix:
            return f"it is a fragment of {self.matrix}, not of {other.matrix}"
        if self.shape != other.shape:
            return f"its shape is {self.shape}, not {other.shape}"
        if self.type != other.type:
            return f"its elements are .{self.type}, not .{other.type}"
        if self.layout != other.layout:
            return f"its layout is .{self.layout}, not .{other.layout}"
        return None


Origin = tuple[int, int]  # the statement, and which element of its vector
FragmentState = dict[str, frozenset[Origin]]


def fragment_findings(module: PtxModule, code: DecodedFunction, flow: Flow) -> Iterator[Finding]:
    """Findings about fragments that are used as another kind than they were filled as."""
    provenance = _Provenance(code, flow)
    if provenance.makers and provenance.users:
        yield from provenance.findings(module)


def _moves_fragments(operation: Operation) -> bool:
    """Whether an instruction fills or uses opaque fragments, by its contract."""
    return operation.variant is not None and "wmma-fragment" in rules_of(operation.instruction)


def _fragment(variant: Variant, operand: NamedOperand) -> Fragment | None:
    """The fragment that an instruction names for an operand; C and D are fragments of one kind."""
    part, holds = operand.operand.part, operand.operand.holds
    if part not in ("A", "B", "C", "D") or holds is None:
        return None
    fields = variant.fields
    shape = f"m{fields['m']}n{fields['n']}k{fields['k']}"
    layout = fields.get(f"{part.lower()}layout", fields.get("layout")) if part in "AB" else None
    return Fragment(
        "c" if part in "CD" else part.lower(),
        shape,
        str(fields[holds]),
        None if layout is None else str(layout),
    )


class _Provenance:
    """Which wmma instruction may have filled each register."""

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.function = code.function
        self.flow = flow
        self.makers: dict[int, tuple[Fragment, tuple[str, ...]]] = {}
        self.users: dict[int, list[tuple[Fragment, tuple[str, ...]]]] = {}
        for index in range(len(code)):
            if _moves_fragments(code.operation(index)):
                self._note(index, code[index])

    def _find_events(self) -> None:
        """Find what fills, moves, overwrites or uses a fragment, by block."""
        self.registers = {r for _, vector in self.makers.values() for r in vector}
        self.events: list[list[int]] = [[] for _ in self.flow.blocks]
        for number, block in enumerate(self.flow.blocks):
            for index in range(block.start, block.end):
                if (
                    index in self.users
                    or not self.registers.isdisjoint(self.code[index].writes)
                    or self._moves(index)
                ):
                    self.events[number].append(index)

    def _moves(self, index: int) -> bool:
        statement = self.code[index]
        if not statement.operation.is_move:
            return False
        written, read = statement.writes, statement.reads
        if len(read) == 1 and len(written) == 1 and read[0] in self.registers:
            self.registers.add(written[0])
            return True
        return False

    def _note(self, index: int, statement: DecodedStatement) -> None:
        """The fragments that a statement fills, and those that it uses."""
        variant = statement.operation.variant
        assert variant is not None
        users: list[tuple[Fragment, tuple[str, ...]]] = []
        for operand in statement.named:
            fragment = _fragment(variant, operand)
            if fragment is None:
                continue
            vector = self.code.registers_in(operand.text, statement.scope)
            if operand.operand.role == "destination":
                self.makers[index] = fragment, vector
            else:
                users.append((fragment, vector))
        if users:
            self.users[index] = users

    def _step(self, state: FragmentState, index: int) -> None:
        statement = self.code[index]
        written, read = statement.writes, statement.reads
        guarded = statement.guard is not None
        maker = self.makers.get(index)
        if maker is not None:
            for position, register in enumerate(maker[1]):
                origin = frozenset(((index, position),))
                state[register] = state.get(register, frozenset()) | origin if guarded else origin
            return
        move = statement.operation.is_move and len(read) == len(written) == 1
        for register in written:
            origins = state.get(read[0], frozenset()) if move else frozenset()
            state[register] = state.get(register, frozenset()) | origins if guarded else origins

    def _leave(self, number: int, entry: FragmentState) -> FragmentState:
        """The state behind a block: the origins of each register."""
        state = dict(entry)
        for index in self.events[number]:
            self._step(state, index)
        return state

    def findings(self, module: PtxModule) -> Iterator[Finding]:
        """The uses that differ from what a fragment was filled as."""
        self._find_events()
        start: list[FragmentState] = [{} for _ in self.flow.blocks]
        entry = solve_forward(self.flow, start, self._leave, _join)
        for number in sorted(self.flow.order):
            state = dict(entry[number])
            for index in self.events[number]:
                for wanted, vector in self.users.get(index, ()):
                    yield from self._compare(module, index, wanted, vector, state)
                self._step(state, index)

    def _compare(
        self, module: PtxModule, index: int, wanted: Fragment, vector: tuple[str, ...], state: FragmentState
    ) -> Iterator[Finding]:
        statement = self.function.statements[index]
        told: set[tuple[int, str]] = set()
        for position, register in enumerate(vector):
            for origin, element in sorted(state.get(register, ())):
                made = self.makers[origin][0]
                why = made.differs(wanted)
                if why is None and element != position:
                    why = f"its register {element} stands where register {position} belongs"
                if why is None or any(origin == known for known, _ in told):
                    continue
                told.add((origin, why))
                maker = self.function.statements[origin]
                yield Finding(
                    "wmma-fragment",
                    ERROR,
                    module.place(statement.offset),
                    self.function.name,
                    f"{statement.opcode} uses a fragment that {maker.opcode} made otherwise: {why}",
                    "9.7.14.4.5",
                    "load, multiply and store a fragment with the same shape, layout and element type",
                    (
                        Moment(
                            module.place(maker.offset), maker.opcode, f"fills {register} (element {element})"
                        ),
                        Moment(
                            module.place(statement.offset),
                            statement.opcode,
                            f"takes it for element {position} of {wanted.matrix.upper()}",
                        ),
                    ),
                )


def _join(known: FragmentState, arriving: FragmentState, block: int) -> bool:
    """Add the origins that arrive at a block to those of its entry; whether there are more now."""
    grown = False
    for register, origins in arriving.items():
        before = known.get(register)
        if before is None or not origins <= before:
            known[register] = origins if before is None else before | origins
            grown = True
    return grown
