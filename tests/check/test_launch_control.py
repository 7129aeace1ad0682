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


@pytest.mark.parametrize("cluster", ["", ".reqnctapercluster 1", ".reqnctapercluster 2"])
@pytest.mark.parametrize("count", [16, 32], ids=["one block asks", "two blocks ask"])
def test_how_much_all_blocks_get_is_left_open(count: int, cluster: str) -> None:
    expect = EXPECT.replace("16", str(count))
    assert not found(MEET + expect + OF_ALL + WAIT + READ, cluster)
    assert found(MEET + expect + OF_ALL + READ + WAIT, cluster) == {"copy-incomplete"}


@pytest.mark.parametrize(
    ("cluster", "rules"),
    [("", set()), (".reqnctapercluster 1", set()), (".reqnctapercluster 2", {"barrier-unpublished"})],
    ids=["unknown", "one block", "two blocks"],
)
def test_the_mbarriers_of_all_blocks_are_initialised(cluster: str, rules: set[str]) -> None:
    """A host may launch clusters of one block, where nothing says how many there are."""
    assert found(EXPECT + OF_ALL + WAIT + READ, cluster) == rules


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
