"""The expression language: parsing, reading, domains."""

from __future__ import annotations

import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmma.spec.errors import Place, SpecError
from ptxmma.spec.expressions import (
    Expression,
    compiled,
    compiled_all,
    compiled_in_turn,
    names,
    parse,
    source,
    substitute,
)
from ptxmma.spec.intervals import interval
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification

PLACE = Place("x.yaml", 7, 10)


def value(text: str, **names_: int) -> int:
    return compiled(parse(text), tuple(names_))(*names_.values())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("16*(t // 32) + t % 32 // 4", 16 + 7),
        ("where(t > 60, 1, 2)", 1),
        ("where(not (t > 60), 1, 2)", 2),
        ("t & 7 | 8 ^ 1", 61 & 7 | 8 ^ 1),
        ("1 << 2 + 1", 8),
        ("where(0 <= t < 61, 3, 4)", 4),
        ("where(t == 61 and t != 3 or t == 2, 5, 6)", 5),
        ("bits(t) + 10*bits(t + 3) + 100*bits(t - t)", 6 + 70),
    ],
)
def test_value(text: str, wanted: int) -> None:
    assert value(text, t=61) == wanted


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("t + f(t)", 14),
        ("t ** 2", 10),
        ("t / 2", 10),
        ("'a'", 10),
        ("t.x", 10),
        ("1.5", 10),
        ("-t", 10),
    ],
)
def test_what_is_not_in_the_language_is_placed(text: str, column: int) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text, PLACE)
    assert str(caught.value).startswith(f"x.yaml:7:{column}: ")
    assert "right would be" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8 // t", "divisor of // can be 0"),
        ("8 % t", "divisor of % can be 0"),
        ("t - 1", "can be -1"),
        ("u", "not bound"),
    ],
)
def test_leaving_the_domain(text: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        interval(parse(text), {"t": (0, 127)})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("where(t >= i, t - i, i - t)", (0, 127)),
        ("where(t > i, t - i, 1)", (1, 127)),
        ("where(t < 64, t, 64)", (0, 64)),
        ("where(t != 0, t - 0, 5)", (1, 127)),
        ("where(not (t < i) and i >= 3, t - i + i, 0)", (0, 155)),
        ("where(t <= i or t == 0, 1, t - i)", (1, 127)),
        ("bits(t)", (0, 7)),
    ],
)
def test_what_a_condition_says_holds_in_its_branch(text: str, wanted: tuple[int, int]) -> None:
    assert interval(parse(text), {"t": (0, 127), "i": (0, 31)}) == wanted


@pytest.mark.parametrize(
    "text", ["where(t >= i, i - t, 0)", "where(t > i or i > 3, t - i, 0)", "where(t >= i, 0, t - i)"]
)
def test_what_a_condition_does_not_say(text: str) -> None:
    with pytest.raises(SpecError, match="at least 0"):
        interval(parse(text), {"t": (0, 127), "i": (0, 31)})


def test_wider_values() -> None:
    assert interval(parse("t << 90"), {"t": (0, 1)}, 128) == (0, 1 << 90)
    with pytest.raises(SpecError, match="128 bits"):
        interval(parse("t << 128"), {"t": (0, 1)}, 128)


def trees() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["t", "i", "0", "1", "3", "8", "32"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "*", "&", "|", "^"]), inner).map(
                lambda p: f"({p[0]}) {p[1]} ({p[2]})"
            ),
            st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["2", "4", "7"])).map(
                lambda p: f"({p[0]}) {p[1]} {p[2]}"
            ),
            st.tuples(inner, inner, inner).map(lambda p: f"where({p[0]} < {p[1]}, {p[1]}, {p[2]})"),
            st.tuples(inner, inner, inner).map(
                lambda p: f"where({p[0]} <= {p[1]}, ({p[1]}) - ({p[0]}), {p[2]})"
            ),
            inner.map(lambda one: f"bits({one})"),
        ),
        max_leaves=12,
    )


@given(trees(), st.integers(0, 127), st.integers(0, 31))
def test_source_says_the_same_and_the_interval_holds(text: str, t: int, i: int) -> None:
    tree = parse(text)
    again = parse(source(tree))
    got = compiled(tree, ("t", "i"))(t, i)
    assert compiled(again, ("t", "i"))(t, i) == got
    try:
        low, high = interval(tree, {"t": (0, 127), "i": (0, 31)})
    except SpecError:
        return  # too large for 64 bits
    assert low <= got <= high


def test_several_expressions_are_computed_each_by_itself() -> None:
    both = compiled_all((parse("t + i"), parse("t * i")), ("t", "i"))
    assert both(5, 3) == (8, 15)
    assert compiled_all((), ("t",))(5) == ()


def test_lines_in_turn_read_what_those_before_them_made() -> None:
    function, read = compiled_in_turn(
        {"b": parse("a + 1"), "c": parse("2*b"), "a": parse("c + a"), "d": parse("a")}
    )
    assert read == ("a",)  # b, c and the second a are made before they are read
    assert function(10) == (11, 22, 32, 32)


def test_a_line_reads_what_a_later_one_makes_from_outside() -> None:
    function, read = compiled_in_turn({"a": parse("b"), "b": parse("where(a > 3, 7, b)")})
    assert read == ("b",)
    assert [function(3), function(4)] == [(3, 3), (4, 7)]


def test_substitute() -> None:
    tree: Expression = substitute(parse("a + b"), {"a": parse("2*t")})
    assert names(tree) == {"b", "t"}


def test_a_formula_is_kept_as_long_as_its_function(specification: Specification) -> None:
    """Functions are found by the id of a formula, which another formula could have once it is gone."""
    (row, *_) = specification.families["wgmma.mma_async"].rows
    formula = Formula("k + 1", parse("k + 1"), PLACE)
    kept = weakref.ref(formula)
    assert row.evaluate(formula, {"k": 16}) == 17
    del formula
    assert kept() is not None
