"""Markdown as HTML: headings get anchors, links lead into the site."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

__all__ = ["anchor", "html", "inline"]

# Where a link leads in the site; None: nowhere, and its words stand alone.
Leads = Callable[[str], str | None]


@cache
def _reader() -> MarkdownIt:
    """Markdown with tables; HTML in it is text."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def anchor(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def html(text: str, target: Leads = str, level: int = 0) -> Markup:
    """A page as HTML; its headings stand `level` deeper. Comments are left out."""
    tokens = _reader().parse(re.sub(r"<!--.*?-->\n?", "", text, flags=re.S))
    seen: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            _number(token, tokens[number + 1].content, seen)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + level)}"
        if token.type == "table_open":
            token.tag = 'div class="scroll" tabindex="0"><table'
        if token.type == "table_close":
            token.tag = "table></div"
        if token.children:
            token.children = _linked(token.children, target)
    rendered = _reader().renderer.render(tokens, _reader().options, {})
    return Markup(rendered.replace("<pre>", '<pre tabindex="0">'))  # a keyboard can scroll it


def inline(text: str) -> Markup:
    """A line of Markdown: code and emphasis."""
    return Markup(_reader().renderInline(text))


def _number(token: Token, heading: str, seen: dict[str, int]) -> None:
    """Give a heading its anchor; one that stands twice gets a number."""
    name = anchor(heading)
    count = seen.get(name, 0)
    seen[name] = count + 1
    token.attrSet("id", f"{name}-{count}" if count else name)


def _linked(tokens: Sequence[Token], target: Leads) -> list[Token]:
    """The words of a line, their links where they lead in the site."""
    found, silent = [], 0
    for token in tokens:
        if token.type == "image":
            place = target(str(token.attrGet("src")))
            if place is None:
                continue
            token.attrSet("src", place)
        if token.type == "link_open":
            place = target(str(token.attrGet("href")))
            if place is None:
                silent += 1
                continue
            token.attrSet("href", place)
        if token.type == "link_close" and silent:
            silent -= 1
            continue
        found.append(token)
    return found
