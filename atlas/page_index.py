"""What pages are about, as data: words other than mnemonics lead to pages, sections, layouts and entries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode

from ..spec.specification import Specification
from .files import AtlasPage
from .sections.layouts import starts

__all__ = ["page_index"]

# What has an anchor: a heading, a word that is defined, an entry of a list; and its first line.
_HEADING = re.compile(
    r'<(?:h[23]|dt|article|section|details)[^>]*? id="([^"]+)"[^>]*>(.*?)(?=<(?:/h\d|/dt|p|ul|div|table)\b)',
    re.S,
)
_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")
_TAG = re.compile(r"<[^>]+>")
_ROW = re.compile(r"<tr>\s*<td>(.*?)</td>", re.S)
_MOST = 80  # characters of a title
_KEPT = 400  # different words of a section
_FEW = 3  # a heading that more pages have says nothing; of equal ones of a page the first is kept
_GLOSSARY = "docs/glossary.html"


def page_index(specification: Specification, pages: Sequence[AtlasPage]) -> dict[str, Any]:
    """Entries (a title, where it leads, what it belongs to, its other words), and what the explorer shows."""
    entries = sorted(_entries(specification, pages), key=lambda one: one[1] != _GLOSSARY)
    times = Counter(title for title, *_ in entries)
    named = {page.title for page in pages}
    kept = {(one[0], one[2]): one for one in reversed(entries) if times[one[0]] <= _FEW or one[0] in named}
    return {"entries": list(kept.values())[::-1], "starts": list(_starts(specification))}


def _entries(specification: Specification, pages: Iterable[AtlasPage]) -> Iterator[tuple[str, str, str, str]]:
    for page in pages:
        found = list(_HEADING.finditer(page.body))
        first = page.body[: found[0].start()] if found else page.body
        yield page.title, page.path, page.lead, _words(first, page.title)
        for number, one in enumerate(found):
            title = _text(one[2])
            end = found[number + 1].start() if number + 1 < len(found) else len(page.body)
            if title:
                yield title, f"{page.path}#{one[1]}", page.title, _words(page.body[one.end() : end], title)
        if page.path == _GLOSSARY:
            for row in _ROW.finditer(page.body):
                yield _text(row[1]), page.path, page.title, ""
    for name, layout in specification.layouts.items():
        yield (
            f"{name}: {layout.layout.title}"[:_MOST],
            f"layouts.html#{urlencode({'layout': name})}",
            "Layouts",
            "",
        )


def _text(html: str) -> str:
    """The words of a title, in one line."""
    return " ".join(unescape(_TAG.sub(" ", html)).split())[:_MOST]


def _words(html: str, title: str) -> str:
    """The different words of a section that its title does not have."""
    known = set(_WORD.findall(title.lower()))
    found = dict.fromkeys(_WORD.findall(unescape(_TAG.sub(" ", html)).lower()))
    return " ".join([word for word in found if word not in known][:_KEPT])


def _starts(specification: Specification) -> Iterator[Mapping[str, Any]]:
    """By instruction: the mnemonic that the explorer begins with, its operands, and whether A is sparse."""
    for start in starts(specification):
        states = [parse_qs(link) for _, link in start["links"]]
        yield {
            "instruction": start["instruction"],
            "mnemonic": states[0]["mnemonic"][0],
            "operands": list(dict.fromkeys(state["operand"][0] for state in states)),
            "sparse": start["sparse"],
        }
