"""Ids that may not vanish in silence, and who speaks in each contradiction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from operator import itemgetter
from pathlib import Path

import pytest
import yaml

from ptxmma.gen.litmus.litmus_tests import written
from ptxmma.ledger.contradiction_file import Party
from ptxmma.ledger.contradictions import register
from ptxmma.spec.cache import PACKAGE
from ptxmma.spec.expressions import compiled
from ptxmma.spec.specification import Specification

WATCHES = ("spec/layouts/bridges.yaml", "spec/ordering/litmus.yaml", "contradictions.yaml")
LISTED = yaml.safe_load(Path(__file__).with_name("ids.yaml").read_text(encoding="utf-8"))


def test_every_bridge_is_listed(specification: Specification) -> None:
    assert list(specification.bridges) == LISTED["bridges"]


def test_three_bridges_say_that_layouts_differ(specification: Specification) -> None:
    """And of one that they are the same up to a permutation of the columns."""
    differ = {name: bridge.permutes for name, bridge in specification.bridges.items() if not bridge.holds}
    plain = ("ldmatrix-mma.m16n8k16.b.plain", "tcgen05.d.D-tcgen05.a.D")
    assert differ == {"mma.c-mma.a.8b": "col", **dict.fromkeys(plain)}
    permuted = specification.bridges["mma.c-mma.a.8b"]
    assert (permuted.left, permuted.right) == ("mma.m16n8k32.a.8b", "mma.m16n8.c")
    assert permuted.params["j"].values == (0, 1, 2, 3)
    assert all(bridge.permutes is None for bridge in specification.bridges.values() if bridge.holds)


Known = Mapping[str, int]
# Where the bridges that hold nowhere would put element i of thread t: one fragment beside the other.
PLAIN: Mapping[str, Mapping[str, Callable[[Known], int]]] = {
    "mma.c-mma.a.8b": {
        "i": lambda known: 4 * known["j"] + known["i"],
        "col": lambda k: 8 * k["j"] + k["col"],
    },
    "ldmatrix-mma.m16n8k16.b.plain": {},
    "tcgen05.d.D-tcgen05.a.D": {"i": lambda known: 0},  # the lower half of a column
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_differs_is_the_plain_translation(specification: Specification, name: str) -> None:
    """Any other translation that differs would say less."""
    bridge = specification.bridges[name]
    assert bridge.where is None
    for key, formula in (*bridge.at.items(), *bridge.equals.items()):
        said = compiled(formula.tree, ("t", "i", "j", "row", "col", "lane", "column"))
        for t, i, j, row, col in product(range(0, 32, 5), range(4), range(4), range(0, 16, 5), range(8)):
            known = {"t": t, "i": i, "j": j, "row": row, "col": col, "lane": 3 * t + 1, "column": 5 * col + i}
            assert said(*known.values()) == PLAIN[name].get(key, itemgetter(key))(known), key


def test_what_differs_is_about_two_fragments(specification: Specification) -> None:
    accumulator = specification.bridges["tcgen05.d.D-tcgen05.a.D"]
    assert accumulator.layouts == ("tcgen05.a.D", "tcgen05.d.D")
    assert {k: v.values for k, v in accumulator.params.items() if k != "n"} == {
        "bytes": (32,),
        "width": (16,),
    }
    assert accumulator.params["n"].values == tuple(range(8, 257, 8))
    plain = specification.bridges["ldmatrix-mma.m16n8k16.b.plain"]
    assert (plain.left, plain.right) == ("mma.m16n8k16.b.16b", "matrix.m8n8")
    assert {key: one.values for key, one in plain.params.items()} == {"matrices": (2,)}


def test_a_bridge_of_a_sparse_fragment_is_named_after_it(specification: Specification) -> None:
    """9.7.14.6.1: a packed fragment has the layout of a dense one, of half the depth."""
    named = {n: b for n, b in specification.bridges.items() if ".sp." in n and "-" not in n}
    assert len(named) == 14
    assert {name: bridge.left for name, bridge in named.items()} == {name: name for name in named}
    assert not any(".sp." in bridge.right for bridge in named.values())


def test_every_litmus_test_is_listed() -> None:
    assert [test.name for test in written()] == LISTED["litmus"]


def test_every_contradiction_is_listed_with_whom_the_specification_follows() -> None:
    entries = register().entries
    assert {name: entry.reading.takes for name, entry in entries.items()} == LISTED["contradictions"]


def test_what_is_gone_stands_in_the_changelog() -> None:
    changelog = (PACKAGE / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in LISTED["gone"] if f"`{name}`" not in changelog] == []


@pytest.mark.parametrize(
    ("where", "who"),
    [
        ("9.7.15.6", "text"),
        ("release notes of PTX ISA 8.5", "text"),
        ("H200, every bit", "silicon"),
        ("ptxas 12.0.140 to 12.6.85", "assembler"),
        ("LLVM 19", "source"),
        ("CUTLASS, include/cutlass", "source"),
    ],
)
def test_a_place_shows_who_speaks(where: str, who: str) -> None:
    assert Party(where, "something").who == who


def test_every_party_of_every_entry_is_listed() -> None:
    """The kinds of those who speak, typed in ids.yaml: the parties, then the second witness."""
    entries = register().entries.items()
    assert {name: [party.who for party in (*e.parties, e.witness)] for name, e in entries} == LISTED[
        "parties"
    ]
