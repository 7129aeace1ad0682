"""Which registers hold the same in all threads of a block, wherever a path has come to?"""

from __future__ import annotations

from collections import defaultdict

from ..ptx.dataflow import closure
from ..ptx.decode import DecodedFunction, DecodedStatement
from .path_slice import PathSlice
from .path_values import is_uniform

__all__ = ["uniform_registers"]


def uniform_registers(code: DecodedFunction, sliced: PathSlice) -> frozenset[str]:
    """The wanted registers of a slice that are computed from parameters and the grid alone, under
    conditions that are.
    """
    waiting: list[str] = []  # registers that tell threads apart
    made: dict[str, list[str]] = defaultdict(list)  # by register: those that depend on it
    for number, indices in sliced.steps.items():
        conditions = sliced.conditions(number)
        for index in indices:
            statement = code[index]
            if not statement.writes:
                continue
            for register in (*sliced.inputs(statement), *conditions, *sliced.guards(index)):
                made[register] += statement.writes
            if _tells_apart(code, statement):
                waiting += statement.writes
    differing = closure(waiting, made.__getitem__)
    return frozenset(sliced.wanted - differing)


def _tells_apart(code: DecodedFunction, statement: DecodedStatement) -> bool:
    """Whether threads may get different results of equal sources."""
    if statement.does == "load" and statement.operation.space == "param":
        return code.function.kind != "entry"
    return PathSlice.is_opaque(statement) or any(
        text[:1] == "%"
        and code.function.register(text, statement.scope) is None
        and not is_uniform(code.effects, text)
        for text in statement.operands[1:]
    )
