"""Ids that may not vanish in silence, and who the parties of each contradiction are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ptxmma.gen.litmus.litmus_tests import written
from ptxmma.ledger.contradictions import register
from ptxmma.spec.cache import PACKAGE
from ptxmma.spec.specification import Specification

WATCHES = ("spec/layouts/bridges.yaml", "spec/ordering/litmus.yaml", "contradictions.yaml")
LISTED = yaml.safe_load(Path(__file__).with_name("ids.yaml").read_text(encoding="utf-8"))

# Where a party says something, if the words there do not show who it is.
ELSEWHERE = {
    "release notes of PTX ISA 8.5": "text",
    "table of architecture-specific features (table 63 of 9.3)": "text",
    "the same releases, on the same statements under .version 5.0": "assembler",
}


def speaks(where: str) -> str:
    """Who says something there: a chip and an assembler have a name, and a section of the text a number."""
    if where in ELSEWHERE:
        return ELSEWHERE[where]
    if "H200" in where:
        return "silicon"
    if "ptxas" in where:
        return "assembler"
    return "text" if where[0].isdigit() else "source"


def test_every_bridge_is_listed(specification: Specification) -> None:
    assert list(specification.bridges) == LISTED["bridges"]


def test_two_bridges_say_that_layouts_differ(specification: Specification) -> None:
    """And of one that they are the same up to a permutation of the columns."""
    differ = {name: bridge.permutes for name, bridge in specification.bridges.items() if not bridge.holds}
    assert differ == {"mma.c-mma.a.8b": "col", "ldmatrix-mma.m16n8k16.b.plain": None}
    assert all(bridge.permutes is None for bridge in specification.bridges.values() if bridge.holds)


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


def test_every_party_is_who_its_place_says() -> None:
    said = [
        (party.where, party.who)
        for entry in register().entries.values()
        for party in (*entry.parties, entry.witness)
    ]
    assert len(said) > 150
    assert [(where, who) for where, who in said if speaks(where) != who] == []


@pytest.mark.parametrize(
    ("where", "who"), [("9.7.15.6", "text"), ("H200, every bit", "silicon"), ("LLVM 19", "source")]
)
def test_a_place_shows_who_speaks(where: str, who: str) -> None:
    assert speaks(where) == who
