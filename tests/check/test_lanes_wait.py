"""One lane waits for a bulk copy, and others of its warp read what it brings: they must have met since.

What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds)
.reqntid THREADS, 1, 1
{
.reg .pred p, q, z, w, e; .reg .b32 t, m, s, a, n, i, v, lane, sum, ph, b; .reg .b64 d, o;
.shared .align 8 .b64 full[2]; .shared .align 128 .b8 tile[2048];
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[rounds];
mov.u32 t,%tid.x; and.b32 lane,t,31; shr.u32 v,t,5; setp.ne.u32 z,lane,0; mov.u32 i,0; mov.u32 sum,0; mov.u32 ph,0;
mad.lo.u32 m,v,8,full; mad.lo.u32 s,v,1024,tile;
@!z mbarrier.init.shared::cta.b64 [m],COUNT;
bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
@z bra READY;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s],[d],1024,[m];
READY:
WAIT
mad.lo.u32 a,lane,4,s; ld.shared.u32 v,[a]; add.u32 sum,sum,v;
bar.warp.sync -1;
add.u32 i,i,1; xor.b32 ph,ph,1; bra AGAIN;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum; ret;
}
"""
ALONE = "@z bra READ;\nW: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra W;\nREAD:\n"
ALL = ALONE.replace("@z bra READ;\n", "").replace("READ:\n", "")
TOLD = (
    "W: setp.ne.u32 q,lane,32; @!z mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph;\n"
    "selp.b32 v,1,0,q; shfl.sync.idx.b32 v,v,0,31,-1; setp.eq.u32 q,v,0; @q bra W;\n"
)
SOME = ALONE.replace("@z bra READ;", "setp.ge.u32 w,lane,16; @w bra READ;")
ELECTED = ALONE.replace("@z bra READ;", "elect.sync _|e,-1; @!e bra READ;")


def found(wait: str, threads: int, **more: str) -> list[tuple[str, str]]:
    text = KERNEL.replace("WAIT\n", wait).replace("THREADS", str(threads)).replace("COUNT", "1")
    for old, new in more.items():
        assert old in text
        text = text.replace(old, new)
    report = check_text(text, "k.ptx")
    assert not report.faults
    return [(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")]


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(ALL, id="all wait"),
        pytest.param(ALONE + "bar.warp.sync -1;\n", id="one waits, and the warp meets"),
        pytest.param(ALONE + "bar.sync 0;\n", id="one waits, and the block meets"),
        pytest.param(ALONE + ALL.replace("W", "V"), id="one waits, and then all do"),
        pytest.param(SOME + "bar.warp.sync -1;\n", id="some wait, and the warp meets"),
        pytest.param(ALL.replace("W", "V") + ALONE, id="all wait, and then one does again"),
        pytest.param(
            ALONE + "bar.warp.sync -1;\n" + ALONE.replace("W", "V").replace("READ", "JUST"),
            id="one waits, the warp meets, and one waits again",
        ),
        pytest.param(ALONE + "@z bra JUST;\n" + "JUST: bar.warp.sync 0xffffffff;\n", id="it meets later"),
    ],
)
def test_all_lanes_know_that_the_copy_is_complete(wait: str, threads: int) -> None:
    assert found(wait, threads) == []


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(ALONE, id="lane 0 waits"),
        pytest.param(SOME, id="half of them wait"),
        pytest.param(
            SOME + "setp.gt.u32 w,lane,16; @!w bar.warp.sync 0x0001ffff;\n", id="and one more meets them"
        ),
        pytest.param("bar.warp.sync -1;\n" + ALONE, id="the warp meets before"),
    ],
)
def test_other_lanes_do_not_know_it(wait: str, threads: int) -> None:
    assert found(wait, threads) == [("likely", "warp-unsynchronised")]


@pytest.mark.parametrize(
    "wait", [ALONE + "shfl.sync.idx.b32 v,t,0,31,-1; add.u32 sum,sum,v;\n", TOLD], ids=["shuffle", "told"]
)
def test_what_lanes_execute_together_may_tell_them(wait: str) -> None:
    """Whether that is a barrier is a reading of the text."""
    assert found(wait, 64) == []


def test_an_elected_lane_waits_alone() -> None:
    assert found(ELECTED + "bar.warp.sync -1;\n", 64) == []
    assert found(ELECTED, 64) == [("likely", "warp-unsynchronised")]
