"""Sparse matrices: to packed A and metadata words, and back."""

from __future__ import annotations

from collections.abc import Iterator

from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered

__all__ = ["made"]


def made(_: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page; its data are the layouts."""
    yield AtlasPage(
        "sparse.html",
        "What does a sparse matrix come to?",
        "Sparse",
        rendered("sparse.html"),
        "A matrix to packed A and metadata words, and back; and who holds which bit.",
        scripts=(
            "layout_maps",
            "layout_choice",
            "layout_facts",
            "sparse_codes",
            "matrix_files",
            "matrix_cells",
            "sparse",
        ),
        data=("layouts",),
        styles=("layouts",),
    )
