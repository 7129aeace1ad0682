"""Tests of a dot product: what is kept of small terms, rounding, special values, which k are added together.

A test is one element of D: a few products and a C. With a big term, its negative and a small term, the sum is
the small one exactly, or what the alignment to the big one left of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ...spec.errors import Question
from ...spec.numerics_records import Format
from .arithmetic_probe import Dot, DotTest

__all__ = ["ROUNDED", "PowersOfTwo", "first_tests", "second_tests"]

_FARTHEST = 60  # how far apart, in powers of two, big and small terms are at most


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
            raise Question(f"2**{exponent} is not a product of two normal numbers")
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


ROUNDED = {"quarter": (-2,), "half": (-1,), "more": (-1, -2), "odd": (0, -1)}


def _rounding(dot: Dot, known: PowersOfTwo) -> Iterator[DotTest]:
    """1 plus parts of the last place of D, from products only and on top of C."""
    last = -known.d.fraction
    for sign in (1.0, -1.0):
        for name, parts in ROUNDED.items():
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
