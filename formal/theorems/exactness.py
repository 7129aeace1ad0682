"""Theorems about plans of inputs: under a plan the text leaves one result, whatever the order of additions.

Every partial sum is an integer in one unit. It is exact, in every order, when it fits the precision that the
text guarantees; an accumulator of integers that wraps or clamps has one result in every tree of additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

import z3

from ..plans import Computation, Draw, InputPlan, Range
from ..smt.obligations import Model, Obligation, refuting

__all__ = ["exactness_obligations", "modes_obligations"]

Bounds = tuple[int, int]
_MODES = ("rn", "rz", "rm", "rp", "ties away")


def _widest(draw: Draw, negated: bool = False) -> Bounds:
    """The integers of a draw; with their negatives where imm-scale may negate them."""
    return (min(draw.low, -draw.high), max(draw.high, -draw.low)) if negated else (draw.low, draw.high)


def _product_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest product, without scale factors."""
    if computed.operation:
        return 0, 1
    negated = not computed.d.integer
    corners = [x * y for x in _widest(plan.a, negated) for y in _widest(plan.b, negated)]
    return min(corners), max(corners)


def _term_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest term of a sum, in the plan's unit: a scaled product, or 0."""
    low, high = _product_bounds(computed, plan)
    scale = plan.scale.high**2 if plan.scale else 1
    up = scale << (plan.a.exponent + plan.b.exponent + plan.scaling - plan.unit)
    return min(low, 0) * up, max(high, 0) * up


def _addend(plan: InputPlan) -> Bounds:
    """The least and greatest C, in the plan's unit."""
    low, high = _widest(plan.c)
    up = 1 << (plan.c.exponent - plan.unit)
    return low * up, high * up


def _count(computed: Computation, plan: InputPlan) -> int:
    """How many products of a sum may be other than zero."""
    return plan.nonzero or computed.terms


def exactness_obligations(computed: Computation, plans: Iterable[InputPlan]) -> Iterator[Obligation]:
    """Every obligation of the plans of one arithmetic."""
    listed = tuple(plans)
    for plan in listed:
        yield from _inputs(computed, plan)
        yield _products(computed, plan)
        yield _sums(computed, plan)
        if plan.name.startswith("wrap."):
            yield _wrap(computed, plan)
            yield _overflows(computed, plan)
        if plan.name.startswith("clamp."):
            yield _clamp(computed, plan)
            yield _overflows(computed, plan)
        if plan.name == "accumulator" and computed.c.bits >= computed.sums.bits:
            yield _fills(computed, plan)
    if computed.rounding:
        yield from modes_obligations(computed, [plan for plan in listed if plan.nonzero == 1])


def _outside(value: z3.ArithRef, magnitude: int, exponent: int, held: Range) -> z3.BoolRef:
    """The integer `value` (of at most a magnitude) times 2**exponent is no number that `held` has."""
    if held.integer:
        return z3.Or(value < held.low, value > held.greatest)
    faults = [_unrepresentable(value, magnitude, held.bits)]
    up = exponent - held.quantum
    scaled = value * (1 << up) if up >= 0 else value
    greatest = held.greatest if up >= 0 else held.greatest << -up
    faults += [scaled > greatest, scaled < -greatest]
    if exponent < held.least:
        normal = 1 << (held.least - exponent)
        faults.append(z3.And(value < normal, value > -normal, value != 0))
    return z3.Or(*faults)


def _unrepresentable(value: z3.ArithRef, magnitude: int, bits: int) -> z3.BoolRef:
    """More than `bits` bits of significand: above 2**(bits + j), and no multiple of 2**(j + 1)."""
    if magnitude <= 1 << bits:
        return z3.Or(value > 1 << bits, value < -(1 << bits))
    faults = []
    for j in range(max(magnitude.bit_length() - bits, 0) + 1):
        bound = 1 << (bits + j)
        faults.append(z3.And(z3.Or(value > bound, value < -bound), value % (1 << (j + 1)) != 0))
    return z3.Or(*faults)


def _within(value: z3.ArithRef, bounds: Bounds) -> z3.BoolRef:
    return z3.And(value >= bounds[0], value <= bounds[1])


