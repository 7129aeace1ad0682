"""The functions of numpy that compute sums do what their operations mean, to all words: two solvers prove it.

The functions get arrays of one element, which is a bit-vector. What numpy's own operators do to words is
written down here; that numpy does so is shown with numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import sympy

from ptxmma.formal.smt.bitvectors import BitVectors
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.smt.terms import (
    UGE,
    UGT,
    ULE,
    ULT,
    And,
    BitVec,
    BitVecVal,
    Bool,
    Extract,
    If,
    LShR,
    Or,
    SignExt,
    Term,
    UDiv,
    URem,
    ZeroExt,
)
from ptxmma.gen.arithmetic import array_operations
from ptxmma.gen.arithmetic.array_operations import WIDE, function_of, typed
from ptxmma.gen.arithmetic.lane_words import lane_function

from .lane_reader import run_lanes

TRUTH, FLOAT = np.dtype(bool), np.dtype(np.float64)
ORDERS: Mapping[Any, Callable[[Term, Term], Term]] = {
    np.equal: lambda a, b: a == b,
    np.not_equal: lambda a, b: a != b,
    np.less: ULT,
    np.less_equal: ULE,
    np.greater: UGT,
    np.greater_equal: UGE,
}
OPERATORS: Mapping[Any, Callable[[Term, Term], Term]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.floor_divide: UDiv,
    np.remainder: URem,
    np.bitwise_and: lambda a, b: a & b,
    np.bitwise_or: lambda a, b: a | b,
    np.bitwise_xor: lambda a, b: a ^ b,
    np.left_shift: lambda a, b: a << b,
    np.right_shift: LShR,
    np.maximum: lambda a, b: If(UGT(b, a), b, a),
    np.minimum: lambda a, b: If(ULT(b, a), b, a),
}


class AnyWords(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of one element, which may be any; of which type numpy has it."""

    ndim = 1

    def __init__(self, term: Term, dtype: Any) -> None:
        self.term, self.dtype = term, np.dtype(dtype)

    def astype(self, dtype: Any) -> AnyWords:
        wanted = np.dtype(dtype)
        if wanted == FLOAT:
            return AnyWords(rounded(self.term), FLOAT)
        if self.dtype == TRUTH:
            return self.view(np.uint8).astype(wanted)
        bits, size = wanted.itemsize * 8, self.term.size()
        if bits <= size:
            return AnyWords(Extract(bits - 1, 0, self.term), wanted)
        extend = SignExt if self.dtype.kind == "i" else ZeroExt
        return AnyWords(extend(bits - size, self.term), wanted)

    def view(self, dtype: Any) -> AnyWords:
        if self.dtype == TRUTH:
            return AnyWords(If(self.term, BitVecVal(1, 8), BitVecVal(0, 8)), dtype)
        assert np.dtype(dtype).itemsize == self.dtype.itemsize
        return AnyWords(self.term, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: Any = None) -> AnyWords:
        assert method == "__call__"
        (dtype,) = {one.dtype for one in given}
        terms = [
            one.term if isinstance(one, AnyWords) else BitVecVal(int(one), dtype.itemsize * 8)
            for one in given
        ]
        if dtype == TRUTH:
            assert ufunc in (np.bitwise_and, np.bitwise_or)
            found = AnyWords((And if ufunc is np.bitwise_and else Or)(*terms), TRUTH)
        elif ufunc in ORDERS:
            found = AnyWords(ORDERS[ufunc](*terms), TRUTH)
        elif ufunc in (np.invert, np.negative):
            found = AnyWords(
                ~terms[0] if ufunc is np.invert else BitVecVal(0, 8 * dtype.itemsize) - terms[0], dtype
            )
        else:
            found = AnyWords(OPERATORS[ufunc](*terms), dtype)
        if out is not None:
            assert out[0].dtype == found.dtype
            out[0].term = found.term
        return out[0] if out else found


