"""The expression language as LaTeX, and a layout picture's formula."""

from __future__ import annotations

from ..spec.expressions import Expression, Name, Number, fold, substitute
from .pictures import Picture

__all__ = ["formula", "latex_text"]

Text = tuple[str, int]  # the text and how strongly it binds
_ATOM, _PRODUCT, _SUM, _MODULO, _BITS, _RELATION, _AND, _OR = 9, 6, 5, 4, 3, 2, 1, 0
_RELATIONS = {"==": "=", "!=": r"\neq", "<": "<", "<=": r"\leq", ">": ">", ">=": r"\geq"}
_BITWISE = {"&": r"\mathbin{\&}", "|": r"\mathbin{|}", "^": r"\oplus"}


def _over(operand: Text, strength: int) -> str:
    return operand[0] if operand[1] >= strength else rf"\left({operand[0]}\right)"


class _Latex:
    def number(self, value: int) -> Text:
        return str(value), _ATOM

    def name(self, identifier: str) -> Text:
        if len(identifier) == 1:
            return identifier, _ATOM
        escaped = identifier.replace("_", r"\_")
        return rf"\mathrm{{{escaped}}}", _ATOM

    def binary(self, op: str, left: Text, right: Text) -> Text:
        match op:
            case "+" | "-":
                return f"{_over(left, _SUM)} {op} {_over(right, _SUM + (op == '-'))}", _SUM
            case "*":
                return rf"{_over(left, _PRODUCT)} \cdot {_over(right, _PRODUCT)}", _PRODUCT
            case "<<":
                return rf"{_over(left, _PRODUCT)} \cdot 2^{{{right[0]}}}", _PRODUCT
            case "//":
                return rf"\left\lfloor \frac{{{left[0]}}}{{{right[0]}}} \right\rfloor", _ATOM
            case ">>":
                return rf"\left\lfloor \frac{{{left[0]}}}{{2^{{{right[0]}}}}} \right\rfloor", _ATOM
            case "%":
                return rf"{_over(left, _PRODUCT)} \bmod {_over(right, _PRODUCT)}", _MODULO
        return f"{_over(left, _ATOM)} {_BITWISE[op]} {_over(right, _ATOM)}", _BITS

    def compare(self, op: str, left: Text, right: Text) -> Text:
        return f"{_over(left, _BITS)} {_RELATIONS[op]} {_over(right, _BITS)}", _RELATION

    def connective(self, op: str, left: Text, right: Text) -> Text:
        strength, sign = (_AND, r"\land") if op == "and" else (_OR, r"\lor")
        return f"{_over(left, strength)} {sign} {_over(right, strength)}", strength

    def negation(self, operand: Text) -> Text:
        return rf"\lnot {_over(operand, _ATOM)}", _RELATION

    def where(self, condition: Text, then: Text, otherwise: Text) -> Text:
        first = rf"{then[0]} & \text{{if }} {condition[0]}"
        return rf"\begin{{cases}} {first} \\ {otherwise[0]} & \text{{otherwise}} \end{{cases}}", _MODULO


def latex_text(tree: Expression) -> str:
    """The expression as LaTeX for math mode (``cases`` and ``\\text`` need amsmath)."""
    return fold(tree, _Latex())[0]


def formula(picture: Picture) -> str:
    """Domain, named parts, condition and every output, as one ``aligned`` environment."""
    layout = picture.layout.layout
    fixed = {
        name: Number(int(scalars.values[0]))
        for name, scalars in layout.params.items()
        if len(scalars.values) == 1
    }

    def line(name: str, tree: Expression) -> str:
        return f"{_Latex().name(name)[0]} &= {latex_text(substitute(tree, fixed))}"

    lines = [
        rf"{_Latex().name(name)[0]} &\in \{{0, \dots, {size - 1}\}}" for name, size in picture.sizes.items()
    ]
    lines += [line(name, part.tree) for name, part in layout.let.items()]
    if layout.where is not None:
        lines.append(rf"&\text{{where }} {latex_text(substitute(layout.where.tree, fixed))}")
    lines += [line(name, output.tree) for name, output in layout.map.items()]
    for name, tree in picture.places.items():
        lines.append(line(name, substitute(tree, {"element": Name("i")})))
    body = " \\\\\n".join(f"  {text}" for text in lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
