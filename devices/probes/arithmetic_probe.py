"""The arithmetic of floating-point products, measured: one element of D as a dot product of chosen terms.

`arithmetic_tests` lists the tests, `arithmetic_summary` reads the bit patterns that a chip gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...gen.kernels.kernel_list import Kernel
from ...spec.addresses import DescribedMatrix
from ...spec.errors import Question
from ...spec.numerics_records import Format
from ...spec.parts import computes, element_type
from ...spec.sparse import positions
from ...spec.specification import Specification
from ..raw_kernel import Launcher, MemoryElements, chunks, of_kernel
from .codes import decode, encode
from .probe_bench import Bench, Codes, plain, stored_columns

__all__ = ["Dot", "DotTest", "arithmetic_kernels"]

_JOBS = 1 << 12


@dataclass(frozen=True)
class DotTest:
    """Products (k, a, b) and a C, for one element of D; -0.0, inf and nan are meant as such."""

    name: str
    terms: tuple[tuple[int, float, float], ...]
    c: float = 0.0
    rest: float = 0.0  # a of every other k


def arithmetic_kernels(specification: Specification, kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    """One kernel for each set of floating-point types."""
    seen = set()
    for kernel in kernels:
        if not computes(kernel.instruction):
            continue
        element, ctype, dtype = (element_type(kernel.variant, part) for part in "ACD")
        if element not in specification.formats or dtype not in specification.formats:
            continue
        key = (kernel.variant.row.id, kernel.variant.fields.get("spvariant"), element, dtype, ctype)
        if key not in seen:
            seen.add(key)
            yield kernel


class Dot:
    """Row 0 of A times column 0 of B plus C, on a launcher; the specification says where the elements lie."""

    def __init__(self, specification: Specification, kernel: Kernel, launcher: Launcher) -> None:
        self.specification = specification
        self.raw = of_kernel(kernel)
        self.variant = kernel.variant
        self.bench = Bench.of(specification, self.raw, launcher, lambda e: encode(specification, e, 1.0))
        self.types = {part: element_type(self.variant, part) for part in "ABCD"}

    @cached_property
    def length(self) -> int:
        """How many products an element of D has."""
        return stored_columns(self.specification, self.raw)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The k that every stored element of A meets, under the first valid code."""
        k = int(self.variant.fields["k"])
        if not self.variant.row.row.sparsity:
            return tuple(range(k))
        sparsity = self.specification.sparsity_of(self.variant)
        code = self.specification.codes_of(self.variant)[0]
        chunk = positions(sparsity, code)
        return tuple(start + at for start in range(0, k, sparsity.chunk) for at in chunk)

    def _held(self, letter: str, wanted: Mapping[str, int]) -> int:
        """The flat number of the fragment's element at a position."""
        layout = self.specification.layout_of(self.variant, letter)
        parameters = {name: int(self.variant.fields[name]) for name in layout.parameters}
        per = self.raw.count(letter) // self.raw.threads
        names = (*layout.inputs, *layout.outputs)
        for point in layout.points(parameters):
            named = dict(zip(names, point, strict=True))
            if all(named[name] == value for name, value in wanted.items()):
                return named["t"] * per + named["i"]
        raise Question(f"no element of {letter} is at {dict(wanted)}")

    def _stored(self, memory: MemoryElements, letter: str, k: int) -> int:
        """The element of a matrix in shared memory, not swizzled, at (0, k)."""
        row = memory.bytes // int(self.variant.fields["m" if letter == "A" else "n"])
        kind = self.raw.descriptors[letter]
        matrix = DescribedMatrix.of(
            self.specification.rules_of(kind),
            self.specification.layouts,
            self.specification.addresses.swizzle,
            self.specification.descriptors[kind],
            plain(self.specification, kind, 0, row, memory.width),
            "K",
            memory.width // 8,
        )
        return matrix.address(0, k) * 8 // memory.width

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        product = {"product": 0} if "products" in self.variant.fields and self._has_products else {}
        a_memory, b_memory = self.bench.a, self.bench.b
        a = [
            self._stored(a_memory, "A", k) if a_memory else self._held("A", {"row": 0, "col": k, **product})
            for k in range(self.length)
        ]
        b = [
            self._stored(b_memory, "B", k) if b_memory else self._held("B", {"row": k, "col": 0, **product})
            for k in self.columns
        ]
        c = self._held(self.bench.accumulator, {"row": 0, "col": 0, **product})
        d = self._held("D", {"row": 0, "col": 0, **product})
        return np.array(a), np.array(b), c, d

    @property
    def _has_products(self) -> bool:
        return "product" in self.specification.layout_of(self.variant, "D").outputs

    def run(self, tests: Sequence[DotTest]) -> dict[str, int]:
        """The bit pattern that D had in every test."""
        a_at, b_at, c_at, d_at = self._places
        results: dict[str, int] = {}
        code = 0
        if self.variant.row.row.sparsity:
            code = self.specification.codes_of(self.variant)[0]
        metadata = np.full((1, self.raw.threads), code * 0x1111_1111, np.uint32)
        for part in chunks(len(tests), _JOBS):
            chosen = tests[part]
            a = np.zeros((len(chosen), self.bench.count("A")), np.uint64)
            b = np.zeros((len(chosen), self.bench.count("B")), np.uint64)
            c = np.zeros((len(chosen), self.bench.count(self.bench.accumulator)), np.uint64)
            a[:, a_at], b[:, b_at], c[:, c_at] = self.codes(chosen)
            patterns = self.bench.patterns(self.bench.launch(a, b, c, metadata))[:, d_at]
            results.update((test.name, int(p)) for test, p in zip(chosen, patterns, strict=True))
        return results

    def codes(self, tests: Sequence[DotTest]) -> tuple[Codes, Codes, Codes]:
        """The bit patterns of every test's elements: (tests, products) of A and of B, (tests,) of C."""
        a = np.full((len(tests), self.length), self._code("A", 0.0), np.uint64)
        b = np.full((len(tests), self.length), self._code("B", 1.0), np.uint64)
        c = np.array([self._code("C", test.c) for test in tests], np.uint64)
        for job, test in enumerate(tests):
            a[job] = self._code("A", test.rest)
            for k, x, y in test.terms:
                a[job, k] = self._code("A", x)
                b[job, k] = self._code("B", y)
        return a, b, c

    def _code(self, letter: str, value: float) -> int:
        element = self.types[letter]
        form = self.specification.formats[element]
        if value != value or abs(value) == float("inf"):
            return special(form, value)
        return encode(self.specification, element, value)

    def value(self, pattern: int) -> float:
        """D as a number."""
        return float(decode(self.specification, self.types["D"], np.array([pattern], np.uint64))[0])


def special(form: Format, value: float) -> int:
    """The bit pattern of an infinity or of a quiet NaN; raises Question where there is none."""
    top = (1 << form.exponent) - 1 << form.fraction
    if form.specials == "nan" and value != value:
        return top | (1 << form.fraction) - 1
    if form.specials != "ieee":
        raise Question("the element type has no such value")
    sign = 1 << form.exponent + form.fraction if value < 0 else 0
    return (sign | top | (1 << form.fraction - 1 if value != value else 0)) << form.ignored
