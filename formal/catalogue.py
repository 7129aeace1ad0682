"""The flat list of theorems: each a name, a statement, and the obligations it makes of the YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..spec.fragments import packing
from ..spec.ordering import ordering
from ..spec.specification import Specification
from ..spec.variants import OPAQUE
from .ordering.symbolic.questions import ordering_obligations
from .plans import Computation, InputPlan, computations
from .smt.obligations import Obligation
from .theorems.addresses import address_obligations, swizzle_obligations
from .theorems.bridges import bridge_obligations
from .theorems.descriptors import descriptor_obligations
from .theorems.exactness import exactness_obligations
from .theorems.fragments import fragment_obligations, packing_obligations
from .theorems.layouts import layout_obligations
from .theorems.rows import row_obligations
from .theorems.sparsity import sparsity_obligations

__all__ = ["STATEMENTS", "TheoremSubject", "obligations", "subjects"]

STATEMENTS: Mapping[str, str] = MappingProxyType(
    {
        "layout.in_bounds": "every element lies inside the matrix, for every parameter",
        "layout.injective": "no two (thread, element) hold the same matrix element",
        "layout.inverse_left": "the closed-form inverse finds the thread and element again",
        "layout.surjective": "every matrix element is held: the inverse is defined on all of it",
        "layout.selective": "no element is named by two selectors",
        "packing.bijective": "elements share no bit of a register and leave none over",
        "row.covers": "an operand's layout has exactly the shape of its matrix, for every N",
        "row.registers": "threads x elements = matrix elements; elements fill the vector exactly",
        "rows.disjoint": "no combination of qualifiers is in two rows of an instruction",
        "rows.alive": "every row applies on some version and target",
        "gates.satisfiable": "every conditional gate opens on some version and target",
        "sparse.codes": "the listed codes are the valid ones, and name distinct elements",
        "sparse.positions": "a valid code names distinct positions inside the chunk",
        "sparse.complete": "every choice of kept columns has exactly one listed code",
        "sparse.round_trip": "decompress after compress is the identity on chunks of right sparsity",
        "sparse.product": "the sparse product is the dense product of the decompressed matrix",
        "descriptor.disjoint": "no bit of the descriptor belongs to two fields",
        "descriptor.decode_encode": "decoding an encoded descriptor gives the fields back",
        "descriptor.encode_decode": "encoding a decoded descriptor gives the word back",
        "swizzle.involution": "a swizzle is its own inverse, for every mode and base offset",
        "swizzle.line": "a swizzle moves 16-byte units inside a 128-byte line only",
        "swizzle.spreads": "the eight rows of an atom lie in different 16-byte units: no bank conflict",
        "address.unique": "an address comes from one block, column and offset only, for all strides apart",
        "address.span": "every address lies inside the span of the matrix, for all strides apart",
        "address.tight": "the matrix has no more atoms than its elements need, and atoms no more bytes",
        "address.domain": "a shared-memory layout's domain is the largest matrix that a row reads",
        "bridge.covers": "a bridge speaks of every element of the layout on its left",
        "bridge.equal": "two layouts said to be the same are the same function",
        "bridge.differs": "two layouts said to differ do so at some point",
        "bridge.permutation": "one permutation of a coordinate and one order of elements make them the same",
        "exact.inputs": "every element that a plan draws is a normal number (or an integer) of its type",
        "exact.products": "every product is exact in the precision that the text guarantees",
        "exact.sums": "every partial sum, in every order, is exact in the precision that the text guarantees",
        "exact.wrap": "an accumulator that wraps gives one result in every order of additions",
        "exact.clamp": "an accumulator that clamps, at the end or on the way, has one result in every order",
        "exact.overflows": "some results of a plan overflow, and some do not",
        "exact.fills": "some sum takes every bit of the precision that is guaranteed",
        "exact.modes": "some inputs tell any two rounding modes apart, and ties to even from ties away",
        "ordering.agree": "axioms and machine agree on every short program, under every reading",
    }
)


@dataclass(frozen=True)
class TheoremSubject:
    """What a row depends on: which obligations stand behind it."""

    row: str
    mnemonics: int
    parts: frozenset[str]


def _shared(specification: Specification) -> Iterator[tuple[str, Iterator[Obligation]]]:
    """What rows rest on, each part proven once."""
    for name, layout in specification.layouts.items():
        yield f"layout {name}", layout_obligations(layout)
    default = specification.switches["metadata-order"].default
    for name, sparsity in specification.sparsities.items():
        yield f"sparsity {name}", sparsity_obligations(name, sparsity, default)
    for name, descriptor in specification.descriptors.items():
        yield f"descriptor {name}", descriptor_obligations(name, descriptor)
    addresses = specification.addresses
    yield "swizzle", swizzle_obligations(addresses)
    for name, rule in addresses.addresses.items():
        layout = specification.layouts[rule.layout]
        kinds = {kind for kind, record in specification.descriptors.items() if name in record.addresses}
        made = address_obligations(name, rule, layout, kinds, specification.families.values())
        yield f"address {name}", made
    for name, bridge in specification.bridges.items():
        yield f"bridge {name}", bridge_obligations(name, bridge, specification.layouts)
    for name, readings in ordering().every().items():
        yield f"ordering {name}", ordering_obligations(name, readings)


def _rows(specification: Specification) -> Iterator[tuple[str, Iterator[Obligation]]]:
    """What instructions and their rows rest on."""
    for family in specification.families.values():
        yield f"instruction {family.instruction.instruction}", row_obligations(family)
        for view in family.rows:
            sparsity = specification.sparsities[view.row.sparsity] if view.row.sparsity else None
            yield f"row {view.id}", fragment_obligations(view, specification.layouts, sparsity)
    yield "packing", _packings(specification)
    for name, (computed, drawn) in _computations(specification).items():
        yield name, exactness_obligations(computed, drawn)


def _computations(specification: Specification) -> dict[str, tuple[Computation, tuple[InputPlan, ...]]]:
    """Every arithmetic of a row, with its plans of inputs, by the name of the part it is."""
    return {
        f"exact {computed}": (computed, drawn)
        for family in specification.families.values()
        for view in family.rows
        for computed, drawn in computations(specification, view)
    }


def _packings(specification: Specification) -> Iterator[Obligation]:
    packings = {}
    for family in specification.families.values():
        for view in family.rows:
            for variant in view.variants():
                for letter, identifier in variant.layouts.items():
                    if letter in "ABCD" and identifier != OPAQUE:
                        packed = packing(variant, letter)
                        packings[packed.width, packed.word] = packed
    for packed in packings.values():
        yield from packing_obligations(packed, 256)


def obligations(
    specification: Specification, concerning: Callable[[str], bool] = lambda part: True
) -> Iterator[tuple[str, Obligation]]:
    """Every obligation, with the name of the part of the specification that it is about; only parts
    that are `concerning` are made at all."""
    for part, made in (*_shared(specification), *_rows(specification)):
        if concerning(part):
            for obligation in made:
                yield part, obligation


def subjects(specification: Specification) -> Iterator[TheoremSubject]:
    """For every row, the parts of the specification that it rests on."""
    for family in specification.families.values():
        for view in family.rows:
            parts = {f"row {view.id}", f"instruction {family.instruction.instruction}", "packing"}
            parts |= {f"layout {name}" for name in view.layouts}
            if view.row.sparsity:
                parts.add(f"sparsity {view.row.sparsity}")
            parts |= {f"exact {computed}" for computed, _ in computations(specification, view)}
            yield TheoremSubject(view.id, view.row.count, frozenset(parts))
