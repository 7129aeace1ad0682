"""Which layout a part of a product has where the mnemonic does not say: M is bits of a descriptor."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import Question
from .expressions import compiled
from .maps import LayoutMap
from .memory_records import Descriptor
from .parts import operands_of
from .variants import Variant

__all__ = ["GREATEST", "layout_by_path", "path_bounds", "path_of", "path_settings"]

GREATEST = 256  # M
_ROWS = "m"


def path_bounds(descriptors: Mapping[str, Descriptor]) -> dict[str, tuple[int, int]]:
    """The names that say when a layout applies, with their least and greatest values."""
    found: dict[str, tuple[int, int]] = {_ROWS: (0, GREATEST)}
    for descriptor in descriptors.values():
        for name, scalars in descriptor.settings.items():
            values = [int(value) for value in scalars.values]
            low, high = found.get(name, (min(values), max(values)))
            found[name] = (min(low, *values), max(high, *values))
    return found


def path_of(layouts: Mapping[str, LayoutMap], part: str, known: Mapping[str, int]) -> list[str]:
    """The layouts that apply to a part, by id."""
    given = tuple(known)
    conditions = (
        (name, layout.layout.when) for name, layout in layouts.items() if layout.layout.part == part
    )
    return [name for name, when in conditions if when and compiled(when.tree, given)(*known.values())]


def path_settings(variant: Variant) -> dict[str, int]:
    """What a mnemonic says of the settings of its instruction descriptor; empty where it has none."""
    for operand in variant.instruction.operands.values():
        if operand.word is not None:
            return {name: int(variant.evaluate(said)) for name, said in operand.word.settings.items()}
    return {}


def layout_by_path(
    layouts: Mapping[str, LayoutMap],
    descriptors: Mapping[str, Descriptor],
    variant: Variant,
    part: str,
    given: Mapping[str, int],
) -> str | None:
    """The layout of a part in tensor memory, by M; None where the part has no such layouts.

    Raises Question where M is not given, or no layout applies to it.
    """
    settings = path_settings(variant)
    if not settings or not any(
        operand.space == "tensor" for _, operand in operands_of(variant.instruction, part)
    ):
        return None
    bounds = path_bounds(descriptors)
    if not any(layout.layout.part == part for layout in layouts.values()):
        return None
    if _ROWS not in given:
        raise Question(
            f"{part} of {variant.mnemonic} lies by M, which its descriptor has: {_ROWS} must be given"
        )
    known = {name: low for name, (low, _) in bounds.items()} | settings | {_ROWS: given[_ROWS]}
    found = path_of(layouts, part, known)
    if not found:
        said = ", ".join(f"{name} {value}" for name, value in known.items() if name in (_ROWS, *settings))
        raise Question(f"no layout of {part} in tensor memory is known with {said}")
    return found[0]
