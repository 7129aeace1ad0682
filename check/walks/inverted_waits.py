"""Does a loop try a wait again where its phase is complete, and go on where it is not?

Such a loop is left while the phase is incomplete: behind it, no thread knows of what the phase covers.
"""

from __future__ import annotations

from ..ptx.flow import Block
from .walk_steps import WalkStep, WalkSteps

__all__ = ["branches", "is_inverted"]

_PLAIN = frozenset(("move", "nothing", "jump"))
_MOST_BLOCKS = 4  # from the branch back to the wait


def is_inverted(steps: WalkSteps, index: int) -> bool:
    """Whether a wait is all that a loop does, and only an incomplete phase ends that loop."""
    if index not in steps.inverted:
        steps.inverted[index] = steps.code[index].does == "await" and _ends_early(steps, index)
    return steps.inverted[index]


def _ends_early(steps: WalkSteps, index: int) -> bool:
    number = steps.flow.block_of(index)
    block = steps.flow.blocks[number]
    sides = branches(steps, index) if _is_plain(steps, block, index) else None
    if sides is None:
        return False
    over, early = sides
    return _comes_back(steps, over, number) and not _comes_back(steps, early, number)


def branches(steps: WalkSteps, index: int) -> tuple[int | None, int | None] | None:
    """The blocks that follow where a wait finds its phase complete, and where it does not; None if its block
    does not end with a branch that depends on that alone.
    """
    block = steps.flow.blocks[steps.flow.block_of(index)]
    branch = steps.code[block.end - 1]
    if branch.does != "jump" or branch.guard is None:
        return None
    taken = {found: _is_taken(steps, index, block, found) for found in (0, 1)}
    if None in taken.values() or taken[0] == taken[1]:
        return None
    return (block.branch, block.fall) if taken[1] else (block.fall, block.branch)


def _is_plain(steps: WalkSteps, block: Block, index: int = -1) -> bool:
    """Whether a block does nothing that counts besides a statement."""
    return all(at == index or steps.code[at].does in _PLAIN for at in range(block.start, block.end))


def _is_taken(steps: WalkSteps, index: int, block: Block, found: int) -> bool | None:
    """Whether the branch at the end of a block is taken if the wait in it finds this; None if unknown."""
    known: dict[str, int | None] = dict.fromkeys(steps.code[index].writes, found)
    for at in range(index + 1, block.end - 1):
        step = steps.step(at)
        value = _value(step, known) if step.guard is None and len(step.written) == 1 else None
        known.update(dict.fromkeys(step.written, value))
    branch = steps.step(block.end - 1)
    guard = known.get(branch.guard or "")
    return None if guard is None else bool(guard & 1) != branch.negated


def _value(step: WalkStep, known: dict[str, int | None]) -> int | None:
    """The result of a statement that has a rule, if all that it reads is known."""
    return step.computed([one if isinstance(one, int) else known.get(one) for one in step.sources])


def _comes_back(steps: WalkSteps, side: int | None, number: int) -> bool:
    """Whether a side of a branch leads to a block, and nowhere else, past nothing that counts."""
    for _ in range(_MOST_BLOCKS):
        if side is None or side == number:
            return side == number
        block = steps.flow.blocks[side]
        if len(block.successors) != 1 or not _is_plain(steps, block):
            return False
        side = block.successors[0]
    return False
