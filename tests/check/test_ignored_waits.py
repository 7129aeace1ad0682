"""A try that nobody asks for its result is no wait: it may return before the phase is complete (9.7.13.15.16). What
must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 mb;
ld.param.u64 %d1,[in]; ld.param.u64 %d2,[out]; ld.param.u32 %r9,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,mb; mov.u32 %r3,tile; setp.ne.u32 %p1,%r1,0; mov.u32 %r6,0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r2],1;
READY: bar.sync 0;
@%p1 bra ISSUED;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3],[%d1],1024,[%r2];
ISSUED:
WAIT
shl.b32 %r4,%r1,4; add.u32 %r4,%r4,%r3; ld.shared.u32 %r5,[%r4];
mul.wide.u32 %d3,%r1,4; add.s64 %d4,%d2,%d3; st.global.u32 [%d4],%r5;
ret;
}
"""
TRY = "mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0;"
EARLY = {("error", "copy-incomplete")}


def found(wait: str) -> set[tuple[str, str]]:
    report = check_text(KERNEL.replace("WAIT", wait), "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize(
    "wait",
    [
        f"L: {TRY} @!%p2 bra L;",
        f"L: {TRY} @%p2 bra DONE; bra L; DONE:",
        f"L: {TRY} not.pred %p3,%p2; @%p3 bra L;",
        f"L: {TRY} selp.b32 %r7,1,0,%p2; setp.eq.u32 %p3,%r7,0; @%p3 bra L;",
        f"L: {TRY} selp.b32 %r7,1,0,%p2; mov.b32 %r8,%r7; and.b32 %r7,%r8,1; setp.ne.b32 %p4,%r7,1; @%p4 bra L;",
    ],
    ids=["a branch", "two branches", "negated", "as a number", "by way of others"],
)
def test_a_thread_that_tries_again_waits(wait: str) -> None:
    assert found(wait) == set()


@pytest.mark.parametrize(
    "wait",
    [
        TRY,
        f"{TRY} not.pred %p3,%p2;",
        f"{TRY} selp.b32 %r7,1,0,%p2;",
        f"{TRY} selp.b32 %r7,1,0,%p2; mov.b32 %r8,%r7; and.b32 %r7,%r8,1; setp.ne.b32 %p4,%r7,1;",
        f"{TRY} selp.b32 %r7,1,0,%p2; mov.u32 %r7,0; setp.ne.b32 %p4,%r7,0; @%p4 trap;",
        f"L: {TRY} @%p2 add.u32 %r7,%r7,1; add.u32 %r6,%r6,1; setp.lt.u32 %p5,%r6,%r9; @%p5 bra L;",
    ],
    ids=["not read", "negated", "as a number", "by way of others", "written over", "counted for nobody"],
)
def test_a_thread_that_does_not_ask_may_come_early(wait: str) -> None:
    assert found(wait) == EARLY


@pytest.mark.parametrize(
    "wait",
    [
        f"{TRY} @!%p2 trap;",
        f"{TRY} selp.b32 %r7,1,0,%p2; st.global.u32 [%d2+1024],%r7; L: {TRY} @!%p2 bra L;",
    ],
    ids=["it gives up", "it says so and waits"],
)
def test_what_is_done_with_the_result_is_its_own(wait: str) -> None:
    assert found(wait) == set()
