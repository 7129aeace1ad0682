"""What the operands of a statement come to for a group of threads, and what rests on assumed numbers."""

from __future__ import annotations

from ..ptx.decode import DecodedStatement
from ..values.lane_numbers import Numbers
from ..walks.walk_steps import RANKS, WalkStep
from .thread_groups import ThreadGroup

__all__ = ["is_doubtful", "masked_blocks", "shown_count", "shown_number", "value_of"]


def is_doubtful(group: ThreadGroup, step: WalkStep) -> bool:
    """Whether an assumed number decides that the access happens, or where."""
    if group.doubtful or not group.registers.assumed:
        return group.doubtful
    return not group.registers.assumed.isdisjoint(group.registers.steps.placing(step))


def value_of(group: ThreadGroup, text: str | None, scope: int) -> Numbers:
    """What an operand holds; None if there is none, or it is not known."""
    return None if not text else group.registers.value(text, scope)


def shown_number(
    group: ThreadGroup,
    statement: DecodedStatement,
    position: int | None,
    otherwise: int,
    assumed: bool = False,
) -> Numbers:
    """The number of an operand, or `otherwise` if it is left out; None if it is not known, or follows from an
    assumed number, unless that does.
    """
    if position is None or position >= len(statement.operands):
        return otherwise
    text, scope = statement.operands[position], statement.scope
    if not assumed and group.registers.steps.source(text, scope) in group.registers.assumed:
        return None  # a parameter says how many
    return group.registers.value(text, scope)


def shown_count(
    group: ThreadGroup, statement: DecodedStatement, position: int | None, otherwise: int
) -> Numbers:
    """How many arrive. An assumed number may choose one of two that are known, which makes the group
    doubtful; but no count is taken to be an assumed number.
    """
    found = shown_number(group, statement, position, otherwise)
    if found is None and position is not None:
        steps, assumed = group.registers.steps, group.registers.assumed
        choices = steps.choices(steps.source(statement.operands[position], statement.scope))
        if choices and assumed.isdisjoint(choices):
            group.doubtful = True
            return shown_number(group, statement, position, otherwise, True)
    return found


def masked_blocks(group: ThreadGroup, step: WalkStep) -> Numbers:
    """The blocks of the cluster that a statement is for, as bits: what stands behind its mbarrier, or all."""
    statement = step.statement
    if statement.operation.is_for_all:
        return (1 << group.registers.steps.grid[RANKS]) - 1
    places = [place for place, text in enumerate(statement.operands) if text[:1] == "["]
    return shown_number(group, statement, places[-1] + 1, 0)
