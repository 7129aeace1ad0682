"""Blocks take their tiles from a counter in global memory, and tell all their threads which one.

What must be found was written down before the checker ran. It is taken that the counter begins with 0; a host may
pass a counter that begins elsewhere, so nothing of this is an error.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counter, .param .u32 tiles, .param .u32 rounds)
.reqntid 128, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, m, s, a, n, k, i, ph, v, sum, tile, box; .reg .b64 d, o, c;
.shared .align 128 .b8 stage[1024]; .shared .align 8 .b64 full[2]; .shared .align 4 .b32 told;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u64 c,[counter]; ld.param.u32 n,[tiles];
cvta.to.global.u64 c,c;
mov.u32 t,%tid.x; mov.u32 m,full; mov.u32 s,stage; mov.u32 i,0; mov.u32 sum,0; mov.u32 box,told;
setp.ne.u32 z,t,0;
@z bra TILES;
mbarrier.init.shared::cta.b64 [m],1; mbarrier.init.shared::cta.b64 [m+8],1;
TILES:
TAKE
setp.ge.u32 p,tile,n; @p bra END;
ld.param.u32 k,[rounds];
ROUND: setp.eq.u32 p,k,0; @p bra TILES;
and.b32 ph,i,1; mad.lo.u32 a,ph,8,m; mad.lo.u32 v,ph,512,s;
@z bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[a],512;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [v],[d],512,[a];
WAIT: shr.u32 ph,PHASE,1; and.b32 ph,ph,1;
TRY: mbarrier.try_wait.parity.shared::cta.b64 q,[a],ph; @!q bra TRY;
mad.lo.u32 v,t,4,v; ld.shared.u32 v,[v]; add.u32 sum,sum,v;
bar.sync 0;
add.u32 i,i,1; sub.u32 k,k,1; bra ROUND;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum; ret;
}
"""
ADD = "@!z atom.global.add.u32 tile,[c],1;\n"
TELL = "@!z st.shared.u32 [box],tile;\n"
HEAR = "ld.shared.u32 tile,[box];\n"
MEET = "bar.sync 0;\n"


def found(take: str, phase: str = "i") -> list[tuple[str, str]]:
    """The loud findings: tier and rule; if there are none, nothing was left out."""
    report = check_text(KERNEL.replace("TAKE", take).replace("PHASE", phase), "k.ptx")
    loud = sorted({(one.tier, one.rule) for one in report.findings if one.tier in (ERROR, LIKELY)})
    assert loud or not report.not_judged
    return loud


@pytest.mark.parametrize(
    ("take", "phase", "rules"),
    [
        pytest.param(ADD + TELL + MEET + HEAR + MEET, "i", set(), id="right"),
        pytest.param(
            ADD + TELL + MEET + HEAR + MEET,
            "k",
            {"barrier-stuck", "copy-incomplete"},
            id="a phase that begins again with each tile",
        ),
        pytest.param(ADD + TELL + HEAR + MEET, "i", {"shared-unsynchronised"}, id="read too early"),
    ],
)
def test_a_tile_that_one_thread_takes_for_all(take: str, phase: str, rules: set[str]) -> None:
    loud = found(take, phase)
    assert {rule for _, rule in loud} <= rules and bool(loud) == bool(rules)


# A thread that does nothing else takes the tile.
OTHER = "setp.eq.u32 q,t,32;\n@q atom.global.add.u32 tile,[c],1;\n@q st.shared.u32 [box],tile;\n"


@pytest.mark.parametrize("take", [ADD + TELL, OTHER], ids=["the thread that copies", "another warp"])
def test_what_rests_on_the_counter_is_likely(take: str) -> None:
    assert {tier for tier, _ in found(take + MEET + HEAR + MEET, "k")} == {LIKELY}
    assert found(take + MEET + HEAR + MEET) == []


@pytest.mark.parametrize(
    "take",
    [
        pytest.param("@!z atom.global.add.u32 tile,[c],0;\n", id="nothing is added"),
        pytest.param("@!z atom.global.add.u32 tile,[c],-1;\n", id="it counts down"),
        pytest.param("@!z atom.global.exch.b32 tile,[c],1;\n", id="no sum"),
        pytest.param("@!z atom.global.add.f32 tile,[c],0f3F800000;\n", id="no whole number"),
    ],
)
def test_other_atomics_count_nothing(take: str) -> None:
    report = check_text(
        KERNEL.replace("TAKE", take + TELL + MEET + HEAR + MEET).replace("PHASE", "i"), "k.ptx"
    )
    assert any("comes from memory or from a call" in remark.why for remark in report.not_judged)
