"""The arithmetic of floating-point products, measured: precision kept, rounding, blocks, and special values.

Every test is one element of D: a few products and a C. What a chip gave is kept as bit patterns; `summary`
reads them. With a big term, its negative and a small term, the sum is the small one exactly, or what the
alignment to the big one left of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
from .probe_bench import Bench, plain, stored_columns

__all__ = [
    "Dot",
    "DotTest",
    "PowersOfTwo",
    "Summary",
    "arithmetic_kernels",
    "first_tests",
    "kept",
    "second_tests",
    "summary",
]

_FARTHEST = 60  # how far apart, in powers of two, big and small terms are at most
_JOBS = 1 << 12


@dataclass(frozen=True)
class DotTest:
    """Products (k, a, b) and a C, for one element of D; -0.0, inf and nan are meant as such."""

    name: str
    terms: tuple[tuple[int, float, float], ...]
    c: float = 0.0
    rest: float = 0.0  # a of every other k


def arithmetic_kernels(specification: Specification, kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    """Those of some kernels that multiply and add floating-point numbers: one for each set of types."""
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
    """Row 0 of A times column 0 of B plus C, on a launcher; places are the specification's."""

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
        """The flat element of a fragment that holds a place."""
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
            for job, test in enumerate(chosen):
                a[job, a_at] = self._code("A", test.rest)
                b[job, b_at] = self._code("B", 1.0)
                for k, x, y in test.terms:
                    a[job, a_at[k]] = self._code("A", x)
                    b[job, b_at[k]] = self._code("B", y)
                c[job, c_at] = self._code("C", test.c)
            patterns = self.bench.patterns(self.bench.launch(a, b, c, metadata))[:, d_at]
            results.update((test.name, int(p)) for test, p in zip(chosen, patterns, strict=True))
        return results

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


