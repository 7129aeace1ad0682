"""The pages of docs/: guides, the cookbook, references, findings; links between them stay links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from ...spec.loading import PACKAGE
from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered
from ..markdown import html

__all__ = ["made"]

_FOLDERS = {"": "Reference", "guides": "Guides", "api": "The Python API", "findings": "Findings"}
_TITLE = re.compile(r"# (.+)\n")


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """A page for each document, and the list of them."""
    root = PACKAGE / "docs"
    texts = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.md"))
    }
    known = frozenset(texts)
    listed: dict[str, list[tuple[str, str]]] = {title: [] for title in _FOLDERS.values()}
    for name, text in texts.items():
        title = _title(name, text)
        body = html(_TITLE.sub("", text, count=1), partial(_target, known, name))
        page = AtlasPage(f"docs/{_page(name)}", title, "Docs", f'<div class="prose">{body}</div>')
        listed[_FOLDERS[str(PurePosixPath(name).parent).removeprefix(".")]].append((page.path, title))
        yield page
    body = rendered("documents.html", folders={title: listed[title] for title in _FOLDERS.values()})
    yield AtlasPage(
        "docs.html", "Documents", "Docs", body, "How to use it, how it is checked, and what was found."
    )


def _title(name: str, text: str) -> str:
    """The first heading."""
    found = _TITLE.match(text)
    return found[1].replace("`", "") if found else Path(name).stem


def _page(name: str) -> str:
    """Where a document stands; README is the index of its folder."""
    path = PurePosixPath(name)
    return str(path.with_name("index.html" if path.stem == "README" else f"{path.stem}.html"))


def _target(known: frozenset[str], name: str, link: str) -> str | None:
    """Where a link of a document leads: to another one, outside, or (to other files of a clone) nowhere."""
    if link.startswith(("https:", "#")):
        return link
    path, mark, anchor = link.partition("#")
    parts: list[str] = []
    for part in (*PurePosixPath(name).parent.parts, *PurePosixPath(path).parts):
        if part != "..":
            parts.append(part)
        elif not parts:
            return None
        else:
            parts.pop()
    if "/".join(parts) not in known:
        return None
    return str(PurePosixPath(path).parent / PurePosixPath(_page(path)).name) + mark + anchor
