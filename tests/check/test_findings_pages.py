"""docs/findings: each page's PTX has the finding that the page claims, its mend has none, its schedules are true.

A fault that the models of order do not have has no schedules; its page says what goes wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in (ROOT / "docs" / "findings").glob("*.md") if path.stem != "README")
OF_ORDER = [page for page in PAGES if "| Litmus test |" in page.read_text()]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


def found(text: str) -> set[tuple[str, str, int]]:
    report = check_text(text, "k.ptx")
    assert not report.faults
    return {(f.tier, f.rule, f.place.line) for f in report.findings if f.tier in ("error", "likely")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_ptx_has_the_finding_and_the_mend_has_none(page: Path) -> None:
    claim = re.search(r"^\| Found as \| (error|likely) `([\w-]+)` \|$", page.read_text(), re.MULTILINE)
    assert claim is not None
    wrong, right = blocks(page, "ptx")
    (line,) = (at for at, text in enumerate(wrong.splitlines(), 1) if "found here" in text)
    assert found(wrong) == {(claim[1], claim[2], line)}
    assert found(right) == set()


@pytest.mark.parametrize("page", OF_ORDER, ids=lambda page: page.stem)
def test_the_schedules_are_those_of_the_litmus_test(
    page: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    name = re.search(r"`ptxmma litmus ([\w.-]+)`", page.read_text())
    assert name is not None
    code, out, _ = run("litmus", name[1])
    assert code == 0
    shown = re.sub(r"m64n8k16\.f32\.f16\.f16 ", "", out)
    first, second = shown.split("one schedule:\n")[1].split("another:\n")
    steps, one, two = blocks(page, "text")
    assert steps.strip("\n") in shown
    assert (
        first.replace("\n  ", "\n").endswith(one)
        and second.replace("\n  ", "\n").endswith(two)
        and one != two
    )


def test_every_page_is_listed_and_names_what_a_maintainer_needs() -> None:
    listed = (ROOT / "docs" / "findings" / "README.md").read_text()
    for page in PAGES:
        text = page.read_text()
        assert f"]({page.name})" in listed
        shows = "## Two schedules" if page in OF_ORDER else "## What goes wrong"
        for word in ("| Where |", "| Releases |", "## What is emitted", shows, "## The fix"):
            assert word in text, f"{page.name}: {word}"
