"""clusterlaunchcontrol.try_cancel writes 16 bytes of shared memory asynchronously, through the async proxy, and
completes as many of its mbarrier's phase (9.7.13.17): who reads the response waits for that phase, which expects
16 bytes, and who asks again waits for those who read. With .multicast::cluster::all it does so in every block.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 out)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.eq.u32 %p1,%r1,0; setp.eq.u32 %p6,%r1,32;
ld.param.u64 %rd1,[out]; cvta.shared.u64 %rd3,smem; add.u64 %rd2,%rd3,64;
@%p1 mbarrier.init.shared::cta.b64 [%r2],1;
@%p1 mbarrier.init.shared::cta.b64 [%r2+8],1;
bar.sync 0;
BODY
st.global.u32 [%rd1],%r9;
ret;
}
"""
EXPECT = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2],16;"
ASK = (
    "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r2+64],[%r2];"
)
GENERIC = ASK.replace(".shared::cta", "").replace("[%r2+64],[%r2]", "[%rd2],[%rd3]")
OF_ALL = ASK.replace("bytes.b128", "bytes.multicast::cluster::all.b128")
WAIT = "V0: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0; @!%p2 bra V0;"
AGAIN = WAIT.replace("V0", "V1").replace(",0;", ",1;")
READ = "ld.shared.u32 %r9,[%r2+64];"
RELEASE = "@%p6 mbarrier.arrive.shared::cta.b64 _,[%r2+8];"
FREE = "V2: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+8],0; @!%p3 bra V2;"


def found(body: str, cluster: str = "") -> set[str]:
    text = KERNEL.replace("BODY", body).replace("1, 1\n", f"1, 1\n{cluster}\n", 1)
    findings = check_text(text, "k.ptx").findings
    return {one.rule for one in findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("ask", [ASK, GENERIC], ids=["shared", "generic"])
@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (EXPECT + "ASK" + WAIT + READ, set()),
        (EXPECT + "ASK" + READ + WAIT, {"copy-incomplete"}),
        (EXPECT + "ASK" + READ, {"copy-incomplete"}),
        (EXPECT.replace(",16", ",32") + "ASK" + WAIT + READ, {"barrier-stuck"}),
        (EXPECT.replace(",16", ",32") + "ASK" + "ASK".replace("ASK", "ASK1") + WAIT + READ, set()),
        ("@%p1 mbarrier.arrive.shared::cta.b64 _,[%r2];ASK" + WAIT + READ, {"copy-incomplete"}),
    ],
    ids=["right", "read before", "never awaited", "too many bytes", "two responses", "no bytes"],
)
def test_a_response_is_waited_for(ask: str, body: str, rules: set[str]) -> None:
    other = ask.replace("[%r2+64]", "[%r2+80]").replace("[%rd2]", "[%rd2+16]")
    assert found(body.replace("ASK1", other).replace("ASK", ask)) == rules


MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


@pytest.mark.parametrize("cluster", ["", ".reqnctapercluster 1"])
@pytest.mark.parametrize("count", [16, 32], ids=["one block asks", "two blocks ask"])
def test_how_much_all_blocks_get_is_left_open(count: int, cluster: str) -> None:
    expect = EXPECT.replace("16", str(count))
    assert not found(MEET + expect + OF_ALL + WAIT + READ, cluster)
    assert found(MEET + expect + OF_ALL + READ + WAIT, cluster) == {"copy-incomplete"}


FIRST = "mov.u32 %r3,%cluster_ctarank; setp.eq.and.u32 %p5,%r3,0,%p1;"  # thread 0 of the first block


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (EXPECT + FIRST + OF_ALL.replace("%p1", "%p5") + WAIT + READ, set()),
        # In the block that asks, and in the other one.
        (
            EXPECT + FIRST + OF_ALL.replace("%p1", "%p5") + READ + WAIT,
            {"copy-incomplete", "shared-unsynchronised"},
        ),
        (EXPECT.replace("16", "32") + FIRST + OF_ALL.replace("%p1", "%p5") + WAIT + READ, {"barrier-stuck"}),
        (EXPECT.replace("16", "32") + OF_ALL + WAIT + READ, {"copy-incomplete"}),
    ],
    ids=["right", "read before", "too many bytes", "both ask for the same bytes"],
)
def test_both_blocks_of_a_pair_get_it(body: str, rules: set[str]) -> None:
    assert found(MEET + body, ".reqnctapercluster 2") == rules


@pytest.mark.parametrize(
    ("cluster", "rules"),
    [("", set()), (".reqnctapercluster 1", set()), (".reqnctapercluster 2", {"barrier-unpublished"})],
    ids=["unknown", "one block", "two blocks"],
)
def test_the_mbarriers_of_all_blocks_are_initialised(cluster: str, rules: set[str]) -> None:
    """A host may launch clusters of one block, where nothing says how many there are."""
    assert found(EXPECT + FIRST + OF_ALL.replace("%p1", "%p5") + WAIT + READ, cluster) == rules


