"""Theorems about what sums of products come to on chips: the models and rows of spec/arithmetic/*.yaml.

They are about terms (products and addends) one at a time, and about what is taken over terms; so they hold
for any number of terms. That every value stays in its word, and that no shift reaches it, is found by
intervals when the YAML is loaded (spec/arithmetic_checks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal

from ...spec.arithmetic import arithmetic
from ...spec.arithmetic_records import ArithmeticFile, ArithmeticModel, ArithmeticStage
from ...spec.chip_arithmetic import PARTS, ZERO
from ...spec.expressions import names
from ...spec.specification import Specification
from ...spec.sum_bounds import bound_of
from ...spec.variants import RowView
from ..exact_sums import ExactSums
from ..float_codes import FloatCode
from ..hard_sums import HardSum
from ..shipped_sums import planned_of, sums_of
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import SLE, UGT, ULE, ULT, And, BitVecs, BitVecVal, If, Not, Or, SignExt, Term, ZeroExt
from ..sum_errors import SumErrors
from ..sum_examples import FloatSums, SumExample
from ..sum_rounding import SumRounding
from ..sum_shapes import SumShape, block_shape
from ..sum_signs import SumSigns
from ..sum_specials import SumSpecials
from ..sum_tails import SumTails
from ..sums_of_bits import counted_claims
from ..symbolic_sums import SumNames, SymbolicSum, taken
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "family_examples", "family_parts"]

_PLUS, _MINUS = "plus", "minus"  # what the positive and the negative terms of a sum come to
_KINDS = ("signed", "unsigned")  # of integers
_ANY = "any"  # prefix of an element that is alone
_GREATEST_SUM = 1 << 40  # of magnitudes; more than the products of any K come to
_ANY_WIDTH = 8  # the greatest and the sum of numbers are the same in every width that holds them


@dataclass(frozen=True)
class _Claim:
    """A theorem about sums of one shape; `stages` (by what they are for) and `types` are what it is about."""

    theorem: str
    stages: tuple[str, ...]
    types: tuple[str, ...]
    text: Callable[[], str]
    about: str = ""
    expects: Literal["unsat", "sat"] = "unsat"


class _SharedClaims:
    """The obligations of shapes; where a theorem says the same of two shapes, its text is made once."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self._texts: dict[object, Callable[[], str]] = {}
        self._formulas: dict[object, tuple[tuple[tuple[str, str], ...], frozenset[str]]] = {}

    def of(self, shape: SumShape) -> Iterator[Obligation]:
        """Every obligation of a shape."""
        sums = SymbolicSum(self.specification, shape)
        for make in (
            _decode,
            _integers,
            _exchange,
            _order,
            _zero,
            _fit,
            _round,
            _fused,
            _special,
            _negation,
            _bound,
            _exact,
        ):
            for claim in make(sums):
                text = self._texts.setdefault(self.key(claim, sums), cache(claim.text))
                subject = f"{claim.about}: {shape}" if claim.about else str(shape)
                explain = partial(_counterexample, subject)
                yield Obligation(f"arithmetic.{claim.theorem}", subject, text, explain, claim.expects)

    def key(self, claim: _Claim, sums: SymbolicSum) -> object:
        """The same for two shapes of which the claim says the same, in the same text."""
        formulas, read = self._read(sums.shape.model, claim.stages)
        integers = tuple((name, value) for name, value in sums.known().items() if name in read)
        return claim.theorem, claim.about, claim.types, sums.shape.word, formulas, integers

    def _read(
        self, model: ArithmeticModel, each: tuple[str, ...]
    ) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
        """The formulas of some stages of a model, as text, and the names that they read."""
        key = id(model), each
        if key not in self._formulas:
            formulas = [pair for stage in model.stages if stage.each in each for pair in stage.let.items()]
            read = frozenset[str]().union(*(names(formula.tree) for _, formula in formulas))
            self._formulas[key] = tuple((name, formula.text) for name, formula in formulas), read
        return self._formulas[key]


def _counterexample(subject: str, model: Model) -> str:
    if not model:
        return f"{subject}: no example is found"
    shown = ", ".join(f"{name} = {value:#x}" for name, value in sorted(model.items()))
    return f"{subject}: not for {shown}"


def _exchange(sums: SymbolicSum) -> Iterator[_Claim]:
    factors = sums.shape.factors
    if len(set(factors)) == 1:
        yield _Claim("exchange", ("element", "product"), factors, partial(_exchanged, sums))


