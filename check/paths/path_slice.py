"""Which statements decide which events happen: conditions, and what they need.

A branch whose sides differ in nothing that counts is passed over: the path goes on where they meet again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ...spec.effects import RESULT
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.source import NAME

__all__ = ["PathSlice"]

_ENDS = frozenset(("jump", "switch", "leave", "abort"))


class PathSlice:
    """The statements that a path executes: `events` (those that count), and definitions of conditions."""

    def __init__(self, code: DecodedFunction, flow: Flow, events: Iterable[int]) -> None:
        self.code = code
        self.flow = flow
        self.events = frozenset(events)
        self.wanted: set[str] = set()
        self._relevant: set[int] = set()
        self.branches: set[int] = set()  # blocks whose last statement is a branch that counts
        self._grow()
        self.steps: Mapping[int, tuple[int, ...]] = self._steps()

    def _grow(self) -> None:
        """Close blocks, branches and registers under control and data dependence."""
        flow, code = self.flow, self.code
        waiting = sorted({flow.block_of(index) for index in self.events})
        registers: list[str] = []
        for index in self.events:
            registers += self.guards(index)
        while waiting or registers:
            while waiting:
                block = waiting.pop()
                if block in self._relevant:
                    continue
                self._relevant.add(block)
                for branch in self._governors[block]:
                    if branch not in self.branches:
                        self.branches.add(branch)
                        last = flow.blocks[branch].end - 1
                        registers += self.guards(last)
                        if code[last].does == "switch":
                            registers += code[last].reads
                        waiting.append(branch)
            while registers:
                register = registers.pop()
                if register in self.wanted:
                    continue
                self.wanted.add(register)
                for index in code.definitions.get(register, ()):
                    waiting.append(flow.block_of(index))
                    registers += self.inputs(code[index])
                    registers += self.guards(index)

    def guards(self, index: int) -> tuple[str, ...]:
        """The register that decides whether a statement is executed, where it comes to it."""
        statement = self.code[index]
        return () if statement.guard is None else self.code.unique((statement.guard,), statement.scope)

    def conditions(self, number: int) -> Iterator[str]:
        """The registers that decide whether a path comes to a block."""
        for branch in self._governors.get(number, ()):
            last = self.flow.blocks[branch].end - 1
            yield from self.guards(last)
            if self.code[last].does == "switch":
                yield from self.code[last].reads

    def inputs(self, statement: DecodedStatement) -> tuple[str, ...]:
        """The registers that a statement's value depends on."""
        return () if self.is_opaque(statement) else statement.reads

    @staticmethod
    def is_opaque(statement: DecodedStatement) -> bool:
        """Whether a value depends on more than the registers that are read."""
        operation = statement.operation
        return (
            operation.registers != RESULT
            or operation.instruction is not None
            or operation.does not in ("nothing", "move")
            or any("[" in text for text in statement.operands)
        )

    @cached_property
    def _governors(self) -> Mapping[int, list[int]]:
        """By block: the branches that decide whether it is executed."""
        flow = self.flow
        parent = flow.post_dominator
        found: dict[int, list[int]] = defaultdict(list)
        for number in flow.order:
            block = flow.blocks[number]
            if len(block.successors) + block.leaves < 2:
                continue
            if number not in parent:  # it never leaves: anything behind it may depend on it
                for other in flow.order:
                    found[other].append(number)
                continue
            for successor in block.successors:
                at: int | None = successor
                while at is not None and at != parent[number]:
                    found[at].append(number)
                    at = parent.get(at)
        return found

    def _steps(self) -> dict[int, tuple[int, ...]]:
        """By block: the statements to execute, in order."""
        found: dict[int, list[int]] = defaultdict(list)
        defining = {i for register in self.wanted for i in self.code.definitions.get(register, ())}
        for index in sorted(defining | self.events):
            found[self.flow.block_of(index)].append(index)
        return {number: tuple(indices) for number, indices in found.items()}

    def ways(self, number: int) -> list[tuple[int, bool | None]]:
        """Where a path goes on behind a block: a block, and what the guard of the branch is then.

        None: the guard does not matter. An irrelevant branch leads to where its sides meet again.
        """
        block = self.flow.blocks[number]
        if len(block.successors) + block.leaves >= 2 and number not in self.branches:
            meeting = self.flow.post_dominator.get(number)
            if meeting is not None:
                return [(meeting, None)]
            return [(successor, None) for successor in block.successors]
        last = self.code[block.end - 1]
        if last.guard is None or last.does not in _ENDS:
            return [(successor, None) for successor in block.successors]
        holds = not last.negated
        if last.does != "jump":  # a guarded exit, or a table
            taken: list[tuple[int, bool | None]] = [(s, holds) for s in block.successors if s != block.fall]
            return [*taken, (block.fall, not holds)] if block.fall is not None else taken
        if block.branch == block.fall and block.fall is not None:
            return [(block.fall, None)]
        found: list[tuple[int, bool | None]] = []
        if block.branch is not None:
            found.append((block.branch, holds))
        if block.fall is not None:
            found.append((block.fall, not holds))
        return found

    @cached_property
    def live(self) -> Mapping[int, frozenset[str]]:
        """By block: the registers and the names of unchanging inputs that may yet be read."""
        uses: dict[int, set[str]] = {}
        kills: dict[int, set[str]] = {}
        for number in self.flow.order:
            use: set[str] = set()
            kill: set[str] = set()
            indices = list(self.steps.get(number, ()))
            block = self.flow.blocks[number]
            if number in self.branches and (not indices or indices[-1] != block.end - 1):
                indices.append(block.end - 1)
            for index in indices:
                statement = self.code[index]
                read = {*self.guards(index)}
                if not self.wanted.isdisjoint(statement.writes):
                    read.update(self.inputs(statement), self.unchanging(statement))
                if statement.does == "switch":
                    read.update(statement.reads)
                use |= read - kill
                if statement.guard is None:
                    kill.update(statement.writes)
            uses[number], kills[number] = use, kill
        live = {number: frozenset[str]() for number in self.flow.order}
        changed = True
        while changed:
            changed = False
            for number in reversed(self.flow.order):
                behind = set().union(*(live[s] for s in self.flow.blocks[number].successors))
                new = frozenset(uses[number] | (behind - kills[number]))
                if new != live[number]:
                    live[number] = new
                    changed = True
        return live

    @staticmethod
    def unchanging(statement: DecodedStatement) -> tuple[str, ...]:
        """What a statement reads beside registers, by name: special registers, variables, parameters."""
        return tuple(name for text in statement.operands[1:] for name in NAME.findall(text))

    @cached_property
    def changed(self) -> Mapping[int, frozenset[str]]:
        """By head of a loop: the wanted registers that the loop writes."""
        return {
            head: frozenset(
                register
                for number in body
                for index in self.steps.get(number, ())
                for register in self.code[index].writes
                if register in self.wanted
            )
            for head, body in self.flow.loops.items()
        }

    @cached_property
    def exits(self) -> Mapping[int, tuple[int, ...]]:
        """By block with a branch: the heads of the loops that it may leave."""
        found: dict[int, list[int]] = defaultdict(list)
        for head, body in self.flow.loops.items():
            for number in body:
                block = self.flow.blocks[number]
                if block.leaves or any(successor not in body for successor in block.successors):
                    found[number].append(head)
        return {number: tuple(heads) for number, heads in found.items()}
