"""Hold the errors that `ptxmma numerics` bounds against exact sums of inputs drawn to be hard.

python bench/sum_bounds.py [PATTERN] [--count N] [--seed N]

A line for each kind of sum of floating-point numbers: how many sums were tried, by the definition, and the
greatest part of its bound that an error came to. Sums with an infinity or a NaN, or too large for their
type, are drawn, but not counted. The exit code is 1 where an error is more than its bound.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ptxmma.cli.main import run_script
from ptxmma.gen.arithmetic.element_codes import value_of
from ptxmma.gen.arithmetic.type_sets import TypeSet, type_sets
from ptxmma.spec.api import load
from ptxmma.spec.chip_arithmetic import FACTORS, ChipArithmetic
from ptxmma.spec.dot_product import BlockSteps, DotProduct, ElementCode
from ptxmma.spec.numerics_records import Format
from ptxmma.spec.parts import computes
from ptxmma.spec.patterns import greatest
from ptxmma.spec.selection import select
from ptxmma.spec.sum_bounds import SumBound, bound_of

TARGET = "sm_90a"


@dataclass(frozen=True)
class TriedSum:
    """One sum of an element of D: how far it is from the exact sum of its terms, and how far at most."""

    step: str
    error: Fraction
    bound: Fraction


def kinds(pattern: str | None) -> Iterator[TypeSet]:
    """Type sets with floating-point results, those whose blocks are the same once."""
    seen = set()
    variants = [one for one in select(load(), pattern, None, TARGET) if computes(one.instruction)]
    for one in type_sets(load(), variants, TARGET):
        blocks = repr([(block.integers, len(block.products), block.types) for block in one.arithmetic.blocks])
        key = *one.arithmetic.types.values(), blocks
        if one.arithmetic.types["D"] in load().formats and key not in seen:
            seen.add(key)
            yield one


def tried(arithmetic: ChipArithmetic, count: int, source: random.Random) -> Iterator[TriedSum]:
    """Sums of so many elements of D."""
    definition = DotProduct(load(), arithmetic)
    for _ in range(count):
        a, b, c = _drawn(arithmetic, source)
        x, y = ([ElementCode(code) for code in codes] for codes in (a, b))
        for steps in definition.steps(x, y, c):
            bound = bound_of(load(), arithmetic, steps.block)
            found = _error(arithmetic, steps, a, b)
            if found is not None:
                error, result = found
                most = Fraction(0) if bound is None else _value(bound, steps, result)
                yield TriedSum(steps.block.step.id, error, most)


def _error(
    arithmetic: ChipArithmetic, steps: BlockSteps, a: Sequence[int], b: Sequence[int]
) -> tuple[Fraction, Fraction] | None:
    """A sum's distance from the exact one, and the sum; None if it is no number or too large."""
    block, exact = steps.block, Fraction(0)
    terms = [
        [
            value_of(load(), arithmetic.types[part], codes[i])
            for part, codes in zip(FACTORS, (a, b), strict=True)
        ]
        for i in block.products
    ]
    terms += [[value_of(load(), kind, code)] for kind, code in zip(block.types, steps.addends, strict=True)]
    result = value_of(load(), block.result, steps.code)
    for term in terms:
        product = Fraction(1)
        for value in term:
            if not isinstance(value, Fraction):
                return None
            product *= value
        exact += product
    if not isinstance(result, Fraction) or abs(exact) > greatest(load().formats[block.result]):
        return None
    return abs(result - exact), result


def _value(bound: SumBound, steps: BlockSteps, result: Fraction) -> Fraction:
    """The bound of one sum as a number."""
    form = load().formats[steps.block.result]
    unit = 1 - form.bias - form.fraction
    if result:
        unit = max(unit, _exponent(result) - bound.digits + 1)
    window = Fraction(0)
    if bound.window is not None:
        window = Fraction(2) ** (steps.result["top"] - steps.result["offset"] - bound.window)
    return bound.value(window, Fraction(2) ** unit)


def _exponent(value: Fraction) -> int:
    """The exponent of a number's first digit."""
    value = abs(value)
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess - (value < Fraction(2) ** guess)


def _drawn(arithmetic: ChipArithmetic, source: random.Random) -> tuple[list[int], list[int], int]:
    """Elements of A and B and one of C: of any bits, alike, far apart by about a window, or cancelled."""
    a, b, c = (load().formats[arithmetic.types[part]] for part in ("A", "B", "C"))
    windows = [block.integers["window"] for block in arithmetic.blocks if "window" in block.integers]
    kind = source.choice(("any", "alike", "apart", "cancelled", "least"))
    first = source.randrange(1 << a.exponent)
    second = source.randrange(1 << b.exponent)
    third = first - a.bias + second - b.bias + c.bias
    gap = source.choice(windows or [c.fraction + 1]) + source.randint(-2, 2)
    lower = 0 if kind == "least" else first
    one = source.choice((None, 0, 1))

    def element(form: Format, around: int, further: int = 0) -> int:
        if kind == "any":
            return source.getrandbits(form.fraction + form.exponent + form.ignored + 1)
        field = min(max(around - further + source.randint(0, 1), 0), (1 << form.exponent) - 1)
        fraction = source.choice((source.getrandbits(form.fraction), (1 << form.fraction) - 1, 0))
        sign = source.getrandbits(1) if one is None else one
        return (sign << form.exponent + form.fraction | field << form.fraction | fraction) << form.ignored

    far = kind in ("apart", "cancelled")
    left = [element(a, lower, far * (gap // 2)) for _ in range(arithmetic.products)]
    right = [element(b, second, far * (gap - gap // 2)) for _ in range(arithmetic.products)]
    if far:
        at = source.randrange(arithmetic.products)
        left[at], right[at] = element(a, first), element(b, second)
        if kind == "cancelled":
            other = source.randrange(arithmetic.products)
            left[other] = left[at] ^ 1 << a.exponent + a.fraction + a.ignored
            right[other] = right[at]
    return left, right, element(c, third, source.choice((0, gap, -gap, gap // 2)))


def main() -> int:
    """Try every kind, and print how far the errors went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pattern", nargs="?")
    parser.add_argument("--count", type=int, default=1000, help="elements of D of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    every = beyond = 0
    for one in kinds(args.pattern):
        found = list(tried(one.arithmetic, args.count, random.Random(args.seed)))
        most = max((float(sum_.error / sum_.bound) for sum_ in found if sum_.bound), default=0.0)
        every += len(found)
        beyond += sum(sum_.error > sum_.bound for sum_ in found)
        types = " ".join(one.arithmetic.types.values())
        print(f"{one.arithmetic.row.id} {types} K {one.arithmetic.products}: {len(found)} sums, {most:.3f}")
    print(f"{every} sums, {beyond} beyond the bound")
    return int(beyond > 0)


if __name__ == "__main__":
    run_script(main)
