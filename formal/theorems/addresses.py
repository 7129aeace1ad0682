"""Theorems about shared memory: atoms do not overlap, the address has an inverse, swizzles permute."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

import z3

from ...spec.addresses import ADDRESSES, BASES, swizzle_bounds, swizzle_widths
from ...spec.expressions import Number, interval
from ...spec.maps import LayoutMap
from ...spec.memory_records import AddressFile, AddressRule
from ...spec.variants import Family
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Model, Obligation, refuting

__all__ = ["address_obligations", "swizzle_obligations"]


def swizzle_obligations(file: AddressFile) -> Iterator[Obligation]:
    """For every mode and base offset: its own inverse, within one line of memory, and free of bank
    conflicts: the same offset in the eight rows of an atom lies in the eight units of a line."""
    tree, bounds = file.swizzle.address.tree, swizzle_bounds(file)
    twice = bounds | {"linear": (0, interval(tree, bounds)[1])}
    size = max(width_for([tree], bounds), width_for([tree], twice))
    linear, base = z3.BitVec("linear", size), z3.BitVec("base", size)
    row, other = z3.BitVec("row", size), z3.BitVec("row_other", size)
    for mode, width in swizzle_widths(file).items():

        def read(address: z3.BitVecRef, w: int = width) -> z3.BitVecRef:
            variables = {"linear": address, "base": base, "W": z3.BitVecVal(w, size)}
            return BitVectors(size, variables).read(tree)

        domain = conjunction([z3.ULE(linear, ADDRESSES - 1), z3.ULE(base, BASES - 1)])
        line = file.swizzle.line

        def explain(model: Model, name: str = mode) -> str:
            return f"mode {name}: address {model.get('linear', 0):#x}, base offset {model.get('base', 0)}"

        yield Obligation(
            "swizzle.involution",
            f"mode {mode}",
            refuting(domain, read(read(linear)) != linear),
            explain,
        )
        yield Obligation(
            "swizzle.line",
            f"mode {mode}",
            refuting(
                domain,
                z3.Or(
                    z3.UDiv(read(linear), line) != z3.UDiv(linear, line),
                    z3.URem(read(linear), 16) != z3.URem(linear, 16),
                ),
            ),
            explain,
        )
        # `linear` lies in the first row of an atom: eight rows of W bytes
        first = z3.And(z3.ULT(z3.URem(linear, 8 * width), width), z3.ULT(row, other), z3.ULT(other, 8))
        units = [z3.URem(z3.UDiv(read(linear + r * width), 16), 8) for r in (row, other)]
        yield Obligation(
            "swizzle.spreads",
            f"mode {mode}",
            refuting(domain, first, units[0] == units[1]),
            lambda model, explain=explain: (  # type: ignore[misc]
                f"{explain(model)}: rows {model.get('row', 0)} and {model.get('row_other', 0)} share a unit"
            ),
        )


def address_obligations(
    name: str, rule: AddressRule, layout: LayoutMap, kinds: Collection[str], families: Iterable[Family]
) -> Iterator[Obligation]:
    """The layout has the largest matrix as its domain, and no more atoms than it needs. For every width,
    whichever stride is the larger one, over all strides that keep atoms apart: an address is put
    together from block, column and offset in one way only, so no two bytes share one and division
    finds them again; and it lies inside the span of the matrix."""
    yield from _tight(name, rule, layout)
    for size, (x, k) in _largest(rule, kinds, families).items():
        yield _reads(f"{name}, {size}-byte elements", layout.case({"bytes": size}), x, k)
    for mode, width in rule.widths.items():
        case = layout.case({"W": width})
        extents = case.shape({n: high for n, (_, high) in case.parameter_bounds.items()})
        for outer, inner in (("block", "column"), ("column", "block")):
            yield from _digits(f"{name} {mode}, {outer} outermost", extents, outer, inner)


def _tight(name: str, rule: AddressRule, layout: LayoutMap) -> Iterator[Obligation]:
    """Some element lies in the last block and in the last column, of every width and element size; and
    some lies at an atom's last byte, of some (one instruction may read a part of a wide atom only)."""
    cases = [layout.case({"W": width}) for width in rule.widths.values()]
    sizes = [int(value) for value in layout.layout.params["bytes"].values]
    cases = [case.case({"bytes": size}) for case in cases for size in sizes]
    for index in layout.outputs:
        groups = [[case] for case in cases] if index in rule.strides else [cases]
        for group in groups:
            which = group[0].layout.id.removeprefix(layout.layout.id) if len(group) == 1 else ""
            yield Obligation(
                "address.tight",
                f"{name} {index}{which}",
                refuting(z3.Or(*(_reaches_end(case, index) for case in group))),
                lambda _, index=index: f"no element has the greatest {index}",  # type: ignore[misc]
                expects="sat",
            )


