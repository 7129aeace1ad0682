"""The least and greatest elements, products and partial sums that a plan of inputs makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .plans import Computation, Draw, InputPlan, Range

__all__ = [
    "Bounds",
    "SumBounds",
    "addend_bounds",
    "drawn_elements",
    "nonzero_terms",
    "product_bounds",
    "sum_bounds",
    "term_bounds",
    "widest",
]

Bounds = tuple[int, int]


def widest(draw: Draw, negated: bool = False) -> Bounds:
    """The integers of a draw; with their negatives where imm-scale may negate them."""
    return (min(draw.low, -draw.high), max(draw.high, -draw.low)) if negated else (draw.low, draw.high)


def product_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest product, without scale factors."""
    if computed.operation:
        return 0, 1
    negated = not computed.d.integer
    corners = [x * y for x in widest(plan.a, negated) for y in widest(plan.b, negated)]
    return min(corners), max(corners)


def term_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest term of a sum, in the plan's unit: a scaled product, or 0."""
    low, high = product_bounds(computed, plan)
    scale = plan.scale.high**2 if plan.scale else 1
    up = scale << (plan.a.exponent + plan.b.exponent + plan.scaling - plan.unit)
    return min(low, 0) * up, max(high, 0) * up


def addend_bounds(plan: InputPlan) -> Bounds:
    """The least and greatest C, in the plan's unit."""
    low, high = widest(plan.c)
    up = 1 << (plan.c.exponent - plan.unit)
    return low * up, high * up


def nonzero_terms(computed: Computation, plan: InputPlan) -> int:
    """How many products of a sum may be other than zero."""
    return plan.nonzero or computed.terms


def sum_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest partial sum, in the plan's unit."""
    (low, high), (least, most) = term_bounds(computed, plan), addend_bounds(plan)
    count = nonzero_terms(computed, plan)
    return count * low + min(least, 0), count * high + max(most, 0)


@dataclass(frozen=True)
class SumBounds:
    """What the partial sums of a plan are made of, in the plan's unit: so many terms, and C (if any)."""

    terms: Bounds
    count: int
    addend: Bounds | None
    unit: int

    @classmethod
    def of(cls, computed: Computation, plan: InputPlan) -> SumBounds:
        """Without C, where C makes a sum overflow or be rounded, once."""
        once = plan.nonzero == 1 or plan.name.startswith(("wrap.", "clamp."))
        addend = None if once else addend_bounds(plan)
        return cls(term_bounds(computed, plan), nonzero_terms(computed, plan), addend, plan.unit)

    @property
    def magnitude(self) -> int:
        """A bound of every partial sum with C."""
        (low, high), (least, most) = self.terms, self.addend or (0, 0)
        return max(-self.count * low - min(least, 0), self.count * high + max(most, 0))


def drawn_elements(computed: Computation, plan: InputPlan) -> Iterator[tuple[Range, str, Draw]]:
    """What a plan draws for every matrix: the numbers that its type has, the letter, and the integers."""
    for letter, held, draw in (
        ("A", computed.a, plan.a),
        ("B", computed.b, plan.b),
        ("C", computed.c, plan.c),
    ):
        low, high = widest(draw, letter != "C" and not held.integer)
        yield held, letter, Draw(low, high, draw.exponent)
