"""The expression language read as integers that no word bounds: sums, differences, comparisons, choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.expressions import Expression, fold
from .terms import And, If, Int, IntVal, Not, Or, Term

__all__ = ["Integers", "length_of"]


def length_of(number: Term) -> Term:
    """The constant that stands for how many binary digits a number has."""
    return Int(f"bits.{number}")


@dataclass(frozen=True)
class Integers:
    """An algebra of linear integer arithmetic; numbers of digits are constants. Raises KeyError for more."""

    variables: Mapping[str, Term]

    def number(self, value: int) -> Term:
        return IntVal(value)

    def name(self, identifier: str) -> Term:
        return self.variables[identifier]

    def binary(self, op: str, left: Term, right: Term) -> Term:
        return {"+": Term.__add__, "-": Term.__sub__, "*": Term.__mul__, "//": Term.__floordiv__}[op](
            left, right
        )

    def compare(self, op: str, left: Term, right: Term) -> Term:
        orders = {"<": Term.__lt__, "<=": Term.__le__, ">": Term.__gt__, ">=": Term.__ge__}
        return {**orders, "==": Term.__eq__, "!=": Term.__ne__}[op](left, right)

    def connective(self, op: str, left: Term, right: Term) -> Term:
        return And(left, right) if op == "and" else Or(left, right)

    def negation(self, operand: Term) -> Term:
        return Not(operand)

    def where(self, condition: Term, then: Term, otherwise: Term) -> Term:
        return If(condition, then, otherwise)

    def bits(self, operand: Term) -> Term:
        return length_of(operand)

    def read(self, tree: Expression) -> Term:
        return fold(tree, self)
