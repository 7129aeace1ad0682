"""Which assumed numbers decide whether a branch is taken: parameters, and the block's place in the grid."""

from __future__ import annotations

from collections.abc import Iterable

from ..walks.walk_plan import WalkPlan

__all__ = ["deciding_numbers", "deciding_sizes", "end_guards", "ends_by", "rounds_by", "rounds_of"]


def deciding_sizes(plan: WalkPlan, registers: Iterable[str]) -> set[str]:
    """The parameters from which registers are computed."""
    return {name for index in plan.steps.statements_behind(registers) for name in _loaded(plan, index)}


def deciding_numbers(plan: WalkPlan, registers: Iterable[str]) -> set[str]:
    """The parameters and the special registers of the grid from which registers are computed."""
    grid, behind = plan.steps.grid.keys(), plan.steps.statements_behind(registers)
    return deciding_sizes(plan, registers).union(*(grid & set(plan.code[at].operands) for at in behind))


def rounds_by(plan: WalkPlan, statements: Iterable[int]) -> set[str]:
    """The assumed numbers that decide how often loops come to statements; none, where a register may hold
    one of two parameters, since this asks for no path.
    """
    around, block_of = plan.loops.around, plan.flow.block_of
    return rounds_of(plan, {head for index in statements for head in around.get(block_of(index), ())})


def rounds_of(plan: WalkPlan, heads: Iterable[int]) -> set[str]:
    """The same for loops, by their heads."""
    needed = {name for head in heads for name in ends_by(plan, head)}
    return set() if any(_is_shared(plan, name) for name in needed) else deciding_numbers(plan, needed)


def _is_shared(plan: WalkPlan, register: str) -> bool:
    """Whether different parameters decide what different statements write to a register."""
    made = plan.code.definitions.get(register, ())
    return len(made) > 1 and len({sizes for index in made if (sizes := _sizes_of(plan, index))}) > 1


def _sizes_of(plan: WalkPlan, index: int) -> frozenset[str]:
    """The parameters that decide what a statement writes."""
    return frozenset(_loaded(plan, index) | deciding_sizes(plan, plan.code[index].reads))


def _loaded(plan: WalkPlan, index: int) -> set[str]:
    """The parameters that a statement loads."""
    step = plan.steps.step(index)
    if step.result not in ("parameter", "places"):
        return set()
    return {name for name in step.sources if isinstance(name, str) and name}


def ends_by(plan: WalkPlan, head: int) -> set[str]:
    """The registers that decide whether a loop goes on."""
    return plan.steps.closed(end_guards(plan, head))


def end_guards(plan: WalkPlan, head: int) -> set[str]:
    """The guards of the branches that leave a loop."""
    body = plan.loops.blocks[head]
    ends = (plan.flow.blocks[number] for number in body)
    lasts = (plan.code[block.end - 1] for block in ends if not body.issuperset(block.successors))
    return {name for last in lasts if (name := plan.steps.guard(last)) is not None}