def _exchanged(sums: SymbolicSum) -> str:
    """All that a sum knows of a product is the same with A and B exchanged."""
    element = sums.shape.factors[0]
    a, b = (sums.element(name, element) for name in ("first", "second"))
    one, other = sums.product(a, b), sums.product(b, a)
    form = sums.specification.formats.get(element)
    numbers = [Not(FloatCode(form, code).nan) for code in (a, b)] if form else []
    return refuting(*numbers, Or(*(one[name] != other[name] for name in sums.read_of_terms())))


def _order(sums: SymbolicSum) -> Iterator[_Claim]:
    for stage in sums.shape.model.stages:
        if stage.reduce:
            yield _Claim("order", (), (), partial(_neighbours, stage), stage.reduce)


def _neighbours(stage: ArithmeticStage) -> str:
    """Two terms, after all before them, in either order: exchanges of neighbours make any order."""
    before, x, y = BitVecs("before x y", _ANY_WIDTH)
    one, other = (taken(stage, [taken(stage, [before, *pair[:1]]), pair[1]]) for pair in ((x, y), (y, x)))
    return refuting(one != other)


def _zero(sums: SymbolicSum) -> Iterator[_Claim]:
    shape = sums.shape
    if True in shape.sparse and shape.factors and shape.addends:
        types = (*shape.factors, *shape.addends)
        yield _Claim("zero", ("element", "product", "addend", "term"), types, partial(_neutral, sums))


def _neutral(sums: SymbolicSum) -> str:
    """A product with a zero of A adds nothing to what is summed up, and is never greater than an addend."""
    shape = sums.shape
    a, b = (sums.element(name, one) for name, one in zip(("zero", "other"), shape.factors, strict=True))
    forms = [sums.specification.formats.get(element) for element in shape.factors]
    conditions = [a == 0]
    if forms[0] and forms[1]:
        first, second = FloatCode(forms[0], a), FloatCode(forms[1], b)
        conditions = [first.field == 0, first.fraction == 0, second.finite]
    addend = sums.addend(sums.element("addend", shape.addends[0]), shape.addends[0])
    assumed = sums.any_sums("sums")
    zero, some = sums.reduced([sums.product(a, b)], assumed), sums.reduced([addend], assumed)
    faults = [
        UGT(zero[name], some[name]) if stage.reduce == "greatest" else zero[name] != 0
        for stage in shape.model.stages
        for name in (stage.let if stage.reduce else ())
    ]
    return refuting(*conditions, Or(*faults))


def _decode(sums: SymbolicSum) -> Iterator[_Claim]:
    for element in dict.fromkeys((*sums.shape.factors, *sums.shape.addends)):
        if element in sums.specification.formats:
            for normal in (False, True):
                about = f"{element} {'with' if normal else 'without'} a leading one"
                misread = partial(_misread, sums, element, normal)
                yield _Claim("decode", ("element",), (element,), misread, about)


def _misread(sums: SymbolicSum, element: str, normal: bool) -> str:
    """An element of a format (zeros and subnormal numbers, or all others) is not what the format says."""
    code = sums.element("code", element)
    form = FloatCode(sums.specification.formats[element], code)
    found = sums.decoded(_ANY, element, code)
    kind = form.field != 0 if normal else form.field == 0
    return refuting(kind, Not(_stands_for(sums, form, found)))


def _stands_for(sums: SymbolicSum, form: FloatCode, found: SumNames) -> Term:
    """The decoded names say what the fields of the code say; an infinity or a NaN need not be a number."""
    width = sums.shape.word
    exponent = form.exponent(width) + sums.shape.model.offset - form.format.bias
    raised = exponent - found["any_exponent"]  # by so many places a subnormal number is normalised
    number = And(
        ULE(raised, form.format.fraction + 1),
        found["any_significand"] == form.significand(width) << raised,
    )
    return And(
        (found["any_negative"] == 1) == (form.sign == 1),
        (found["any_nan"] == 1) == form.nan,
        (found["any_infinite"] == 1) == And(Not(form.finite), Not(form.nan)),
        (found["any_zero"] == 1) == And(form.field == 0, form.fraction == 0),
        Or(Not(form.finite), number),
    )


def _integers(sums: SymbolicSum) -> Iterator[_Claim]:
    shape, types = sums.shape, sums.specification.index.types
    if all(types[element].kind in _KINDS for element in (*shape.factors, *shape.addends)):
        stages = ("element", "product", "addend", "term")
        for at, element in enumerate((*shape.factors, *shape.addends)):
            about = f"{element} as {PARTS[at]}"
            used = shape.factors if at < len(shape.factors) else (element,)
            yield _Claim("integers", stages, used, partial(_miscounted, sums, at, element), about)


