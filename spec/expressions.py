"""The expression language of the YAML: parsed once, read in many algebras.

An expression is built from integers, names, ``+ - * // % & | ^ << >>``, comparisons,
``and or not``, ``where(condition, a, b)`` and ``bits(a)``, the number of binary digits. `parse` turns
the text into a small immutable tree; `fold` reads a tree in any `Algebra` (Python integers here, solver
terms and sympy in ``formal``, C and PTX in ``gen``). Every value is a non-negative integer: `intervals`
proves so before use.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from .errors import Place, SpecError
from .lazy_dataclass import dataclass

__all__ = [
    "Algebra",
    "Binary",
    "BitLength",
    "Compare",
    "Connective",
    "Expression",
    "Name",
    "Negation",
    "Number",
    "Where",
    "compiled",
    "compiled_all",
    "compiled_in_turn",
    "fold",
    "names",
    "parse",
    "parse_range",
    "source",
    "substitute",
]


@dataclass(frozen=True)
class Number:
    """A literal integer."""

    value: int


@dataclass(frozen=True)
class Name:
    """A variable, a parameter, or the name of an enumerated value."""

    id: str


@dataclass(frozen=True)
class Binary:
    """An arithmetic or bitwise operation; `op` is spelled as in Python."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Compare:
    """A comparison of two expressions: a truth value."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Connective:
    """``and`` or ``or`` of two truth values."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negation:
    """``not`` of a truth value."""

    operand: Expression


