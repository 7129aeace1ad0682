"""mbarrier.complete_tx takes from the bytes that a phase lacks, as a copy does (9.7.13.15.5.2)."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/execution/barriers.py", "spec/effects.yaml")
# Each thread expects a byte, arrives, and gives the byte; then it reads what another one has stored.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 256, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
.shared .align 8 .b8 bar[8];
.shared .align 16 .b8 buf[1024];
ld.param.u64 %d0,[out];
mov.u32 %r1,%tid.x; mov.u32 %r2,bar; mov.u32 %r3,buf; setp.ne.u32 %p1,%r1,0;
shl.b32 %r4,%r1,2; add.u32 %r5,%r3,%r4; xor.b32 %r6,%r4,128; add.u32 %r6,%r3,%r6;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],256;
bar.sync 0;
st.shared.u32 [%r5],%r1;
FIRST
W: mbarrier.try_wait.shared::cta.b64 %p2,[%r2],%d1; @!%p2 bra W;
ld.shared.u32 %r7,[%r6];
st.global.u32 [%d0],%r7;
bar.sync 0;
BETWEEN
@!%p1 mbarrier.init.shared::cta.b64 [%r2],256;
bar.sync 0;
SECOND
V: mbarrier.try_wait.shared::cta.b64 %p2,[%r2],%d1; @!%p2 bra V;
ret;
}
"""
EXPECT = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2],1;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 %d1,[%r2];"
GIVE = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2],1;"
INVALID = "@!%p1 mbarrier.inval.shared::cta.b64 [%r2];"


def rules(first: str, second: str, between: str = INVALID, old: str = "", new: str = "") -> set[str]:
    text = KERNEL.replace("FIRST", first).replace("SECOND", second).replace("BETWEEN", between)
    report = check_text(text.replace(old, new, 1) if old else text, "k.ptx")
    assert not report.faults
    return {one.rule for one in report.findings if one.tier in ("error", "likely")}


RIGHT = EXPECT + ARRIVE + GIVE


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (RIGHT, RIGHT, set()),
        (ARRIVE, ARRIVE, set()),
        (EXPECT + GIVE + ARRIVE, RIGHT, set()),  # in any order
        (GIVE + EXPECT + ARRIVE, RIGHT, set()),
        (EXPECT + ARRIVE, RIGHT, {"barrier-stuck"}),  # nobody gives the bytes
        (RIGHT, EXPECT + ARRIVE, {"barrier-stuck"}),
        (EXPECT + EXPECT + ARRIVE + GIVE, RIGHT, {"barrier-stuck"}),  # fewer bytes than are expected
        (RIGHT, f"@%p1 {ARRIVE}", {"barrier-stuck"}),  # the second phase is one of its own
    ],
    ids=["right", "no bytes", "give, arrive", "give first", "none", "none again", "fewer", "one less"],
)
def test_bytes_that_threads_give(first: str, second: str, found: set[str]) -> None:
    assert rules(first, second) == found


def test_what_the_phase_shows() -> None:
    """Behind the wait the arrivals are known; without a barrier behind it others wait still."""
    wait = "W: mbarrier.try_wait.shared::cta.b64 %p2,[%r2],%d1; @!%p2 bra W;"
    assert rules(RIGHT, RIGHT) == set()
    assert rules(RIGHT, RIGHT, old=wait) == {"shared-unsynchronised"}
    assert rules(RIGHT, RIGHT, old="bar.sync 0;\n@!%p1 mbarrier.inval", new="@!%p1 mbarrier.inval") == {
        "barrier-uninitialised"
    }


def test_a_thread_uses_an_mbarrier_that_it_does_not_know_to_be_initialised() -> None:
    found = rules(RIGHT, RIGHT, old="[%r2],256;\nbar.sync 0;", new="[%r2],256;")
    assert found == {"barrier-unpublished"}
