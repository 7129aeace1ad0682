"""Compare one measurement with the specification, point by point: how many points, and which differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..devices.arrays import Ints
from ..devices.probes.codes import encode
from ..gen.point_arrays import point_array
from ..spec.addresses import DescribedMatrix
from ..spec.descriptor import fields_of
from ..spec.errors import Question, SpecError
from ..spec.fragments import element_bits
from ..spec.maps import LayoutMap
from ..spec.parts import element_type, operands_of
from ..spec.sparse import positions
from ..spec.specification import Specification
from ..spec.variants import Variant

__all__ = ["AXES", "descriptor_of", "judge"]

AXES: Mapping[str, tuple[str, str]] = {
    "A": ("row", "k"),
    "B": ("k", "col"),
    "C": ("row", "col"),
    "D": ("row", "col"),
}


_NAMING = ("A", "B", "D", "met", "met codes")
_SPELT = 8  # elements behind one descriptor whose two places are named; the others are counted


def descriptor_of(variant: Variant, part: str) -> str:
    """The kind of the descriptor behind which a part lies; raises SpecError where no operand has one."""
    instruction = variant.instruction
    kinds = [str(o.descriptor) for _, o in operands_of(instruction, part) if o.descriptor]
    if not kinds:
        what = f"{part} of {instruction.instruction} was measured behind a descriptor, and no operand has one"
        raise SpecError(what, instruction.place, "the key descriptor at the operand")
    return kinds[0]


def _value(variant: Variant, kernel: str, part: str) -> int:
    """The immediate that is a part of the operation, from a kernel's id; 0 where there is none."""
    given = dict(word.split("=") for word in kernel.split() if "=" in word)
    names = (name for name, _ in operands_of(variant.instruction, part))
    return next((int(given[name]) for name in names if name in given), 0)


class Names:
    """For each axis a renaming of measured to claimed numbers, and back; None where numbers must be equal."""

    def __init__(self, free: bool) -> None:
        self.free = free
        self._forward: dict[tuple[str, int], object] = {}
        self._backward: dict[tuple[str, object], int] = {}

    def fits(self, axis: str, measured: int, claimed: tuple[int, ...]) -> bool:
        """Whether a measured name can stand for a claimed one, given the renaming so far."""
        if not self.free:
            return claimed == (measured,)
        forward = self._forward.setdefault((axis, measured), claimed)
        backward = self._backward.setdefault((axis, claimed), measured)
        return forward == claimed and backward == measured

    def knows(self, axis: str) -> bool:
        """Whether any name of an axis is known."""
        return not self.free or any(known == axis for known, _ in self._forward)

    def of(self, axis: str, claimed: tuple[int, ...]) -> int | None:
        """The measured name for a claimed one."""
        return self._backward.get((axis, claimed)) if self.free else claimed[0]


def _parameters(variant: Variant, layout: LayoutMap) -> dict[str, int]:
    return {name: int(variant.fields[name]) for name in layout.parameters}


def _maps(
    specification: Specification, variant: Variant, values: Mapping[str, Any], names: Names
) -> Iterator[str | None]:
    """For every point of every measured fragment None, or what is wrong."""
    all_met = np.asarray(values["met"]) if "met" in values else None
    met = all_met[0] if all_met is not None else None
    sparse = variant.row.row.sparsity is not None
    for letter in ("D", "C", "B", "A"):
        if letter not in values:
            continue
        measured = np.asarray(values[letter])
        layout = specification.layout_of(variant, letter)
        points = point_array(layout, _parameters(variant, layout))
        if len(points) != len(measured):
            yield f"{letter} has {len(measured)} elements, not {len(points)}"
            continue
        order = list(layout.outputs)
        product = order.index("product") + 2 if "product" in order else None
        row_at, col_at = order.index("row") + 2, order.index("col") + 2
        first, second = AXES[letter]
        if letter == "A" and sparse:
            second = "packed"
        if not names.free:
            yield from _equal(letter, points, (row_at, col_at), measured, None if sparse else met)
            continue
        for point, (a, b) in zip(points.tolist(), measured, strict=True):
            extra = (point[product],) if product is not None else ()
            if letter == "A" and not sparse and met is not None and b >= 0:
                b = met[b]
            row, col = (*extra, point[row_at]), (*extra, point[col_at])
            if names.fits(first, int(a), row) and names.fits(second, int(b), col):
                yield None
            else:
                yield (
                    f"{letter}: thread {point[0]} element {point[1]} is claimed to hold {row + col}; "
                    f"measured: ({a}, {b})"
                )
    if sparse and all_met is not None and names.knows("k"):
        yield from _met(specification, variant, all_met, values["met codes"], names)


