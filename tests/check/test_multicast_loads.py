"""Copies to several blocks of a cluster, and what the threads there load and store of the bytes.

The block that copies must know that the threads of each block have done with a stage: they arrive at its mbarrier
behind their last access. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from .changed_kernels import told

WATCHES = ("spec/effects.yaml",)
KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[2048]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds, .param .align 64 .b8 map[128])
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, s, a, n, i, v, rank, ph, x, y, e0, f; .reg .b64 d, o, g, h; .reg .b16 w;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[rounds]; mov.b64 g,map; cvta.param.u64 h,g;
mov.u32 t,%tid.x; mov.u32 rank,%cluster_ctarank; mov.u32 i,0; mov.u32 v,0; setp.ne.u32 z,t,0; mov.u16 w,3;
mov.u32 s,tile; mov.u32 f,full; mov.u32 y,empty; mapa.shared::cluster.u32 e0,y,0;
@!z mbarrier.init.shared::cta.b64 [full],1;
@!z mbarrier.init.shared::cta.b64 [empty],128;
@!z fence.mbarrier_init.release.cluster;
MEET mad.lo.u32 a,t,4,s;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
and.b32 ph,i,1; xor.b32 x,ph,1;
@z bra USE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],1024;
setp.ne.u32 p,rank,0; @p bra USE;
FREE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[empty],x; @!q bra FREE;
COPY
USE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[full],ph; @!q bra USE;
LOADS
RELEASE
add.u32 i,i,1; bra AGAIN;
END: MEET mad.wide.u32 o,t,4,o; st.global.u32 [o],v; ret;
}
"""
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; "
BYTES = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s],[d],1024,[f],w;\n"
BOX = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "[s],[h,{i,i}],[f],w;\n"
)
LOADS = "ld.shared.u32 y,[a]; add.u32 v,v,y;\n"
STORES = "st.shared.u32 [a],v;\n"
FENCE = "fence.proxy.async.shared::cta;\n"
RELEASE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[e0];\n"
RACE = ("likely", "shared-unsynchronised")
UNFENCED = ("likely", "proxy-fence-copy")


def found(copy: str, loads: str, release: str, *others: tuple[str, str]) -> set[tuple[str, str]]:
    lines = [*others, ("COPY\n", copy), ("LOADS\n", loads), ("RELEASE\n", release), ("MEET ", MEET)]
    return {one for one in told(KERNEL, lines) if one[0] != "reading"}


@pytest.mark.parametrize("copy", [BYTES, BOX], ids=["bytes", "a box"])
@pytest.mark.parametrize(
    ("loads", "release", "expected"),
    [
        pytest.param(LOADS, RELEASE, set(), id="all have read before they arrive"),
        pytest.param("", RELEASE + LOADS, {RACE}, id="they read behind their arrival"),
        pytest.param(LOADS, RELEASE + LOADS, {RACE}, id="they read once more"),
        pytest.param(LOADS, RELEASE + LOADS.replace("[a]", "[a+1024]"), set(), id="they read other bytes"),
        pytest.param(LOADS + STORES + FENCE, RELEASE, set(), id="they have stored, too, and fenced that"),
        pytest.param(LOADS + STORES, RELEASE, {UNFENCED}, id="they have stored, and fence nothing"),
        pytest.param(LOADS, RELEASE + STORES + FENCE, {RACE}, id="they store behind their arrival"),
    ],
)
def test_a_stage_that_a_block_fills_in_two(
    copy: str, loads: str, release: str, expected: set[tuple[str, str]]
) -> None:
    assert found(copy, loads, release) == expected


@pytest.mark.parametrize("copy", [BYTES, BOX], ids=["bytes", "a box"])
@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (MEET, set()),
        ("bar.sync 0;\n", {RACE, ("likely", "copy-incomplete")}),  # its own threads only
        ("", {RACE, ("likely", "copy-incomplete")}),
    ],
    ids=["the cluster meets", "the block meets", "nobody meets"],
)
def test_a_cluster_that_meets_each_round(copy: str, behind: str, expected: set[tuple[str, str]]) -> None:
    """There is no mbarrier for the release, and no address is mapped into another block."""
    free = "FREE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q,[empty],x; @!q bra FREE;\n"
    mapped = "mov.u32 y,empty; mapa.shared::cluster.u32 e0,y,0;"
    assert found(copy, LOADS, behind, (free, ""), (mapped, "")) == expected


def test_a_copy_to_its_own_block_is_no_matter_for_others() -> None:
    """Each block copies for itself, and its own threads release it."""
    lines = [
        (".multicast::cluster", ""),
        (",w;", ";"),
        ("setp.ne.u32 p,rank,0; @p bra USE;\n", ""),
        ("],128;", "],64;"),
    ]
    text = KERNEL.replace("COPY\n", BYTES)
    for old, new in lines:
        text = text.replace(old, new)
    release = "mbarrier.arrive.release.cta.shared::cta.b64 _,[empty];\n"
    for loads, behind, expected in ((LOADS, "", set()), (LOADS, LOADS, {"shared-unsynchronised"})):
        changed = [("LOADS\n", loads), ("RELEASE\n", release + behind), ("MEET ", MEET)]
        assert {rule for tier, rule in told(text, changed) if tier != "reading"} == expected
