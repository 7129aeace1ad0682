"""Executions go on past what a floating-point parameter decides, by the arithmetic of floating-point numbers.

Warps 4 to 7 store what warps 0 to 3 multiply, unless a number says that they need not; these wait for it, unless
the same number says that. Each wrong kernel is one slip away from a right one.
"""

from __future__ import annotations

import math
import struct

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.values.real_arithmetic import real_literal, real_rule
from ptxmma.check.values.word_algebra import NUMBER, NoResultError, packed_words

from .test_assumed_numbers import HEAD, flagged

PARAMETERS = ".param .f32 x, .param .u8 flag"
REAL = "ld.param.f32 %f7,[x]; setp.{}.f32 %p8,%f7,0f00000000;\n"
HALVED = (
    "ld.param.f32 %f7,[x]; cvt.f64.f32 %d6,%f7; mul.f64 %d6,%d6,0d3FE0000000000000; cvt.rn.f64.s32 %d5,%r0;\n"
    "add.f64 %d6,%d5,%d6; cvt.rzi.s32.f64 %r9,%d6; setp.{}.s32 %p8,%r9,2;\n"
)
# What leaves out the store, and the wait; and a slip of the wait.
CASES = {
    "a fraction": (REAL.format("leu"), REAL.format("leu"), REAL.format("gtu")),
    "its half": (HALVED.format("lt"), HALVED.format("lt"), HALVED.format("ge")),
}


def found(text: str) -> set[tuple[str, str]]:
    return {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings}


def kernel(stores: str, waits: str) -> str:
    return flagged(stores, waits).replace(".param .u8 flag", PARAMETERS)


@pytest.mark.parametrize("name", CASES)
def test_what_such_a_number_decides_is_executed(name: str) -> None:
    assert ".param .u8 flag" in HEAD
    stores, right, wrong = CASES[name]
    assert found(kernel(stores, right)) == set()
    assert ("error", "shared-unsynchronised") in found(kernel(stores, wrong))


# As the manual has them: what each instruction makes of numbers (PTX ISA 9.7.3, 9.7.9.22), by hand.
ONE, TWO, HALF, NAN = 0x3F800000, 0x40000000, 0x3F000000, 0x7FC00000
RESULTS = [
    ("add.f32", (ONE, ONE), TWO),
    ("sub.rn.f32", (TWO, ONE), ONE),
    ("mul.f32", (TWO, HALF), ONE),
    ("neg.f32", (ONE,), 0xBF800000),
    ("abs.f32", (0xBF800000,), ONE),
    ("mul.f64", (0x4008000000000000, 0x3FE0000000000000), 0x3FF8000000000000),  # 3 · 0.5
    ("setp.lt.f32", (ONE, TWO), 1),
    ("setp.lt.f32", (0xBF800000, ONE), 1),  # bits compare otherwise
    ("setp.eq.f32", (0, 0x80000000), 1),  # −0
    ("setp.ne.f32", (NAN, NAN), 0),
    ("setp.neu.f32", (NAN, NAN), 1),
    ("setp.leu.f32", (NAN, ONE), 1),
    ("setp.le.f32", (NAN, ONE), 0),
    ("cvt.f64.f32", (HALF,), 0x3FE0000000000000),
    ("cvt.f32.f16", (0x3C00,), ONE),
    ("cvt.rn.f32.s32", (0xFFFFFFFF,), 0xBF800000),
    ("cvt.rn.f32.u32", (2,), TWO),
    ("cvt.rzi.s32.f32", (0xC0200000,), 0xFFFFFFFE),  # −2.5
    ("cvt.rni.s32.f32", (0x40200000,), 2),  # 2.5
    ("cvt.rpi.s32.f32", (0x40200000,), 3),
    ("cvt.rmi.s32.f32", (0xC0200000,), 0xFFFFFFFD),
    ("cvt.rzi.u32.f32", (0xC0200000,), 0),
    ("cvt.rzi.s32.f64", (0x7FF0000000000000,), 0x7FFFFFFF),  # infinity
]


@pytest.mark.parametrize(("opcode", "sources", "result"), RESULTS)
def test_fractions(opcode: str, sources: tuple[int, ...], result: int) -> None:
    rule = real_rule(tuple(opcode.split(".")), len(sources))
    assert rule is not None
    assert rule(NUMBER, *sources) == result
    many = packed_words(4)
    assert rule(many, *map(many.word, sources)) == many.word(result)


@pytest.mark.parametrize(
    "opcode",
    ["add.ftz.f32", "mul.rz.f32", "add.sat.f32", "mul.s32", "setp.num.f32", "cvt.s32.f32", "cvt.u32.u16"],
)
def test_what_rounds_otherwise_has_no_rule(opcode: str) -> None:
    assert real_rule(tuple(opcode.split(".")), 1 if opcode.startswith("cvt") else 2) is None


def test_threads_that_hold_different_fractions_have_no_result() -> None:
    rule, two = real_rule(("neg", "f32"), 1), packed_words(2)
    assert rule is not None
    with pytest.raises(NoResultError):
        rule(two, ONE | TWO << 128)
    with pytest.raises(NoResultError):
        rule(NUMBER, NAN)


def test_constants_are_read() -> None:
    assert real_literal("0f3F800000") == ONE
    assert real_literal("0d3FE0000000000000") == struct.unpack("<Q", struct.pack("<d", math.exp2(-1)))[0]
    assert [real_literal(text) for text in ("%f0", "1", "0f3F80", "0x3F800000")] == [None] * 4
