"""Addresses of matrices in shared memory: element and descriptor to byte address, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import Question
from .expressions import compiled
from .lazy_dataclass import dataclass
from .maps import LayoutMap
from .memory_records import AddressFile, AddressRule, Descriptor, Swizzle

__all__ = [
    "ADDRESSES",
    "BASES",
    "DescribedMatrix",
    "MatrixAtoms",
    "matrix_atoms",
    "mode_of",
    "permutes",
    "plain_fields",
    "rule_for",
    "swizzle_bounds",
    "swizzle_widths",
    "swizzles",
]

ADDRESSES = 1 << 18  # a descriptor's start address is below this, in bytes
BASES = 8  # a descriptor's base offsets


def swizzle_widths(file: AddressFile) -> dict[str, int]:
    """W for every mode of the file's swizzle that some address rule covers."""
    return {
        mode: width
        for rule in file.addresses.values()
        if rule.swizzle is None
        for mode, width in rule.widths.items()
    }


def swizzles(file: AddressFile) -> Iterator[tuple[Swizzle, dict[str, int]]]:
    """Every swizzle, the file's first, with W for each of its modes."""
    yield file.swizzle, swizzle_widths(file)
    for rule in file.addresses.values():
        if rule.swizzle is not None:
            yield rule.swizzle, dict(rule.widths)


