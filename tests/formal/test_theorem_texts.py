"""What is said of each theorem for readers: a formula, and what is found where it is false."""

from xml.etree import ElementTree

import pytest

from ptxmma.formal.catalogue import GROUPS
from ptxmma.formal.statement_mathml import statement
from ptxmma.formal.theorem import Theorem

_ALL = [theorem for group in GROUPS for theorem in group.theorems]


def test_every_theorem_has_its_texts() -> None:
    assert len(_ALL) >= 84
    assert not [one.name for one in _ALL if not (one.formula and one.fails)]


@pytest.mark.parametrize("theorem", _ALL, ids=lambda one: one.name)
def test_texts_are_one_line_each_and_of_one_theorem(theorem: Theorem) -> None:
    assert theorem.formula and theorem.fails
    for text in (theorem.formula, theorem.fails):
        assert "\n" not in text and len(text) <= 100 and not text.endswith(".")
    alike = [one.name for one in _ALL if one.formula == theorem.formula]
    assert alike == [theorem.name]


def _spoken(node: ElementTree.Element) -> str:
    """What a person reads, with the parts of fractions and powers in brackets."""
    parts = [_spoken(child) for child in node]
    match node.tag:
        case "mfrac":
            return f"[{parts[0]} over {parts[1]}]"
        case "msup":
            return f"[{parts[0]} to the {parts[1]}]"
    return (node.text or "") + "".join(
        part + (child.tail or "") for part, child in zip(parts, node, strict=True)
    )


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("for each p of the domain: f(p) < extents", "for each p of the domain: {f(p)<extents}"),
        ("for a, b: f(a) == f(b) only if a == b", "for a, b: {f(a)=f(b)} only if {a=b}"),
        ("y // line == x // line and y % unit == 0", "{⌊[y over line]⌋=⌊[x over line]⌋∧ymodunit=0}"),
        ("code == (plus - minus) % 2**(bits - 1)", "{code=(plus−minus)mod[2 to the bits−1]}"),
        ("for some sum: abs(sum - exact) >= 3/4 * bound", "for some sum: {abs(sum−exact)≥[3 over 4]·bound}"),
        ("a >= b >= a; not (r(x) and s(y))", "{a≥b≥a}; {¬(r(x)∧s(y))}"),
        ("code(-terms) ^ code(terms) != sign", "{code(−terms)xorcode(terms)≠sign}"),
        ("a < the field's limit & more", "a < the field's limit & more"),
        ("for x, y < 8: word", "for x, {y<8}: word"),
        ("for rows r != s, x of the first row: word", "for rows {r≠s}, x of the first row: word"),
        ("for far >= n * near: far + offset has one (i, j)", "for {far≥n·near}: {far+offset} has one (i, j)"),
        ("n * low <= sum, by induction", "{n·low≤sum}, by induction"),
        ("a * b has digits, x * 1 or of the addend", "{a·b} has digits, {x·1} or of the addend"),
        ("t >= sm_Xf only in its family", "{t≥sm_Xf} only in its family"),
        # A formula ends where a word says more of its last name, or begins with one that words speak of.
        ("run <= the first span", "run <= the first span"),
        ("may select v == v is in the list", "may select v == v is in the list"),
        ("valid == its two indices", "valid == its two indices"),
        ("d[c] == sum of stored", "d[c] == sum of stored"),
        ("judged legal == row and rule", "judged legal == row and rule"),
        ("abs(sum) <= terms * unit of it + unit of that", "abs(sum) <= terms * unit of it + unit of that"),
        ("0 <= field(a, b) <= its limit", "0 <= field(a, b) <= its limit"),
    ],
)
def test_formulas_are_shown_as_formulas_and_words_as_words(text: str, wanted: str) -> None:
    page = ElementTree.fromstring(f"<p>{statement(text)}</p>")
    for formula in page.iter("math"):
        formula.text = "{" + (formula.text or "")
        formula[-1].tail = "}"
    assert _spoken(page) == wanted


def test_most_theorems_have_a_formula_that_a_page_draws() -> None:
    drawn = [one.name for one in _ALL if "<math>" in statement(one.formula)]
    assert len(drawn) >= 54
    for one in _ALL:
        ElementTree.fromstring(f"<p>{statement(one.formula)}</p>")