@pytest.mark.parametrize(
    ("between", "rules"),
    [
        (READ + "bar.sync 0;", set()),
        (READ + RELEASE + FREE, set()),
        (READ, {"shared-unsynchronised"}),
        (RELEASE + READ + FREE, {"shared-unsynchronised"}),
    ],
    ids=["barrier", "release", "nothing", "released too early"],
)
def test_a_response_is_read_before_the_next(between: str, rules: set[str]) -> None:
    read = f"setp.lt.u32 %p4,%r1,32; @%p4 bra F; {WAIT.replace('V0', 'V3')} {between.split('V2')[0]} F:"
    if "bar.sync" in between:
        read = read.replace("bar.sync 0;", "") + "bar.sync 0;"
    free = between[between.index("V2") :] if "V2" in between else ""
    assert found(EXPECT + ASK + WAIT + read + free + EXPECT + ASK + AGAIN) == rules


@pytest.mark.parametrize(
    ("fence", "rules"), [("fence.proxy.async.shared::cta;", set()), ("", {"proxy-fence-copy"})]
)
def test_a_generic_write_before_it_is_fenced(fence: str, rules: set[str]) -> None:
    store = "@%p1 st.shared.u32 [%r2+64],%r1;"
    assert found(store + fence + EXPECT + ASK + WAIT + READ) == rules


HEAD = KERNEL.replace(".reg .b32 %r<16>;", ".reg .b32 %r<16>; .reg .b128 %rq<2>;")
# Warp 0 asks for the next tile, and warp 1 stores what it makes of each; then all threads go on, or leave.
TILES = """
mov.u32 %r4,0; mov.u32 %r5,0;
NEXT:
EXPECT ASK
@%p1 st.shared.u32 [%r2+128],%r5;
BARRIER
@%p6 ld.shared.u32 %r9,[%r2+128];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],%r4; @!%p2 bra W;
LOAD
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3,%rq0;
FIRST
xor.b32 %r4,%r4,PARITY;
BEHIND
@%p3 bra NEXT;
"""
WHOLE = "ld.shared.b128 %rq0,[%r2+64];"
HALVES = "ld.shared.v2.b64 {%rd4,%rd5},[%r2+64]; mov.b128 %rq0,{%rd4,%rd5};"
AXIS = "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5,%rq0;"
AXES = "@%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5,%r6,%r7,_},%rq0;"
MEETS = "bar.sync 0;"


def persistent(
    load: str = WHOLE, first: str = AXES, parity: str = "1", barrier: str = MEETS, behind: str = MEETS
) -> str:
    tiles = TILES.replace("EXPECT", EXPECT).replace("ASK", ASK).replace("LOAD", load).replace("FIRST", first)
    return tiles.replace("PARITY", parity).replace("BARRIER", barrier).replace("BEHIND", behind)


@pytest.mark.parametrize("first", [AXIS, AXES], ids=["axis", "vector"])
@pytest.mark.parametrize("load", [WHOLE, HALVES], ids=["b128", "two halves"])
@pytest.mark.parametrize(
    ("slip", "rules"),
    [
        ({}, set()),
        ({"behind": ""}, {"shared-unsynchronised"}),
        ({"barrier": ""}, {"shared-unsynchronised"}),
        ({"parity": "0"}, {"copy-incomplete"}),
    ],
    ids=["right", "no barrier behind", "no barrier between", "the same parity again"],
)
def test_threads_are_followed_from_tile_to_tile(
    load: str, first: str, slip: dict[str, str], rules: set[str]
) -> None:
    text = HEAD.replace("BODY", persistent(load, first, **slip))
    report = check_text(text, "k.ptx")
    assert {one.rule for one in report.findings if one.tier in ("error", "likely")} == rules
    assert not report.not_judged


@pytest.mark.parametrize("barrier", [MEETS, ""], ids=["right", "no barrier"])
def test_what_stands_behind_the_last_tile_is_executed(barrier: str) -> None:
    """Warp 1 reads what warp 0 stores once no launch is left to cancel."""
    last = f"@%p1 st.shared.u32 [%r2+256],%r1; {barrier} @%p6 ld.shared.u32 %r9,[%r2+256];"
    report = check_text(HEAD.replace("BODY", persistent() + last), "k.ptx")
    found = {one.rule for one in report.findings if one.tier in ("error", "likely")}
    assert found == (set() if barrier else {"shared-unsynchronised"})


# Of a pair: warp 1 of each block reads a word of its own block, and tells the first block, whose thread 0 then asks. In
# each block thread 0 waits for the answer, and stores over the word.
TELL = "@%p6 mapa.shared::cluster.u32 %r4,%r2,0; @%p6 mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r4+8];"
TOLD = "@!%p5 bra GO; W0: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3,[%r2+8],0; @!%p3 bra W0; GO:"
OVER = "st.shared.u32 [%r2+128],%r1; PAST:"


@pytest.mark.parametrize(("waits", "rules"), [(TOLD, set()), ("", {"shared-unsynchronised"})])
def test_who_waits_for_an_answer_knows_what_was_known_to_who_asked(waits: str, rules: set[str]) -> None:
    """Nothing else tells the second block that its word was read."""
    asked = waits + OF_ALL.replace("%p1", "%p5") + "@!%p1 bra PAST;" + WAIT + OVER
    body = MEET + EXPECT + FIRST + "@%p6 ld.shared.u32 %r9,[%r2+128];" + TELL + asked + MEET
    text = KERNEL.replace("BODY", body).replace("[%r2+8],1", "[%r2+8],2")
    findings = check_text(text.replace("1, 1\n", "1, 1\n.reqnctapercluster 2\n", 1), "k.ptx").findings
    assert {one.rule for one in findings if one.tier in ("error", "likely")} == rules
