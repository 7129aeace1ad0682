"""Theorems about integer maps: in bounds, injective, and surjective by a closed-form inverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import z3

from ...spec.expressions import Expression
from ...spec.maps import LayoutMap, NoClosedForm
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Obligation, refuting

__all__ = ["holder", "layout_obligations", "position"]

_OTHER = "_other"  # the suffix of the second copy of a layout's inputs


@dataclass(frozen=True)
class _Encoding:
    """The symbols of one layout: its parameters, and as many copies of its inputs as asked for."""

    layout: LayoutMap

    @cached_property
    def _output_bounds(self) -> dict[str, tuple[int, int]]:
        shape = self.layout.shape({name: high for name, (_, high) in self.layout.parameter_bounds.items()})
        return {name: (0, extent - 1) for name, extent in shape.items()}

    @cached_property
    def width(self) -> int:
        layout = self.layout
        trees = [*layout.trees.values(), *layout.sizes.values(), *layout.extents.values()]
        if layout.condition is not None:
            trees.append(layout.condition)
        width = width_for(trees, layout.bounds)
        try:
            inverse = list(layout.inverse.inputs.values())
        except NoClosedForm:
            return width + 1
        bounds = self._output_bounds | layout.parameter_bounds
        return max(width, width_for(inverse, bounds)) + 1

    def symbols(self, names: tuple[str, ...], suffix: str = "") -> dict[str, z3.ExprRef]:
        return {name: z3.BitVec(name + suffix, self.width) for name in names}

    @cached_property
    def parameters(self) -> dict[str, z3.ExprRef]:
        return self.symbols(self.layout.parameters)

    def read(self, tree: Expression, variables: Mapping[str, z3.ExprRef]) -> z3.ExprRef:
        return BitVectors(self.width, {**self.parameters, **variables}).read(tree)

    def admissible(self) -> z3.BoolRef:
        """Every parameter takes one of its values."""
        return conjunction(
            z3.Or(*(symbol == value for value in self.layout.layout.params[name].values))
            for name, symbol in self.parameters.items()
        )

    def in_domain(self, inputs: Mapping[str, z3.ExprRef]) -> z3.BoolRef:
        parts = [z3.ULT(inputs[name], self.read(size, inputs)) for name, size in self.layout.sizes.items()]
        if self.layout.condition is not None:
            parts.append(self.read(self.layout.condition, inputs))
        return z3.And(self.admissible(), *parts)

    def in_codomain(self, outputs: Mapping[str, z3.ExprRef]) -> z3.BoolRef:
        parts = [
            z3.ULT(outputs[name], self.read(extent, outputs)) for name, extent in self.layout.extents.items()
        ]
        return z3.And(self.admissible(), *parts)

    def image(self, inputs: Mapping[str, z3.ExprRef]) -> dict[str, z3.ExprRef]:
        return {name: self.read(tree, inputs) for name, tree in self.layout.trees.items()}

    def preimage(self, outputs: Mapping[str, z3.ExprRef]) -> dict[str, z3.ExprRef]:
        inverse = self.layout.inverse.inputs
        return {name: self.read(tree, outputs) for name, tree in inverse.items()}


def _same(left: Mapping[str, z3.ExprRef], right: Mapping[str, z3.ExprRef]) -> z3.BoolRef:
    return z3.And(*(left[name] == right[name] for name in left))


def holder(layout: LayoutMap, model: Mapping[str, int], suffix: str = "") -> str:
    """An input point as a person names it: "thread 5 a3", "thread 5 bit 3"."""
    parts = []
    for name in layout.inputs:
        value = model.get(name + suffix, 0)
        parts.append(
            f"thread {value}" if name == "t" else f"element {value}" if name == "i" else f"{name} {value}"
        )
    modes = [f"{name} = {model[name]}" for name in layout.parameters if name in model]
    return " ".join(parts) + (f" ({', '.join(modes)})" if modes and not suffix else "")


def position(layout: LayoutMap, model: Mapping[str, int], suffix: str = "") -> str:
    """The image of an input point as a person writes it: (row, col)."""
    from ...spec.expressions import compiled

    arguments = (*layout.parameters, *layout.inputs)
    values = [model.get(name, 0) for name in layout.parameters]
    values += [model.get(name + suffix, 0) for name in layout.inputs]
    image = [compiled(tree, arguments)(*values) for tree in layout.trees.values()]
    if layout.outputs == ("row", "col"):
        return f"({image[0]}, {image[1]})"
    return "(" + ", ".join(f"{n} {v}" for n, v in zip(layout.outputs, image, strict=True)) + ")"


def layout_obligations(layout: LayoutMap) -> Iterator[Obligation]:
    """All obligations of one layout, at every case of its parameters.

    A layout without a closed-form inverse yields a false one.
    """
    for case in layout.cases():
        yield from _obligations(case)


def _obligations(layout: LayoutMap) -> Iterator[Obligation]:
    encoding = _Encoding(layout)
    subject = layout.layout.id
    first = encoding.symbols(layout.inputs)
    image = encoding.image(first)

    def held(model: Mapping[str, int]) -> str:
        return f"{holder(layout, model)} is mapped to {position(layout, model)}"

    yield Obligation(
        "layout.in_bounds",
        subject,
        refuting(encoding.in_domain(first), z3.Not(encoding.in_codomain(image))),
        lambda model: f"{held(model)}, outside the matrix",
    )
    second = encoding.symbols(layout.inputs, _OTHER)
    yield Obligation(
        "layout.injective",
        subject,
        refuting(
            encoding.in_domain(first),
            encoding.in_domain(second),
            z3.Not(_same(first, second)),
            _same(image, encoding.image(second)),
        ),
        lambda model: (
            f"{holder(layout, model)} and {holder(layout, model, _OTHER)} both hold {position(layout, model)}"
        ),
    )
    if layout.condition is not None and layout.mode_parameters:
        yield _selective(encoding, layout.condition)
    outputs = encoding.symbols(layout.outputs)
    try:
        preimage = encoding.preimage(outputs)
    except NoClosedForm as error:
        reason = error.what
        surjective = [] if layout.layout.kind == "injection" else ["layout.surjective"]
        for theorem in (*surjective, "layout.inverse_left"):
            yield Obligation(theorem, subject, refuting(z3.BoolVal(True)), lambda _: reason)
        return
    yield Obligation(
        "layout.inverse_left",
        subject,
        refuting(encoding.in_domain(first), z3.Not(_same(encoding.preimage(image), first))),
        lambda model: f"{held(model)}, which the inverse maps elsewhere",
    )
    if layout.layout.kind == "injection":
        return
    yield Obligation(
        "layout.surjective",
        subject,
        refuting(
            encoding.in_codomain(outputs),
            z3.Not(z3.And(encoding.in_domain(preimage), _same(encoding.image(preimage), outputs))),
        ),
        lambda model: (
            "nothing holds (" + ", ".join(f"{name} {model.get(name, 0)}" for name in layout.outputs) + ")"
        ),
    )


def _selective(encoding: _Encoding, condition: Expression) -> Obligation:
    """A point takes part under one selector only."""
    layout = encoding.layout
    point = encoding.symbols(layout.inputs)
    others = encoding.symbols(layout.mode_parameters, _OTHER)
    allowed = conjunction(
        z3.Or(*(symbol == value for value in layout.layout.params[name].values))
        for name, symbol in others.items()
    )
    return Obligation(
        "layout.selective",
        layout.layout.id,
        refuting(
            encoding.in_domain(point),
            allowed,
            encoding.read(condition, {**point, **others}),
            z3.Or(*(encoding.parameters[name] != symbol for name, symbol in others.items())),
        ),
        lambda model: (
            f"{holder(layout, model)} takes part for "
            + ", ".join(f"{name} = {model.get(name + _OTHER, 0)}" for name in others)
            + " too"
        ),
    )
