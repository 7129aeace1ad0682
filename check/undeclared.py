"""Which names in tensor-core statements a file does not declare: nobody knows what they are, and no ptxas
assembles the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .ptx.operation import Operations
from .ptx.source import NAME, Function, PtxModule, PtxStatement

__all__ = ["UndeclaredName", "undeclared_names"]

_KEYWORDS = frozenset(("_", "WARP_SZ"))


class UndeclaredName(NamedTuple):
    """A name, and the statement that uses it."""

    name: str
    statement: PtxStatement


def undeclared_names(module: PtxModule, operations: Operations) -> Iterator[UndeclaredName]:
    """Each name that a statement uses and no scope around it declares; none of a file that cannot be read
    whole, which may declare them where it was not read.
    """
    if module.faults:
        return
    special = {text.partition(".")[0] for text in operations.judge.isa.special_types} | _KEYWORDS
    for function in module.functions:
        known: set[tuple[str, int]] = set()
        for statement in function.statements:
            if operations.of(statement.opcode).instruction is None:
                continue
            for name in dict.fromkeys(_names(statement)):
                key = name, statement.scope
                if key in known or name in special:
                    continue
                if _is_declared(module, function, *key):
                    known.add(key)
                else:
                    yield UndeclaredName(name, statement)


def _names(statement: PtxStatement) -> Iterator[str]:
    yield from NAME.findall(statement.operands)
    if statement.guard:
        yield statement.guard.lstrip("!")


def _is_declared(module: PtxModule, function: Function, name: str, scope: int) -> bool:
    """Whether a register, a variable or a parameter of this name can be seen from a scope."""
    return (
        function.register(name, scope) is not None
        or function.variable(name, scope) is not None
        or name in module.variables
        or name in (*function.parameters, *function.returns)
    )
