"""The page around every body: head, navigation, search box, and the rendering of templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .files import Atlas, AtlasFile, AtlasPage
from .manual import linked
from .markdown import inline

__all__ = ["framed", "rendered"]

_TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = inline
    return made


def rendered(template: str, **values: Any) -> Markup:
    """A template of templates/, filled; values are escaped unless they are Markup."""
    return Markup(_environment().get_template(template).render(values))


def framed(atlas: Atlas, page: AtlasPage) -> AtlasFile:
    """A page as a file."""
    text = rendered(
        "frame.html", page=page, body=Markup(page.body), areas=atlas.areas, version=_version(atlas)
    )
    return AtlasFile(page.path, linked(atlas.specification.index, text))


def _version(atlas: Atlas) -> str:
    """The newest PTX ISA that the site speaks of."""
    return str(atlas.specification.index.isa)
