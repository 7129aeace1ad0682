"""Rings whose loops end by a parameter: an arrival that is missing behind a loop is told, where both ends of the ring
count by the same parameter, and several numbers of it show that nobody can go on. One slip apart are right kernels,
some of which are right for some numbers only.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# A producer fills stages; `NEXT` is its next round, of `%r8`.
FEED = """PL: shl.b32 %r13,%r10,3; add.u32 %r14,%r30,%r13; xor.b32 %r15,%r11,1;
PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14+16],%r15; @!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r14],16384;
shl.b32 %r18,%r10,14; add.u32 %r18,%r2,%r18;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r18],[%d3],16384,[%r14];
NEXT
setp.lt.s32 %p9,%r12,%r8; @%p9 bra PL;"""
# A product of what is in a stage.
PRODUCT = """shl.b32 %r18,%r10,14; add.u32 %r18,%r2,%r18; shr.u32 %r21,%r18,4; and.b32 %r21,%r21,16383; cvt.u64.u32 %d0,%r21;
or.b64 %d0,%d0,0x4000004000010000; add.u64 %d1,%d0,512;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;"""
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u32 n, .param .u32 m, .param .u32 tiles)
.reqntid 160, 1, 1
{
.reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p<16>; .reg .b32 %r<40>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n]; ld.param.u32 %r16,[m]; ld.param.u32 %r17,[tiles];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r30,%r2,65536;
setp.ne.u32 %p5,%r1,0; @%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],1; mbarrier.init.shared::cta.b64 [%r30+8],1;
mbarrier.init.shared::cta.b64 [%r30+16],128; mbarrier.init.shared::cta.b64 [%r30+24],128;
NI: bar.sync 0;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r20,%ctaid.x;
setp.ge.u32 %p7,%r20,%r17; @%p7 bra DONE;
setp.lt.u32 %p1,%r1,128; @%p1 bra CT;
setp.ne.u32 %p1,%r1,128; @%p1 bra DONE;
PT: FILLS mov.u32 %r12,0;
setp.lt.s32 %p8,%r8,1; @%p8 bra PE;
FEED
PE: TURN
@%p7 bra PT;
bra DONE;
CT: READS mov.u32 %r12,0; mov.u32 %r19,0;
setp.lt.s32 %p10,%r8,1; @%p10 bra CE;
CL: shl.b32 %r13,%r10,3; add.u32 %r14,%r30,%r13;
CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],%r11; @!%p3 bra CW;
PRODUCT
setp.eq.u32 %p4,%r12,0; @%p4 bra CN;
mbarrier.arrive.shared::cta.b64 _,[%r19+16];
CN: mov.u32 %r19,%r14;
NEXT
setp.lt.s32 %p11,%r12,%r8; @%p11 bra CL;
LAST
CE: TURN
@%p7 bra CT;
DONE: ret;
}
""".replace("FEED", FEED).replace("PRODUCT", PRODUCT)
NEXT = """add.u32 %r12,%r12,STEP;
add.u32 %r10,%r10,1; setp.eq.u32 %p6,%r10,2; selp.u32 %r22,1,0,%p6; selp.u32 %r10,0,%r10,%p6; xor.b32 %r11,%r11,%r22;"""
TURN = "mov.u32 %r23,%nctaid.x; add.u32 %r20,%r20,%r23; setp.lt.u32 %p7,%r20,%r17;"
LAST = "mbarrier.arrive.shared::cta.b64 _,[%r19+16];"
WHOLE = "mov.u32 %r8,%r0;"
DIVIDED = "shr.u32 %r8,%r0,6;"
ROUNDED_UP = "add.u32 %r8,%r0,63; shr.u32 %r8,%r8,6;"
FOURS = "shr.u32 %r8,%r0,8; shl.b32 %r8,%r8,2;"
# By name: how many rounds the producer and the consumers have in a tile, and how far a round goes.
RINGS = {
    "one a round": (WHOLE, WHOLE, "1"),
    "64 a round": (WHOLE, WHOLE, "64"),
    "divided by 64": (DIVIDED, DIVIDED, "1"),
    "rounded up, which is right for multiples of 64": (DIVIDED, ROUNDED_UP, "1"),
    "rounded up in the producer": (ROUNDED_UP, DIVIDED, "1"),
    "four at a time, which is right for multiples of 256": (FOURS, DIVIDED, "1"),
}


def ring(fills: str, reads: str, step: str, last: str) -> str:
    text = KERNEL.replace("FILLS", fills).replace("READS", reads).replace("LAST", last).replace("TURN", TURN)
    return text.replace("NEXT", NEXT.replace("STEP", step))


def accusations(text: str) -> set[tuple[str, str]]:
    return {(one.rule, one.tier) for one in check_text(text, "k.ptx").findings if one.tier != "info"}


@pytest.mark.parametrize("name", RINGS)
def test_an_arrival_behind_a_loop_is_missed(name: str) -> None:
    assert accusations(ring(*RINGS[name], LAST)) == set()
    assert accusations(ring(*RINGS[name], "")) == {("barrier-stuck", "likely")}


