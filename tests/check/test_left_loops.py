"""What stands behind a loop that goes round more often than threads are followed: where no execution comes to it, it is
said that it was not judged. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# All threads arrive at an mbarrier and wait for it, in each round; behind the loop, thread 0 copies a tile.
KERNEL = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 mb[2];
ld.param.u64 %d1,[in]; ld.param.u64 %d2,[out]; ld.param.u32 %r9,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,mb; mov.u32 %r3,tile; setp.ne.u32 %p1,%r1,0; mov.u32 %r6,0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r2],64; mbarrier.init.shared::cta.b64 [%r2+8],1;
READY: bar.sync 0;
ROUND:
and.b32 %r7,%r6,1;
mbarrier.arrive.shared::cta.b64 _,[%r2];
L: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],%r7; @!%p2 bra L;
add.u32 %r6,%r6,1; setp.lt.u32 %p3,%r6,ROUNDS; @%p3 bra ROUND;
@%p1 bra ISSUED;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+8],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3],[%d1],1024,[%r2+8];
ISSUED:
M: mbarrier.try_wait.parity.shared::cta.b64 %p4,[%r2+8],PARITY; @!%p4 bra M;
shl.b32 %r4,%r1,4; add.u32 %r4,%r4,%r3; ld.shared.u32 %r5,[%r4];
mul.wide.u32 %d3,%r1,4; add.s64 %d4,%d2,%d3; st.global.u32 [%d4],%r5;
ret;
}
"""


def found(rounds: str, parity: int) -> tuple[set[tuple[str, str]], list[str]]:
    """The rules that are broken, and the places from which on nothing was judged."""
    report = check_text(KERNEL.replace("ROUNDS", rounds).replace("PARITY", str(parity)), "k.ptx")
    assert not report.faults
    rules = {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}
    return rules, [one.why for one in report.not_judged if one.instruction == "barriers of k"]


@pytest.mark.parametrize("rounds", ["8", "%r9"], ids=["a few rounds", "as many as a parameter says"])
def test_what_stands_behind_a_loop_that_ends_is_judged(rounds: str) -> None:
    assert found(rounds, 0) == (set(), [])
    # With the other parity, who comes early does not wait for the copy, and who comes late waits for ever.
    assert found(rounds, 1) == ({("error", "copy-incomplete"), ("error", "barrier-stuck")}, [])


@pytest.mark.parametrize("parity", [0, 1])
def test_what_stands_behind_a_loop_that_goes_on_is_not_judged(parity: int) -> None:
    rules, why = found("100000", parity)
    assert rules <= ({("error", "copy-incomplete")} if parity else set())
    assert len(why) == 1 and "some rounds of a loop that goes on" in why[0]
