"""Loops over tiles: with which numbers of parameters does a block come to its second tile?

The blocks of a persistent kernel take turns: each goes on by a literal number of tiles, as many as there are
blocks. So there must be many tiles, but a loop inside, over K, must end after few rounds. Where one block
goes over all tiles, and a tile holds more than a number that is usual elsewhere, that must be greater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..walks.parameters import AssumedSizes
from ..walks.walk_plan import WalkPlan
from .deciding_numbers import deciding_sizes, end_guards, ends_by

__all__ = ["few_tiles", "larger_tiles", "more_tiles"]

_LONG = 16  # times as large a number lets loops go on
_FEW = 2  # tiles at least, where a parameter counts them
_TIMES = 3  # as large a number of each parameter: with two of them, 9 times as many tiles


def few_tiles(
    plan: WalkPlan, gone_round: Collection[int], inner: Collection[int], most: int
) -> Iterator[AssumedSizes]:
    """Numbers of parameters with which a loop over tiles, which went on, ends: loops in it go on as they do
    with `most`, and then without an end. `inner` are these, by their heads. Nothing, if no parameter
    decides about them alone.
    """
    for head in sorted(gone_round):
        body = plan.loops.blocks[head]
        within = [one for one in inner if one in body and one != head]
        if not within or not plan.busy(head):
            continue
        names = {name for one in within for name in deciding_sizes(plan, ends_by(plan, one))}
        names -= deciding_sizes(plan, ends_by(plan, head))
        if names:
            for number in (most, _LONG * most):
                yield AssumedSizes(_FEW, tuple((name, number) for name in sorted(names)))
            return


def more_tiles(
    plan: WalkPlan, gone_round: Collection[int], paused_at: int | None, most: int, few: int
) -> AssumedSizes | None:
    """Numbers of parameters for a second tile, where `most` brought one. `gone_round` are the loops, by their
    heads, that went on; one paused, and ends with `few`. None if no loop over tiles wants another number.
    """
    for head, body in plan.loops.blocks.items():
        if head in gone_round or not plan.busy(head) or not _takes_turns(plan, head):
            continue
        inside = set[str]()
        if paused_at is not None:
            if paused_at not in body or paused_at == head:
                continue
            inside = deciding_sizes(plan, ends_by(plan, paused_at)) - deciding_sizes(
                plan, ends_by(plan, head)
            )
            if not inside:
                continue
        return AssumedSizes(_TIMES * most, tuple((name, few) for name in sorted(inside)))
    return None


def larger_tiles(
    plan: WalkPlan, gone_round: Collection[int], left: Collection[int], most: int
) -> Iterator[AssumedSizes]:
    """Numbers of parameters with which a loop goes round that `most` ended in its first round: a round counts
    more than that. `left` are the loops, by their heads, that assumed numbers ended. Nothing, if no parameter
    decides about such a loop.
    """
    for head in sorted(left):
        if head in gone_round or not plan.busy(head) or _takes_turns(plan, head):
            continue
        names = deciding_sizes(plan, ends_by(plan, head))
        if names:
            yield AssumedSizes(most, tuple((name, _LONG * most) for name in sorted(names)))
            return


def _takes_turns(plan: WalkPlan, head: int) -> bool:
    """Whether a loop's end depends on where the block is in the grid, and on a literal stride."""
    if plan.steps.placed.isdisjoint(end_guards(plan, head)):
        return False
    needed = ends_by(plan, head)
    statements = plan.code.definitions
    grid = {index for name in needed for index in statements.get(name, ()) if plan.steps.step(index).assumes}
    if not any(plan.steps.grid.keys() & set(plan.code[index].operands) for index in grid):
        return False
    return any(
        step.words[0] in ("add", "sub") and any(isinstance(one, int) and one > 1 for one in step.sources)
        for number in plan.loops.blocks[head]
        for step, _, makes in plan.relevant(number)
        if makes and not needed.isdisjoint(step.written)
    )
