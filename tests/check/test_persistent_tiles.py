"""A persistent kernel: a producer, a loader of C and consumers go round tiles whose number is a parameter of 64 bits, and a
number in global memory decides whether C is loaded. What is told of each slip was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

from .test_shown_waits import FEED, NEXT, PRODUCT

KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 scale, .param .u32 n, .param .u64 tiles)
.reqntid 192, 1, 1
{
.reg .b64 %d<16>; .reg .f32 %f<8>; .reg .pred %p<16>; .reg .b32 %r<40>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n]; ld.param.u64 %d9,[tiles]; ld.param.u64 %d8,[scale];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r30,%r2,65536; add.u32 %r31,%r2,32768;
setp.ne.u32 %p5,%r1,0; @%p5 bra MADE;
mbarrier.init.shared::cta.b64 [%r30],1; mbarrier.init.shared::cta.b64 [%r30+8],1;
mbarrier.init.shared::cta.b64 [%r30+16],128; mbarrier.init.shared::cta.b64 [%r30+24],128;
mbarrier.init.shared::cta.b64 [%r30+32],LOADED; mbarrier.init.shared::cta.b64 [%r30+40],READ;
MADE: bar.sync 0;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r24,0;
mov.u32 %r20,%ctaid.x; cvt.u64.u32 %d10,%r20; mov.u32 %r23,%nctaid.x; cvt.u64.u32 %d11,%r23;
setp.ge.u64 %p7,%d10,%d9; @%p7 bra DONE;
setp.lt.u32 %p1,%r1,128; @%p1 bra USE;
setp.eq.u32 %p1,%r1,128; @%p1 bra FILL;
setp.eq.u32 %p1,%r1,160; @%p1 bra LOAD;
bra DONE;
LOAD: setp.eq.u64 %p12,%d8,0; @%p12 bra NONE;
ld.global.f32 %f5,[%d8]; bra SOME;
NONE: mov.f32 %f5,0f00000000;
SOME: setp.neu.f32 %p12,%f5,0f00000000;
LT: xor.b32 %r25,%r24,1;
LW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30+40],FREE; @!%p3 bra LW;
@!%p12 bra LN;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30+32],4096;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r31],[%d3],4096,[%r30+32];
LN: ARRIVE
xor.b32 %r24,%r24,1; TURN
@%p7 bra LT;
bra DONE;
FILL: mov.u32 %r12,0; mov.u32 %r8,%r0;
setp.lt.s32 %p8,%r0,1; @%p8 bra FE;
FEED
FE: TURN
@%p7 bra FILL;
bra DONE;
USE: mov.u32 %r12,0;
setp.lt.s32 %p10,%r0,1; @%p10 bra UE;
UL: shl.b32 %r13,%r10,3; add.u32 %r14,%r30,%r13;
TRY
UG: PRODUCT
RELEASE
NEXT
setp.lt.s32 %p11,%r12,%r0; @%p11 bra UL;
UE: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30+32],%r24; @!%p3 bra UE;
shl.b32 %r26,%r1,5; add.u32 %r26,%r26,%r31; ld.shared.b32 %r27,[%r26];
bar.sync 1,MET;
mbarrier.arrive.shared::cta.b64 _,[%r30+40];
xor.b32 %r24,%r24,1; TURN
@%p7 bra USE;
DONE: ret;
}
""".replace("FEED", FEED).replace("PRODUCT", PRODUCT)
RIGHT = {
    "LOADED": "1",
    "READ": "128",
    "MET": "128",
    "FREE": "%r25",
    "ARRIVE": "mbarrier.arrive.shared::cta.b64 _,[%r30+32];",
    "RELEASE": "mbarrier.arrive.shared::cta.b64 _,[%r14+16];",
    "TURN": "add.u64 %d10,%d10,%d11; setp.lt.u64 %p7,%d10,%d9;",
    "NEXT": NEXT.replace("STEP", "1"),
    "TRY": "UW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],%r11; @!%p3 bra UW;",
}
# A try, whose result is asked through a register, and a wait where it has failed.
TRIED = (
    "mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],%r11; selp.b32 %r28,1,0,%p3;\n"
    "setp.ne.s32 %p4,%r28,0; @%p4 bra UG;\n"
    "UW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],AGAIN; @!%p3 bra UW;"
)
STUCK = {
    "one arrival too many is counted for C": {"LOADED": "2"},
    "nobody says that C is loaded": {"ARRIVE": ""},
    "the loader waits for the next phase": {"FREE": "%r24"},
    "other threads shall meet, too": {"MET": "160"},
    "one arrival too many is counted for reading C": {"READ": "129"},
    "no stage is given back": {"RELEASE": ""},
}


def told(text: str = KERNEL, **slips: str) -> set[str]:
    for name, words in (RIGHT | slips).items():
        text = text.replace(name, words)
    return {one.rule for one in check_text(text, "k.ptx").findings if one.tier in (ERROR, LIKELY)}


def test_a_right_kernel_is_not_accused() -> None:
    assert told() == set()
    assert told(TRY=TRIED.replace("AGAIN", "%r11")) == set()


@pytest.mark.parametrize("name", STUCK)
@pytest.mark.parametrize("tried", [RIGHT["TRY"], TRIED.replace("AGAIN", "%r11")], ids=["waits", "tries"])
def test_a_wait_that_never_ends(name: str, tried: str) -> None:
    assert told(**STUCK[name], TRY=tried) == {"barrier-stuck"}


def test_a_loop_that_a_word_of_memory_ends_is_no_deadlock() -> None:
    """The same word says in both roles how many rounds there are; in one of them alone, nobody knows."""
    word = "ld.global.u32 %r0,[%d8];"
    both = KERNEL.replace("ld.param.u32 %r0,[n];", "").replace(
        "mov.u32 %r1,%tid.x;", f"{word} mov.u32 %r1,%tid.x;"
    )
    assert told(both) == set()
    assert told(KERNEL.replace("USE: mov.u32 %r12,0;", f"USE: mov.u32 %r12,0; {word}")) == set()


def test_a_second_wait_for_another_phase() -> None:
    """Where the try fails, the wait is over at once: the product reads what is not there yet."""
    wrong = TRIED.replace("AGAIN", "%r29").replace("UW:", "xor.b32 %r29,%r11,1;\nUW:")
    assert told(TRY=wrong) & {"copy-incomplete", "shared-overwritten"}


def test_tensor_copies_that_nobody_waits_for_may_meet() -> None:
    """A copy that warms a cache goes to one place every round, and no other warp waits for it."""
    warm = (
        "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r30+48],128;\n"
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r31+8192],[%d3,{%r12}],[%r30+48];\n"
    )
    made = "mbarrier.init.shared::cta.b64 [%r30+40],READ;"
    text = KERNEL.replace(made, made + " mbarrier.init.shared::cta.b64 [%r30+48],1;")
    text = text.replace("PL: ", "PL: " + warm)
    assert told(text) == set()
    seen = "SEEN: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30+48],0; @!%p3 bra SEEN;\n"
    assert told(text.replace("USE: ", "USE: " + seen)) == {"copy-incomplete"}
