"""Which parameters say how long a ring of stages is, and with which numbers is it executed?

Where a parameter says how many mbarriers are initialised, the usual number of a size is too large twice: no
thread comes round, and there is no room for so many stages. Which length a host passes nobody says. A kernel
is right with those that it has room for, and these are small: what is wrong must be so with each of a few. A
kernel that always fills more stages ahead needs more: what is wrong must be so with as many, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ptx.operands import number_of
from ..walks.walk_plan import WalkPlan
from .deciding_numbers import deciding_sizes

__all__ = ["ring_lengths", "ring_parameters"]

# The first needs the least room; with the others, kernels are right that fill a few stages ahead.
_LENGTHS = (2, 3, 4)
_MOST = 16  # stages: rings are hardly ever longer
_MAKES = frozenset(("init", "invalidate", "memory-fence", "proxy-fence", "store"))


def ring_parameters(plan: WalkPlan) -> list[str]:
    """The parameters that say how many mbarriers are initialised: by the rounds of a loop that does nothing
    else, or by how many threads each initialise some.
    """
    guards = {name for index in plan.code.doing("init") for name in _guards(plan, index)}
    return sorted(deciding_sizes(plan, plan.steps.closed(guards))) if guards else []


def ring_lengths(plan: WalkPlan) -> tuple[int, ...]:
    """The lengths with each of which something must be wrong; the last is the largest number of stages that
    threads may fill ahead, if that is more: one with which they compare what is alike in all of them.
    """
    ahead = max((number for number in _compared_numbers(plan) if number <= _MOST), default=0)
    return (*_LENGTHS, ahead) if ahead > _LENGTHS[-1] else _LENGTHS


def _compared_numbers(plan: WalkPlan) -> Iterator[int]:
    """The literals with which numbers are compared that do not tell threads apart."""
    for statement in plan.code:
        if statement.operation.words[0] == "setp" and plan.steps.differing.isdisjoint(statement.reads):
            for text in statement.operands[1:]:
                if (number := number_of(text)) is not None:
                    yield number


def _guards(plan: WalkPlan, index: int) -> Iterator[str]:
    """The registers that decide how often a statement is executed, as its branches find them."""
    number = plan.flow.block_of(index)
    statement, blocks = plan.code[index], plan.flow.blocks
    for head in plan.loops.around.get(number, ()):
        body = plan.loops.blocks[head]
        does = {plan.code.operation(one).does for one in plan.roles if plan.flow.block_of(one) in body}
        if does <= _MAKES:
            for one in body:
                if not body.issuperset(blocks[one].successors):
                    yield from _compared(plan, blocks[one].end - 1)
    if statement.guard is not None:
        yield from _telling(plan, index)
    for branch in plan.code.doing("jump"):
        block = plan.flow.block_of(branch)
        if len(blocks[block].successors) > 1 and any(
            index in plan.doing(frozenset(("init",)), side, block) for side in blocks[block].successors
        ):
            yield from _telling(plan, branch)


def _compared(plan: WalkPlan, index: int) -> tuple[str, ...]:
    """The registers from which the guard of a statement was computed last."""
    name = plan.steps.guard(plan.code[index])
    made = None if name is None else plan.written_by(name, index)
    if made is None:
        return () if name is None else (name,)
    return plan.code[made].reads


def _telling(plan: WalkPlan, index: int) -> Iterator[str]:
    """The same, where these tell threads apart by a number of theirs."""
    names = _compared(plan, index)
    if not plan.steps.differing.isdisjoint(names):
        yield from names
