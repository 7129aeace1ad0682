"""The C of sums, executed on elements that stand for any: D is the very value that the definition gives.

Both make nodes, and what is made alike is one object; so no solver is asked, and it holds for all inputs of
whole sums. The operators of C on unsigned words are those of the definition, since no value exceeds its word
and no shift reaches it: the loader proves both by intervals. That words of 64 bits hold what they are given,
where others have more, is shown by the bounds of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from ptxmma.formal.smt.bitvectors import BitVectors
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.smt.terms import BitVec, BitVecVal, Bool, Extract, If, LShR, ZeroExt
from ptxmma.gen.arithmetic.sum_text import SumText
from ptxmma.gen.arithmetic.type_sets import type_sets
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_checks import sums_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.expressions import Binary, BitLength, Compare, Name, Negation, Number, Where
from ptxmma.spec.specification import Specification

from .symbolic_sums import Node, define_by_nodes, defined, emitted, read

TARGET = "sm_90a"
SIGNS = ((False, False), (True, False), (False, True))
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
INTEGER = "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32"


@pytest.fixture(autouse=True)
def symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    define_by_nodes(monkeypatch)


def wrong(specification: Specification, every: Iterable[ChipArithmetic]) -> list[str]:
    """The rows and types of which D is another value; where A and B can be negated, with the signs of both."""
    found = []
    for known in every:
        text = SumText(specification, known).text()
        for negated in SIGNS if known.row.id.startswith("wgmma") else SIGNS[:1]:
            Node.made.clear()
            if defined(specification, known, negated) is not emitted(text, known, negated):
                found.append(f"{known.row.id} {known.types} {negated}")
    return found


def every_sum(specification: Specification) -> list[ChipArithmetic]:
    (family,) = arithmetic().families
    return [one.arithmetic for one in type_sets(specification, sums_of(specification, family), TARGET)]


def test_sums_of_c_are_those_of_the_definition(specification: Specification) -> None:
    """Of each row, the sum of the fewest products."""
    listed = sorted(every_sum(specification), key=lambda known: known.products)
    rows = {known.row.id: known for known in reversed(listed)}
    assert rows.keys() == {row.id for family in arithmetic().families for row in family.rows}
    assert wrong(specification, rows.values()) == []


def test_every_sum_of_c_is_that_of_the_definition(specification: Specification) -> None:
    """Of all type sets, with the first two products of each block: more of them are more turns of a loop."""
    every = every_sum(specification)
    short: dict[str, ChipArithmetic] = {}
    for known in every:
        blocks = tuple(replace(one, products=one.products[:2]) for one in known.blocks)
        few = replace(known, blocks=blocks)
        short.setdefault(SumText(specification, few).text(), few)  # those that differ in K alone once
    assert len(every) > 170 and len(short) > 50 and wrong(specification, short.values()) == []


@pytest.mark.parametrize(
    ("mnemonic", "right", "slip"),
    [
        (FP8, "v_a_code = a[at[i]]", "v_a_code = b[at[i]]"),
        (FP8, "v_a_negated = negated_a", "v_a_negated = negated_b"),
        (FP8, "i < 17", "i < 16"),
        (FP8, "all_kept[i] = v_kept", "all_kept[i] = v_below"),
        (FP8, "all_nan[16] = v_nan;", "all_nan[15] = v_nan;"),
        (FP8, "one_top > v_top ? one_top", "one_top < v_top ? one_top"),
        (FP8, "v_plus += one_plus", "v_plus += v_kept"),
        (FP8, "v_minus += one_minus", "v_minus = one_minus"),
        (FP8, "at_1[] = {2, 3,", "at_1[] = {3, 3,"),
        (FP8, "at_0, 0)", "at_0, c)"),
        (FP8, "at_2, c, sum_1)", "at_2, sum_1, c)"),
        (FP8, "return sum_2", "return sum_1"),
        (FP8, "return v_code", "return v_finite"),
        (FP8, "v_window = N(25)", "v_window = N(24)"),
        (
            WGMMA,
            "(minus > plus ? N(1)".replace("minus", "v_minus").replace("plus", "v_plus"),
            "(v_minus < v_plus ? N(1)",
        ),
        (WGMMA, ">> v_surplus << v_surplus", "<< v_surplus >> v_surplus"),
        (INTEGER, "v_a_magnitude * v_b_magnitude", "v_a_magnitude + v_b_magnitude"),
        (INTEGER, "word64 v_plus = 0", "word64 v_plus = 1"),
    ],
)
def test_a_slip_of_the_c_is_another_value(
    specification: Specification, mnemonic: str, right: str, slip: str
) -> None:
    known = arithmetic_of(specification.find(mnemonic), TARGET)
    text = SumText(specification, known).text()
    assert right in text
    wanted = defined(specification, known, (True, False))
    assert emitted(text, known, (True, False)) is wanted
    assert emitted(text.replace(right, slip, 1), known, (True, False)) is not wanted


@pytest.mark.parametrize(
    ("right", "slip"),
    [
        ("(word)v_a_significand * ", "v_a_significand * "),
        ("((word)N(1) << v_by)", "(N(1) << v_by)"),
        ("const word v_kept = v_whole", "const word64 v_kept = v_whole"),
        ("  word all_kept[2];", "  word64 all_kept[2];"),
        ("  word v_plus = 0;", "  word64 v_plus = 0;"),
        ("one_plus = taken(", "one_plus = taken64("),
    ],
)
def test_what_a_short_word_loses_is_noticed(specification: Specification, right: str, slip: str) -> None:
    """Where words have 128 bits, most values are in words of 64 bits; the nodes have bounds of their own."""
    known = arithmetic_of(specification.find(F64), TARGET)
    text = SumText(specification, known).text()
    assert right in text
    with pytest.raises(AssertionError, match=r"a word64 of|a shift by|the high half is lost"):
        emitted(text.replace(right, slip), known)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("width", [64, 128])
def test_what_is_taken_where_a_condition_holds(specification: Specification, width: int, solver: str) -> None:
    name, kind = ("taken", "word") if width == 128 else ("taken64", "word64")
    text = SumText(specification, arithmetic_of(specification.find(F64), TARGET)).text()
    head = f"FUNCTION {kind} {name}(int condition, {kind} value) {{"
    assert f"{head}\n  return value & -({kind})condition;\n}}" in text
    value, holds = BitVec("value", width), Bool("holds")
    condition = If(holds, BitVecVal(1, width), BitVecVal(0, width))
    wrong = (value & (BitVecVal(0, width) - condition)) != If(holds, value, BitVecVal(0, width))
    assert ask(solver, refuting(wrong)).status == "unsat"


def test_many_sums_are_one_after_another(specification: Specification) -> None:
    known = arithmetic_of(specification.find(FP8), TARGET)
    text = " ".join(SumText(specification, known).many().split())
    one = "d[job] = (unsigned int)sum_of_products(a + 32 * job, b + 32 * job, negated_a, negated_b, c[job]);"
    several = "if (!(negated_a | negated_b)) for (; job + LANES <= jobs; job += LANES) "
    several += "sums_of_lanes(a + 32 * job, b + 32 * job, c + job, d + job);"
    assert f"word64 job = 0; #ifdef LANES {several} #endif for (; job < jobs; job++) {one} }}" in text
    (declared,) = re.findall(r"void sums_of_products\((.*?)\)", text)
    assert declared.startswith(
        "const unsigned char *a, const unsigned char *b, const unsigned int *c, unsigned int *d,"
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_how_many_digits_a_wide_word_has(specification: Specification, solver: str) -> None:
    """`bits` of 128 bits, made of that of 64: value >> 64 ? bits64(value >> 64) + 64 : bits64(value)."""
    known = arithmetic_of(specification.find(F64), TARGET)
    assert (
        "return value >> 64 ? bits64(value >> 64) + 64 : bits64(value);"
        in SumText(specification, known).text()
    )
    value, narrow = BitVec("value", 128), BitVectors(64, {})
    high = ZeroExt(64, narrow.bits(Extract(127, 64, value))) + 64
    low = ZeroExt(64, narrow.bits(Extract(63, 0, value)))
    wrong = If(LShR(value, 64) != 0, high, low) != BitVectors(128, {}).bits(value)
    assert ask(solver, refuting(wrong)).status == "unsat"


def test_the_grammar_of_c() -> None:
    one, two, three = Name("a"), Name("b"), Name("c")
    assert read("a + b << c") == Binary("<<", Binary("+", one, two), three)
    assert read("a - b - c") == Binary("-", Binary("-", one, two), three)
    assert read("a & b == c") == Binary("&", one, Compare("==", two, three))
    assert read("a | b ^ c & a") == Binary("|", one, Binary("^", two, Binary("&", three, one)))
    assert read("(a < N(2) ? b : bits(c))") == Where(Compare("<", one, Number(2)), two, BitLength(three))
    assert read("!(a) & b | c") == Binary("|", Binary("&", Negation(one), two), three)
    assert read("(word)a << b") == Binary("<<", Binary("as", Name("word"), one), two)
    assert read("taken(a == b, c)") == Binary("taken", Compare("==", one, two), three)
    assert read("a[b[c] + 1]") == Binary("[]", one, Binary("+", Binary("[]", two, three), Number(1)))
