"""Bridges: one layout, taken at translated points, is another one, translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import z3

from ..spec.maps import LayoutMap
from ..spec.model import Bridge
from .bitvectors import BitVectors, width_for
from .obligations import Obligation, refuting

__all__ = ["bridge_obligations"]


def bridge_obligations(name: str, bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> Iterator[Obligation]:
    """The one obligation of a bridge: equal as functions, at every point and parameter."""
    left, right = layouts[bridge.left], layouts[bridge.right]
    values = {key: [int(v) for v in scalars.values] for key, scalars in bridge.params.items()}
    bounds = {key: (min(v), max(v)) for key, v in values.items()} | right.bounds
    trees = [formula.tree for formula in bridge.at.values()]
    outputs = dict.fromkeys(right.outputs, (0, 1 << 10))
    width = (
        max(
            width_for(trees, bounds),
            width_for([formula.tree for formula in bridge.equals.values()], bounds | outputs),
            width_for(list(left.trees.values()), left.bounds),
            width_for(list(right.trees.values()), right.bounds),
        )
        + 2
    )
    symbols = {key: z3.BitVec(key, width) for key in {**values, **dict.fromkeys(right.inputs)}}

    def read(layout_or_formulas: Mapping[str, z3.ExprRef]) -> BitVectors:
        return BitVectors(width, {**symbols, **layout_or_formulas})

    plain = read({})
    parts = [z3.Or(*(symbols[key] == v for v in vs)) for key, vs in values.items()]
    parts += [z3.ULT(symbols[key], plain.read(size)) for key, size in right.sizes.items()]
    if right.condition is not None:
        parts.append(plain.read(right.condition))
    if bridge.where:
        parts.append(plain.read(bridge.where.tree))
    there = {key: plain.read(tree) for key, tree in right.trees.items()}
    inputs = {key: plain.read(formula.tree) for key, formula in bridge.at.items()}
    at_left = read(inputs)
    inside = [z3.ULT(inputs[key], plain.read(size)) for key, size in left.sizes.items()]
    if left.condition is not None:
        inside.append(at_left.read(left.condition))
    after = read(there)
    equal = [
        at_left.read(left.trees[key]) == after.read(formula.tree) for key, formula in bridge.equals.items()
    ]

    def explain(model: Mapping[str, int]) -> str:
        point = ", ".join(f"{key} = {model.get(key, 0)}" for key in symbols)
        return f"{bridge.left} and {bridge.right} differ at {point}"

    yield Obligation("bridge.equal", name, refuting(*parts, z3.Not(z3.And(*inside, *equal))), explain)
