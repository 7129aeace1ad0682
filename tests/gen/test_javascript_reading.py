"""Expressions read as JavaScript, in node: equal to Python's reading for every layout, and for expressions drawn at random."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmma.gen.javascript_reading import javascript_text
from ptxmma.spec.expressions import Expression, compiled, names, parse
from ptxmma.spec.specification import Specification

Case = tuple[Expression, dict[str, int]]


def in_node(script: str) -> str:
    """What a script prints."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("no node is installed; on Debian: apt-get install nodejs")
    return subprocess.run([path, "-"], input=script, text=True, capture_output=True, check=True).stdout


def in_javascript(cases: Sequence[Case], big: bool) -> list[int]:
    """The value of each expression, as JavaScript says it."""
    lines = []
    for tree, values in cases:
        suffix = "n" if big else ""
        bound = "".join(f"const {name} = {value}{suffix}; " for name, value in values.items())
        lines.append(f"said.push((() => {{ {bound}return {javascript_text(tree, big=big)}; }})());")
    script = "\n".join(
        ('"use strict"; const said = [];', *lines, "console.log(JSON.stringify(said.map(String)))")
    )
    return [int({"true": "1", "false": "0"}.get(one, one)) for one in json.loads(in_node(script))]


def in_python(cases: Sequence[Case]) -> list[int]:
    return [int(compiled(tree, tuple(values))(*values.values())) for tree, values in cases]


def cases_of_layouts(specification: Specification) -> list[Case]:
    """Every expression of every layout at random points, and its inverse there."""
    chosen = random.Random(3)
    cases: list[Case] = []
    for layout in specification.layouts.values():
        for _ in range(4):
            values = {
                name: int(chosen.choice(scalars.values)) for name, scalars in layout.layout.params.items()
            }
            point = values | {n: chosen.randrange(size) for n, size in layout.domain(values).items()}
            place = values | {n: chosen.randrange(size) for n, size in layout.shape(values).items()}
            trees = [*layout.trees.values(), *layout.sizes.values(), *layout.extents.values()]
            cases += [(tree, point) for tree in trees]
            cases += [(tree, place) for tree in layout.inverse.inputs.values()]
            if layout.condition is not None:
                cases.append((layout.condition, point))
    return [(tree, {n: v for n, v in values.items() if n in names(tree)}) for tree, values in cases]


@pytest.mark.parametrize("big", [False, True])
def test_every_layout_reads_alike(specification: Specification, big: bool) -> None:
    cases = cases_of_layouts(specification)
    assert len(cases) > 1000
    assert in_javascript(cases, big) == in_python(cases)


def expressions() -> st.SearchStrategy[str]:
    """Expressions whose values stay natural numbers, and far below 2**32."""
    leaves = st.sampled_from(["a", "b", "3", "17", "255"])

    def longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.flatmap(
                lambda p: st.sampled_from(["+", "&", "|", "^"]).map(lambda op: f"({p[0]}) {op} ({p[1]})")
            ),
            inner.map(lambda a: f"({a}) // 5"),
            inner.map(lambda a: f"({a}) % 7 * 3"),
            inner.map(lambda a: f"(({a}) % 64 << 2) >> 1"),
            inner.map(lambda a: f"100 - ({a}) % 100"),
            inner.map(lambda a: f"bits({a})"),
            pairs.map(lambda p: f"where({p[0]} < {p[1]} and not ({p[0]} == 3), {p[0]}, {p[1]})"),
            pairs.map(lambda p: f"({p[0]} >= {p[1]}) * 9 + ({p[0]} != {p[1]} or {p[1]} > 3)"),
        )

    return st.recursive(leaves, longer, max_leaves=8)


@settings(max_examples=8)
@given(st.lists(st.tuples(expressions(), st.integers(0, 999), st.integers(0, 999)), min_size=60, max_size=60))
def test_any_expression_reads_alike(drawn: list[tuple[str, int, int]]) -> None:
    cases = [(parse(text), {"a": a, "b": b}) for text, a, b in drawn]
    wanted = in_python(cases)
    assert in_javascript(cases, False) == wanted and in_javascript(cases, True) == wanted


def test_sixty_four_bits_need_big_integers() -> None:
    tree, values = parse("(a << 62 | 5) >> 61 & 7"), {"a": 3}
    assert in_javascript([(tree, values)], True) == in_python([(tree, values)]) == [6]


def test_numbers_have_thirty_two_bits_without_a_sign() -> None:
    cases: list[Case] = [(parse("a ^ b"), {"a": 0xFFFFFFFF, "b": 1}), (parse("a << 40 >> 39"), {"a": 5})]
    assert in_javascript(cases, False) == [0xFFFFFFFE, 10]
