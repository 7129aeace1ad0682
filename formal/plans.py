"""Plans of inputs: ranges that a test draws inputs from, so that the text allows only one result.

A plan is a claim; formal/theorems/exactness.py proves it. Numbers are integers times a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from types import MappingProxyType

from ..spec.errors import Question, SpecError
from ..spec.numerics_records import Format, Guarantee
from ..spec.parts import computes, element_type
from ..spec.specification import Specification
from ..spec.variants import RowView, Variant

__all__ = [
    "PLANS",
    "Computation",
    "Draw",
    "InputPlan",
    "Range",
    "arithmetic",
    "computations",
    "number_range",
    "plans",
]

PLANS: Mapping[str, str] = MappingProxyType(
    {
        "sums": "elements of A and B of equal magnitudes; sums fill the precision that is guaranteed",
        "a-full": "elements of A have all bits of their significand, and the least exponent",
        "b-full": "elements of B have all bits of their significand, and the least exponent",
        "lowest": "the unit of products and sums is the least normal one",
        "highest": "sums reach the greatest exponent",
        "accumulator": "C takes almost all of the precision that is guaranteed, products one unit each",
        "rounding.positive": "one product meets a positive C; the sum lies between two numbers or on one",
        "rounding.negative": "one product meets a negative C; the sum lies between two numbers or on one",
        "rounding.wide": "one product of all bits meets C of all bits; the sum is rounded",
        "integers": "elements of A and B from all of their range; nothing overflows",
        "wrap.high": "C near the greatest accumulator; some results wrap",
        "wrap.low": "C near the least accumulator; some results wrap",
        "clamp.high": "no product is negative, C near the greatest accumulator; some results are clamped",
        "clamp.low": "no product is positive, C near the least accumulator; some results are clamped",
        "bits": "every bit of every element drawn: elements are moved, not computed with",
    }
)
_DEEP = 30  # a wide product reaches this many bits below the last bit of C
_CODE_BITS = 3  # of the elements of A in the plans whose sums fall between two numbers


@dataclass(frozen=True)
class Draw:
    """An integer in low .. high, times 2**exponent."""

    low: int
    high: int
    exponent: int = 0

    @property
    def magnitude(self) -> int:
        """The greatest absolute value of the integer."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class InputPlan:
    """How the elements of A, B and C of a test are drawn, and which clauses a test so drawn exercises.

    Where `nonzero` is set, only so many elements of a row of A are drawn (any of them); the others are
    zero. `garbage` low bits of every element of A and B, which are not part of its value, are random.
    `scale` is what scale factors are drawn from, one for each chunk of K of each row and column. A sum
    that is zero may have either sign.
    """

    name: str
    a: Draw
    b: Draw
    c: Draw
    clauses: tuple[str, ...]
    nonzero: int | None = None
    garbage: int = 0
    scale: Draw | None = None

    @property
    def unit(self) -> int:
        """The exponent of products, and of every sum: the least, where C has another."""
        return min(self.a.exponent + self.b.exponent + self.scaling, self.c.exponent)

    @property
    def scaling(self) -> int:
        """The exponent that a pair of scale factors adds."""
        return 2 * self.scale.exponent if self.scale else 0


@dataclass(frozen=True)
class Range:
    """The integers times powers of two that an element type has as normal numbers (or as integers).

    Up to `bits` bits of significand; exponents from `least` on; nothing above `greatest` times
    2**quantum. An integer type has bounds instead.
    """

    name: str
    bits: int
    least: int
    greatest: int
    quantum: int = 0
    integer: bool = False
    low: int = 0

    def highest(self, magnitude: int) -> int:
        """The greatest exponent with which integers up to a magnitude stay in range."""
        exponent = self.greatest.bit_length() - magnitude.bit_length() + self.quantum
        return exponent if self.holds(magnitude, exponent) else exponent - 1

    def holds(self, magnitude: int, exponent: int) -> bool:
        """Whether a magnitude times 2**exponent is not above the greatest."""
        up = exponent - self.quantum
        return magnitude << up <= self.greatest if up >= 0 else magnitude <= self.greatest << -up

    @cached_property
    def unnamed(self) -> Range:
        """The range without the name of its type."""
        return replace(self, name="")

    def of_bits(self, bits: int) -> Range:
        """The numbers of at most so many bits of significand."""
        return replace(self, bits=bits)

    @cached_property
    def full(self) -> int:
        """The greatest 2**j - 1 such that all integers up to it, in the least unit, are normal numbers."""
        bits = self.bits
        while not self.holds((1 << bits) - 1, self.least):
            bits -= 1
        return (1 << bits) - 1


