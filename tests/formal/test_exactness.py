"""Plans of inputs are proven exact, a plan with a bit too many is refuted, clauses have their cases."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from ptxmma.check.rules import rules
from ptxmma.formal.consumers import check_consumers
from ptxmma.formal.plan_bounds import SumBounds, drawn_elements
from ptxmma.formal.plans import PLANS, Computation, Draw, InputPlan, arithmetic, computations, plans
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.theorems.exactness import exactness_obligations, inputs_obligation, sums_obligation
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.gen.suite.reference import Reference, drawn
from ptxmma.spec.contract_records import Consumer
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.patterns import decode
from ptxmma.spec.specification import Specification

F16 = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"
F32 = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
SP_TF32 = "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32"
E4M3 = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
S8 = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"
WRAP = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
F64 = "mma.sync.aligned.m8n8k4.row.col.{}f64.f64.f64.f64"
XOR = "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc"


def of(specification: Specification, mnemonic: str) -> tuple[Computation, dict[str, InputPlan]]:
    variant = specification.find(mnemonic)
    listed = plans(specification, variant)
    return arithmetic(specification, variant), {plan.name: plan for plan in listed}


def refutations(computed: Computation, plan: InputPlan) -> dict[str, set[str]]:
    """For every theorem that a plan does not meet, what the solvers say."""
    found: dict[str, set[str]] = {}
    inputs = (
        inputs_obligation(held, {draw: letter}) for held, letter, draw in drawn_elements(computed, plan)
    )
    sums = sums_obligation(computed, {SumBounds.of(computed, plan): plan.name})
    for obligation in (*inputs, sums, *exactness_obligations(computed, [plan])):
        if obligation.theorem == "exact.modes":  # of all plans together
            continue
        for solver in SOLVERS:
            answer = ask(solver, obligation.smt)
            assert answer.status != "unknown", (obligation.subject, answer.detail)
            if answer.status != obligation.expects:
                found.setdefault(obligation.theorem, set()).add(obligation.explain(answer.model))
    return found


def test_every_variant_that_computes_has_plans(specification: Specification) -> None:
    names = set()
    for family in specification.families.values():
        for view in family.rows:
            for computed, drawn_from in computations(specification, view):
                assert len(drawn_from) >= 2, computed
                names |= {plan.name for plan in drawn_from}
    assert names == set(PLANS) - {"bits"}


@pytest.mark.parametrize(
    ("mnemonic", "sums", "products", "terms"),
    [  # typed from 9.7.15.6.3 and 9.7.14.4.5: the significands of half, single and double precision
        (F16, 11, 24, 16),
        (F32, 24, 24, 16),
        (SP_TF32, 24, 11, 8),
        (E4M3, 11, 24, 32),
        (F64.format("rz."), 53, 53, 4),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", 11, 24, 16),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", 24, 24, 16),
        ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 24, 8, 8),
    ],
)
def test_what_is_guaranteed(
    specification: Specification, mnemonic: str, sums: int, products: int, terms: int
) -> None:
    computed, _ = of(specification, mnemonic)
    assert (computed.sums.bits, computed.products.bits, computed.terms) == (sums, products, terms)


def test_a_plan_with_one_bit_too_many_is_refuted(specification: Specification) -> None:
    computed, known = of(specification, F16)
    plan = known["sums"]
    assert not refutations(computed, plan)
    worse = refutations(computed, replace(plan, c=Draw(2 * plan.c.low, 2 * plan.c.high)))
    assert set(worse) == {"exact.sums"}
    assert all("products can make" in text for text in worse["exact.sums"])
    assert any("needs 12 bits of significand; f16 has 11" in text for text in worse["exact.sums"])
    worse = refutations(computed, replace(plan, a=Draw(-16, 16)))
    assert set(worse) == {"exact.sums"}


@pytest.mark.parametrize("mnemonic", [F16, F32, SP_TF32, E4M3, F64.format("")])
def test_bounds_are_tight(specification: Specification, mnemonic: str) -> None:
    """One unit more, in the plan that takes all of the precision, and the theorem fails."""
    computed, known = of(specification, mnemonic)
    plan = known["accumulator"]
    assert not refutations(computed, plan)
    more = replace(plan, c=Draw(plan.c.low - 1, plan.c.high + 1))
    assert "exact.sums" in refutations(computed, more)


def test_inputs_stay_normal(specification: Specification) -> None:
    computed, known = of(specification, F16)
    plan = known["a-full"]
    lower = replace(plan, a=replace(plan.a, exponent=-15))
    found = refutations(computed, lower)["exact.inputs"]
    assert any("which is not a normal number of f16" in text for text in found)
    wide = replace(known["sums"], a=Draw(-4097, 4097))
    assert any("needs 12 bits" in text for text in refutations(computed, wide)["exact.inputs"])


def test_products_must_be_exact(specification: Specification) -> None:
    computed, known = of(specification, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
    plan = replace(known["sums"], a=Draw(-17, 17), b=Draw(-17, 17))
    found = refutations(computed, plan)["exact.products"]
    assert any("needs 9 bits of significand; bf16 has 8" in text for text in found)


def test_clamping_needs_one_sign(specification: Specification) -> None:
    computed, known = of(specification, S8)
    plan = known["clamp.high"]
    assert not refutations(computed, plan)
    assert "exact.clamp" in refutations(computed, replace(plan, a=Draw(-128, 127)))
    far = replace(plan, c=Draw(0, 100))
    assert set(refutations(computed, far)) == {"exact.overflows"}


def test_the_modes_are_told_apart(specification: Specification) -> None:
    """Rounded exactly, from rationals: the plans give different results in every two modes."""
    random = Random(7)
    results: dict[str, list[list[list[int]]]] = {}
    for mode in ("rn", "rz", "rm", "rp"):
        random.seed(7)
        variant = specification.find(F64.format(f"{mode}."))
        reference = Reference(specification, variant)
        for plan in plans(specification, variant):
            if plan.name.startswith("rounding."):
                a, b, c = (drawn(reference, plan, x, *s, random) for x, s in _shapes(8, 8, 4))
                results.setdefault(mode, []).append(reference.result(a, b, c))
    for one, other in itertools.combinations(results, 2):
        assert results[one] != results[other]


def _shapes(m: int, n: int, k: int) -> list[tuple[str, tuple[int, int]]]:
    return [("A", (m, k)), ("B", (k, n)), ("C", (m, n))]


@pytest.mark.parametrize("mnemonic", [F16, F32, E4M3, WRAP, S8, XOR, F64.format("")])
def test_every_order_gives_the_same(specification: Specification, mnemonic: str) -> None:
    """Partial sums in random orders, each rounded to the precision that is guaranteed (or wrapped, or
    clamped, at every step), all end in the reference's result."""
    variant = specification.find(mnemonic)
    reference = Reference(specification, variant)
    computed = reference.computed
    random = Random(3)
    k = int(variant.fields["k"])
    for plan in plans(specification, variant):
        a, b, c = (drawn(reference, plan, letter, *s, random) for letter, s in _shapes(4, 4, k))
        expected = reference.result(a, b, c)
        for row, col in itertools.product(range(4), range(4)):
            terms = [reference.value("C", c[row][col])]
            for at in range(k):
                x, y = reference.value("A", a[row][at]), reference.value("B", b[at][col])
                terms.append(Fraction(x != y) if computed.operation else x * y)
            random.shuffle(terms)
            while len(terms) > 1:
                one, other = terms.pop(), terms.pop()
                terms.insert(random.randrange(len(terms) + 1), _accumulated(computed, one + other))
            assert reference.value("D", expected[row][col]) == terms[0]


