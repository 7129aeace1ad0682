"""Barriers with phases: kernels of a producer and consumers, right, and wrong by one slip.

Each slip changes one statement, or leaves it out. What must be found was written down before the checker ran.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

HEAD = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid THREADS, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<16>; .reg .b32 %r<64>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x;
mov.u32 %r2,smem;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
add.u32 %r30,%r2,131072; add.u32 %r31,%r2,131200;
"""
PRODUCT = """
shr.u32 %r61,%r21,4; and.b32 %r61,%r61,16383; cvt.u64.u32 %d4,%r61; or.b64 %d0,%d4,0x4000004000010000;
add.u32 %r60,%r21,8192;
shr.u32 %r61,%r60,4; and.b32 %r61,%r61,16383; cvt.u64.u32 %d4,%r61; or.b64 %d1,%d4,0x4000004000010000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
"""
STAGE = """
shl.b32 %r20,%r11,14; add.u32 %r21,%r2,%r20; shl.b32 %r22,%r11,3; add.u32 %r23,%r30,%r22; add.u32 %r24,%r31,%r22;
"""
NEXT = """
add.u32 %r11,%r11,1; and.b32 %r11,%r11,1; setp.eq.u32 %p6,%r11,0; selp.u32 %r13,1,0,%p6; xor.b32 %r12,%r12,%r13;
add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;
"""
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
TILE = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
# Two stages. Warps 0 to 3 multiply, thread 128 copies; each has `n` rounds.
RING = (
    HEAD
    + """
setp.ne.u32 %p5,%r1,0;
@%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],1;
mbarrier.init.shared::cta.b64 [%r31],128;
mbarrier.init.shared::cta.b64 [%r30+8],1;
mbarrier.init.shared::cta.b64 [%r31+8],128;
NI:
bar.sync 0;
mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r12,0;
setp.lt.u32 %p1,%r1,128;
@%p1 bra CL;
setp.ne.u32 %p2,%r1,128;
@%p2 bra DONE;
PL:
"""
    + STAGE
    + f"""
xor.b32 %r14,%r12,1;
PW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24],%r14;
@!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;
add.u32 %r41,%r21,8192;
{COPY} [%r21],[%d3],8192,[%r23];
{COPY} [%r41],[%d3],1024,[%r23];
"""
    + NEXT
    + """
@%p15 bra PL;
bra DONE;
CL:
"""
    + STAGE
    + """
CW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r23],%r12;
@!%p3 bra CW;
"""
    + PRODUCT
    + """
wgmma.wait_group.sync.aligned 0;
mbarrier.arrive.shared::cta.b64 _,[%r24];
"""
    + NEXT
    + """
@%p15 bra CL;
DONE:
ret;
}
"""
).replace("THREADS", "160")
ELECTED = (
    RING.replace("b64 [%r31],128", "b64 [%r31],1")
    .replace("b64 [%r31+8],128", "b64 [%r31+8],1")
    .replace(
        "mbarrier.arrive.shared::cta.b64 _,[%r24];",
        "bar.sync 1,128;\nsetp.eq.u32 %p8,%r1,0;\n@%p8 mbarrier.arrive.shared::cta.b64 _,[%r24];",
    )
)
# Warps 4 to 7 store the matrices and arrive, and warps 0 to 3 meet them at a named barrier.
NAMED = (
    HEAD
    + """
mov.u32 %r21,%r2;
setp.lt.u32 %p1,%r1,128;
@%p1 bra CONS;
sub.u32 %r50,%r1,128; shl.b32 %r51,%r50,6; add.u32 %r51,%r2,%r51;
st.shared.v4.b32 [%r51],{%r1,%r1,%r1,%r1};
fence.proxy.async.shared::cta;
bar.arrive 2,256;
bra DONE;
CONS:
bar.sync 2,256;
"""
    + PRODUCT
    + """
wgmma.wait_group.sync.aligned 0;
DONE:
ret;
}
"""
).replace("THREADS", "256")
CLUSTER = RING.replace("bar.sync 0;", "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;")
RELAXED = RING.replace(
    "NI:\nbar.sync 0;",
    "fence.mbarrier_init.release.cluster;\nNI:\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;",
)
TENSOR = RING.replace(
    f"{COPY} [%r21],[%d3],8192,[%r23];\n{COPY} [%r41],[%d3],1024,[%r23];",
    f"{TILE} [%r21],[%d3,{{%r0,%r0}}],[%r23];\n{TILE} [%r41],[%d3,{{%r0,%r0}}],[%r23];",
)
# Two blocks of a cluster copy to each other, and each consumer releases a stage in both.
MULTICAST = (
    CLUSTER.replace(COPY, f"{COPY}.multicast::cluster")
    .replace("8192,[%r23];", "8192,[%r23],3;")
    .replace("1024,[%r23];", "1024,[%r23],3;")
    .replace("b64 [%r31],128", "b64 [%r31],256")
    .replace("b64 [%r31+8],128", "b64 [%r31+8],256")
    .replace(
        "mbarrier.arrive.shared::cta.b64 _,[%r24];",
        "mapa.shared::cluster.u32 %r42,%r24,0; mapa.shared::cluster.u32 %r43,%r24,1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r42];\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r43];",
    )
    .replace("ret;", "barrier.cluster.arrive; barrier.cluster.wait;\nret;")
)
# A round late, and nothing is lost: the producer waits for the stages in turn.
LATE = RING.replace(
    "mbarrier.arrive.shared::cta.b64 _,[%r24];",
    "xor.b32 %r24,%r24,8;\nmbarrier.arrive.shared::cta.b64 _,[%r24];",
)
# Two warpgroups take turns: each meets at a named barrier, which it computes from its own number.
TURNS = (
    RING.replace(".reqntid 160", ".reqntid 288")
    .replace("%r1,128;", "%r1,256;")
    .replace("b64 [%r31],128", "b64 [%r31],256")
    .replace("b64 [%r31+8],128", "b64 [%r31+8],256")
    .replace(
        "CL:\n",
        """CL:
shr.u32 %r3,%r1,7; add.u32 %r50,%r3,1; xor.b32 %r51,%r3,1; add.u32 %r51,%r51,1;
setp.eq.u32 %p4,%r3,0;
@%p4 bra TURN;
bar.arrive 1,256;
TURN:
""",
        1,
    )
    .replace("@%p15 bra CL;", "@%p15 bra TURN;")
    .replace("CW:\n", "bar.sync %r50,256;\nCW:\n")
    .replace("wgmma.wait_group.sync.aligned 0;", "bar.arrive %r51,256;\nwgmma.wait_group.sync.aligned 0;")
)
# As NAMED, in many rounds: the consumers hand the stage back, but not in the last round.
BACK = (
    HEAD
    + """
mov.u32 %r10,0; mov.u32 %r21,%r2;
setp.lt.u32 %p1,%r1,128;
@%p1 bra CL;
sub.u32 %r50,%r1,128; shl.b32 %r51,%r50,6; add.u32 %r51,%r2,%r51;
PL:
setp.eq.u32 %p4,%r10,0;
@%p4 bra FREE;
bar.sync 3,256;
FREE:
st.shared.v4.b32 [%r51],{%r1,%r1,%r1,%r1};
fence.proxy.async.shared::cta;
bar.arrive 2,256;
add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;
@%p15 bra PL;
bra DONE;
CL:
bar.sync 2,256;
"""
    + PRODUCT
    + """
wgmma.wait_group.sync.aligned 0;
add.u32 %r52,%r10,1; setp.ge.u32 %p4,%r52,%r0;
@%p4 bra LAST;
bar.arrive 3,256;
LAST:
add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;
@%p15 bra CL;
DONE:
ret;
}
"""
).replace("THREADS", "256")

