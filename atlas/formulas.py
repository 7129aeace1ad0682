"""Formulas of the specification as data: trees that scripts/legality-rows.js evaluates."""

from __future__ import annotations

from typing import Any

from ..spec.expressions import Expression, fold
from ..spec.nodes import Formula

__all__ = ["tree", "with_text"]

# A number, a name as text, or [operator, operands …].
_Tree = int | str | list[Any]


class _Data:
    """Each reading is a tree of plain values."""

    def number(self, value: int) -> _Tree:
        return value

    def name(self, identifier: str) -> _Tree:
        return identifier

    def binary(self, op: str, left: _Tree, right: _Tree) -> _Tree:
        return [op, left, right]

    def compare(self, op: str, left: _Tree, right: _Tree) -> _Tree:
        return [op, left, right]

    def connective(self, op: str, left: _Tree, right: _Tree) -> _Tree:
        return [op, left, right]

    def negation(self, operand: _Tree) -> _Tree:
        return ["not", operand]

    def where(self, condition: _Tree, then: _Tree, otherwise: _Tree) -> _Tree:
        return ["where", condition, then, otherwise]

    def bits(self, operand: _Tree) -> _Tree:
        return ["bits", operand]


def tree(formula: Formula | Expression | None) -> _Tree | None:
    """A formula as plain values; None where there is none."""
    if formula is None:
        return None
    return fold(formula.tree if isinstance(formula, Formula) else formula, _Data())


def with_text(formula: Formula | None) -> dict[str, Any] | None:
    """A formula that messages quote: its tree and its text."""
    return None if formula is None else {"tree": tree(formula), "text": formula.text}