def _ones(specification: Specification, variant: Variant, values: Mapping[str, Any]) -> Iterator[str | None]:
    """The bit patterns that multiplied as 1, by operand: whether the formats of their types say so."""
    for letter, pattern in values.get("ones", {}).items():
        element = element_type(variant, letter)
        try:
            claimed = encode(specification, element, 1.0)
            said = f"claimed of .{element}: {claimed:#x}"
        except Question as why:
            claimed, said = -1, str(why)
        yield None if claimed == pattern else f"{letter}: {pattern:#x} multiplies as 1; {said}"


def _equal(
    letter: str, points: Ints, at: tuple[int, int], measured: Ints, met: Ints | None
) -> Iterator[str | None]:
    """The same where names must be equal, for many points."""
    found = measured.astype(np.int64)
    if letter == "A" and met is not None:
        found = np.stack([found[:, 0], met[found[:, 1]]], axis=1)
    claimed = points[:, at]
    wrong = (claimed != found).any(axis=1)
    yield from itertools.repeat(None, int((~wrong).sum()))
    for point, seen in zip(points[wrong], found[wrong], strict=True):
        yield (
            f"{letter}: thread {point[0]} element {point[1]} is claimed to hold "
            f"({point[at[0]]}, {point[at[1]]}); measured: ({seen[0]}, {seen[1]})"
        )


def _met(
    specification: Specification, variant: Variant, met: Ints, codes: Iterable[int], names: Names
) -> Iterator[str | None]:
    """Which k each packed column was multiplied with, under the codes that were tried."""
    sparsity = specification.sparsity_of(variant)
    for code, found in zip(codes, met, strict=True):
        claimed = positions(sparsity, code)
        for packed in range(len(found)):
            chunk, slot = divmod(packed, sparsity.slots)
            k = chunk * sparsity.chunk + claimed[slot]
            at = names.of("packed", (packed,))
            seen = found[at] if at is not None else None
            good = seen is not None and names.of("k", (k,)) == seen
            yield None if good else f"code {code:#06b}: packed column {packed} does not meet k {k}"


def _metadata(
    specification: Specification, variant: Variant, values: Mapping[str, Any], kernel: str, names: Names
) -> Iterator[str | None]:
    for fault in _maps(specification, variant, {k: values[k] for k in _NAMING if k in values}, names):
        if fault:
            yield fault
    sparsity = specification.sparsity_of(variant)
    layout = specification.layout_of(variant, "metadata")
    try:
        parameters = specification.selector_parameters(layout, _value(variant, kernel, "selector"))
    except Question as why:
        yield f"the chip knows another selector: {why}"
        return
    owner = np.asarray(values["owner"])
    claimed = np.full(owner.shape, -1)
    for thread, bit, row, chunk, slot, index_bit in layout.points(parameters):
        for part in range(sparsity.run):
            packed = chunk * sparsity.slots + slot * sparsity.run + part
            at = names.of("row", (row,)), names.of("packed", (packed,)), index_bit
            if None in at:
                continue
            if _inside(at, owner.shape):
                claimed[at] = 32 * thread + bit
            else:
                yield (
                    f"thread {thread} bit {bit} is claimed to govern row {row}, packed column {packed}, "
                    f"index bit {index_bit}, outside the matrix"
                )
    for at in np.ndindex(*owner.shape):
        if owner[at] == claimed[at]:
            yield None
        else:
            thread, bit = divmod(int(owner[at]), 32)
            other = divmod(int(claimed[at]), 32)
            yield (
                f"row {at[0]}, packed column {at[1]}, index bit {at[2]}: thread {thread} bit {bit} governs; "
                f"claimed: thread {other[0]} bit {other[1]}"
            )
    if values["wrong"]:
        yield f"{values['wrong']} of {values['checked']} elements under valid codes were elsewhere"
    yield from _positions(specification, variant, values, names)


