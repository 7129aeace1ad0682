"""The least and greatest value that an expression can take, and that none is negative or too large.

Inside ``where(a >= b, a - b, …)`` the difference cannot be negative: a condition holds in its branch. A
branch that is never taken has no values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .errors import SpecError
from .expressions import (
    Algebra,
    Binary,
    BitLength,
    Compare,
    Connective,
    Expression,
    Name,
    Negation,
    Number,
    Where,
    fold,
)
from .lazy_dataclass import dataclass

__all__ = ["OutOfDomain", "interval"]

_Extent = tuple[int, int]
_LARGEST_BITS = 64


class OutOfDomain(SpecError):
    """An expression may divide by zero or become negative somewhere in its domain."""


@dataclass(frozen=True)
class _Intervals:
    bounds: Mapping[str, _Extent]
    width: int
    kept: dict[tuple[int, tuple[_Order, ...]], _Extent]  # of expressions, under conditions

    def number(self, value: int) -> _Extent:
        return value, value

    def name(self, identifier: str) -> _Extent:
        try:
            return self.bounds[identifier]
        except KeyError:
            known = ", ".join(sorted(self.bounds)) or "none"
            raise SpecError(f"the name {identifier!r} is not bound here", right=f"one of: {known}") from None

    def binary(self, op: str, left: _Extent, right: _Extent) -> _Extent:
        (a, b), (c, d) = left, right
        match op:
            case "+":
                low, high = a + c, b + d
            case "-":
                low, high = a - d, b - c
            case "*":
                low, high = a * c, b * d
            case "//" | "%":
                if c <= 0:
                    raise OutOfDomain(f"the divisor of {op} can be {c}")
                low, high = (a // d, b // c) if op == "//" else (0, min(b, d - 1))
                if op == "%" and b < c:
                    low = a
            case "<<" | ">>" if d >= self.width:
                raise OutOfDomain(f"the shift of {op} can be {d}; a word has {self.width} bits")
            case "<<":
                low, high = (a << min(c, self.width)), (b << min(d, self.width))
            case ">>":
                low, high = a >> d, b >> c
            case "&":
                low, high = 0, min(b, d)
            case _:
                low, high = 0, (1 << max(b.bit_length(), d.bit_length())) - 1
                if a == b and c == d:
                    low = high = (a | c) if op == "|" else (a ^ c)
        return self.checked(op, low, high)

    def checked(self, op: str, low: int, high: int) -> _Extent:
        """The interval; raises OutOfDomain where it leaves the domain."""
        if low < 0:
            raise OutOfDomain(f"the result of {op} can be {low}; every value must be at least 0")
        if high >= 1 << self.width:
            raise OutOfDomain(f"the result of {op} can exceed {self.width} bits")
        return low, high

    def compare(self, op: str, left: _Extent, right: _Extent) -> _Extent:
        return 0, 1

    def connective(self, op: str, left: _Extent, right: _Extent) -> _Extent:
        return 0, 1

    def negation(self, operand: _Extent) -> _Extent:
        return 0, 1

    def where(self, condition: _Extent, then: _Extent, otherwise: _Extent) -> _Extent:
        return min(then[0], otherwise[0]), max(then[1], otherwise[1])

    def bits(self, operand: _Extent) -> _Extent:
        return operand[0].bit_length(), operand[1].bit_length()


def interval(tree: Expression, bounds: Mapping[str, _Extent], width: int = _LARGEST_BITS) -> _Extent:
    """The least and greatest value `tree` can take, an over-approximation.

    Raises SpecError when a name is unbound, a divisor can be 0, or a value can be negative or have more than
    `width` bits.
    """
    return _bounded(tree, _Intervals(bounds, width, {}), ())


@dataclass(frozen=True)
class _Order:
    """What a condition says: `left` is at least `right` plus `gap`; and what follows for either alone."""

    left: Expression
    right: Expression
    gap: int
    left_low: int
    right_high: int
    possible: bool


def _bounded(tree: Expression, algebra: _Intervals, known: tuple[_Order, ...]) -> _Extent:
    key = id(tree), known
    if key not in algebra.kept:
        low, high = _unnarrowed(tree, algebra, known)
        for order in known:
            if order.left == tree:
                low = max(low, order.left_low)
            if order.right == tree:
                high = min(high, order.right_high)
        algebra.kept[key] = low, max(low, high)
    return algebra.kept[key]


def _unnarrowed(tree: Expression, algebra: _Intervals, known: tuple[_Order, ...]) -> _Extent:
    match tree:
        case Where(condition, then, otherwise):
            first = _bounded(condition, algebra, known)
            said = [tuple(_said(condition, holds, algebra, known)) for holds in (True, False)]
            found = [
                _bounded(branch, algebra, (*known, *orders))
                for branch, orders in zip((then, otherwise), said, strict=True)
                if all(order.possible for order in orders)
            ]
            found = found or [_bounded(otherwise, algebra, known)]  # nothing here is ever taken
            return algebra.where(first, found[0], found[-1])
        case Binary("-", left, right):
            (a, b), (c, d) = (_bounded(side, algebra, known) for side in (left, right))
            gaps = [order.gap for order in known if order.left == left and order.right == right]
            return algebra.checked("-", max([a - d, *gaps]), max([b - c, *gaps]))
        case Binary(op, left, right):
            return algebra.binary(op, _bounded(left, algebra, known), _bounded(right, algebra, known))
        case Compare(op, left, right):
            return algebra.compare(op, _bounded(left, algebra, known), _bounded(right, algebra, known))
        case Connective(op, left, right):
            return algebra.connective(op, _bounded(left, algebra, known), _bounded(right, algebra, known))
        case Negation(operand):
            return algebra.negation(_bounded(operand, algebra, known))
        case BitLength(operand):
            return algebra.bits(_bounded(operand, algebra, known))
        case Number() | Name():
            reading: Algebra[_Extent] = algebra
            return fold(tree, reading)


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _said(
    condition: Expression, holds: bool, algebra: _Intervals, known: tuple[_Order, ...]
) -> Iterator[_Order]:
    """What holds where a condition does, or does not."""
    match condition:
        case Negation(operand):
            yield from _said(operand, not holds, algebra, known)
        case Connective(op, left, right) if (op == "and") == holds:
            yield from _said(left, holds, algebra, known)
            yield from _said(right, holds, algebra, known)
        case Compare(op, left, right):
            for one, other, gap in _orders(op if holds else _OPPOSITE[op], left, right):
                least, most = _bounded(other, algebra, known)[0], _bounded(one, algebra, known)[1]
                yield _Order(one, other, gap, least + gap, most - gap, least + gap <= most)


def _orders(op: str, left: Expression, right: Expression) -> Iterator[tuple[Expression, Expression, int]]:
    if op in (">", ">=", "=="):
        yield left, right, int(op == ">")
    if op in ("<", "<=", "=="):
        yield right, left, int(op == "<")
    if op == "!=" and right == Number(0):
        yield left, right, 1
