"""One lane fills a stage again by a bulk copy, and others of its warp have read it: they must have met since.

What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds)
.reqntid 64, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, m, s, a, n, i, v, lane, sum, ph, warp; .reg .b64 d, o;
.shared .align 8 .b64 full[2]; .shared .align 128 .b8 tile[2048];
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[rounds];
mov.u32 t,%tid.x; and.b32 lane,t,31; shr.u32 warp,t,5; setp.ne.u32 z,lane,0; mov.u32 i,0; mov.u32 sum,0;
mov.u32 ph,0; mad.lo.u32 m,warp,8,full; mad.lo.u32 s,warp,1024,tile;
@!z mbarrier.init.shared::cta.b64 [m],1;
bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
@z bra READY;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],512;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s],[d],512,[m];
READY: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra READY;
LOADS
BEHIND
add.u32 i,i,1; xor.b32 ph,ph,1; bra AGAIN;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum; ret;
}
"""
LOADS = "mad.lo.u32 a,lane,4,s; ld.shared.u32 v,[a]; add.u32 sum,sum,v;\n"


def found(loads: str, behind: str) -> list[tuple[str, str]]:
    report = check_text(KERNEL.replace("LOADS\n", loads).replace("BEHIND\n", behind), "k.ptx")
    assert not report.faults
    return [(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")]


@pytest.mark.parametrize(
    ("loads", "behind"),
    [
        pytest.param(LOADS, "bar.warp.sync -1;\n", id="the warp meets"),
        pytest.param(LOADS, "bar.sync 0;\n", id="the block meets"),
        pytest.param(LOADS.replace("[a]", "[a+512]"), "", id="other bytes"),
        pytest.param("@!z ld.shared.u32 v,[s];\n", "", id="the lane that fills has read alone"),
        pytest.param(LOADS, "shfl.sync.idx.b32 v,v,0,31,-1; add.u32 sum,sum,v;\n", id="a shuffle: a reading"),
    ],
)
def test_all_lanes_have_read_before_the_stage_is_filled(loads: str, behind: str) -> None:
    assert found(loads, behind) == []


@pytest.mark.parametrize(
    ("loads", "behind"),
    [
        pytest.param(LOADS, "", id="no barrier"),
        pytest.param("bar.warp.sync -1;\n" + LOADS, "", id="a barrier before the loads"),
        pytest.param(LOADS, "bar.warp.sync 0x0000ffff;\n", id="half of them meet"),
        pytest.param("ld.shared.u32 v,[s]; add.u32 sum,sum,v;\n", "", id="all read one word"),
    ],
)
def test_a_lane_fills_what_others_may_still_read(loads: str, behind: str) -> None:
    assert ("likely", "warp-unsynchronised") in found(loads, behind)
