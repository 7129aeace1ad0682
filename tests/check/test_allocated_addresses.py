"""tcgen05.alloc writes the address that it allocates to shared memory, by a weak memory operation (9.7.16.7.1): a
warp that reads it there needs a barrier behind the warp that allocates, as behind a store.
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
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ge.u32 %p1,%r1,32; setp.ne.u32 %p2,%r1,32; setp.eq.u32 %p4,%r1,0;
cvta.shared.u64 %rd3,smem; ld.param.u64 %rd1,[out];
@%p4 mbarrier.init.shared::cta.b64 [%r2+64],32; bar.sync 0;
@%p1 bra A;
ALLOC
A: MEET
READ
st.global.u32 [%rd1],%r7;
bar.sync 0;
@%p1 bra B;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7,128;
B: ret;
}
"""
SHARED = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2],128;"
GENERIC = "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd3],128;"
STORED = "st.shared.u32 [%r2],%r1;"
READ = "ld.shared.u32 %r7,[%r2];"
PHASE = """@!%p1 mbarrier.arrive.shared::cta.b64 _,[%r2+64];
V: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+64],0; @!%p3 bra V;"""
RELAXED = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"
RACE = {("shared-unsynchronised", "error")}


@pytest.mark.parametrize("alloc", [SHARED, GENERIC, STORED], ids=["shared", "generic", "a store like it"])
@pytest.mark.parametrize(
    ("meet", "read", "expected"),
    [
        ("bar.sync 0;", READ, set()),
        (PHASE, READ, set()),
        ("", READ, RACE),
        ("", READ + "bar.sync 0;", RACE),
        (RELAXED, READ, RACE),
        (RELAXED.replace(".relaxed", ""), READ, set()),
        ("", "@!%p1 " + READ, set()),
        ("", READ.replace("[%r2]", "[%r2+4]"), set()),
        ("bar.sync 0;", READ + "@!%p1 bra C; bra D; C: AGAIN D:", RACE),
    ],
    ids=[
        "barrier",
        "phase",
        "nothing",
        "barrier behind",
        "no order by a relaxed arrival",
        "the cluster's barrier",
        "its own warp reads",
        "other bytes",
        "it allocates again while others read",
    ],
)
def test_the_address_is_read_behind_a_barrier(
    alloc: str, meet: str, read: str, expected: set[tuple[str, str]]
) -> None:
    text = KERNEL.replace("ALLOC", alloc).replace("MEET", meet).replace("READ", read)
    findings = check_text(text.replace("AGAIN", alloc), "k.ptx").findings
    found = {(one.rule, one.tier) for one in findings if one.tier in ("error", "likely")}
    assert {one for one in found if not one[0].startswith("allocation")} == expected


def test_what_is_said() -> None:
    text = KERNEL.replace("ALLOC", SHARED).replace("MEET", "").replace("READ", READ)
    (finding,) = check_text(text, "k.ptx").findings
    assert "warp 0 allocates, and writes the address to bytes 0 to 3" in finding.message


@pytest.mark.parametrize(
    ("fence", "setting", "expected"),
    [
        ("", None, {("proxy-fence-copy", "reading")}),
        ("", "generic", {("proxy-fence-copy", "error")}),
        ("", "unsaid", set()),
        ("fence.proxy.async.shared::cta;", "generic", set()),
    ],
    ids=["open", "generic", "unsaid", "fenced"],
)
def test_a_bulk_copy_lands_on_the_address(
    fence: str, setting: str | None, expected: set[tuple[str, str]]
) -> None:
    """All threads have read it. By which proxy it is written the text does not say."""
    copy = f"""{fence} bar.sync 0; @!%p4 bra C;
mbarrier.init.shared::cta.b64 [%r2+72],1;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+72],16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%rd1],16,[%r2+72];
W: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+72],0; @!%p3 bra W; C:"""
    text = KERNEL.replace("ALLOC", SHARED).replace("MEET", "bar.sync 0;").replace("READ", READ + copy)
    readings = {} if setting is None else {"allocation-proxy": setting}
    findings = check_text(text, "k.ptx", readings=readings).findings
    assert {(f.rule, f.tier) for f in findings if f.rule == "proxy-fence-copy"} == expected
