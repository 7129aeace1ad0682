"""A grid's first block may leave at once: what the others do is judged, then."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Threads copy a row each by cp.async, and load that of another warp.
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[2048];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>;
ld.param.u64 %d1,[in]; ld.param.u32 %r0,[n];
mov.u32 %r9,PLACE;
LEAVE
@%p1 bra DONE;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; shl.b32 %r3,%r1,4; add.u32 %r4,%r2,%r3;
xor.b32 %r5,%r3,1024; add.u32 %r5,%r2,%r5;
cp.async.cg.shared.global [%r4],[%d1],16;
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
ld.shared.u32 %r6,[%r5];
st.global.u32 [%d1],%r6;
DONE:
ret;
}
"""
LEAVES = {
    "below the diagonal": ("%ctaid.y", "shr.u32 %r7,%r9,2; and.b32 %r8,%r9,3; setp.le.u32 %p1,%r7,%r8;"),
    "the first one": ("%ctaid.x", "setp.eq.u32 %p1,%r9,0;"),
    "of the last axis": ("%ctaid.z", "setp.lt.u32 %p1,%r9,3;"),
}
SLIPS = {
    "cp.async.wait_group 0;": "cp.async.wait_group 1;",
    "cp.async.commit_group;": "",
    "bar.sync 0;": "",
}


def loud(text: str) -> set[str]:
    return {one.rule for one in check_text(text, "k.ptx").findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("name", LEAVES)
def test_a_block_that_does_not_leave_is_judged(name: str) -> None:
    place, leave = LEAVES[name]
    right = KERNEL.replace("PLACE", place).replace("LEAVE", leave)
    assert loud(right) == set()
    for old, new in SLIPS.items():
        assert old in right
        assert loud(right.replace(old, new)), old


def test_a_block_that_always_leaves_is_not_accused() -> None:
    text = KERNEL.replace("PLACE", "%ctaid.x").replace("LEAVE", "setp.ge.u32 %p1,%r9,0;")
    for old, new in SLIPS.items():
        assert loud(text.replace(old, new)) == set()
