"""Checks of bridges and arrangements when they are loaded: they speak of what their layouts have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .errors import SpecError
from .expressions import names
from .layout_records import Arrangement, Bridge
from .maps import LayoutMap
from .nodes import bounded, must_exist

__all__ = ["check_arrangement", "check_bridge"]


def check_bridge(bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> None:
    """Raise SpecError where a bridge speaks of what its layouts do not have."""
    for name in bridge.layouts:
        must_exist("layout", name, layouts, bridge.place)
    left, *others = spoken = [layouts[name] for name in bridge.layouts]
    right = others[0]
    wanted = [(bridge.at, left.inputs, bridge.left), (bridge.equals, left.outputs, bridge.left)]
    if bridge.through is not None:
        wanted.append((bridge.through.at, others[1].inputs, bridge.through.layout))
    for given, own, layout in wanted:
        if set(given) != set(own):
            raise SpecError(
                f"the bridge speaks of ({', '.join(given)})",
                bridge.place,
                f"({', '.join(own)}), as {layout} does",
            )
    if bridge.permutes:
        must_exist("output", bridge.permutes, left.outputs, bridge.place)
    elif not bridge.holds:
        _check_difference(bridge, {*right.inputs, *right.outputs})
    _check_bridge_values(bridge, spoken)
    bounds = dict(right.bounds)
    for name, scalars in bridge.params.items():
        bounds[name] = (min(map(int, scalars.values)), max(map(int, scalars.values)))
    for formula in bridge.at.values():
        bounded(formula, bounds)
    if bridge.where:
        bounded(bridge.where, bounds)
    seen = {**bounds, **dict.fromkeys(right.outputs, (0, 1 << 10))}
    for formula in bridge.through.at.values() if bridge.through else ():
        bounded(formula, seen)
    seen = {**bounds, **dict.fromkeys(others[-1].outputs, (0, 1 << 10))}
    for formula in bridge.equals.values():
        bounded(formula, seen)


def check_arrangement(arrangement: Arrangement, layouts: Mapping[str, LayoutMap]) -> None:
    """Raise SpecError where an arrangement speaks of what its layouts, or its memory, do not have."""
    bounds = {}
    for name, scalars in arrangement.params.items():
        values = [value for value in scalars.values if isinstance(value, int)]
        if len(values) < len(scalars.values):
            raise SpecError(f"a value of {name} is not an integer", scalars.place, "0")
        bounds[name] = (min(values), max(values))
    for size in arrangement.memory.values():
        bounded(size, bounds)
    used: set[str] = set()
    for occupant in arrangement.occupants.values():
        must_exist("layout", occupant.layout, layouts, arrangement.place)
        layout = layouts[occupant.layout]
        used |= {*layout.parameters}
        if not {*layout.inputs, *layout.outputs} & {*arrangement.memory}:
            what = f"{occupant.layout} has none of {', '.join(arrangement.memory)}"
            raise SpecError(what, arrangement.place, "a layout of this memory")
        for name, formula in occupant.address.items():
            must_exist("coordinate", name, arrangement.memory, formula.place)
            bounded(formula, bounds)
            used |= names(formula.tree)
        for name, scalars in layout.layout.params.items():
            if name not in arrangement.params:
                what = f"nothing says the parameter {name} of {occupant.layout}"
                raise SpecError(what, arrangement.place, f"params: {{{name}: …}}")
            for value in arrangement.params[name].values:
                if value not in scalars.values:
                    allowed = "some of " + ", ".join(map(str, scalars.values))
                    where = arrangement.params[name].place
                    raise SpecError(f"{name} of {occupant.layout} is never {value}", where, allowed)
    for name, scalars in arrangement.params.items():
        if name not in used:
            raise SpecError(f"nothing uses the parameter {name}", scalars.place, "one that is used")


def _check_difference(bridge: Bridge, known: Collection[str]) -> None:
    """Any shifted bridge differs: one that shall not hold compares each input and output with itself.

    An input of the left that the right does not know is 0.
    """
    for name, formula in (*bridge.at.items(), *bridge.equals.items()):
        plain = name if name in known else "0"
        if formula.text != plain:
            raise SpecError(f"{formula.text} differs, whatever the layouts are", formula.place, plain)


def _check_bridge_values(bridge: Bridge, layouts: Sequence[LayoutMap]) -> None:
    """A bridge gives each parameter of its layouts values that the layout has, and any other 0, 1, 2, …"""
    for name, scalars in bridge.params.items():
        for value in scalars.values:
            if not isinstance(value, int):
                raise SpecError(f"the value {value!r} of {name} is not an integer", scalars.place, "0")
        owners = [one.layout for one in layouts if name in one.layout.params]
        for layout in owners:
            for value in scalars.values:
                if value not in layout.params[name].values:
                    raise SpecError(
                        f"{name} of {layout.id} is never {value}",
                        scalars.place,
                        "some of " + ", ".join(map(str, layout.params[name].values)),
                    )
        if not owners and scalars.values != tuple(range(len(scalars.values))) and len(scalars.values) > 1:
            raise SpecError(f"the values of {name} have a gap", scalars.place, "0, 1, 2, …")
    for layout in (one.layout for one in layouts):
        for name in layout.params:
            if name not in bridge.params:
                raise SpecError(
                    f"the bridge says nothing of the parameter {name} of {layout.id}",
                    bridge.place,
                    f"params: {{{name}: …}}",
                )
