"""Theorems about shared memory: atoms do not overlap, the address has an inverse, swizzles permute."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from ..spec.addresses import ADDRESSES, BASES, swizzle_bounds, swizzle_widths
from ..spec.expressions import interval
from ..spec.maps import LayoutMap
from ..spec.model import AddressFile, AddressRule
from .bitvectors import BitVectors, conjunction, width_for
from .obligations import Model, Obligation, refuting

__all__ = ["address_obligations", "swizzle_obligations"]


def swizzle_obligations(file: AddressFile) -> Iterator[Obligation]:
    """For every mode and base offset: its own inverse, and within one line of memory."""
    tree, bounds = file.swizzle.address.tree, swizzle_bounds(file)
    twice = bounds | {"linear": (0, interval(tree, bounds)[1])}
    size = max(width_for([tree], bounds), width_for([tree], twice))
    linear, base = z3.BitVec("linear", size), z3.BitVec("base", size)
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


def address_obligations(name: str, rule: AddressRule, layout: LayoutMap) -> Iterator[Obligation]:
    """For every width, whichever stride is the larger one, over all strides that keep atoms apart:
    an address is put together from block, column and offset in one way only, so no two bytes share
    one and division finds them again; and it lies inside the span of the matrix."""
    for mode, width in rule.widths.items():
        case = layout.case({"W": width})
        extents = case.shape({n: high for n, (_, high) in case.parameter_bounds.items()})
        for outer, inner in (("block", "column"), ("column", "block")):
            yield from _digits(f"{name} {mode}, {outer} outermost", extents, outer, inner)


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
