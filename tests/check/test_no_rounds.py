"""A kernel is launched for some work: what is wrong only where a loop over tiles goes no round is no fault.

The waits of cp.async (9.7.9.25.3) and the barriers (9.7.13.1) of these kernels stand in a loop whose rounds are
a parameter divided by the size of a tile. Behind the loop threads write over what they have copied. With no
tile at all, nothing waits for the copy. With one or more, each right kernel here is right, and each wrong one
is wrong.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 1024 .b8 tile[2048];
.shared .align 1024 .b8 keys[2048];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<32>;
ld.param.u64 %d1,[in]; ld.param.u64 %d2,[out]; ld.param.u32 %r10,[n]; shr.u32 %r10,%r10,SHIFT;
mov.f32 %f0,0f00000000; mov.f32 %f1,%f0; mov.f32 %f2,%f0; mov.f32 %f3,%f0;
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r3,%r3,%r2; mov.u32 %r4,keys; add.u32 %r4,%r4,%r2;
xor.b32 %r5,%r2,512; mov.u32 %r6,tile; add.u32 %r5,%r6,%r5;
cvt.u64.u32 %d3,%r2; add.u64 %d1,%d1,%d3; add.u64 %d2,%d2,%d3;
cp.async.cg.shared.global [%r3],[%d1],16;
cp.async.commit_group;
setp.eq.u32 %p1,%r10,0;
@%p1 bra END;
mov.u32 %r11,0;
LOOP:
cp.async.cg.shared.global [%r4],[%d1],16;
cp.async.commit_group;
WAIT
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r12,%r13,%r14,%r15},[%r5];
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r16,%r17,%r18,%r19},[%r4];
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r12,%r13},{%r16},{%f0,%f1,%f2,%f3};
MEET
add.u64 %d1,%d1,1024; add.u32 %r11,%r11,1; setp.lt.u32 %p2,%r11,%r10;
@%p2 bra LOOP;
END:
st.shared.v4.f32 [%r3],{%f0,%f1,%f2,%f3};
bar.warp.sync -1;
ld.shared.v4.f32 {%f4,%f5,%f6,%f7},[%r3];
st.global.v4.f32 [%d2],{%f4,%f5,%f6,%f7};
ret;
}
"""
WAIT, MEET = "cp.async.wait_group 0;", "bar.sync 0;"


def rules_found(shift: int, wait: str, meet: str) -> set[str]:
    text = KERNEL.replace("SHIFT", str(shift)).replace("WAIT", wait).replace("MEET", meet)
    report = check_text(text, "k.ptx")
    assert not report.faults
    return {one.rule for one in report.findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("shift", [2, 3, 4, 5, 6, 7], ids=lambda shift: f"tiles-of-{1 << shift}")
@pytest.mark.parametrize(
    ("wait", "meet", "rules"),
    [
        (WAIT, MEET, set()),
        ("cp.async.wait_all;", MEET, set()),
        ("", MEET, {"copy-incomplete"}),
        ("cp.async.wait_group 1;", MEET, {"copy-incomplete"}),
        (WAIT, "", {"shared-unsynchronised"}),
    ],
    ids=["waits", "waits-for-all", "no-wait", "a-group-in-flight", "no-barrier-before-the-next"],
)
def test_work_of_at_least_one_tile_decides(shift: int, wait: str, meet: str, rules: set[str]) -> None:
    assert rules_found(shift, wait, meet) == rules


def test_a_wait_behind_the_loop_is_looked_at_with_tiles() -> None:
    """The last copy into the keys is in flight where the kernel ends, and nobody reads it: no fault."""
    late = KERNEL.replace("WAIT", WAIT).replace("MEET", MEET + "cp.async.cg.shared.global [%r3],[%d1],16;")
    report = check_text(late.replace("SHIFT", "5"), "k.ptx")
    assert {one.rule for one in report.findings} == {"copy-incomplete"}
