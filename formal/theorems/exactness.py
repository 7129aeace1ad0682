"""Theorems about plans of inputs: under a plan the text allows only one result, whatever the order of
additions.

Every partial sum is an integer in one unit. It is exact, in every order, when it fits the precision that the
text guarantees; an accumulator of integers that wraps or clamps has one result in every tree of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations

from ...spec.specification import Specification
from ...spec.variants import RowView
from ..exact_numbers import number_text, outside, significant_bits, unrepresentable, why_outside, within
from ..plan_bounds import Bounds, SumBounds, addend_bounds, drawn_elements, sum_bounds, term_bounds, widest
from ..plans import Computation, Draw, InputPlan, Range, computations
from ..shipped_sums import all_computations
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import SLE, And, BitVecs, BitVecVal, Extract, If, Ints, Or, SignExt, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "exactness_obligations", "inputs_obligation", "modes_obligations", "sums_obligation"]

_MODES = ("rn", "rz", "rm", "rp", "ties away")


def exactness_obligations(computed: Computation, plans: Iterable[InputPlan]) -> Iterator[Obligation]:
    """Every obligation of the plans of one arithmetic, apart from what they draw and sum."""
    listed = tuple(plans)
    for plan in listed:
        yield _products(computed, plan)
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


def _subject(computed: Computation, plan: InputPlan) -> str:
    return f"{plan.name}: {computed}"


def inputs_obligation(held: Range, drawn: Mapping[Draw, str]) -> Obligation:
    """Every element that plans draw is a number of its type; `drawn` names a plan for each draw."""
    draws = tuple(drawn)

    def text() -> str:
        value, number = Ints("value draw")
        faults = (
            And(
                number == place,
                within(value, (draw.low, draw.high)),
                outside(value, draw.magnitude, draw.exponent, held),
            )
            for place, draw in enumerate(draws)
        )
        return refuting(Or(*faults), logic="QF_LIA")

    def explain(model: Model) -> str:
        draw = draws[model.get("draw", 0)]
        return f"{drawn[draw]}: the element {why_outside(model.get('value', 0), draw.exponent, held)}"

    return Obligation("exact.inputs", held.name, text, explain)


@cache
def _products_text(first: Bounds, second: Bounds, held: Range) -> str:
    a, b = Ints("a b")
    magnitude = max(map(abs, first)) * max(map(abs, second))
    fault = (
        outside(a * b, magnitude, 0, held) if held.integer else unrepresentable(a * b, magnitude, held.bits)
    )
    return refuting(within(a, first), within(b, second), fault, logic="QF_NIA")


def _products(computed: Computation, plan: InputPlan) -> Obligation:
    """The product of two elements; that of two bits is a bit, whatever the operation."""
    exponent = plan.a.exponent + plan.b.exponent
    negated = not computed.d.integer
    first, second = widest(plan.a, negated), widest(plan.b, negated)

    def explain(model: Model) -> str:
        x, y = model.get("a", 0), model.get("b", 0)
        return f"a = {x}, b = {y}: the product {why_outside(x * y, exponent, computed.products)}"

    text = partial(_products_text, first, second, computed.products.unnamed)
    return Obligation("exact.products", _subject(computed, plan), text, explain)


def sums_obligation(computed: Computation, bounds: Mapping[SumBounds, str]) -> Obligation:
    """Every partial sum is exact in what is guaranteed of sums and in D; `bounds` names a plan for each.

    By induction on the number of products in a partial sum, it lies between so many times the least and the
    greatest term; and then it is exact, without C and with it (unless there is none).
    """
    listed, held, stored = tuple(bounds), computed.sums, computed.d

    def text() -> str:
        products, partial, term, c, total, plan = Ints("products partial term c sum plan")
        cases = []
        for number, bound in enumerate(listed):
            low, high = bound.terms
            assumed = And(
                within(products, (0, bound.count)), partial >= low * products, partial <= high * products
            )
            more = products + 1
            step = And(
                products < bound.count,
                within(term, bound.terms),
                Or(partial + term < low * more, partial + term > high * more),
            )
            added = Or(c == 0, within(c, bound.addend)) if bound.addend else c == 0
            faults = [outside(total, bound.magnitude, bound.unit, kept) for kept in (held, stored)]
            inexact = And(added, total == partial + c, Or(*faults))
            cases.append(And(plan == number, assumed, Or(step, inexact)))
        return refuting(Or(*cases), logic="QF_LIA")

    def explain(model: Model) -> str:
        bound = listed[model.get("plan", 0)]
        value, c = model.get("sum", 0), model.get("c", 0)
        start = f"C = {number_text(c, bound.unit)} and " if c else ""
        kept = next((h for h in (held, stored) if h.integer or significant_bits(value) > h.bits), stored)
        products = f"{start}{model.get('products', 0)} products"
        return f"{bounds[bound]}: {products} can make {why_outside(value, bound.unit, kept)}"

    return Obligation("exact.sums", _summed(computed), text, explain)


def _summed(computed: Computation) -> str:
    """What is summed, and in what: arithmetics that share it are proven together."""
    held = "" if computed.sums.integer else f", {computed.sums.bits} bits"
    return f"{computed.a.name} x {computed.b.name} in {computed.d.name}{held}"


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
        partial(_wrap_text, sum_bounds(computed, plan), computed.d.greatest.bit_length() + 1),
        lambda model: f"the partial sums {model.get('x', 0)} and {model.get('y', 0)} wrap otherwise together",
    )


def _clamped(value: Term, held: Range) -> Term:
    return If(value > held.greatest, held.greatest, If(value < held.low, held.low, value))


@cache
def _clamp_text(bounds: Bounds, held: Range) -> str:
    x, y = Ints("x y")
    early = _clamped(_clamped(x, held) + _clamped(y, held), held)
    return refuting(within(x, bounds), within(y, bounds), early != _clamped(x + y, held), logic="QF_LIA")


def _clamp(computed: Computation, plan: InputPlan) -> Obligation:
    """Clamping two partial sums, adding and clamping again is clamping their sum."""
    return Obligation(
        "exact.clamp",
        _subject(computed, plan),
        partial(_clamp_text, sum_bounds(computed, plan), computed.d.unnamed),
        lambda model: (
            f"clamped apart and then added, the partial sums {model.get('x', 0)} and {model.get('y', 0)} "
            "give another result than clamped once"
        ),
    )


@cache
def _overflows_text(sums: Bounds, addend: Bounds, upwards: bool, held: Range) -> str:
    x, y, c, d = Ints("x y c d")
    ranges = [within(x, sums), within(y, sums), within(c, addend), within(d, addend)]
    beyond = x + c > held.greatest if upwards else x + c < held.low
    inside = within(y + d, (held.low, held.greatest))
    return refuting(*ranges, beyond, inside, y != 0, logic="QF_LIA")


def _overflows(computed: Computation, plan: InputPlan) -> Obligation:
    """Found: a result that overflows at the plan's end, and one that does not, of products not all zero."""
    low, high = term_bounds(computed, plan)
    sums = computed.terms * low, computed.terms * high
    return Obligation(
        "exact.overflows",
        _subject(computed, plan),
        partial(_overflows_text, sums, addend_bounds(plan), plan.name.endswith(".high"), computed.d.unnamed),
        lambda model: "no result overflows, or none stays inside",
        expects="sat",
    )


