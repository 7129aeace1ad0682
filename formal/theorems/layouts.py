"""Theorems about integer maps: in bounds, injective, and surjective by a closed-form inverse."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from ...spec.expressions import Expression, names
from ...spec.intervals import interval
from ...spec.maps import LayoutMap, NoClosedForm
from ...spec.paths import path_conditions, path_values
from ...spec.specification import Specification
from ...spec.variants import RowView
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import ULT, And, BitVec, BoolVal, Not, Or, Term
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "holder", "layout_obligations", "position"]

_OTHER = "_other"  # the suffix of the second copy of a layout's inputs


@dataclass(frozen=True)
class _Encoding:
    """The symbols of one layout: its parameters, and as many copies of its inputs as asked for."""

    layout: LayoutMap

    @cached_property
    def _output_bounds(self) -> dict[str, tuple[int, int]]:
        parameters = self.layout.parameter_bounds
        return {
            name: (0, interval(extent, parameters)[1] - 1) for name, extent in self.layout.extents.items()
        }

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

    def symbols(self, names: tuple[str, ...], suffix: str = "") -> dict[str, Term]:
        return {name: BitVec(name + suffix, self.width) for name in names}

    @cached_property
    def parameters(self) -> dict[str, Term]:
        return self.symbols(self.layout.parameters)

    def read(self, tree: Expression, variables: Mapping[str, Term]) -> Term:
        return BitVectors(self.width, {**self.parameters, **variables}).read(tree)

    def admissible(self) -> Term:
        """Every parameter takes one of its values."""
        return conjunction(
            Or(*(symbol == value for value in self.layout.layout.params[name].values))
            for name, symbol in self.parameters.items()
        )

    def in_domain(self, inputs: Mapping[str, Term]) -> Term:
        parts = [ULT(inputs[name], self.read(size, inputs)) for name, size in self.layout.sizes.items()]
        if self.layout.condition is not None:
            parts.append(self.read(self.layout.condition, inputs))
        return And(self.admissible(), *parts)

    def in_codomain(self, outputs: Mapping[str, Term]) -> Term:
        parts = [
            ULT(outputs[name], self.read(extent, outputs)) for name, extent in self.layout.extents.items()
        ]
        return And(self.admissible(), *parts)

    def image(self, inputs: Mapping[str, Term]) -> dict[str, Term]:
        return {name: self.read(tree, inputs) for name, tree in self.layout.trees.items()}

    def preimage(self, outputs: Mapping[str, Term]) -> dict[str, Term]:
        inverse = self.layout.inverse.inputs
        return {name: self.read(tree, outputs) for name, tree in inverse.items()}

    @cached_property
    def point(self) -> dict[str, Term]:
        """The symbols of one point."""
        return self.symbols(self.layout.inputs)

    @cached_property
    def place(self) -> dict[str, Term]:
        """Its image."""
        return self.image(self.point)

    def leaves(self) -> str:
        """Asks for a point that is mapped outside the codomain."""
        return refuting(self.in_domain(self.point), Not(self.in_codomain(self.place)))

    def collides(self) -> str:
        """Asks for two points with one image."""
        other = self.symbols(self.layout.inputs, _OTHER)
        return refuting(
            self.in_domain(self.point),
            self.in_domain(other),
            Not(_same(self.point, other)),
            _same(self.place, self.image(other)),
        )

    def returns_elsewhere(self) -> str:
        """Asks for a point that the inverse does not find again."""
        return refuting(self.in_domain(self.point), Not(_same(self.preimage(self.place), self.point)))

    def misses(self) -> str:
        """Asks for an element to which the inverse gives no holder."""
        outputs = self.symbols(self.layout.outputs)
        found = self.preimage(outputs)
        held = And(self.in_domain(found), _same(self.image(found), outputs))
        return refuting(self.in_codomain(outputs), Not(held))


def _same(left: Mapping[str, Term], right: Mapping[str, Term]) -> Term:
    return And(*(left[name] == right[name] for name in left))


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


def position(layout: LayoutMap, model: Mapping[str, int]) -> str:
    """The image of an input point as a person writes it: (row, col)."""
    from ...spec.expressions import compiled

    arguments = (*layout.parameters, *layout.inputs)
    values = [model.get(name, 0) for name in layout.parameters]
    values += [model.get(name, 0) for name in layout.inputs]
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

    def held(model: Mapping[str, int]) -> str:
        return f"{holder(layout, model)} is mapped to {position(layout, model)}"

    yield Obligation(
        "layout.in_bounds",
        subject,
        encoding.leaves,
        lambda model: f"{held(model)}, outside the matrix",
    )
    yield Obligation(
        "layout.injective",
        subject,
        encoding.collides,
        lambda model: (
            f"{holder(layout, model)} and {holder(layout, model, _OTHER)} both hold {position(layout, model)}"
        ),
    )
    if layout.condition is not None and layout.mode_parameters:
        yield _selective(encoding, layout.condition)
    try:
        _ = layout.inverse
    except NoClosedForm as error:
        reason = error.what
        surjective = [] if layout.layout.kind == "injection" else ["layout.surjective"]
        for theorem in (*surjective, "layout.inverse_left"):
            yield Obligation(theorem, subject, refuting(BoolVal(True)), lambda _: reason)
        return
    yield Obligation(
        "layout.inverse_left",
        subject,
        encoding.returns_elsewhere,
        lambda model: f"{held(model)}, which the inverse maps elsewhere",
    )
    if layout.layout.kind == "injection":
        return
    yield Obligation(
        "layout.surjective",
        subject,
        encoding.misses,
        lambda model: (
            "nothing holds (" + ", ".join(f"{name} {model.get(name, 0)}" for name in layout.outputs) + ")"
        ),
    )


def _selective(encoding: _Encoding, condition: Expression) -> Obligation:
    """A point takes part under one selector only."""
    layout = encoding.layout
    names = layout.mode_parameters

    def text() -> str:
        others = encoding.symbols(names, _OTHER)
        allowed = conjunction(
            Or(*(symbol == value for value in layout.layout.params[name].values))
            for name, symbol in others.items()
        )
        return refuting(
            encoding.in_domain(encoding.point),
            allowed,
            encoding.read(condition, {**encoding.point, **others}),
            Or(*(encoding.parameters[name] != symbol for name, symbol in others.items())),
        )

    return Obligation(
        "layout.selective",
        layout.layout.id,
        text,
        lambda model: (
            f"{holder(layout, model)} takes part for "
            + ", ".join(f"{name} = {model.get(name + _OTHER, 0)}" for name in names)
            + " too"
        ),
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, layout in specification.layouts.items():
        yield ProofPart(f"layout {name}", partial(layout_obligations, layout), layout.layout.title)


def _several_paths(specification: Specification, part: str) -> Iterator[str]:
    """Values of settings and of what descriptors say at which two layouts apply; layouts that never do."""
    used = {
        name
        for layout in specification.layouts.values()
        if layout.layout.part == part and layout.layout.when is not None
        for name in names(layout.layout.when.tree)
    }
    values_of = {name: some for name, some in path_values(specification.descriptors).items() if name in used}
    conditions = path_conditions(specification.layouts, part, tuple(values_of))
    applied: set[str] = set()
    for values in itertools.product(*values_of.values()):
        found = [name for name, applies in conditions.items() if applies(*values)]
        applied.update(found)
        if len(found) > 1:
            said = ", ".join(f"{name} = {value}" for name, value in zip(values_of, values, strict=True))
            yield f"{' and '.join(found)} both apply at {said}"
    for name, layout in specification.layouts.items():
        if layout.layout.part == part and name not in applied:
            yield f"{layout.layout.place}: {name} never applies"


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    parts = {one.layout.part: name for name, one in specification.layouts.items() if one.layout.part}
    for part, name in parts.items():
        faults = partial(_several_paths, specification, part)
        yield Enumeration("layout.one_path", part, f"layout {name}", faults)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    return (f"layout {name}" for name in row.layouts)


GROUP = TheoremGroup(
    10,
    (
        Theorem(
            "layout.in_bounds",
            "every element lies inside the matrix, for every parameter",
            small=True,
            formula="for each p of the domain: f(p) < extents",
            fails="a thread and element that the layout puts outside the matrix",
        ),
        Theorem(
            "layout.injective",
            "no two (thread, element) hold the same matrix element",
            small=True,
            formula="for p, q of the domain: f(p) == f(q) only if p == q",
            fails="two threads or elements that hold one place",
        ),
        Theorem(
            "layout.inverse_left",
            "the closed-form inverse finds the thread and element again",
            small=True,
            formula="for each p of the domain: inverse(f(p)) == p",
            fails="a thread and element whose place the inverse gives to another, or no inverse",
        ),
        Theorem(
            "layout.surjective",
            "every matrix element is held: the inverse is defined on all of it",
            small=True,
            formula="for each x < extents: inverse(x) is in the domain, and f(inverse(x)) == x",
            fails="a place of the matrix that nothing holds, or no inverse",
        ),
        Theorem(
            "layout.selective",
            "no element is named by two selectors",
            small=True,
            formula="for each p of the domain under selector s, each t != s: not condition(p, t)",
            fails="an element that takes part for two selectors",
        ),
        Theorem(
            "layout.one_path",
            "no two layouts of a part apply to one M, and each applies to some",
            True,
            formula="for each M and setting: one layout of a part at most has its `when`; each for some",
            fails="two layouts of a part that both apply, or one that never does",
        ),
    ),
    _parts,
    _behind,
    _enumerations,
)
