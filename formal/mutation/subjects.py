"""Subjects of mutation: layouts, bridges, the swizzle, codings, register counts; equality and enumeration of
each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import comb, prod
from typing import Any, Protocol

from ...spec.addresses import swizzle_bounds, swizzle_widths
from ...spec.expressions import compiled, python_text
from ...spec.intervals import interval
from ...spec.layout_records import Bridge, Layout
from ...spec.maps import LayoutMap, compared
from ...spec.memory_records import Swizzle
from ...spec.model import Operand
from ...spec.nodes import Formula
from ...spec.sparse import positions
from ...spec.sparsity_records import Sparsity
from ...spec.specification import Specification
from ...spec.validation import check_layout, check_references
from ...spec.variants import RowView
from ..layout_equality import differences, inside, one_of, trees_of, unlike
from ..smt.bitvectors import BitVectors, width_for
from ..smt.obligations import refuting
from ..smt.terms import ULE, And, BitVec, BoolVal, Or
from ..theorems.fragments import known

__all__ = ["BridgeSubject", "MutationSubject", "SparsitySubject", "SwizzleSubject", "subjects"]

_LETTERS = "ABCD"


class MutationSubject(Protocol):
    """A record of the YAML whose formulas are changed, one at a time."""

    @property
    def name(self) -> str: ...

    def record(self, specification: Specification) -> Any:
        """The dataclass that holds the formulas."""

    def put(self, specification: Specification, record: Any) -> Specification:
        """The specification with another record in its place."""

    def check(self, specification: Specification) -> None:
        """Check the record as the loader does; raises SpecError."""

    def parts(self, specification: Specification) -> frozenset[str]:
        """The parts of the specification whose theorems depend on the record."""

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        """SMT-LIB texts that are all unsatisfiable exactly if the two are equal as functions."""

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        """Whether the new map is of the same kind as the old one, point by point; and the reason in words."""


def subjects(specification: Specification) -> Iterator[MutationSubject]:
    """Every record whose expressions say where something lies, in the order of the YAML."""
    for name in specification.layouts:
        yield LayoutSubject(name)
    for name in specification.sparsities:
        yield SparsitySubject(name)
    yield SwizzleSubject()
    for name in specification.bridges:
        yield BridgeSubject(name)
    for name, family in specification.families.items():
        for letter in _LETTERS:
            if any(view.row.layouts.get(letter, "opaque") != "opaque" for view in family.rows):
                yield RegisterSubject(name, letter)


@dataclass(frozen=True)
class LayoutSubject:
    """A layout: equal if it has the same points, the same image of each, and the same codomain."""

    name: str

    def record(self, specification: Specification) -> Layout:
        return specification.layouts[self.name].layout

    def put(self, specification: Specification, record: Layout) -> Specification:
        return replace(specification, layouts={**specification.layouts, self.name: LayoutMap(record)})

    def check(self, specification: Specification) -> None:
        check_layout(specification.layouts[self.name])
        check_references(specification)

    def parts(self, specification: Specification) -> frozenset[str]:
        rules = specification.addresses.addresses.items()
        parts = {f"layout {self.name}"} | {f"address {n}" for n, r in rules if r.layout == self.name}
        for name, bridge in specification.bridges.items():
            if self.name in bridge.layouts:
                parts.add(f"bridge {name}")
        for family in specification.families.values():
            parts |= {f"row {v.id}" for v in family.rows if self.name in v.row.layouts.values()}
        return frozenset(parts)

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        return differences(old.layouts[self.name], new.layouts[self.name])

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        layout = new.layouts[self.name]
        kind = layout.layout.kind
        count = 0
        for values in layout.assignments():
            shape = tuple(layout.shape(values).values())
            points = layout.points(values)
            inputs = len(layout.inputs)
            images = {point[inputs:] for point in points}
            count += len(points)
            where = "".join(f" at {name} = {value}" for name, value in values.items())
            if any(value >= extent for image in images for value, extent in zip(image, shape, strict=True)):
                return False, f"leaves the codomain{where}"
            if len(images) < len(points):
                return False, f"{len(points) - len(images)} points share an image{where}"
            if kind == "bijection" and len(images) < prod(shape):
                return False, f"{prod(shape) - len(images)} elements are not reached{where}"
        return True, f"another {kind}: {count} points enumerated"


@dataclass(frozen=True)
class BridgeSubject:
    """A bridge: equal if it is about the same points and has the same images of each."""

    identifier: str

    @property
    def name(self) -> str:
        return f"bridge {self.identifier}"

    def record(self, specification: Specification) -> Bridge:
        return specification.bridges[self.identifier]

    def put(self, specification: Specification, record: Bridge) -> Specification:
        return replace(specification, bridges={**specification.bridges, self.identifier: record})

    def check(self, specification: Specification) -> None:
        check_references(specification)

    def parts(self, specification: Specification) -> frozenset[str]:
        return frozenset({self.name})

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        bridges = (self.record(old), self.record(new))
        rights = [compared(bridge, old.layouts)[1] for bridge in bridges]
        right = rights[0]
        values = {name: [int(v) for v in s.values] for name, s in bridges[0].params.items()}
        bounds = {name: (min(v), max(v)) for name, v in values.items()} | right.bounds
        outputs = {name: interval(tree, right.bounds) for name, tree in right.trees.items()}
        trees = [tree for one in rights for tree in trees_of(one)]
        for bridge in bridges:
            formulas = [*bridge.at.values(), *bridge.equals.values()]
            trees += [f.tree for f in (*formulas, *([bridge.where] if bridge.where else []))]
        width = 1 + width_for(trees, outputs | bounds)
        symbols = {name: BitVec(name, width) for name in bounds}
        reader = BitVectors(width, symbols)
        images = ({name: reader.read(tree) for name, tree in one.trees.items()} for one in rights)
        after = [BitVectors(width, {**symbols, **image}) for image in images]
        admissible = [one_of(symbols[name], v) for name, v in values.items()]
        admissible.append(inside(right, reader))
        where = [reader.read(b.where.tree) if b.where else BoolVal(True) for b in bridges]
        says = [
            [reader.read(f.tree) for f in b.at.values()] + [there.read(f.tree) for f in b.equals.values()]
            for b, there in zip(bridges, after, strict=True)
        ]
        yield refuting(*admissible, Or(where[0] != where[1], And(where[0], unlike(*says))))

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        bridge = self.record(new)
        left, right = compared(bridge, new.layouts)
        arguments = (*bridge.params, *right.inputs)
        at = [compiled(bridge.at[name].tree, arguments) for name in left.inputs]
        equals = [compiled(bridge.equals[n].tree, (*bridge.params, *right.outputs)) for n in left.outputs]
        where = compiled(bridge.where.tree, arguments) if bridge.where else None
        split, cut = len(right.inputs), len(left.inputs)
        claimed: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        held: dict[tuple[int, ...], dict[tuple[int, ...], tuple[int, ...]]] = {}
        for values in product(*(s.values for s in bridge.params.values())):
            chosen = dict(zip(bridge.params, map(int, values), strict=True))
            key = tuple(chosen[name] for name in left.parameters)
            if key not in held:
                held[key] = {p[:cut]: p[cut:] for p in left.points(chosen)}
            seen = claimed.setdefault(key, set())
            for point in right.points({name: chosen[name] for name in right.parameters}):
                given = (*chosen.values(), *point[:split])
                if where is None or where(*given):
                    there = tuple(f(*given) for f in at)
                    image = tuple(f(*chosen.values(), *point[split:]) for f in equals)
                    if held[key].get(there) != image:
                        differing = dict(zip(arguments, given, strict=True))
                        return not bridge.holds, f"the layouts differ at {differing}"
                    seen.add(there)
        if not bridge.holds:
            return False, "the layouts are equal"
        missing = sum(len(held[key]) - len(claimed[key]) for key in held)
        if missing:
            return False, f"true, but it says nothing of {missing} elements of {bridge.left}"
        return True, f"another true bridge: {sum(map(len, claimed.values()))} points enumerated"


@dataclass(frozen=True)
class SwizzleSubject:
    """The swizzle: equal if it is the same permutation for every mode and base offset."""

    name: str = "swizzle"

    def record(self, specification: Specification) -> Swizzle:
        return specification.addresses.swizzle

    def put(self, specification: Specification, record: Swizzle) -> Specification:
        return replace(specification, addresses=replace(specification.addresses, swizzle=record))

    def check(self, specification: Specification) -> None:
        check_references(specification)

    def parts(self, specification: Specification) -> frozenset[str]:
        return frozenset({self.name})

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        trees = [self.record(old).address.tree, self.record(new).address.tree]
        widths = swizzle_widths(old.addresses)
        bounds = swizzle_bounds(widths)
        width = 1 + width_for(trees, bounds)
        symbols = {name: BitVec(name, width) for name in bounds}
        reader = BitVectors(width, symbols)
        domain = [ULE(symbols[name], high) for name, (_, high) in bounds.items()]
        moved = reader.read(trees[0]) != reader.read(trees[1])
        yield refuting(*domain, one_of(symbols["W"], widths.values()), moved)

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        text = python_text(self.record(new).address.tree)
        widths = swizzle_widths(old.addresses)
        bounds = swizzle_bounds(widths)
        count = bounds["linear"][1] + 1
        image = eval(
            f"lambda base, W: {{{text} for linear in range({count})}}", {"__builtins__": {"range": range}}
        )
        total = 0
        for mode, width in widths.items():
            for base in range(bounds["base"][1] + 1):
                found = image(base, width)
                if len(found) < count or max(found) >= count:
                    return False, f"no permutation for mode {mode} and base offset {base}"
                total += count
        return True, f"another permutation: {total} points enumerated"


@dataclass(frozen=True)
class SparsitySubject:
    """A coding of sparsity: equal if every code has the same positions and is as valid."""

    identifier: str

    @property
    def name(self) -> str:
        return f"sparsity {self.identifier}"

    def record(self, specification: Specification) -> Sparsity:
        return specification.sparsities[self.identifier]

    def put(self, specification: Specification, record: Sparsity) -> Specification:
        return replace(specification, sparsities={**specification.sparsities, self.identifier: record})

    def check(self, specification: Specification) -> None:
        check_references(specification)

    def parts(self, specification: Specification) -> frozenset[str]:
        return frozenset({self.name})

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        records = self.record(old), self.record(new)
        bounds = {"code": (0, (1 << records[0].code_bits) - 1), "slot": (0, records[0].slots - 1)}
        width = 1 + width_for([f.tree for r in records for f in (r.position, *r.valid.values())], bounds)
        symbols = {name: BitVec(name, width) for name in bounds}
        reader = BitVectors(width, symbols)
        domain = [ULE(symbols[name], high) for name, (_, high) in bounds.items()]
        says = [[reader.read(f.tree) for f in (r.position, *r.valid.values())] for r in records]
        yield refuting(*domain, unlike(*says))

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        record = self.record(new)
        for setting, formula in record.valid.items():
            valid = compiled(formula.tree, ("code",))
            for code in range(1 << record.code_bits):
                places = positions(record, code)
                distinct = len(set(places)) == record.slots and max(places) < record.chunk
                if valid(code) and not distinct:
                    return False, f"the {setting} code {code} names no {record.slots} distinct positions"
        named = {frozenset(positions(record, code)) for code in record.codes}
        if len(named) != comb(record.chunk, record.slots):
            return False, "the listed codes do not name every choice of positions"
        return True, f"another coding: {1 << record.code_bits} codes enumerated"


@dataclass(frozen=True)
class RegisterSubject:
    """A fragment's register count: equal if it is as great for every variant that has a layout."""

    instruction: str
    letter: str

    @property
    def name(self) -> str:
        return f"{self.instruction} {self.letter}"

    def record(self, specification: Specification) -> Operand:
        return specification.instructions[self.instruction].operands[self.letter.lower()]

    def put(self, specification: Specification, record: Operand) -> Specification:
        instruction = specification.instructions[self.instruction]
        changed = replace(instruction, operands={**instruction.operands, self.letter.lower(): record})
        return replace(specification, instructions={**specification.instructions, self.instruction: changed})

    def check(self, specification: Specification) -> None:
        for view in self._views(specification):
            view.check_count(self.record(specification))

    def parts(self, specification: Specification) -> frozenset[str]:
        return frozenset(f"row {view.id}" for view in self._views(specification))

    def _views(self, specification: Specification) -> Iterator[RowView]:
        for view in specification.families[self.instruction].rows:
            if view.row.layouts.get(self.letter, "opaque") != "opaque":
                yield view

    def _count(self, specification: Specification) -> Formula:
        count = self.record(specification).registers
        assert count is not None
        return count

    def differences(self, old: Specification, new: Specification) -> Iterator[str]:
        trees = self._count(old).tree, self._count(new).tree
        counts = {
            (known(variant, trees[0], "n"), known(variant, trees[1], "n"), view.domains["n"])
            for view in self._views(old)
            for variant in view.variants()
        }
        for left, right, values in counts:
            bounds = {"n": (min(map(int, values)), max(map(int, values)))}
            width = width_for([left, right], bounds)
            n = BitVec("n", width)
            reader = BitVectors(width, {"n": n})
            yield refuting(one_of(n, values), reader.read(left) != reader.read(right))

    def enumerate(self, old: Specification, new: Specification) -> tuple[bool, str]:
        for view in self._views(old):
            for variant in view.variants():
                trees = (known(variant, self._count(s).tree, "") for s in (old, new))
                before, after = (compiled(tree, ())() for tree in trees)
                if before != after:
                    return False, f"{after} registers, not {before}, for {variant.mnemonic}"
        return True, "the same count for every variant"
