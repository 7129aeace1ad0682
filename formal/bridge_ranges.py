"""Whether a bridge says all that it could: every value of its parameters, every point of its left layout."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..spec.expressions import Compare, Expression, compiled, compiled_all, names, substitute
from ..spec.layout_records import Bridge
from ..spec.maps import LayoutMap, compared
from ..spec.nodes import Formula

__all__ = ["too_narrow", "value_of"]


def value_of(formula: Formula, known: Mapping[str, int]) -> int:
    """A formula's value, where its names are known."""
    used = tuple(sorted(names(formula.tree)))
    return compiled(formula.tree, used)(*(known[name] for name in used))


def too_narrow(name: str, bridges: Mapping[str, Bridge], layouts: Mapping[str, LayoutMap]) -> Iterator[str]:
    """Values of a layout's parameters that no bridge of the two layouts names and at which one holds, values
    of any parameter at which it says nothing, and values at which it does not reach all that the left holds.
    And values before and after those of a parameter of no layout (a warp, a half) at which the bridge holds.

    One that goes through a third layout is about the loads that it names, and may hold for others. What a
    selector of the right alone chooses is reached for some value of it.
    """
    bridge = bridges[name]
    alike = [one for one in bridges.values() if one.layouts == bridge.layouts]
    left, right = compared(bridge, layouts)
    spoken = [layouts[one] for one in bridge.layouts]
    owned = [key for key in bridge.params if any(key in one.parameters for one in spoken)]
    for key, scalars in bridge.params.items():
        for value in scalars.values if bridge.where is not None else ():
            if not _admits(bridge, {key: value}, left, right):
                yield f"{scalars.place}: {name} says nothing of {key} = {value}"
    selectors = names(right.condition) - {*left.parameters} if right.condition is not None else frozenset()
    if bridge.holds and (left.condition is not None or selectors):  # bridge.covers is about the others
        yield from _unreached(name, bridge, left, right)
    if bridge.holds:
        yield from _beyond(name, bridge, layouts, [key for key in bridge.params if key not in owned])
    for key in owned if bridge.holds and bridge.through is None else ():
        owners = [one.layout.params[key].values for one in spoken if key in one.layout.params]
        others = [name for name in owned if name != key and name not in selectors]
        missing = [
            value
            for value in owners[0]
            if all(value not in one.params[key].values for one in alike)
            and all(value in known for known in owners)
        ]
        for value in missing:
            for some in itertools.product(*(bridge.params[other].values for other in others)):
                given = {key: value, **dict(zip(others, some, strict=True))}
                if _spoken_of(bridge, {k: int(v) for k, v in given.items()}, left, right):
                    chosen = ", ".join(f"{name} = {value}" for name, value in given.items())
                    yield f"{bridge.params[key].place}: {name} holds with {chosen}, too"


def _beyond(
    name: str, bridge: Bridge, layouts: Mapping[str, LayoutMap], free: Sequence[str]
) -> Iterator[str]:
    """Values beside those that a parameter of no layout has, at which the bridge holds for some others."""
    for key in free:
        scalars = bridge.params[key]
        values = [int(value) for value in scalars.values]
        beside = [value for value in (min(values) - 1, max(values) + 1) if value >= 0]
        wider = replace(scalars, values=(*values, *beside))
        wide = replace(bridge, params={**bridge.params, key: wider})
        holds = _holds(wide, layouts)
        for value in beside:
            settings = (one for one in _settings(bridge, {key: value}) if not _shut(bridge, one))
            setting = next(filter(holds, settings), None)
            if setting is not None:
                chosen = ", ".join(f"{name} = {value}" for name, value in setting.items())
                yield f"{scalars.place}: {name} holds with {chosen}, too"


