"""Intervals of registers: hand-made kernels, the laws of the type, and its rules compared with plain numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from ptxmma.check.memory.shared_memory import Store, memory_events
from ptxmma.check.values.arithmetic import as_signed, computed
from ptxmma.check.values.interval import NOTHING, TOP, WIDEST, Interval, between
from ptxmma.check.values.interval_rules import RULES
from ptxmma.check.values.register_intervals import RegisterIntervals

TID = "mov.u32 %r1, %tid.x;\n"  # 0 to 255
TILE = "mov.u32 %r3, tile;\n"
ENCODED = f"{TILE}shr.u32 %r4, %r3, 4;\nand.b32 %r5, %r4, 16383;\ncvt.u64.u32 %rd1, %r5;\n"


def held(kernel: Any, body: str, register: str) -> Interval:
    made = kernel(body)
    return RegisterIntervals(made.module, made.code).operand(register, 0)


@pytest.mark.parametrize(
    ("body", "low", "high"),
    [
        ("mov.u32 %r2, 7;", 7, 7),
        ("mov.u32 %r2, 0x10;", 16, 16),
        ("mov.s32 %r2, -3;", -3, -3),
        ("mov.u32 %r2, %laneid;", 0, 31),
        ("mov.u32 %r2, %tid.y;", 0, 0),
        (f"{TID}mov.u32 %r2, %r1;", 0, 255),
        (f"{TID}and.b32 %r2, %r1, 7;", 0, 7),
        (f"{TID}and.b32 %r2, 1023, %r1;", 0, 255),
        (f"{TID}shr.u32 %r2, %r1, 5;", 0, 7),
        (f"{TID}shl.b32 %r2, %r1, 4;", 0, 4080),
        (f"{TID}mul.lo.u32 %r2, %r1, 12;", 0, 3060),
        (f"{TID}mad.lo.u32 %r2, %r1, 12, 5;", 5, 3065),
        (f"{TID}add.u32 %r2, %r1, 3;", 3, 258),
        (f"{TID}sub.s32 %r2, %r1, 3;", -3, 252),
        (f"{TID}sub.s32 %r2, 300, %r1;", 45, 300),
        (f"{TID}bfe.u32 %r2, %r1, 4, 2;", 0, 3),
        (f"{TID}bfe.u32 %r2, %r1, 4, 8;", 0, 15),
        (f"{TID}bfe.s32 %r2, %r1, 4, 2;", -2, 1),
        (f"{TID}or.b32 %r2, %r1, 256;", 256, 511),
        (f"{TID}xor.b32 %r2, %r1, 256;", 0, 511),
        ("xor.b32 %r2, 12, 10;", 6, 6),
        (f"{TID}min.u32 %r2, %r1, 10;", 0, 10),
        (f"{TID}max.u32 %r2, %r1, 10;", 10, 255),
        (f"{TID}rem.u32 %r2, %r1, 10;", 0, 9),
        (f"{TID}div.u32 %r2, %r1, 10;", 0, 25),
        (f"{TID}cvt.u16.u32 %r2, %r1;", 0, 255),
        (f"{TID}shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;", 0, 255),
        (f"{TID}lop3.b32 %r2, %r1, 3, 0, 0xC0;", 0, 255),
        (f"{TID}setp.lt.u32 %p1, %r1, 100;\nselp.b32 %r2, %r1, 50, %p1;", 0, 99),
        (f"{TID}setp.lt.u32 %p1, %r1, 100;\nselp.b32 %r2, 150, %r1, %p1;", 100, 255),
        (f"{TID}selp.b32 %r2, %r1, 999, %p1;", 0, 999),
        ("mov.u32 %r2, 4;\n@%p1 mov.u32 %r2, 12;", 4, 12),
        (f"{TID}add.u32 %r2, %r1, 1;\n{{ .reg .b32 %r1; mov.u32 %r1, 5; }}", 1, 256),
        ("mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 9;\n@%p1 bra L;", 0, WIDEST),
        ("mov.u32 %r2, 0;\nL: xor.b32 %r2, %r2, 1;\n@%p1 bra L;", 0, 1),
    ],
)
def test_numbers(kernel: Any, body: str, low: int, high: int) -> None:
    found = held(kernel, body + "\nret;", "%r2")
    assert (found.low, found.high, found.base, found.shift) == (low, high, None, 0)


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.u32 %r2, [%rd1];",
        "mov.b64 {%r2, %r4}, %rd1;",
        f"{TID}mul.hi.u32 %r2, %r1, 5;",
        f"{TID}not.b32 %r2, %r1;",
        f"{TID}shr.u32 %r2, %r1, %r9;",
        "add.u32 %r2, %r2, 1;",
        f"{TID}lop3.b32 %r2, %r1, 3, 0, 0xC1;",
        "mov.u32 %r2, tile;\nmul.lo.u32 %r2, %r2, 2;",
    ],
)
def test_what_is_not_known(kernel: Any, body: str) -> None:
    assert not held(kernel, body + "\nret;", "%r2").is_known


@pytest.mark.parametrize(
    ("body", "register", "expected"),
    [
        (TILE, "%r3", Interval(0, 0, "tile")),
        (f"{TID}{TILE}add.u32 %r4, %r1, %r3;", "%r4", Interval(0, 255, "tile")),
        (f"{TID}{TILE}mad.lo.u32 %r4, %r1, 16, %r3;", "%r4", Interval(0, 4080, "tile")),
        (f"{TILE}or.b32 %r4, %r3, 48;", "%r4", Interval(0, 63, "tile")),
        (f"{TILE}xor.b32 %r4, %r3, 48;", "%r4", Interval(-63, 63, "tile")),
        (f"{TILE}cvta.shared.u64 %rd1, tile;", "%rd1", Interval(0, 0, "tile")),
        (ENCODED, "%rd1", Interval(0, 0, "tile", 4)),
        (f"{TILE}bfe.u32 %r4, %r3, 4, 14;", "%r4", Interval(0, 0, "tile", 4)),
        (f"{ENCODED}add.s64 %rd2, %rd1, 64;", "%rd2", Interval(1024, 1024, "tile", 4)),
        (f"{ENCODED}or.b64 %rd2, %rd1, {1 << 62};", "%rd2", Interval(0, 0, "tile", 4, 1 << 62)),
        (f"{ENCODED}add.s64 %rd2, %rd1, {(1 << 62) - 2};", "%rd2", Interval(-32, -32, "tile", 4, 1 << 62)),
    ],
)
def test_addresses_and_descriptors(kernel: Any, body: str, register: str, expected: Interval) -> None:
    assert held(kernel, body + "\nret;", register) == expected


def test_an_address_operand_adds_its_offset(kernel: Any) -> None:
    made = kernel(f"{TILE}st.shared.u32 [%r3+20], %r1;\nret;")
    values = RegisterIntervals(made.module, made.code)
    assert values.address(made.code[1].address, 0) == Interval(20, 20, "tile")


@pytest.mark.parametrize(
    ("statement", "span"),
    [
        ("cp.async.cg.shared.global [%r5], [%rd1], 16;", "0..2047"),
        ("cp.async.ca.shared.global [%r5], [%rd1], 4;", "0..2047"),
        ("st.shared.v4.b32 [%r5], {%r1,%r1,%r1,%r1};", "0..2047"),
        ("st.shared.b32 [%r5+4], %r1;", "4..2051"),
    ],
)
def test_a_store_begins_at_a_multiple_of_its_size(kernel: Any, statement: str, span: str) -> None:
    """Of an offset of 0 to 2047, 16 bytes end at 2047, not at 2062."""
    made = kernel(f"{TILE}and.b32 %r4, %r1, 2047;\nadd.u32 %r5, %r3, %r4;\n{statement}\nret;")
    (store,) = memory_events(made.code, RegisterIntervals(made.module, made.code))
    assert isinstance(store, Store) and store.region.span == span


# The laws of the value

BOUNDS = st.integers(-40, 40) | st.sampled_from((-WIDEST, WIDEST))


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    low, high = sorted((draw(BOUNDS), draw(BOUNDS)))
    if draw(st.booleans()):
        return draw(st.sampled_from((TOP, NOTHING, between(low, high), Interval(low, low) if low else TOP)))
    shift = draw(st.sampled_from((0, 4)))
    return Interval(low, high, draw(st.sampled_from(("a", "b"))), shift, draw(st.sampled_from((0, 1, None))))


@given(intervals(), intervals(), intervals())
def test_joining_is_commutative_associative_and_idempotent(a: Interval, b: Interval, c: Interval) -> None:
    assert a.join(b) == b.join(a)
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(a) == a


@given(intervals(), intervals())
def test_a_join_is_above_both_and_the_ends_are_the_ends(a: Interval, b: Interval) -> None:
    assert a <= a.join(b) and b <= a.join(b)
    assert NOTHING <= a <= TOP
    assert NOTHING.join(a) == a and TOP.join(a) == TOP


@given(intervals(), st.lists(intervals(), min_size=5, max_size=9))
def test_widening_is_above_what_grew_and_ends(a: Interval, more: list[Interval]) -> None:
    steps = [a]
    for other in more:
        grown = steps[-1].join(other)
        widened = steps[-1] if grown == steps[-1] else steps[-1].widen(grown)
        assert grown <= widened
        steps.append(widened)
    moved = sum(before != after for before, after in pairwise(steps))
    assert moved <= 6  # from nothing, to a value, three times a bound or the fields, to no base, to all


# Rules against numbers: what a thread computes lies in what is computed from intervals, where nothing wraps around

WORDS = (
    "mov.u32", "cvt.u64.u32", "cvt.u16.u32", "add.u32", "sub.s32", "mul.lo.u32", "mad.lo.u32", "shl.b32",
    "shr.u32", "shr.s32", "bfe.u32", "bfe.s32", "and.b32", "or.b32", "xor.b32", "selp.b32", "min.s32",
    "max.u32", "rem.u32", "div.u32", "lop3.b32",
)  # fmt: skip
NUMBERS = st.one_of(st.integers(0, 15), st.integers(0, 200))  # many that may count the places of a shift


LARGEST = {"shl": (200, 20), "shr": (200, 31), "bfe": (200, 15, 16), "selp": (200, 200, 1)}


@st.composite
def sets(draw: st.DrawFn, largest: int = 200) -> tuple[Interval, Interval, int]:
    """An interval, one inside, and a number inside that."""
    number = draw(st.integers(0, largest))
    around = [draw(st.sampled_from((0, 0, 1, 5, 33))) for _ in range(4)]
    inner = Interval(max(0, number - around[0]), number + around[1])
    return Interval(max(0, inner.low - around[2]), inner.high + around[3]), inner, number


def sources_of(data: st.DataObject, head: str) -> tuple[list[Interval], list[Interval], list[int]]:
    """Sources of an instruction, as intervals, as smaller ones, and as numbers."""
    count = RULES[head].sources
    drawn = [data.draw(sets(largest)) for largest in LARGEST.get(head, (200,) * count)]
    return [one[0] for one in drawn], [one[1] for one in drawn], [one[2] for one in drawn]


@pytest.mark.parametrize("opcode", WORDS)
@settings(max_examples=40)
@given(data=st.data())
def test_rules_hold_for_the_numbers_of_every_thread(opcode: str, data: st.DataObject) -> None:
    words = tuple(opcode.split("."))
    _, inner, numbers = sources_of(data, words[0])
    found = computed(words, numbers)
    if found is None:
        reject()
    bits = 16 if opcode == "cvt.u16.u32" else 64 if words[0] == "cvt" else 32
    number = as_signed(found, bits) if words[0] in ("sub", "bfe") or words[-1] == "s32" else found
    assert number in RULES[words[0]].apply(words, inner)


@pytest.mark.parametrize("opcode", WORDS)
@settings(max_examples=40)
@given(data=st.data())
def test_rules_are_monotone(opcode: str, data: st.DataObject) -> None:
    """Less is computed from less."""
    words = tuple(opcode.split("."))
    wide, inner, _ = sources_of(data, words[0])
    narrow, broad = RULES[words[0]].apply(words, inner), RULES[words[0]].apply(words, wide)
    assert narrow.low >= broad.low and narrow.high <= broad.high


@pytest.mark.parametrize("operator", ["lt", "le", "gt", "ge", "eq", "ne"])
@settings(max_examples=40)
@given(data=st.data())
def test_a_comparison_keeps_the_numbers_for_which_it_holds(operator: str, data: st.DataObject) -> None:
    _, value, number = data.draw(sets())
    limit = data.draw(NUMBERS)
    holds = {
        "lt": number < limit,
        "le": number <= limit,
        "gt": number > limit,
        "ge": number >= limit,
        "eq": number == limit,
        "ne": number != limit,
    }
    left = value.where(operator, limit)
    assert number in left or not holds[operator]
    assert left.is_nothing or operator == "eq" or left <= value


# Numbers of one thread, typed by hand (PTX ISA 9.7.1, 9.7.8)

M1 = 0xFFFFFFFF  # −1 in 32 bits


@pytest.mark.parametrize(
    ("opcode", "sources", "expected"),
    [
        ("add.u32", (M1, 2), 1),
        ("sub.u32", (1, 2), M1),
        ("add.sat.s32", (1, 2), None),
        ("mul.lo.s32", (M1, 5), 0xFFFFFFFB),
        ("mul.hi.u32", (1 << 31, 6), 3),
        ("mul.hi.s32", (M1, 6), M1),
        ("mul.wide.s32", (M1, 3), (1 << 64) - 3),
        ("mul.wide.u32", (M1, 3), 0x2FFFFFFFD),
        ("mad.wide.u32", (M1, 2, 3), 0x200000001),
        ("mad.lo.u32", (M1, 2, 3), 1),
        ("shl.b32", (1, 31), 1 << 31),
        ("shl.b32", (1, 32), 0),
        ("shr.u32", (1 << 31, 31), 1),
        ("shr.s32", (1 << 31, 30), 0xFFFFFFFE),
        ("shr.s32", (1 << 31, 99), M1),
        ("shr.u32", (M1, 32), 0),
        ("bfe.u32", (0xABCD, 4, 8), 0xBC),
        ("bfe.s32", (0xABCD, 4, 8), 0xFFFFFFBC),
        ("bfe.u32", (M1, 28, 8), 15),
        ("bfe.s32", (5, 0, 0), 0),
        ("bfi.b32", (0xF, 0x1234, 4, 8), 0x10F4),
        ("min.s32", (M1, 2), M1),
        ("min.u32", (M1, 2), 2),
        ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD),
        ("rem.s32", (0xFFFFFFF9, 2), M1),
        ("div.u32", (7, 0), None),
        ("not.b32", (0,), M1),
        ("neg.s32", (1,), M1),
        ("abs.s32", (M1,), 1),
        ("lop3.b32", (0b1100, 0b1010, 0b1001, 0xE8), 0b1000),
        ("lop3.b32", (0b11, 0b01, 0, 0x3C), 0b10),
        ("cvt.s64.s32", (M1,), (1 << 64) - 1),
        ("cvt.u64.u32", ((1 << 64) - 1,), M1),
        ("cvt.u16.u32", (0x12345,), 0x2345),
        ("cvt.rn.f32.u32", (5,), None),
        ("mov.b32", ((1 << 64) - 1,), M1),
        ("setp.lt.s32", (M1, 0), 1),
        ("setp.lt.u32", (M1, 0), 0),
        ("setp.hs.u32", (M1, 0), 1),
        ("setp.ne.and.b32", (1, 2, 0), 0),
        ("setp.ne.or.b32", (1, 1, 1), 1),
        ("selp.b32", (7, 8, 0), 8),
        ("selp.b32", (7, None, 1), 7),
        ("selp.b32", (7, 8, None), None),
        ("and.pred", (0, None), 0),
        ("and.pred", (1, None), None),
        ("or.pred", (1, None), 1),
        ("not.pred", (1,), 0),
        ("xor.pred", (1, 1), 0),
        ("add.f32", (1, 2), None),
        ("addc.u32", (3, 1), None),
    ],
)
def test_what_one_thread_computes(opcode: str, sources: tuple[int | None, ...], expected: int | None) -> None:
    assert computed(tuple(opcode.split(".")), sources) == expected