SLIPS = {
    "nobody lets the first warpgroup begin": (TURNS, "bar.arrive 1,256;", ""),
    "a stage is handed back before the wait": (
        BACK,
        "wgmma.wait_group.sync.aligned 0;",
        "",
        "LAST:",
        "LAST:\nwgmma.wait_group.sync.aligned 0;",
    ),
    "the producer does not wait": (
        RING,
        "mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24],%r14;\n@!%p3 bra PW;",
        "",
    ),
    "the producer tries once, and does not look": (RING, "@!%p3 bra PW;", ""),
    "the consumers try once, and do not look": (
        RING,
        "mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r23],%r12;\n@!%p3 bra CW;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p9,[%r23],%r12;",
    ),
    "the consumers try once, and sleep where it is not over": (
        RING,
        "@!%p3 bra CW;",
        "@%p3 bra COME;\nnanosleep.u32 64;\nCOME:",
    ),
    "the producer's parity is constant": (RING, "xor.b32 %r14,%r12,1;", "mov.u32 %r14,1;"),
    "the consumers' parity is constant": (RING, "[%r23],%r12;", "[%r23],0;"),
    "the consumers' parity is the other": (
        RING,
        "[%r23],%r12;",
        "[%r23],%r14;",
        "CL:",
        "CL:\nxor.b32 %r14,%r12,1;",
    ),
    "released before the wait": (
        RING,
        "wgmma.wait_group.sync.aligned 0;\nmbarrier.arrive.shared::cta.b64 _,[%r24];",
        "mbarrier.arrive.shared::cta.b64 _,[%r24];\nwgmma.wait_group.sync.aligned 0;",
    ),
    "the wait leaves the group pending": (RING, "wait_group.sync.aligned 0", "wait_group.sync.aligned 1"),
    "a quarter of the consumers frees a stage": (RING, "b64 [%r31],128", "b64 [%r31],32"),
    "one elected thread, and all are counted": (
        ELECTED,
        "mbarrier.init.shared::cta.b64 [%r31],1;",
        "mbarrier.init.shared::cta.b64 [%r31],128;",
    ),
    "one is counted, and all arrive": (ELECTED, "@%p8 mbarrier.arrive", "mbarrier.arrive"),
    "the consumers wait at the other stage's mbarrier": (
        RING,
        "CW:",
        "xor.b32 %r23,%r23,8;\nCW:",
    ),
    "the bytes of one copy are not expected": (RING, "_,[%r23],9216", "_,[%r23],8192"),
    "bytes are expected that no copy brings": (RING, "_,[%r23],9216", "_,[%r23],9232"),
    "no bytes are expected": (
        RING,
        "arrive.expect_tx.shared::cta.b64 _,[%r23],9216",
        "arrive.shared::cta.b64 _,[%r23]",
    ),
    "nobody arrives at the full mbarrier": (
        RING,
        "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r23],9216;",
    ),
    "nobody releases": (RING, "mbarrier.arrive.shared::cta.b64 _,[%r24];", ""),
    "the release is relaxed": (
        RING,
        "mbarrier.arrive.shared::cta.b64 _,[%r24]",
        "mbarrier.arrive.relaxed.cta.shared::cta.b64 _,[%r24]",
    ),
    "the consumers' wait is relaxed": (
        RING,
        "mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r23]",
        "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p3,[%r23]",
    ),
    "no barrier behind the initialisation": (RING, "NI:\nbar.sync 0;", "NI:"),
    "a warp's barrier behind the initialisation": (RING, "NI:\nbar.sync 0;", "NI:\nbar.warp.sync -1;"),
    "a relaxed cluster barrier behind the initialisation": (
        CLUSTER,
        "cluster.arrive.aligned",
        "cluster.arrive.relaxed.aligned",
    ),
    "the bytes of one tile are not expected": (TENSOR, "_,[%r23],9216", "_,[%r23],1024"),
    "a stage is released in its own block only": (
        MULTICAST,
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r43];",
        "",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r42];",
        "mbarrier.arrive.shared::cta.b64 _,[%r24];",
        "b64 [%r31],256",
        "b64 [%r31],128",
        "b64 [%r31+8],256",
        "b64 [%r31+8],128",
    ),
    "another number": (NAMED, "bar.sync 2,256;", "bar.sync 3,128;"),
    "nobody initialises one of the mbarriers": (RING, "mbarrier.init.shared::cta.b64 [%r30+8],1;", ""),
    "the stores' arrival is for more threads than the wait": (
        NAMED,
        "bar.arrive 2,256;",
        "bar.arrive 2,288;",
    ),
    "the stage is handed back at another number": (BACK, "bar.arrive 3,256;", "bar.arrive 4,256;"),
    "more are counted than a block of a cluster has": (CLUSTER, "b64 [%r31],128", "b64 [%r31],129"),
    "half as many": (NAMED, "bar.sync 2,256;", "bar.sync 2,128;"),
    "stores without a proxy fence": (NAMED, "fence.proxy.async.shared::cta;", ""),
}


