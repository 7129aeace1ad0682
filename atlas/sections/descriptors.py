"""Descriptors: words and fields, both ways, and where a matrix lies in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..descriptor_data import descriptor_data
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered

__all__ = ["made"]

_SCRIPTS = (
    "layout_maps",
    "layout_choice",
    "layout_grid",
    "layout_picture",
    "descriptor_words",
    "shared_memory",
    "descriptors",
)


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page and its data."""
    yield data_file("descriptors", descriptor_data(atlas.specification))
    yield AtlasPage(
        "descriptors.html",
        "What does a descriptor say?",
        "Descriptors",
        rendered("descriptors.html"),
        "A word and its fields, both ways; whether it is legal, where its matrix lies, and bank conflicts.",
        scripts=_SCRIPTS,
        data=("layouts", "descriptors", "manual"),
        styles=("layouts",),
    )
