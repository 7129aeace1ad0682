"""The index of pages: where words lead, and that every entry leads somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest

from ptxmma.spec.api import find

from .in_node import in_node

Index = Mapping[str, Any]


@pytest.fixture(scope="session")
def index(made: Mapping[str, str]) -> Index:
    """What the site's own file says."""
    found: Index = json.loads(made["data/pages.js"].partition("=")[2].rstrip(";\n"))
    return found


def asked(index: Index, texts: list[str]) -> list[dict[str, Any]]:
    """The first results of each text, places, and whether it is taken for words."""
    body = (
        "return given.map((text) => ({ are: ptxmma.pages.areWords(text),"
        " found: ptxmma.pages.find(ptxmma.data.pages, text).map(({ path }) => path),"
        " places: ptxmma.pages.places(ptxmma.data.pages, text).map(({ path }) => path) }));"
    )
    found: list[dict[str, Any]] = in_node(("pages",), {"pages": index}, texts, body)
    return found


def test_every_entry_leads_to_a_page_and_an_anchor(made: Mapping[str, str], index: Index) -> None:
    known = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in made.items()}
    for title, path, _, _ in index["entries"]:
        page, _, anchor = path.partition("#")
        assert title and page in known, path
        assert not anchor or "=" in anchor or unquote(anchor) in known[page], path
    assert len(index["entries"]) > 1000
    titles = [(title, of) for title, _, of, _ in index["entries"]]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("fragment", "docs/glossary.html"),
        ("swizzle", "docs/yaml.html#swizzle"),
        ("Swizzles", "docs/yaml.html#swizzle"),
        ("bank conflicts", "theorems.html#swizzle.involution"),
        ("bank conflict", "descriptors.html"),
        ("what is a hazard?", "docs/glossary.html"),
        ("fp8 accumulation", "register.html#text-fp8-accumulation"),
        ("is my kernel right?", "docs/cookbook.html#is-my-kernel-right"),
        ("proxy fence", "docs/glossary.html"),
        ("smem.mn-major", "layouts.html#layout=smem.mn-major"),
        ("for auditors", "docs/guides/auditor.html"),
    ],
)
def test_words_lead_to_a_page(index: Index, text: str, path: str) -> None:
    (found,) = asked(index, [text])
    assert path in found["found"], found["found"]


def test_places_lead_to_the_explorer(index: Index) -> None:
    sparse, plain, thread, none = asked(
        index, ["row 9, column 3 of sparse A", "row 9", "thread 5 of D", "metadata"]
    )
    states = [parse_qs(path.partition("#")[2]) for path in sparse["places"]]
    assert {find(one["mnemonic"][0]).row.family.instruction.instruction for one in states} == {
        "wgmma.mma_async.sp",
        "mma.sp",
    }
    assert all((one["operand"], one["row"], one["col"]) == (["A"], ["9"], ["3"]) for one in states)
    assert len(plain["places"]) > 4 and "col" not in parse_qs(plain["places"][0].partition("#")[2])
    assert all("operand=D" in path and "thread=5" in path for path in thread["places"])
    assert none["places"] == []


def test_ptx_is_no_words(index: Index) -> None:
    texts = ["mma.sync", "wgmma.fence.sync.aligned;", "mma {a}, b", "%r1", "", "1 2", "fragment", "row 9"]
    assert [one["are"] for one in asked(index, texts)] == [False] * 6 + [True] * 2


def test_nothing_is_found_for_nonsense(index: Index) -> None:
    assert [one["found"] for one in asked(index, ["zzyzx", "the of", "\\ ( * ?"])] == [[], [], []]


def test_the_explorer_begins_with_plain_shapes(index: Index) -> None:
    starts = {one["instruction"]: one["mnemonic"] for one in index["starts"]}
    assert starts["wgmma.mma_async"] == "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    assert starts["wgmma.mma_async.sp"] == "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16"
    assert starts["mma"].startswith("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")


def test_who_has_more_words_comes_first() -> None:
    entries = [["alpha", "title.html", "", ""], ["gamma", "both.html", "", "alpha beta"]]
    body = "return ptxmma.pages.find(given, 'alpha beta').map(({ path }) => path);"
    assert in_node(("pages",), {}, {"entries": entries}, body) == ["both.html", "title.html"]
