"""The expression language read in sympy, for LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ..spec.expressions import Expression, fold

__all__ = ["latex", "symbol"]


class _Mod(sympy.Function):  # type: ignore[misc]
    """A remainder, in parentheses of its own, so that sums around it need none."""

    def _latex(self, printer: Any) -> str:
        left, right = (
            printer.parenthesize(part, sympy.printing.precedence.PRECEDENCE["Mul"]) for part in self.args
        )
        return rf"\left({left} \bmod {right}\right)"


def _sum(left: Any, right: Any) -> Any:
    """A sum without parentheses around the sums that it consists of."""
    parts = [part for term in (left, right) for part in (term.args if term.is_Add else (term,))]
    return sympy.Add(*parts, evaluate=False)


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": _sum,
    "-": lambda a, b: sympy.Add(a, sympy.Mul(-1, b, evaluate=False), evaluate=False),
    "*": lambda a, b: sympy.Mul(a, b, evaluate=False),
    "//": lambda a, b: sympy.floor(a / b, evaluate=False),
    "%": _Mod,
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


def symbol(identifier: str) -> str:
    r"""A name as LaTeX: one letter as it is, a longer one upright, its underscores escaped."""
    return identifier if len(identifier) == 1 else rf"\mathrm{{{identifier}}}".replace("_", r"\_")


class _Sympy:
    def number(self, value: int) -> Any:
        return sympy.Integer(value)

    def name(self, identifier: str) -> Any:
        return sympy.Symbol(symbol(identifier), integer=True, nonnegative=True)

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
