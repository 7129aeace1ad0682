"""The expression language read as MathML, for pages: the same formulas that solvers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..spec.expressions import Expression, fold

__all__ = ["MathMLAlgebra", "MathMLTerm", "equation", "mathml"]

# How tightly each kind of term holds together; a looser one inside a tighter one gets parentheses.
_OR, _AND, _COMPARED, _MOD, _BITS, _SUM, _PRODUCT, _ATOM = range(8)
_COMPARE: Mapping[str, str] = {"==": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥"}
_BITWISE: Mapping[str, str] = {"&": "and", "|": "or", "^": "xor"}


@dataclass(frozen=True)
class MathMLTerm:
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


def _floor(above: str, below: str) -> MathMLTerm:
    return MathMLTerm(_row(_sign("⌊"), f"<mfrac>{above}{below}</mfrac>", _sign("⌋")))


def _power(exponent: MathMLTerm) -> str:
    return f"<msup><mn>2</mn>{exponent.text}</msup>"


class MathMLAlgebra:
    """Terms of the expression language, and a few more that statements have, as MathML."""

    def number(self, value: int) -> MathMLTerm:
        return MathMLTerm(f"<mn>{value}</mn>")

    def name(self, identifier: str) -> MathMLTerm:
        return MathMLTerm(f"<mi>{escape(identifier)}</mi>")

    def binary(self, op: str, left: MathMLTerm, right: MathMLTerm) -> MathMLTerm:
        match op:
            case "+":
                return MathMLTerm(_row(left.inside(_SUM), _sign("+"), right.inside(_SUM)), _SUM)
            case "-":
                return MathMLTerm(_row(left.inside(_SUM), _sign("−"), right.inside(_PRODUCT)), _SUM)
            case "*":
                return MathMLTerm(_row(left.inside(_PRODUCT), _sign("·"), right.inside(_PRODUCT)), _PRODUCT)
            case "//":
                return _floor(left.text, right.text)
            case "%":
                return MathMLTerm(_row(left.inside(_PRODUCT), _sign("mod"), right.inside(_ATOM)), _MOD)
            case "<<" if left == self.number(1):
                return MathMLTerm(_power(right))
            case "<<":
                return MathMLTerm(_row(left.inside(_PRODUCT), _sign("·"), _power(right)), _PRODUCT)
            case ">>":
                return _floor(left.text, _power(right))
        same = left.text if left.bitwise == op else left.inside(_PRODUCT)
        return MathMLTerm(_row(same, _sign(_BITWISE[op]), right.inside(_PRODUCT)), _BITS, op)

    def compare(self, op: str, left: MathMLTerm, right: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(_row(left.inside(_MOD), _sign(_COMPARE[op]), right.inside(_MOD)), _COMPARED)

    def chain(self, terms: Sequence[MathMLTerm], ops: Sequence[str]) -> MathMLTerm:
        """Terms, each compared with the next."""
        parts = [terms[0].inside(_MOD)]
        for op, term in zip(ops, terms[1:], strict=True):
            parts += [_sign(_COMPARE[op]), term.inside(_MOD)]
        return MathMLTerm(_row(*parts), _COMPARED)

    def connective(self, op: str, left: MathMLTerm, right: MathMLTerm) -> MathMLTerm:
        tight, sign = (_AND, "∧") if op == "and" else (_OR, "∨")
        return MathMLTerm(_row(left.inside(tight), _sign(sign), right.inside(tight)), tight)

    def negation(self, operand: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(_row(_sign("¬"), operand.inside(_ATOM)))

    def where(self, condition: MathMLTerm, then: MathMLTerm, otherwise: MathMLTerm) -> MathMLTerm:
        cases = (
            (then.text, _row("<mtext>if&#160;</mtext>", condition.text)),
            (otherwise.text, "<mtext>else</mtext>"),
        )
        rows = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in cases)
        return MathMLTerm(_row(_sign("{"), f"<mtable>{rows}</mtable>"), _MOD)

    def negative(self, operand: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(_row(_sign("−"), operand.inside(_ATOM)), _SUM)

    def power(self, base: MathMLTerm, exponent: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(f"<msup>{base.inside(_ATOM)}{exponent.text}</msup>")

    def fraction(self, above: MathMLTerm, below: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(f"<mfrac>{above.text}{below.text}</mfrac>")

    def listed(self, function: str, terms: Sequence[MathMLTerm]) -> MathMLTerm:
        """A tuple, or what a function is of."""
        between = _sign(",").join(term.text for term in terms)
        name = f"<mi>{escape(function)}</mi>" if function else ""
        return MathMLTerm(_row(name, _sign("("), between, _sign(")")))

    def indexed(self, name: str, index: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(f"<msub><mi>{escape(name)}</mi>{index.text}</msub>")

    def bits(self, operand: MathMLTerm) -> MathMLTerm:
        return MathMLTerm(_row("<mi>bits</mi>", _sign("("), operand.text, _sign(")")))


def mathml(tree: Expression) -> str:
    """The expression as MathML, without the math element around it."""
    return fold(tree, MathMLAlgebra()).text


def equation(name: str, tree: Expression, over: str = "", sign: str = "=") -> str:
    """A line `name = …` as a math element; `over` names what is taken of it over all terms."""
    text = fold(tree, MathMLAlgebra())
    taken = (
        _row(f"<munder>{_sign(over)}<mtext>terms</mtext></munder>", text.inside(_PRODUCT))
        if over
        else text.text
    )
    return f'<math display="block">{_row(f"<mi>{escape(name)}</mi>", _sign(sign), taken)}</math>'
