"""Blocks whose size the PTX does not show: none is said, or `.maxntid` allows smaller ones (11.4.2)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Set

from ..ptx.operands import number_of
from ..values.block_threads import WARP, WARPGROUP, size_of
from ..values.divergence import acts_together
from ..walks.parameters import AssumedSizes
from ..walks.walk_plan import WalkPlan
from .execution import Execution

__all__ = ["few_threads", "named_sizes", "right_size", "rounded_sizes", "usual_shapes", "usual_sizes"]

# The usual ones first: whole warpgroups, then those with a warp beside them, then few threads.
_BLOCKS = (128, 256, 384, 512, 160, 288, 416, 64, 32)
_PLANES = (256, 128, 512, 64)  # threads of those that do not lie along x
_WIDTHS = (32, 16, 64, 8, 128)  # their extents along x
_OTHERS = range(WARP, 512, WARP)  # then all smaller ones: some have two warps beside their warpgroups
_TOGETHER = frozenset(("meet", "vote", "shuffle", "elect"))  # what several threads do together


def usual_sizes(plan: WalkPlan) -> list[int]:
    """Numbers of threads that blocks have where the PTX names none: the usual ones, those that barriers name,
    and the others.
    """
    named = (size + beside for size in named_sizes(plan) for beside in (0, WARP, WARPGROUP))
    return list(dict.fromkeys((*_BLOCKS, *named, *_OTHERS)))


def usual_shapes(plan: WalkPlan) -> Iterator[tuple[int, int, int]]:
    """The shapes that blocks usually have where the PTX names none: along x; or, where threads read their
    place along y or z, with a usual extent along x and the rest along these.
    """
    function = plan.function
    if not function.plane:
        yield from ((size, 1, 1) for size in usual_sizes(plan))
        return
    most = function.most or _PLANES[0]
    read = {text for statement in plan.code for text in statement.operands if text.startswith("%tid.")}
    for size in dict.fromkeys((most, *(size for size in _PLANES if size <= (function.most or size)))):
        for width in dict.fromkeys((size, *_WIDTHS)):
            rest, left = divmod(size, width)
            for tall in () if left else dict.fromkeys((rest, 2, max(rest // 2, 1), 1)):
                flat = rest // tall == 1 or "%tid.z" in read
                if rest % tall == 0 and flat and (tall == 1 or "%tid.y" in read):
                    yield width, tall, rest // tall


def right_size(
    plan: WalkPlan,
    threads: int,
    sizes: Iterable[AssumedSizes],
    done_with: Callable[[AssumedSizes], Set[int]],
    is_right: Callable[[Execution], bool],
) -> int | None:
    """A smaller number of threads that barriers name, and with which all that a function does is right; None
    if there is none.

    `sizes` are the numbers that its parameters may have. Fewer threads must do all that more do (the blocks
    `done_with` a number): where some code is for the threads that are missing, the block has them.
    """
    fewer = [count for count in named_sizes(plan) if count < threads]
    for number in sizes if fewer else ():
        done = done_with(number)
        for count in fewer:
            found = Execution(plan, count, number, only_right=True)
            if done <= found.together.keys() and is_right(found):
                return count
    return None


def named_sizes(plan: WalkPlan) -> list[int]:
    """Numbers of threads that barriers are for: of their own, or of one in every warp; the largest first."""
    whole = WARPGROUP if plan.code.doing("multiply") else WARP
    found = {times * count for count in _counts(plan) for times in (1, WARP)}
    return sorted((count for count in found if count and count % whole == 0), reverse=True)


def few_threads(plan: WalkPlan) -> list[int]:
    """Fewer threads than a warp that a block may well have: as many as an mbarrier is made for; or one, where
    nothing is for several threads.
    """
    found = {count for count in _counts(plan, ("init",)) if 1 < count < WARP}
    together = (one for one in plan.code.used if one.does in _TOGETHER or acts_together(one))
    if not plan.steps.differing and not any(together):
        found.add(1)
    return sorted(found)


def rounded_sizes(plan: WalkPlan) -> list[int]:
    """Numbers of threads that `.maxntid` may round up: whole warpgroups that barriers name, and the one warp
    beside them that works for them.
    """
    function = plan.function
    if not function.is_line or function.threads is None:
        return []
    most = size_of(function.threads)
    whole = (size + WARP for size in named_sizes(plan) if size % WARPGROUP == 0)
    return [size for size in whole if most - WARPGROUP < size < most]


def _counts(plan: WalkPlan, actions: Container[str] = ("init", "arrive", "meet")) -> Iterator[int]:
    for statement in plan.code:
        position = statement.count_at
        if statement.does not in actions or position is None:
            continue
        text = statement.operands[position]
        for register in plan.code.unique((text,), statement.scope):
            made = plan.code.definitions.get(register, ())
            moved = plan.code[made[0]] if len(made) == 1 else None
            if moved is not None and moved.operation.is_move:
                text = moved.operands[1]
        number = number_of(text)
        if number is not None:
            yield number
