"""What registers hold where a path begins amid a function: anything, but for what others always decide.

Of a register that one statement writes, that statement says what it holds, if nothing that it reads can have
changed since: whoever changes it comes to the statement again before the path begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..ptx.flow import Flow
from .path_terms import PathValue
from .path_values import PathValues

__all__ = ["held_values"]


def held_values(
    values: PathValues, flow: Flow, begin: int, names: Collection[str], uniform: Collection[str]
) -> dict[str, PathValue]:
    """What some registers hold at the start of a block; the `uniform` ones hold the same in all threads."""
    held: dict[str, PathValue] = {
        name: values.terms.leaf(("held", begin, name), name in uniform) for name in names
    }
    for index in _lasting(values, flow, begin, names):
        held.update(values.results(index, held, ()))
    return held


def _lasting(values: PathValues, flow: Flow, begin: int, names: Collection[str]) -> Iterator[int]:
    """The statements that say what they write at the start of a block, too, in the order of the text."""
    code = values.code
    made = {index for name in names if len(found := code.definitions.get(name, ())) == 1 for index in found}
    for index in sorted(made):
        statement = code[index]
        block = flow.block_of(index)
        if block == begin or statement.guard is not None or not values.is_computed(index):
            continue
        changes = (at for name in statement.reads for at in code.definitions.get(name, ()))
        if not any(_stays_changed(flow, at, index, begin) for at in changes):
            yield index


def _stays_changed(flow: Flow, change: int, index: int, begin: int) -> bool:
    """Whether a way leads from a statement to a block, and not by another statement."""
    block, target = flow.block_of(change), flow.block_of(index)
    if block == target and change < index:
        return False
    return begin in flow.reached(flow.blocks[block].successors, target)
