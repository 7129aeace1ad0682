"""Why a chip gives the exact result of a plan: no term is cut, and each sum on the way is of its type.

What a model does with terms that are multiples of its last place is proven once for each shape of sums; that
the terms of every plan are such, and their sums short enough, is proven of the plans' bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..spec.arithmetic_records import ArithmeticFile
from ..spec.specification import Specification
from .exact_numbers import outside, within
from .kept import kept
from .plan_bounds import SumBounds
from .plans import Range, arithmetic, number_range, plans
from .smt.integers import length_of
from .smt.obligations import by_cases, refuting
from .smt.terms import ULE, ULT, And, BitVec, BitVecs, Int, Ints, IntVal, LShR, Or, Term
from .sum_rounding import SumRounding
from .sum_shapes import SumShape, block_shape, family_arithmetics
from .symbolic_sums import SymbolicSum

__all__ = ["ExactSums", "PlannedSums", "planned_sums"]

_SIGNIFICANDS = 1 << 32  # more than that of any term of a window
_MORE = 3  # places that a sum of two terms has beyond theirs
_WINDOW, _TOP, _MOST = "window", "top", "most_places"


@dataclass(frozen=True)
class PlannedSums:
    """The sums of a plan, in powers of two: the unit of all terms, the greatest elements of A and of B (their
    first digits), and in units the greatest magnitude of any sum.
    """

    unit: int
    a: int
    b: int
    magnitude: int

    @property
    def first(self) -> int:
        """The exponent of a sum's first digit, at most."""
        return self.unit + self.magnitude.bit_length() - 1


@kept
def planned_sums(
    specification: Specification, family: ArithmeticFile
) -> Mapping[SumShape, Mapping[PlannedSums, str]]:
    """For each shape of floating-point sums, what plans make of it, with a name for each. Kept.

    Plans whose result is rounded are not among them.
    """
    found: dict[SumShape, dict[PlannedSums, str]] = {}
    seen: set[object] = set()
    for variant, known in family_arithmetics(specification, family):
        if variant.row.row.tolerated or known.types["D"] not in specification.formats:
            continue
        computed = arithmetic(specification, variant)
        shapes = {block_shape(known, block) for block in known.blocks}
        if (computed, *shapes) in seen:
            continue
        seen.add((computed, *shapes))
        for plan in plans(specification, variant):
            if plan.nonzero is None:
                sums = PlannedSums(
                    plan.unit,
                    plan.a.exponent + plan.a.magnitude.bit_length() - 1,
                    plan.b.exponent + plan.b.magnitude.bit_length() - 1,
                    SumBounds.of(computed, plan).magnitude,
                )
                for shape in shapes:
                    found.setdefault(shape, {}).setdefault(sums, f"{plan.name}: {computed}")
    return found