def _accumulated(computed: Computation, value: Fraction) -> Fraction:
    """A partial sum as a poor accumulator keeps it: rounded to nearest, wrapped or clamped; typed anew."""
    if computed.d.integer:
        whole = int(value)
        if computed.satfinite:
            return Fraction(min(max(whole, -(2**31)), 2**31 - 1))
        return Fraction((whole + 2**31) % 2**32 - 2**31)
    if value == 0:
        return value
    scale = Fraction(1)
    while abs(value) * scale < 1 << (computed.sums.bits - 1):
        scale *= 2
    while abs(value) * scale >= 1 << computed.sums.bits:
        scale /= 2
    return Fraction(round(value * scale)) / scale


def test_reference_of_open_results(specification: Specification) -> None:
    variant = specification.find(F16)
    reference = Reference(specification, variant)
    ones = [[0x3C00] * 16] * 64
    b = [[0x6401] * 8, [0x6400] * 8, *([0] * 8 for _ in range(14))]
    with pytest.raises(Question, match="the result 2049 is not a value of f16"):
        reference.result(ones, b)
    assert reference.result(ones, b[:1] * 2 + b[2:]) == [[0x6801] * 8] * 64
    with pytest.raises(Question, match="is nan"):
        reference.result(ones, [[0x7E00] * 8] * 16)


def test_truncated_bits_make_no_difference(specification: Specification) -> None:
    form = specification.formats["tf32"]
    assert decode(form, 0x3F80_1FFF) == 1
    assert decode(form, 0x3F80_2000) == Fraction(1025, 1024)
    _, known = of(specification, SP_TF32)
    assert {plan.garbage for plan in known.values()} == {13}
    _, known = of(specification, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    assert {plan.garbage for plan in known.values()} == {0}


BROKEN = {hazard for test in suite() for hazard in test.hazards}


def test_clauses_have_consumers(specification: Specification) -> None:
    check_consumers(specification, BROKEN, rules())


@pytest.mark.parametrize(
    ("clause", "consumer", "words"),
    [
        ("num.sparse", Consumer(case="sum"), "there is no plan of inputs 'sum'"),
        ("num.sparse", Consumer(theorem="sparse.produkt"), "there is no theorem"),
        ("num.scale-d", Consumer(varies="scale-e"), "there is no operand"),
        ("num.sparse", Consumer(case="rounding.wide"), "no row with the clause num.sparse has a case"),
        ("num.scale-d", Consumer(varies="f"), "no row with the clause num.scale-d has a case"),
        ("num.sparse", Consumer(case="sums", varies="f"), "not exactly one thing"),
        ("exec.commit", Consumer(litmus="uncommitted"), "there is no litmus test of the rule"),
        ("exec.wait", Consumer(check="wait-too-deep"), "there is no rule of the checker"),
    ],
)
def test_a_consumer_that_does_not_exist(
    specification: Specification, clause: str, consumer: Consumer, words: str
) -> None:
    record = replace(specification.clauses[clause], consumers=(consumer,))
    wrong = replace(specification, clauses={**specification.clauses, clause: record})
    with pytest.raises(SpecError, match=words):
        check_consumers(wrong, BROKEN, rules())