def _reaches_end(case: LayoutMap, index: str) -> z3.BoolRef:
    width = width_for([*case.trees.values(), *case.sizes.values(), *case.extents.values()], case.bounds)
    symbols = {name: z3.BitVec(f"{name} of {case.layout.id}", width) for name in case.inputs}
    reader = BitVectors(width, symbols)
    inside = [z3.ULT(symbols[name], reader.read(size)) for name, size in case.sizes.items()]
    return z3.And(*inside, reader.read(case.trees[index]) + 1 == reader.read(case.extents[index]))


def _largest(
    rule: AddressRule, kinds: Collection[str], families: Iterable[Family]
) -> dict[int, tuple[int, int]]:
    """For every element size, the greatest M or N, and the greatest K in stored elements, of the rows
    that take a matrix of it by a descriptor of these kinds."""
    largest: dict[int, tuple[int, int]] = {}
    for family in families:
        fields = {str(o.contains) for o in family.instruction.operands.values() if o.descriptor in kinds}
        for view, field in itertools.product(family.rows, sorted(fields)):
            for element in (e for e in view.domains.get(field, ()) if e in rule.types):
                bits = family.isa.index.types[str(element)].bits
                size = max(bits // 8, 1)
                m, n, k = (max(map(int, view.domains[name])) for name in "mnk")
                x, stored = largest.get(size, (0, 0))
                largest[size] = max(x, m, n), max(stored, k * bits // (8 * size))
    return largest


def _reads(subject: str, layout: LayoutMap, x: int, k: int) -> Obligation:
    pairs = [(layout.sizes["x"], Number(x)), (layout.sizes["k"], Number(k))]
    width = width_for([tree for pair in pairs for tree in pair], layout.parameter_bounds)
    symbols = {name: z3.BitVec(name, width) for name in layout.parameters}
    reader = BitVectors(width, symbols)
    allowed = conjunction(
        z3.Or(*(symbol == int(value) for value in layout.layout.params[name].values))
        for name, symbol in symbols.items()
    )
    same = z3.And(*(reader.read(a) == reader.read(b) for a, b in pairs))
    return Obligation(
        "address.domain",
        subject,
        refuting(allowed, z3.Not(same)),
        lambda _: f"{layout.layout.id} is not of the {x} x {k} elements that the largest matrix has",
    )


def _times(index: z3.ArithRef, values: range, stride: z3.ArithRef) -> z3.ArithRef:
    """index * stride as a table over the few values of `index`, so that the arithmetic stays linear."""
    product: z3.ArithRef = z3.IntVal(0)
    for value in values:
        if value:
            product = z3.If(index == value, value * stride, product)
    return product


def _digits(subject: str, extents: dict[str, int], outer: str, inner: str) -> Iterator[Obligation]:
    far, near, offset = z3.Ints("far_stride near_stride offset")
    i, j = z3.Ints(f"{outer} {inner}")
    atom, count, total = extents["offset"], extents[inner], extents[outer]
    # the strides keep atoms apart: an atom fits into the near stride, all near ones into the far one
    apart = [near >= atom, far >= count * near]

    def address(outers: range, inners: range) -> z3.ArithRef:
        return _times(i, outers, far) + _times(j, inners, near) + offset

    def explain(model: Model) -> str:
        return ", ".join(f"{key} = {value}" for key, value in sorted(model.items()))

    # two splits of one address differ by (i, j, offset); only the difference 0 is possible
    differences = [i > -total, i < total, j > -count, j < count, offset > -atom, offset < atom]
    same = address(range(1 - total, total), range(1 - count, count)) == 0
    yield Obligation(
        "address.unique",
        subject,
        refuting(*differences, *apart, same, z3.Or(i != 0, j != 0, offset != 0), logic="QF_LIA"),
        lambda model: f"two bytes share an address, apart by {explain(model)}",
    )
    inside = [i >= 0, i < total, j >= 0, j < count, offset >= 0, offset < atom]
    span = (total - 1) * far + (count - 1) * near + atom
    place = address(range(total), range(count))
    yield Obligation(
        "address.span",
        subject,
        refuting(*inside, *apart, z3.Or(place < 0, place >= span), logic="QF_LIA"),
        lambda model: f"the address leaves the matrix's span at {explain(model)}",
    )
