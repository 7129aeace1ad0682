"""Expressions of the YAML as C and CUDA text, over unsigned integers; where() becomes ?:."""

from __future__ import annotations

from collections.abc import Callable

from ..spec.expressions import Expression, fold

__all__ = ["CReading", "c_text"]

_STRENGTH = {"|": 3, "^": 4, "&": 5, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "//": 10, "%": 10}
_CText = tuple[str, int]


class CReading:
    """The language as C. Each reading is (text, binding strength in C)."""

    def __init__(self, numbers: Callable[[int], str], names: Callable[[str], str]) -> None:
        self.numbers = numbers
        self.names = names

    def number(self, value: int) -> _CText:
        return self.numbers(value), 11

    def name(self, identifier: str) -> _CText:
        return self.names(identifier), 11

    def binary(self, op: str, left: _CText, right: _CText) -> _CText:
        strength = _STRENGTH[op]
        a = left[0] if left[1] >= strength else f"({left[0]})"
        b = right[0] if right[1] > strength else f"({right[0]})"
        return f"{a} {'/' if op == '//' else op} {b}", strength

    def compare(self, op: str, left: _CText, right: _CText) -> _CText:
        a, b = (text if strength > 7 else f"({text})" for text, strength in (left, right))
        return f"{a} {op} {b}", 6

    def connective(self, op: str, left: _CText, right: _CText) -> _CText:
        return f"({left[0]}) {'&&' if op == 'and' else '||'} ({right[0]})", 1

    def negation(self, operand: _CText) -> _CText:
        return f"!({operand[0]})", 11

    def where(self, condition: _CText, then: _CText, otherwise: _CText) -> _CText:
        return f"({condition[0]} ? {then[0]} : {otherwise[0]})", 11

    def bits(self, operand: _CText) -> _CText:
        return f"bits({operand[0]})", 11


def c_text(tree: Expression, numbers: Callable[[int], str] = str, names: Callable[[str], str] = str) -> str:
    """The expression as C; every name is an unsigned integer. `numbers` and `names` spell both."""
    return fold(tree, CReading(numbers, names))[0]