def _inside(at: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    return all(place is not None and 0 <= place < end for place, end in zip(at, shape, strict=True))


def _positions(
    specification: Specification, variant: Variant, values: Mapping[str, Any], names: Names
) -> Iterator[str | None]:
    """Every valid code: the index that it makes of every packed column, and the k that the index names."""
    sparsity = specification.sparsity_of(variant)
    codes, ks = np.asarray(values["codes"]), np.asarray(values["ks"])
    tried = list(values["met codes"])
    whole = sparsity.granule > 1  # the code is one index
    for code in specification.codes_of(variant):
        claimed = positions(sparsity, code)
        for packed in range(codes.shape[1]):
            at = names.of("packed", (packed,))
            chunk, slot = divmod(packed, sparsity.slots)
            k = chunk * sparsity.chunk + claimed[slot]
            index = int(codes[code, at]) if at is not None else -1
            wanted = code if whole else code >> slot // sparsity.run * sparsity.index_bits & 3
            named = code if whole else None  # of what has one index a code, only these codes have a k
            readable = index == wanted and (named is None or named in tried)
            seen = ks[index if named is None else tried.index(named), at] if readable else None
            if seen is not None and names.of("k", (k,)) == seen:
                yield None
            else:
                yield f"code {code:#06b}, packed column {packed}: index {index}; claimed: {wanted}, k {k}"


def _memory(
    specification: Specification, variant: Variant, values: Mapping[str, Any], kernel: str
) -> tuple[int, list[str]]:
    """Whether every descriptor that the chip was given names the places where the chip looked."""
    operand = str(values["operand"])
    claims = _Described(
        specification, variant, operand, bool(_value(variant, kernel, f"transpose-{operand}"))
    )
    points, faults = 0, claims.about_type()
    shape = _shape(specification, variant, operand)
    if np.asarray(values["bits"]).shape[1:] != shape:
        seen = " by ".join(map(str, np.asarray(values["bits"]).shape[1:]))
        return 1, [f"the chip reads {seen} elements of {operand}, not {shape[0]} by {shape[1]}"]
    for given, found in (("words", "bits"), ("turned words", "turned bits")):
        if given in values:
            measured = np.asarray(values[found])
            points += measured.size
            for text, bits in zip(values[given], measured, strict=True):
                faults += claims.about(int(text, 16), bits)
    return points, faults


def _shape(specification: Specification, variant: Variant, operand: str) -> tuple[int, int]:
    """Rows of A or columns of B, and elements along K; of a sparse A those that are stored."""
    m, n, k = (int(variant.fields[name]) for name in "mnk")
    if operand == "B":
        return n, k
    if variant.row.row.sparsity is None:
        return m, k
    sparsity = specification.sparsity_of(variant)
    return m, k * sparsity.slots // sparsity.chunk


class _Described:
    """What the specification says of one matrix in shared memory, under any descriptor."""

    def __init__(
        self, specification: Specification, variant: Variant, operand: str, transposed: bool
    ) -> None:
        self._specification, self._operand = specification, operand
        kind = descriptor_of(variant, operand)
        self._descriptor, self._rules = specification.descriptors[kind], specification.rules_of(kind)
        self._width, self._type = element_bits(variant, operand), element_type(variant, operand)
        self._major = "MN" if transposed else "K"

    def about_type(self) -> list[str]:
        """The fault, where no address rule is for the element type."""
        rules = (rule for rule in self._rules.values() if rule.major == self._major)
        if any(self._type in rule.types for rule in rules):
            return []
        return [f"the chip finds elements of .{self._type}, {self._major}-major; no address rule is for them"]

    def about(self, word: int, bits: Ints) -> list[str]:
        """Where the chip found elements elsewhere than claimed."""
        specification, operand = self._specification, self._operand
        fields, each = fields_of(self._descriptor, word), max(1, 8 // self._width)
        x, k = np.meshgrid(*map(np.arange, bits.shape), indexing="ij")
        try:
            matrix = DescribedMatrix.of(
                self._rules,
                specification.layouts,
                specification.addresses.swizzle,
                self._descriptor,
                fields,
                self._major,
                max(1, self._width // 8),
            )
        except Question as why:
            if (bits < 0).all():
                return []  # nor does the chip have such a mode
            return [
                f"descriptor {word:#018x}: {why}; the chip finds {operand} (0, 0) at byte {bits[0, 0] // 8}"
            ]
        claimed = 8 * matrix.places(x, k // each) + k % each * self._width
        if np.array_equal(claimed, bits):
            return []
        said = f"descriptor {word:#018x}: " + ", ".join(f"{name} {value}" for name, value in fields.items())
        wrong = np.argwhere(claimed != bits)
        spelt = [
            f"{operand} ({x}, {k}) lies at byte {bits[x, k] // 8}; claimed: {claimed[x, k] // 8} ({said})"
            for x, k in wrong[:_SPELT]
        ]
        return spelt + [f"another element of {operand} lies elsewhere ({said})"] * (len(wrong) - len(spelt))


def _matrices(
    specification: Specification, variant: Variant, values: Mapping[str, Any]
) -> Iterator[str | None]:
    if "source" in values:
        source, result = (specification.layout_of(variant, letter) for letter in "AD")
        where = {point[2:]: point[:2] for point in source.points(dict.fromkeys(source.parameters, 1))}
        for point, found in zip(
            result.points(dict.fromkeys(result.parameters, 1)), values["source"], strict=True
        ):
            good = where.get(point[2:]) == tuple(int(v) for v in found)
            yield None if good else f"thread {point[0]} half {point[1]} comes from {tuple(found)}"
        return
    letter = "D" if "D" in variant.layouts else "A"
    layout = specification.layout_of(variant, letter)
    lanes = specification.layout_of(variant, "address")
    parameters = _parameters(variant, layout)
    shape = lanes.shape(parameters)
    giver = {m * shape["row"] + r: t for t, m, r in lanes.points(parameters)}
    for point, (lane, half) in zip(layout.points(parameters), values["memory"], strict=True):
        good = giver.get(point[2]) == lane and point[3] == half
        yield (
            None
            if good
            else (
                f"thread {point[0]} element {point[1]} is claimed to be row {point[2]} column {point[3]}; "
                f"measured: the row of lane {lane}, column {half}"
            )
        )


def judge(
    specification: Specification, variant: Variant, what: str, kernel: str, values: Mapping[str, Any]
) -> tuple[int, list[str]]:
    """How many points of one measurement were compared with the specification, and which differ."""
    if "failed" in values:
        return 1, [str(values["failed"])]
    free = variant.row.family.instruction.scope == "warp"
    names = Names(free)
    kind = what.split()[0]
    if kind == "memory":
        return _memory(specification, variant, values, kernel)
    found: Iterable[str | None]
    if kind == "metadata":
        found = _metadata(specification, variant, values, kernel, names)
    elif kind == "matrices":
        found = _matrices(specification, variant, values)
    else:
        found = itertools.chain(
            _ones(specification, variant, values), _maps(specification, variant, values, names)
        )
    points, faults = 0, []
    for fault in found:
        points += 1
        if fault:
            faults.append(fault)
    return points, faults
