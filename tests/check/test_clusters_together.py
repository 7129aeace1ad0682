"""The blocks of a cluster are executed together, each with its rank: roles by rank, memory of other blocks that is
loaded and stored, arrivals at their mbarriers. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

WATCHES = ("spec/effects.yaml",)
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
# Block 1 stores what it has got into the memory of block 0, which loads it.
ROLES = f"""
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
.reqntid 128, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{{
.reg .pred p, z; .reg .b32 t, a, d, m, ra, rank, v; .reg .b64 q;
.shared .align 16 .b8 box[512]; .shared .align 16 .b8 s2[512]; .shared .align 8 .b64 mb;
mov.u32 t,%tid.x; mov.u32 m,mb; mov.u32 a,box; mad.lo.u32 a,t,4,a; mov.u32 d,s2; mov.u32 rank,%cluster_ctarank;
setp.eq.u32 z,t,0;
@z mbarrier.init.shared::cta.b64 [m],1;
@z fence.mbarrier_init.release.cluster;
{MEET}
ld.param.u64 q,[in];
@!z bra W;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],512;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d],[q],512,[m];
W: mbarrier.try_wait.parity.shared::cta.b64 p,[m],0; @!p bra W;
mad.lo.u32 d,t,4,d; ld.shared.u32 v,[d];
setp.eq.u32 z,rank,0; @z bra STORED;
mapa.shared::cluster.u32 ra,a,0;
st.shared::cluster.u32 [ra],v;
STORED:
SYNC
@!z bra END;
ld.shared.u32 v,[a];
ld.param.u64 q,[out]; mad.wide.u32 q,t,4,q; st.global.u32 [q],v;
END: ret;
}}
"""


def loud(text: str) -> list[tuple[str, str]]:
    """The loud findings: tier and rule."""
    found = check_text(text, "k.ptx").findings
    return [(one.tier, one.rule) for one in found if one.tier in (ERROR, LIKELY)]


@pytest.mark.parametrize(
    ("sync", "rules"),
    [
        (MEET, set()),
        ("bar.sync 0;", {"shared-unsynchronised"}),  # the other block does not meet there
        (
            MEET.replace("arrive", "arrive.relaxed"),
            {"shared-unsynchronised"},
        ),  # it tells nobody of the stores
        ("fence.acq_rel.cluster; " + MEET.replace("arrive", "arrive.relaxed"), set()),
    ],
    ids=["the cluster's barrier", "the block's barrier", "a relaxed arrival", "and a fence"],
)
def test_one_block_reads_what_the_other_has_stored(sync: str, rules: set[str]) -> None:
    found = loud(ROLES.replace("SYNC", sync))
    assert {rule for _, rule in found if rule != "cluster-ended"} == rules
    assert all(tier == LIKELY for tier, _ in found)


# Block 0 fills both blocks; the other one expects its bytes, and both release the stage in block 0.
LEADER = f"""
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 160, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{{
.reg .pred p, z, l, q0; .reg .b32 t, f, e, s, v, rank, i, st, ph, f1, e1, s1, r1; .reg .b64 q, o; .reg .b16 h; .reg .f32 a;
.shared .align 128 .b8 sm[1024]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
mov.u32 t,%tid.x; mov.u32 f,full; mov.u32 e,empty; mov.u32 s,sm; mov.u32 rank,%cluster_ctarank; ld.param.u32 v,[n];
setp.eq.u32 z,t,0;
@z mbarrier.init.shared::cta.b64 [f],1; @z mbarrier.init.shared::cta.b64 [f+8],1;
@z mbarrier.init.shared::cta.b64 [e],COUNT; @z mbarrier.init.shared::cta.b64 [e+8],COUNT;
@z fence.mbarrier_init.release.cluster;
{MEET}
mov.u32 i,0; mov.u32 st,0; mov.u32 ph,0; mov.f32 a,0f00000000;
setp.ge.u32 p,t,128; @!p bra C;
setp.ne.u32 p,t,128; @p bra F;
setp.ne.u32 l,rank,0; @l bra F;
ld.param.u64 q,[in]; mov.b16 h,3;
P: setp.ge.u32 p,i,v; @p bra F;
shl.b32 f1,st,3; add.u32 e1,e,f1; add.u32 f1,f1,f; xor.b32 ph,ph,1;
PW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q0,[e1],ph; @!q0 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[f1],512;
mad.lo.u32 s1,st,512,s;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s1],[q],512,[f1],h;
xor.b32 ph,ph,1; add.s64 q,q,512; add.u32 i,i,1; xor.b32 st,st,1; setp.eq.u32 p,st,0; @p xor.b32 ph,ph,1; bra P;
C: setp.ne.u32 l,rank,0; and.pred l,l,z;
setp.gt.u32 p,v,0; and.pred q0,l,p; @q0 mbarrier.arrive.expect_tx.shared::cta.b64 _,[f],512;
setp.gt.u32 p,v,1; and.pred q0,l,p; @q0 mbarrier.arrive.expect_tx.shared::cta.b64 _,[f+8],512;
CL: setp.ge.u32 p,i,v; @p bra E;
shl.b32 f1,st,3; add.u32 e1,e,f1; add.u32 f1,f1,f;
CW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q0,[f1],ph; @!q0 bra CW;
mad.lo.u32 s1,st,512,s; mad.lo.u32 s1,t,4,s1; ld.shared.f32 a,[s1];
bar.sync 1,128;
add.u32 r1,i,2; setp.lt.u32 p,r1,v; and.pred p,p,l;
@p mbarrier.arrive.expect_tx.shared::cta.b64 _,[f1],512;
mapa.shared::cluster.u32 r1,e1,0;
@z mbarrier.arrive.release.cluster.shared::cluster.b64 _,[r1];
add.u32 i,i,1; xor.b32 st,st,1; setp.eq.u32 p,st,0; @p xor.b32 ph,ph,1; bra CL;
E: ld.param.u64 o,[out]; mad.wide.u32 o,t,4,o; st.global.f32 [o],a;
F: {MEET}
ret;
}}
""".replace("COUNT", "2")


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ("", "", set()),
        ("mapa.shared::cluster.u32 r1,e1,0;", "mapa.shared::cluster.u32 r1,e1,rank;", {"barrier-stuck"}),
        ("@p mbarrier.arrive.expect_tx.shared::cta.b64 _,[f1],512;\n", "", {"barrier-stuck"}),
        ("[e],2;", "[e],3;", {"barrier-stuck"}),
        ("mov.b16 h,3;", "mov.b16 h,1;", {"barrier-stuck"}),
    ],
    ids=["right", "it releases itself", "it expects no more bytes", "a count", "a mask"],
)
def test_a_leader_fills_the_blocks_of_a_cluster(old: str, new: str, rules: set[str]) -> None:
    found = loud(LEADER.replace(old, new, 1) if old else LEADER)
    assert {rule for _, rule in found} == rules
    assert all(tier == LIKELY for tier, _ in found)


@pytest.mark.parametrize("size", [".reqntid", ".maxntid"])
@pytest.mark.parametrize(
    ("text", "sync", "rules"),
    [
        (ROLES, MEET, set()),
        (ROLES, "bar.sync 0;", {"shared-unsynchronised"}),
    ],
    ids=["right", "the block's barrier"],
)
def test_a_block_has_as_many_threads_as_it_may_have(size: str, text: str, sync: str, rules: set[str]) -> None:
    found = loud(text.replace(".reqntid", size).replace("SYNC", sync))
    assert {rule for _, rule in found if rule != "cluster-ended"} == rules


# Block 1 copies what its threads have stored into the memory of block 0, which waits for the bytes. It stores
# there again once it knows that block 0 has got them. The first block of the cluster never comes to that.
SENDER = f"""
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
.maxntid 128, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{{{{
.reg .pred p, z; .reg .b32 t, a, b, d, m, ra, rm, rank, v; .reg .b64 q;
.shared .align 128 .b8 box[512]; .shared .align 128 .b8 sum[512]; .shared .align 8 .b64 mb;
mov.u32 t,%tid.x; mov.u32 m,mb; mov.u32 b,box; mov.u32 d,sum; mov.u32 rank,%cluster_ctarank;
mad.lo.u32 a,t,4,b;
setp.eq.u32 z,t,0;
@z mbarrier.init.shared::cta.b64 [m],1;
@z fence.mbarrier_init.release.cluster;
@z mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],512;
{MEET}
setp.eq.u32 p,rank,0; @p bra GET;
ld.param.u64 q,[in]; mad.wide.u32 q,t,4,q; ld.global.u32 v,[q];
st.shared.u32 [a],v;
{{fence}}
{{met}}
@!z bra AGAIN;
mapa.shared::cluster.u32 ra,d,0; mapa.shared::cluster.u32 rm,m,0;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [ra],[b],512,[rm];
bra AGAIN;
GET: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[m],0; @!p bra GET;
mad.lo.u32 d,t,4,d; ld.shared.u32 v,[d];
ld.param.u64 q,[out]; mad.wide.u32 q,t,4,q; st.global.u32 [q],v;
AGAIN:
{{first}}
setp.eq.u32 p,rank,0; @p bra END;
st.shared.u32 [a],t;
END:
{{last}}
ret;
}}}}
"""


@pytest.mark.parametrize(
    ("fence", "met", "first", "last", "rules"),
    [
        pytest.param("fence.proxy.async.shared::cta;", "bar.sync 0;", MEET, MEET, set(), id="right"),
        pytest.param("", "bar.sync 0;", MEET, MEET, {"bulk-store-fence"}, id="no fence"),
        pytest.param(
            "fence.proxy.async.shared::cta;",
            "",
            MEET,
            MEET,
            {"shared-unsynchronised"},
            id="the stores of other warps",
        ),
        pytest.param(
            "fence.proxy.async.shared::cta;",
            "bar.sync 0;",
            "",
            MEET,
            {"bulk-store-pending"},
            id="it stores where the copy reads",
        ),
    ],
)
def test_what_another_block_than_the_first_copies(
    fence: str, met: str, first: str, last: str, rules: set[str]
) -> None:
    found = loud(SENDER.format(fence=fence, met=met, first=first, last=last))
    assert {rule for _, rule in found} == rules
    assert all(tier == LIKELY for tier, _ in found)


def test_accesses_of_two_blocks_are_told_apart() -> None:
    """The finding says which warp of which block accesses which bytes of which variable."""
    (found,) = (
        one
        for one in check_text(ROLES.replace("SYNC", "bar.sync 0;"), "k.ptx").findings
        if one.rule == "shared-unsynchronised"
    )
    assert "of block 1 of the cluster writes bytes" in found.message
    assert "of block 0 of the cluster reads bytes" in found.message
    assert "of box" in found.message
