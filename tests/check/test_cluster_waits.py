"""Waits of a block of a cluster that the other blocks end: by copies to several blocks, in turns, or through one
block. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import loud

KERNEL = """
.version 8.5
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.explicitcluster
.reqnctapercluster BLOCKS, 1, 1
.reqntid 160, 1, 1
{
.reg .b32 %r<128>; .reg .b64 %d<32>; .reg .f32 %f<16>; .reg .pred %p<32>; .reg .b16 %h<4>;
ld.param.u64 %d3,[in]; ld.param.u64 %d4,[out]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; mov.u32 %r5,%cluster_ctarank;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
add.u32 %r30,%r2,131072; add.u32 %r31,%r2,131200; mov.u16 %h1,3; mov.u32 %r20,0;
setp.ne.u32 %p29,%r1,0; @%p29 bra KNOWN;
INIT
fence.mbarrier_init.release.cluster;
KNOWN: MEET
BODY
DONE: bar.warp.sync 0xffffffff; MEET
mul.wide.u32 %d5,%r1,16; add.s64 %d6,%d4,%d5; st.global.v4.f32 [%d6],{%f0,%f1,%f2,%f3};
ret;
}
"""
MEET = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
STAGE = """
and.b32 %r21,%r20,1; shr.u32 %r22,%r20,1; and.b32 %r22,%r22,1; shl.b32 %r24,%r21,3; add.u32 %r25,%r31,%r24;
add.u32 %r26,%r30,%r24; shl.b32 %r27,%r21,14; add.u32 %r28,%r2,%r27; add.u32 %r29,%r28,8192; xor.b32 %r23,%r22,1;
"""
WAIT = (
    "TRY#: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p30,[%ADDRESS],%PARITY; @!%p30 bra TRY#;"
)
ARRIVE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r54];"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
MULTIPLY = """
shr.u32 %r90,%r28,4; and.b32 %r90,%r90,16383; cvt.u64.u32 %d20,%r90; or.b64 %d20,%d20,0x4000004000010000;
shr.u32 %r90,%r29,4; and.b32 %r90,%r90,16383; cvt.u64.u32 %d21,%r90; or.b64 %d21,%d21,0x4000004000010000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d20,%d21,1,1,1,0,0;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
"""


def wait(number: int, address: str, parity: str) -> str:
    return WAIT.replace("#", str(number)).replace("ADDRESS", address).replace("PARITY", parity)


def again(number: int, label: str) -> str:
    return f"add.u32 %r20,%r20,1; setp.lt.u32 %p{number},%r20,%r0; @%p{number} bra {label};\n"


def tells(*ranks: object, address: str = "%r31") -> str:
    return "".join(f"mapa.shared::cluster.u32 %r54,{address},{rank}; {ARRIVE}\n" for rank in ranks)


def inits(*counts: int) -> str:
    return "".join(
        f"mbarrier.init.shared::cta.b64 [{base}+{8 * stage}],{count};\n"
        for base, count in zip(("%r30", "%r31"), counts, strict=False)
        for stage in (0, 1)
    )


def kernel(body: str, counts: tuple[int, ...], blocks: int = 2) -> str:
    text = KERNEL.replace("INIT", inits(*counts)).replace("BODY", body)
    return text.replace("MEET", MEET).replace("BLOCKS", str(blocks))


def ring(copies: str, release: str, count: int = 2) -> str:
    """A thread fills the stages of a ring, and 128 multiply."""
    body = f"""