@dataclass(frozen=True)
class PowersOfTwo:
    """The powers of two that a dot product can be tested with."""

    a: Format
    d: Format
    big: int
    farthest: int

    @classmethod
    def of(cls, dot: Dot) -> PowersOfTwo:
        """From the types of A, C and D."""
        a, c, d = (dot.specification.formats[dot.types[letter]] for letter in "ACD")
        greatest = min(c.bias, d.bias) - 2
        big = min(2 * _greatest(a), greatest, _FARTHEST)
        least = max(2 * (1 - a.bias), 1 - min(c.bias, d.bias) - min(c.fraction, d.fraction))
        return cls(a, d, big, min(big - least - 1, _FARTHEST))

    def split(self, exponent: int) -> tuple[float, float]:
        """Two powers of two whose product is one of them."""
        greatest = _greatest(self.a)
        low = max(1 - self.a.bias, min(greatest, exponent // 2))
        other = exponent - low
        if not 1 - self.a.bias <= other <= greatest:
            raise Question(f"2**{exponent} is no product of two normal numbers")
        return 2.0**low, 2.0**other

    def term(self, k: int, exponent: int, factor: float = 1.0) -> tuple[int, float, float]:
        """factor * 2**exponent at k."""
        x, y = self.split(exponent)
        return k, factor * x, y


def _greatest(form: Format) -> int:
    """The greatest exponent of a number with a significand up to 1.5."""
    return form.bias if form.specials == "ieee" else (1 << form.exponent) - 1 - form.bias


def first_tests(dot: Dot) -> Iterator[DotTest]:
    """Tests that need to know nothing: precision, rounding, special values."""
    known = PowersOfTwo.of(dot)
    big, term = known.big, known.term
    whole = 2.0**big
    for j in range(known.farthest + 1):
        e = big - j
        yield DotTest(f"block {j}", (term(0, big), term(1, big, -1.0), term(2, e)))
        yield DotTest(f"c {j}", (term(0, big, -1.0), term(1, e)), whole)
        yield DotTest(f"small c {j}", (term(0, big), term(1, big, -1.0)), 2.0**e)
        for sign, word in ((1.5, "half"), (-1.5, "minus half")):
            yield DotTest(f"{word} {j}", (term(0, big), term(1, big, -1.0), term(2, e, sign)))
    yield from _rounding(dot, known)
    yield from _specials(dot, known)


_ROUNDED = {"quarter": (-2,), "half": (-1,), "more": (-1, -2), "odd": (0, -1)}


def _rounding(dot: Dot, known: PowersOfTwo) -> Iterator[DotTest]:
    """1 plus parts of the last place of D, from products only and on top of C."""
    last = -known.d.fraction
    for sign in (1.0, -1.0):
        for name, parts in _ROUNDED.items():
            for top in ("C", "product"):
                start = 0 if top == "C" else 1
                if start + len(parts) > dot.length:
                    continue
                try:
                    terms = [known.term(start + i, last + part, sign) for i, part in enumerate(parts)]
                except Question:
                    continue
                if top == "product":
                    terms.insert(0, (0, sign, 1.0))
                label = f"round {'+' if sign > 0 else '-'} {name} on {top.lower()}"
                yield DotTest(label, tuple(terms), sign if top == "C" else 0.0)


def _specials(dot: Dot, known: PowersOfTwo) -> Iterator[DotTest]:
    form_a, form_c, form_d = (dot.specification.formats[dot.types[letter]] for letter in "ACD")
    least_a = 2.0 ** (1 - form_a.bias - form_a.fraction)
    least_c = 2.0 ** (1 - form_c.bias - form_c.fraction)
    up = 2.0 ** min(_greatest(form_a), 8)
    yield DotTest("subnormal a", ((0, least_a, up),))
    yield DotTest("subnormal b", ((0, up, least_a),))
    yield DotTest("subnormal c", (), least_c)
    below = 1 - form_d.bias - form_d.fraction
    with suppress(Question):
        yield DotTest("subnormal d", (known.term(0, below),))
    yield DotTest("+0 + -0", (), -0.0)
    yield DotTest("-0 + -0", (), -0.0, rest=-0.0)
    yield DotTest("-0 + +0", (), 0.0, rest=-0.0)
    yield DotTest("1 - 1", ((0, 1.0, 1.0), (1, -1.0, 1.0)))
    yield DotTest("nan c", (), float("nan"))
    yield DotTest("inf c", (), float("inf"))
    yield DotTest("-inf c", (), float("-inf"))
    if form_a.specials != "none":
        yield DotTest("nan a", ((0, float("nan"), 1.0),))
    if form_a.specials == "ieee":
        infinite = float("inf")
        yield DotTest("inf a", ((0, infinite, 1.0),))
        yield DotTest("inf * 0", ((0, infinite, 0.0),))
        yield DotTest("inf - inf", ((0, infinite, 1.0), (1, -infinite, 1.0)))
        yield DotTest("inf a - inf c", ((0, infinite, 1.0),), -infinite)
    greatest = (2.0 - 2.0**-form_d.fraction) * 2.0**form_d.bias
    if form_c == form_d:
        with suppress(Question):
            yield DotTest("overflow on c", (known.term(0, form_d.bias),), greatest)
            x, y = known.split(form_d.bias)
            beyond = (x * 2, y)
            yield DotTest("overflow", ((0, *beyond),))
            yield DotTest("overflow and back", ((0, *beyond), (1, -beyond[0], beyond[1]), (2, 1.0, 1.0)))


def second_tests(dot: Dot, kept: int) -> Iterator[DotTest]:
    """Which k are added together: a small term that does not survive beside a big pair."""
    known = PowersOfTwo.of(dot)
    j = min(kept + 4, known.farthest)
    if j <= kept:
        return
    e, last = known.big - j, dot.length - 1
    for s in range(2, dot.length):
        terms = (known.term(0, known.big), known.term(1, known.big, -1.0), known.term(s, e))
        yield DotTest(f"first pair, small {s}", terms)
    for s in range(dot.length - 2):
        terms = (known.term(last - 1, known.big), known.term(last, known.big, -1.0), known.term(s, e))
        yield DotTest(f"last pair, small {s}", terms)
    for s in range(2, dot.length):
        terms = (known.term(0, known.big), known.term(s, known.big, -1.0), known.term(1, e))
        yield DotTest(f"pair 0 and {s}, small 1", terms)
    half = known.big - kept - 1
    if dot.length > 3 and known.big - half <= known.farthest:
        pair = (known.term(0, known.big), known.term(1, known.big, -1.0))
        yield DotTest("two halves", (*pair, known.term(2, half), known.term(3, half)))


@dataclass(frozen=True)
class Summary:
    """What the patterns of one kernel amount to. Bits count those below the leading one of the greatest term;
    at the greatest distance that the types allow, nothing was lost: `all` says so."""

    bits: int
    all: bool
    bits_c: int
    bits_small_c: int
    dropped: str
    rounding: str
    rounding_c: str
    block: str
    halves: str
    specials: Mapping[str, str]


def kept(dot: Dot, patterns: Mapping[str, int], name: str) -> int:
    """The greatest distance up to which the small term came through."""
    known = PowersOfTwo.of(dot)
    for j in range(known.farthest + 1):
        if dot.value(patterns[f"{name} {j}"]) != 2.0 ** (known.big - j):
            return j - 1
    return known.farthest


def summary(dot: Dot, patterns: Mapping[str, int]) -> Summary:
    """Read the patterns of both sets of tests."""
    known = PowersOfTwo.of(dot)
    bits = kept(dot, patterns, "block")
    every = bits == known.farthest
    unit = 2.0 ** (known.big - bits)
    dropped = "none"
    if not every:
        ends = [dot.value(patterns[f"{name} {bits}"]) / unit for name in ("half", "minus half")]
        words = {
            (1.0, -1.0): "toward zero",
            (2.0, -2.0): "to nearest",
            (1.0, -2.0): "down",
            (1.5, -1.5): "none",
        }
        dropped = words.get((ends[0], ends[1]), f"{ends}")
    specials = {
        name: f"{pattern:#0{2 + _digits(known.d)}x}"
        for name, pattern in patterns.items()
        if not name.startswith(
            ("block", "c ", "small c", "half", "minus", "round", "first", "last", "pair", "two")
        )
    }
    halves = "-"
    if "two halves" in patterns:
        halves = "added first" if dot.value(patterns["two halves"]) else "each dropped"
    return Summary(
        bits,
        every,
        kept(dot, patterns, "c"),
        kept(dot, patterns, "small c"),
        dropped,
        _rounding_word(dot, patterns, "product"),
        _rounding_word(dot, patterns, "c"),
        _block(dot, patterns),
        halves,
        specials,
    )


def _digits(form: Format) -> int:
    return (1 + form.exponent + form.fraction + form.ignored) // 4


def _rounding_word(dot: Dot, patterns: Mapping[str, int], top: str) -> str:
    """What was done with a quarter of the last place, a half, three quarters, one and a half."""
    if kept(dot, patterns, "block" if top == "product" else "c") <= PowersOfTwo.of(dot).d.fraction:
        return "-"
    last = 2.0 ** -PowersOfTwo.of(dot).d.fraction
    seen = []
    for sign, word in ((1.0, "+"), (-1.0, "-")):
        for name in _ROUNDED:
            pattern = patterns.get(f"round {word} {name} on {top}")
            if pattern is None:
                return "-"
            seen.append(round((dot.value(pattern) * sign - 1) / last))
    known: dict[tuple[int, ...], str] = {
        (0, 0, 0, 1, 0, 0, 0, 1): "toward zero",
        (0, 0, 1, 2, 0, 0, 1, 2): "to nearest even",
        (0, 1, 1, 2, 0, 1, 1, 2): "to nearest, ties away",
        (0, 0, 0, 2, 0, 0, 0, 2): "to nearest even, at every addition",
        (0, 0, 0, 1, 1, 1, 1, 2): "down",
        (1, 1, 1, 2, 0, 0, 0, 1): "up",
    }
    return known.get(tuple(seen), str(seen))


def _block(dot: Dot, patterns: Mapping[str, int]) -> str:
    """How many consecutive k are aligned together."""
    first = [patterns.get(f"first pair, small {s}") for s in range(2, dot.length)]
    if None in first or not first:
        return "-"
    lost = [not dot.value(pattern or 0) for pattern in first]
    if all(lost):
        return str(dot.length)
    length = 2 + lost.index(False)
    if any(lost[length - 2 :]):
        return "".join("x" if gone else "." for gone in (True, True, *lost))
    return str(length)
