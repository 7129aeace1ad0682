"""Section numbers lead to the manual: the table of anchors, and which number of which edition is a link."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from ptxmma.atlas.manual import linked, manual
from ptxmma.spec.editions import cited
from ptxmma.spec.loading import ROOT
from ptxmma.spec.specification import Specification

PAGE = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html"
# Typed from the contents of PTX ISA 9.4, by the sections' titles.
KNOWN = {
    "9.7.14.5.14": "warp-level-matrix-instructions-mma",
    "9.7.15.4": "asynchronous-warpgroup-level-matrix-async-proxy",
    "9.7.15.7": "asynchronous-wgmma-proxy-operations",
    "9.7.16.6.1": "tcgen05-memory-consistency-model-async-operations",
    "9.7.16.10.8.4": "tcgen05-sparse-matrices-sparsity-selector",
    "9.7.16.10.9.1": "tcgen05-mma-instructions-mma",
    "9.7.14.6.1": "warp-level-sparse-matrix-storage",
}


def test_the_table_has_its_form() -> None:
    anchors = manual().anchors
    assert manual().page == PAGE
    assert all(re.fullmatch(r"\d+(\.\d+){2,}", number) for number in anchors)
    assert all(
        re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+|tensor-memory", anchor) for anchor in anchors.values()
    )
    assert len(set(anchors.values())) == len(anchors), "two sections at one place"
    numbers = [[int(part) for part in number.split(".")] for number in anchors]
    assert numbers == sorted(numbers)
    assert KNOWN.items() <= anchors.items()


def test_every_section_on_matrices_that_a_source_names_has_an_anchor() -> None:
    files = [*(ROOT / "spec").rglob("*.yaml"), ROOT / "contradictions.yaml", ROOT / "check" / "rules.yaml"]
    named = {
        number
        for file in files
        for line in re.findall(r'\b(?:section|source): "?([\d.; ]+)', file.read_text(encoding="utf-8"))
        for number in re.findall(r"9\.7\.1[456](?:\.\d+)*", line)
    }
    assert len(named) > 100
    assert named <= set(manual().anchors)


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("9.7.14.5.14 of PTX ISA 9.2; 9.7.16.5.14 in 9.4", ["9.7.14.5.14", "9.7.14.5.14"]),
        ("9.7.16.6.1", ["9.7.16.6.1"]),  # in ours tcgen05; in 9.4 the storage of sparse matrices
        ("9.7.16.6.1 in 9.4", ["9.7.14.6.1"]),
        ("9.7.17.4, 9.7.17.7 in 9.4", ["9.7.15.4", "9.7.15.7"]),
        ("text (PTX ISA 9.4, 9.7.18.10.10.1 and 9.7.18.10.9.4)", ["9.7.16.10.9.1", "9.7.16.10.8.4"]),
        ("9.7.18.10.9.1 in 9.4, 9.7.18.10.8 in 9.4", ["9.7.16.10.8.1"]),  # 9.2 has nothing of decompression
        ("9.7.14.5.14 of PTX ISA 9.1", ["9.7.14.5.14"]),
        ("9.7.14.5.14 of PTX ISA 8.3", []),
        ("9.7.18.4", []),  # video instructions in ours
        ("z3 5.2.1.0, 59.7.15.4 and 9.7.15.4-x", []),
    ],
)
def test_a_number_leads_to_its_section(specification: Specification, text: str, leads: list[str]) -> None:
    links = re.findall(r'<a href="([^"]*)">([\d.]+)</a>', linked(specification.index, f"<p>{text}</p>"))
    assert [address for address, _ in links] == [f"{PAGE}#{manual().anchors[one]}" for one in leads]
    assert all(shown in text for _, shown in links)


@pytest.mark.parametrize("around", ["a", "code", "summary", "pre", "h2", "script"])
def test_no_link_stands_in_links_titles_or_code(specification: Specification, around: str) -> None:
    page = f'<p title="9.7.15.4">x</p><{around}><b>9.7.15.4</b></{around}>'
    assert linked(specification.index, page) == page
    assert linked(specification.index, f"{page}9.7.15.4").endswith("#" + KNOWN["9.7.15.4"] + '">9.7.15.4</a>')


def test_what_stands_behind_a_new_section_moves_by_one_more(specification: Specification) -> None:
    index = specification.index
    assert cited(index, "9.7.16.10.9.1") == "9.7.16.10.9.1 of PTX ISA 9.2; 9.7.18.10.10.1 in 9.4"
    assert cited(index, "9.7.16.10.7") == "9.7.16.10.7 of PTX ISA 9.2; 9.7.18.10.7 in 9.4"


def test_pages_lead_to_the_manual(made: Mapping[str, str]) -> None:
    for page in ("instructions/mma.html", "rules/bulk-store-pending.html", "register.html", "order.html"):
        assert f'<a href="{PAGE}#' in made[page], page