@pytest.mark.parametrize("word", ["", ".acquire.cta", ".relaxed.cta"])
def test_a_finding_names_the_wait_that_is_relaxed(word: str) -> None:
    """Without it the kernel is right."""
    wait = "mbarrier.try_wait.parity"
    text = RING.replace(f"{wait}.shared::cta.b64 %p3,[%r23]", f"{wait}{word}.shared::cta.b64 %p3,[%r23]")
    said = [one.message for one in check_text(text, "k.ptx").findings if one.tier != "info"]
    line = 1 + text[: text.index(f"{wait}.relaxed")].count("\n") if "relaxed" in word else None
    expected = f"; the wait in line {line} is .relaxed, which orders nothing by itself"
    assert bool(said) == ("relaxed" in word) and all(expected in one for one in said)


def tiers(text: str) -> set[tuple[str, str]]:
    """The tiers and rules of the findings that are no remarks."""
    found = check_text(text, "k.ptx").findings
    return {(finding.tier, finding.rule) for finding in found if finding.tier != "info"}


@pytest.mark.parametrize(
    "kernel", [RING, ELECTED, NAMED, CLUSTER, RELAXED, LATE, TENSOR, MULTICAST, TURNS, BACK]
)
def test_the_right_kernels_pass(kernel: str) -> None:
    assert tiers(kernel) == set()


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_an_error(slip: str) -> None:
    kernel, *changes = SLIPS[slip]
    text = kernel
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    assert "error" in {tier for tier, _ in tiers(text)}


def test_some_warps_that_have_waited_do_under_one_reading() -> None:
    half = ELECTED.replace("bar.sync 1,128;", "bar.sync 1,64;")
    found = {finding.rule: finding for finding in check_text(half, "k.ptx").findings}
    assert found["shared-overwritten"].tier == "reading"
    assert found["shared-overwritten"].readings == ((("wait-scope", "warp"),),)


@pytest.mark.parametrize("kernel", [RING, TENSOR, CLUSTER])
def test_a_count_that_no_round_fits(kernel: str) -> None:
    """In later rounds a phase ends before the last warp has arrived; how many there are is not shown."""
    fewer = kernel.replace("b64 [%r31],128", "b64 [%r31],127")
    assert tiers(fewer) == {("likely", "barrier-count")}


@pytest.mark.parametrize(("count", "known"), [("0", True), ("1048575", False), ("1048576", True)])
def test_a_count_that_no_mbarrier_has(count: str, known: bool) -> None:
    spoilt = {
        finding.rule: finding
        for finding in check_text(RING.replace("b64 [%r31],128", f"b64 [%r31],{count}"), "k.ptx").findings
    }
    assert ("barrier-count" in spoilt) == known
    if known:
        assert spoilt["barrier-count"].tier == "error"
        assert f"for {count} arrivals" in spoilt["barrier-count"].message
    else:
        assert spoilt["barrier-stuck"].tier == "error"


def test_an_arrival_that_no_block_of_a_cluster_sends() -> None:
    fewer = MULTICAST.replace("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r43];", "")
    assert ("likely", "barrier-stuck") in tiers(fewer)
    leader = fewer.replace("b64 [%r31],256", "b64 [%r31],128").replace("b64 [%r31+8],256", "b64 [%r31+8],128")
    leader = leader.replace("mapa.shared::cluster.u32 %r43,%r24,1;", "")
    assert "barrier-stuck" not in {rule for _, rule in tiers(leader)}


