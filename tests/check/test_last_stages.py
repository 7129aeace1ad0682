"""What threads store behind a loop of several stages meets what its last rounds read."""

from __future__ import annotations

import pytest

from .test_phases import tiers

# STAGES stages of cp.async, a step of 64 a round; then threads store in the first stage what others load.
LOOP = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid 64, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<8>;
ld.param.u64 %d1,[in]; ld.param.u32 %r0,[n]; shr.u32 %r0,%r0,6; shl.b32 %r0,%r0,6;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem;
shl.b32 %r3,%r1,4; add.u32 %r3,%r2,%r3;
xor.b32 %r4,%r1,32; shl.b32 %r4,%r4,4; add.u32 %r4,%r2,%r4;
PROLOGUE
mov.u32 %r5,0; mov.u32 %r6,0; mov.u32 %r7,AHEAD;
setp.eq.u32 %p5,%r0,0;
@%p5 bra DONE;
AGAIN:
cp.async.wait_group LEFT;
bar.sync 0;
add.u32 %r8,%r5,DISTANCE; setp.lt.u32 %p2,%r8,%r0;
shl.b32 %r9,%r7,10; add.u32 %r9,%r3,%r9;
@%p2 cp.async.cg.shared.global [%r9],[%d1],16;
cp.async.commit_group;
shl.b32 %r10,%r6,10; add.u32 %r10,%r4,%r10;
ld.shared.v4.b32 {%r12,%r13,%r14,%r15},[%r10];
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r16},[%r10];
add.u32 %r6,%r6,1; setp.eq.u32 %p3,%r6,STAGES; selp.b32 %r6,0,%r6,%p3;
add.u32 %r7,%r7,1; setp.eq.u32 %p3,%r7,STAGES; selp.b32 %r7,0,%r7,%p3;
add.u32 %r5,%r5,64; setp.lt.u32 %p1,%r5,%r0;
@%p1 bra AGAIN;
DONE:
bar.sync 1;
st.shared.v4.b32 [%r3],{%r12,%r13,%r14,%r15};
bar.sync 0;
ld.shared.v4.b32 {%r12,%r13,%r14,%r15},[%r4];
ret;
}
"""


def of_stages(stages: int) -> str:
    ahead = stages - 1
    prologue = "".join(
        f"setp.gt.u32 %p4,%r0,{64 * at};\n@%p4 cp.async.cg.shared.global [%r3+{1024 * at}],[%d1],16;\n"
        "cp.async.commit_group;\n"
        for at in range(ahead)
    )
    numbers = {"AHEAD": ahead, "LEFT": stages - 2, "DISTANCE": 64 * ahead, "STAGES": stages}
    text = LOOP.replace("PROLOGUE\n", prologue)
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text


@pytest.mark.parametrize("stages", [2, 3, 4, 5, 6])
def test_a_stage_that_is_stored_behind_the_loop(stages: int) -> None:
    right = of_stages(stages)
    assert tiers(right) == set()
    assert {rule for _, rule in tiers(right.replace("bar.sync 1;\n", ""))} == {"shared-unsynchronised"}
