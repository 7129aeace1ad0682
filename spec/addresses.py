"""Shared-memory addresses of wgmma matrices: element and descriptor to byte address, and back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import Question
from .expressions import compiled
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
    "rule_for",
    "swizzle_bounds",
    "swizzle_widths",
]

ADDRESSES = 1 << 18  # what a descriptor's start address can reach, in bytes
BASES = 8  # a descriptor's base offsets


def swizzle_widths(file: AddressFile) -> dict[str, int]:
    """W for every swizzling mode that some rule is for."""
    return {mode: width for rule in file.addresses.values() for mode, width in rule.widths.items()}


def swizzle_bounds(file: AddressFile) -> dict[str, tuple[int, int]]:
    """Least and greatest value of everything that the swizzle depends on."""
    widths = swizzle_widths(file).values()
    return {"linear": (0, ADDRESSES - 1), "base": (0, BASES - 1), "W": (min(widths), max(widths))}


def permutes(swizzle: Swizzle, width: int) -> bool:
    """Whether the swizzle of a mode of this W moves any address."""
    function = compiled(swizzle.address.tree, ("linear", "base", "W"))
    return any(function(linear, 0, width) != linear for linear in range(0, 8 * swizzle.line, width))


def rule_for(rules: Mapping[str, AddressRule], major: str, mode: str) -> AddressRule:
    """The rule for a majorness (K or MN) and a swizzling mode; raises Question when there is none."""
    for rule in rules.values():
        if rule.major == major and mode in rule.widths:
            return rule
    known = sorted({f"{rule.major} {mode}" for rule in rules.values() for mode in rule.widths})
    raise Question(f"there is no {major}-major layout with mode {mode!r}; there are: {', '.join(known)}")


def mode_of(descriptor: Descriptor, fields: Mapping[str, int]) -> str:
    """The swizzling mode that a descriptor's fields name; raises Question when they name none."""
    modes = descriptor.fields["swizzle-mode"].values
    for name, code in modes.items():
        if code == fields["swizzle-mode"]:
            return name
    raise Question(f"there is no swizzling mode {fields['swizzle-mode']}; there are: {', '.join(modes)}")


@dataclass(frozen=True)
class MatrixAtoms:
    """How far a matrix goes in shared memory: steps along each stride, an atom's bytes and those of its row.

    `steps` says, by descriptor field, how many strides lie between the first atom and the last.
    """

    steps: Mapping[str, int]
    atom: int
    row: int

    def extent(self, fields: Mapping[str, int]) -> int:
        """The bytes from the first atom's begin to the last one's end, by a descriptor's fields."""
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

    `major` is K or MN. Every index of an atom grows with x and with k, so the last element has the greatest.
    Raises Question when no rule is for such a matrix.
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


@dataclass(frozen=True)
class DescribedMatrix:
    """A matrix in shared memory, as a descriptor describes it.

    `fields` are the decoded descriptor's, in bytes; `bytes` the size of an element (1 stands for a
    byte of eight .b1 elements too); `major` K or MN.
    """

    rule: AddressRule
    layout: LayoutMap
    swizzle: Swizzle
    fields: Mapping[str, int]
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
        mode = mode_of(descriptor, fields)
        rule = rule_for(rules, major, mode)
        layout = layouts[rule.layout]
        if size not in layout.layout.params["bytes"].values:
            allowed = " or ".join(map(str, layout.layout.params["bytes"].values))
            raise Question(f"{major}-major elements have {allowed} bytes, not {size}")
        return cls(rule, layout, swizzle, fields, mode, size)

    @property
    def _width(self) -> int:
        return self.rule.widths[self.mode]

    def _permute(self, address: int) -> int:
        function = compiled(self.swizzle.address.tree, ("linear", "base", "W"))
        return function(address, self.fields["base-offset"], self._width)

    def address(self, x: int, k: int) -> int:
        """The byte address of element (x, k): x the row of A or column of B, k along K.

        Raises Question when the element lies outside what one instruction can read.
        """
        case = self.layout.case({"W": self._width, "bytes": self.bytes})
        sizes = case.domain({"W": self._width, "bytes": self.bytes})
        if not (0 <= x < sizes["x"] and 0 <= k < sizes["k"]):
            raise Question(f"({x}, {k}) is outside: x is 0..{sizes['x'] - 1}, k is 0..{sizes['k'] - 1}")
        parts = {n: compiled(tree, ("x", "k", "byte"))(x, k, 0) for n, tree in case.trees.items()}
        linear = self.fields["start-address"] + parts["offset"]
        for index, stride in self.rule.strides.items():
            linear += parts[index] * self.fields[stride]
        return self._permute(linear)

    def element(self, address: int) -> tuple[int, int]:
        """The element whose byte lies at an address: the inverse, where the strides keep atoms apart.

        Raises Question when no element lies there.
        """
        case = self.layout.case({"W": self._width, "bytes": self.bytes})
        shape = case.shape({"W": self._width, "bytes": self.bytes})
        linear = self._permute(address) - self.fields["start-address"]
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
