"""Loops as compilers write them without optimisation: tested at the head by a negated predicate, and an
unconditional branch back.

Each thread stores 16 bytes, and loads those of a thread of the other warp. A barrier (9.7.13.1) must stand
between the two, and between the load and the next store, in the last round of a loop and behind it, too.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 1024 .b8 tile[4096];
.visible .entry k(.param .u32 n)
.reqntid 64, 1, 1
{
.reg .f32 %f<8>; .reg .pred %p<8>; .reg .b32 %r<32>;
ld.param.u32 %r9,[n]; shr.u32 %r9,%r9,5; mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r4,%r3,%r2;
xor.b32 %r5,%r2,512; add.u32 %r5,%r3,%r5; mov.u32 %r10,0;
bra.uni HEAD;
HEAD:
setp.lt.s32 %p1,%r10,ROUNDS;
not.pred %p2,%p1;
@%p2 bra END;
bra.uni BODY;
BODY:
FIRST
st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r10};
SECOND
ld.shared.v4.b32 {%r11,%r12,%r13,%r14},[%r5];
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r11,%r12},{%r13},{%f0,%f1,%f2,%f3};
add.s32 %r10,%r10,1;
bra.uni HEAD;
END:
THIRD
st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r1};
FOURTH
ld.shared.v4.b32 {%r11,%r12,%r13,%r14},[%r5];
ret;
}
"""
MEET = "bar.sync 0;"
BARRIERS = ("FIRST", "SECOND", "THIRD", "FOURTH")


def loud(rounds: str, without: str | None) -> set[str]:
    text = KERNEL.replace("ROUNDS", rounds)
    for name in BARRIERS:
        text = text.replace(name, "" if name == without else MEET)
    report = check_text(text, "k.ptx")
    assert not report.faults and not report.not_judged
    return {one.rule for one in report.findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("rounds", ["4", "12", "15", "%r9"])
def test_with_all_barriers_it_is_right(rounds: str) -> None:
    assert not loud(rounds, None)


@pytest.mark.parametrize("rounds", ["4", "12", "15", "%r9"])
@pytest.mark.parametrize("without", BARRIERS)
def test_without_one_it_is_wrong(rounds: str, without: str) -> None:
    assert loud(rounds, without) == {"shared-unsynchronised"}
