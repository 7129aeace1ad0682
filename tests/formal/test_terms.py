"""Both solvers give terms the values that Python computes, and a formula has one text."""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable

import pytest

from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.smt.terms import (
    SLE,
    UGE,
    UGT,
    ULE,
    ULT,
    And,
    BitVec,
    BitVecs,
    BitVecVal,
    Bool,
    BoolVal,
    Distinct,
    Extract,
    If,
    Implies,
    Int,
    Ints,
    IntVal,
    LShR,
    Not,
    Or,
    SignExt,
    Term,
    UDiv,
    URem,
    ZeroExt,
    narrowed,
    script,
    substitute,
)

WIDTH = 9
MASK = (1 << WIDTH) - 1

VECTORS: dict[str, tuple[Callable[[Term, Term], Term], Callable[[int, int], int]]] = {
    "+": (operator.add, lambda a, b: a + b & MASK),
    "-": (operator.sub, lambda a, b: a - b & MASK),
    "*": (operator.mul, lambda a, b: a * b & MASK),
    "&": (operator.and_, operator.and_),
    "|": (operator.or_, operator.or_),
    "^": (operator.xor, operator.xor),
    "<<": (lambda a, b: a << URem(b, 4), lambda a, b: a << b % 4 & MASK),
    ">>": (lambda a, b: LShR(a, URem(b, 4)), lambda a, b: a >> b % 4),
    "~": (lambda a, b: ~a, lambda a, b: ~a & MASK),
    "//": (lambda a, b: UDiv(a, b | 1), lambda a, b: a // (b | 1)),
    "%": (lambda a, b: URem(a, b | 1), lambda a, b: a % (b | 1)),
    "where": (lambda a, b: If(ULT(a, b), 2 * a, 1 - b), lambda a, b: 2 * a & MASK if a < b else 1 - b & MASK),
    "bits": (lambda a, b: ZeroExt(WIDTH - 3, Extract(4, 2, a)), lambda a, b: a >> 2 & 7),
    "sign": (lambda a, b: SignExt(WIDTH - 3, Extract(2, 0, a)), lambda a, b: ((a & 7) ^ 4) - 4 & MASK),
}
INTEGERS: dict[str, tuple[Callable[[Term, Term], Term], Callable[[int, int], int]]] = {
    "+": (operator.add, operator.add),
    "-": (lambda a, b: 3 - a - b, lambda a, b: 3 - a - b),
    "*": (lambda a, b: -7 * a + b * 2, lambda a, b: -7 * a + b * 2),
    "//": (lambda a, b: a // 5 + b // 2, lambda a, b: a // 5 + b // 2),
    "%": (lambda a, b: a % 5 + b % 2, lambda a, b: a % 5 + b % 2),
}
COMPARISONS: dict[str, tuple[Callable[[Term, Term], Term], Callable[[int, int], bool]]] = {
    "ult": (ULT, operator.lt),
    "ule": (ULE, operator.le),
    "ugt": (UGT, operator.gt),
    "uge": (UGE, operator.ge),
    "==": (operator.eq, operator.eq),
    "!=": (operator.ne, operator.ne),
    "sle": (SLE, lambda a, b: (a ^ 256) <= (b ^ 256)),
}


def holds(*formulas: Term, logic: str = "QF_BV") -> bool:
    """Both solvers say the same; what they say."""
    statuses = {ask(solver, refuting(*formulas, logic=logic)).status for solver in SOLVERS}
    assert statuses in ({"sat"}, {"unsat"})
    return statuses == {"sat"}


def drawn(low: int, high: int) -> list[tuple[int, int]]:
    source = random.Random(11)
    return [
        (0, 0),
        (low, high),
        (high, low),
        *((source.randint(low, high), source.randint(low, high)) for _ in range(4)),
    ]


@pytest.mark.parametrize("name", VECTORS)
def test_bit_vectors(name: str) -> None:
    made, computed = VECTORS[name]
    a, b = BitVecs("a b", WIDTH)
    for x, y in drawn(0, MASK):
        given = And(a == x, b == y)
        assert holds(given, made(a, b) == computed(x, y))
        assert not holds(given, made(a, b) != computed(x, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    made, computed = COMPARISONS[name]
    a, b = BitVecs("a b", WIDTH)
    for x, y in [*drawn(0, MASK), (5, 5)]:
        assert holds(a == x, b == y, made(a, b)) == computed(x, y)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    made, computed = INTEGERS[name]
    a, b = Ints("a b")
    for x, y in drawn(-99, 99):
        assert not holds(a == x, b == y, made(a, b) != computed(x, y), logic="QF_LIA")
        assert holds(a == x, b == y, And(a < x + 1, a <= x, b > y - 1, b >= y), logic="QF_LIA")


def test_truth_values() -> None:
    p, q = Bool("p"), Bool("a name with spaces")
    for x in (False, True):
        for y in (False, True):
            given = And(p == x, q == y)
            for formula, value in (
                (And(p, q), x and y), (Or(p, q), x or y), (Not(p), not x), (Implies(p, q), not x or y),
                (If(p, q, Not(q)), y if x else not y), (p == q, x == y), (Distinct(p, q), x != y),
            ):  # fmt: skip
                assert holds(given, formula) == value
    assert And() is BoolVal(True) and Or() is BoolVal(False)
    assert And(p, True) is p and Or(p, True) is BoolVal(True)


def test_a_model_has_the_constants_names() -> None:
    text = refuting(BitVec("ptx version", 8) == 7, Not(Bool("no")))
    for solver in SOLVERS:
        answer = ask(solver, text)
        assert answer.status == "sat" and answer.model["ptx version"] == 7 and not answer.model.get("no")


def test_equal_parts_are_written_once() -> None:
    a, b = BitVecs("a b", 8)
    shared = script([ULT(a * b, 3), UGT(a * b, 1)], "QF_BV")
    assert shared.count("bvmul") == 1
    product = a * b
    assert shared == script([ULT(product, 3), UGT(product, 1)], "QF_BV")


def test_deep_formulas_are_written() -> None:
    """Deeper than Python's stack: no greater depth is another case."""
    deep = 5 * sys.getrecursionlimit()
    term = Int("x")
    for number in range(deep):
        term = term + number
    assert script([term == 0], "QF_LIA").count("(+") == deep


def test_substitution_and_narrowing() -> None:
    a, b, c = BitVecs("a b c", 8)
    assert script([substitute(ULT(a, b), {a: c})], "QF_BV") == script([ULT(c, b)], "QF_BV")
    text = narrowed(refuting(ULT(a, 3)), a == 5)
    assert {ask(solver, text).status for solver in SOLVERS} == {"unsat"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bool(Bool("p")),
        lambda: BitVec("a", 8) < 3,
        lambda: BitVec("a", 8) % 3,
        lambda: Int("a") & 3,
        lambda: BitVec("a", 8) + BitVec("b", 9),
        lambda: Bool("p") + 1,
        lambda: And(Int("a")),
        lambda: If(Bool("p"), 1, 2),
        lambda: BitVec("a", 0),
        lambda: Extract(8, 0, BitVec("a", 8)),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


def test_literals() -> None:
    assert (
        str(BitVecVal(-1, 4)) == "(_ bv15 4)"
        and str(IntVal(-3)) == "(- 3)"
        and str(BitVec("x y", 3)) == "x y"
    )