@dataclass(frozen=True)
class Computation:
    """The computation of one variant: element types, the number of products in a sum, guaranteed precisions.

    `products` has the precision that is guaranteed of products, `sums` that of sums. `operation` is the
    bit operation that stands for the product, `rounding` the mode of a result that need not be exact.
    """

    a: Range
    b: Range
    c: Range
    d: Range
    terms: int
    products: Range
    sums: Range
    satfinite: bool
    rounding: str | None
    operation: str | None
    garbage: int
    scaled: bool

    def __str__(self) -> str:
        words = f"{self.a.name} x {self.b.name} + {self.c.name} -> {self.d.name}, {self.terms} products"
        marks = [self.operation or "", "satfinite" if self.satfinite else "", "scaled" if self.scaled else ""]
        marks += [f"{self.garbage} bits truncated"] if self.garbage else []
        marks += [f"products {self.products.bits} bits, sums {self.sums.bits}"] * (not self.d.integer)
        return ", ".join([words, *filter(None, marks)])


def _float_range(name: str, form: Format) -> Range:
    """The normal numbers of a format."""
    codes = 1 << form.exponent
    significand = (1 << (form.fraction + 1)) - 1
    top = codes - 1
    if form.specials == "ieee" or (form.specials == "nan" and form.fraction == 0):
        top -= 1  # an exponent of all ones is not a number
    elif form.specials == "nan":
        significand -= 1  # the pattern of all ones is not a number
    least = int(form.subnormals) - form.bias
    quantum = least - form.fraction
    greatest = significand << (top - int(form.subnormals))
    return Range(name, form.fraction + 1, least, greatest, quantum)


def number_range(specification: Specification, name: str) -> Range:
    """The numbers of an element type."""
    element = specification.index.types[name]
    if name in specification.formats:
        return _float_range(name, specification.formats[name])
    bits = element.bits
    if element.kind == "signed":
        return Range(name, bits - 1, 0, (1 << (bits - 1)) - 1, 0, True, -(1 << (bits - 1)))
    return Range(name, bits, 0, (1 << bits) - 1, 0, True, 0)


def _promised(specification: Specification, variant: Variant, of: str) -> Range | None:
    """The weakest precision that a clause of the row guarantees; None if no clause is about it."""
    found: list[Range] = []
    for clause in variant.row.row.numerical:
        guarantee: Guarantee | None = specification.guarantees.get(clause)
        if guarantee is None or guarantee.of != of:
            continue
        if guarantee.when is not None and not variant.evaluate(guarantee.when):
            continue
        names = [str(variant.fields.get(name, name)) for name in guarantee.precision]
        found.append(max((number_range(specification, name) for name in names), key=lambda held: held.bits))
    return min(found, key=lambda held: held.bits, default=None)


