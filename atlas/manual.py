"""manual.yaml: where sections stand on the manual's public page, and links from numbers that are printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from ..spec.cache import cached
from ..spec.editions import later
from ..spec.index import Index
from ..spec.nodes import Version, compose, structure

__all__ = ["Manual", "linked", "manual"]

_PATH = Path(__file__).with_name("manual.yaml")

# Numbers with the edition before or behind them: "PTX ISA 9.4, 9.7.18.4", "9.7.16.5.14, 9.7.16.5.15 in 9.4".
_NUMBER = r"\d+(?:\.\d+){2,}"
_NUMBERS = re.compile(
    rf"(?:PTX ISA (\d+\.\d+),? )?(?<![\w.])({_NUMBER}(?:(?:, |; | and | or | to ){_NUMBER})*)(?![\w-]|\.\d)"
    r"(?: (?:in|of PTX ISA) (\d+\.\d+)\b)?"
)
_TAGS = re.compile(r"(<!--.*?-->|<[^>]*>)", re.S)

# A link in a link, in a title or in something that opens at a click would be in the way; code stays as it is.
_CLOSED = frozenset(
    ("a", "button", "code", "h1", "h2", "h3", "math", "option", "pre", "script", "style", "summary", "title")
)


@dataclass(frozen=True)
class Manual:
    """manual.yaml: the address of the page, the editions that number as ours, and the anchors by number."""

    page: str
    alike: tuple[Version, ...]
    anchors: Mapping[str, str]

    def addresses(self, index: Index) -> dict[tuple[str | None, str], str]:
        """The address of each section, by an edition and its number there; None stands for our edition."""
        ours = (None, str(index.manual), *map(str, self.alike))
        found: dict[tuple[str | None, str], str] = {}
        for number, anchor in self.anchors.items():
            moved = later(index, number)
            for key in (*((edition, number) for edition in ours), *([moved] if moved else [])):
                found[key] = f"{self.page}#{anchor}"
        return found


@cache
def manual() -> Manual:
    """The file, from the cache if it has not changed."""
    return cached("manual", Manual, _read, (_PATH, Path(__file__)))


def _read() -> Manual:
    return structure(compose(_PATH, _PATH.name), Manual, _PATH.name)


def linked(index: Index, html: str) -> str:
    """A page whose section numbers lead to the manual, where their anchors are known."""
    addresses = manual().addresses(index)
    inside: list[str] = []
    parts = _TAGS.split(html)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            if not inside:
                parts[place] = _NUMBERS.sub(lambda found: _links(addresses, found), part)
            continue
        name = part.strip("</>").split(None, 1)[0].lower() if part.strip("</>") else ""
        if name in _CLOSED and not part.startswith("</"):
            inside.append(name)
        elif part.startswith("</") and inside and inside[-1] == name:
            inside.pop()
    return "".join(parts)


def _links(addresses: Mapping[tuple[str | None, str], str], found: re.Match[str]) -> str:
    """What was found, its numbers as links."""
    edition = found[1] or found[3]

    def link(number: re.Match[str]) -> str:
        address = addresses.get((edition, number[0]))
        return number[0] if address is None else f'<a href="{escape(address)}">{number[0]}</a>'

    start, end = (place - found.start() for place in found.span(2))
    return found[0][:start] + re.sub(_NUMBER, link, found[2]) + found[0][end:]