def swizzle_bounds(modes: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The least and greatest value of each variable of a swizzle, by W for each of its modes."""
    widths = modes.values()
    return {"linear": (0, ADDRESSES - 1), "base": (0, BASES - 1), "W": (min(widths), max(widths))}


def permutes(swizzle: Swizzle, width: int) -> bool:
    """Whether the swizzle of a mode with this W moves any address."""
    function = compiled(swizzle.address.tree, ("linear", "base", "W"))
    return any(function(linear, 0, width) != linear for linear in range(0, 8 * swizzle.line, width))


def rule_for(rules: Mapping[str, AddressRule], major: str, mode: str) -> AddressRule:
    """The rule for a majorness (K or MN) and a swizzling mode; raises Question when there is none."""
    for rule in rules.values():
        if rule.major == major and mode in rule.widths:
            return rule
    known = sorted({f"{rule.major} {mode}" for rule in rules.values() for mode in rule.widths})
    raise Question(f"there is no {major}-major layout with mode {mode!r}; there are: {', '.join(known)}")


def mode_of(rules: Mapping[str, AddressRule], descriptor: Descriptor, fields: Mapping[str, int]) -> str:
    """The swizzling mode that a descriptor's fields name; raises Question when they name none.

    A descriptor that has no mode field has the only mode of its address rules. A Question too where a field
    has a value with which the text does not say where elements lie.
    """
    for name, field in descriptor.fields.items():
        for value, why in field.unplaced.items():
            if fields[name] == field.values[value]:
                raise Question(f"{name} is {value}: the text does not say {why}, so no address is computed")
    coded = descriptor.field_of("mode")
    if coded is None:
        return next(mode for rule in rules.values() for mode in rule.widths)
    modes = descriptor.fields[coded].values
    for name, code in modes.items():
        if code == fields[coded]:
            return name
    raise Question(f"there is no swizzling mode {fields[coded]}; there are: {', '.join(modes)}")


@dataclass(frozen=True)
class MatrixAtoms:
    """How far a matrix extends in shared memory: steps along each stride, bytes of an atom and of an atom's
    row.

    `steps` says, by descriptor field, how many strides lie between the first atom and the last.
    """

    steps: Mapping[str, int]
    atom: int
    row: int

    def extent(self, fields: Mapping[str, int]) -> int:
        """How many bytes lie between the start of the first atom and the end of the last, by a descriptor's
        fields.
        """
        return self.atom + sum(fields[field] * count for field, count in self.steps.items())


def matrix_atoms(
    rules: Mapping[str, AddressRule],
    layouts: Mapping[str, LayoutMap],
    major: str,
    mode: str,
    size: int,
    shape: tuple[int, int],
) -> MatrixAtoms:
    """The atoms of a matrix of (rows of A or columns of B, depth along K) elements of `size` bytes.

    `major` is K or MN. Every index of an atom grows with x and with k, so the last element has the greatest
    indices. Raises Question when no rule covers such a matrix.
    """
    rule = rule_for(rules, major, mode)
    layout = layouts[rule.layout]
    if size not in layout.layout.params["bytes"].values:
        raise Question(f"there is no {major}-major layout of elements of {size} bytes")
    parameters = {"W": rule.widths[mode], "bytes": size}
    case = layout.case(parameters)
    last = {"x": shape[0] - 1, "k": shape[1] - 1, "byte": size - 1}
    values = [last[name] for name in case.inputs]
    steps = {
        stride: compiled(case.trees[index], case.inputs)(*values) for index, stride in rule.strides.items()
    }
    return MatrixAtoms(steps, case.shape(parameters)["offset"], parameters["W"])


def plain_fields(
    rules: Mapping[str, AddressRule],
    layouts: Mapping[str, LayoutMap],
    swizzle: Swizzle,
    descriptor: Descriptor,
    start: int,
    row: int,
    size: int,
) -> dict[str, int]:
    """A descriptor's fields for a K-major matrix that is not swizzled, its atoms one after another.

    `start` is a byte address, `row` the bytes of a row of the matrix, `size` those of an element. Raises
    Question where the descriptor has no such mode.
    """
    plain = (
        (rule, mode, width)
        for rule in rules.values()
        if rule.major == "K"
        for mode, width in rule.widths.items()
        if not permutes(rule.swizzle or swizzle, width)
    )
    rule, mode, width = next(plain, (None, "", 0))
    if rule is None:
        raise Question("the descriptor has no K-major layout without swizzling")
    atom = layouts[rule.layout].shape({"W": width, "bytes": size})["offset"]
    distances = {"column": atom, "block": atom * (row // width)}
    fields = dict.fromkeys(descriptor.fields, 0)
    fields[str(descriptor.field_of("start"))] = start
    if coded := descriptor.field_of("mode"):
        fields[coded] = descriptor.fields[coded].values[mode]
    return fields | {stride: distances[index] for index, stride in rule.strides.items()}


@dataclass(frozen=True)
class DescribedMatrix:
    """A matrix in shared memory, as a descriptor describes it.

    `fields` are the decoded descriptor's, in bytes; `bytes` the size of an element (1 stands for a
    byte of several smaller elements too); `major` K or MN.
    """

    rule: AddressRule
    layout: LayoutMap
    swizzle: Swizzle
    fields: Mapping[str, int]
    start: int
    base: int
    mode: str
    bytes: int

    @classmethod
    def of(
        cls,
        rules: Mapping[str, AddressRule],
        layouts: Mapping[str, LayoutMap],
        swizzle: Swizzle,
        descriptor: Descriptor,
        fields: Mapping[str, int],
        major: str,
        size: int,
    ) -> DescribedMatrix:
        mode = mode_of(rules, descriptor, fields)
        rule = rule_for(rules, major, mode)
        layout = layouts[rule.layout]
        if size not in layout.layout.params["bytes"].values:
            allowed = " or ".join(map(str, layout.layout.params["bytes"].values))
            raise Question(f"{major}-major elements have {allowed} bytes, not {size}")
        start, base = (descriptor.field_of(part) for part in ("start", "base"))
        own = rule.swizzle or swizzle
        return cls(rule, layout, own, fields, fields[str(start)], fields[base] if base else 0, mode, size)

    @property
    def _width(self) -> int:
        return self.rule.widths[self.mode]

    def _permute(self, address: Any) -> Any:
        function = compiled(self.swizzle.address.tree, ("linear", "base", "W"))
        return function(address, self.base, self._width)

    def address(self, x: int, k: int) -> int:
        """The byte address of element (x, k): x the row of A or column of B, k along K.

        Raises Question when the element lies outside what one instruction can read.
        """
        case = self.layout.case({"W": self._width, "bytes": self.bytes})
        sizes = case.domain({"W": self._width, "bytes": self.bytes})
        if not (0 <= x < sizes["x"] and 0 <= k < sizes["k"]):
            raise Question(f"({x}, {k}) is outside: the row is 0..{sizes['x'] - 1}, k is 0..{sizes['k'] - 1}")
        return int(self.places(x, k))

    def places(self, x: Any, k: Any) -> Any:
        """The byte addresses of elements, wherever they are: of one, or of all in two arrays of numbers."""
        case = self.layout.case({"W": self._width, "bytes": self.bytes})
        parts = {n: compiled(tree, ("x", "k", "byte"))(x, k, 0) for n, tree in case.trees.items()}
        linear = self.start + parts["offset"]
        for index, stride in self.rule.strides.items():
            linear = linear + parts[index] * self.fields[stride]
        return self._permute(linear)

    def element(self, address: int) -> tuple[int, int]:
        """The element whose byte lies at an address: the inverse, where the strides keep atoms apart.

        Raises Question when no element lies there.
        """
        case = self.layout.case({"W": self._width, "bytes": self.bytes})
        shape = case.shape({"W": self._width, "bytes": self.bytes})
        linear = self._permute(address) - self.start
        strides = {index: self.fields[stride] for index, stride in self.rule.strides.items()}
        for block, column in itertools.product(range(shape["block"]), range(shape["column"])):
            offset = linear - block * strides["block"] - column * strides["column"]
            if 0 <= offset < shape["offset"]:
                found = {"block": block, "column": column, "offset": offset}
                values = [found[name] for name in case.outputs]
                inverse = case.inverse.inputs
                x, k = (compiled(inverse[name], case.outputs)(*values) for name in ("x", "k"))
                if self.address(x, k) == address - address % self.bytes:
                    return x, k
        raise Question(f"no element lies at address {address:#x}")
