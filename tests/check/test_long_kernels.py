"""Kernels of many statements and no phases are executed, too: what only several warpgroups together do wrong."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d1, %d1, 0, 1, 1, 0, 0;"
KERNEL = f"""\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[8192];
.visible .entry k()
.reqntid 256, 1, 1
{{
.reg .f32 %f<4>; .reg .b64 %d<4>; .reg .b32 %r<8>;
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r3,%r3,%r2;
mov.b64 %d1,0x4000004000000000;
{"add.u32 %r5,%r5,1;" * 500}
wgmma.fence.sync.aligned;
{MMA}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
bar.sync 0;
st.shared.v4.b32 [%r3],{{%r1,%r1,%r1,%r1}};
ret;
}}
"""


def found(text: str) -> set[tuple[str, str]]:
    return {(f.tier, f.rule) for f in check_text(text, "k.ptx").findings if f.tier != "info"}


def test_warpgroups_that_meet_before_they_store() -> None:
    assert found(KERNEL) == set()


@pytest.mark.parametrize("spoilt", ["", "bar.sync 1,128;"])
def test_another_warpgroup_may_still_multiply(spoilt: str) -> None:
    tiers = {tier for tier, _ in found(KERNEL.replace("bar.sync 0;", spoilt))}
    assert "error" in tiers


COUNTED = """\
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[512];
.visible .entry k()
.reqntid 128, 1, 1
{
.reg .f32 %f<4>; .reg .pred %p<2>; .reg .b32 %r<10>;
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,2; mov.u32 %r3,tile; add.u32 %r4,%r3,%r2; xor.b32 %r2,%r2,256; add.u32 %r5,%r3,%r2;
mov.u32 %r6,0;
L:
st.shared.b32 [%r4],%r6;
bar.sync 0;
ld.shared.b32 %r7,[%r5];
bar.sync 0;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3},{%r7,%r7,%r7,%r7},{%r7,%r7},{%f0,%f1,%f2,%f3};
add.u32 %r6,%r6,1;
setp.ne.u32 %p1,%r6,12;
@%p1 bra L;
ld.shared.b32 %r8,[%r5];
bar.sync 0;
st.shared.b32 [%r4],%r8;
ret;
}
"""


def test_what_stands_behind_a_loop_of_many_counted_rounds() -> None:
    """Twelve rounds are more than a loop of unknown length gets, and the PTX shows them."""
    assert found(COUNTED) == set()
    wrong = COUNTED.replace("ld.shared.b32 %r8,[%r5];\nbar.sync 0;", "ld.shared.b32 %r8,[%r5];")
    assert found(wrong) == {("error", "shared-unsynchronised")}


def test_what_stands_behind_a_loop_of_as_many_rounds_as_a_parameter_says() -> None:
    loop = COUNTED.replace("k()", "k(.param .u32 n)").replace(
        "setp.ne.u32 %p1,%r6,12;", "ld.param.u32 %r9,[n]; setp.lt.u32 %p1,%r6,%r9;"
    )
    assert found(loop) == set()
    wrong = loop.replace("ld.shared.b32 %r8,[%r5];\nbar.sync 0;", "ld.shared.b32 %r8,[%r5];")
    assert found(wrong) == {("error", "shared-unsynchronised")}


def test_what_stands_behind_a_loop_of_very_many_counted_rounds() -> None:
    """As many rounds as a product of 1024 by steps of 32 has, less one."""
    loop = COUNTED.replace("setp.ne.u32 %p1,%r6,12;", "setp.ne.u32 %p1,%r6,31;")
    assert found(loop) == set()
    wrong = loop.replace("ld.shared.b32 %r8,[%r5];\nbar.sync 0;", "ld.shared.b32 %r8,[%r5];")
    assert found(wrong) == {("error", "shared-unsynchronised")}
