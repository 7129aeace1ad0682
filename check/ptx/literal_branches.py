"""Branches that a literal decides: unoptimised code moves one into a predicate, and asks that."""

from __future__ import annotations

from dataclasses import replace

from .decode import DecodedFunction
from .flow import Block, Flow
from .operands import number_of

__all__ = ["without_shut_ways"]


def without_shut_ways(code: DecodedFunction, flow: Flow) -> Flow:
    """The flow without the ways of branches that a literal shuts; the same one where there are none."""
    open_ways = {number: block for number, old in enumerate(flow.blocks) if (block := _opened(code, old))}
    if not open_ways:
        return flow
    blocks = [replace(open_ways.get(number, old), predecessors=[]) for number, old in enumerate(flow.blocks)]
    for number, block in enumerate(blocks):
        for successor in block.successors:
            blocks[successor].predecessors.append(number)
    return Flow(flow.function, blocks)


def _opened(code: DecodedFunction, block: Block) -> Block | None:
    """A block with the only way that its branch ever takes; None where that is not known."""
    if block.branch is None or block.fall is None or block.branch == block.fall:
        return None
    last = code[block.end - 1]
    holds = _literal(code, block.end - 1)
    if last.does != "jump" or holds is None:
        return None
    if holds != last.negated:
        return replace(block, successors=[block.branch], fall=None)
    return replace(block, successors=[block.fall], branch=None)


def _literal(code: DecodedFunction, index: int) -> bool | None:
    """What a guard always is, where only moves of one literal write its register; None otherwise."""
    last = code[index]
    names = () if last.guard is None else code.unique((last.guard,), last.scope)
    made = [code[at] for name in names for at in code.definitions.get(name, ())]
    if not made or any(one.does != "move" or one.guard is not None for one in made):
        return None
    numbers = {number_of(one.operands[-1]) for one in made}
    number = numbers.pop()
    return None if numbers or number is None else bool(number)