setp.lt.u32 %p1,%r1,128; @%p1 bra CONSUME; setp.ne.u32 %p2,%r1,128; @%p2 bra DONE;
shl.b32 %r50,%r5,12; shl.b32 %r51,%r5,9;
PRODUCE: {STAGE} {wait(1, "r25", "r23")}
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r26],9216;
{copies}
{again(4, "PRODUCE")} bra DONE;
CONSUME: {STAGE} {wait(2, "r26", "r22")} {MULTIPLY} bar.sync 1,128;
{release}
{again(5, "CONSUME")}
"""
    return kernel(body, (1, count))


# Each block copies a half of both matrices into both blocks.
HALVES = f"""
add.u32 %r52,%r28,%r50; add.u32 %r53,%r29,%r51;
{COPY} [%r52],[%d3],4096,[%r26],%h1; {COPY} [%r53],[%d3],512,[%r26],%h1;
"""
# The blocks take turns to copy a whole stage into both.
TURNS = f"""
and.b32 %r60,%r20,1; setp.ne.u32 %p9,%r60,%r5; @%p9 bra NONE;
{COPY} [%r28],[%d3],8192,[%r26],%h1; {COPY} [%r29],[%d3],1024,[%r26],%h1;
NONE:
"""
TO_BOTH = f"""
setp.gt.u32 %p6,%r1,1; @%p6 bra RELEASED;
mapa.shared::cluster.u32 %r54,%r25,%r1; {ARRIVE}
RELEASED:
"""
BY_ONE = f"""
setp.ne.u32 %p6,%r1,0; @%p6 bra RELEASED;
{tells(0, 1, address="%r25")}
RELEASED:
"""


@pytest.mark.parametrize("copies", [HALVES, TURNS])
@pytest.mark.parametrize("release", [TO_BOTH, BY_ONE])
def test_two_blocks_fill_each_others_rings(copies: str, release: str) -> None:
    assert loud(ring(copies, release)) == set()


@pytest.mark.parametrize("release", [TO_BOTH, BY_ONE])
def test_more_releases_are_counted_than_two_blocks_send(release: str) -> None:
    assert loud(ring(HALVES, release, 3)) == {("likely", "barrier-stuck")}


@pytest.mark.parametrize(
    ("release", "count"),
    [(TO_BOTH.replace("%r25,%r1;", "%r25,%r5;"), 2), (BY_ONE.replace(tells(1, address="%r25"), ""), 1)],
)
def test_a_block_releases_no_stages_of_the_other_one(release: str, count: int) -> None:
    own = release.replace("%r25,0;", "%r25,%r5;")
    assert loud(ring(HALVES, own, count)) == {("likely", "shared-overwritten")}


def test_a_release_is_counted_that_only_one_of_two_blocks_sends() -> None:
    assert loud(ring(HALVES, TO_BOTH, 1)) == {("likely", "shared-overwritten")}


def rounds(acts: str, counts: tuple[int, ...], blocks: int = 4, then: str = "r30") -> str:
    """In each round one thread does something, and all wait for a phase."""
    body = f"""
mov.u32 %r22,0;
ROUND: @%p29 bra NOT;
{acts}
NOT: {wait(3, then, "r22")} {MEET}
xor.b32 %r22,%r22,1; {again(4, "ROUND")}
"""
    return kernel(body, counts, blocks)


FIRST_ONLY = "setp.ne.u32 %p7,%r5,0; @%p7 bra NOT;"
ALL_FOUR = tells(0, 1, 2, 3, address="%r30")
# All blocks tell the first, which then tells all.
THROUGH_ONE = tells(0) + FIRST_ONLY + wait(1, "r31", "r22") + ALL_FOUR
# Two blocks tell two others, which answer.
ANSWERED = f"""
setp.gt.u32 %p7,%r5,1; @%p7 bra ANSWER;
{tells(2, 3)} bra NOT;
ANSWER: {wait(1, "r31", "r22")} {tells(0, 1, 2, 3, address="%r30")}
"""
OTHERS = "".join(
    f"add.u32 %r60,%r5,{step}; and.b32 %r60,%r60,3; {tells('%r60', address='%r30')}" for step in (1, 2, 3)
)


@pytest.mark.parametrize(
    "text",
    [
        rounds(THROUGH_ONE, (1, 4)),
        rounds(ANSWERED, (2, 2)),
        rounds(ALL_FOUR, (4,)),
        rounds(FIRST_ONLY + ALL_FOUR, (1,)),
        rounds("setp.gt.u32 %p7,%r5,1; @%p7 bra NOT;" + ALL_FOUR, (2,)),
        rounds("setp.le.u32 %p7,%r5,1; @%p7 bra NOT;" + ALL_FOUR, (2,)),
        rounds("setp.eq.u32 %p7,%r5,0;" + ALL_FOUR.replace("mbarrier", "@%p7 mbarrier"), (1,)),
        rounds("setp.ne.u32 %p7,%r5,0;" + ALL_FOUR.replace("mbarrier", "@%p7 mbarrier"), (3,)),
        rounds("setp.eq.u32 %p7,%r5,0;" + ALL_FOUR.replace("mbarrier", "@!%p7 mbarrier"), (3,)),
        rounds(OTHERS, (3,)),
    ],
)
def test_blocks_that_tell_each_other_are_let_pass(text: str) -> None:
    assert loud(text) == set()


@pytest.mark.parametrize("text", [rounds(ALL_FOUR, (5,)), rounds(OTHERS, (4,))])
def test_more_is_counted_than_four_blocks_send(text: str) -> None:
    assert loud(text) == {("likely", "barrier-stuck")}


# The first block copies into a ring of the second, which releases the stages there; then the first drains.
FED = f"""
setp.eq.u32 %p7,%r5,1; @%p7 bra RECEIVE;
@%p29 bra DONE;
SEND: {STAGE} {wait(1, "r25", "r23")}
mapa.shared::cluster.u32 %r54,%r28,1; mapa.shared::cluster.u32 %r55,%r26,1;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r54],[%r2+32768],9216,[%r55];
{again(4, "SEND")}
mov.u32 %r60,0;
DRAIN: {STAGE} {wait(2, "r25", "r23")}
add.u32 %r20,%r20,1; add.u32 %r60,%r60,1; setp.lt.u32 %p9,%r60,2; @%p9 bra DRAIN;
bra DONE;
RECEIVE: setp.ge.u32 %p8,%r1,128; @%p8 bra DONE; mapa.shared::cluster.u32 %r56,%r31,0;
TAKE: {STAGE} add.u32 %r54,%r56,%r24;
@%p29 bra READ;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r26],9216;
READ: {wait(3, "r26", "r22")} {MULTIPLY} {ARRIVE}
{again(5, "TAKE")}
"""


def test_one_block_feeds_another() -> None:
    assert loud(kernel(FED, (1, 128))) == set()


# The first block of the cluster fills its own memory and that of others, and expects the bytes for them.
LEADER = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in)
.reqntid 32, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .pred p, z, l; .reg .b32 t, m, s, v, r, rm; .reg .b64 q; .reg .b16 h;
.shared .align 128 .b8 sm[256]; .shared .align 8 .b64 mb;
mov.u32 t,%tid.x; mov.u32 m,mb; mov.u32 s,sm; mov.u32 r,%cluster_ctarank; mov.b16 h,3; ld.param.u64 q,[in];
setp.eq.u32 z,t,0; setp.eq.u32 l,r,0; and.pred l,l,z;
@z mbarrier.init.shared::cta.b64 [m],1;
@z fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
@!l bra W;
mapa.shared::cluster.u32 rm,m,1;
mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _,[rm],256;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],256;
COPIES
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[m],0; @!p bra W;
ret;
}
"""
FILL = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    "copies",
    [
        f"{FILL} [s],[q],256,[m]; mapa.shared::cluster.u32 v,s,1; {FILL} [v],[q],256,[rm];",
        f"{FILL}.multicast::cluster [s],[q],256,[m],h;",
    ],
    ids=["two copies", "one to both"],
)
def test_one_block_fills_all(copies: str) -> None:
    """Its two arrivals are at mbarriers of different blocks, and its two copies fill different memories."""
    assert not [
        one for one in check_text(LEADER.replace("COPIES", copies), "k.ptx").findings if one.tier != "info"
    ]


