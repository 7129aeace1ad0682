"""The expression language read as bit-vectors, wide enough that nothing wraps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...spec.expressions import Compare, Connective, Expression, Negation, fold, walk
from ...spec.intervals import interval
from .terms import UGE, UGT, ULE, ULT, And, BitVecVal, If, LShR, Not, Or, Term, UDiv, URem

__all__ = ["BitVectors", "conjunction", "width_for"]

_ARITHMETIC: Mapping[str, Callable[[Term, Term], Term]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": UDiv,
    "%": URem,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": LShR,
}
_COMPARISON: Mapping[str, Callable[[Term, Term], Term]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": ULT,
    "<=": ULE,
    ">": UGT,
    ">=": UGE,
}


def conjunction(parts: Iterable[Term]) -> Term:
    """All parts hold; true where there are none."""
    return And(*parts)


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
    """An algebra: integers become unsigned bit-vectors of `width` bits, truth values stay truth values."""

    width: int
    variables: Mapping[str, Term]

    def number(self, value: int) -> Term:
        return BitVecVal(value, self.width)

    def name(self, identifier: str) -> Term:
        return self.variables[identifier]

    def binary(self, op: str, left: Term, right: Term) -> Term:
        return _ARITHMETIC[op](left, right)

    def compare(self, op: str, left: Term, right: Term) -> Term:
        return _COMPARISON[op](left, right)

    def connective(self, op: str, left: Term, right: Term) -> Term:
        return And(left, right) if op == "and" else Or(left, right)

    def negation(self, operand: Term) -> Term:
        return Not(operand)

    def where(self, condition: Term, then: Term, otherwise: Term) -> Term:
        return If(condition, then, otherwise)

    def bits(self, operand: Term) -> Term:
        """By halves: a number of more than 2**n - 1 has n digits more than its digits above the n lowest."""
        length = BitVecVal(0, self.width)
        half = 1 << (self.width - 1).bit_length()
        while half := half // 2:
            above = UGE(operand, BitVecVal(1 << half, self.width))
            length = If(above, length + half, length)
            operand = If(above, LShR(operand, half), operand)
        return length + operand

    def read(self, tree: Expression) -> Term:
        return fold(tree, self)
