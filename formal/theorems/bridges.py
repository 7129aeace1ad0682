"""Theorems about bridges: one layout, at translated points, equals another one, translated."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from ...spec.errors import SpecError
from ...spec.expressions import Number, substitute
from ...spec.layout_records import Bridge, Layout, Through
from ...spec.maps import LayoutMap, compared
from ...spec.nodes import Formula
from ...spec.specification import Specification
from ..bridge_ranges import too_narrow, value_of
from ..smt.bitvectors import BitVectors, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import ULT, And, BitVec, BitVecVal, BoolVal, Distinct, Not, Or, Term
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup
from .layouts import layout_obligations

__all__ = ["GROUP", "bridge_obligations"]

_FEW = 8  # parameters with at most this many values are taken one value at a time


def bridge_obligations(name: str, bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> Iterator[Obligation]:
    """The obligations of a bridge: equal as functions, at every point and parameter, and no element of
    the left is left out; or what else the bridge says."""
    left, right = compared(bridge, layouts)
    owned = {key for one in (bridge.left, bridge.right) for key in layouts[one].parameters}
    only = {key for one in bridge.layouts for key in layouts[one].parameters} - owned
    differ = partial(_difference, bridge, left, right)

    def explain(model: Mapping[str, int]) -> str:
        point = ", ".join(f"{key} = {model.get(key, 0)}" for key in (*bridge.params, *right.inputs))
        return f"{bridge.left} and {bridge.right} differ at {point}"

    if bridge.holds:
        yield Obligation("bridge.equal", name, differ, explain)
        if left.condition is None:
            yield from _covers(name, bridge, left, right, owned, only)
    else:
        yield Obligation(
            "bridge.differs", name, differ, lambda _: "they are equal", expects="sat", witness=explain
        )
    if bridge.through is not None:
        yield _between(name, bridge, layouts[bridge.right], layouts[bridge.through.layout], bridge.through)
    if bridge.permutes is not None:
        yield _permutation(name, bridge, left, right, bridge.permutes)


def _difference(bridge: Bridge, left: LayoutMap, right: LayoutMap) -> str:
    """The text that asks for a point at which the bridge does not hold."""
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
    symbols = {key: BitVec(key, width) for key in {**values, **dict.fromkeys(right.inputs)}}

    def read(layout_or_formulas: Mapping[str, Term]) -> BitVectors:
        return BitVectors(width, {**symbols, **layout_or_formulas})

    plain = read({})
    parts = [Or(*(symbols[key] == v for v in vs)) for key, vs in values.items()]
    parts += [ULT(symbols[key], plain.read(size)) for key, size in right.sizes.items()]
    if right.condition is not None:
        parts.append(plain.read(right.condition))
    if bridge.where:
        parts.append(plain.read(bridge.where.tree))
    there = {key: plain.read(tree) for key, tree in right.trees.items()}
    inputs = {key: plain.read(formula.tree) for key, formula in bridge.at.items()}
    at_left = read(inputs)
    inside = [ULT(inputs[key], plain.read(size)) for key, size in left.sizes.items()]
    if left.condition is not None:
        inside.append(at_left.read(left.condition))
    after = read(there)
    equal = [
        at_left.read(left.trees[key]) == after.read(formula.tree) for key, formula in bridge.equals.items()
    ]
    return refuting(*parts, Not(And(*inside, *equal)))


def _points(bridge: Bridge, right: LayoutMap) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
    """Every point of right at every value of the parameters: who holds it in a thread, and all values."""
    for values in itertools.product(*(scalars.values for scalars in bridge.params.values())):
        given = {key: int(value) for key, value in zip(bridge.params, values, strict=True)}
        fixed = {key: int(right.layout.params[key].values[0]) for key in right.parameters}
        for point in right.points({key: given.get(key, value) for key, value in fixed.items()}):
            known = dict(zip((*right.inputs, *right.outputs), point, strict=True)) | given
            if bridge.where is None or value_of(bridge.where, known):
                yield (*given.values(), *point[1 : len(right.inputs)]), known


def _permutation(name: str, bridge: Bridge, left: LayoutMap, right: LayoutMap, output: str) -> Obligation:
    """There are tables, one over the elements that a thread holds in right, one over the values of
    `output`, without repetition, that make left equal to right at every point."""
    return Obligation(
        "bridge.permutation",
        name,
        partial(_tables, bridge, left, right, output),
        lambda _: f"no permutation of {output} makes {bridge.left} and {bridge.right} equal",
        expects="sat",
        witness=partial(_found, output),
    )


def _found(output: str, model: Mapping[str, int]) -> str:
    """The permutation of a model."""
    start = f"{output}_"
    images = sorted(int(name.removeprefix(start)) for name in model if name.startswith(start))
    return f"{output} 0, 1, … is that of " + ", ".join(str(model[start + str(value)]) for value in images)


def _tables(bridge: Bridge, left: LayoutMap, right: LayoutMap, output: str) -> str:
    """The text that asks for the tables."""
    width = width_for(list(left.trees.values()), left.bounds) + 1
    elements: dict[tuple[int, ...], Term] = {}
    images: dict[int, Term] = {}
    equal = []
    for element, known in _points(bridge, right):
        place = {key: value_of(formula, known) for key, formula in bridge.equals.items()}
        thread = value_of(bridge.at[left.inputs[0]], known)
        inner = elements.setdefault(element, BitVec("_".join(map(str, ("element", *element))), width))
        image = images.setdefault(place[output], BitVec(f"{output}_{place[output]}", width))
        variables = {key: BitVecVal(known.get(key, 0), width) for key in left.parameters}
        variables |= {left.inputs[0]: BitVecVal(thread, width), left.inputs[1]: inner}
        reader = BitVectors(width, variables)
        for key, value in place.items():
            wanted = image if key == output else BitVecVal(value, width)
            equal.append(reader.read(left.trees[key]) == wanted)
    sizes = left.domain(dict.fromkeys(left.parameters, 0))
    inside = [ULT(element, sizes[left.inputs[1]]) for element in elements.values()]

    distinct = [Distinct(*elements.values()), Distinct(*images.values())]
    return refuting(*inside, *distinct, *equal)


def _between(name: str, bridge: Bridge, right: LayoutMap, outer: LayoutMap, between: Through) -> Obligation:
    """Every place that the right layout names, moved, is one that the layout between holds something at."""

    def text() -> str:
        values = {key: [int(v) for v in scalars.values] for key, scalars in bridge.params.items()}
        bounds = {key: (min(v), max(v)) for key, v in values.items()} | right.bounds
        at = {key: substitute(formula.tree, right.trees) for key, formula in between.at.items()}
        sizes = list(outer.sizes.values())
        condition = [] if outer.condition is None else [substitute(outer.condition, at)]
        where = [bridge.where.tree] if bridge.where else []
        where += [right.condition] if right.condition else []
        trees = [*at.values(), *sizes, *condition, *where, *right.sizes.values()]
        width = width_for(trees, bounds) + 1
        reader = BitVectors(width, {key: BitVec(key, width) for key in bounds})
        asked = [Or(*(reader.name(key) == v for v in vs)) for key, vs in values.items()]
        asked += [ULT(reader.name(key), reader.read(size)) for key, size in right.sizes.items()]
        asked += [reader.read(tree) for tree in where]
        inside = [ULT(reader.read(at[key]), reader.read(size)) for key, size in outer.sizes.items()]
        inside += [reader.read(tree) for tree in condition]
        return refuting(*asked, Not(And(*inside)))

    def explain(model: Mapping[str, int]) -> str:
        point = ", ".join(f"{key} = {model.get(key, 0)}" for key in (*bridge.params, *right.inputs))
        return f"at {point}, {bridge.right} names a place where {between.layout} holds nothing"

    return Obligation("bridge.between", name, text, explain)


def _covers(
    name: str,
    bridge: Bridge,
    left: LayoutMap,
    right: LayoutMap,
    owned: Collection[str],
    between: Collection[str],
) -> Iterator[Obligation]:
    """The translation of points, as a layout of its own, reaches every point of the left: at each
    value of the two layouts' parameters that `where` admits, for some value of the other parameters. Of
    those of a layout between, the last value is tried."""
    fixed, sizes, cases = {}, {}, []
    for key, scalars in bridge.params.items():
        count = len(scalars.values)
        if key in owned or count == 1:
            fixed[key] = scalars
            if 1 < count <= _FEW:
                cases.append(key)
        elif key in between:
            fixed[key] = replace(scalars, values=scalars.values[-1:])
        elif scalars.values == tuple(range(count)):
            sizes[key] = Formula(str(count), Number(count), scalars.place)
        else:
            raise SpecError(f"the values of {key} are not 0, 1, 2, …", scalars.place)
    points = Layout(
        bridge.title,
        bridge.source,
        {**sizes, **right.layout.domain},
        bridge.at,
        left.layout.domain,
        fixed,
        where=bridge.where,
        cases=tuple(cases),
        id=name,
    )
    spoken_of: dict[str, bool] = {}
    for case in LayoutMap(points).cases():
        chosen = ", ".join(
            f"{key} = {case.layout.params[key].values[0]}" for key in cases if key in left.parameters
        )
        admitted = any(map(case.held, case.assignments()))
        spoken_of[chosen] = spoken_of.get(chosen, False) or admitted
        if admitted:
            for obligation in layout_obligations(case):
                if obligation.theorem == "layout.surjective":
                    yield replace(obligation, theorem="bridge.covers")
    for chosen, spoken in spoken_of.items():
        if not spoken:
            yield _silent(name, f"it says nothing of {bridge.left} {chosen}".rstrip())


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    for name, bridge in specification.bridges.items():
        if bridge.params or specification.layouts[bridge.left].condition is not None:
            faults = partial(too_narrow, name, specification.bridges, specification.layouts)
            yield Enumeration("bridge.widest", name, f"bridge {name}", faults)


def _silent(name: str, why: str) -> Obligation:
    return Obligation("bridge.covers", name, refuting(BoolVal(True)), lambda _: why)


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, bridge in specification.bridges.items():
        made = partial(bridge_obligations, name, bridge, specification.layouts)
        yield ProofPart(f"bridge {name}", made, bridge.title)


GROUP = TheoremGroup(
    70,
    (
        Theorem(
            "bridge.covers",
            "a bridge speaks of every element of the layout on its left",
            small=True,
            formula="for each x of left's domain: some p of right's domain has at(p) == x",
            fails="an element of the layout on the left that the bridge passes over",
        ),
        Theorem(
            "bridge.equal",
            "two layouts said to be the same are the same function",
            formula="for each p of right's domain: "
            "at(p) is in left's domain, and left(at(p)) == equals(right(p))",
            fails="a point at which two layouts that are said to be the same differ",
        ),
        Theorem(
            "bridge.between",
            "what is read through a layout is held there",
            small=True,
            formula="for each p of right's domain: through(right(p)) is in the domain of the layout between",
            fails="a place that is named, at which the layout between holds nothing",
        ),
        Theorem(
            "bridge.differs",
            "two layouts said to differ do so at some point",
            formula="for some p of right's domain: "
            "at(p) is not in left's domain, or left(at(p)) != equals(right(p))",
            fails="no such point: two layouts that are said to differ are the same",
        ),
        Theorem(
            "bridge.permutation",
            "one permutation of a coordinate and one order of elements make them the same",
            formula="for some permutations f, g, each p of right: "
            "left(thread(p), f(element(p))) == g(right(p))",
            fails="no permutation of the coordinate that makes the two layouts the same",
        ),
        Theorem(
            "bridge.widest",
            "a bridge names every value of a parameter at which it holds, and reaches all that is held",
            True,
            formula="for each value v of a parameter: the bridge holds at v only if it names v",
            fails="a value at which it holds and that it leaves out, or an element that it does not reach",
        ),
    ),
    _parts,
    enumerations=_enumerations,
)