def rounded(term: Term) -> Term:
    """A word as a number of 64 bits of IEEE 754: its exponent says how many digits it has.

    It may be rounded to a number of more digits, unless its second digit is 0. The fraction may be any.
    """
    size = term.size()
    digits = BitVectors(size, {}).bits(term)
    second = If(UGE(digits, 2), LShR(term, digits - 2) & 1, BitVecVal(0, size))
    up = If(And(second == 1, Bool("rounded up")), BitVecVal(1, size), BitVecVal(0, size))
    wide = digits + up if size == 64 else ZeroExt(64 - size, digits + up)
    fraction = ZeroExt(12, BitVec("fraction", 52))
    return If(term == 0, BitVecVal(0, 64), ((wide + 1022) << 52) | fraction)


def given(width: int, *named: str) -> Iterator[tuple[Any, Term]]:
    """What a function gets, and the word that it stands for."""
    for name in named:
        if width < WIDE:
            term = BitVec(name, width)
            yield AnyWords(term, f"u{width // 8}"), term
        else:
            high, low = BitVec(f"{name}_high", 64), BitVec(f"{name}_low", 64)
            term = ZeroExt(64, high) << 64 | ZeroExt(64, low)
            yield (AnyWords(high, "u8"), AnyWords(low, "u8")), term


def stands_for(found: Any, width: int) -> Term:
    """The word of a width that a result stands for."""
    if isinstance(found, tuple):
        high, low = (one.term if isinstance(one, AnyWords) else BitVecVal(int(one), 64) for one in found)
        return ZeroExt(64, high) << 64 | ZeroExt(64, low)
    size = found.term.size()
    return found.term if size == width else ZeroExt(width - size, found.term)


def condition() -> tuple[AnyWords, Term]:
    truth = Bool("condition")
    return AnyWords(If(truth, BitVecVal(1, 8), BitVecVal(0, 8)), "u1"), truth


def amount(width: int) -> tuple[AnyWords, Term]:
    """By how much a word is shifted: less than its width; of pairs a word of 64 bits."""
    size = min(width, 64)
    by = BitVec("by", size)
    return AnyWords(by, f"u{size // 8}"), by if size == width else ZeroExt(width - size, by)


def in_c(operation: str, width: int) -> Callable[..., Any]:
    """The function of an operation in C, which computes words of 64 bits."""
    return lambda *given: run_lanes(lane_text_of(operation, width, given), given)


def lane_text_of(operation: str, width: int, given: Sequence[Any]) -> str:
    kinds = ["pair" if isinstance(one, tuple) else "lanes" for one in given]
    return lane_function("function", operation, width, kinds)[0]


def claims(
    width: int, functions: Callable[[str, int], Callable[..., Any]] = function_of
) -> Iterator[tuple[str, Term, Term]]:
    """Each operation that has two operands of a width, or one: the word that it gives, and its meaning."""
    (a, x), (b, y) = given(width, "a", "b")
    meant, one = BitVectors(width, {}), BitVecVal(1, width)
    truth: Mapping[str, Callable[[Term, Term], Term]]
    truth = {"<": ULT, "<=": ULE, ">": UGT, ">=": UGE, "==": lambda p, q: p == q, "!=": lambda p, q: p != q}
    zero = BitVecVal(0, width)

    def of(operation: str, *operands: Any) -> Term:
        return stands_for(functions(operation, width)(*operands), width)

    for op, order in truth.items():
        yield op, of(op, a, b), If(order(x, y), one, zero)
    for op in ("+", "-", "&", "|", "^"):
        yield op, of(op, a, b), meant.binary(op, x, y)
    chooses, holds = condition()
    mask = functions(f"mask{min(width, 64)}", 8)(chooses)
    yield "where", of("where", mask, a, b), If(holds, x, y)
    yield "taken", of("taken", mask, a), If(holds, x, zero)
    yield "difference", of("difference", a, b), If(UGT(x, y), x - y, zero)
    yield "minimum", of("minimum", a, b), If(ULT(x, y), x, y)
    yield "maximum", of("maximum", a, b), If(UGT(y, x), y, x)
    yield "bits", of("bits", a), meant.bits(x)
    by, count = amount(width)
    yield "<<", of("<<", a, by), x << count
    yield ">>", of(">>", a, by), LShR(x, count)
    if width == WIDE:
        yield (
            "low",
            If(ULE(count, 128), of("low", a, by), zero),
            If(ULE(count, 128), x & ((one << count) - 1), zero),
        )
        yield "power", of("power", by), one << count
        yield "as64", of("as64", a), x & ((one << 64) - 1)
    else:
        yield "scaled", of("scaled", a, by, b), (x << count) & y
        yield "*", of("*", a, b), x * y
        yield "as128", stands_for(functions("as128", width)(a), WIDE), ZeroExt(WIDE - width, x)
        for wanted in (8, 16, 32, 64) if functions is function_of else ():
            found = function_of(f"as{wanted}", width)(a).term
            kept = Extract(wanted - 1, 0, x) if wanted < width else x
            yield f"as{wanted}", found, ZeroExt(wanted - width, kept) if wanted > width else kept


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("width", [64, WIDE])
def test_operations_in_c_mean_what_they_say(width: int, solver: str) -> None:
    listed = list(claims(width, in_c))
    assert len(listed) > 18
    for operation, found, meant in listed:
        assert ask(solver, refuting(found != meant)).status == "unsat", operation