def test_blocks_of_a_cluster_whose_ranks_are_in_registers() -> None:
    """One thread for each block releases the stage there, behind the warpgroup's barrier."""
    released = MULTICAST[MULTICAST.index("mapa") : MULTICAST.index(",[%r43];") + len(",[%r43];")]
    ranked = MULTICAST.replace(
        released,
        "bar.sync 1,128;\nsetp.lt.u32 %p8,%r1,2;\n@%p8 mapa.shared::cluster.u32 %r42,%r24,%r1;\n"
        "@%p8 mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r42];",
    ).replace(",256;", ",2;")
    assert tiers(ranked) == set()
    for count in ("b64 [%r31],2;", "b64 [%r31+8],2;"):
        assert ("likely", "barrier-stuck") in tiers(ranked.replace(count, count.replace("2;", "3;")))
    none = ranked.replace("@%p8 mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r42];", "")
    assert ("likely", "barrier-stuck") in tiers(none)


@pytest.mark.parametrize(
    "cluster", [".reqnctapercluster 2", ".explicitcluster\n.reqnctapercluster 2, 1, 1", ""]
)
@pytest.mark.parametrize("extent", ["%cluster_nctarank", "%cluster_nctaid.x"])
def test_blocks_of_a_cluster_that_a_loop_counts(cluster: str, extent: str) -> None:
    """A release goes to each block. Where neither a directive says how many there are, nor the kernel asks for
    no more than that, nobody is accused.
    """
    released = MULTICAST[MULTICAST.index("mapa") : MULTICAST.index(",[%r43];") + len(",[%r43];")]
    loop = (
        f"mov.u32 %r50,{extent}; mov.u32 %r51,0;\nRANK:\nmapa.shared::cluster.u32 %r42,%r24,%r51;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r42];\n"
        "add.u32 %r51,%r51,1; setp.lt.u32 %p8,%r51,%r50;\n@%p8 bra RANK;"
    )
    text = MULTICAST.replace(".reqntid 160, 1, 1", f".reqntid 160, 1, 1\n{cluster}").replace(released, loop)
    assert cluster in text and text != MULTICAST
    # All blocks fill the same bytes of two, and none waits for the others' copies.
    known = bool(cluster) or extent == "%cluster_nctarank"
    assert tiers(text) == ({("likely", "copy-incomplete")} if known else set())
    more = text.replace("b64 [%r31],256;", "b64 [%r31],257;")
    assert (("likely", "barrier-stuck") in tiers(more)) == known


def test_an_mbarrier_that_one_thread_uses_while_others_wait_for_it() -> None:
    """The text counts a warp as one at a barrier; but nobody behind it initialises the mbarrier."""
    arrives = "@%p8 mbarrier.arrive.shared::cta.b64 _,[%r24];"
    more = "mbarrier.arrive.shared::cta.b64 _,[%r31+64];"
    meets = ELECTED.replace(arrives, f"@!%p8 bra SKIP;\n{more}\n{arrives[5:]}\nSKIP:\nbar.sync 2,128;")
    right = meets.replace("NI:\n", "mbarrier.init.shared::cta.b64 [%r31+64],1;\nNI:\n")
    assert tiers(right) == set()
    assert tiers(meets) == {("error", "barrier-uninitialised")}


