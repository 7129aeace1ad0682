"""A thread that waits for a phase of an mbarrier that nothing completes does nothing any more: what stands behind the
wait races with nothing. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
# Two copies are in flight where a loop begins, which waits for them. A short K passes it by: with that, nobody
# launches a kernel.
KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 sm[];
.shared .align 8 .b64 done;
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 k)
.maxntid 128, 1, 1
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<9>;
ld.param.u64 %d1,[in]; ld.param.u64 %d2,[out]; ld.param.u32 %r16,[k];
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; mov.u32 %r17,done; setp.ne.s32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [%r17],1;
bar.sync 0;
shl.b32 %r3,%r1,4; add.s32 %r4,%r2,%r3; mul.wide.u32 %d3,%r3,1; add.s64 %d4,%d1,%d3;
cp.async.cg.shared.global [%r4],[%d4],16;
cp.async.cg.shared.global [%r4+2048],[%d4+2048],16;
cp.async.commit_group;
shr.s32 %r10,%r16,6; mov.u32 %r20,0;
setp.lt.s32 %p2,%r16,64; @%p2 bra LAST;
LOOP:
cp.async.wait_group 0;
bar.sync 0;
add.s32 %r20,%r20,1; setp.ne.s32 %p3,%r20,%r10; or.pred %p4,%p1,%p3;
@!%p4 mbarrier.arrive.shared::cta.b64 _,[%r17];
@%p3 bra LOOP;
LAST:
WAIT
st.shared.v4.u32 [%r4],{%r1,%r1,%r1,%r1};
st.shared.v4.u32 [%r4+2048],{%r1,%r1,%r1,%r1};
fence.proxy.async.shared::cta;
bar.sync 0;
@%p1 bra END;
cp.async.bulk.global.shared::cta.bulk_group [%d2],[%r2],2048;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
END: ret;
}
"""
WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %p5,[%r17],PARITY; @!%p5 bra W;"


@pytest.mark.parametrize(
    ("wait", "rules"),
    [
        (WAIT.replace("PARITY", "0"), set()),  # only the loop arrives: with a short K, nobody passes the wait
        # The phase before the first one is over; a thread that comes late waits for the second one.
        (WAIT.replace("PARITY", "1"), {"copy-incomplete", "barrier-stuck"}),
        # Nobody knows what a wait for bytes does that are no mbarrier.
        (WAIT.replace("PARITY", "0").replace("%r17", "%r17+8"), {"barrier-uninitialised"}),
        ("bar.sync 0;", set()),
    ],
    ids=["the first phase", "no phase", "another mbarrier", "a barrier"],
)
def test_what_stands_behind_an_endless_wait(wait: str, rules: set[str]) -> None:
    found = check_text(KERNEL.replace("WAIT", wait), "k.ptx").findings
    assert {one.rule for one in found if one.tier in ("error", "likely")} == rules


def test_behind_a_barrier_all_goes_on() -> None:
    """The loop waits for no copy here."""
    unwaited = KERNEL.replace("cp.async.wait_group 0;\n", "").replace("WAIT", "bar.sync 0;")
    found = check_text(unwaited, "k.ptx").findings
    assert {one.rule for one in found if one.tier in ("error", "likely")} == {"copy-incomplete"}
