"""What a theorem states, for pages: a clause that is a formula as MathML, words as they are.

A page breaks lines between clauses, not inside of a formula.
"""

from __future__ import annotations

import ast
import re
from html import escape

from .mathml import MathMLAlgebra, MathMLTerm

__all__ = ["statement"]

# What stands between clauses.
_BETWEEN = re.compile(r"(^for (?:each |some |all )?|: |; |, and |, or | only if | implies | where )")
_FORMULAS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitXor: "^",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def statement(text: str) -> str:
    """A statement as HTML."""
    return "".join(
        escape(part, quote=False) if number % 2 else _clause(part)
        for number, part in enumerate(_BETWEEN.split(text))
    )


def _clause(text: str) -> str:
    """A clause: a math element where it compares or negates."""
    try:
        tree = ast.parse(text, mode="eval").body
        found = _term(tree) if isinstance(tree, _FORMULAS) else None
    except (SyntaxError, KeyError):
        found = None
    return escape(text, quote=False) if found is None else f"<math>{found.text}</math>"


def _term(tree: ast.expr) -> MathMLTerm:
    """A formula in Python's notation. Raises KeyError for what formulas do not have."""
    make = MathMLAlgebra()
    match tree:
        case ast.Constant(value=int(value)):
            return make.number(value)
        case ast.Name(id=name):
            return make.name(name)
        case ast.Tuple(elts=parts):
            return make.listed("", [_term(part) for part in parts])
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            return make.listed(name, [_term(part) for part in parts])
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return make.indexed(name, _term(index))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return make.negative(_term(operand))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return make.negation(_term(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return make.power(_term(left), _term(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return make.fraction(_term(left), _term(right))
        case ast.BinOp(left=left, op=op, right=right):
            return make.binary(_BINARY[type(op)], _term(left), _term(right))
        case ast.BoolOp(op=op, values=[first, *others]):
            found = _term(first)
            for other in others:
                found = make.connective("and" if isinstance(op, ast.And) else "or", found, _term(other))
            return found
        case ast.Compare(left=left, ops=ops, comparators=others):
            return make.chain([_term(one) for one in (left, *others)], [_COMPARE[type(op)] for op in ops])
    raise KeyError(ast.unparse(tree))
