"""Matrices of wmma in shared memory: what threads store and load by themselves, and what warps load and store."""

from __future__ import annotations

import pytest

from .test_phases import tiers

# Each of two warps stores 512 bytes of A, loads what the other has stored, and stores its result for the other.
KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 128 .b8 tile[8192];
.visible .entry k(.param .u64 out)
.reqntid 64, 1, 1
{
.reg .b32 %r<64>; .reg .b64 %d<4>; .reg .f32 %f<16>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; mov.u32 %r50,16;
shl.b32 %r3,%r1,4; add.u32 %r3,%r2,%r3;
shr.u32 %r4,%r1,5; xor.b32 %r4,%r4,1; shl.b32 %r5,%r4,9; add.u32 %r5,%r2,%r5;
shl.b32 %r6,%r4,10; add.u32 %r6,%r2,%r6; add.u32 %r6,%r6,4096;
shl.b32 %r7,%r1,5; add.u32 %r7,%r2,%r7; add.u32 %r7,%r7,4096;
mov.f32 %f0,0f00000000; mov.f32 %f1,%f0; mov.f32 %f2,%f0; mov.f32 %f3,%f0;
mov.f32 %f4,%f0; mov.f32 %f5,%f0; mov.f32 %f6,%f0; mov.f32 %f7,%f0;
st.shared.v4.b32 [%r3],{%r1,%r1,%r1,%r1};
bar.sync 0;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15},[%r5],%r50;
wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%r16,%r17,%r18,%r19,%r20,%r21,%r22,%r23},[%r5],%r50;
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7},
  {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15},{%r16,%r17,%r18,%r19,%r20,%r21,%r22,%r23},
  {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};
wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r6],{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7},%r50;
bar.sync 1;
ld.shared.v4.b32 {%r24,%r25,%r26,%r27},[%r7];
ret;
}
"""


def test_barriers_order_the_warps_that_load_and_store_matrices() -> None:
    assert tiers(KERNEL) == set()


@pytest.mark.parametrize("barrier", ["bar.sync 0;\n", "bar.sync 1;\n"])
def test_a_missing_barrier_is_a_race(barrier: str) -> None:
    assert KERNEL.count(barrier) == 1
    assert tiers(KERNEL.replace(barrier, "")) == {("error", "shared-unsynchronised")}
    assert tiers(KERNEL.replace(barrier, "bar.warp.sync -1;\n")) == {("error", "shared-unsynchronised")}


def test_each_warp_may_use_its_own_matrices() -> None:
    alone = KERNEL.replace("xor.b32 %r4,%r4,1;", "").replace("bar.sync 0;", "bar.warp.sync -1;")
    assert tiers(alone.replace("bar.sync 1;", "bar.warp.sync -1;")) == set()


def test_matrices_in_global_memory_are_not_judged() -> None:
    assert tiers(KERNEL.replace(".shared.f16", ".global.f16").replace("bar.sync 0;\n", "")) == set()
