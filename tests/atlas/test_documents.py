"""Documents become pages: headings have GitHub's anchors, links stay in the site or become words."""

from __future__ import annotations

from ptxmma.atlas.files import Atlas, AtlasPage
from ptxmma.atlas.markdown import anchor, html
from ptxmma.atlas.sections.documents import made
from ptxmma.spec.specification import Specification


def test_anchors_are_those_of_github() -> None:
    assert anchor("legality.gate") == "legalitygate"
    assert anchor("Who checks whom: the rules") == "who-checks-whom-the-rules"
    assert 'id="a-b"' in html("# A b\n") and 'id="a-b-1"' in html("# A b\n\n# A b\n")


def test_links_lead_somewhere_or_are_words() -> None:
    text = "[a](x.md) and [b](y.md)"
    assert (
        html(text, lambda link: "x.html" if link == "x.md" else None)
        == '<p><a href="x.html">a</a> and b</p>\n'
    )


def test_a_picture_that_the_site_lacks_is_left_out() -> None:
    assert html("![a](x.png) b", lambda link: None) == "<p> b</p>\n"
    assert 'src="y.png"' in html("![a](x.png)", lambda link: "y.png")


def test_text_is_text() -> None:
    assert "<script>" not in html("<script>alert(1)</script>")
    assert html("## A\n", level=2).startswith("<h4")


def test_each_document_has_its_page(specification: Specification) -> None:
    pages = {page.path: page for page in made(Atlas(specification)) if isinstance(page, AtlasPage)}
    assert {"docs.html", "docs/yaml.html", "docs/guides/ci.html", "docs/findings/index.html"} <= set(pages)
    assert 'href="../exit-codes.html"' in pages["docs/guides/ci.html"].body
    assert "FINDINGS" in pages["docs/findings/index.html"].body