def _miscounted(sums: SymbolicSum, at: int, element: str) -> str:
    """What a sum takes of an element of A or B times one, or of an addend, is not the integer of its code."""
    code = sums.element("code", element)
    if at < len(sums.shape.factors):
        one = BitVecVal(1, sums.specification.index.types[sums.shape.factors[1 - at]].bits)
        term = sums.product(*((one, code) if at else (code, one)))
    else:
        term = sums.addend(code, element)
    found = sums.reduced([term])
    extend = SignExt if sums.specification.index.types[element].kind == _KINDS[0] else ZeroExt
    return refuting(found[_PLUS] - found[_MINUS] != extend(sums.shape.word - code.size(), code))


def _fit(sums: SymbolicSum) -> Iterator[_Claim]:
    shape = sums.shape
    if sums.specification.index.types[shape.result].kind in _KINDS and {_PLUS, _MINUS} <= sums.reductions:
        for negative in (False, True):
            for clamped in sorted(shape.clamped):
                about = f"{'negative' if negative else 'other'} sums {'clamped' if clamped else 'wrapped'}"
                yield _Claim(
                    "fit", ("result",), (shape.result,), partial(_unfit, sums, negative, clamped), about
                )
    elif counts := counted_claims(sums):
        for theorem, stages, types, text, about in counts:
            yield _Claim(theorem, stages, types, text, about)


def _unfit(sums: SymbolicSum, negative: bool, clamped: bool) -> str:
    """A sum of integers is not kept modulo the width of its type, or is not the nearest of its integers."""
    held = sums.specification.index.types[sums.shape.result]
    least = -(1 << (held.bits - 1)) if held.kind == _KINDS[0] else 0
    low, high = sums.number(least), sums.number(least + (1 << held.bits) - 1)
    smaller, surplus = BitVecs("smaller surplus", sums.shape.word)
    both = (smaller, smaller + surplus) if negative else (smaller + surplus, smaller)
    exact = sums.number(0) - surplus if negative else surplus
    nearest = If(SLE(exact, low), low, If(SLE(high, exact), high, exact))
    wanted = (nearest if clamped else exact) & ((1 << held.bits) - 1)
    code = sums.result({**sums.any_sums("sums"), _PLUS: both[0], _MINUS: both[1]})["code"]
    return refuting(ULT(smaller, _GREATEST_SUM), ULT(surplus, _GREATEST_SUM), code != wanted)


def _round(sums: SymbolicSum) -> Iterator[_Claim]:
    if sums.shape.result in sums.specification.formats:
        for about, text in SumRounding(sums).claims():
            yield _Claim("round", ("result",), (sums.shape.result,), text, about)


def _fused(sums: SymbolicSum) -> Iterator[_Claim]:
    if sums.shape.result in sums.specification.formats:
        for about, stages, types, text in SumTails(sums).claims():
            yield _Claim("fused", stages, types, text, about)


def _special(sums: SymbolicSum) -> Iterator[_Claim]:
    if sums.shape.result in sums.specification.formats:
        for about, stages, types, text in SumSpecials(sums).claims():
            yield _Claim("special", stages, types, text, about)


def _negation(sums: SymbolicSum) -> Iterator[_Claim]:
    signs = SumSigns(sums)
    for about, stages, types, text in signs.claims():
        yield _Claim("negation", stages, types, text, about)
    for about, text in signs.exceptions():
        yield _Claim("signs", ("term", "result"), (sums.shape.result,), text, about, "sat")


def _bound(sums: SymbolicSum) -> Iterator[_Claim]:
    shape = sums.shape
    if shape.result in sums.specification.formats:
        for about, stages, types, text in SumErrors(sums).claims():
            yield _Claim("bound", stages, types, text, about)


def _exact(sums: SymbolicSum) -> Iterator[_Claim]:
    shape = sums.shape
    if shape.result in sums.specification.formats:
        for about, stages, types, text in ExactSums(sums).claims():
            yield _Claim("exact", stages, types, text, about)