@dataclass(frozen=True)
class Where:
    """``where(condition, then, otherwise)``: a choice between two integers."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class BitLength:
    """``bits(operand)``: how many binary digits a number has; 0 has none."""

    operand: Expression


Expression = Number | Name | Binary | Compare | Connective | Negation | Where | BitLength

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_BINDING = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}
_ALLOWED = "integers, names, + - * // % & | ^ << >>, comparisons, and/or/not, where(condition, a, b), bits(a)"


def parse(text: str, place: Place | None = None) -> Expression:
    """The tree of `text`.

    Raises SpecError, at file:line:column when `place` is known, for anything outside the language.
    """
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        offset = getattr(error, "offset", None) or 1
        raise SpecError(
            f"the expression {text!r} does not parse: {getattr(error, 'msg', error)}",
            place.shifted(offset - 1) if place else None,
            _ALLOWED,
        ) from None
    return _convert(body, text, place)


def _convert(node: ast.expr, text: str, place: Place | None) -> Expression:
    def inner(child: ast.expr) -> Expression:
        return _convert(child, text, place)

    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return Number(value)
        case ast.Name(id=identifier):
            return Name(identifier)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return Binary(_BINARY[type(op)], inner(left), inner(right))
        case ast.BoolOp(op=op, values=values):
            tree = inner(values[0])
            for part in values[1:]:
                tree = Connective("and" if isinstance(op, ast.And) else "or", tree, inner(part))
            return tree
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Negation(inner(operand))
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            sides = [inner(side) for side in (left, *rights)]
            links: list[Expression] = [
                Compare(_COMPARE[type(op)], a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)
            ]
            tree = links[0]
            for link in links[1:]:
                tree = Connective("and", tree, link)
            return tree
        case ast.Call(func=ast.Name(id="where"), args=[condition, then, otherwise], keywords=[]):
            return Where(inner(condition), inner(then), inner(otherwise))
        case ast.Call(func=ast.Name(id="bits"), args=[operand], keywords=[]):
            return BitLength(inner(operand))
    segment = ast.get_source_segment(text, node) or text
    raise SpecError(
        f"{segment!r} is not part of the expression language (in {text!r})",
        place.shifted(node.col_offset) if place else None,
        _ALLOWED,
    )


_LONGEST = 4096  # values of a range


def parse_range(text: str, place: Place | None = None) -> tuple[int, ...] | None:
    """The values of ``range(start, stop, step)``, or None when `text` is not a range."""
    stripped = text.strip()
    if not (stripped.startswith("range(") and stripped.endswith(")")):
        return None
    try:
        arguments = [int(part) for part in stripped[6:-1].split(",")]
        spread = range(*arguments)
    except (ValueError, TypeError):
        raise SpecError(f"{text!r} is not a range of integers", place, "range(8, 257, 8)") from None
    if spread[_LONGEST:]:
        raise SpecError(f"{text!r} is too long", place, f"at most {_LONGEST} values")
    values = tuple(spread)
    if not values:
        raise SpecError(f"{text!r} is empty", place, "a range that holds at least one value")
    return values


T = TypeVar("T")


class Algebra(Protocol[T]):
    """An interpretation of the language: what each construct becomes."""

    def number(self, value: int) -> T: ...
    def name(self, identifier: str) -> T: ...
    def binary(self, op: str, left: T, right: T) -> T: ...
    def compare(self, op: str, left: T, right: T) -> T: ...
    def connective(self, op: str, left: T, right: T) -> T: ...
    def negation(self, operand: T) -> T: ...
    def where(self, condition: T, then: T, otherwise: T) -> T: ...
    def bits(self, operand: T) -> T: ...


def fold(tree: Expression, algebra: Algebra[T]) -> T:
    """Read `tree` in `algebra`, bottom up."""
    match tree:
        case Number(value):
            return algebra.number(value)
        case Name(identifier):
            return algebra.name(identifier)
        case Binary(op, left, right):
            return algebra.binary(op, fold(left, algebra), fold(right, algebra))
        case Compare(op, left, right):
            return algebra.compare(op, fold(left, algebra), fold(right, algebra))
        case Connective(op, left, right):
            return algebra.connective(op, fold(left, algebra), fold(right, algebra))
        case Negation(operand):
            return algebra.negation(fold(operand, algebra))
        case Where(condition, then, otherwise):
            return algebra.where(fold(condition, algebra), fold(then, algebra), fold(otherwise, algebra))
        case BitLength(operand):
            return algebra.bits(fold(operand, algebra))


def children(tree: Expression) -> tuple[Expression, ...]:
    """The direct subexpressions of `tree`."""
    match tree:
        case Binary(_, left, right) | Compare(_, left, right) | Connective(_, left, right):
            return (left, right)
        case Negation(operand) | BitLength(operand):
            return (operand,)
        case Where(condition, then, otherwise):
            return (condition, then, otherwise)
    return ()


def walk(tree: Expression) -> Iterator[Expression]:
    """`tree` and all its subexpressions."""
    yield tree
    for child in children(tree):
        yield from walk(child)


def names(tree: Expression) -> frozenset[str]:
    """The free names of `tree`."""
    return frozenset(node.id for node in walk(tree) if isinstance(node, Name))


@dataclass(frozen=True)
class _Substitution:
    bindings: Mapping[str, Expression]

    def number(self, value: int) -> Expression:
        return Number(value)

    def name(self, identifier: str) -> Expression:
        return self.bindings.get(identifier, Name(identifier))

    def binary(self, op: str, left: Expression, right: Expression) -> Expression:
        return Binary(op, left, right)

    def compare(self, op: str, left: Expression, right: Expression) -> Expression:
        return Compare(op, left, right)

    def connective(self, op: str, left: Expression, right: Expression) -> Expression:
        return Connective(op, left, right)

    def negation(self, operand: Expression) -> Expression:
        return Negation(operand)

    def where(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression:
        return Where(condition, then, otherwise)

    def bits(self, operand: Expression) -> Expression:
        return BitLength(operand)


def substitute(tree: Expression, bindings: Mapping[str, Expression]) -> Expression:
    """`tree` with every bound name replaced."""
    return fold(tree, _Substitution(bindings))


class _Source:
    """Text with as few parentheses as Python needs; each reading is (text, binding strength)."""

    def number(self, value: int) -> tuple[str, int]:
        return str(value), 9

    def name(self, identifier: str) -> tuple[str, int]:
        return identifier, 9

    def binary(self, op: str, left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
        strength = _BINDING[op]
        a = left[0] if left[1] >= strength else f"({left[0]})"
        b = right[0] if right[1] > strength else f"({right[0]})"
        return f"{a} {op} {b}", strength

    def compare(self, op: str, left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
        a, b = (text if strength > 0 else f"({text})" for text, strength in (left, right))
        return f"{a} {op} {b}", 0

    def connective(self, op: str, left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
        strength = -1 if op == "and" else -2
        a = left[0] if left[1] >= strength else f"({left[0]})"
        b = right[0] if right[1] > strength else f"({right[0]})"
        return f"{a} {op} {b}", strength

    def negation(self, operand: tuple[str, int]) -> tuple[str, int]:
        return f"not ({operand[0]})", 0

    def where(
        self, condition: tuple[str, int], then: tuple[str, int], otherwise: tuple[str, int]
    ) -> tuple[str, int]:
        return f"where({condition[0]}, {then[0]}, {otherwise[0]})", 9

    def bits(self, operand: tuple[str, int]) -> tuple[str, int]:
        return f"bits({operand[0]})", 9


def source(tree: Expression) -> str:
    """The expression as text of the language itself."""
    return fold(tree, _Source())[0]


class _PythonText(_Source):
    def where(
        self, condition: tuple[str, int], then: tuple[str, int], otherwise: tuple[str, int]
    ) -> tuple[str, int]:
        return f"({then[0]} if {condition[0]} else {otherwise[0]})", 9

    def bits(self, operand: tuple[str, int]) -> tuple[str, int]:
        return f"({operand[0]}).bit_length()", 9


def python_text(tree: Expression) -> str:
    """The expression as Python source (``where`` becomes a conditional expression)."""
    return fold(tree, _PythonText())[0]


@lru_cache(maxsize=4096)
def compiled(tree: Expression, arguments: tuple[str, ...]) -> Callable[..., int]:
    """A Python function of `arguments`; safe, since only whitelisted nodes can be in a tree."""
    return _evaluated(arguments, python_text(tree))


@lru_cache(maxsize=4096)
def compiled_all(trees: tuple[Expression, ...], arguments: tuple[str, ...]) -> Callable[..., tuple[int, ...]]:
    """A Python function of `arguments` that computes several expressions, each by itself."""
    return _evaluated(arguments, f"({''.join(f'{python_text(tree)}, ' for tree in trees)})")


def compiled_in_turn(
    lines: Mapping[str, Expression],
) -> tuple[Callable[..., tuple[int, ...]], tuple[str, ...]]:
    """A Python function that computes lines in turn, each of which may read what those before it are called,
    and the names that it reads besides: its arguments.
    """
    read: set[str] = set()
    made: set[str] = set()
    for name, tree in lines.items():
        read |= names(tree) - made
        made.add(name)
    arguments = tuple(sorted(read))
    body = "".join(f"({name} := {python_text(tree)}), " for name, tree in lines.items())
    return _evaluated(arguments, f"({body})"), arguments


def _evaluated(arguments: tuple[str, ...], text: str) -> Callable[..., Any]:
    return eval(f"lambda {', '.join(arguments)}: {text}", {"__builtins__": {}})  # type: ignore[no-any-return]
