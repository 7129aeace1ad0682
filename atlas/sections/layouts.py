"""The layout explorer: the page, and the layouts as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from ...spec.specification import Specification
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered
from ..layout_data import layout_data

__all__ = ["made"]

_SCRIPTS = (
    "layout_maps",
    "descriptor_words",
    "layout_words",
    "layout_choice",
    "layout_facts",
    "layout_grid",
    "layout_exports",
    "layout_picture",
    "layout_besides",
    "layouts",
)


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page and its data."""
    data = layout_data(atlas.specification)
    yield data_file("layouts", data)
    yield AtlasPage(
        "layouts.html",
        "Who holds which element?",
        "Layouts",
        rendered("layouts.html", starts=list(_starts(atlas.specification, data))),
        "One matrix, drawn: from a place to its thread, register and bits, and back.",
        scripts=_SCRIPTS,
        data=("layouts", "descriptors"),
        styles=("layouts",),
    )


def _starts(specification: Specification, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Links to begin with: the operands of one variant of each instruction, from the middle of its list."""
    for name, family in specification.families.items():
        rows = data["instructions"][name]["variants"]
        sets = [data["sets"][row[-1]] for row in rows]
        laid_out = [
            (variant, own)
            for variant, own in zip(family.variants(), sets, strict=True)
            if any(_has_layout(data["operands"][number]) for number in own["operands"])
        ]
        if not laid_out:
            continue
        variant, own = laid_out[len(laid_out) // 2]
        links = []
        for operand in (data["operands"][number] for number in own["operands"]):
            if not _has_layout(operand):
                continue
            state = {"mnemonic": variant.mnemonic, "operand": operand["name"]}
            links.append((operand["name"], urlencode(state)))
            if operand["name"] == "A" and "sparsity" in own:
                asked = urlencode({**state, "row": 9, "col": 3})
                links.append(("row 9, column 3 of A and its metadata bits", asked))
        yield {"instruction": name, "links": links}


def _has_layout(operand: Mapping[str, Any]) -> bool:
    return "layout" in operand or "choices" in operand