@dataclass(frozen=True)
class ExactSums:
    """What the sums of one shape are where nothing is lost."""

    sums: SymbolicSum

    @cached_property
    def _held(self) -> Range:
        """The numbers of the result, of as many digits as the model keeps."""
        shape = self.sums.shape
        held = number_range(self.sums.specification, shape.result)
        digits = dict(shape.integers).get("digits", held.bits)
        return held.of_bits(min(held.bits, digits))

    def claims(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str]]]:
        """Each claim about a shape: what it is about, the stages and types that it reads, and its text."""
        shape = self.sums.shape
        if _WINDOW in shape.constants:
            yield "a term that is a multiple of the last place", ("term",), (), self._whole
            yield "where the last place is", ("term", "result"), (), self._below
        else:
            yield "a term that is a multiple of the last place", ("term",), (), self._cut
            types = (" x ".join(shape.factors), *shape.addends)
            yield "a term with the places of all", ("term",), types, self._written
            yield "where the last place is", ("term", "result"), (), self._far
        yield "the digits above the last place", ("result",), (shape.result,), self._placed
        yield "what is left below them", ("result",), (shape.result,), self._rest
        yield "nothing is rounded up", ("result",), (shape.result,), self._same

    def _whole(self) -> str:
        """A term that is a multiple of the window's last place is not kept whole."""
        word, window = self.sums.shape.word, self.sums.shape.constants[_WINDOW]
        significand, apart = BitVecs("significand apart", word)
        above, under = (
            self.sums.derived(("kept",), {"significand": significand, "below": below}, each="term")["kept"]
            for below in (window + apart, window - apart)
        )
        multiple = significand & (self.sums.number(1) << apart) - 1 == 0
        cut = And(ULT(apart, word - window), multiple, above != LShR(significand, apart))
        changed = Or(cut, And(ULE(apart, window), under != significand << apart))
        return refuting(ULT(significand, _SIGNIFICANDS), by_cases(apart, word, changed))

    def _below(self) -> str:
        """`below` is not how far a term's last place is below the window's. In integers."""
        exponent, places, top = Ints("exponent places top")
        given = {"exponent": exponent, "places": places, _TOP: top}
        below = self.sums.derived(("below",), given, integers=True, each="term")["below"]
        last = self.sums.derived(("quantum",), given, integers=True)["quantum"]
        apart = last - (exponent - places)
        wrong = below - self.sums.shape.constants[_WINDOW] != apart
        return refuting(exponent <= top, wrong, logic="QF_LIA")

    def _cut(self) -> str:
        """A term is changed, though what is cut of it is zeros."""
        whole, by = BitVecs("whole by", self.sums.shape.word)
        found = self.sums.derived(("kept",), {"whole_term": whole, "by": by}, each="term")["kept"]
        zeros = whole & (self.sums.number(1) << by) - 1 == 0
        return refuting(ULT(by, self.sums.shape.word), zeros, found != LShR(whole, by))

    def _written(self) -> str:
        """A term is not written with the places of all, and a few more."""
        significand, most = BitVec("significand", self.sums.shape.word), max(self._places)
        faults = []
        for own in self._places:
            places = {"places": self.sums.number(own), _MOST: self.sums.number(most)}
            found = self.sums.derived(("whole_term",), {"significand": significand, **places}, each="term")
            faults.append(found["whole_term"] != significand << most - own + _MORE)
        return refuting(Or(*faults))

    @property
    def _places(self) -> tuple[int, ...]:
        """How many binary places products have, and each addend."""
        formats, shape = self.sums.specification.formats, self.sums.shape
        addends = [formats[element].fraction for element in shape.addends]
        products = sum(formats[element].fraction for element in shape.factors)
        return tuple(dict.fromkeys([products, *addends] if shape.factors else addends))

    def _far(self) -> str:
        """`far` is not how far a term's last place, so written, is below the last one. In integers."""
        exponent, top, most = Ints("exponent top most")
        given = {"exponent": exponent, _TOP: top, _MOST: most}
        far = self.sums.derived(("far",), given, integers=True, each="term")["far"]
        last = self.sums.derived(("quantum",), given, integers=True)["quantum"]
        return refuting(exponent <= top, far != last - (exponent - most - _MORE), logic="QF_LIA")

    def _placed(self) -> str:
        """A sum of few enough digits above `low` zeros is cut above them. In integers."""
        shape, form = self.sums.shape, self.sums.specification.formats[self.sums.shape.result]
        low, total, digits = Int("low"), Int("total"), length_of(Int("total"))
        reduced = {name: Int(name) for name in sorted(self.sums.reductions)}
        found = self.sums.derived(("quantum", "left", "shift"), {**reduced, "total": total}, integers=True)
        least = 1 + shape.model.offset - form.bias - form.fraction
        faults = [And(found["left"] <= 0, found["shift"] > low)]
        if SumRounding(self.sums).digits:
            whole = {"sum": total}
            surplus = self.sums.derived(("surplus",), whole, integers=True)["surplus"]
            faults.append(surplus > low)
        return refuting(
            low >= 0,
            total > 0,
            digits > 0,
            digits <= low + self._held.bits,
            found["quantum"] + low >= least,
            Or(*faults),
            logic="QF_LIA",
        )

    def _rest(self) -> str:
        """Zeros that are cut leave a rest, or make the sum another one."""
        word, one = self.sums.shape.word, self.sums.number(1)
        total, shift, low = BitVecs("total shift low", word)
        given = {"total": total, "left": self.sums.number(0), "shift": shift}
        lost = self.sums.derived(("rest",), given)["rest"] != 0
        if SumRounding(self.sums).digits:
            kept_sum = self.sums.derived(("total",), {"sum": total, "surplus": shift})["total"]
            lost = Or(lost, kept_sum != total)
        zeros = total & (one << low) - 1 == 0
        return refuting(ULT(low, word), ULE(shift, low), zeros, by_cases(shift, word, lost))

    def _same(self) -> str:
        """Where nothing is left, a number is rounded up."""
        whole, shift, negative = BitVecs("whole shift negative", self.sums.shape.word)
        given = {"whole": whole, "rest": self.sums.number(0), "shift": shift, "negative": negative}
        increase = self.sums.derived(("increase",), given)["increase"]
        return refuting(ULT(shift, self.sums.shape.word), ULE(negative, 1), increase != 0)

    def planned(self, listed: Mapping[PlannedSums, str]) -> str:
        """Under some plan the last place is above the unit, or a sum is not of the type. In integers."""
        shape, offset = self.sums.shape, self.sums.shape.model.offset
        plan, value, a, b, addend, significand = Ints("plan value a b addend significand")
        faults: list[Callable[[PlannedSums], Term]] = []
        if shape.factors:
            given = {"a_exponent": a, "b_exponent": b}
            product = self.sums.derived(("exponent",), given, integers=True, each="product")["exponent"]
            place = self._last(significand, product)
            faults.append(lambda sums: place > offset + sums.unit)
        if shape.addends:
            own = self._last(significand, addend)
            alone = not shape.factors and len(shape.addends) == 1  # its own last place is not cut
            cut = own > addend - max(self._places) if alone else True
            faults.append(lambda sums: And(own > offset + sums.unit, cut))
        cases = []
        for number, sums in enumerate(listed):
            assumed = And(
                plan == number,
                a <= offset + sums.a,
                b <= offset + sums.b,
                addend <= offset + sums.first,
                within(value, (-sums.magnitude, sums.magnitude)),
            )
            wrong = (fault(sums) for fault in faults)
            cases.append(And(assumed, Or(*wrong, outside(value, sums.magnitude, sums.unit, self._held))))
        return refuting(significand >= 0, a >= 0, b >= 0, Or(*cases), logic="QF_LIA")

    def _last(self, significand: Term, exponent: Term) -> Term:
        """The last place of a sum in which a term has the greatest exponent."""
        given = {"significand": significand, "exponent": exponent}
        reduced = {_TOP: self.sums.derived((_TOP,), given, integers=True, each="term")[_TOP]}
        if _MOST in self.sums.reductions:
            reduced[_MOST] = IntVal(max(self._places))
        return self.sums.derived(("quantum",), reduced, integers=True)["quantum"]
