"""Every page: it loads in silence, its links resolve, it reads well for everybody, at every width."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe

from ptxmma.atlas.site import AREAS

from .conftest import Open

LIMIT = 15_000_000  # bytes


# A page of each folder: those of one template are alike.
KINDS = (
    "docs.html", "instructions/tcgen05.st.html", "rules/wmma-fragment.html", "docs/yaml.html",
    "docs/api/functions.html", "docs/findings/triton-tensor-map-under-copy.html", "docs/guides/test-engineer.html",
)  # fmt: skip
LOOKED_AT = sorted({*KINDS, *(path.split("#")[0] for path, _ in AREAS)})


@pytest.fixture
def pages(made: Mapping[str, str]) -> list[str]:
    found = [path for path in made if path.endswith(".html")]
    assert len(found) > 150
    return found


def test_a_page_of_each_kind_is_looked_at(pages: list[str]) -> None:
    assert {str(Path(path).parent) for path in pages} == {str(Path(path).parent) for path in KINDS}
    assert set(LOOKED_AT) <= set(pages)


def test_the_site_is_small(made: Mapping[str, str]) -> None:
    assert sum(len(text.encode()) for text in made.values()) <= LIMIT


def test_every_area_leads_to_a_page(made: Mapping[str, str]) -> None:
    assert [path for path, _ in AREAS if path.split("#")[0] not in made] == []


def test_headings_skip_no_level(made: Mapping[str, str], pages: list[str]) -> None:
    for path in pages:
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", made[path])]
        assert levels[0] == 1 and all(b <= a + 1 for a, b in pairwise(levels)), path


def anchors(text: str) -> set[str]:
    return set(re.findall(r'\sid="([^"]+)"', text))


def test_links_resolve(made: Mapping[str, str], pages: list[str]) -> None:
    broken = []
    for path in pages:
        text = made[path]
        for link in re.findall(r'\s(?:href|src)="([^"]*)"', text):
            target, _, anchor = unquote(link).partition("#")
            if target.startswith(("data:", "https:", "mailto:")):
                continue
            resolved = (
                str(Path("/", path).parent.joinpath(target).resolve().relative_to("/")) if target else path
            )
            if resolved not in made:
                broken.append(f"{path}: {link}")
            elif anchor and "=" not in anchor and anchor not in anchors(made[resolved]):
                broken.append(f"{path}: {link}: no such anchor")
    assert broken == []


def test_nothing_is_asked_of_another_host(made: Mapping[str, str]) -> None:
    loads = (
        r'<(?:script|img|iframe)[^>]*\ssrc="https?:|<link[^>]*\shref="https?:|@import|url\(\s*["\']?https?:'
    )
    assert [path for path, text in made.items() if re.search(loads, text)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        "%E0%A4%A",
        "layout=__proto__&operand=constructor&view=x&colour=y&zoom=z&with=toString&row=-1&thread=1e99",
        "mnemonic=nosuch&operand=A&row=999&col=x&descriptor=__proto__&word=0xzz&k=-1.5&major=x",
        "test=__proto__&words=((&step=-5&from=9.9&to=x&who=constructor&q=%00&ptx=x&target=__proto__&matrix=x&s=9",
    ],
    ids=["cut", "prototypes", "wrong", "others"],
)
def test_a_corrupt_address_is_no_fault(open_page: Open, state: str) -> None:
    for path, _ in AREAS:
        page = open_page(f"{path.split('#')[0]}#{state}")
        page.wait_for_function("document.readyState === 'complete'")
        assert page.inner_text("h1")


@pytest.mark.slow
def test_every_page_loads_in_silence(open_page: Open, pages: list[str]) -> None:
    for path in pages:
        page = open_page(path)
        assert page.title().endswith("· ptxmma")
        assert page.locator("h1").count() == 1


# Controls without a name of their own (axe takes the text around them for one), and stops of Tab that one cannot see.
UNNAMED = """[...document.querySelectorAll('input, select, textarea')]
  .filter((one) => !one.labels.length && !one.getAttribute('aria-label')).map((one) => one.outerHTML)"""
UNSEEN = """[...document.querySelectorAll('[tabindex="0"]')].filter((one) => {
  one.focus();
  return one === document.activeElement && getComputedStyle(one).outlineStyle === 'none';
}).map((one) => one.outerHTML)"""


# Of rules that hold, axe needs to name one element only.
OPTIONS = {"preload": False, "resultTypes": ["violations"]}


@pytest.mark.slow
@pytest.mark.parametrize("path", LOOKED_AT)
def test_everybody_can_read_it(open_page: Open, path: str) -> None:
    page = open_page(path)
    assert page.evaluate(UNNAMED) == page.evaluate(UNSEEN) == []
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found = Axe().run(page, options=OPTIONS).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", LOOKED_AT)
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_page_is_wider_than_the_screen(open_page: Open, path: str, width: int) -> None:
    page = open_page(path)
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
