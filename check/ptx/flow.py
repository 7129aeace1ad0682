"""The control-flow graph of a function: blocks, edges, and which block post-dominates which."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

from .operation import Operations
from .source import NAME, Function, PtxModule, UnreadText

__all__ = ["Block", "Flow", "build_flow"]


class _Happens(Protocol):
    @property
    def statement(self) -> int: ...


E = TypeVar("E", bound=_Happens)
_JUMPS, _LEAVES = ("jump", "switch"), ("leave", "abort")


@dataclass
class Block:
    """Statements `start` to `end` (exclusive); `branch` is the successor taken, `fall` the one behind.

    `cases` are the successors by the number of a jump by a table. `leaves`: its last statement leaves the
    function, perhaps under a guard; `aborts`: it also ends the whole kernel.
    """

    start: int
    end: int
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)
    branch: int | None = None
    fall: int | None = None
    cases: tuple[int, ...] = ()
    leaves: bool = False
    aborts: bool = False


class Flow:
    """Blocks in the order of the text; the first is the entry. The exit of the function has no block."""

    def __init__(self, function: Function, blocks: list[Block]) -> None:
        self.function = function
        self.blocks = blocks

    def block_of(self, statement: int) -> int:
        """The number of the block that holds a statement."""
        return max(bisect_right(self._starts, statement) - 1, 0)

    @cached_property
    def _starts(self) -> list[int]:
        return [block.start for block in self.blocks]

    def by_block(self, events: Iterable[E]) -> list[list[E]]:
        """Events by block, in the order of the text."""
        found: list[list[E]] = [[] for _ in self.blocks]
        block = 0
        for event in events:
            while self.blocks[block].end <= event.statement:
                block += 1
            found[block].append(event)
        return found

    @cached_property
    def order(self) -> list[int]:
        """Reachable blocks in reverse postorder."""
        if not self.blocks:
            return []
        seen = {0}
        order: list[int] = []
        stack = [(0, iter(self.blocks[0].successors))]
        while stack:
            number, following = stack[-1]
            for successor in following:
                if successor not in seen:
                    seen.add(successor)
                    stack.append((successor, iter(self.blocks[successor].successors)))
                    break
            else:
                order.append(number)
                stack.pop()
        return order[::-1]

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """By the block that a branch leads back to: the blocks of the loop. The flow decides which block that
        is, and not the text: a compiler may lay a loop's body out before its head.
        """
        rank = {number: position for position, number in enumerate(self.order)}
        found: dict[int, set[int]] = {}
        for number in self.order:
            for head in self.blocks[number].successors:
                if rank[head] > rank[number]:
                    continue
                body = found.setdefault(head, {head})
                waiting = [number]
                while waiting:
                    block = waiting.pop()
                    if block in body or rank.get(block, -1) < rank[head]:
                        continue  # of a loop with two entries, the way to the other one is left out
                    body.add(block)
                    waiting += self.blocks[block].predecessors
        return {head: frozenset(body) for head, body in found.items()}

    def reached(self, starts: Iterable[int], end: int | None) -> set[int]:
        """The blocks that some blocks lead to, themselves among them, without passing `end`."""
        found: set[int] = set()
        waiting = list(starts)
        while waiting:
            block = waiting.pop()
            if block != end and block not in found:
                found.add(block)
                waiting += self.blocks[block].successors
        return found

    @cached_property
    def post_dominator(self) -> dict[int, int | None]:
        """The immediate post-dominator of every block that can leave; None is the function's end. What ends
        the whole kernel is no way on: no thread comes to anything else alone.
        """
        end = len(self.blocks)
        backward: dict[int, list[int]] = {end: []}
        for number in self.order:
            for successor in self._leads(number, end):
                backward.setdefault(successor, []).append(number)
        position = self._postorder(backward, end)
        parent: dict[int, int] = {end: end}
        changed = True
        numbers = sorted((n for n in position if n != end), key=lambda n: -position[n])
        while changed:
            changed = False
            for number in numbers:
                best: int | None = None
                for successor in self._leads(number, end):
                    if successor in parent:
                        best = successor if best is None else self._meet(parent, position, best, successor)
                if best is not None and parent.get(number) != best:
                    parent[number] = best
                    changed = True
        return {n: (None if p == end else p) for n, p in parent.items() if n != end}

    def _leads(self, number: int, end: int) -> list[int]:
        block = self.blocks[number]
        found = list(block.successors)
        if not block.aborts and (not found or block.leaves):
            found.append(end)
        return found

    @staticmethod
    def _postorder(edges: dict[int, list[int]], root: int) -> dict[int, int]:
        seen = {root}
        position: dict[int, int] = {}
        stack = [(root, iter(edges.get(root, ())))]
        while stack:
            number, following = stack[-1]
            for successor in following:
                if successor not in seen:
                    seen.add(successor)
                    stack.append((successor, iter(edges.get(successor, ()))))
                    break
            else:
                position[number] = len(position)
                stack.pop()
        return position

    @staticmethod
    def _meet(parent: dict[int, int], position: dict[int, int], left: int, right: int) -> int:
        while left != right:
            while position[left] < position[right]:
                left = parent[left]
            while position[right] < position[left]:
                right = parent[right]
        return left


def build_flow(function: Function, module: PtxModule, operations: Operations) -> Flow:
    """The control-flow graph of a function; a branch to an unknown label becomes a fault of the module."""
    statements = function.statements
    count = len(statements)
    leaders = {0}
    targets: dict[int, list[int]] = {}
    for scope in function.scopes:
        leaders.update(scope.labels.values())
    for index, statement in enumerate(statements):
        does = operations.of(statement.opcode).does
        if does not in _JUMPS and does not in _LEAVES:
            continue
        leaders.add(index + 1)
        names: tuple[str, ...] = ()
        if does == "jump":
            names = (statement.operands.split()[0],) if statement.operands else ()
        elif does == "switch":
            table = NAME.findall(statement.operands)
            names = function.tables.get(table[-1], ()) if table else ()
        for name in names:
            target = function.target(name, statement.scope)
            if target is None:
                module.faults.append(
                    UnreadText(module.place(statement.offset), f"the label {name} is not declared here")
                )
            else:
                targets.setdefault(index, []).append(target)
    starts = sorted(leader for leader in leaders if leader <= count)
    if starts[-1] != count:
        starts.append(count)
    blocks = [Block(a, b) for a, b in pairwise(starts)]
    numbers = {block.start: number for number, block in enumerate(blocks)}
    for number, block in enumerate(blocks):
        last = statements[block.end - 1]
        does = operations.of(last.opcode).does
        block.leaves = does in _LEAVES
        block.aborts = does == "abort"
        falls = (does not in _JUMPS and does not in _LEAVES) or last.guard is not None
        if falls and number + 1 < len(blocks):
            block.fall = number + 1
        found = [numbers[target] for target in targets.get(block.end - 1, ()) if target in numbers]
        block.branch = found[0] if found else None
        block.cases = tuple(found) if does == "switch" else ()
        for successor in (*found, *([block.fall] if block.fall is not None else ())):
            if successor not in block.successors:
                block.successors.append(successor)
                blocks[successor].predecessors.append(number)
    return Flow(function, blocks)
