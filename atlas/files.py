"""What a site is made of: pages in a frame, and other files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..spec.specification import Specification

__all__ = ["Atlas", "AtlasFile", "AtlasPage", "data_file", "slug"]


@dataclass(frozen=True)
class AtlasPage:
    """A page. `path` is relative to the site's root; `body` is HTML, which stands below title and lead.

    `area` names the entry of the navigation that the page belongs to. `scripts`, `data` and `styles` name
    files of scripts/, data/ and styles/ without their endings, in the order in which they are loaded.
    """

    path: str
    title: str
    area: str
    body: str
    lead: str = ""
    scripts: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The way from the page to the site's root: empty, or ../ for each folder."""
        return "../" * self.path.count("/")


@dataclass(frozen=True)
class AtlasFile:
    """A file as it is written, by its path in the site."""

    path: str
    content: str


@dataclass(frozen=True)
class Atlas:
    """What sections are made from: the specification, and the areas of the navigation."""

    specification: Specification
    areas: tuple[tuple[str, str], ...] = field(default=())


def data_file(name: str, value: Any) -> AtlasFile:
    """Data that scripts read as `ptxmma.data[name]`: a script, since a page at file:// may not fetch JSON."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    return AtlasFile(f"data/{name}.js", f"ptxmma.data[{json.dumps(name)}]={text};\n")


def slug(name: str) -> str:
    """A name as part of a path: letters, digits, points and dashes."""
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)