def arithmetic(specification: Specification, variant: Variant) -> Computation:
    """What a variant computes; raises SpecError where nothing is guaranteed of its sums."""
    a, b, c, d = (number_range(specification, element_type(variant, letter)) for letter in "ABCD")
    sparsity = specification.sparsities[variant.row.row.sparsity] if variant.row.row.sparsity else None
    terms = int(variant.fields["k"])
    if sparsity is not None:
        terms = terms * sparsity.slots // sparsity.chunk
    sums = _promised(specification, variant, "sums")
    products = _promised(specification, variant, "products") or sums
    if d.integer:
        sums = products = d
    if sums is None or products is None:
        row = variant.row.row
        what = f"nothing is guaranteed of the sums of {variant.mnemonic}"
        raise SpecError(what, row.place, f"a guarantee for one of {', '.join(row.numerical)}")
    truncated, rounded = (specification.has_effect(variant, name) for name in ("truncated", "rounded"))
    operation = str(variant.fields.get("op", "none"))
    return Computation(
        a,
        b,
        c,
        d,
        terms,
        products,
        min(sums, d, key=lambda held: held.bits),
        variant.fields.get("satfinite") == "satfinite",
        (str(variant.fields["rnd"]) if variant.fields.get("rnd", "none") != "none" else "rn")
        if rounded
        else None,
        None if operation == "none" else operation.split(".", 1)[0],
        specification.formats[a.name].ignored if truncated else 0,
        "scale-a" in variant.layouts,
    )


def plans(specification: Specification, variant: Variant) -> tuple[InputPlan, ...]:
    """The plans of one variant, each with the clauses of the row whose cases it names.

    An instruction that moves elements has the plan of all bits; one that neither computes nor moves has none.
    """
    clauses: dict[str, list[str]] = {}
    instruction = variant.row.family.instruction
    for clause in (*variant.row.row.numerical, *instruction.execution):
        for consumer in specification.clauses[clause].consumers:
            if consumer.case:
                clauses.setdefault(consumer.case, []).append(clause)
    if not computes(variant.instruction):
        if "bits" not in clauses:
            return ()
        nothing = Draw(0, 0)
        return (InputPlan("bits", nothing, nothing, nothing, tuple(clauses["bits"])),)
    computed = arithmetic(specification, variant)
    drawn = _integer_plans(computed) if computed.d.integer else _float_plans(computed)
    return tuple(
        InputPlan(name, a, b, c, tuple(clauses.get(name, ())), nonzero, computed.garbage, scale)
        for name, a, b, c, nonzero, scale in drawn
    )


def computations(
    specification: Specification, view: RowView
) -> Iterator[tuple[Computation, tuple[InputPlan, ...]]]:
    """Every arithmetic of a row's variants once, with its plans; N makes no difference."""
    if view.row.tolerated:
        return
    seen: set[object] = set()
    for variant in view.variants():
        key = tuple(value for name, value in variant.fields.items() if name != "n")
        if key not in seen and computes(variant.instruction):
            computed = arithmetic(specification, variant)
            if computed not in seen:
                yield computed, plans(specification, variant)
            seen.add(computed)
        seen.add(key)


_Drawn = tuple[str, Draw, Draw, Draw, int | None, Draw | None]


def _symmetric(magnitude: int, exponent: int = 0) -> Draw:
    return Draw(-magnitude, magnitude, exponent)


