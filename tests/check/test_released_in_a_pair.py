"""Two blocks of a cluster fill each half of a stage in both, and ordinary loads read it: who may release the stage?

What must be found was written down before the checker ran. A block alone cannot tell what the other one knows when
that releases its memory; both together can. Other blocks are taken to do the same, so it is never an error.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 160, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .pred p, q, z, two; .reg .b16 both; .reg .b32 t, l, s, m, r, i, b, ph, a, f, e, v, sum, rest; .reg .b64 d, o, x;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 rest,[n]; mov.u32 t,%tid.x; and.b32 l,t,31; mov.u32 s,smem;
add.u32 m,s,8192; mov.u32 r,%cluster_ctarank; mov.u32 sum,0; mov.u32 i,0; mov.b16 both,3; setp.ne.u32 z,t,0;
@z bra MADE;
mbarrier.init.shared::cta.b64 [m],1; mbarrier.init.shared::cta.b64 [m+8],1;
mbarrier.init.shared::cta.b64 [m+64],COUNT; mbarrier.init.shared::cta.b64 [m+72],COUNT;
fence.mbarrier_init.release.cluster;
MADE: barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
bar.sync 0;
setp.eq.u32 p,rest,0; @p bra END;
setp.lt.u32 p,t,128; @p bra READ;
setp.ne.u32 p,t,128; @p bra END;
mul.wide.u32 x,r,1024; add.s64 d,d,x;
FILL: and.b32 b,i,1; shr.u32 ph,i,1; and.b32 ph,ph,1; xor.b32 ph,ph,1; mad.lo.u32 a,b,2048,s; mad.lo.u32 f,b,8,m;
FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[f+64],ph; @!q bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[f],2048;
mad.lo.u32 a,r,1024,a;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [a],[d],1024,[f],both;
add.s64 d,d,2048; add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra FILL;
bra END;
READ: and.b32 b,i,1; shr.u32 ph,i,1; and.b32 ph,ph,1; mad.lo.u32 a,b,2048,s; mad.lo.u32 a,t,16,a; mad.lo.u32 f,b,8,m;
FULL: mbarrier.try_wait.parity.shared::cta.b64 q,[f],ph; @!q bra FULL;
ld.shared.u32 v,[a]; add.u32 sum,sum,v;
RELEASE
add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra READ;
mad.wide.u32 o,t,4,o; st.global.u32 [o],sum;
END: bar.warp.sync -1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""
# The first two of some threads release the stage in one block each.
RELEASES = """setp.gt.u32 two,{},1; @two bra KEPT;
add.u32 e,f,64; mapa.shared::cluster.u32 e,e,{};
mbarrier.arrive.release.cluster.shared::cluster.b64 _,[e]{};
KEPT:"""
TWO = RELEASES.format("t", "t", "")
OF_EACH_WARP = RELEASES.format("l", "l", "")


@pytest.mark.parametrize(
    ("count", "release", "rules"),
    [
        pytest.param(2, f"bar.sync 1,128; {TWO}", set(), id="all readers meet, then two threads release"),
        pytest.param(2, TWO, {"shared-unsynchronised"}, id="two threads release for others"),
        pytest.param(2, f"bar.warp.sync -1; {TWO}", {"shared-unsynchronised"}, id="a warp meets"),
        pytest.param(8, f"bar.warp.sync -1; {OF_EACH_WARP}", set(), id="two lanes of each warp release"),
        pytest.param(
            64,
            f"bar.sync 1,128; {RELEASES.format('t', 't', ',32')}",
            set(),
            id="an arrival counts for a whole warp, behind a barrier",
        ),
        pytest.param(
            64,
            RELEASES.format("t", "t", ",32"),
            {"shared-unsynchronised"},
            id="an arrival counts for a whole warp",
        ),
    ],
)
def test_who_releases_a_stage(count: int, release: str, rules: set[str]) -> None:
    text = KERNEL.replace("COUNT", str(count)).replace("RELEASE\n", f"{release}\n")
    found = check_text(text, "k.ptx")
    loud = {(one.tier, one.rule) for one in found.findings if one.tier in (ERROR, LIKELY)}
    assert loud == {(LIKELY, rule) for rule in rules}
