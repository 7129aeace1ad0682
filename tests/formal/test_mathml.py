"""Formulas as MathML say what they say elsewhere: read back by a reader of its own, they have the same values."""

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from xml.etree import ElementTree

import pytest

from ptxmma.formal.mathml import equation, mathml
from ptxmma.spec.arithmetic import arithmetic
from ptxmma.spec.expressions import Expression, compiled, names, parse
from ptxmma.spec.maps import NoClosedForm
from ptxmma.spec.specification import Specification

# What a person reads between two terms, as Python; in the order of school: products, sums, bits, remainders.
_SIGNS = {"·": "*", "−": "-", "+": "+", "=": "==", "≠": "!=", "≤": "<=", "≥": ">=", "<": "<", ">": ">"}
_WORDS = {
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "∧": " and ",
    "∨": " or ",
    "¬": " not ",
    "(": "(",
    ")": ")",
}


def _text(node: ElementTree.Element) -> str:
    """MathML as Python; every row in parentheses only where it has them, fractions and powers by themselves."""
    children = [_text(child) for child in node]
    match node.tag:
        case "mn" | "mi":
            return node.text or ""
        case "mo":
            return {**_SIGNS, **_WORDS, "⌊": "(", "⌋": ")", "{": ""}[node.text or ""]
        case "mfrac":
            return f"({children[0]})//({children[1]})"
        case "msup":
            return f"({children[0]}**({children[1]}))"
        case "mrow" if len(node) == 2 and node[1].tag == "mtable":
            (then, condition), (otherwise, _) = ([_text(cell) for cell in row] for row in node[1])
            return f"({then} if {condition} else {otherwise})"
        case "mtext":
            return ""
    if node.tag == "mrow" and any(child.text == "mod" for child in node):
        assert len(node) == 3  # a remainder is looser than all that it is of
        return f"({children[0]}) % ({children[2]})"
    return "".join(children)


def _read(tree: Expression) -> str:
    return _text(ElementTree.fromstring(mathml(tree)))


def _same(tree: Expression, chance: random.Random) -> None:
    variables = tuple(sorted(names(tree)))
    reading = _read(tree)
    mine = eval(f"lambda {', '.join((*variables, 'bits'))}: {reading}")
    wanted = compiled(tree, variables)
    for _ in range(20):
        values = [chance.randrange(1, 200) for _ in variables]
        try:
            expected = wanted(*values)
        except (ValueError, ZeroDivisionError):  # a shift by less than nothing, at values that nothing has
            continue
        assert mine(*values, int.bit_length) == expected, reading


def _formulas(specification: Specification) -> Iterator[Expression]:
    for layout in specification.layouts.values():
        yield from layout.trees.values()
        with suppress(NoClosedForm):
            yield from layout.inverse.inputs.values()
        if layout.condition is not None:
            yield layout.condition
    for family in arithmetic().families:
        for model in family.models.values():
            for stage in model.stages:
                yield from (formula.tree for formula in stage.let.values())


def test_every_formula_is_read_back(specification: Specification) -> None:
    chance = random.Random(3)
    trees = list(dict.fromkeys(_formulas(specification)))
    assert len(trees) > 300
    for tree in trees:
        _same(tree, chance)


@pytest.mark.parametrize(
    "text",
    [
        "a - (b + c)",
        "a - (b - c)",
        "(a + b) * c",
        "a * (b % c)",
        "(a + b) % (c * 2)",
        "(a & b | c) ^ a + b",
        "a & (b | c)",
        "(a << b % 8) + (c >> 2 * (b % 4))",
        "where(a < b and not (c == a or b > c), a + 1, where(a >= 2, b, c)) % 3",
        "bits(a + b) - bits(a) * 2",
        "a % b == c % 4 and a != 0",
    ],
)
def test_parentheses_stand_where_they_must(text: str) -> None:
    _same(parse(text), random.Random(text))


def test_what_is_printed() -> None:
    assert equation("row", parse("t // 4")) == (
        '<math display="block"><mrow><mi>row</mi><mo>=</mo>'
        "<mrow><mo>⌊</mo><mfrac><mi>t</mi><mn>4</mn></mfrac><mo>⌋</mo></mrow></mrow></math>"
    )
    assert "<mo>&lt;</mo>" in mathml(parse("a < b"))
    assert not re.search("<mo>[(]", mathml(parse("a * b + c")))
    assert "<munder><mo>∑</mo><mtext>terms</mtext></munder>" in equation("sum", parse("a"), "∑")