@pytest.mark.parametrize(
    ("operation", "width", "right", "slip"),
    [
        ("+", WIDE, "p0.low + p1.low", "p0.low + p1.high"),
        ("+", WIDE, " < p0.low", " <= p0.low"),
        ("<", WIDE, "p0.high == p1.high", "p0.high != p1.high"),
        ("difference", 64, "greater(", "lesser("),
        ("where", 64, "p1 ^ p2", "p1 | p2"),
        ("bits", 64, "N(1022)", "N(1021)"),
        (">>", WIDE, "left(", "right("),
    ],
)
def test_a_slip_of_the_c_is_refuted(operation: str, width: int, right: str, slip: str) -> None:
    def slipped(asked: str, of: int) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            text = lane_text_of(asked, of, given)
            if asked == operation:
                assert right in text, text
                text = text.replace(right, slip, 1)
            return run_lanes(text, given)

        return run

    wrong = [found != meant for name, found, meant in claims(width, slipped) if name == operation]
    assert [ask("z3", refuting(one)).status for one in wrong] == ["sat"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("width", array_operations.WIDTHS)
def test_operations_mean_what_they_say(width: int, solver: str) -> None:
    listed = list(claims(width))
    assert len(listed) > 18
    for operation, found, meant in listed:
        assert ask(solver, refuting(found != meant)).status == "unsat", operation


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("by", [0, 1, 3, 55, 63, 64, 65, 127])
def test_shifts_of_pairs_by_a_number(by: int, solver: str) -> None:
    """And of pairs whose high half is the number 0, as that of a word that was widened."""
    ((pair, word),) = given(WIDE, "a")
    low = AnyWords(BitVec("a_low", 64), "u8")
    narrow = function_of("as128", 64)(low)
    for one, stands in ((pair, word), (narrow, ZeroExt(64, low.term))):
        with np.errstate(all="ignore"):
            found = stands_for(function_of("<<", WIDE)(one, np.uint64(by)), WIDE)
        assert ask(solver, refuting(found != stands << by)).status == "unsat"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_shift_of_a_widened_word_by_any_number(solver: str) -> None:
    low = AnyWords(BitVec("a_low", 64), "u8")
    free, count = amount(WIDE)
    found = stands_for(function_of("<<", WIDE)(function_of("as128", 64)(low), free), WIDE)
    assert ask(solver, refuting(found != ZeroExt(64, low.term) << count)).status == "unsat"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("functions", [function_of, in_c])
def test_the_product_of_two_words(
    functions: Callable[[str, int], Callable[..., Any]], solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put together of products of halves: they may be any here, of which solvers know the greatest."""
    halves = {name: BitVec(name, 64) for name in ("low low", "low high", "high low", "high high")}
    a, b = (AnyWords(BitVec(name, 64), "u8") for name in "ab")
    low = {id(one.term): str(one.term) for one in (a, b)}

    def half(term: Term) -> str:
        for one in (a.term, b.term):
            if str(term) == str(one & 0xFFFFFFFF):
                return "low"
            if str(term) == str(LShR(one, 32)):
                return "high"
        raise AssertionError(term)

    def product(x: Term, y: Term) -> Term:
        if id(x) in low and id(y) in low:  # modulo 2^64
            return halves["low low"] + ((halves["low high"] + halves["high low"]) << 32)
        return halves[f"{half(x)} {half(y)}"]

    monkeypatch.setitem(OPERATORS, np.multiply, product)
    found = stands_for(functions("*", WIDE)(a, b), WIDE)
    wide = {name: ZeroExt(64, term) for name, term in halves.items()}
    middle = wide["low high"] + wide["high low"]
    meant = (wide["high high"] << 64) + (middle << 32) + wide["low low"]
    greatest = ((1 << 32) - 1) ** 2
    assumed = [ULE(term, greatest) for term in halves.values()]
    assert ask(solver, refuting(*assumed, found != meant)).status == "unsat"
    x1, x0, y1, y0 = sympy.symbols("x1 x0 y1 y0")
    both = (x1 * 2**32 + x0) * (y1 * 2**32 + y0)
    assert sympy.expand(both - (x1 * y1 * 2**64 + (x0 * y1 + x1 * y0) * 2**32 + x0 * y0)) == 0


NUMBERS = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, 127, 128, 200, 255]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_numpy_does_what_is_assumed_of_it(width: int) -> None:
    """Shifts by the width or more give 0; words wrap; the sign of a word is extended."""
    kind, most = f"u{width // 8}", (1 << width) - 1
    numbers = np.array([*NUMBERS, most, most - 1, most >> 1], kind)
    a, b = (one.reshape(-1) for one in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        listed: list[tuple[np.ufunc, Callable[[int, int], int]]] = [
            (np.add, lambda x, y: x + y),
            (np.subtract, lambda x, y: x - y),
            (np.multiply, lambda x, y: x * y),
            (np.left_shift, lambda x, y: x << min(y, width)),
            (np.right_shift, lambda x, y: x >> min(y, width)),
            (np.maximum, max),
            (np.minimum, min),
        ]
        for ufunc, meant in listed:
            found = ufunc(a, b)
            wanted = [meant(int(x), int(y)) & most for x, y in zip(a, b, strict=True)]
            assert found.dtype == a.dtype and found.tolist() == wanted, ufunc
            by_number = [ufunc(a, typed(number, width)).tolist() for number in (1, 64)]
            assert by_number == [[meant(int(x), n) & most for x in a] for n in (1, 64)], ufunc
        assert np.invert(a).tolist() == [most - int(x) for x in a]
        mask = function_of(f"mask{width}", 8)(np.array([0, 1], np.uint8))
        assert mask.dtype == a.dtype and mask.tolist() == [0, most]


def test_digits_of_whole_numbers() -> None:
    """Conversion to floating point is monotonic: it is enough to look at both ends of all numbers of n digits."""
    for digits in range(1, 65):
        least = 1 << digits - 1
        ends = np.array([least, least + (least >> 1) - (digits > 1)], np.uint64)  # the second digit is 0
        exponents = ends.astype(np.float64).view(np.uint64) >> np.uint64(52)
        assert exponents.tolist() == [1022 + digits] * 2
        whole = np.array([least, 2 * least - 1], np.uint64)
        assert function_of("bits", 64)(whole).tolist() == [digits] * 2
    assert function_of("bits", 64)(np.zeros(2, np.uint64)).tolist() == [0, 0]


@pytest.mark.parametrize("width", array_operations.WIDTHS)
def test_reductions_are_along_the_first_axis(width: int) -> None:
    rows = [[1, 2, 250], [3, 1, 5], [0, 2, 0]]
    words = np.array(rows, f"u{min(width, 64) // 8}")
    found = {}
    for name in ("greatest", "total"):
        if width < WIDE:
            found[name] = function_of(name, width)(words).tolist()
        else:  # the high half is one number for all
            high, low = function_of(name, width)((np.uint64(1), words))
            found[name] = [(int(h) << 64) + int(n) for h, n in zip(high, low, strict=True)]
    above = 1 << 64 if width == WIDE else 0
    assert found["greatest"] == [above + n for n in (3, 2, 250)]
    assert found["total"] == [3 * above + n for n in (4, 5, 255)]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slip_is_refuted(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, slip in (("_BITS", np.uint64(63)), ("_ALL", np.uint64(1)), ("_POINT_FIVE", np.uint64(1021))):
        with monkeypatch.context() as patch:
            patch.setattr(array_operations, name, slip)
            assert any(
                ask(solver, refuting(f != m)).status == "sat"
                for op, f, m in claims(WIDE)
                if op in ("<<", "low", "bits")
            )
