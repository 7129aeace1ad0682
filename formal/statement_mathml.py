"""What a theorem states, for pages: formulas as MathML, words as they are.

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

# A formula among words begins and ends at a comma, at its clause's end, at one of these, or with no word.
_BEFORE = frozenset(("has", "have", "is", "of"))
_BEHIND = frozenset(("has", "have", "is", "or"))
_WORD = re.compile(r"[A-Za-z']+")
_SIGN = re.compile(r"==|!=|<=?|>=?|[-+*/%]+|and|or|not")
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
    """A clause: a math element where it compares or negates, or for each of the formulas among its words."""
    whole = _formula(text, _FORMULAS)
    return _among_words(text.split(" ")) if whole is None else whole


def _formula(text: str, kinds: tuple[type[ast.expr], ...]) -> str | None:
    """A math element; None for what is not a formula of these kinds."""
    try:
        tree = ast.parse(text, mode="eval").body
        return f"<math>{_term(tree).text}</math>" if isinstance(tree, kinds) else None
    except (SyntaxError, KeyError):
        return None


def _among_words(words: list[str]) -> str:
    """Words, and the longest formulas that stand by themselves among them."""
    found: list[str] = []
    start = 0
    while start < len(words):
        for end in range(len(words), start + 2, -1):  # a formula has a sign between two operands
            drawn = _alone(words, start, end)
            if drawn is not None:
                found.append(drawn)
                start = end
                break
        else:
            found.append(escape(words[start], quote=False))
            start += 1
    return " ".join(found)


def _alone(words: list[str], start: int, end: int) -> str | None:
    """The formula from one word to another; None where it is none, or goes on beside them."""
    before = words[start - 1] if start else ","
    behind = words[end] if end < len(words) else ""
    last = words[end - 1]
    ended = last.endswith(",") or not behind
    if _SIGN.fullmatch(before) or (not ended and _SIGN.fullmatch(behind) and behind not in _BEHIND):
        return None
    if not ended and _WORD.fullmatch(last) and behind not in _BEHIND:
        return None
    first = words[start]
    named = _WORD.fullmatch(first) is not None and not (len(first) == 1 and ended)
    if named and not before.endswith(",") and before not in _BEFORE:
        return None
    drawn = _formula(" ".join(words[start:end]).removesuffix(","), (ast.Compare, ast.BinOp))
    return drawn if drawn is None or not last.endswith(",") else f"{drawn},"


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