BOXES = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[16384];
.shared .align 8 .b64 full[2];
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128])
.reqntid 128, 1, 1
{
.reg .b64 %d<8>; .reg .pred %p<4>; .reg .b32 %r<8>;
mov.b64 %d1,a; cvta.param.u64 %d2,%d1; mov.b64 %d3,b; cvta.param.u64 %d4,%d3; mov.b64 %d5,a; cvta.param.u64 %d6,%d5;
mov.b32 %r7,a; cvt.u64.u32 %d7,%r7; cvta.param.u64 %d0,%d7;
mov.u32 %r1,%tid.x; mov.u32 %r2,0;
setp.eq.u32 %p1,%r1,0;
@%p1 mbarrier.init.shared::cta.b64 [full],1;
@%p1 mbarrier.init.shared::cta.b64 [full+8],1;
bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],8192;
@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile],[%d2,{%r2,%r2}],[full];
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[full+8],BYTES;
@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile+8192],[MAP,{%r2,%r2}],[full+8];
W:
mbarrier.try_wait.parity.shared::cta.b64 %p2,[full],0;
@!%p2 bra W;
V:
mbarrier.try_wait.parity.shared::cta.b64 %p2,[full+8],0;
@!%p2 bra V;
ld.shared.b32 %r3,[tile+8192];
ret;
}
"""


@pytest.mark.parametrize(
    ("tensor_map", "count", "right"),
    [
        ("%d2", "8192", True),
        ("%d2", "8208", False),
        ("%d6", "8176", False),
        ("%d0", "8208", False),
        ("%d0", "8192", True),
        ("%d4", "8208", True),
    ],
)
def test_the_same_boxes_bring_the_same_bytes(tensor_map: str, count: str, right: bool) -> None:
    """A tensor map says how large its boxes are; the PTX does not, but for one map they are equal."""
    found = tiers(BOXES.replace("MAP", tensor_map).replace("BYTES", count))
    assert found == (set() if right else {("error", "barrier-stuck")})


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ("%r5", "%r5", True),
        ("%r5", "%r6", False),  # 16 more
        ("%r5", "%r4", True),  # another parameter, which may well be equal
        ("%r6", "%r4", True),
    ],
)
def test_a_parameter_says_how_many_bytes_boxes_bring(first: str, second: str, right: bool) -> None:
    loads = "ld.param.u32 %r5,[n]; ld.param.u32 %r4,[m]; add.u32 %r6,%r5,16;\n"
    text = BOXES.replace("b[128])", "b[128], .param .u32 n, .param .u32 m)").replace(
        "8192;\n@", f"{first};\n@", 1
    )
    text = text.replace("bar.sync 0;", loads + "bar.sync 0;").replace("MAP", "%d2").replace("BYTES", second)
    assert tiers(text) == (set() if right else {("likely", "barrier-stuck")})


def test_tensor_maps_in_one_parameter_are_told_apart_by_their_places() -> None:
    maps = "add.s64 %d5,%d1,64; cvta.param.u64 %d6,%d5;"
    apart = BOXES.replace("mov.b64 %d5,a; cvta.param.u64 %d6,%d5;", maps).replace("BYTES", "8208")
    assert tiers(apart.replace("MAP", "%d6")) == set()
    assert tiers(apart.replace("MAP", "%d6").replace("[%d2,", "[%d6,")) == {("error", "barrier-stuck")}


def test_an_arrival_too_many_while_bytes_are_pending() -> None:
    """Two threads expect the bytes, and one arrival is counted: the second may fall into the next phase."""
    right = BOXES.replace("MAP", "%d2").replace("BYTES", "8192")
    arrival = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],8192;"
    assert right.count(arrival) == 1
    twice = right.replace(
        arrival, "and.b32 %r6,%r1,63; setp.eq.u32 %p3,%r6,0;\n" + arrival.replace("%p1", "%p3")
    )
    assert ("likely", "barrier-count") in tiers(twice)
    assert ("likely", "barrier-count") not in tiers(twice.replace("[full],1;", "[full],2;"))


def test_a_tensor_map_that_the_kernel_may_replace() -> None:
    """Its boxes are of another size afterwards; a map that is a parameter stays what it was."""
    text = BOXES.replace(".visible", ".global .align 128 .b8 map[128];\n.visible", 1)
    text = text.replace("mov.b64 %d1,a; cvta.param.u64", "mov.b64 %d1,map; cvta.global.u64")
    replaced = text.replace(
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[full+8]",
        "@%p1 tensormap.replace.tile.box_dim.global.b1024.b32 [%d2],0,32;\n"
        "fence.proxy.tensormap::generic.release.gpu;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%d2],128;\n"
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[full+8]",
    ).replace(".version 8.0", ".version 8.3")
    assert tiers(replaced.replace("MAP", "%d2").replace("BYTES", "4096")) == set()


AGAIN = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[512];
.shared .align 8 .b64 done;
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .b64 %d<2>; .reg .pred %p<4>; .reg .b32 %r<8>;
mov.u32 %r1,%tid.x; and.b32 %r2,%r1,31; shl.b32 %r2,%r2,4; mov.u32 %r3,tile; add.u32 %r3,%r3,%r2;
setp.eq.u32 %p1,%r1,0; setp.lt.u32 %p2,%r1,32; mov.u32 %r5,32;
AGAIN:
@%p1 mbarrier.init.shared::cta.b64 [done],%r5;
bar.sync 0;
@%p2 bra W;
st.shared.b32 [%r3],%r1;
mbarrier.arrive.shared::cta.b64 _,[done];
bra MEET;
W:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[done],PARITY;
@!%p3 bra W;
ld.shared.b32 %r4,[%r3];
MEET:
bar.sync 0;
@%p2 bra V;
st.shared.b32 [%r3],%r1;
mbarrier.arrive.shared::cta.b64 _,[done];
bra MET;
V:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[done],1;
@!%p3 bra V;
ld.shared.b32 %r4,[%r3];
MET:
bar.sync 0;
@%p1 mbarrier.inval.shared::cta.b64 [done];
bar.sync 0;
add.u32 %r5,%r5,MORE;
setp.lt.u32 %p3,%r5,35;
@%p3 bra AGAIN;
ret;
}
"""


@pytest.mark.parametrize(
    ("parity", "more", "found"),
    [
        ("0", "4", set()),  # one round
        ("0", "1", {("error", "barrier-stuck")}),  # one arrival too few in the second round
        ("1", "4", {("error", "shared-unsynchronised")}),
    ],
)
def test_an_mbarrier_that_is_made_again(parity: str, more: str, found: set[tuple[str, str]]) -> None:
    assert tiers(AGAIN.replace("PARITY", parity).replace("MORE", more)) == found


def test_the_phases_of_an_mbarrier_that_is_made_again_begin_anew() -> None:
    text = AGAIN.replace("[done],%r5", "[done],32").replace("PARITY", "0").replace("MORE", "1")
    assert tiers(text) == set()
    second = "V:\nmbarrier.try_wait.parity.shared::cta.b64 %p3,[done],"
    assert tiers(text.replace(second + "1", second + "0")) == {("error", "shared-unsynchronised")}


