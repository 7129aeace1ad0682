"""Integer maps of the YAML (fragments, metadata, scales, addresses): enumeration and closed-form inverse."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any

from .errors import SpecError
from .expressions import Binary, Expression, Name, Number, compiled, names, python_text, substitute
from .intervals import interval
from .layout_records import Bridge, Layout
from .lazy_dataclass import dataclass
from .nodes import Formula, Scalars

__all__ = ["Inverse", "LayoutMap", "NoClosedForm", "compared"]

LayoutPoint = tuple[int, ...]


class NoClosedForm(SpecError):
    """The map has no bitwise-affine inverse, so it is not a bijection of the kind that layouts are."""


@dataclass(frozen=True)
class Inverse:
    """Where each input comes from: trees over the outputs (and the mode parameters)."""

    inputs: Mapping[str, Expression]


@dataclass(frozen=True)
class LayoutMap:
    """A layout, ready to evaluate: names of ``let`` are written out, sizes and bounds are known.

    `inputs` are the domain's variables (t the thread, i the element, bit, …), `outputs` the
    codomain's (row, col, chunk, …). Parameters are either *sizes* (n: they occur in the domain or
    the codomain) or *modes* (the sparsity selector: they occur in the map only).
    """

    layout: Layout

    def case(self, values: Mapping[str, int]) -> LayoutMap:
        """The layout with some parameters fixed."""
        known = tuple(values.items())
        if known not in self._cases:
            self._cases[known] = self._case(values)
        return self._cases[known]

    @cached_property
    def _cases(self) -> dict[tuple[tuple[str, int], ...], LayoutMap]:
        return {}

    def _case(self, values: Mapping[str, int]) -> LayoutMap:
        fixed = {
            name: replace(scalars, values=(values[name],)) if name in values else scalars
            for name, scalars in self.layout.params.items()
        }
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        return LayoutMap(replace(self.layout, params=fixed, cases=(), id=f"{self.layout.id} {shown}"))

    def at(self, parameters: Mapping[str, int]) -> LayoutMap:
        """The layout with every parameter fixed."""
        return self.case({name: parameters[name] for name in self.parameters})

    def cases(self) -> Iterator[LayoutMap]:
        """The layout at each combination of the parameters that are taken one value at a time."""
        names = self.layout.cases
        if not names:
            yield self
            return
        for values in itertools.product(*(self.layout.params[name].values for name in names)):
            yield self.case({n: int(v) for n, v in zip(names, values, strict=True)})

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.layout.domain)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.layout.map)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.layout.params)

    @cached_property
    def _constants(self) -> dict[str, Expression]:
        """Parameters that can have one value only, as that value."""
        return {
            name: Number(int(scalars.values[0]))
            for name, scalars in self.layout.params.items()
            if len(scalars.values) == 1
        }

    @cached_property
    def _lets(self) -> dict[str, Expression]:
        expanded: dict[str, Expression] = dict(self._constants)
        for name, formula in self.layout.let.items():
            expanded[name] = substitute(formula.tree, expanded)
        return expanded

    @cached_property
    def trees(self) -> dict[str, Expression]:
        """Each output as an expression of inputs and parameters."""
        return {name: substitute(formula.tree, self._lets) for name, formula in self.layout.map.items()}

    @cached_property
    def condition(self) -> Expression | None:
        """Which of the domain's points take part (the threads the selector names); None: all."""
        where = self.layout.where
        return substitute(where.tree, self._lets) if where else None

    @cached_property
    def sizes(self) -> dict[str, Expression]:
        """How many values each input has."""
        return {
            name: substitute(formula.tree, self._constants) for name, formula in self.layout.domain.items()
        }

    @cached_property
    def extents(self) -> dict[str, Expression]:
        """How many values each output has."""
        return {
            name: substitute(formula.tree, self._constants) for name, formula in self.layout.codomain.items()
        }

    @cached_property
    def size_parameters(self) -> tuple[str, ...]:
        used = frozenset().union(*(names(tree) for tree in (*self.sizes.values(), *self.extents.values())))
        return tuple(name for name in self.parameters if name in used)

    @cached_property
    def mode_parameters(self) -> tuple[str, ...]:
        return tuple(name for name in self.parameters if name not in self.size_parameters)

    @cached_property
    def parameter_bounds(self) -> dict[str, tuple[int, int]]:
        bounds = {}
        for name, scalars in self.layout.params.items():
            values = [value for value in scalars.values if isinstance(value, int)]
            if len(values) < len(scalars.values):
                raise SpecError(f"the parameter {name} has a value that is not an integer", scalars.place)
            if min(values) < 0:
                raise SpecError(f"the parameter {name} can be {min(values)}", scalars.place, "at least 0")
            bounds[name] = (min(values), max(values))
        return bounds

    @cached_property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Least and greatest value of every parameter and input."""
        bounds = dict(self.parameter_bounds)
        for name, formula in self.layout.domain.items():
            try:
                low, high = interval(formula.tree, self.parameter_bounds)
            except SpecError as error:
                raise error.at(formula.place) from None
            if low < 1:
                raise SpecError(f"the size of {name} can be {low}", formula.place, "at least 1")
            bounds[name] = (0, high - 1)
        return bounds

    def assignments(self) -> Iterator[dict[str, int]]:
        """Every combination of parameter values."""
        values = [self.layout.params[name].values for name in self.parameters]
        for combination in itertools.product(*values):
            yield {name: int(v) for name, v in zip(self.parameters, combination, strict=True)}

    @cached_property
    def largest(self) -> dict[str, int]:
        """The largest value of every size parameter."""
        return {name: self.parameter_bounds[name][1] for name in self.size_parameters}

    def shape(self, parameters: Mapping[str, int]) -> dict[str, int]:
        """The extent of every output."""
        return self._evaluate(self.extents, parameters)

    def domain(self, parameters: Mapping[str, int]) -> dict[str, int]:
        """The size of every input."""
        return self._evaluate(self.sizes, parameters)

    def _evaluate(self, trees: Mapping[str, Expression], parameters: Mapping[str, int]) -> dict[str, int]:
        arguments = [parameters[name] for name in self.parameters]
        return {name: compiled(tree, self.parameters)(*arguments) for name, tree in trees.items()}

    def points(self, parameters: Mapping[str, int]) -> list[LayoutPoint]:
        """Every point as (inputs…, outputs…), in the order of the inputs."""
        fields = [*self.inputs, *(python_text(self.trees[name]) for name in self.outputs)]
        return list(self._enumerated(f"[({', '.join(fields)},) {{loops}}]", parameters, ()))

    def held(self, parameters: Mapping[str, int]) -> bool:
        """Whether there is any point."""
        return next(self._enumerated("(True {loops})", parameters, ()), False)

    def holders(
        self, parameters: Mapping[str, int], places: Collection[LayoutPoint]
    ) -> dict[LayoutPoint, LayoutPoint]:
        """The first inputs, in their order, that are mapped to each of some outputs."""
        inputs, outputs = ", ".join(self.inputs), ", ".join(python_text(self.trees[n]) for n in self.outputs)
        code = f"((_place, ({inputs},)) {{loops}} if (_place := ({outputs},)) in _places)"
        found: dict[LayoutPoint, LayoutPoint] = {}
        for place, holder in self._enumerated(code, parameters, places):
            if found.setdefault(place, holder) is holder and len(found) == len(places):
                break
        return found

    def _enumerated(self, code: str, parameters: Mapping[str, int], places: Collection[LayoutPoint]) -> Any:
        """Python code over all points, of those that take part, compiled."""
        sizes = self.domain(parameters)
        loops = " ".join(f"for {name} in range({sizes[name]})" for name in self.inputs)
        filtered = f" if {python_text(self.condition)}" if self.condition else ""
        arguments = ", ".join(("_places", *self.parameters))
        function = eval(
            f"lambda {arguments}: {code.format(loops=loops + filtered)}", {"__builtins__": {"range": range}}
        )
        return function(places, *(parameters[name] for name in self.parameters))

    def count(self, parameters: Mapping[str, int]) -> int:
        """How many elements the codomain has."""
        return prod(self.shape(parameters).values())

    @cached_property
    def inverse(self) -> Inverse:
        """The closed-form inverse: the YAML's, or else one read off the map at 0 and at every output bit.

        It is a conjecture until the theorems `inverse.left` and `inverse.right` prove it for every
        point and every parameter; NoClosedForm when the map cannot have one.
        """
        written = self.layout.inverse
        if not written:
            return _derive_inverse(self)
        return Inverse({name: substitute(formula.tree, self._constants) for name, formula in written.items()})

    def then(self, outer: LayoutMap, at: Mapping[str, Formula], params: Mapping[str, Scalars]) -> LayoutMap:
        """This map followed by another: the outputs, moved by `at`, are the inputs of `outer`.

        `params` are the parameters of both, and those of `at`.
        """
        moved = {name: substitute(formula.tree, self.trees) for name, formula in at.items()}
        images = {name: substitute(tree, moved) for name, tree in outer.trees.items()}
        place = self.layout.place
        return LayoutMap(
            replace(
                self.layout,
                map={name: Formula(python_text(tree), tree, place) for name, tree in images.items()},
                codomain=outer.layout.codomain,
                params=params,
                where=None
                if self.condition is None
                else Formula(python_text(self.condition), self.condition, place),
                let={},
                cases=(),
                inverse={},
                id=f"{self.layout.id}, {outer.layout.id}",
            )
        )


def compared(bridge: Bridge, layouts: Mapping[str, LayoutMap]) -> tuple[LayoutMap, LayoutMap]:
    """The two sides of a bridge: the left layout, and the right one, read through the one between them."""
    left, right = layouts[bridge.left], layouts[bridge.right]
    between = bridge.through
    if between is not None:
        right = right.then(layouts[between.layout], between.at, bridge.params)
    return left, right


def _derive_inverse(layout: LayoutMap) -> Inverse:
    modes = layout.mode_parameters
    zero_modes = dict.fromkeys(modes, 0)
    shape = layout.shape({**layout.largest, **zero_modes})

    def look_up(mode: Mapping[str, int], places: Collection[LayoutPoint]) -> dict[LayoutPoint, LayoutPoint]:
        found = layout.holders({**layout.largest, **mode}, places)
        for outputs in places:
            if outputs not in found and layout.layout.kind == "bijection":
                named = zip(layout.outputs, outputs, strict=True)
                place = ", ".join(f"{name} {value}" for name, value in named)
                raise NoClosedForm(f"nothing holds ({place}) in {layout.layout.id}", layout.layout.place)
        return found

    origin = tuple(0 for _ in layout.outputs)
    units = {
        (name, bit): tuple(1 << bit if other == name else 0 for other in layout.outputs)
        for name in layout.outputs
        for bit in range((shape[name] - 1).bit_length())
    }
    found = look_up(zero_modes, dict.fromkeys((origin, *units.values())))
    base = found.get(origin)
    if base is None:
        raise NoClosedForm(f"the layout {layout.layout.id} does not reach the origin", layout.layout.place)
    columns = [(name, bit, found[unit]) for (name, bit), unit in units.items() if unit in found]
    for name in modes:
        _, high = layout.parameter_bounds[name]
        for bit in range(high.bit_length()):
            there = look_up({**zero_modes, name: 1 << bit}, {origin: None}).get(origin)
            if there is not None:
                columns.append((name, bit, there))
    tops = {name: (shape[name] - 1).bit_length() for name in layout.outputs}
    tops |= {name: layout.parameter_bounds[name][1].bit_length() for name in modes}
    return Inverse(
        {
            name: _bits_to_expression(
                base[position],
                [(source, bit, values[position] ^ base[position]) for source, bit, values in columns],
                tops,
            )
            for position, name in enumerate(layout.inputs)
        }
    )


def _bits_to_expression(
    constant: int, columns: list[tuple[str, int, int]], tops: Mapping[str, int]
) -> Expression:
    """The XOR of `constant` and of each source bit times its column, as few terms as possible."""
    edges = {
        (source, bit, target)
        for source, bit, column in columns
        for target in range(column.bit_length())
        if column >> target & 1
    }
    disjoint = len({target for _, _, target in edges}) == len(edges) and not any(
        constant >> target & 1 for _, _, target in edges
    )
    terms: list[tuple[int, Expression]] = []
    for source, bit, target in sorted(edges, key=lambda edge: (edge[2], edge[0], edge[1])):
        if (source, bit - 1, target - 1) in edges:
            continue
        length = 1
        while (source, bit + length, target + length) in edges:
            length += 1
        term: Expression = Name(source)
        if bit:
            term = Binary("//", term, Number(1 << bit))
        if bit + length < tops[source]:
            term = Binary("%", term, Number(1 << length))
        if target:
            term = Binary("*", Number(1 << target), term)
        terms.append((target, term))
    trees = [term for _, term in sorted(terms, key=lambda pair: -pair[0])]
    if constant or not trees:
        trees.append(Number(constant))
    result = trees[0]
    for tree in trees[1:]:
        result = Binary("+" if disjoint else "^", result, tree)
    return result
