"""Parameters that say where buffers lie in shared memory: with the numbers that a host passes, they lie apart.

What must be found was written down before the checker ran.
"""

from __future__ import annotations

from typing import Any

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY
from ptxmma.check.walks.parameters import ParameterNumbers

# Threads store A and B, multiply, and store the results to a scratch buffer, in a loop.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u32 n, .param .u32 of, .param .u32 at, .param .align 8 .b8 both[8])
.reqntid 128, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<64>;
ld.param.u32 %r0,[n]; mov.u32 %r1,%tid.x; mov.u32 %r2,smem; mov.u32 %r20,0; mov.u32 %r21,0;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
MATRICES
shl.b32 %r7,%r1,6; add.u32 %r7,%r10,%r7; shl.b32 %r8,%r1,3; add.u32 %r8,%r11,%r8;
st.shared.v4.b32 [%r7],{%r1,%r1,%r1,%r1}; st.shared.v2.b32 [%r8],{%r1,%r1};
fence.proxy.async.shared::cta;
bar.sync 0;
L:
shr.u32 %r9,%r10,4; and.b32 %r9,%r9,16383; cvt.u64.u32 %d0,%r9; or.b64 %d0,%d0,0x4000004000010000;
shr.u32 %r9,%r11,4; and.b32 %r9,%r9,16383; cvt.u64.u32 %d1,%r9; or.b64 %d1,%d1,0x4000004000010000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
SCRATCH
shl.b32 %r25,%r1,4; add.u32 %r25,%r24,%r25;
st.shared.v4.f32 [%r25],{%f0,%f1,%f2,%f3};
add.u32 %r20,%r20,1; setp.lt.u32 %p4,%r20,%r0; @%p4 bra L;
ret;
}
"""
START = "mov.u32 %r10,%r2; add.u32 %r11,%r10,8192;"
APART = {
    "an offset": (START, "ld.param.u32 %r24,[of]; add.u32 %r24,%r2,%r24;"),
    "of 64 bits": (START, "ld.param.u32 %r24,[of]; cvt.u64.u32 %d2,%r24; cvt.u32.u64 %r24,%d2; add.u32 %r24,%r2,%r24;"),
    "an offset in a vector": (START, "ld.param.v2.u32 {%r23,%r24},[both]; add.u32 %r24,%r2,%r24;"),
    "both by offsets": (
        "ld.param.u32 %r10,[at]; add.u32 %r10,%r2,%r10; add.u32 %r11,%r10,8192;",
        "ld.param.u32 %r24,[of]; add.u32 %r24,%r2,%r24;",
    ),
    "elements of two bytes": (START, "ld.param.u32 %r24,[of]; shl.b32 %r24,%r24,1; add.u32 %r24,%r2,%r24;"),
    "rows and columns": (
        START,
        "ld.param.u32 %r24,[of]; ld.param.u32 %r23,[at]; mul.lo.u32 %r24,%r24,%r23; shl.b32 %r24,%r24,1; add.u32 %r24,%r2,%r24;",
    ),
}  # fmt: skip
# The matrices are where the results are stored, wherever that is.
SAME = "ld.param.u32 %r10,[of]; add.u32 %r10,%r2,%r10; add.u32 %r11,%r10,8192;", "mov.u32 %r24,%r10;"


def loud(matrices: str, scratch: str) -> set[str]:
    """The rules of the loud findings."""
    text = KERNEL.replace("MATRICES", matrices).replace("SCRATCH", scratch)
    return {one.rule for one in check_text(text, "k.ptx").findings if one.tier in (ERROR, LIKELY)}


@pytest.mark.parametrize("case", APART)
def test_buffers_that_a_host_places_lie_apart(case: str) -> None:
    assert loud(*APART[case]) == set()


def test_buffers_at_one_place_meet_wherever_it_is() -> None:
    assert "proxy-fence" in loud(*SAME)
    assert "proxy-fence" in loud(START, "mov.u32 %r24,%r2;")


@pytest.mark.parametrize(
    ("use", "is_offset"),
    [
        ("add.u32 %r3,%r2,%r9; st.shared.u32 [%r3],%r1;", True),
        ("mad.lo.u32 %r3,%r1,%r9,%r2; ld.shared.u32 %r4,[%r3+16];", True),
        ("add.u32 %r3,%r2,%r9; setp.lt.u32 %p1,%r1,%r9; st.shared.u32 [%r3],%r1;", False),  # it counts, too
        ("rem.u32 %r3,%r9,3; shl.b32 %r3,%r3,10; st.shared.u32 [%r3],%r1;", False),  # a stage
        ("mul.wide.u32 %rd1,%r9,4; ld.global.u32 %r4,[%rd1];", False),
    ],
    ids=["added", "multiplied", "compared", "in turns", "in global memory"],
)
def test_an_offset_is_what_addresses_grow_with(kernel: Any, use: str, is_offset: bool) -> None:
    made = kernel(f"ld.param.u32 %r9, [out];\n{use}\nret;")
    load = next(one for one in made.code if one.does == "load")
    found = ParameterNumbers(made.code).source(load.operands[1], load.operation.words)
    assert isinstance(found, int) == is_offset


# Two stages of a ring lie as far apart as a host says. One copy is in flight while the other stage is read.
RING = """
.version 8.0
.target sm_86
.address_size 64
.extern .shared .align 128 .b8 rg[];
.visible .entry ring(.param .u64 k, .param .u32 n, .param .u32 st, .param .u32 tot)
.reqntid 128, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<64>; .reg .f32 %f<8>; .reg .b64 %d<8>;
ld.param.u64 %d1,[k]; ld.param.u32 %r1,[n]; ld.param.u32 %r40,[st]; ld.param.u32 %r41,[tot];
mov.u32 %r2,%tid.x; mov.u32 %r3,rg; mov.u32 %r42,0; mov.u32 %r30,0;
mul.wide.u32 %d4,%r2,16; add.s64 %d5,%d1,%d4; mad.lo.u32 %r6,%r2,16,%r3;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
cp.async.cg.shared.global [%r6],[%d5],16;
cp.async.commit_group;
T:
cp.async.wait_group 0;
BARRIER
NEXT
add.u32 %r32,%r6,%r31; add.s64 %d5,%d5,2048; sub.u32 %r1,%r1,1; setp.ne.u32 %p1,%r1,0;
@%p1 cp.async.cg.shared.global [%r32],[%d5],16;
cp.async.commit_group;
xor.b32 %r33,%r6,512; add.u32 %r33,%r33,%r30;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20,%r21,%r22,%r23},[%r33];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r20,%r21,%r22,%r23},{%r22,%r23},{%f0,%f1,%f2,%f3};
mov.u32 %r30,%r31;
@%p1 bra T;
ret;
}
"""
BY_STRIDE_AND_SIZE = "add.u32 %r31,%r30,%r40; setp.ge.u32 %p2,%r31,%r41; selp.b32 %r31,0,%r31,%p2;"
BY_STRIDE = "add.u32 %r42,%r42,1; and.b32 %r43,%r42,1; mul.lo.u32 %r31,%r43,%r40;"
BY_SHIFT = "add.u32 %r42,%r42,1; and.b32 %r43,%r42,1; shl.b32 %r31,%r43,%r40;"


@pytest.mark.parametrize(
    "following", [BY_STRIDE_AND_SIZE, BY_STRIDE, BY_SHIFT], ids=["size", "stride", "shift"]
)
def test_stages_lie_as_far_apart_as_a_host_says(following: str) -> None:
    """The host passes a stride, its logarithm, or also the size of the ring: two stages never meet."""
    text = RING.replace("NEXT", following)
    assert not [
        one
        for one in check_text(text.replace("BARRIER", "bar.sync 0;"), "k.ptx").findings
        if one.tier in (ERROR, LIKELY)
    ]


@pytest.mark.parametrize("following", [BY_STRIDE, BY_SHIFT], ids=["stride", "shift"])
def test_a_missing_barrier_is_found_whatever_the_stride(following: str) -> None:
    """Without the barrier, another warp reads what it has not been told of."""
    text = RING.replace("NEXT", following).replace("BARRIER", "")
    found = check_text(text, "k.ptx").findings
    assert {one.rule for one in found if one.tier in (ERROR, LIKELY)} & {
        "copy-incomplete",
        "shared-unsynchronised",
    }


# What stands in the ring's loop in place of NEXT, with the numbers that a host passes.
PACKED = "add.u32 %r42,%r42,1; and.b32 %r43,%r42,1; bfe.u32 %r45,%r40,8,16; mul.lo.u32 %r31,%r43,%r45;"
COUNTED = (
    "add.u32 %r42,%r42,1; setp.ge.u32 %p2,%r42,%r41; selp.b32 %r42,0,%r42,%p2; mul.lo.u32 %r31,%r42,%r40;"
)
MASKED = "add.u32 %r42,%r42,1; sub.u32 %r43,%r41,1; and.b32 %r43,%r43,%r42; mul.lo.u32 %r31,%r43,%r40;"
TWICE = f"mul.lo.u32 %r46,%r40,%r41; add.u32 %r46,%r46,%r3; {COUNTED}"  # something lies behind all stages


@pytest.mark.parametrize(
    "following", [PACKED, COUNTED, MASKED, TWICE], ids=["packed", "counted", "masked", "and behind them"]
)
def test_stages_lie_apart_however_many_there_are(following: str) -> None:
    text = RING.replace("NEXT", following).replace("BARRIER", "bar.sync 0;")
    assert not [one for one in check_text(text, "k.ptx").findings if one.tier in (ERROR, LIKELY)]


def test_two_offsets_of_one_vector_lie_apart() -> None:
    """One load brings where two buffers lie: the second is filled while the first is read."""
    text = RING.replace(".param .u32 st, .param .u32 tot", ".param .align 8 .b8 q[8]")
    text = text.replace(
        "ld.param.u32 %r40,[st]; ld.param.u32 %r41,[tot];", "ld.param.v2.u32 {%r40,%r41},[q];"
    )
    text = text.replace(
        "NEXT",
        "add.u32 %r42,%r42,1; and.b32 %r43,%r42,1; setp.eq.u32 %p2,%r43,0; selp.b32 %r31,%r40,%r41,%p2;",
    )
    text = text.replace(
        "cp.async.cg.shared.global [%r6]", "add.u32 %r47,%r6,%r40; cp.async.cg.shared.global [%r47]"
    )
    text = text.replace("mov.u32 %r30,0;\n", "mov.u32 %r30,%r40;\n")
    right = text.replace("BARRIER", "bar.sync 0;")
    assert not [one for one in check_text(right, "k.ptx").findings if one.tier in (ERROR, LIKELY)]
    found = check_text(text.replace("BARRIER", ""), "k.ptx").findings
    assert {one.rule for one in found if one.tier in (ERROR, LIKELY)} & {
        "copy-incomplete",
        "shared-unsynchronised",
    }


# As many tiles as a parameter says, rounded up: a tile's number makes coordinates in a tensor.
TILES = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .align 64 .b8 map[128], .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<64>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; mov.u32 %r20,0; mov.u32 %r21,0; mov.b64 %d0,map; cvta.param.u64 %d0,%d0;
setp.eq.u32 %p0,%r1,0;
@%p0 mbarrier.init.shared::cta.b64 [%r2+16384],1;
bar.sync 0;
ld.param.u32 %r0,[n]; add.u32 %r11,%r0,127; shr.u32 %r3,%r11,7; mul.lo.u32 %r5,%r3,2; min.u32 %r4,%r5,3;
setp.eq.u32 %p1,%r4,0; @%p1 bra END;
L:
div.u32 %r6,%r20,%r3; mul.lo.u32 %r7,%r6,%r3; sub.u32 %r8,%r20,%r7; shl.b32 %r8,%r8,7;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+16384],16384;
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2],[%d0,{%r8,%r6}],[%r2+16384];
WAIT
shl.b32 %r9,%r1,2; add.u32 %r9,%r2,%r9; ld.shared.u32 %r10,[%r9];
MEET
xor.b32 %r21,%r21,1; add.u32 %r20,%r20,1; setp.lt.u32 %p4,%r20,%r4; @%p4 bra L;
END: ret;
}
"""
WAITS = "W: mbarrier.try_wait.parity.shared::cta.b64 %p5,[%r2+16384],%r21; @!%p5 bra W;"


@pytest.mark.parametrize(
    ("waits", "meet", "is_right"),
    [(WAITS, "bar.sync 0;", True), ("", "bar.sync 0;", False), (WAITS, "", False)],
    ids=["right", "no wait for the copy", "the next copy comes before all have read"],
)
def test_coordinates_in_a_tensor_place_nothing_in_shared_memory(
    waits: str, meet: str, is_right: bool
) -> None:
    """The parameter has a number, with which threads are followed."""
    report = check_text(TILES.replace("WAIT", waits).replace("MEET", meet), "k.ptx")
    assert report.not_judged == ()
    assert (not any(one.tier in (ERROR, LIKELY) for one in report.findings)) == is_right
