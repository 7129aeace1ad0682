"""Hashes of claims: what a row claims about legality, or a layout about places, with everything it depends
on.

The place of a claim in a file, and the spaces in its formulas, do not count.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..spec.errors import Place
from ..spec.expressions import source
from ..spec.fragments import Packing
from ..spec.maps import LayoutMap
from ..spec.memory_records import AddressRule, Descriptor, Swizzle
from ..spec.nodes import Formula, Scalars, Version
from ..spec.sparsity_records import Sparsity
from ..spec.variants import RowView

__all__ = [
    "ClaimState",
    "addresses_digest",
    "cases_digest",
    "layout_digest",
    "legality_digest",
    "metadata_digest",
]

# What the witnesses of one kind say about a claim; "stale": they spoke about an earlier claim.
ClaimState = Literal["agrees", "differs", "stale", "unseen"]

_DIGITS = 16
# The part of an operand says nothing about legality.
_ELSEWHERE = ("part", "descriptor", "contains")


def _plain(value: object) -> Any:
    """A value as JSON, equal for claims that say the same."""
    match value:
        case Formula():
            return source(value.tree)
        case Scalars():
            return list(value.values)
        case Version():
            return str(value)
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case tuple() | list():
            return [_plain(inner) for inner in value]
        case frozenset():
            return sorted(map(str, value))
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: _plain(inner) for name, inner in fields.items() if not isinstance(inner, Place)}
    return value


def _digest(value: object) -> str:
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def legality_digest(view: RowView) -> str:
    """What a row says is legal: its mnemonics with their versions and targets, its forms and operands."""
    instruction = view.family.instruction
    forms = {name: instruction.forms[name] for name in view.row.forms}
    named = dict.fromkeys(name for form in forms.values() for name in form.operands)
    for name in list(named):
        named.update(dict.fromkeys(instruction.operands[name].elements or ()))
    operands = {name: instruction.operands[name] for name in named}
    variants = [
        (variant.mnemonic, variant.gate, {name: variant.register_types(name) for name in operands})
        for variant in view.variants()
    ]
    bounds = {
        name: {field: value for field, value in plain.items() if field not in _ELSEWHERE}
        for name, plain in _plain({n: dataclasses.replace(o, what="") for n, o in operands.items()}).items()
    }
    return _digest({"forms": forms, "operands": bounds, "variants": variants, "domains": view.domains})


def layout_digest(layout: LayoutMap, packing: Packing | None = None) -> str:
    """Where a layout puts every element, and how elements lie in registers."""
    return _digest(
        {
            "domain": {name: source(tree) for name, tree in layout.sizes.items()},
            "map": {name: source(tree) for name, tree in layout.trees.items()},
            "codomain": {name: source(tree) for name, tree in layout.extents.items()},
            "where": source(layout.condition) if layout.condition is not None else None,
            "params": layout.layout.params,
            "packing": packing,
        }
    )


def metadata_digest(layout: LayoutMap, sparsity: Sparsity) -> str:
    """Which bit is metadata of which element, and what the codes mean."""
    return _digest({"layout": layout_digest(layout), "sparsity": dataclasses.replace(sparsity, title="")})


def addresses_digest(rule: AddressRule, layout: LayoutMap, swizzle: Swizzle, descriptor: Descriptor) -> str:
    """Where the elements of a matrix in shared memory lie."""
    return _digest(
        {
            "rule": dataclasses.replace(rule, title=""),
            "layout": layout_digest(layout),
            "swizzle": swizzle.address,
            "fields": {name: (f.low, f.high, f.unit, f.values) for name, f in descriptor.fields.items()},
        }
    )


def cases_digest(cases: Iterable[str]) -> str:
    """The bytes of the emitted cases, in their order, a line each."""
    text = "".join(f"{case}\n" for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