def _planned(specification: Specification, family: ArithmeticFile, shape: SumShape) -> Iterator[Obligation]:
    """The obligation of the plans that make sums of a shape, if any do."""
    listed = planned_of(specification, family).get(shape)
    if listed:
        plans = list(listed.values())

        def explain(model: Model) -> str:
            plan = plans[model.get("plan", 0)]
            return f"{shape}: not for {plan}: a term may be cut, or a sum is not of its type"

        text = partial(ExactSums(SymbolicSum(specification, shape)).planned, listed)
        yield Obligation("arithmetic.exact", f"plans: {shape}", text, explain)


def family_parts(specification: Specification, family: ArithmeticFile) -> Iterator[ProofPart]:
    """A part for each shape of a family's sums."""
    claims = _SharedClaims(specification)
    for shape in sums_of(specification, family).shapes:
        yield ProofPart(_part(family, str(shape)), partial(_of_shape, claims, family, shape))


def _of_shape(claims: _SharedClaims, family: ArithmeticFile, shape: SumShape) -> Iterator[Obligation]:
    yield from claims.of(shape)
    yield from _planned(claims.specification, family, shape)


def _part(family: ArithmeticFile, sums: str) -> str:
    return f"arithmetic {family.family} {sums}"


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for family in arithmetic().families:
        yield from family_parts(specification, family)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    """The row's own sums on the chip families that know them."""
    for family in arithmetic().families:
        for sums in sums_of(specification, family).of_rows.get(row.id, ()):
            yield _part(family, sums)


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    for family in arithmetic().families:
        yield from family_examples(specification, family)


def family_examples(specification: Specification, family: ArithmeticFile) -> Iterator[Enumeration]:
    """What is shown of a family's sums by examples."""
    sums = sums_of(specification, family)
    for kind, known in sums.floats.items():
        for theorem, find in _EXAMPLES.items():
            faults = partial(_without_example, FloatSums(specification, known), find)
            yield Enumeration(theorem, kind, _part(family, kind), faults)
    for shape, (known, longest) in sums.longest.items():
        alike = {
            ZERO in block.addends: block
            for block in reversed(known.blocks)
            if block_shape(known, block) == shape
        }
        for zeros, block in sorted(alike.items()):
            if bound_of(specification, known, block) is not None:
                hard = HardSum(specification, known, replace(block, products=longest.products))
                subject = f"{'products alone: ' if zeros else ''}{shape}"
                faults = partial(_below_bound, hard, subject)
                yield Enumeration("arithmetic.tight", subject, _part(family, str(shape)), faults)


_EXAMPLES: Mapping[str, Callable[[FloatSums], SumExample | None]] = {
    "arithmetic.split": FloatSums.split,
    "arithmetic.factors": FloatSums.factored,
}


def _without_example(sums: FloatSums, find: Callable[[FloatSums], SumExample | None]) -> Iterator[str]:
    if find(sums) is None:
        known = sums.arithmetic
        yield f"{known.row.id}, {' '.join(known.types.values())}: no example is found"


def _below_bound(hard: HardSum, subject: str) -> Iterator[str]:
    """How the greatest errors differ from what the bound allows."""
    found, bound = hard.hardest, hard.bound
    if found.cut != bound.cut:
        yield f"{subject}: terms are found to lose {found.cut}, not {bound.cut}, of the window's last place"
    if found.rounded != 1:
        yield f"{subject}: rounding is found to lose {found.rounded} of what it may"
    if not 0 <= found.left <= 1 or (bound.window is not None and found.left == 1):
        yield f"{subject}: both are found to leave {found.left} units of the last place of their bound"


