"""Which layouts of a part apply, where the mnemonic does not say: M and the like are bits of a descriptor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from .descriptor_rules import field_names, said_trees, values_of
from .expressions import compiled, names
from .maps import LayoutMap
from .memory_records import Descriptor

__all__ = ["path_conditions", "path_of", "path_values"]


def path_values(descriptors: Mapping[str, Descriptor]) -> dict[str, tuple[int, ...]]:
    """The names that say when a layout applies, each with its values, in ascending order.

    They are the settings and fields of the descriptors that say something of a product, and what those say.
    """
    found: dict[str, set[int]] = {}
    for descriptor in descriptors.values():
        if not descriptor.says:
            continue
        own = {n: set(values_of(descriptor.fields[name])) for name, n in field_names(descriptor).items()}
        own |= {name: set(map(int, scalars.values)) for name, scalars in descriptor.settings.items()}
        for name, tree in said_trees(descriptor).items():
            reads = tuple(sorted(names(tree)))
            points = itertools.product(*(own[one] for one in reads))
            said = compiled(tree, reads)
            own[name] = {said(*point) for point in points}
        for name, values in own.items():
            found.setdefault(name, set()).update(values)
    return {name: tuple(sorted(values)) for name, values in found.items()}


def path_of(layouts: Mapping[str, LayoutMap], part: str, known: Mapping[str, int]) -> list[str]:
    """The layouts that apply to a part, by id."""
    values = known.values()
    return [
        name for name, applies in path_conditions(layouts, part, tuple(known)).items() if applies(*values)
    ]


def path_conditions(
    layouts: Mapping[str, LayoutMap], part: str, known: tuple[str, ...]
) -> dict[str, Callable[..., int]]:
    """By id, whether a layout of a part applies, as a function of the values of some names."""
    return {
        name: compiled(layout.layout.when.tree, known)
        for name, layout in layouts.items()
        if layout.layout.part == part and layout.layout.when is not None
    }
