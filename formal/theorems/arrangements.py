"""Theorems about arrangements: layouts side by side in one memory share no place, and lie inside of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from ...spec.expressions import Expression
from ...spec.layout_records import Arrangement, Occupant
from ...spec.maps import LayoutMap
from ...spec.specification import Specification
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import UGE, ULT, BitVec, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "arrangement_obligations"]


@dataclass(frozen=True)
class _Resident:
    """An occupant with symbols for one of its points, as wide as the whole arrangement needs."""

    name: str
    occupant: Occupant
    layout: LayoutMap
    parameters: Mapping[str, Term]
    width: int

    @cached_property
    def _reader(self) -> BitVectors:
        point = {name: BitVec(f"{self.name}.{name}", self.width) for name in self.layout.inputs}
        return BitVectors(self.width, {**self.parameters, **point})

    @cached_property
    def inside(self) -> Term:
        """The point is one of the layout's."""
        read = self._reader
        parts = [ULT(read.name(name), read.read(size)) for name, size in self.layout.sizes.items()]
        condition = self.layout.condition
        return conjunction(parts if condition is None else [*parts, read.read(condition)])

    def coordinate(self, name: str) -> Term | None:
        """Where the point lies in the memory; None where the layout does not say."""
        read = self._reader
        if name in self.layout.inputs:
            found = read.name(name)
        elif name in self.layout.outputs:
            found = read.read(self.layout.trees[name])
        else:
            return None
        added = self.occupant.address.get(name)
        return found if added is None else found + read.read(added.tree)


def _residents(
    arrangement: Arrangement, layouts: Mapping[str, LayoutMap]
) -> tuple[Term, BitVectors, list[_Resident]]:
    """That the parameters have values of theirs, a reader of them, and every occupant with its symbols."""
    values = {name: [int(v) for v in scalars.values] for name, scalars in arrangement.params.items()}
    bounds = {name: (min(v), max(v)) for name, v in values.items()}
    width = width_for([size.tree for size in arrangement.memory.values()], bounds)
    for occupant in arrangement.occupants.values():
        layout = layouts[occupant.layout]
        trees: list[Expression] = [*layout.trees.values(), *layout.sizes.values(), *layout.extents.values()]
        trees += [] if layout.condition is None else [layout.condition]
        trees += [formula.tree for formula in occupant.address.values()]
        width = max(width, width_for(trees, layout.bounds | bounds))
    width += 2  # a place and what is added to it
    parameters = {name: BitVec(name, width) for name in values}
    admissible = conjunction(Or(*(parameters[name] == v for v in vs)) for name, vs in values.items())
    residents = [
        _Resident(name, occupant, layouts[occupant.layout], parameters, width)
        for name, occupant in arrangement.occupants.items()
    ]
    return admissible, BitVectors(width, parameters), residents


def arrangement_obligations(
    name: str, arrangement: Arrangement, layouts: Mapping[str, LayoutMap]
) -> Iterator[Obligation]:
    """No two occupants share a place; all lie inside the memory, or, where they do not fit, some does not."""
    for one, other in itertools.combinations(arrangement.occupants, 2):
        yield Obligation(
            "arrangement.apart",
            f"{name}: {one}, {other}",
            partial(_sharing, arrangement, layouts, (one, other)),
            partial(_shared, arrangement, (one, other)),
        )
    found = partial(_leaving, arrangement, layouts)
    if arrangement.fits:
        yield Obligation(
            "arrangement.fits",
            name,
            found,
            lambda model: f"some place is outside{_where(arrangement, model)}",
        )
    else:
        yield Obligation(
            "arrangement.exceeds",
            name,
            found,
            lambda _: "all lies inside the memory",
            expects="sat",
            witness=lambda model: f"some place is outside{_where(arrangement, model)}",
        )


def _shared(arrangement: Arrangement, pair: tuple[str, str], model: Mapping[str, int]) -> str:
    return f"{pair[0]} and {pair[1]} share a place{_where(arrangement, model)}"


def _where(arrangement: Arrangement, model: Mapping[str, int]) -> str:
    """The parameters of a model, and its points."""
    shown = [f"{name} = {model[name]}" for name in arrangement.params if name in model]
    shown += [f"{name} = {value}" for name, value in sorted(model.items()) if "." in name]
    return f" at {', '.join(shown)}" if shown else ""


def _sharing(arrangement: Arrangement, layouts: Mapping[str, LayoutMap], pair: tuple[str, str]) -> str:
    """The text that asks for a place of two occupants."""
    admissible, _, residents = _residents(arrangement, layouts)
    one, other = (resident for resident in residents if resident.name in pair)
    same = [
        left == right
        for name in arrangement.memory
        if (left := one.coordinate(name)) is not None and (right := other.coordinate(name)) is not None
    ]
    return refuting(admissible, one.inside, other.inside, *same)


def _leaving(arrangement: Arrangement, layouts: Mapping[str, LayoutMap]) -> str:
    """The text that asks for a place outside the memory."""
    admissible, reader, residents = _residents(arrangement, layouts)
    outside = [
        conjunction((resident.inside, UGE(place, reader.read(size.tree))))
        for resident in residents
        for name, size in arrangement.memory.items()
        if (place := resident.coordinate(name)) is not None
    ]
    return refuting(admissible, Or(*outside))


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, arrangement in specification.arrangements.items():
        made = partial(arrangement_obligations, name, arrangement, specification.layouts)
        yield ProofPart(f"arrangement {name}", made, arrangement.title)


GROUP = TheoremGroup(
    75,
    (
        Theorem(
            "arrangement.apart",
            "no two layouts side by side share a place",
            small=True,
            formula="for layouts a != b side by side, points p, q: place(a, p) != place(b, q)",
            fails="a place of memory that two layouts share",
        ),
        Theorem(
            "arrangement.fits",
            "layouts side by side lie inside their memory",
            small=True,
            formula="for each layout a, point p: place(a, p) < the memory's sizes",
            fails="a place outside the memory",
        ),
        Theorem(
            "arrangement.exceeds",
            "layouts that are said not to fit have a place outside their memory",
            small=True,
            formula="for some layout a, point p: place(a, p) >= a size of the memory",
            fails="no place outside the memory, though the layouts are said not to fit",
        ),
    ),
    _parts,
)
