"""The layout explorer: the page, and the layouts as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from ...spec.errors import Question
from ...spec.parts import element_type
from ...spec.specification import Specification
from ...spec.variants import Variant
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered
from ..layout_data import layout_data
from ..manual import manual

__all__ = ["made", "starts"]

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


_COLUMNS = 64  # of a plain variant; 256 are more than a screen shows


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page and its data."""
    data = layout_data(atlas.specification)
    yield data_file("layouts", data)
    yield data_file("manual", {"page": manual().page, "anchors": manual().anchors})
    yield AtlasPage(
        "layouts.html",
        "Who holds which element?",
        "Layouts",
        rendered("layouts.html", starts=list(starts(atlas.specification, data))),
        "One matrix, drawn: from a place to its thread, register and bits, and back.",
        scripts=_SCRIPTS,
        data=("layouts", "descriptors", "manual"),
        styles=("layouts",),
    )


def starts(specification: Specification, made: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Links to begin with: the operands of a plain variant of each instruction. `made` is the page's data."""
    data = made or layout_data(specification)
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
        variant, own = min(laid_out, key=lambda pair: _plainness(specification, pair[0]))
        links = []
        for operand in (data["operands"][number] for number in own["operands"]):
            if not _has_layout(operand):
                continue
            state = {"mnemonic": variant.mnemonic, "operand": operand["name"]}
            links.append((operand["name"], urlencode(state)))
            if operand["name"] == "A" and "sparsity" in own:
                asked = urlencode({**state, "row": 9, "col": 3})
                links.append(("row 9, column 3 of A and its metadata bits", asked))
        yield {"instruction": name, "links": links, "sparse": "sparsity" in own}


def _plainness(specification: Specification, variant: Variant) -> tuple[int, ...]:
    """The less, the plainer: elements of A of 16 bits, a large M, an N near 64, sums of 32 bits.
    Without A, elements of 16 bits.
    """
    product = _bits_away(specification, variant, "A", 16)
    return (
        0 if product is None else product,
        0 if product is None else -int(variant.fields.get("m") or 0),
        abs(int(variant.fields.get("n") or _COLUMNS) - _COLUMNS),
        _bits_away(specification, variant, "D", 16 if product is None else 32) or 0,
        len(variant.mnemonic),
    )


def _bits_away(specification: Specification, variant: Variant, part: str, bits: int) -> int | None:
    """By how many bits the elements of a matrix differ from a width; None where nothing says their type."""
    try:
        return abs(specification.index.types[element_type(variant, part)].bits - bits)
    except (KeyError, Question):
        return None


def _has_layout(operand: Mapping[str, Any]) -> bool:
    return "layout" in operand or "choices" in operand
