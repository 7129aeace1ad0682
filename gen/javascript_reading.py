"""Expressions of the YAML as JavaScript text; where() becomes ?:.

Two spellings: of Numbers, exact while every value stays below 2**53 and what & | ^ take below 2**32; and of
BigInts, exact always. A comparison that is used as a number is 0 or 1, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable

from ..spec.expressions import Expression, fold

__all__ = ["javascript_text"]

_STRENGTH = {"|": 3, "^": 4, "&": 5, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "//": 10, "%": 10}
_WHOLE = 11  # of what needs no parentheses anywhere
_JavascriptText = tuple[str, int, bool]  # the text, its binding strength, and whether it is a truth value


class _JavascriptNumbers:
    """Each reading is of Numbers, whose bitwise operators have 32 bits and a sign."""

    def __init__(self, names: Callable[[str], str]) -> None:
        self.names = names

    def number(self, value: int) -> _JavascriptText:
        return str(value), _WHOLE, False

    def name(self, identifier: str) -> _JavascriptText:
        return self.names(identifier), _WHOLE, False

    def count(self, operand: _JavascriptText) -> _JavascriptText:
        """A truth value as 0 or 1."""
        return (f"Number({operand[0]})", _WHOLE, False) if operand[2] else operand

    def binary(self, op: str, left: _JavascriptText, right: _JavascriptText) -> _JavascriptText:
        left, right = self.count(left), self.count(right)
        match op:
            case "//":
                return f"Math.floor({_joined('/', 10, left, right)})", _WHOLE, False
            case "<<":
                return _joined("*", 10, left, (f"2 ** {_inside(right)}", 0, False)), 10, False
            case ">>":
                return f"Math.floor({_inside(left)} / 2 ** {_inside(right)})", _WHOLE, False
            case "&" | "|" | "^":
                return f"(({_joined(op, _STRENGTH[op], left, right)}) >>> 0)", _WHOLE, False
        return _joined(op, _STRENGTH[op], left, right), _STRENGTH[op], False

    def compare(self, op: str, left: _JavascriptText, right: _JavascriptText) -> _JavascriptText:
        a, b = (text if strength > 7 else f"({text})" for text, strength, _ in map(self.count, (left, right)))
        return f"{a} {_COMPARED.get(op, op)} {b}", 6, True

    def connective(self, op: str, left: _JavascriptText, right: _JavascriptText) -> _JavascriptText:
        return f"({left[0]}) {'&&' if op == 'and' else '||'} ({right[0]})", 1, left[2] and right[2]

    def negation(self, operand: _JavascriptText) -> _JavascriptText:
        return f"!({operand[0]})", _WHOLE, True

    def where(
        self, condition: _JavascriptText, then: _JavascriptText, otherwise: _JavascriptText
    ) -> _JavascriptText:
        return f"({condition[0]} ? {then[0]} : {otherwise[0]})", _WHOLE, then[2] and otherwise[2]

    def bits(self, operand: _JavascriptText) -> _JavascriptText:
        return f"({self.count(operand)[0]}).toString(2).replace(/^0/, '').length", _WHOLE, False


_COMPARED = {"==": "===", "!=": "!=="}


class _JavascriptBigInts(_JavascriptNumbers):
    """Each reading is of BigInts, which have no size; the quotient of two is whole."""

    def number(self, value: int) -> _JavascriptText:
        return f"{value}n", _WHOLE, False

    def count(self, operand: _JavascriptText) -> _JavascriptText:
        return (f"BigInt({operand[0]})", _WHOLE, False) if operand[2] else operand

    def binary(self, op: str, left: _JavascriptText, right: _JavascriptText) -> _JavascriptText:
        spelled, strength = "/" if op == "//" else op, _STRENGTH[op]
        return _joined(spelled, strength, self.count(left), self.count(right)), strength, False

    def bits(self, operand: _JavascriptText) -> _JavascriptText:
        return f"BigInt({super().bits(operand)[0]})", _WHOLE, False


def _inside(operand: _JavascriptText) -> str:
    return operand[0] if operand[1] == _WHOLE else f"({operand[0]})"


def _joined(op: str, strength: int, left: _JavascriptText, right: _JavascriptText) -> str:
    a = left[0] if left[1] >= strength else f"({left[0]})"
    b = right[0] if right[1] > strength else f"({right[0]})"
    return f"{a} {op} {b}"


def javascript_text(tree: Expression, names: Callable[[str], str] = str, *, big: bool = False) -> str:
    """The expression as JavaScript over Numbers, or BigInts if `big`; `names` spells its names."""
    return fold(tree, (_JavascriptBigInts if big else _JavascriptNumbers)(names))[0]
