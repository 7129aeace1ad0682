"""What `ptxmma show` says of a mnemonic, as Markdown, with pictures of the layouts of its operands."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from ...gen.pictures.grid import grid_of
from ...gen.pictures.svg import svg
from ...gen.pictures.tables import table_of
from ...spec.api import judge, load
from ...spec.errors import Question
from ...spec.specification import Specification
from ...spec.variants import Variant
from ..show_command import described_lines

__all__ = ["hover"]

_WIDTH = 100
_LARGEST = 200_000  # characters of a picture; an editor's hover is small


def hover(mnemonic: str, ptx: str | None = None, target: str | None = None) -> str | None:
    """The Markdown; None where the word begins no instruction of the specification."""
    specification = load()
    variant = judge().variant_of(mnemonic)
    if variant is None:
        closest = judge().closest(mnemonic) if "." in mnemonic else None
        if closest is None:
            return None
        return f"`{mnemonic}` is not a mnemonic; the nearest is\n```\n{closest.mnemonic}\n```"
    lines = "\n".join(described_lines(specification, variant, _WIDTH))
    return "\n\n".join([f"```\n{lines}\n```", *_pictures(specification, variant)])


def _pictures(specification: Specification, variant: Variant) -> Iterator[str]:
    """A picture of each operand whose layout needs no further choice."""
    for operand in variant.layouts:
        try:
            picture = svg(grid_of(table_of(specification, variant, operand, None, {})))
        except Question:  # the text leaves it open, or a selector is missing
            continue
        if len(picture) <= _LARGEST:
            yield f"![layout of {operand}](data:image/svg+xml;base64,{b64encode(picture.encode()).decode()})"
