"""What the files mean, as plain values: equal for files that say the same, wherever and however."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ...gen.litmus.litmus_tests import suite
from ...ledger.contradictions import register
from ...spec.api import load
from ...spec.effects import load_effects
from ...spec.errors import Place
from ...spec.expressions import source
from ...spec.maps import LayoutMap
from ...spec.nodes import FileName, Formula, Scalars, Version
from ...spec.ordering import ordering
from .corpus import READERS, noticed_by

__all__ = ["meaning", "plain"]

# Fields whose lists mean another thing in another order; every other list is a set, written in some order.
_SEQUENCES = frozenset(
    {
        "Around.after",
        "Around.before",
        "Around.written",
        "Form.operands",
        "Index.releases",
        "LitmusTest.hazards",
        "LitmusTest.program",
        "Operand.accepts",
        "Operand.elements",
        "Sparsity.codes",
    }
)

# By file, the parts of the specification that it is read into.
_PARTS = {
    "specs.yaml": ("index",),
    "spec/contracts.yaml": ("clauses",),
    "spec/sparsity.yaml": ("switches", "sparsities"),
    "spec/descriptors.yaml": ("descriptors",),
    "spec/addresses.yaml": ("addresses",),
    "spec/numerics.yaml": ("formats", "guarantees"),
}


def plain(value: object, ordered: bool = True) -> Any:
    """A record as lists, mappings and scalars, without places and without what only readers notice.

    Lists that are not `ordered` come in an order that does not depend on how they were written.
    """
    match value:
        case Formula():
            return source(value.tree)
        case Scalars():
            return _listed(value.values, ordered)
        case Version():
            return str(value)
        case FileName():
            return value.text
        case LayoutMap():
            return plain(value.layout)
        case Mapping():
            return {str(key): plain(inner, ordered) for key, inner in value.items()}
        case tuple() | list():
            return _listed(value, ordered)
    if dataclasses.is_dataclass(value):
        record = type(value).__name__
        return {
            field.name: plain(inner, f"{record}.{field.name}" in _SEQUENCES)
            for field in dataclasses.fields(value)
            if not isinstance(inner := getattr(value, field.name), Place)
            and READERS not in noticed_by(f"{record}.{field.name}")
        }
    return value


def _listed(values: Iterable[object], ordered: bool) -> list[Any]:
    found = [plain(one, ordered) for one in values]
    return found if ordered else sorted(found, key=repr)


def meaning(file: str) -> object:
    """The records that a file is read into."""
    match file:
        case "spec/effects.yaml":
            return load_effects()
        case "contradictions.yaml":
            return register().entries
        case "spec/ordering/rules.yaml" | "spec/ordering/switches.yaml":
            return ordering()
        case "spec/ordering/litmus.yaml":
            return [(t.name, t.program.steps, t.hazards, t.under) for t in suite()]
    specification = load()
    if file.startswith("spec/instructions/"):
        return {n: i for n, i in specification.instructions.items() if i.place.file == file}
    if file == "spec/layouts/bridges.yaml":
        return specification.bridges
    if file.startswith("spec/layouts/"):
        return {n: m for n, m in specification.layouts.items() if m.layout.place.file == file}
    return [getattr(specification, part) for part in _PARTS[file]]
