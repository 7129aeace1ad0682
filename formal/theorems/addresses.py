"""Theorems about shared memory: atoms do not overlap, the address has an inverse, swizzles permute."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from ...spec.addresses import ADDRESSES, BASES, swizzle_bounds, swizzles
from ...spec.expressions import Number
from ...spec.intervals import interval
from ...spec.maps import LayoutMap
from ...spec.memory_records import AddressFile, AddressRule, Swizzle
from ...spec.specification import Specification
from ...spec.variants import Family
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import ULE, ULT, And, BitVec, BitVecVal, If, Ints, IntVal, Not, Or, Term, UDiv, URem
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "address_obligations", "swizzle_obligations"]


def swizzle_obligations(file: AddressFile) -> Iterator[Obligation]:
    """For every mode and base offset a swizzle is its own inverse, stays within one line of memory, and is
    free of bank conflicts: the same offset in the rows of an atom lies in different units of a line, as many
    rows as a line has units."""
    for swizzle, modes in swizzles(file):
        yield from _swizzle_obligations(swizzle, modes)


def _swizzle_obligations(swizzle: Swizzle, modes: Mapping[str, int]) -> Iterator[Obligation]:
    tree, bounds, unit = swizzle.address.tree, swizzle_bounds(modes), swizzle.unit
    units = swizzle.line // unit
    twice = bounds | {"linear": (0, interval(tree, bounds)[1])}
    size = max(width_for([tree], bounds), width_for([tree], twice))
    linear, base = BitVec("linear", size), BitVec("base", size)
    row, other = BitVec("row", size), BitVec("row_other", size)
    for mode, width in modes.items():

        def read(address: Term, w: int = width) -> Term:
            variables = {"linear": address, "base": base, "W": BitVecVal(w, size)}
            return BitVectors(size, variables).read(tree)

        domain = conjunction([ULE(linear, ADDRESSES - 1), ULE(base, BASES - 1)])
        line = swizzle.line

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
                Or(
                    UDiv(read(linear), line) != UDiv(linear, line),
                    URem(read(linear), unit) != URem(linear, unit),
                ),
            ),
            explain,
        )
        # `linear` lies in the first row of an atom: as many rows of W bytes as a line has units
        first = And(ULT(URem(linear, units * width), width), ULT(row, other), ULT(other, units))
        found = [URem(UDiv(read(linear + r * width), unit), units) for r in (row, other)]
        yield Obligation(
            "swizzle.spreads",
            f"mode {mode}",
            refuting(domain, first, found[0] == found[1]),
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
                partial(_some_reaches_end, group, index),
                lambda _, index=index: f"no element has the greatest {index}",  # type: ignore[misc]
                expects="sat",
            )


def _some_reaches_end(cases: Iterable[LayoutMap], index: str) -> str:
    return refuting(Or(*(_reaches_end(case, index) for case in cases)))


def _reaches_end(case: LayoutMap, index: str) -> Term:
    width = width_for([*case.trees.values(), *case.sizes.values(), *case.extents.values()], case.bounds)
    symbols = {name: BitVec(f"{name} of {case.layout.id}", width) for name in case.inputs}
    reader = BitVectors(width, symbols)
    inside = [ULT(symbols[name], reader.read(size)) for name, size in case.sizes.items()]
    return And(*inside, reader.read(case.trees[index]) + 1 == reader.read(case.extents[index]))


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
    symbols = {name: BitVec(name, width) for name in layout.parameters}
    reader = BitVectors(width, symbols)
    allowed = conjunction(
        Or(*(symbol == int(value) for value in layout.layout.params[name].values))
        for name, symbol in symbols.items()
    )
    same = And(*(reader.read(a) == reader.read(b) for a, b in pairs))
    return Obligation(
        "address.domain",
        subject,
        refuting(allowed, Not(same)),
        lambda _: f"{layout.layout.id} is not of the {x} x {k} elements that the largest matrix has",
    )


def _times(index: Term, values: Sequence[int], stride: Term) -> Term:
    """index * stride, where `index` has one of a few values in order: a tree of comparisons, so that the
    arithmetic stays linear. (Solvers take three times as long for a list of equalities.)
    """
    if len(values) == 1:
        return values[0] * stride if values[0] else IntVal(0)
    middle = len(values) // 2
    below, above = (_times(index, some, stride) for some in (values[:middle], values[middle:]))
    return If(index < values[middle], below, above)


@dataclass(frozen=True)
class _Address:
    """Block, column and offset as the digits of an address, one of the first two `outer`most.

    There are `total` outer and `count` inner digits, and an atom has `atom` bytes.
    """

    outer: str
    inner: str
    total: int
    count: int
    atom: int

    @cached_property
    def symbols(self) -> tuple[Term, ...]:
        """The strides, the digits and the offset."""
        return tuple(Ints(f"far_stride near_stride {self.outer} {self.inner} offset"))

    @cached_property
    def apart(self) -> Term:
        """The strides keep atoms apart: an atom fits into the near stride, all near ones into the far one."""
        far, near, *_ = self.symbols
        return And(near >= self.atom, far >= self.count * near)

    def value(self, outers: range, inners: range) -> Term:
        """The address."""
        far, near, i, j, offset = self.symbols
        return _times(i, outers, far) + _times(j, inners, near) + offset

    def collides(self) -> str:
        """Asks for two splits of one address: they differ by digits that are not all 0."""
        _, _, i, j, offset = self.symbols
        total, count, atom = self.total, self.count, self.atom
        differences = [i > -total, i < total, j > -count, j < count, offset > -atom, offset < atom]
        same = self.value(range(1 - total, total), range(1 - count, count)) == 0
        other = Or(i != 0, j != 0, offset != 0)
        return refuting(*differences, self.apart, same, other, logic="QF_LIA")

    def leaves(self) -> str:
        """Asks for an address outside the span of the matrix."""
        far, near, i, j, offset = self.symbols
        total, count, atom = self.total, self.count, self.atom
        inside = [i >= 0, i < total, j >= 0, j < count, offset >= 0, offset < atom]
        span = (total - 1) * far + (count - 1) * near + atom
        place = self.value(range(total), range(count))
        return refuting(*inside, self.apart, Or(place < 0, place >= span), logic="QF_LIA")


def _digits(subject: str, extents: dict[str, int], outer: str, inner: str) -> Iterator[Obligation]:
    address = _Address(outer, inner, extents[outer], extents[inner], extents["offset"])

    def explain(model: Model) -> str:
        return ", ".join(f"{key} = {value}" for key, value in sorted(model.items()))

    yield Obligation(
        "address.unique",
        subject,
        address.collides,
        lambda model: f"two bytes share an address, apart by {explain(model)}",
    )
    yield Obligation(
        "address.span",
        subject,
        address.leaves,
        lambda model: f"the address leaves the matrix's span at {explain(model)}",
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    addresses, families = specification.addresses, specification.families.values()
    yield ProofPart("swizzle", partial(swizzle_obligations, addresses))
    for name, rule in addresses.addresses.items():
        layout = specification.layouts[rule.layout]
        kinds = {kind for kind, record in specification.descriptors.items() if name in record.addresses}
        made = partial(address_obligations, name, rule, layout, kinds, families)
        yield ProofPart(f"address {name}", made, rule.title)


GROUP = TheoremGroup(
    60,
    (
        Theorem(
            "swizzle.involution",
            "a swizzle is its own inverse, for every mode and base offset",
            small=True,
            formula="for each mode, address x, base offset b: swizzle(swizzle(x, b), b) == x",
            fails="an address that is not found again",
        ),
        Theorem(
            "swizzle.line",
            "a swizzle moves units of 16 (or 32) bytes inside a 128-byte line only",
            small=True,
            formula="for y = swizzle(x, b): y // line == x // line and y % unit == x % unit",
            fails="an address that leaves its line, or its place in a unit",
        ),
        Theorem(
            "swizzle.spreads",
            "the rows of an atom lie in different units of a line: no bank conflict",
            small=True,
            formula="for rows r != s, x of the first row: "
            "unit(swizzle(x + r * W, b)) != unit(swizzle(x + s * W, b))",
            fails="two rows of an atom that share a unit of a line",
        ),
        Theorem(
            "address.unique",
            "an address comes from one block, column and offset only, for all strides apart",
            formula="for near >= atom, far >= count * near: "
            "far * i + near * j + offset has one (i, j, offset)",
            fails="two bytes of a matrix that share an address",
        ),
        Theorem(
            "address.span",
            "every address lies inside the span of the matrix, for all strides apart",
            formula="for strides as in address.unique: "
            "0 <= address < (total - 1) * far + (count - 1) * near + atom",
            fails="a byte outside the span of the matrix",
        ),
        Theorem(
            "address.tight",
            "the matrix has no more atoms than its elements need, and atoms no more bytes",
            small=True,
            formula="for each index of block, column, offset: some element has index == extent - 1",
            fails="a block, a column or a byte that no element needs",
        ),
        Theorem(
            "address.domain",
            "a shared-memory layout's domain is the largest matrix that a row reads",
            small=True,
            formula="for each size of elements: "
            "the layout's (x, k) == the greatest M or N, and K, of the rows",
            fails="a size of elements at which the largest matrix is not the layout's domain",
        ),
    ),
    _parts,
)
