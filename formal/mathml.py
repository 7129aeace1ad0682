"""The expression language read as MathML, for pages: the same formulas that solvers read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from ..spec.expressions import Expression, fold

__all__ = ["equation", "mathml"]

# How tightly each kind of term holds together; a looser one inside a tighter one gets parentheses.
_OR, _AND, _COMPARED, _MOD, _BITS, _SUM, _PRODUCT, _ATOM = range(8)
_COMPARE: Mapping[str, str] = {"==": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥"}
_BITWISE: Mapping[str, str] = {"&": "and", "|": "or", "^": "xor"}


@dataclass(frozen=True)
class _Term:
    """MathML, how tightly it holds together, and the bitwise operator that it ends in, if any."""

    text: str
    tight: int = _ATOM
    bitwise: str = ""

    def inside(self, tight: int) -> str:
        """The term where only terms at least so tight need no parentheses."""
        return self.text if self.tight >= tight else f"<mrow>{_sign('(')}{self.text}{_sign(')')}</mrow>"


def _sign(text: str) -> str:
    return f"<mo>{escape(text)}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _floor(above: str, below: str) -> _Term:
    return _Term(_row(_sign("⌊"), f"<mfrac>{above}{below}</mfrac>", _sign("⌋")))


def _power(exponent: _Term) -> str:
    return f"<msup><mn>2</mn>{exponent.text}</msup>"


class _MathML:
    def number(self, value: int) -> _Term:
        return _Term(f"<mn>{value}</mn>")

    def name(self, identifier: str) -> _Term:
        return _Term(f"<mi>{escape(identifier)}</mi>")

    def binary(self, op: str, left: _Term, right: _Term) -> _Term:
        match op:
            case "+":
                return _Term(_row(left.inside(_SUM), _sign("+"), right.inside(_SUM)), _SUM)
            case "-":
                return _Term(_row(left.inside(_SUM), _sign("−"), right.inside(_PRODUCT)), _SUM)
            case "*":
                return _Term(_row(left.inside(_PRODUCT), _sign("·"), right.inside(_PRODUCT)), _PRODUCT)
            case "//":
                return _floor(left.text, right.text)
            case "%":
                return _Term(_row(left.inside(_PRODUCT), _sign("mod"), right.inside(_ATOM)), _MOD)
            case "<<" if left == self.number(1):
                return _Term(_power(right))
            case "<<":
                return _Term(_row(left.inside(_PRODUCT), _sign("·"), _power(right)), _PRODUCT)
            case ">>":
                return _floor(left.text, _power(right))
        same = left.text if left.bitwise == op else left.inside(_PRODUCT)
        return _Term(_row(same, _sign(_BITWISE[op]), right.inside(_PRODUCT)), _BITS, op)

    def compare(self, op: str, left: _Term, right: _Term) -> _Term:
        return _Term(_row(left.inside(_MOD), _sign(_COMPARE[op]), right.inside(_MOD)), _COMPARED)

    def connective(self, op: str, left: _Term, right: _Term) -> _Term:
        tight, sign = (_AND, "∧") if op == "and" else (_OR, "∨")
        return _Term(_row(left.inside(tight), _sign(sign), right.inside(tight)), tight)

    def negation(self, operand: _Term) -> _Term:
        return _Term(_row(_sign("¬"), operand.inside(_ATOM)))

    def where(self, condition: _Term, then: _Term, otherwise: _Term) -> _Term:
        cases = (
            (then.text, _row("<mtext>if&#160;</mtext>", condition.text)),
            (otherwise.text, "<mtext>else</mtext>"),
        )
        rows = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in cases)
        return _Term(_row(_sign("{"), f"<mtable>{rows}</mtable>"), _MOD)

    def bits(self, operand: _Term) -> _Term:
        return _Term(_row("<mi>bits</mi>", _sign("("), operand.text, _sign(")")))


def mathml(tree: Expression) -> str:
    """The expression as MathML, without the math element around it."""
    return fold(tree, _MathML()).text


def equation(name: str, tree: Expression, over: str = "", sign: str = "=") -> str:
    """A line `name = …` as a math element; `over` names what is taken of it over all terms."""
    text = fold(tree, _MathML())
    taken = (
        _row(f"<munder>{_sign(over)}<mtext>terms</mtext></munder>", text.inside(_PRODUCT))
        if over
        else text.text
    )
    return f'<math display="block">{_row(f"<mi>{escape(name)}</mi>", _sign(sign), taken)}</math>'
