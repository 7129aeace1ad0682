"""The expression language read as z3 bit-vectors, wide enough that nothing wraps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import z3

from ...spec.expressions import Compare, Connective, Expression, Negation, fold, interval, walk

__all__ = ["BitVectors", "conjunction", "width_for"]

_ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": z3.UDiv,
    "%": z3.URem,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": z3.LShR,
}
_COMPARISON = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": z3.ULT,
    "<=": z3.ULE,
    ">": z3.UGT,
    ">=": z3.UGE,
}


def conjunction(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """All hold; true when there are none (an `and` without arguments is no SMT-LIB)."""
    listed = list(parts)
    return z3.And(*listed) if listed else z3.BoolVal(True)


def width_for(trees: list[Expression], bounds: Mapping[str, tuple[int, int]]) -> int:
    """Bits enough for every intermediate value of every tree, by interval arithmetic."""
    highest = max((high for _, high in bounds.values()), default=1)
    for tree in trees:
        for node in walk(tree):
            if not isinstance(node, Compare | Connective | Negation):
                highest = max(highest, interval(node, bounds)[1])
    return max(highest.bit_length(), 1)


@dataclass(frozen=True)
class BitVectors:
    """An algebra: integers become unsigned bit-vectors of `width` bits, truth values z3 Bools."""

    width: int
    variables: Mapping[str, z3.ExprRef]

    def number(self, value: int) -> z3.ExprRef:
        return z3.BitVecVal(value, self.width)

    def name(self, identifier: str) -> z3.ExprRef:
        return self.variables[identifier]

    def binary(self, op: str, left: z3.ExprRef, right: z3.ExprRef) -> z3.ExprRef:
        return _ARITHMETIC[op](left, right)

    def compare(self, op: str, left: z3.ExprRef, right: z3.ExprRef) -> z3.ExprRef:
        return _COMPARISON[op](left, right)

    def connective(self, op: str, left: z3.ExprRef, right: z3.ExprRef) -> z3.ExprRef:
        return z3.And(left, right) if op == "and" else z3.Or(left, right)

    def negation(self, operand: z3.ExprRef) -> z3.ExprRef:
        return z3.Not(operand)

    def where(self, condition: z3.ExprRef, then: z3.ExprRef, otherwise: z3.ExprRef) -> z3.ExprRef:
        return z3.If(condition, then, otherwise)

    def read(self, tree: Expression) -> z3.ExprRef:
        return fold(tree, self)
