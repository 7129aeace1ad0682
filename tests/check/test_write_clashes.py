"""Two warps that write different data to the same bytes, with nothing between them, which somebody reads.

Compilers have several warps write the same; so nothing is said unless it is known that what the two write differs:
other numbers, or what each has loaded from other places (memory consistency model, data races).
"""

from __future__ import annotations

import pytest

from .test_phases import tiers

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[8192];
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid 64, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<32>; .reg .f32 %f<8>;
ld.param.u64 %d1,[in]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; and.b32 %r4,%r1,31; mov.u32 %r2,tile;
shl.b32 %r3,%r4,4; add.u32 %r3,%r2,%r3; setp.lt.u32 %p1,%r1,32; shr.u32 %r7,%r1,5;
mul.wide.u32 %d3,%r1,16; add.s64 %d4,%d1,%d3;
mul.wide.u32 %d5,%r4,16; add.s64 %d6,%d1,%d5;
BODY
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+4096];
ret;
}
"""
LOADED = "ld.global.v4.b32 {%r8,%r9,%r10,%r11},[%d4];\n"
STORE = "st.shared.v4.b32 [%r3],{%r8,%r9,%r10,%r11};\n"
MEET = "bar.sync 0;\n"
READ = "ld.shared.v4.b32 {%r14,%r15,%r16,%r17},[%r3];\n"
MMA = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r8,%r9},{%r10},{%f0,%f1,%f2,%f3};\n"
)
PRODUCT = (
    "mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;\n" + MMA
)
COPY = "cp.async.cg.shared.global [%r3],[%d4],16;\ncp.async.wait_all;\n"
RACE = ("likely", "shared-unsynchronised")
WRONG = {
    "what each has loaded": LOADED + STORE + MEET + READ,
    "a product of that": LOADED
    + PRODUCT
    + STORE.replace("%r8,%r9,%r10,%r11", "%f0,%f1,%f2,%f3")
    + MEET
    + READ,
    "copies": COPY + MEET + READ,
    "other numbers by two statements": (
        "@%p1 bra A;\nst.shared.b32 [%r3],1;\nbra B;\nA: st.shared.b32 [%r3],2;\nB:\n" + MEET + READ
    ),
    "other numbers by one": "st.shared.b32 [%r3],%r1;\n" + MEET + READ,
    "only the warp meets, and each reads its own": LOADED + STORE + "bar.warp.sync -1;\n" + READ,
    "regions that overlap": ("mad.lo.u32 %r3,%r7,256,%r3;\n" + LOADED + STORE + "bar.warp.sync -1;\n" + READ),
}
SAME = LOADED.replace("%d4", "%d6")
RIGHT = {
    "they have loaded the same": SAME + STORE + MEET + READ,
    "the same product": SAME + PRODUCT + STORE.replace("%r8,%r9,%r10,%r11", "%f0,%f1,%f2,%f3") + MEET + READ,
    "copies of the same": COPY.replace("%d4", "%d6") + MEET + READ,
    "the same number": "st.shared.b32 [%r3],7;\n" + MEET + READ,
    "the same number by two statements": (
        "@%p1 bra A;\nst.shared.b32 [%r3],1;\nbra B;\nA: st.shared.b32 [%r3],1;\nB:\n" + MEET + READ
    ),
    "each lane its number": "st.shared.b32 [%r3],%r4;\n" + MEET + READ,
    "nobody reads": LOADED + STORE + MEET,
    "it is stored over before": LOADED + STORE + MEET + SAME + STORE + MEET + READ,
    "nothing, where it was too far": (
        "mov.b32 %r8,0; mov.b32 %r9,0; mov.b32 %r10,0; mov.b32 %r11,0; setp.lt.u32 %p2,%r1,%r0;\n@%p2 "
        + LOADED + STORE + MEET + READ
    ),
    "on some ways nothing": (
        "setp.lt.u32 %p2,%r0,7;\n@%p2 bra A;\n" + LOADED + "bra B;\n"
        "A: mov.b32 %r8,0; mov.b32 %r9,0; mov.b32 %r10,0; mov.b32 %r11,0;\nB:\n" + STORE + MEET + READ
    ),
    "what an atomic has brought": "atom.global.add.u32 %r8,[%d4],1;\nst.shared.b32 [%r3],%r8;\n" + MEET + READ,
    "a place that is not known": "ld.global.u64 %d7,[%d4];\n" + LOADED.replace("%d4", "%d7") + STORE + MEET + READ,
    "one after the other": (
        "@%p1 bra A;\nbar.sync 0;\nst.shared.b32 [%r3],1;\nbra B;\nA: st.shared.b32 [%r3],2;\nbar.sync 0;\nB:\n"
        + MEET + READ
    ),
    "regions that do not overlap": "mad.lo.u32 %r3,%r7,512,%r3;\n" + LOADED + STORE + "bar.warp.sync -1;\n" + READ,
    "halves of what all have loaded": (
        "shl.b32 %r20,%r7,4; add.u32 %r21,%r4,%r20; mul.wide.u32 %d5,%r21,16; add.s64 %d6,%d1,%d5;\n"
        "mad.lo.u32 %r3,%r7,256,%r3;\n" + SAME + STORE + MEET + READ
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_data_that_surely_differ(case: str) -> None:
    assert tiers(KERNEL.replace("BODY\n", WRONG[case])) == {RACE}


@pytest.mark.parametrize("case", RIGHT)
def test_data_that_may_be_the_same(case: str) -> None:
    assert tiers(KERNEL.replace("BODY\n", RIGHT[case])) == set()
