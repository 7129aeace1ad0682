"""What integer instructions compute: values by hand from the texts of PTX ISA 9.7.1, 9.7.8 and 9.7.9; in one thread, in many
at once, and as terms of z3.
"""

from __future__ import annotations

import pytest
import z3

from ptxmma.check.paths.path_solver import translated
from ptxmma.check.values.arithmetic import computed
from ptxmma.check.values.lane_numbers import LaneMath, LaneNumbers

M1, TOP = 0xFFFFFFFF, 0x80000000
VALUES = """
set.eq.u32.u32 3 3 = 0xffffffff
set.eq.u32.u32 3 4 = 0
set.lt.s32.s32 0xffffffff 0 = 0xffffffff
set.lt.s32.u32 0xffffffff 0 = 0
set.gt.f32.s32 1 0 = 0x3f800000
set.gt.f32.s32 0 1 = 0
set.ne.and.u32.b64 0x100000000 0 1 = 0xffffffff
set.ne.and.u32.b64 0x100000000 0 0 = 0
set.eq.or.u32.u16 0x10001 1 0 = 0xffffffff
slct.u32.s32 7 9 0 = 7
slct.u32.s32 7 9 0xffffffff = 9
slct.b64.s32 0x123456789 9 5 = 0x123456789
slct.f32.s32 0x3f800000 0x40000000 0x80000000 = 0x40000000
mul24.lo.u32 0xffffff 0xffffff = 0xfe000001
mul24.hi.u32 0xffffff 0xffffff = 0xfffffe00
mul24.lo.s32 0xffffffff 3 = 0xfffffffd
mul24.hi.s32 0xffffffff 3 = 0xffffffff
mad24.lo.u32 5 7 100 = 135
mad24.hi.u32 0x800000 0x20 1 = 0x1001
mad24.lo.s32 0xfffffffe 3 10 = 4
sad.u32 3 10 100 = 107
sad.u32 10 3 100 = 107
sad.s32 0xffffffff 1 5 = 7
sad.u16 0xffff 1 3 = 1
sad.s64 0xffffffffffffffff 2 0 = 3
cnot.b32 0 = 1
cnot.b32 7 = 0
cnot.b16 0x10000 = 1
popc.b32 0xf0f0f0f1 = 17
popc.b64 0xffffffffffffffff = 64
popc.b32 0 = 0
clz.b32 0 = 32
clz.b32 1 = 31
clz.b32 0x80000000 = 0
clz.b64 1 = 63
clz.b64 0 = 64
bfind.u32 0x00010001 = 16
bfind.u32 0 = 0xffffffff
bfind.s32 0xffffffff = 0xffffffff
bfind.s32 0xfffffff0 = 3
bfind.s32 6 = 2
bfind.u64 0x8000000000000000 = 63
bfind.shiftamt.u32 1 = 31
bfind.shiftamt.u32 0 = 0xffffffff
bfind.shiftamt.s64 0xfffffffffffffffe = 63
bfind.shiftamt.s64 0xffffffffffffffff = 0xffffffff
fns.b32 0xaaaaaaaa 3 1 = 3
fns.b32 0xaaaaaaaa 3 0xffffffff = 3
fns.b32 0xaaaaaaaa 2 1 = 3
fns.b32 0xaaaaaaaa 2 0xffffffff = 1
fns.b32 0xaaaaaaaa 2 0 = 0xffffffff
fns.b32 0xaaaaaaaa 3 0 = 3
fns.b32 0xaaaaaaaa 0 3 = 5
fns.b32 0xaaaaaaaa 31 2 = 0xffffffff
fns.b32 0x00000011 4 0xfffffffe = 0
brev.b32 1 = 0x80000000
brev.b32 0x12345678 = 0x1e6a2c48
brev.b64 0x1 = 0x8000000000000000
brev.b64 0xf000000000000002 = 0x400000000000000f
bmsk.wrap.b32 1 2 = 6
bmsk.clamp.b32 4 8 = 0xff0
bmsk.clamp.b32 4 0 = 0
bmsk.clamp.b32 32 4 = 0
bmsk.clamp.b32 0 32 = 0xffffffff
bmsk.clamp.b32 30 8 = 0xc0000000
bmsk.wrap.b32 33 34 = 6
bmsk.wrap.b32 3 32 = 0
bmsk.wrap.b32 31 31 = 0x80000000
szext.wrap.u32 0xffffffff 0 = 0
szext.wrap.u32 0xffffffff 32 = 0
szext.clamp.u32 0xffffffff 40 = 0xffffffff
szext.clamp.s32 0x80000001 32 = 0x80000001
szext.clamp.s32 0x1f8 8 = 0xfffffff8
szext.clamp.u32 0x1f8 8 = 0xf8
szext.wrap.s32 0x17 36 = 7
szext.wrap.s32 0x1f 36 = 0xffffffff
shf.l.wrap.b32 0x80000001 0x12345678 4 = 0x23456788
shf.l.wrap.b32 0x80000001 0x12345678 36 = 0x23456788
shf.l.clamp.b32 0x80000001 0x12345678 40 = 0x80000001
shf.r.wrap.b32 0x80000001 0x12345678 4 = 0x88000000
shf.r.wrap.b32 0x80000001 0x12345678 32 = 0x80000001
shf.r.clamp.b32 0x80000001 0x12345678 99 = 0x12345678
prmt.b32 0x03020100 0x07060504 0x7531 = 0x07050301
prmt.b32 0x03028100 0x87060504 0xf9f1 = 0xffffff81
prmt.b32 0x03028100 0x87060504 0x1234567 = 0x04050687
prmt.b32.f4e 0x33221100 0x77665544 1 = 0x44332211
prmt.b32.f4e 0x33221100 0x77665544 7 = 0x66554433
prmt.b32.b4e 0x33221100 0x77665544 0 = 0x55667700
prmt.b32.b4e 0x33221100 0x77665544 3 = 0x00112233
prmt.b32.rc8 0x33221100 0x77665544 2 = 0x22222222
prmt.b32.ecl 0x33221100 0x77665544 1 = 0x33221111
prmt.b32.ecr 0x33221100 0x77665544 2 = 0x22221100
prmt.b32.rc16 0x33221100 0x77665544 1 = 0x33223322
dp4a.u32.u32 0x04030201 0x01010101 5 = 15
dp4a.s32.s32 0xff000000 0x02000000 1 = 0xffffffff
dp4a.u32.s32 0x000000ff 0x000000ff 0 = 0xffffff01
dp2a.lo.u32.u32 0x00020001 0x09080605 1 = 18
dp2a.hi.u32.u32 0x00020001 0x09080605 1 = 27
dp2a.lo.s32.u32 0x0000ffff 0x00000003 0 = 0xfffffffd
"""
ROWS = [
    (opcode, [int(source, 0) for source in sources], int(result, 0))
    for opcode, *sources, _, result in (line.split() for line in VALUES.strip().splitlines())
]


@pytest.mark.parametrize(("opcode", "sources", "result"), ROWS)
def test_values(opcode: str, sources: list[int], result: int) -> None:
    words, math = tuple(opcode.split(".")), LaneMath(3)
    assert computed(words, sources) == result
    idle = [1] * len(sources)
    columns = [math.joined(column) for column in zip(idle, sources, sources, strict=True)]
    found = math.computed(words, columns)
    lanes = found.values if isinstance(found, LaneNumbers) else (found,) * 3
    assert lanes[1:] == (result, result) and lanes[0] == computed(words, idle)
    term = translated(words, tuple(z3.BitVecVal(source, 64) for source in sources))
    assert term is not None and z3.simplify(term).as_long() == result


def test_modes_that_are_none_have_no_result() -> None:
    assert computed(("prmt", "b32", "f5e"), [0, 0, 0]) is None
    assert computed(("fns", "b32"), [1, 32, 1]) is None  # undefined
    assert computed(("mad24", "hi", "sat", "s32"), [1, 1, 1]) is None