GROUP = TheoremGroup(
    85,
    (
        Theorem(
            "arithmetic.decode",
            "an element has the sign and the value that its format gives it, and is a zero, an "
            "infinity or a NaN where the format says so",
            formula="for each code: "
            "(negative, zero, infinite, nan, significand, exponent) == what the format says",
            fails="a code that a sum takes for another number",
        ),
        Theorem(
            "arithmetic.integers",
            "an addend of an integer sum, and an element times one, count as their type says",
            small=True,
            formula="for each code x: plus - minus, of x * 1 or of the addend x, == the integer that x is",
            fails="a code that counts as another integer",
        ),
        Theorem(
            "arithmetic.exchange",
            "where A and B have one type, a product is the same with both exchanged, unless one is a NaN",
            small=True,
            formula="for codes a, b, no NaN: product(a, b) == product(b, a), in all that a sum reads of it",
            fails="two elements whose product is another one when they are exchanged",
        ),
        Theorem(
            "arithmetic.order",
            "the terms of one block give the same sum in every order",
            formula="for terms x, y, what was taken before s: take(take(s, x), y) == take(take(s, y), x)",
            fails="two terms that come to something else in the other order",
        ),
        Theorem(
            "arithmetic.zero",
            "where A may be sparse, a product of a zero of A and a finite B changes no bit of a sum: A with "
            "its zeros written out gives the same",
            formula="for a == 0, finite b: "
            "what is summed of a * b is 0, and its greatest <= that of any addend",
            fails="a zero of A and a B whose product changes a sum",
        ),
        Theorem(
            "arithmetic.fit",
            "an integer sum is kept modulo the width of its type, or clamped once where the text clamps it",
            formula="for plus, minus < 2**40: "
            "code == (plus - minus) % 2**bits, or clamp(plus - minus) % 2**bits",
            fails="a sum that is kept as another integer",
        ),
        Theorem(
            "arithmetic.round",
            "a floating-point sum becomes the nearest number of its type, ties to even, or the next one in "
            "the direction that its model gives, a subnormal number or an infinity where it has to be one",
            formula="for each sum: "
            "code == the neighbour of abs(sum) in the type that the mode asks for, and its sign",
            fails="a sum whose code is another number than the one next to it",
        ),
        Theorem(
            "arithmetic.fused",
            "a fused sum is rounded as the exact sum of its terms is: what is too far below to be added "
            "is one bit, and changes no rounding; a product of zero leaves a number as it is",
            formula="for each even place n: (sum < n) == (exact < n) and (sum == n) == (exact == n)",
            fails="a sum that is rounded to another number than the exact sum of its terms",
        ),
        Theorem(
            "arithmetic.special",
            "a NaN, an infinity times zero and infinities of both signs make a NaN, and another infinity "
            "stays; a fused sum keeps the bits of the NaN of B, else of C, else of A",
            formula="for each sum: nan == (a term is a NaN or +inf and -inf are terms)",
            fails="a sum with an infinity or a NaN that has another code",
        ),
        Theorem(
            "arithmetic.negation",
            "where all terms have the other sign, and none is a NaN, so has a floating-point sum that is not "
            "zero (it is rounded up where it was rounded down)",
            formula="for terms, none a NaN, sum != 0: code(-terms) == code(terms) ^ sign_bit; rm for rp",
            fails="an element, a term or a sum that differs in more than its sign",
        ),
        Theorem(
            "arithmetic.signs",
            "but 1 - 1 is the zero that -1 + 1 is, and some sums that are rounded down or up, or clamped, "
            "differ in more than their sign",
            formula="for some terms: code(-terms) ^ code(terms) != sign_bit",
            fails="no such terms: a sum of a kind that is excepted changes its sign alone",
        ),
        Theorem(
            "arithmetic.bound",
            "a floating-point sum, of however many terms, is no farther from the exact one than "
            "`ptxmma numerics` says",
            formula="abs(sum - exact) <= (cut - 1) * window + last digit (rn: cut * window + half of it)",
            fails="a term that loses more than its significands allow, or a sum beyond the bound",
        ),
        Theorem(
            "arithmetic.exact",
            "under a plan whose sums are exact, a chip gives the exact result: no term is cut, and no sum on "
            "the way is rounded (of integers: `arithmetic.integers` and `arithmetic.fit`)",
            formula="for each plan: last place <= unit of the terms, and each sum is of the type: "
            "code == exact",
            fails="a plan under which a term may be cut, or a sum on the way rounded",
        ),
        Theorem(
            "arithmetic.split",
            "of each kind of floating-point sum with C, two products added at once give another result than "
            "one after the other, for some inputs",
            enumerated=True,
            formula="for some products p, q, addend c: sum(c, p, q) != sum(sum(c, p), q)",
            fails="a kind of sum for which trying finds no such inputs",
        ),
        Theorem(
            "arithmetic.factors",
            "each such sum can become less though no term does: where a product is made of other factors",
            enumerated=True,
            formula="for some a * b == x * y: sum(x * y and other terms) < sum(a * b and other terms)",
            fails="a kind of sum for which trying finds no such factors",
        ),
        Theorem(
            "arithmetic.tight",
            "the bound is reached: the terms of some sum of each kind, with its most products, lose all that "
            "they may, and the rounding of some sum all that it may; one sum loses both, but for less than "
            "one unit of the window's last place",
            enumerated=True,
            formula="for some sums: exact - kept == cut * window; kept - sum == all that rounding may lose",
            fails="a kind of sum whose greatest error that is found is not what the bound says",
        ),
    ),
    _parts,
    _behind,
    _enumerations,
)
