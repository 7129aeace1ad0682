"""Theorems about plans of inputs: under a plan the text allows only one result, whatever the order of
additions.

Every partial sum is an integer in one unit. It is exact, in every order, when it fits the precision that the
text guarantees; an accumulator of integers that wraps or clamps has one result in every tree of additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations

from ...spec.specification import Specification
from ...spec.variants import RowView
from ..plans import Computation, Draw, InputPlan, Range, computations
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import SLE, And, BitVecs, BitVecVal, Extract, If, Int, Ints, Or, SignExt, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "exactness_obligations", "modes_obligations"]

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


def _outside(value: Term, magnitude: int, exponent: int, held: Range) -> Term:
    """The integer `value` (of at most a magnitude) times 2**exponent is not a number that `held` has."""
    if held.integer:
        return Or(value < held.low, value > held.greatest)
    faults = [_unrepresentable(value, magnitude, held.bits)]
    up = exponent - held.quantum
    scaled = value * (1 << up) if up >= 0 else value
    greatest = held.greatest if up >= 0 else held.greatest << -up
    faults += [scaled > greatest, scaled < -greatest]
    if exponent < held.least:
        normal = 1 << (held.least - exponent)
        faults.append(And(value < normal, value > -normal, value != 0))
    return Or(*faults)


def _unrepresentable(value: Term, magnitude: int, bits: int) -> Term:
    """More than `bits` bits of significand: above 2**(bits + j), and not a multiple of 2**(j + 1)."""
    if magnitude <= 1 << bits:
        return Or(value > 1 << bits, value < -(1 << bits))
    faults = []
    for j in range(max(magnitude.bit_length() - bits, 0) + 1):
        bound = 1 << (bits + j)
        faults.append(And(Or(value > bound, value < -bound), value % (1 << (j + 1)) != 0))
    return Or(*faults)


def _within(value: Term, bounds: Bounds) -> Term:
    return And(value >= bounds[0], value <= bounds[1])


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
    return f"{shown}, which is not a normal number of {held.name}"


def _subject(computed: Computation, plan: InputPlan) -> str:
    return f"{plan.name}: {computed}"


@cache
def _inputs_text(bounds: Bounds, exponent: int, held: Range) -> str:
    value = Int("value")
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
            partial(_inputs_text, bounds, draw.exponent, held.unnamed),
            explain,
        )


@cache
def _products_text(first: Bounds, second: Bounds, held: Range) -> str:
    a, b = Ints("a b")
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

    text = partial(_products_text, first, second, computed.products.unnamed)
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
    products, partial, term, c, total = Ints("products partial term c sum")
    assumed = And(_within(products, (0, count)), partial >= low * products, partial <= high * products)
    more = products + 1
    step = And(
        products < count,
        _within(term, terms),
        Or(partial + term < low * more, partial + term > high * more),
    )
    least, most = addend or (0, 0)
    magnitude = max(-count * low - min(least, 0), count * high + max(most, 0))
    added = Or(c == 0, _within(c, addend)) if addend else c == 0
    faults = [_outside(total, magnitude, unit, kept) for kept in (held, stored)]
    inexact = And(added, total == partial + c, Or(*faults))
    return refuting(assumed, Or(step, inexact), logic="QF_LIA")


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

    text = partial(
        _sums_text,
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
    x, y = BitVecs("x y", wide)

    def wrapped(value: Term) -> Term:
        return SignExt(wide - width, Extract(width - 1, 0, value))

    low, high = bounds
    ranges = And(*(And(SLE(BitVecVal(low, wide), v), SLE(v, high)) for v in (x, y)))
    return refuting(ranges, wrapped(wrapped(x) + wrapped(y)) != wrapped(x + y))


def _wrap(computed: Computation, plan: InputPlan) -> Obligation:
    """Wrapping two partial sums, adding and wrapping again is wrapping their sum."""
    return Obligation(
        "exact.wrap",
        _subject(computed, plan),
        partial(_wrap_text, _sum_bounds(computed, plan), computed.d.greatest.bit_length() + 1),
        lambda model: f"the partial sums {model.get('x', 0)} and {model.get('y', 0)} wrap otherwise together",
    )


def _clamped(value: Term, held: Range) -> Term:
    return If(value > held.greatest, held.greatest, If(value < held.low, held.low, value))


@cache
def _clamp_text(bounds: Bounds, held: Range) -> str:
    x, y = Ints("x y")
    early = _clamped(_clamped(x, held) + _clamped(y, held), held)
    return refuting(_within(x, bounds), _within(y, bounds), early != _clamped(x + y, held), logic="QF_LIA")


def _clamp(computed: Computation, plan: InputPlan) -> Obligation:
    """Clamping two partial sums, adding and clamping again is clamping their sum."""
    return Obligation(
        "exact.clamp",
        _subject(computed, plan),
        partial(_clamp_text, _sum_bounds(computed, plan), computed.d.unnamed),
        lambda model: (
            f"clamped apart and then added, the partial sums {model.get('x', 0)} and {model.get('y', 0)} "
            "give another result than clamped once"
        ),
    )


@cache
def _overflows_text(sums: Bounds, addend: Bounds, upwards: bool, held: Range) -> str:
    x, y, c, d = Ints("x y c d")
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
        partial(_overflows_text, sums, _addend(plan), plan.name.endswith(".high"), computed.d.unnamed),
        lambda model: "no result overflows, or none stays inside",
        expects="sat",
    )


@cache
def _fills_text(terms: Bounds, count: int, addend: Bounds, bits: int) -> str:
    x, c, total, half = Ints("x c sum half")
    filled = And(total >= 1 << (bits - 1), total == 2 * half + 1)
    ranges = [_within(x, terms), _within(c, addend), x != 0]
    return refuting(*ranges, total == count * x + c, filled, logic="QF_LIA")


def _fills(computed: Computation, plan: InputPlan) -> Obligation:
    """Found: a sum that takes every bit of the precision that is guaranteed."""
    return Obligation(
        "exact.fills",
        _subject(computed, plan),
        partial(_fills_text, _term_bounds(computed, plan), computed.terms, _addend(plan), computed.sums.bits),
        lambda model: f"no sum takes all {computed.sums.bits} bits",
        expects="sat",
    )


def _rounded(value: Term, quantum: int) -> Mapping[str, Term]:
    """An integer in quanta, by every rounding mode; `ties away` stands for a wrong .rn."""
    floor, rest = value // quantum, value % quantum
    ceiling = If(rest == 0, floor, floor + 1)
    down, up = 2 * rest < quantum, 2 * rest > quantum
    return {
        "rn": If(down, floor, If(up, ceiling, If(floor % 2 == 0, floor, ceiling))),
        "rz": If(value >= 0, floor, ceiling),
        "rm": floor,
        "rp": ceiling,
        "ties away": If(down, floor, If(up, ceiling, If(value >= 0, ceiling, floor))),
    }


def modes_obligations(computed: Computation, plans: Sequence[InputPlan]) -> Iterator[Obligation]:
    """Found for every two rounding modes: inputs of one of the plans on which they differ."""
    for one, other in combinations(_MODES, 2):
        yield Obligation(
            "exact.modes",
            f"{one} and {other}: {computed}",
            partial(_modes_text, computed, tuple(plans), one, other),
            lambda model, one=one, other=other: f"no inputs tell {one} from {other}",  # type: ignore[misc]
            expects="sat",
        )


def _modes_text(computed: Computation, plans: Sequence[InputPlan], one: str, other: str) -> str:
    cases = []
    for number, plan in enumerate(plans):
        low, high = _sum_bounds(computed, plan)
        digits = max(abs(low), abs(high)).bit_length() - 1
        quantum = 1 << (digits - computed.d.bits)
        product, c = Ints(f"product{number} c{number}")
        total = product + c * (1 << (plan.c.exponent - plan.unit))
        binade = Or(
            _within(total, (1 << (digits - 1), (1 << digits) - 1)),
            _within(total, (1 - (1 << digits), -(1 << (digits - 1)))),
        )
        modes = _rounded(total, quantum)
        ranges = And(_within(product, _term_bounds(computed, plan)), _within(c, _widest(plan.c)))
        cases.append(And(ranges, binade, modes[one] != modes[other]))
    return refuting(Or(*cases), logic="QF_LIA")


def _parts(specification: Specification) -> Iterator[ProofPart]:
    made = {
        f"exact {computed}": partial(exactness_obligations, computed, drawn)
        for family in specification.families.values()
        for view in family.rows
        for computed, drawn in computations(specification, view)
    }
    for name, obligations in made.items():
        yield ProofPart(name, obligations)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    return (f"exact {computed}" for computed, _ in computations(specification, row))


GROUP = TheoremGroup(
    80,
    (
        Theorem(
            "exact.inputs", "every element that a plan draws is a normal number (or an integer) of its type"
        ),
        Theorem("exact.products", "every product is exact in the precision that the text guarantees"),
        Theorem(
            "exact.sums",
            "every partial sum, in every order, is exact in the precision that the text guarantees",
        ),
        Theorem("exact.wrap", "an accumulator that wraps gives one result in every order of additions"),
        Theorem(
            "exact.clamp",
            "an accumulator that clamps, at the end or on the way, has one result in every order",
        ),
        Theorem("exact.overflows", "some results of a plan overflow, and some do not"),
        Theorem("exact.fills", "some sum takes every bit of the precision that is guaranteed"),
        Theorem(
            "exact.modes", "some inputs tell any two rounding modes apart, and ties to even from ties away"
        ),
    ),
    _parts,
    _behind,
)
