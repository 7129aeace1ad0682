"""Numbers of many threads at once are those of each thread by itself: every operation, by Python's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from ptxmma.check.values.arithmetic import computed
from ptxmma.check.values.block_threads import own_numbers
from ptxmma.check.values.lane_numbers import LaneMath, LaneNumbers, Numbers

W32, W64 = (1 << 32) - 1, (1 << 64) - 1
EDGES = (0, 1, 2, 7, 31, 32, 63, 64, 255, (1 << 31) - 1, 1 << 31, W32, 1 << 32, 1 << 63, W64)


def signed(number: int, bits: int) -> int:
    """Two's complement, typed again."""
    number %= 1 << bits
    return number - (1 << bits) if number >= 1 << (bits - 1) else number


# By opcode: the result for numbers that fit the type, in Python's unbounded integers.
MEANING: dict[str, Callable[..., int]] = {
    "add.u32": lambda a, b: (a + b) & W32,
    "sub.u32": lambda a, b: (a - b) & W32,
    "sub.s64": lambda a, b: (a - b) & W64,
    "mul.lo.u32": lambda a, b: a * b & W32,
    "mul.wide.s32": lambda a, b: signed(a, 32) * signed(b, 32) & W64,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mul.hi.s64": lambda a, b: (signed(a, 64) * signed(b, 64) >> 64) & W64,
    "mad.lo.s32": lambda a, b, c: (a * b + c) & W32,
    "min.s32": lambda a, b: min(signed(a, 32), signed(b, 32)) & W32,
    "max.u64": max,
    "setp.lt.s32": lambda a, b: int(signed(a, 32) < signed(b, 32)),
    "setp.ge.u64": lambda a, b: int(a >= b),
    "setp.eq.b32": lambda a, b: int(a == b),
    "setp.ne.b32": lambda a, b: int(a != b),
    "setp.gt.s64": lambda a, b: int(signed(a, 64) > signed(b, 64)),
    "and.b32": lambda a, b: a & b,
    "or.b64": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "not.b32": lambda a: W32 - a,
    "neg.s32": lambda a: -a & W32,
    "abs.s64": lambda a: abs(signed(a, 64)) & W64,
    "cvt.s64.s32": lambda a: signed(a, 32) & W64,
    "cvt.u32.u16": lambda a: a & 0xFFFF,
    "mov.b32": lambda a: a,
}


def spread(numbers: Numbers, count: int) -> list[int | None]:
    return list(numbers.values) if isinstance(numbers, LaneNumbers) else [numbers] * count


@pytest.mark.parametrize("opcode", MEANING)
def test_operations_in_every_thread(opcode: str) -> None:
    random, math, words = Random(opcode), LaneMath(6), tuple(opcode.split("."))
    bits = 16 if opcode.endswith("16") else 64 if words[-1].endswith("64") and words[0] != "cvt" else 32
    count = MEANING[opcode].__code__.co_argcount if opcode != "max.u64" else 2
    for _ in range(25):
        rows = [
            [
                random.choice((random.choice(EDGES), random.getrandbits(64))) % (1 << bits)
                for _ in range(count)
            ]
            for _ in range(6)
        ]
        if random.random() < 0.5:  # one source is the same in all threads
            for row in rows:
                row[-1] = rows[0][-1]
        found = math.computed(words, [math.joined(column) for column in zip(*rows, strict=True)])
        assert spread(found, 6) == [MEANING[opcode](*row) for row in rows]
        assert [computed(words, row) for row in rows] == [MEANING[opcode](*row) for row in rows]


@pytest.mark.parametrize("opcode", ["shl.b32", "shr.u32", "shr.s32", "shl.b64", "shr.s64"])
def test_shifts(opcode: str) -> None:
    """By more bits than there are, nothing but the filling is left; also where threads shift differently."""
    math, words, bits = LaneMath(4), tuple(opcode.split(".")), int(opcode[-2:])
    for by in ([1] * 4, [31] * 4, [bits] * 4, [200] * 4, [0, 1, bits - 1, bits]):
        for numbers in ([1, 2, 3, (1 << bits) - 1], [1 << bits - 1] * 4):
            wanted = []
            for number, n in zip(numbers, by, strict=True):
                read = signed(number, bits) if "s" in words[-1] else number
                wanted.append((read << n if words[0] == "shl" else read >> n) % (1 << bits))
            assert spread(math.computed(words, [math.joined(numbers), math.joined(by)]), 4) == wanted


def test_what_is_unknown_stays_unknown_in_its_thread() -> None:
    math = LaneMath(3)
    some = math.joined([1, None, 3])
    assert spread(math.computed(("add", "u32"), (some, 1)), 3) == [2, None, 4]
    assert math.computed(("add", "u32"), (some, None)) is None
    assert math.computed(("and", "pred"), (math.joined([0, None, 0]), 0)) == 0
    assert spread(math.computed(("selp", "b32"), (some, 7, math.joined([1, 0, None]))), 3) == [1, 7, None]
    assert spread(math.chosen(math.joined([1, 0, None]), 5, some), 3) == [5, None, None]
    assert spread(math.negated(math.joined([1, 0, None])), 3) == [0, 1, None]


def test_what_is_the_same_in_all_threads_is_one_number() -> None:
    math = LaneMath(4)
    tid = math.joined([0, 1, 2, 3])
    assert math.joined([7] * 4) == 7
    assert math.computed(("shr", "u32"), (tid, 2)) == 0
    assert math.computed(("setp", "lt", "u32"), (tid, 4)) == 1
    assert isinstance(tid, LaneNumbers) and tid.by_value((1, 3)) == {1: (1,), 3: (3,)}
    assert tid == math.joined([0, 1, 2, 3]) and tid != math.joined([0, 1, 2, 4])


def test_what_threads_read_of_themselves() -> None:
    own = dict(own_numbers((16, 4, 2), (0, 17, 100)))
    assert own == {
        "%tid.x": [0, 1, 4],
        "%tid.y": [0, 1, 2],
        "%tid.z": [0, 0, 1],
        "%laneid": [0, 17, 4],
        "%warpid": [0, 0, 3],
    }
    assert dict(own_numbers(None, (40,)))["%tid.x"] == [40]
