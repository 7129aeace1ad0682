"""One element of D, step by step as a person reads it, against the exact value; by the definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...spec.chip_arithmetic import ZERO, C, ChipArithmetic
from ...spec.dot_product import BlockSteps, DotProduct, ElementCode
from ...spec.patterns import Special
from ...spec.specification import Specification
from .element_codes import value_of

__all__ = ["ExplainedBlock", "ExplainedTerm", "Explanation", "explained"]

Value = Fraction | Special


@dataclass(frozen=True)
class ExplainedTerm:
    """A term of a sum: what it is, the patterns and types it is made of, its exact value, what is kept of it.

    `exponent` is the power of two by which the model measures it.
    """

    name: str
    codes: tuple[tuple[str, int], ...]
    exact: Value
    kept: Fraction | None
    exponent: int | None


@dataclass(frozen=True)
class ExplainedBlock:
    """A sum: its terms, the powers of two of the window's begin and of its last place, what it comes to."""

    steps: BlockSteps
    terms: tuple[ExplainedTerm, ...]
    top: int | None
    quantum: int | None
    total: Fraction | None
    value: Value


@dataclass(frozen=True)
class Explanation:
    """All blocks, D, and the exact value of all products and C; None where it is not a number."""

    arithmetic: ChipArithmetic
    blocks: tuple[ExplainedBlock, ...]
    code: int
    value: Value
    exact: Fraction | None


def explained(
    specification: Specification,
    arithmetic: ChipArithmetic,
    a: Sequence[ElementCode],
    b: Sequence[ElementCode],
    c: int,
) -> Explanation:
    """How a chip computes one element of D."""
    steps = list(DotProduct(specification, arithmetic).steps(a, b, c))
    blocks = [_block(specification, arithmetic, one, a, b) for one in steps]
    last = blocks[-1]
    exact: Fraction | None = Fraction(0)
    terms = [term for block in blocks for term in block.terms if not term.name.startswith("sum ")]
    for term in terms:
        exact = exact + term.exact if exact is not None and isinstance(term.exact, Fraction) else None
    return Explanation(arithmetic, tuple(blocks), steps[-1].code, last.value, exact)


def _block(
    specification: Specification,
    arithmetic: ChipArithmetic,
    steps: BlockSteps,
    a: Sequence[ElementCode],
    b: Sequence[ElementCode],
) -> ExplainedBlock:
    block, names = steps.block, steps.result
    unit = Fraction(2) ** (names["quantum"] - names["offset"]) if "quantum" in names else Fraction(1)
    float_result = block.result in specification.formats
    terms = []
    for i, term in zip(block.products, steps.terms, strict=False):
        x, y = (
            _signed(value_of(specification, arithmetic.types[part], codes[i].code), codes[i].negated)
            for part, codes in (("A", a), ("B", b))
        )
        exact = _product(x, y) if float_result else _kept(term, Fraction(1))
        codes = (arithmetic.types["A"], a[i].code), (arithmetic.types["B"], b[i].code)
        terms.append(_term(f"k {i}", codes, exact, term, unit))
    added = zip(block.addends, block.types, steps.addends, steps.terms[len(block.products) :], strict=True)
    for number, element, code, term in added:
        name = {C: "C", ZERO: "zero"}.get(number, f"sum {number + 1}")
        terms.append(_term(name, ((element, code),), value_of(specification, element, code), term, unit))
    kept = [term.kept for term in terms]
    numbers = all(isinstance(term.exact, Fraction) for term in terms)
    shown = "quantum" in names and numbers
    return ExplainedBlock(
        steps,
        tuple(terms),
        names["top"] - names["offset"] if shown else None,
        names["quantum"] - names["offset"] if shown else None,
        sum((one for one in kept if one is not None), Fraction(0)) if numbers else None,
        value_of(specification, block.result, steps.code),
    )


def _term(
    name: str, codes: tuple[tuple[str, int], ...], exact: Value, term: Mapping[str, int], unit: Fraction
) -> ExplainedTerm:
    number = isinstance(exact, Fraction)
    exponent = term["exponent"] - term["offset"] if number and "exponent" in term and exact else None
    return ExplainedTerm(name, codes, exact, _kept(term, unit) if number else None, exponent)


def _kept(term: Mapping[str, int], unit: Fraction) -> Fraction:
    """What is left of a term."""
    kept = term["kept"] * unit
    return -kept if term.get("negative") else kept


def _signed(value: Value, negated: bool) -> Value:
    if not negated or value == "nan":
        return value
    return -value if isinstance(value, Fraction) else "inf" if value == "-inf" else "-inf"


def _product(x: Value, y: Value) -> Value:
    """The product of two values."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    if "nan" in (x, y) or x == 0 or y == 0:
        return "nan"
    negative = (x == "-inf" or (isinstance(x, Fraction) and x < 0)) != (
        y == "-inf" or (isinstance(y, Fraction) and y < 0)
    )
    return "-inf" if negative else "inf"