def _bits(value: int) -> int:
    """The bits of significand that an integer needs."""
    value = abs(value)
    return (value // (value & -value)).bit_length() if value else 1


def _number(value: int, exponent: int) -> str:
    return f"{value} * 2^{exponent}" if exponent else str(value)


def _why(value: int, exponent: int, held: Range) -> str:
    """A number, and why a range does not have it."""
    shown = _number(value, exponent)
    if held.integer:
        return f"{shown}, which is outside {held.low} .. {held.greatest}"
    if _bits(value) > held.bits:
        return f"{shown}, which needs {_bits(value)} bits of significand; {held.name} has {held.bits}"
    return f"{shown}, which is no normal number of {held.name}"


def _subject(computed: Computation, plan: InputPlan) -> str:
    return f"{plan.name}: {computed}"


@cache
def _inputs_text(bounds: Bounds, exponent: int, held: Range) -> str:
    value = z3.Int("value")
    fault = _outside(value, max(map(abs, bounds)), exponent, held)
    return refuting(_within(value, bounds), fault, logic="QF_LIA")


def _inputs(computed: Computation, plan: InputPlan) -> Iterator[Obligation]:
    drawn = {"A": (plan.a, computed.a), "B": (plan.b, computed.b), "C": (plan.c, computed.c)}
    for letter, (draw, held) in drawn.items():
        negated = letter != "C" and not held.integer
        bounds = _widest(draw, negated)

        def explain(model: Model, draw: Draw = draw, held: Range = held) -> str:
            return f"the element {_why(model.get('value', 0), draw.exponent, held)}"

        yield Obligation(
            "exact.inputs",
            f"{letter} of {_subject(computed, plan)}",
            _inputs_text(bounds, draw.exponent, held.unnamed),
            explain,
        )


@cache
def _products_text(first: Bounds, second: Bounds, held: Range) -> str:
    a, b = z3.Ints("a b")
    magnitude = max(map(abs, first)) * max(map(abs, second))
    within = held.integer
    fault = _outside(a * b, magnitude, 0, held) if within else _unrepresentable(a * b, magnitude, held.bits)
    return refuting(_within(a, first), _within(b, second), fault, logic="QF_NIA")


def _products(computed: Computation, plan: InputPlan) -> Obligation:
    """The product of two elements; that of two bits is a bit, whatever the operation."""
    exponent = plan.a.exponent + plan.b.exponent
    negated = not computed.d.integer
    first, second = _widest(plan.a, negated), _widest(plan.b, negated)

    def explain(model: Model) -> str:
        x, y = model.get("a", 0), model.get("b", 0)
        return f"a = {x}, b = {y}: the product {_why(x * y, exponent, computed.products)}"

    text = _products_text(first, second, computed.products.unnamed)
    return Obligation("exact.products", _subject(computed, plan), text, explain)


def _sum_bounds(computed: Computation, plan: InputPlan) -> Bounds:
    """The least and greatest partial sum, in the plan's unit."""
    (low, high), (least, most) = _term_bounds(computed, plan), _addend(plan)
    count = _count(computed, plan)
    return count * low + min(least, 0), count * high + max(most, 0)


@cache
def _sums_text(
    terms: Bounds, count: int, addend: Bounds | None, unit: int, held: Range, stored: Range
) -> str:
    """By induction on the number of products in a partial sum, it lies between so many times the least and
    the greatest term; and then it is exact, without C and with it (unless there is none)."""
    low, high = terms
    products, partial, term, c, total = z3.Ints("products partial term c sum")
    assumed = z3.And(_within(products, (0, count)), partial >= low * products, partial <= high * products)
    more = products + 1
    step = z3.And(
        products < count,
        _within(term, terms),
        z3.Or(partial + term < low * more, partial + term > high * more),
    )
    least, most = addend or (0, 0)
    magnitude = max(-count * low - min(least, 0), count * high + max(most, 0))
    added = z3.Or(c == 0, _within(c, addend)) if addend else c == 0
    faults = [_outside(total, magnitude, unit, kept) for kept in (held, stored)]
    inexact = z3.And(added, total == partial + c, z3.Or(*faults))
    return refuting(assumed, z3.Or(step, inexact), logic="QF_LIA")


def _sums(computed: Computation, plan: InputPlan) -> Obligation:
    """Every partial sum is exact; those without C, where C makes a sum overflow or be rounded, once."""
    once = plan.nonzero == 1 or plan.name.startswith(("wrap.", "clamp."))
    unit = plan.unit

    def explain(model: Model) -> str:
        value, c = model.get("sum", 0), model.get("c", 0)
        start = f"C = {_number(c, unit)} and " if c else ""
        kept = (computed.sums, computed.d)
        held = next((h for h in kept if h.integer or _bits(value) > h.bits), computed.d)
        return f"{start}{model.get('products', 0)} products can make {_why(value, unit, held)}"

    text = _sums_text(
        _term_bounds(computed, plan),
        _count(computed, plan),
        None if once else _addend(plan),
        unit,
        computed.sums.unnamed,
        computed.d.unnamed,
    )
    return Obligation("exact.sums", _subject(computed, plan), text, explain)


@cache
def _wrap_text(bounds: Bounds, width: int) -> str:
    wide = max(bound.bit_length() for bound in bounds) + 3
    x, y = z3.BitVecs("x y", wide)

    def wrapped(value: z3.BitVecRef) -> z3.BitVecRef:
        return z3.SignExt(wide - width, z3.Extract(width - 1, 0, value))

    low, high = bounds
    ranges = z3.And(x >= low, x <= high, y >= low, y <= high)
    return refuting(ranges, wrapped(wrapped(x) + wrapped(y)) != wrapped(x + y))


def _wrap(computed: Computation, plan: InputPlan) -> Obligation:
    """Wrapping two partial sums, adding and wrapping again is wrapping their sum."""
    return Obligation(
        "exact.wrap",
        _subject(computed, plan),
        _wrap_text(_sum_bounds(computed, plan), computed.d.greatest.bit_length() + 1),
        lambda model: f"the partial sums {model.get('x', 0)} and {model.get('y', 0)} wrap otherwise together",
    )


def _clamped(value: z3.ArithRef, held: Range) -> z3.ArithRef:
    return z3.If(value > held.greatest, held.greatest, z3.If(value < held.low, held.low, value))


@cache
def _clamp_text(bounds: Bounds, held: Range) -> str:
    x, y = z3.Ints("x y")
    early = _clamped(_clamped(x, held) + _clamped(y, held), held)
    return refuting(_within(x, bounds), _within(y, bounds), early != _clamped(x + y, held), logic="QF_LIA")


def _clamp(computed: Computation, plan: InputPlan) -> Obligation:
    """Clamping two partial sums, adding and clamping again is clamping their sum."""
    return Obligation(
        "exact.clamp",
        _subject(computed, plan),
        _clamp_text(_sum_bounds(computed, plan), computed.d.unnamed),
        lambda model: (
            f"clamped apart and then added, the partial sums {model.get('x', 0)} and {model.get('y', 0)} "
            "give another result than clamped once"
        ),
    )


@cache
def _overflows_text(sums: Bounds, addend: Bounds, upwards: bool, held: Range) -> str:
    x, y, c, d = z3.Ints("x y c d")
    ranges = [_within(x, sums), _within(y, sums), _within(c, addend), _within(d, addend)]
    beyond = x + c > held.greatest if upwards else x + c < held.low
    inside = _within(y + d, (held.low, held.greatest))
    return refuting(*ranges, beyond, inside, y != 0, logic="QF_LIA")


def _overflows(computed: Computation, plan: InputPlan) -> Obligation:
    """Found: a result that overflows at the plan's end, and one that does not, of products not all zero."""
    low, high = _term_bounds(computed, plan)
    sums = computed.terms * low, computed.terms * high
    return Obligation(
        "exact.overflows",
        _subject(computed, plan),
        _overflows_text(sums, _addend(plan), plan.name.endswith(".high"), computed.d.unnamed),
        lambda model: "no result overflows, or none stays inside",
        expects="sat",
    )


@cache
def _fills_text(terms: Bounds, count: int, addend: Bounds, bits: int) -> str:
    x, c, total, half = z3.Ints("x c sum half")
    filled = z3.And(total >= 1 << (bits - 1), total == 2 * half + 1)
    ranges = [_within(x, terms), _within(c, addend), x != 0]
    return refuting(*ranges, total == count * x + c, filled, logic="QF_LIA")


def _fills(computed: Computation, plan: InputPlan) -> Obligation:
    """Found: a sum that takes every bit of the precision that is guaranteed."""
    return Obligation(
        "exact.fills",
        _subject(computed, plan),
        _fills_text(_term_bounds(computed, plan), computed.terms, _addend(plan), computed.sums.bits),
        lambda model: f"no sum takes all {computed.sums.bits} bits",
        expects="sat",
    )


def _rounded(value: z3.ArithRef, quantum: int) -> Mapping[str, z3.ArithRef]:
    """An integer in quanta, by every rounding mode; `ties away` stands for a wrong .rn."""
    floor, rest = value / quantum, value % quantum
    ceiling = z3.If(rest == 0, floor, floor + 1)
    down, up = 2 * rest < quantum, 2 * rest > quantum
    return {
        "rn": z3.If(down, floor, z3.If(up, ceiling, z3.If(floor % 2 == 0, floor, ceiling))),
        "rz": z3.If(value >= 0, floor, ceiling),
        "rm": floor,
        "rp": ceiling,
        "ties away": z3.If(down, floor, z3.If(up, ceiling, z3.If(value >= 0, ceiling, floor))),
    }


def modes_obligations(computed: Computation, plans: Sequence[InputPlan]) -> Iterator[Obligation]:
    """Found for every two rounding modes: inputs of one of the plans on which they differ."""
    for one, other in combinations(_MODES, 2):
        cases = []
        for number, plan in enumerate(plans):
            low, high = _sum_bounds(computed, plan)
            digits = max(abs(low), abs(high)).bit_length() - 1
            quantum = 1 << (digits - computed.d.bits)
            product, c = z3.Ints(f"product{number} c{number}")
            total = product + c * (1 << (plan.c.exponent - plan.unit))
            binade = z3.Or(
                _within(total, (1 << (digits - 1), (1 << digits) - 1)),
                _within(total, (1 - (1 << digits), -(1 << (digits - 1)))),
            )
            modes = _rounded(total, quantum)
            ranges = z3.And(_within(product, _term_bounds(computed, plan)), _within(c, _widest(plan.c)))
            cases.append(z3.And(ranges, binade, modes[one] != modes[other]))
        yield Obligation(
            "exact.modes",
            f"{one} and {other}: {computed}",
            refuting(z3.Or(*cases) if cases else z3.BoolVal(False), logic="QF_LIA"),
            lambda model, one=one, other=other: f"no inputs tell {one} from {other}",  # type: ignore[misc]
            expects="sat",
        )
