"""The expression language read in sympy, for LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from ..spec.expressions import Expression, fold

__all__ = ["latex", "symbol"]


class _Mod(sympy.Function):  # type: ignore[misc]
    """A remainder, in parentheses of its own, so that sums around it need none."""

    def inside(self, printer: Any) -> str:
        """The remainder without its parentheses."""
        left, right = (
            printer.parenthesize(part, sympy.printing.precedence.PRECEDENCE["Mul"]) for part in self.args
        )
        return rf"{left} \bmod {right}"

    def _latex(self, printer: Any) -> str:
        return rf"\left({self.inside(printer)}\right)"


class _ShiftRight(sympy.Function):  # type: ignore[misc]
    """A shift to the right by what is not a number: sympy would merge the power of two into the fraction."""

    def _latex(self, printer: Any) -> str:
        value, by = self.args
        return rf"\left\lfloor{{\frac{{{printer.bare(value)}}}{{2^{{{printer.bare(by)}}}}}}}\right\rfloor"


class _Printer(LatexPrinter):  # type: ignore[misc]
    """LaTeX as sympy has it, without parentheses around a remainder beside which nothing stands."""

    def bare(self, term: Any) -> str:
        """A term where nothing stands beside it."""
        return term.inside(self) if isinstance(term, _Mod) else str(self.doprint(term))

    def _print_floor(self, term: Any, exp: object = None) -> str:
        above, below = term.args[0].as_numer_denom()
        return rf"\left\lfloor{{\frac{{{self.bare(above)}}}{{{self.bare(below)}}}}}\right\rfloor"


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
    ">>": lambda a, b: sympy.floor(a / 2**b) if b.is_Integer else _ShiftRight(a, b),
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

    def bits(self, operand: Any) -> Any:
        return sympy.Function(r"\operatorname{bits}")(operand)


def latex(tree: Expression) -> str:
    """The expression as LaTeX."""
    return _Printer().bare(fold(tree, _Sympy()))
