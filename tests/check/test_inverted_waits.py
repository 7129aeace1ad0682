"""A loop that tries a wait again while its phase is complete, and goes on while it is not: what stands behind it
knows of no copy. Spelled as compilers spell loops, each beside the right loop of the same spelling.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
{
.reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p<8>; .reg .b32 %r<16>;
ld.param.u64 %d3,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r3,%r2,16384; mov.u32 %r4,0;
setp.ne.u32 %p1,%r1,0; @%p1 bra NI;
mbarrier.init.shared::cta.b64 [%r3],1;
NI: bar.sync 0;
@%p1 bra NC;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r3],9216;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d3],9216,[%r3];
NC:
TRY: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r3],0;
LOOP
GO: shr.u32 %r5,%r2,4; and.b32 %r5,%r5,16383; cvt.u64.u32 %d0,%r5; or.b64 %d0,%d0,0x4000004000010000; add.u64 %d1,%d0,512;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""
# By spelling: the loop that waits, and the one that is left while the phase is incomplete.
LOOPS = {
    "branch": ("@!%p2 bra TRY;", "@%p2 bra TRY;"),
    "negated": ("not.pred %p3,%p2; @%p3 bra TRY;", "not.pred %p3,%p2; @!%p3 bra TRY;"),
    "selected": (
        "selp.b32 %r6,1,0,%p2; setp.eq.s32 %p3,%r6,0; @%p3 bra TRY;",
        "selp.b32 %r6,1,0,%p2; setp.ne.s32 %p3,%r6,0; @%p3 bra TRY;",
    ),
    "flipped": (
        "selp.b32 %r6,1,0,%p2; xor.b32 %r6,%r6,1; setp.eq.s32 %p3,%r6,1; @%p3 bra TRY;",
        "selp.b32 %r6,1,0,%p2; xor.b32 %r6,%r6,1; setp.eq.s32 %p3,%r6,0; @%p3 bra TRY;",
    ),
    "past the way back": ("@%p2 bra GO; bra TRY;", "@!%p2 bra GO; bra TRY;"),
    "counted": ("@!%p2 bra TRY;", "add.u32 %r4,%r4,1; @%p2 bra TRY;"),
}


def accusations(loop: str) -> set[tuple[str, str]]:
    found = check_text(KERNEL.replace("LOOP", loop), "k.ptx").findings
    return {(one.rule, one.tier) for one in found if one.tier != "info"}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_left_early_waits_for_nothing(name: str) -> None:
    right, wrong = LOOPS[name]
    assert accusations(right) == set()
    assert accusations(wrong) == {("copy-incomplete", "error")}


@pytest.mark.parametrize(
    "loop",
    [
        # More than a wait: the loop works while the next phase is complete, or the result is asked for again.
        "bar.sync 0; @%p2 bra END; bra TRY; END: setp.eq.u32 %p4,%r4,0; @%p4 bra LATE; bra GO;"
        " LATE: mbarrier.try_wait.parity.shared::cta.b64 %p5,[%r3],0; @!%p5 bra LATE;",
        # A first try, and a loop where it failed.
        "@%p2 bra GO; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p5,[%r3],0; @!%p5 bra AGAIN;",
        # A first try that is left while the phase is incomplete, and then a wait.
        "@%p2 bra TRY; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p5,[%r3],0; @!%p5 bra AGAIN;",
    ],
)
def test_what_is_not_such_a_loop_is_as_before(loop: str) -> None:
    assert accusations(loop) == set()
