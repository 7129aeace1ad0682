"""The expression language read in sympy, for LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ..spec.expressions import Expression, fold

__all__ = ["latex"]

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: sympy.Add(a, b, evaluate=False),
    "-": lambda a, b: sympy.Add(a, sympy.Mul(-1, b, evaluate=False), evaluate=False),
    "*": lambda a, b: sympy.Mul(a, b, evaluate=False),
    "//": lambda a, b: sympy.floor(a / b, evaluate=False),
    "%": lambda a, b: sympy.Mod(a, b, evaluate=False),
    "<<": lambda a, b: a * 2**b,
    ">>": lambda a, b: sympy.floor(a / 2**b),
    "&": lambda a, b: sympy.Function(r"\operatorname{and}")(a, b),
    "|": lambda a, b: sympy.Function(r"\operatorname{or}")(a, b),
    "^": lambda a, b: sympy.Function(r"\operatorname{xor}")(a, b),
}
_COMPARE: Mapping[str, Any] = {
    "==": sympy.Eq,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    "<=": sympy.Le,
    ">": sympy.Gt,
    ">=": sympy.Ge,
}


class _Sympy:
    def number(self, value: int) -> Any:
        return sympy.Integer(value)

    def name(self, identifier: str) -> Any:
        return sympy.Symbol(identifier, integer=True, nonnegative=True)

    def binary(self, op: str, left: Any, right: Any) -> Any:
        return _BINARY[op](left, right)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        return _COMPARE[op](left, right)

    def connective(self, op: str, left: Any, right: Any) -> Any:
        return sympy.And(left, right) if op == "and" else sympy.Or(left, right)

    def negation(self, operand: Any) -> Any:
        return sympy.Not(operand)

    def where(self, condition: Any, then: Any, otherwise: Any) -> Any:
        return sympy.Piecewise((then, condition), (otherwise, True))


def latex(tree: Expression) -> str:
    """The expression as LaTeX."""
    return str(sympy.latex(fold(tree, _Sympy())))
