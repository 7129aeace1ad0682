"""A host says how many blocks a cluster has, and the kernel asks for it: each block fills a part of a stage in all
of them, and releases the stage in all of them.

What must be found was written down before the checker ran. It must be wrong with two blocks and with four.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
KERNEL = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds)
.maxntid 256, 1, 1
{
.reg .pred p, q, z, l; .reg .b32 t, m, e, s, a, b, n, k, i, ph, rank, part, r; .reg .b64 d, o, da, db; .reg .b16 h;
.reg .f32 f<4>;
.shared .align 1024 .b8 stage[4096]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
mov.u32 t,%tid.x; mov.u32 m,full; mov.u32 e,empty; mov.u32 s,stage; mov.u32 i,0; mov.u32 ph,0;
mov.u32 n,%cluster_nctarank; mov.u32 rank,%cluster_ctarank; ld.param.u32 k,[rounds]; ld.param.u64 d,[in];
setp.eq.u32 z,t,0; mov.f32 f0,0f00000000; mov.f32 f1,f0; mov.f32 f2,f0; mov.f32 f3,f0;
@!z bra READY;
mbarrier.init.shared::cta.b64 [m],1; mbarrier.init.shared::cta.b64 [e],COUNT;
fence.mbarrier_init.release.cluster;
READY:
BEGIN
setp.lt.u32 p,t,128; @p bra PRODUCTS;
setp.ne.u32 p,t,128; @p bra END;
div.u32 part,4096,n; mad.lo.u32 a,rank,part,s; mov.u32 b,1; shl.b32 b,b,n; sub.u32 b,b,1; cvt.u16.u32 h,b;
FILL: setp.ge.u32 p,i,k; @p bra END;
xor.b32 ph,ph,1;
FREE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[e],ph; @!q bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],4096;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [a],[d],part,[m],MASK;
add.u32 i,i,1; bra FILL;
PRODUCTS: setp.ge.u32 p,i,k; @p bra STORE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[m],ph; @!q bra WAIT;
shr.u32 a,s,4; cvt.u64.u32 da,a; or.b64 da,da,0x0000001000080000; add.s64 db,da,128;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0,f1,f2,f3},da,db,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
bar.sync 1,128;
setp.lt.u32 l,t,n; @!l bra NEXT;
mapa.shared::cluster.u32 r,e,RELEASED;
mbarrier.arrive.release.cluster.shared::cluster.b64 _,[r];
NEXT: add.u32 i,i,1; xor.b32 ph,ph,1; bra PRODUCTS;
STORE: ld.param.u64 o,[out]; mad.wide.u32 o,t,4,o; st.global.f32 [o],f0;
END:
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""
RIGHT = {"COUNT": "n", "BEGIN": MEET, "MASK": "h", "RELEASED": "t"}


def loud(**parts: str) -> list[tuple[str, str]]:
    """The loud findings: tier and rule."""
    text = KERNEL
    for name, part in {**RIGHT, **parts}.items():
        text = text.replace(name, part)
    found = check_text(text, "k.ptx").findings
    return sorted({(one.tier, one.rule) for one in found if one.tier in (ERROR, LIKELY)})


@pytest.mark.parametrize(
    ("parts", "rules"),
    [
        pytest.param({}, set(), id="right"),
        pytest.param({"COUNT": "1"}, {"shared-overwritten"}, id="one release is enough"),
        pytest.param({"RELEASED": "rank"}, {"shared-overwritten"}, id="all releases go to the own block"),
        pytest.param(
            {"BEGIN": "bar.sync 0;"}, {"barrier-unpublished"}, id="only the block meets at the start"
        ),
    ],
)
def test_each_block_fills_and_releases_all(parts: dict[str, str], rules: set[str]) -> None:
    found = loud(**parts)
    assert {rule for _, rule in found} == rules
    assert all(tier == LIKELY for tier, _ in found)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"COUNT": "2", "MASK": "3"}, id="two blocks"),
        pytest.param({"COUNT": "4", "MASK": "15"}, id="four blocks"),
        pytest.param({"COUNT": "8", "MASK": "255"}, id="eight blocks"),
    ],
)
def test_a_kernel_for_one_size_is_not_judged_by_another(parts: dict[str, str]) -> None:
    assert loud(**parts) == []


# Each block sums up what all have stored, by a loop over their ranks: unrolled, or not.
SUM = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.maxntid 128, 1, 1
{
.reg .pred p; .reg .b32 t, s, a, n, r, v, sum; .reg .b64 o; .reg .pred z; .reg .b32 m;
.shared .align 4 .b8 part[512]; .shared .align 8 .b64 full;
mov.u32 t,%tid.x; mov.u32 s,part; mad.lo.u32 s,t,4,s; mov.u32 n,%cluster_nctarank; mov.u32 r,0; mov.u32 sum,0;
setp.eq.u32 z,t,0; mov.u32 m,full; @z mbarrier.init.shared::cta.b64 [m],1;
st.shared.u32 [s],t;
FIRST
AGAIN: setp.ge.u32 p,r,n; @p bra DONE;
mapa.shared::cluster.u32 a,s,r; ld.shared::cluster.u32 v,[a]; add.u32 sum,sum,v; add.u32 r,r,1;
MORE
bra AGAIN;
DONE: LAST
ld.param.u64 o,[out]; mad.wide.u32 o,t,4,o; st.global.u32 [o],sum; ret;
}
"""
PAIR = "mapa.shared::cluster.u32 a,s,r; ld.shared::cluster.u32 v,[a]; add.u32 sum,sum,v; add.u32 r,r,1;"


@pytest.mark.parametrize("more", ["", PAIR], ids=["one rank a round", "two ranks a round"])
@pytest.mark.parametrize(
    ("first", "last", "rules"),
    [
        pytest.param(MEET, MEET, set(), id="right"),
        pytest.param("bar.sync 0;", MEET, {"shared-unsynchronised"}, id="only the block meets"),
        pytest.param(MEET, "bar.sync 0;", {"cluster-ended"}, id="a block may end while others load"),
    ],
)
def test_blocks_that_load_from_each_other(first: str, last: str, rules: set[str], more: str) -> None:
    text = SUM.replace("FIRST", first).replace("LAST", last).replace("MORE", more)
    found = [one for one in check_text(text, "k.ptx").findings if one.tier in (ERROR, LIKELY)]
    assert {one.rule for one in found} == rules
    assert {one.tier for one in found} <= {LIKELY}
