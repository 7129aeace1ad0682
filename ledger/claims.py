"""Hashes of claims: what a row claims about legality, or a layout about places, with everything it depends
on.

The place of a claim in a file does not count, nor does how the rules of a row's operands are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from ..spec.expressions import source
from ..spec.fragments import Packing
from ..spec.gates import EffectiveGate
from ..spec.maps import LayoutMap
from ..spec.memory_records import AddressRule, Descriptor, Swizzle
from ..spec.model import Source
from ..spec.plain import kept_fields, plain
from ..spec.sparsity_records import Sparsity
from ..spec.variants import Family, RowView

__all__ = [
    "ClaimState",
    "addresses_digest",
    "cases_digest",
    "layout_digest",
    "legality_digest",
    "metadata_digest",
]

# What the witnesses of one kind say about a claim; "stale": they spoke about an earlier claim; "unclaimed":
# they spoke about what nobody claims any more.
ClaimState = Literal["agrees", "differs", "stale", "unseen", "unclaimed"]

_DIGITS = 16
# The part of an operand says nothing about legality, nor does what its layout covers; its formulas count by
# their values, with every variant. No recorded statement has a register and a constant for an operand.
_ELSEWHERE = ("part", "descriptor", "sum", "space", "word", "contains", "matrix", "registers", "valid")


def _text(value: object) -> str:
    return json.dumps(plain(value), sort_keys=True, ensure_ascii=False)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _digest(value: object) -> str:
    return _hash(_text(value))


def legality_digest(view: RowView) -> str:
    """What a row says is legal: its mnemonics with their versions and targets, its forms and operands."""
    instruction = view.family.instruction
    forms = {name: instruction.forms[name] for name in view.row.forms}
    named = dict.fromkeys(name for form in forms.values() for name in form.operands)
    for name in list(named):
        named.update(dict.fromkeys(instruction.operands[name].elements or ()))
    variants = [*_variants(view, tuple(named))]
    bounds = {name: bound for name, bound in _bounds(view.family).items() if name in named}
    parts = (("domains", view.domains), ("forms", forms), ("operands", bounds))
    known = ", ".join(f'"{name}": {_text(value)}' for name, value in parts)
    return _hash(f'{{{known}, "variants": [{", ".join(variants)}]}}')


@lru_cache(64)
def _bounds(family: Family) -> Mapping[str, Any]:
    """What an instruction says about its operands, as far as it is about legality; its rows share it."""
    return {
        name: {field: value for field, value in plain(replace(o, what="")).items() if field not in _ELSEWHERE}
        for name, o in family.instruction.operands.items()
    }


@lru_cache(1024)
def _gate_text(gate: EffectiveGate) -> str:
    return _text(gate)


def _variants(view: RowView, operands: tuple[str, ...]) -> Iterator[str]:
    """Every variant with its gate and the types of its registers, as JSON text. Few of them differ."""
    texts: dict[int, str] = {}  # by identity, since the hash of a gate takes long
    types: dict[tuple[object, ...], str] = {}
    known = view.family.instruction.operands
    holding = tuple(dict.fromkeys(holds for name in operands if (holds := known[name].holds)))
    counted = {name: formula for name in operands if (formula := known[name].registers) is not None}
    ruled = {name: known[name] for name in operands if known[name].valid is not None}
    for variant in view.variants():
        gate, fields = variant.gate, variant.fields
        counts = tuple([variant.evaluate(formula) for formula in counted.values()])
        values = tuple([variant.values(operand) for operand in ruled.values()])
        held = (*[fields[field] for field in holding], counts, values)
        if id(gate) not in texts:
            texts[id(gate)] = _gate_text(gate)
        if held not in types:
            named = {name: variant.register_types(name) for name in operands}
            bounds = dict(zip(counted, counts, strict=True)), dict(zip(ruled, values, strict=True))
            types[held] = _text([named, *bounds])
        yield f'["{variant.mnemonic}", {texts[id(gate)]}, {types[held]}]'


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
    return _digest(
        {"layout": layout_digest(layout), "sparsity": replace(sparsity, title="", source=Source(""))}
    )


def addresses_digest(rule: AddressRule, layout: LayoutMap, swizzle: Swizzle, descriptor: Descriptor) -> str:
    """Where the elements of a matrix in shared memory lie."""
    said = {name: value for name, value in kept_fields(replace(rule, title="")) if name != "swizzle"}
    return _digest(
        {
            "rule": said,
            "layout": layout_digest(layout),
            "swizzle": (rule.swizzle or swizzle).address,
            "fields": {name: (f.low, f.high, f.unit, f.values) for name, f in descriptor.fields.items()},
        }
    )


def cases_digest(cases: Iterable[str]) -> str:
    """The bytes of the emitted cases, in their order, a line each."""
    return _hash("".join(f"{case}\n" for case in cases))