TURN = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[512];
.shared .align 8 .b64 done;
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .b64 %d<2>; .reg .pred %p<4>; .reg .b32 %r<8>;
mov.u32 %r1,%tid.x; and.b32 %r2,%r1,31; shl.b32 %r2,%r2,4; mov.u32 %r3,tile; add.u32 %r3,%r3,%r2;
setp.eq.u32 %p1,%r1,0;
@%p1 mbarrier.init.shared::cta.b64 [done],COUNT;
bar.sync 0;
setp.lt.u32 %p2,%r1,32;
@%p2 bra W;
st.shared.b32 [%r3],%r1;
mbarrier.arrive.shared::cta.b64 _,[done];
ret;
W:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[done],0;
@!%p3 bra W;
ld.shared.b32 %r4,[%r3];
ret;
}
"""


def test_nobody_initialises_an_mbarrier_of_a_kernel_that_is_shown_whole() -> None:
    """A function may be called by a kernel that has initialised it, and a kernel may call one that does."""
    part = "\n".join(line for line in RING.splitlines() if "mbarrier.init" not in line)
    extern, variable = ".extern .shared .align 1024 .b8 smem[];\n", ".shared .align 1024 .b8 smem[163840];\n"
    for whole in (part, part.replace(extern, variable)):
        assert tiers(whole) == {("error", "barrier-uninitialised")}
        function = whole.replace(".visible .entry", ".visible .func")
        called = whole.replace(".visible .entry", ".extern .func prepare;\n.visible .entry")
        called = called.replace("bar.sync 0;", "call prepare;\nbar.sync 0;", 1)
        for text in (function, called):
            assert text != whole and "barrier-uninitialised" not in {rule for _, rule in tiers(text)}
    own = part.replace(extern, "").replace(".entry", ".func").replace("{\n", "{\n" + variable, 1)
    assert tiers(own) == {("error", "barrier-uninitialised")}


def test_an_mbarrier_that_is_used_before_others_are_initialised() -> None:
    late = "mbarrier.init.shared::cta.b64 [done],%r5;\nbar.sync 0;\n"
    text = AGAIN.replace("PARITY", "0").replace("MORE", "4")
    first = "@%p1 mbarrier.arrive.shared::cta.b64 _,[first];\nbar.sync 0;\n@%p1 " + late
    for extern in ("", ".extern .shared .align 8 .b64 first[];\n.visible"):
        used = text.replace(".visible", extern or ".shared .align 8 .b64 first;\n.visible", 1)
        used = used.replace("@%p1 " + late, first)
        assert ("error", "barrier-uninitialised") in tiers(used)


def test_an_mbarrier_that_one_arrival_too_few_completes() -> None:
    """The one phase ends without the last of them, also where nobody waits for another phase."""
    once = TURN.replace("COUNT", "32")
    assert tiers(once) == set()
    assert tiers(TURN.replace("COUNT", "31")) == {("likely", "barrier-count")}


def test_threads_that_have_left_are_not_waited_for_by_a_barrier_for_all() -> None:
    """The text of exit says so; a barrier for fewer threads waits for ever."""
    left = NAMED.replace("bar.arrive 2,256;", "").replace("bar.sync 2,256;", "bar.sync 2;")
    assert "barrier-stuck" not in {rule for _, rule in tiers(left)}
    fewer = left.replace("bar.sync 2;", "bar.sync 2,192;")
    assert ("error", "barrier-stuck") in tiers(fewer)


def test_what_a_parameter_decides_is_no_error() -> None:
    text = RING.replace(
        "mbarrier.init.shared::cta.b64 [%r31],128", "mbarrier.init.shared::cta.b64 [%r31],%r0"
    )
    assert "error" not in {tier for tier, _ in tiers(text)}


def test_single_threads_that_part_before_the_warpgroup_do_not_divide_it() -> None:
    parted = ELECTED.replace(
        "setp.lt.u32 %p1,%r1,128;\n@%p1 bra CL;\nsetp.ne.u32 %p2,%r1,128;\n@%p2 bra DONE;\n",
        "setp.eq.u32 %p1,%r1,128;\n@%p1 bra PL;\nsetp.ge.u32 %p2,%r1,128;\n@%p2 bra DONE;\nbra CL;\n",
    )
    assert parted != ELECTED and tiers(parted) == set()
    divided = parted.replace("setp.ge.u32 %p2,%r1,128;", "setp.ge.u32 %p2,%r1,127;")
    assert ("error", "aligned-divergent") in tiers(divided)


def test_each_warp_waits_for_its_own_part() -> None:
    """The warps tell each other at a barrier. How many rounds there are is not shown: nothing is certain."""
    parts = (Path(__file__).parent / "own_parts.ptx").read_text()
    assert tiers(parts) == set()
    other = parts.replace("shr.u32 %r3,%r1,5;", "shr.u32 %r3,%r1,7;")  # all of them wait for the first part
    assert other != parts and tiers(other) != set()


def test_threads_that_no_parameter_lets_arrive_decide_no_wait() -> None:
    """One thread arrives if there is work: with other parameters fewer may, and no others."""
    arrives = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;"
    guarded = RING.replace(
        arrives, f"setp.eq.u32 %p8,%r1,128; setp.gt.u32 %p9,%r0,0; and.pred %p10,%p8,%p9;\n@%p10 {arrives}"
    )
    assert guarded != RING
    assert tiers(guarded) == set()
    assert ("error", "barrier-stuck") in tiers(guarded.replace("b64 [%r30],1;", "b64 [%r30],2;"))
    # Another number may let the thread arrive.
    others = guarded.replace("setp.eq.u32 %p8,%r1,128;", "setp.gt.u32 %p8,%r1,%r0;")
    assert ("error", "barrier-stuck") not in tiers(others)


# Warp 4 stores into the matrix that the warpgroup multiplies; nothing orders the two.
PRODUCT_FIRST = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid 160, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<16>; .reg .b32 %r<64>;
mov.u32 %r1, %tid.x; mov.u32 %r2, smem;
shr.u32 %r3, %r2, 4; and.b32 %r3, %r3, 16383; cvt.u64.u32 %d3, %r3; or.b64 %d0, %d3, 0x4000004000010000;
add.u32 %r4, %r2, 8192; shr.u32 %r4, %r4, 4; and.b32 %r4, %r4, 16383; cvt.u64.u32 %d4, %r4; or.b64 %d1, %d4, 0x4000004000010000;
setp.ge.u32 %p1, %r1, 128;
@%p1 bra S;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
bra E;
S:
shl.b32 %r5, %r1, 4; add.u32 %r5, %r2, %r5;
st.shared.v4.b32 [%r5], {%r1,%r1,%r1,%r1};
E:
ret;
}
"""


