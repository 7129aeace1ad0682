"""Fences that stand behind what they should stand before: fence.proxy.async, and fence.mbarrier_init.

A fence.proxy.async orders what a thread knows of when it executes the fence before what knows of the fence. It makes no
init of an mbarrier known to other blocks: a release does. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds)
.reqntid 128, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, s, a, n, i, v, ph; .reg .b64 d, o, e; .reg .f32 c<4>;
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 full[2];
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[rounds]; mov.b64 e,0x4000004000000000;
mov.u32 t,%tid.x; mov.u32 i,0; mov.u32 v,0; mov.u32 ph,0; setp.ne.u32 z,t,0; mov.u32 s,tile; mad.lo.u32 a,t,16,s;
@!z mbarrier.init.shared::cta.b64 [full],1;
bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
BODY
bar.sync 0;
add.u32 i,i,1; bra AGAIN;
END: ret;
}
"""
STORE, FENCE, MEET = "st.shared.v4.b32 [a],{i,i,i,i};\n", "fence.proxy.async.shared::cta;\n", "bar.sync 0;\n"
DRAIN = """@!z cp.async.bulk.global.shared::cta.bulk_group [o],[s],2048;
@!z cp.async.bulk.commit_group;
@!z cp.async.bulk.wait_group 0;
"""
PRODUCT = """wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {c0,c1,c2,c3},e,e,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
FILL = """@!z mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],2048;
@!z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s],[d],2048,[full];
W: mbarrier.try_wait.parity.shared::cta.b64 q,[full],ph; @!q bra W;
xor.b32 ph,ph,1; ld.shared.u32 v,[a];
"""


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        pytest.param(STORE + FENCE + MEET + DRAIN, None, id="a bulk store: the writers fence"),
        pytest.param(
            STORE + MEET + FENCE + DRAIN, None, id="a bulk store: the one that starts it fences, too"
        ),
        pytest.param(FENCE + STORE + MEET + DRAIN, "bulk-store-fence", id="a bulk store: too early"),
        pytest.param(STORE + MEET + DRAIN + FENCE, "bulk-store-fence", id="a bulk store: too late"),
        pytest.param(STORE + FENCE + MEET + PRODUCT, None, id="a product"),
        pytest.param(FENCE + STORE + MEET + PRODUCT, "proxy-fence", id="a product: too early"),
        pytest.param(STORE + MEET + PRODUCT + FENCE, "proxy-fence", id="a product: too late"),
        pytest.param(FILL + STORE + FENCE, None, id="a copy"),
        pytest.param(FENCE + FILL + STORE, None, id="a copy: behind the stores of the round before"),
        pytest.param(FILL + FENCE + STORE, "proxy-fence-copy", id="a copy: too early"),
        pytest.param(FILL + STORE, "proxy-fence-copy", id="a copy: none"),
    ],
)
def test_a_proxy_fence_stands_between_the_two(body: str, rule: str | None) -> None:
    assert loud(KERNEL.replace("BODY\n", body)) == (set() if rule is None else {("error", rule)})


CLUSTER = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .pred q, z; .reg .b32 t, m, r, e;
.shared .align 8 .b64 full[2];
mov.u32 t,%tid.x; setp.ne.u32 z,t,0; mov.u32 r,%cluster_ctarank; xor.b32 r,r,1; mov.u32 m,full;
@!z mbarrier.init.shared::cta.b64 [full],64;
FENCE
barrier.cluster.arrive.HOW.aligned;
barrier.cluster.wait.aligned;
BEHIND
mapa.shared::cluster.u32 e,m,r;
mbarrier.arrive.release.cluster.shared::cluster.b64 _,[e];
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[full],0; @!q bra W;
ret;
}
"""
INIT_FENCE = "@!z fence.mbarrier_init.release.cluster;"


@pytest.mark.parametrize(
    ("fence", "how", "behind", "right"),
    [
        (INIT_FENCE, "relaxed", "", True),
        ("", "release", "", True),
        ("@!z fence.acq_rel.cluster;", "relaxed", "", True),
        ("@!z fence.proxy.async;", "release", "", True),
        ("@!z fence.proxy.async;", "relaxed", "", False),
        ("@!z fence.proxy.async.shared::cta;", "relaxed", "", False),
        ("", "relaxed", INIT_FENCE, False),
        ("", "relaxed", "", False),
    ],
    ids=["its own fence", "a release", "any fence", "a proxy fence and a release", "a proxy fence", "a smaller one",
         "its own fence, too late", "none"],
)  # fmt: skip
def test_what_makes_an_init_known_to_other_blocks(fence: str, how: str, behind: str, right: bool) -> None:
    text = CLUSTER.replace("FENCE", fence).replace("HOW", how).replace("BEHIND", behind)
    assert {rule for _, rule in loud(text)} == (set() if right else {"barrier-unpublished"})