@pytest.mark.parametrize("name", RINGS)
def test_one_predicate_may_end_the_loops_of_both_ends(name: str) -> None:
    """In PTX that people write, and no compiler, a register may be written in several places."""
    right, wrong = (ring(*RINGS[name], last).replace("%p9", "%p11") for last in (LAST, ""))
    assert right.count("setp.lt.s32 %p11,%r12,%r8; @%p11") == 2
    assert accusations(right) == set()
    assert accusations(wrong) == {("barrier-stuck", "likely")}


def test_the_message_says_with_which_numbers() -> None:
    found = check_text(ring(WHOLE, WHOLE, "64", ""), "k.ptx").findings
    assert any("with 512 and 768 for the parameters" in one.message for one in found)


def apart(text: str) -> str:
    """The consumers' number of rounds in a register of its own."""
    producer, label, consumers = text.partition("CT:")
    return producer + label + consumers.replace("%r8", "%r9")


def test_two_parameters_may_be_tied() -> None:
    """Nobody knows how the host makes one of the other: the wait may end with other numbers."""
    twice = "shl.b32 %r8,%r16,1;"
    for fills, reads in ((WHOLE, twice), (twice, WHOLE)):
        text = ring(fills, reads, "1", LAST)
        assert accusations(text) == accusations(apart(text)) == set()
    wrong = ring(twice, twice, "1", "")
    assert accusations(wrong) == accusations(apart(wrong)) == {("barrier-stuck", "likely")}


def test_one_number_is_not_enough() -> None:
    """A ring that is right with a multiple of three rounds only: some numbers show a wait, others do not."""
    threes = "rem.u32 %r9,%r0,3; sub.u32 %r8,%r0,%r9;"
    assert accusations(ring(WHOLE, threes, "1", LAST)) == set()


# One end of a ring of four stages counts by a parameter, the other one by another parameter.
COUNTS = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 pipe[];
.visible .entry k(.param .u64 in, .param .u32 n, .param .u32 packed)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<4>;
ld.param.u64 %d1,[in]; ld.param.u32 %r1,[n]; ld.param.u32 %r5,[packed];
mov.u32 %r2,%tid.x; mov.u32 %r3,pipe; mov.u32 %r4,0;
setp.ne.u32 %p1,%r2,0; @%p1 bra INITED;
mbarrier.init.shared.b64 [%r3],32; mbarrier.init.shared.b64 [%r3+8],32;
mbarrier.init.shared.b64 [%r3+32],32; mbarrier.init.shared.b64 [%r3+40],32;
INITED: bar.sync 0;
setp.ge.u32 %p2,%r2,32; @%p2 bra C;
shl.b32 %r6,%r2,4; add.s32 %r6,%r6,%r3;
P: and.b32 %r7,%r4,1; shl.b32 %r8,%r7,3; add.s32 %r9,%r3,%r8; shr.u32 %r10,%r4,1; not.b32 %r11,%r10; and.b32 %r11,%r11,1;
PW: mbarrier.test_wait.parity.shared.b64 %p3,[%r9+32],%r11; @!%p3 bra PW;
shl.b32 %r12,%r7,9; add.s32 %r13,%r6,%r12;
cp.async.cg.shared.global [%r13+1024],[%d1],16;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];
add.s32 %r4,%r4,1; setp.lt.u32 %p4,%r4,%r1; @%p4 bra P;
bra.uni END;
C: and.b32 %r7,%r4,1; shl.b32 %r8,%r7,3; add.s32 %r9,%r3,%r8; bfe.u32 %r10,%r4,1,1;
CW: mbarrier.test_wait.parity.shared.b64 %p5,[%r9],%r10; @!%p5 bra CW;
ARRIVAL
add.s32 %r4,%r4,1; COUNT setp.lt.u32 %p6,%r4,%r15; @%p6 bra C;
END: ret;
}
"""


@pytest.mark.parametrize(
    "count", ["shr.u32 %r15,%r5,5;", "and.b32 %r15,%r5,255;", "mov.u32 %r15,%r5;", "mov.u32 %r15,%r1;"]
)
def test_two_parameters_may_say_the_same_count(count: str) -> None:
    """The host passes one number of rounds in two forms: no wait is stuck for certain."""
    text = COUNTS.replace("COUNT", count).replace("ARRIVAL", "mbarrier.arrive.shared.b64 %d2,[%r9+32];")
    assert not [one for one in check_text(text, "k.ptx").findings if one.tier in ("error", "likely")]


def test_and_a_missing_release_is_told() -> None:
    """Nobody ever arrives at what the producer waits for in its third round; then the consumer waits, too."""
    text = COUNTS.replace("COUNT", "mov.u32 %r15,%r1;").replace("ARRIVAL", "")
    found = check_text(text, "k.ptx").findings
    assert {one.rule for one in found if one.tier in ("error", "likely")} == {"barrier-stuck"}