def test_the_lines_of_a_race_that_the_product_begins() -> None:
    (found,) = check_text(PRODUCT_FIRST, "k.ptx").findings
    lines = PRODUCT_FIRST.splitlines()
    where = {one.what: lines[one.place.line - 1][:10] for one in found.ranges}
    assert where == {"written": "st.shared.", "read": "wgmma.mma_"}
    ordered = PRODUCT_FIRST.replace("bra E;\nS:", "bar.sync 1, 160;\nbra E;\nS:\nbar.sync 1, 160;")
    assert not check_text(ordered, "k.ptx").findings


# Warps 4 to 7 copy by cp.async, wait for the copies of the round before, fence and arrive for that stage.
LAGGING = (
    HEAD
    + """
setp.ne.u32 %p5,%r1,0;
@%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],128; mbarrier.init.shared::cta.b64 [%r30+8],128;
mbarrier.init.shared::cta.b64 [%r31],128; mbarrier.init.shared::cta.b64 [%r31+8],128;
NI:
bar.sync 0;
mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r12,0;
setp.lt.u32 %p1,%r1,128;
@%p1 bra CL;
sub.u32 %r50,%r1,128; shl.b32 %r50,%r50,6;
PL:
"""
    + STAGE
    + """
xor.b32 %r14,%r12,1;
PW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24],%r14;
@!%p3 bra PW;
add.u32 %r51,%r21,%r50;
cp.async.cg.shared.global [%r51],[%d3],16; cp.async.cg.shared.global [%r51+16],[%d3],16;
cp.async.cg.shared.global [%r51+32],[%d3],16; cp.async.cg.shared.global [%r51+48],[%d3],16;
cp.async.commit_group;
setp.eq.u32 %p7,%r10,0;
@%p7 bra PN;
cp.async.wait_group 1;
fence.proxy.async.shared::cta; // in the loop
mbarrier.arrive.shared::cta.b64 _,[%r52];
PN:
mov.u32 %r52,%r23;
"""
    + NEXT
    + """
@%p15 bra PL;
cp.async.wait_group 0;
fence.proxy.async.shared::cta; // behind it
mbarrier.arrive.shared::cta.b64 _,[%r52];
bra DONE;
CL:
"""
    + RING[RING.index("CL:\n") + 4 :]
).replace("THREADS", "256")


def test_a_proxy_fence_behind_the_wait_for_copies() -> None:
    assert tiers(LAGGING) == set()
    spoilt = LAGGING.replace("fence.proxy.async.shared::cta; // in the loop\n", "")
    assert tiers(spoilt) == {("error", "proxy-fence")}
    early = "fence.proxy.async.shared::cta; // in the loop\n"
    moved = spoilt.replace("cp.async.wait_group 1;\n", f"{early}cp.async.wait_group 1;\n")
    assert tiers(moved) == {("error", "proxy-fence")}
    reader = spoilt.replace("fence.proxy.async.shared::cta; // behind it\n", "")
    assert (
        tiers(reader.replace("@!%p3 bra CW;\n", "@!%p3 bra CW;\nfence.proxy.async.shared::cta;\n")) == set()
    )


def test_a_missing_fence_does_not_hide_a_refill_of_the_same_block() -> None:
    """All threads copy, wait, meet and multiply, round after round, and never wait for the product."""
    loop = (
        "mov.u32 %r10,0; mov.u32 %r21,%r2; shl.b32 %r50,%r1,6; add.u32 %r51,%r2,%r50;\nL:\n"
        "cp.async.cg.shared.global [%r51],[%d3],16; cp.async.commit_group; cp.async.wait_group 0;\n"
        f"FENCE\nbar.sync 0;\n{PRODUCT}WAIT\nbar.sync 0;\n"
        "add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;\n@%p15 bra L;\n"
        "wgmma.wait_group.sync.aligned 0;\nret;\n}\n"
    )
    fence, wait = "fence.proxy.async.shared::cta;", "wgmma.wait_group.sync.aligned 0;"
    text = HEAD.replace("THREADS", "128") + loop
    assert tiers(text.replace("FENCE", fence).replace("WAIT", wait)) == set()
    unfenced, refilled = ("error", "proxy-fence"), ("error", "shared-overwritten")
    assert tiers(text.replace("FENCE", "").replace("WAIT", wait)) == {unfenced}
    assert tiers(text.replace("FENCE", fence).replace("WAIT", "")) == {refilled}
    assert tiers(text.replace("FENCE", "").replace("WAIT", "")) == {unfenced, refilled}


# A loop of many rounds in a loop over tiles, and a barrier behind it that a small number of rounds passes by.
NESTED = (
    HEAD.replace("THREADS", "128")
    + """
mov.u32 %r50,0; add.u32 %r51,%r0,127; shr.u32 %r51,%r51,7; shr.u32 %r52,%r0,5; shl.b32 %r54,%r1,2; add.u32 %r54,%r2,%r54;
TILE:
setp.lt.u32 %p1,%r0,32;
@%p1 bra PAST;
mov.u32 %r53,0;
STEP:
cp.async.ca.shared.global [%r54],[%d3],4;
cp.async.wait_all;
bar.sync 0;
ld.shared.u32 %r55,[%r2];
bar.sync 0;
add.u32 %r53,%r53,1; setp.lt.u32 %p2,%r53,%r52;
@%p2 bra STEP;
bar.sync 1,128;
PAST:
add.u32 %r50,%r50,1; setp.lt.u32 %p3,%r50,%r51;
@%p3 bra TILE;
ret;
}
"""
)


