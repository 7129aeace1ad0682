"""The first page: a box that takes any mnemonic or statement, and the list of instructions."""

from __future__ import annotations

from collections.abc import Iterator

from ...check.cuda.nvcc import nvcc
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered
from ..legality_data import legality_data, page_of

__all__ = ["DESCRIBED", "JUDGE", "made"]

# The scripts that judge statements, in the order in which they are loaded.
JUDGE = tuple(
    f"legality-{name}"
    for name in ("texts", "constants", "statements", "rows", "diagnosis", "mnemonics", "operands", "judge")
)

# Those that judge the words of instruction descriptors too.
DESCRIBED = ("layout_maps", "descriptor_words", "legality-described")


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page."""
    specification = atlas.specification
    yield data_file("legality", legality_data(specification))
    yield data_file("inline", {"constraints": nvcc().constraints})
    index = specification.index
    body = rendered(
        "home.html",
        instructions=specification.instructions.values(),
        paths={name: page_of(name) for name in specification.instructions},
        versions=[str(version) for version in reversed(specification.isa.versions)],
        targets=list(index.targets),
    )
    yield AtlasPage(
        "index.html",
        "Which statement, layout or sum do you ask about?",
        "Search",
        body,
        "Paste a PTX statement or inline assembly, or type a mnemonic, a part of one, or words.",
        scripts=(*JUDGE, *DESCRIBED, "module_head", "inline_asm", "pages", "paste", "search"),
        data=("legality", "inline"),
    )