def _float_plans(computed: Computation) -> Iterator[_Drawn]:
    """Every partial sum is an integer of the guaranteed precision, in one unit."""
    scale = Draw(1, 2) if computed.scaled else None
    weight = computed.terms * (4 if computed.scaled else 1)
    whole = 1 << computed.sums.bits
    share = max(whole // (2 * weight), 1)
    product = min(share, 1 << computed.products.bits)
    full_a, full_b = computed.a.full, computed.b.full

    def shaped(qa: int, qb: int) -> tuple[int, int, int]:
        return qa, qb, min(weight * qa * qb, whole - weight * qa * qb, 1 << computed.c.bits)

    root = isqrt(product)
    even_a = min(root, full_a)
    balanced = shaped(even_a, min(product // even_a, full_b))
    wide_a = min(full_a, product)
    wide_b = min(full_b, product)
    for name, magnitudes, lean in (
        ("sums", balanced, "middle"),
        ("a-full", shaped(wide_a, min(product // wide_a, full_b)), "A"),
        ("b-full", shaped(min(product // wide_b, full_a), wide_b), "B"),
        ("lowest", balanced, "lowest"),
        ("highest", balanced, "highest"),
        ("accumulator", (1, 1, min(whole - weight, 1 << computed.c.bits)), "middle"),
    ):
        ea, eb = _exponents(computed, magnitudes, weight, lean)
        qa, qb, qc = magnitudes
        yield name, _symmetric(qa, ea), _symmetric(qb, eb), _symmetric(qc, ea + eb), None, scale
    if computed.rounding:
        yield from _rounded(computed)


def _exponents(
    computed: Computation, magnitudes: tuple[int, int, int], weight: int, lean: str
) -> tuple[int, int]:
    """Exponents of A and B: products, sums and results stay normal numbers, and far to one side."""
    qa, qb, qc = magnitudes
    bound = weight * qa * qb + qc
    held = (computed.sums, computed.c, computed.d)
    bounds = (bound, qc, bound)
    low_a, low_b = computed.a.least, computed.b.least
    high_a, high_b = computed.a.highest(qa), computed.b.highest(qb)
    lowest = max(*(kept.least for kept in held), low_a + low_b)
    highest = min(*(kept.highest(most) for kept, most in zip(held, bounds, strict=True)), high_a + high_b)
    if lowest > highest:
        raise Question(f"no exponent fits the products and the sums of {computed}")
    middle = min(max(0, lowest), highest)
    if lean == "A":
        ea = low_a
        eb = min(max(middle - ea, low_b), high_b)
        return ea, min(max(eb, lowest - ea), highest - ea)
    if lean == "B":
        eb = low_b
        ea = min(max(middle - eb, low_a), high_a)
        return min(max(ea, lowest - eb), highest - eb), eb
    unit = {"lowest": lowest, "highest": highest, "middle": middle}[lean]
    ea = min(max(unit // 2, low_a, unit - high_b), high_a, unit - low_b)
    return ea, unit - ea


def _rounded(computed: Computation) -> Iterator[_Drawn]:
    """One product is added to C, and only their sum is rounded: once, since there is only one order."""
    bits = computed.d.bits
    small = (1 << _CODE_BITS) - 1
    least, most = (1 << (bits - 1)) + small, (1 << bits) - 1 - small
    unit = _symmetric(1)
    yield "rounding.positive", _symmetric(small), unit, Draw(least, most, 2), 1, None
    yield "rounding.negative", _symmetric(small), unit, Draw(-most, -least, 2), 1, None
    half = (1 << (bits // 2)) - 1
    yield "rounding.wide", _symmetric(half), _symmetric(half), _symmetric(most, _DEEP), 1, None


def _integer_plans(computed: Computation) -> Iterator[_Drawn]:
    """Products are exact; only C can make a sum overflow, upwards or downwards."""
    a, b = Draw(computed.a.low, computed.a.greatest), Draw(computed.b.low, computed.b.greatest)
    low, high = computed.d.low, computed.d.greatest
    either = a.low < 0 or b.low < 0
    reach = computed.terms * (1 if computed.operation else a.magnitude * b.magnitude)
    yield "integers", a, b, Draw(low // 2, high // 2), None, None
    near = max(reach // (8 if either else 2), 1)
    if not computed.satfinite:
        yield "wrap.high", a, b, Draw(high - near, high), None, None
        if either:
            yield "wrap.low", a, b, Draw(low, low + near), None, None
        return
    near = max(reach // 2, 1)
    up_a, up_b = Draw(0, a.high), Draw(0, b.high)
    yield "clamp.high", up_a, up_b, Draw(high - near, high), None, None
    if a.low < 0:
        yield "clamp.low", Draw(a.low, 0), up_b, Draw(low, low + near), None, None
    elif b.low < 0:
        yield "clamp.low", up_a, Draw(b.low, 0), Draw(low, low + near), None, None
