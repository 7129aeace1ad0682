"""Where the registers of wmma fragments come from: load, mma and store must agree on every path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...spec.legality import Judge
from ...spec.variants import Variant
from ..findings import ERROR, Finding, Moment
from ..ptx.dataflow import solve_forward
from ..ptx.flow import Flow
from ..ptx.source import NAME, Function, PtxModule
from ..ptx.uses import Uses, operands_of

__all__ = ["fragment_findings"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a wmma instruction says of a fragment: matrix, shape, element type, and layout if it has one."""

    matrix: str
    shape: str
    type: str
    layout: str | None

    def differs(self, other: Fragment) -> str | None:
        """What is not the same in another; None where all is."""
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


def fragment_findings(
    module: PtxModule, function: Function, flow: Flow, uses: Uses, judge: Judge
) -> Iterator[Finding]:
    """Fragments that are used otherwise than they were made."""
    provenance = _Provenance(function, flow, uses, judge)
    if provenance.makers and provenance.users:
        yield from provenance.findings(module)


class _Provenance:
    """Which wmma instruction may have filled each register."""

    def __init__(self, function: Function, flow: Flow, uses: Uses, judge: Judge) -> None:
        self.function = function
        self.flow = flow
        self.uses = uses
        self.makers: dict[int, tuple[Fragment, tuple[str, ...]]] = {}
        self.users: dict[int, list[tuple[Fragment, tuple[str, ...]]]] = {}
        for index, statement in enumerate(function.statements):
            if not statement.opcode.startswith("wmma."):
                continue
            variant = judge.judge_mnemonic(statement.opcode).variant
            if variant is not None:
                self._note(index, variant)
        self.registers = {r for _, vector in self.makers.values() for r in vector}
        self.events: list[list[int]] = [[] for _ in flow.blocks]
        for number, block in enumerate(flow.blocks):
            for index in range(block.start, block.end):
                if (
                    index in self.users
                    or not self.registers.isdisjoint(uses.of(index)[0])
                    or self._moves(index)
                ):
                    self.events[number].append(index)

    def _moves(self, index: int) -> bool:
        if not self.function.statements[index].opcode.startswith("mov."):
            return False
        written, read = self.uses.of(index)
        if len(read) == 1 and len(written) == 1 and read[0] in self.registers:
            self.registers.add(written[0])
            return True
        return False

    def _vector(self, index: int, position: int) -> tuple[str, ...]:
        statement = self.function.statements[index]
        parts = operands_of(statement)
        text = parts[position] if position < len(parts) else ""
        return self.uses.unique(NAME.findall(text), statement.scope)

    def _note(self, index: int, variant: Variant) -> None:
        fields = variant.fields
        name = variant.row.family.instruction.instruction
        shape = f"m{fields['m']}n{fields['n']}k{fields['k']}"

        def told(field: str, instead: str = "multiplicand") -> str:
            value = fields.get(field, "none")
            return str(fields.get(instead, value)) if value == "none" else str(value)

        if name.startswith("wmma.load."):
            matrix = name[-1]
            layout = str(fields["layout"]) if matrix in "ab" else None
            self.makers[index] = (Fragment(matrix, shape, told("type"), layout), self._vector(index, 0))
        elif name == "wmma.store.d":
            self.users[index] = [(Fragment("c", shape, told("type"), None), self._vector(index, 1))]
        elif name == "wmma.mma":
            self.makers[index] = (Fragment("c", shape, told("dtype"), None), self._vector(index, 0))
            self.users[index] = [
                (Fragment("a", shape, told("atype"), str(fields["alayout"])), self._vector(index, 1)),
                (Fragment("b", shape, told("btype"), str(fields["blayout"])), self._vector(index, 2)),
                (Fragment("c", shape, told("ctype"), None), self._vector(index, 3)),
            ]

    def _step(self, state: FragmentState, index: int) -> None:
        written, read = self.uses.of(index)
        guarded = self.function.statements[index].guard is not None
        maker = self.makers.get(index)
        if maker is not None:
            for position, register in enumerate(maker[1]):
                origin = frozenset(((index, position),))
                state[register] = state.get(register, frozenset()) | origin if guarded else origin
            return
        move = self.function.statements[index].opcode.startswith("mov.") and len(read) == len(written) == 1
        for register in written:
            origins = state.get(read[0], frozenset()) if move else frozenset()
            state[register] = state.get(register, frozenset()) | origins if guarded else origins

    def _leave(self, number: int, entry: FragmentState) -> FragmentState:
        """What each register may hold behind a block."""
        state = dict(entry)
        for index in self.events[number]:
            self._step(state, index)
        return state

    def findings(self, module: PtxModule) -> Iterator[Finding]:
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
