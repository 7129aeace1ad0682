"""Statements at which the PTX does not show how threads go on, and where what is unknown there comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..ptx.decode import DecodedStatement
from ..ptx.operation import BROUGHT
from ..ptx.source import Function
from ..values.lane_numbers import LaneNumbers
from ..walks.registers import Registers
from ..walks.walk_steps import WalkStep

__all__ = ["Unshown", "why_barrier_not_known", "why_not_known"]

_PARAMETERS = frozenset(("parameter", "places"))  # results that loads of parameters have
_BROUGHT = "comes from memory or from a call"
_NUMBERLESS = "comes from a parameter that places something in shared memory, and of which no number is taken"
_TOGETHER = frozenset(("lane", "agreed"))  # results that some threads' numbers have, and others' do not


class Unshown(NamedTuple):
    """A statement at which the PTX does not show how threads go on. `why`: where what is unknown there comes
    from. `parts`: which way threads go is unknown; otherwise, which barrier or phase is, or how many arrive.
    """

    at: int
    why: str
    parts: bool


def why_barrier_not_known(registers: Registers, statement: DecodedStatement) -> str:
    """Where a barrier's address or name comes from, its phase or its count, at a statement that cannot be
    followed.
    """
    steps, scope = registers.steps, statement.scope
    base = None if statement.barrier is None else statement.barrier.base
    texts = [statement.barrier_name, base, statement.phase]
    if statement.count_at is not None:
        texts.append(statement.operands[statement.count_at])
    return why_not_known(registers, [steps.source(text, scope) for text in texts if text])


def why_not_known(registers: Registers, names: Iterable[int | str]) -> str:
    """Where the numbers of some registers come from of which one is unknown, or assumed."""
    steps, waiting = registers.steps, [*names]
    is_assumed = not registers.assumed.isdisjoint(name for name in waiting if isinstance(name, str))
    seen: set[int | str] = set()
    opcodes: list[str] = []
    for name in waiting:
        if isinstance(name, int) or name in seen:
            continue
        if _is_known(registers, name) and name not in registers.assumed:
            continue
        seen.add(name)
        for index in steps.code.definitions.get(name, ()):
            step = steps.step(index)
            if step.result in _PARAMETERS:
                continue
            if step.statement.does in BROUGHT:
                return _NUMBERLESS if _loads_parameter(step, steps.function) else _BROUGHT
            if _is_opaque(registers, step):
                opcodes.append(step.statement.operation.opcode)
            else:
                waiting += step.sources
    if opcodes:
        return f"comes from {opcodes[0]}, which is not followed"
    return "comes from a parameter" if is_assumed else "is not shown by the PTX"


def _loads_parameter(step: WalkStep, function: Function) -> bool:
    """Whether a statement loads a parameter of the function, and not what a call returns."""
    address = step.statement.address
    return (
        step.statement.operation.space == "param"
        and address is not None
        and address.base in function.parameters
    )


def _is_known(registers: Registers, name: str) -> bool:
    found = registers.numbers.get(name)
    return found is not None and not (isinstance(found, LaneNumbers) and found.unknown)


def _is_opaque(registers: Registers, step: WalkStep) -> bool:
    """Whether nothing is known of what a statement computes, whatever its sources are; or though they are
    known, where it depends on other threads.
    """
    if step.result in _TOGETHER:
        return all(isinstance(name, int) or _is_known(registers, name) for name in step.sources)
    return step.result == "unknown" or (step.result == "computed" and step.rule is None)
