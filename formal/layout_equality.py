"""Are two layouts the same function? Domain, codomain and image of every point, for every parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from ..spec.expressions import Expression
from ..spec.layout_records import Layout
from ..spec.maps import LayoutMap
from .smt.bitvectors import BitVectors, conjunction, width_for
from .smt.obligations import refuting
from .smt.solvers import ask
from .smt.terms import ULT, And, BitVec, Or, Term
from .theorems.layouts import holder

__all__ = [
    "PROVEN",
    "Difference",
    "LayoutComparison",
    "compare",
    "differences",
    "inside",
    "one_of",
    "trees_of",
    "unlike",
]


_MOST = 1 << 24  # points that are enumerated
PROVEN = "z3 proves it for every parameter and every point"


def inside(layout: LayoutMap, reader: BitVectors) -> Term:
    """A point is one of a layout's."""
    parts = [ULT(reader.name(name), reader.read(size)) for name, size in layout.sizes.items()]
    if layout.condition is not None:
        parts.append(reader.read(layout.condition))
    return conjunction(parts)


def trees_of(layout: LayoutMap) -> list[Expression]:
    """Every expression of a layout."""
    trees = [*layout.trees.values(), *layout.sizes.values(), *layout.extents.values()]
    return trees if layout.condition is None else [*trees, layout.condition]


def one_of(symbol: Term, values: Iterable[str | int]) -> Term:
    """The symbol has one of the values."""
    return Or(*(symbol == int(value) for value in values))


def unlike(left: Iterable[Term], right: Iterable[Term]) -> Term:
    """Some pair differs."""
    return Or(*(a != b for a, b in zip(left, right, strict=True)))


def differences(left: LayoutMap, right: LayoutMap) -> Iterator[str]:
    """SMT-LIB texts that are all unsatisfiable exactly if two layouts of one signature are equal."""
    for one, other in zip(left.cases(), right.cases(), strict=True):
        width = 1 + max(width_for(trees_of(layout), layout.bounds) for layout in (one, other))
        parameters = {name: BitVec(name, width) for name in one.parameters}
        inputs = {name: BitVec(name, width) for name in one.inputs}
        reader = BitVectors(width, {**parameters, **inputs})
        admissible = conjunction(
            one_of(symbol, one.layout.params[name].values) for name, symbol in parameters.items()
        )
        within = [inside(layout, reader) for layout in (one, other)]
        images = [[reader.read(layout.trees[name]) for name in one.outputs] for layout in (one, other)]
        extents = [[reader.read(layout.extents[name]) for name in one.outputs] for layout in (one, other)]
        moved = And(within[0], unlike(*images))
        yield refuting(admissible, Or(within[0] != within[1], moved, unlike(*extents)))


@dataclass(frozen=True)
class Difference:
    """The first point at which two layouts differ, and its image in each (None: it takes no part)."""

    parameters: Mapping[str, int]
    point: Mapping[str, int]
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None


@dataclass(frozen=True)
class LayoutComparison:
    """Whether two layouts are the same function, who found the answer, and where they differ.

    They are `unlike` if they do not have the same inputs, outputs and parameters.
    """

    verdict: Literal["same", "different", "unlike", "unknown"]
    words: str
    difference: Difference | None = None


def compare(left: LayoutMap, right: LayoutMap, milliseconds: int = 20_000) -> LayoutComparison:
    """Ask z3. If it finds a difference, or no answer, enumerate the points to find the first difference."""
    signatures = [_signature(layout) for layout in (left, right)]
    if len({tuple(map(frozenset, signature)) for signature in signatures}) > 1:
        return LayoutComparison(
            "unlike", f"it maps {_shown(signatures[1])}; it mapped {_shown(signatures[0])}"
        )
    values = [{n: set(s.values) for n, s in layout.layout.params.items()} for layout in (left, right)]
    common = {name: values[0][name] & values[1][name] for name in values[0]}
    words = [w for name in common for w in _spread(name, values[0][name], values[1][name])]
    if not all(common.values()):
        return LayoutComparison("unlike", "; ".join(words))
    cases = tuple(n for n in left.parameters if n in left.layout.cases or n in right.layout.cases)
    before, after = (_narrowed(layout.layout, common, cases) for layout in (left, right))
    found, by = None, PROVEN
    answers = (ask("z3", text, milliseconds) for text in differences(before, after))
    answer = next((answer for answer in answers if answer.status != "unsat"), None)
    if answer is not None and max(_size(before), _size(after)) > _MOST:
        point = ", ".join(f"{name} = {value}" for name, value in sorted(answer.model.items()))
        said = f"too large to be enumerated; z3: {point or answer.detail}"
        return LayoutComparison("different" if answer.status == "sat" else "unknown", said)
    if answer is not None:
        found, said = _first(before, after)
        words = [said, *words] if said else words
        by = "every point was compared, for every parameter"
    return LayoutComparison("different", "; ".join(words), found) if words else LayoutComparison("same", by)