def test_one_statement_arrives_in_each_block() -> None:
    """The first block arms all mbarriers in a loop: each gets one arrival."""
    start, end = LEADER.index("mapa.shared::cluster.u32 rm"), LEADER.index("COPIES")
    loop = (
        "mov.u32 v,0;\nLL: mapa.shared::cluster.u32 rm,m,v;\n"
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _,[rm],256;\n"
        "add.u32 v,v,1; setp.lt.u32 p,v,2; @p bra LL;\n"
    )
    text = (
        LEADER[:start]
        + loop
        + f"{FILL}.multicast::cluster [s],[q],256,[m],h;"
        + LEADER[end + len("COPIES") :]
    )
    assert not [one for one in check_text(text, "k.ptx").findings if one.tier != "info"]


# What Pallas makes of a barrier that a leader tracks: the rank is a number that differs between threads, and
# but one of them arrives.
TRACKED = f"""
shr.u32 %r50,%r1,3; and.b32 %r51,%r1,7; or.b32 %r52,%r50,%r51; setp.eq.u32 %p6,%r52,0;
@%p6 mapa.shared::cluster.u32 %r54,%r30,%r50;
@%p6 {ARRIVE}
setp.ne.u32 %p7,%r5,0; @%p7 bra DONE;
{wait(1, "r30", "r20")}
"""
SEVERAL = TRACKED.replace("setp.eq.u32 %p6,%r52,0", "setp.lt.u32 %p6,%r1,16")
# All threads map the address, into blocks that there are not; but one of them arrives.
MAPPED = TRACKED.replace("@%p6 mapa", "mapa")
MAPPED_BY_SOME = TRACKED.replace("@%p6 mapa", "setp.lt.u32 %p5,%r1,64; @%p5 mapa")
TO_ANOTHER = MAPPED.replace("setp.eq.u32 %p6,%r52,0", "setp.eq.u32 %p6,%r1,8")


@pytest.mark.parametrize(
    ("body", "count", "rules"),
    [
        (TRACKED, 2, set()),
        (TRACKED, 3, {("likely", "barrier-stuck")}),
        (SEVERAL, 16, set()),
        (SEVERAL, 17, {("likely", "barrier-stuck")}),
        (MAPPED, 2, set()),
        (MAPPED, 3, {("likely", "barrier-stuck")}),
        (MAPPED_BY_SOME, 2, set()),
        (MAPPED_BY_SOME, 3, {("likely", "barrier-stuck")}),
        (TO_ANOTHER, 2, {("likely", "barrier-stuck")}),
    ],
    ids=[
        "one thread of each block",
        "one more is counted",
        "eight threads to each",
        "and one more",
        "all threads map",
        "all map, and one more is counted",
        "some map",
        "some map, and one more is counted",
        "all tell the other block",
    ],
)
@pytest.mark.parametrize("threads", [".reqntid", ".maxntid"])
def test_threads_tell_the_leader(threads: str, body: str, count: int, rules: set[tuple[str, str]]) -> None:
    text = kernel(body, (count,)).replace(".reqntid", threads)
    assert loud(text) == rules