@cache
def _fills_text(terms: Bounds, count: int, addend: Bounds, bits: int) -> str:
    x, c, total, half = Ints("x c sum half")
    filled = And(total >= 1 << (bits - 1), total == 2 * half + 1)
    ranges = [within(x, terms), within(c, addend), x != 0]
    return refuting(*ranges, total == count * x + c, filled, logic="QF_LIA")


def _fills(computed: Computation, plan: InputPlan) -> Obligation:
    """Found: a sum that takes every bit of the precision that is guaranteed."""
    return Obligation(
        "exact.fills",
        _subject(computed, plan),
        partial(
            _fills_text, term_bounds(computed, plan), computed.terms, addend_bounds(plan), computed.sums.bits
        ),
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
        low, high = sum_bounds(computed, plan)
        digits = max(abs(low), abs(high)).bit_length() - 1
        quantum = 1 << (digits - computed.d.bits)
        product, c = Ints(f"product{number} c{number}")
        total = product + c * (1 << (plan.c.exponent - plan.unit))
        binade = Or(
            within(total, (1 << (digits - 1), (1 << digits) - 1)),
            within(total, (1 - (1 << digits), -(1 << (digits - 1)))),
        )
        modes = _rounded(total, quantum)
        ranges = And(within(product, term_bounds(computed, plan)), within(c, widest(plan.c)))
        cases.append(And(ranges, binade, modes[one] != modes[other]))
    return refuting(Or(*cases), logic="QF_LIA")


def _parts(specification: Specification) -> Iterator[ProofPart]:
    found = all_computations(specification)
    drawn: dict[Range, dict[Draw, str]] = {}
    summed: dict[str, tuple[Computation, dict[SumBounds, str]]] = {}
    for computed, listed in found.values():
        for plan in listed:
            subject = _subject(computed, plan)
            for held, letter, draw in drawn_elements(computed, plan):
                drawn.setdefault(held, {}).setdefault(draw, f"{letter} of {subject}")
            _, sums = summed.setdefault(_summed(computed), (computed, {}))
            sums.setdefault(SumBounds.of(computed, plan), subject)
    for held, draws in drawn.items():
        yield ProofPart(_inputs_part(held), partial(_one, inputs_obligation, held, draws))
    for name, (computed, sums) in summed.items():
        yield ProofPart(f"exact sums {name}", partial(_one, sums_obligation, computed, sums))
    for name, (computed, listed) in found.items():
        yield ProofPart(f"exact {name}", partial(exactness_obligations, computed, listed))


def _one(make: Callable[..., Obligation], *about: object) -> Iterator[Obligation]:
    yield make(*about)


def _inputs_part(held: Range) -> str:
    return f"exact inputs of {held.name}"


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    for computed, _ in computations(specification, row):
        yield f"exact {computed}"
        yield f"exact sums {_summed(computed)}"
        yield from map(_inputs_part, (computed.a, computed.b, computed.c))


GROUP = TheoremGroup(
    80,
    (
        Theorem(
            "exact.inputs",
            "every element that a plan draws is a normal number (or an integer) of its type",
            small=True,
            formula="for each value of a draw: "
            "value * 2**exponent is 0, a normal number or an integer of the type",
            fails="a drawn element that its type does not have",
        ),
        Theorem(
            "exact.products",
            "every product is exact in the precision that the text guarantees",
            small=True,
            formula="for drawn a, b: a * b has the digits that the text guarantees (integers: is in range)",
            fails="two elements whose product is not exact",
        ),
        Theorem(
            "exact.sums",
            "every partial sum, in every order, is exact in the precision that the text guarantees",
            formula="for n products: n * low <= partial <= n * high, by induction; "
            "partial + C is exact in sums and in D",
            fails="a number of products, and a C, that can make a sum which is not exact",
        ),
        Theorem(
            "exact.wrap",
            "an accumulator that wraps gives one result in every order of additions",
            small=True,
            formula="for partial sums x, y: wrap(wrap(x) + wrap(y)) == wrap(x + y)",
            fails="two partial sums that wrap otherwise apart than together",
        ),
        Theorem(
            "exact.clamp",
            "an accumulator that clamps, at the end or on the way, has one result in every order",
            small=True,
            formula="for partial sums x, y: clamp(clamp(x) + clamp(y)) == clamp(x + y)",
            fails="two partial sums that clamp otherwise apart than together",
        ),
        Theorem(
            "exact.overflows",
            "some results of a plan overflow, and some do not",
            small=True,
            formula="for some sums x, y != 0, addends c, d: x + c is beyond the type, and y + d is not",
            fails="a plan under which no result overflows, or all do",
        ),
        Theorem(
            "exact.fills",
            "some sum takes every bit of the precision that is guaranteed",
            small=True,
            formula="for some product x != 0, addend c: count * x + c is odd and >= 2**(bits - 1)",
            fails="a plan of which no sum takes every bit that is guaranteed",
        ),
        Theorem(
            "exact.modes",
            "some inputs tell any two rounding modes apart, and ties to even from ties away",
            formula="for two of rn, rz, rm, rp, ties away: "
            "some inputs have one(product + c) != other(product + c)",
            fails="two rounding modes that no inputs of the plans tell apart",
        ),
    ),
    _parts,
    _behind,
)