def test_what_stands_behind_a_long_loop_in_a_loop_is_executed() -> None:
    assert tiers(NESTED) == set()
    assert tiers(NESTED.replace("1,128", "1,160")) == {("error", "barrier-stuck")}


def test_a_wait_of_the_cluster_without_a_new_arrival() -> None:
    again = "DONE:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
    text = MULTICAST.replace("DONE:\n", again)
    assert tiers(text) == tiers(CLUSTER.replace("DONE:\n", again)) == set()
    slip = again.replace("barrier.cluster.arrive.aligned;\n", "")
    assert tiers(MULTICAST.replace("DONE:\n", slip)) == {("likely", "barrier-stuck")}
    assert tiers(CLUSTER.replace("DONE:\n", slip)) == {("error", "barrier-stuck")}


PEERS = Path(__file__).resolve().parent / "cases" / "k08_remote_release.ptx"


def peers(old: str = "", new: str = "") -> set[tuple[str, str]]:
    text = PEERS.read_text()
    assert old in text
    report = check_text(text.replace(old, new), "k.ptx")
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}


def test_blocks_that_wait_for_each_other_for_ever() -> None:
    """Each of two blocks waits for arrivals that the other one makes behind the same wait."""
    assert peers() == set()
    assert peers("xor.b32 %r22,%r22,1;") == {("likely", "barrier-stuck")}


@pytest.mark.parametrize("rank", ["and.b32 %r3,%r2,2;", "or.b32 %r3,%r2,1;", "mov.u32 %r3,1;"])
def test_a_block_that_all_of_them_reach_is_not_waited_for_by_all(rank: str) -> None:
    """It may be the only one that waits, where the PTX does not show how many there are; of two, both wait."""
    flipped = PEERS.read_text().replace("xor.b32 %r22,%r22,1;", "").replace("xor.b32 %r3,%r2,1;", rank)
    for text, is_told in ((flipped, True), (flipped.replace(".reqnctapercluster 2, 1, 1\n", ""), False)):
        found = check_text(text, "k.ptx").findings
        told = ("likely", "barrier-stuck") in {(one.tier, one.rule) for one in found}
        assert told == is_told


# Thread 0 fills some stages, and the warpgroup waits for the first: numbers that are assumed say how many.
FIRST = (
    HEAD
    + """
setp.ne.u32 %p5,%r1,0;
@%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],1;
mbarrier.init.shared::cta.b64 [%r30+8],1;
NI:
bar.sync 0;
@%p5 bra CL;
shr.u32 %r10,%r0,1; add.u32 %r14,%r10,2; mov.u32 %r11,0;
PL:
"""
    + STAGE
    + f"""
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;
add.u32 %r41,%r21,8192;
{COPY} [%r21],[%d3],8192,[%r23];
{COPY} [%r41],[%d3],1024,[%r23];
add.u32 %r10,%r10,1; add.u32 %r11,%r11,1;
setp.lt.u32 %p6,%r10,%r0; setp.lt.u32 %p7,%r10,%r14; and.pred %p8,%p6,%p7;
@%p8 bra PL;
CL:
mov.u32 %r21,%r2;
CW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],0;
@!%p3 bra CW;
"""
    + PRODUCT
    + """
wgmma.wait_group.sync.aligned 0;
ret;
}
"""
).replace("THREADS", "128")


def test_what_no_round_of_a_loop_can_bring() -> None:
    """More rounds of it arrive as often as they copy; so they bring no bytes that a phase lacks."""
    arrival = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;\n"
    assert tiers(FIRST) == set()
    assert tiers(FIRST.replace(arrival, "")) == {("error", "barrier-stuck")}
    for expected in ("9232", "9200"):
        assert ("error", "barrier-stuck") in tiers(FIRST.replace("9216", expected))
    once = FIRST.replace(arrival, "").replace("PL:\n", arrival.replace("%r23],9216", "%r30],27648") + "PL:\n")
    assert tiers(once.replace(",[%r23]", ",[%r30]")) == set()  # its rounds only copy


# Two warpgroups multiply, each its own matrices; then all threads write what the first has read.
SHARED = (
    HEAD
    + """
shr.u32 %r3,%r1,7; shl.b32 %r20,%r3,14; add.u32 %r21,%r2,%r20; add.u32 %r50,%r3,1;
shl.b32 %r51,%r1,2; add.u32 %r51,%r51,%r2;
"""
    + PRODUCT
    + """
wgmma.wait_group.sync.aligned 0;
MEET
st.shared.b32 [%r51],%r1;
ret;
}
"""
).replace("THREADS", "256")


def test_a_store_by_a_warpgroup_over_what_another_one_reads() -> None:
    """The store of the first warps, which have waited for their own product, does not hide it."""
    assert tiers(SHARED.replace("MEET", "bar.sync 0;")) == set()
    for meet in ("", "bar.sync %r50,128;"):
        assert ("error", "shared-unsynchronised") in tiers(SHARED.replace("MEET", meet))
    own = SHARED.replace("%r51,%r51,%r2;", "%r51,%r51,%r21;")
    assert not {rule for tier, rule in tiers(own.replace("MEET", "")) if tier != "reading"}