def _holds(bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> Callable[[Mapping[str, int]], bool]:
    """Whether the bridge speaks of a point, and is right about each, at a value of every parameter."""
    _, right = compared(bridge, layouts)
    known = (*bridge.params, *right.inputs, *right.outputs)
    claims = [compiled(tree, known) for tree in _claims(bridge, layouts)]
    where = compiled(bridge.where.tree, known) if bridge.where is not None else None

    def holds(setting: Mapping[str, int]) -> bool:
        given = tuple(setting.values())
        spoken = False
        for point in right.points({key: setting[key] for key in right.parameters}):
            if where is None or where(*given, *point):
                if not all(claim(*given, *point) for claim in claims):
                    return False
                spoken = True
        return spoken

    return holds


def _claims(bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> Iterator[Expression]:
    """What the bridge says of a point, over the parameters and the right's inputs and outputs: all that it
    names is there, and the left equals the right.
    """
    left, _ = compared(bridge, layouts)
    at = {key: formula.tree for key, formula in bridge.at.items()}
    yield from _inside(left, at)
    if bridge.through is not None:
        places = layouts[bridge.right].trees
        moved = {key: substitute(formula.tree, places) for key, formula in bridge.through.at.items()}
        yield from _inside(layouts[bridge.through.layout], moved)
    for key, formula in bridge.equals.items():
        yield Compare("==", substitute(left.trees[key], at), formula.tree)


def _inside(layout: LayoutMap, at: Mapping[str, Expression]) -> Iterator[Expression]:
    """That a point is one of a layout's."""
    for key, size in layout.sizes.items():
        yield Compare("<", at[key], size)
    if layout.condition is not None:
        yield substitute(layout.condition, at)


def _unreached(name: str, bridge: Bridge, left: LayoutMap, right: LayoutMap) -> Iterator[str]:
    """Values of the left's parameters with which it holds something that the bridge does not speak of."""
    values = [
        (bridge.params[key] if key in bridge.params else left.layout.params[key]).values
        for key in left.parameters
    ]
    for some in itertools.product(*values):
        given = {key: int(value) for key, value in zip(left.parameters, some, strict=True)}
        if not _spoken_of(bridge, given, left, right):
            chosen = ", ".join(f"{name} = {value}" for name, value in given.items())
            place = next(iter(bridge.at.values())).place
            yield f"{place}: {name} does not speak of all that {bridge.left} holds: {chosen}"


def _settings(bridge: Bridge, given: Mapping[str, str | int]) -> Iterator[dict[str, int]]:
    """Every value of the parameters, where some are given."""
    values = [(given[key],) if key in given else one.values for key, one in bridge.params.items()]
    for some in itertools.product(*values):
        yield {key: int(value) for key, value in zip(bridge.params, some, strict=True)}


def _admits(bridge: Bridge, given: Mapping[str, str | int], left: LayoutMap, right: LayoutMap) -> bool:
    """Whether the bridge speaks of any point, where some parameters are given."""
    where = bridge.where
    if where is None:
        return True
    if names(where.tree) <= bridge.params.keys():
        return any(value_of(where, setting) for setting in _settings(bridge, given))
    return any(True for one in _settings(bridge, given) for _ in _met(bridge, one, left, right))


def _shut(bridge: Bridge, setting: Mapping[str, int]) -> bool:
    """Whether the parameters alone say that the bridge speaks of no point."""
    where = bridge.where
    return where is not None and names(where.tree) <= setting.keys() and not value_of(where, setting)


def _size(layout: LayoutMap, parameters: Mapping[str, int]) -> int:
    """How many points a layout has at most: as many as its inputs have values."""
    sizes = (compiled(tree, tuple(parameters)) for tree in layout.sizes.values())
    return math.prod(size(*parameters.values()) for size in sizes)


def _met(
    bridge: Bridge, setting: Mapping[str, int], left: LayoutMap, right: LayoutMap
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For every point of right that a bridge speaks of: the inputs and the outputs of the left."""
    where = bridge.where
    known = (*setting, *right.inputs, *right.outputs)
    inputs, outputs = (
        compiled_all(tuple(some[key].tree for key in keys), known)
        for some, keys in ((bridge.at, left.inputs), (bridge.equals, left.outputs))
    )
    holds = compiled(where.tree, known) if where is not None else None
    given = tuple(setting.values())
    for point in right.points({key: setting[key] for key in right.parameters}):
        if holds is None or holds(*given, *point):
            yield inputs(*given, *point), outputs(*given, *point)


def _spoken_of(bridge: Bridge, given: Mapping[str, int], left: LayoutMap, right: LayoutMap) -> bool:
    """The bridge holds at every point, where the layouts' parameters are given, and reaches all points of
    the left.
    """
    chosen = {key: given[key] for key in left.parameters}
    settings = [setting for setting in _settings(bridge, given) if not _shut(bridge, setting)]
    most = sum(_size(right, {key: setting[key] for key in right.parameters}) for setting in settings)
    if left.condition is None and most < _size(left, chosen):  # it cannot reach them all
        return False
    held = {point[: len(left.inputs)]: point[len(left.inputs) :] for point in left.points(chosen)}
    reached = set()
    for setting in settings:
        for inputs, outputs in _met(bridge, setting, left, right):
            if held.get(inputs) != outputs:
                return False
            reached.add(inputs)
    return len(reached) == len(held)