def _signature(layout: LayoutMap) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    return layout.inputs, layout.outputs, layout.parameters


def _shown(signature: tuple[tuple[str, ...], ...]) -> str:
    inputs, outputs, parameters = (", ".join(names) for names in signature)
    return f"({inputs}) to ({outputs})" + (f" for each {parameters}" if parameters else "")


def _spread(name: str, before: set[str | int], after: set[str | int]) -> Iterator[str]:
    for verb, values in (("is new", after - before), ("is gone", before - after)):
        if values:
            yield f"{name} = {', '.join(map(str, sorted(values, key=int)))} {verb}"


def _size(layout: LayoutMap) -> int:
    """How many points there are to enumerate, at most."""
    points = prod(layout.bounds[name][1] + 1 for name in layout.inputs)
    return len(list(layout.assignments())) * points


def _narrowed(layout: Layout, common: Mapping[str, set[str | int]], cases: tuple[str, ...]) -> LayoutMap:
    """The layout at the parameters that both have."""
    params = {
        name: replace(scalars, values=tuple(v for v in scalars.values if v in common[name]))
        for name, scalars in layout.params.items()
    }
    return LayoutMap(replace(layout, params={name: params[name] for name in common}, cases=cases))


def _first(left: LayoutMap, right: LayoutMap) -> tuple[Difference | None, str]:
    """The first point, in the order of the inputs, at which the two differ, and its description."""
    for parameters in left.assignments():
        shapes = [layout.shape(parameters) for layout in (left, right)]
        maps = [_images(layout, left, parameters) for layout in (left, right)]
        apart = {key for key in maps[0].keys() | maps[1].keys() if maps[0].get(key) != maps[1].get(key)}
        if apart:
            key = min(apart)
            point = dict(zip(left.inputs, key, strict=True))
            images = [dict(zip(left.outputs, m[key], strict=True)) if key in m else None for m in maps]
            found = Difference(parameters, point, *images)
            return found, _told(left, found)
        if shapes[0] != shapes[1]:
            where = "".join(f"at {name} = {value} " for name, value in parameters.items())
            sizes = ["x".join(str(shape[name]) for name in left.outputs) for shape in shapes]
            return None, f"{where}it covers {sizes[1]}; it covered {sizes[0]}"
    return None, ""


def _images(
    layout: LayoutMap, order: LayoutMap, parameters: Mapping[str, int]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The image of every point, inputs and outputs in another layout's order."""
    names = [*layout.inputs, *layout.outputs]
    inputs = [names.index(name) for name in order.inputs]
    outputs = [names.index(name) for name in order.outputs]
    return {
        tuple(point[i] for i in inputs): tuple(point[i] for i in outputs)
        for point in layout.points(parameters)
    }


def _told(layout: LayoutMap, found: Difference) -> str:
    where = holder(layout, {**found.point, **found.parameters})
    if found.after is None:
        return f"{where} takes no part; it held {_place(found.before)}"
    before = f"it held {_place(found.before)}" if found.before else "it took no part"
    return f"{where} holds {_place(found.after)}; {before}"


def _place(image: Mapping[str, int] | None) -> str:
    if image is None or tuple(image) == ("row", "col"):
        return f"({', '.join(map(str, (image or {}).values()))})"
    return f"({', '.join(f'{name} {value}' for name, value in image.items())})"
