"""Bulk copies from one block of a cluster into another: the mbarrier there, the bytes on both sides, the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from .changed_kernels import loud

CASES = Path(__file__).parent / "cases"
PEER = (CASES / "k07_to_peer.ptx").read_text()
REMOTE = (CASES / "k08_remote_release.ptx").read_text()
MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r6],2048;"
SENT = "SENT:\n"
PENDING, INCOMPLETE, UNORDERED = "bulk-store-pending", "copy-incomplete", "shared-unsynchronised"
ROW = "setp.eq.u32 %p1,%r1,0;"
PARITY = "and.b32 %r14,%r13,1;"
ADD = "add.f32 %f5,%f5,%f1;\n"


def last(text: str, words: str, others: str = "") -> str:
    """The last occurrence of some words replaced."""
    at = text.rindex(words)
    return text[:at] + others + text[at + len(words) :]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (PEER.replace("@!%p2 bra WAIT;\n", ""), {PENDING, INCOMPLETE}),
        (PEER.replace(PARITY, f"{PARITY} xor.b32 %r14,%r14,1;"), {PENDING, INCOMPLETE}),
        (last(PEER, MEET), {PENDING, INCOMPLETE, UNORDERED}),  # nor does it know that its last copy is complete
        (last(PEER, MEET, "bar.sync 0;\n"), {PENDING, INCOMPLETE, UNORDERED}),
        (PEER.replace(MEET, "bar.sync 0;\n", 1), {"barrier-unpublished"}),
        (PEER.replace("[%r6],2048;", "[%r6],1024;"), {"barrier-stuck"}),
        (PEER.replace("[%r6],2048;", "[%r6],2064;"), {"barrier-stuck"}),
        (PEER.replace("[%r4],2048,", "[%r4],1024,"), {"barrier-stuck"}),
        (PEER.replace("2048,[%r12]", "2048,[%r6]"), {INCOMPLETE}),
        (PEER.replace(EXPECT, "mbarrier.arrive.shared::cta.b64 _,[%r6];"), {PENDING, INCOMPLETE}),
        (PEER.replace(SENT, "st.shared.f32 [%r8],%f1;\nSENT:\n"), {PENDING}),
        (PEER.replace(SENT, "SENT:\nst.shared.f32 [%r8],%f5;\n"), {PENDING}),
        (REMOTE.replace("@!%p2 bra EMPTY;\n", ""), {PENDING, INCOMPLETE, UNORDERED}),
        (REMOTE.replace("release.cluster.shared::cluster.b64 _,[%r21]", "shared::cta.b64 _,[%r20]"), {PENDING, INCOMPLETE, UNORDERED}),
        (REMOTE.replace("[%r20],128;", "[%r20],127;"), {"barrier-count"}),
    ],
)  # fmt: skip
def test_a_slip_around_a_copy_to_another_block(text: str, rules: set[str]) -> None:
    assert loud(text) == {("likely", rule) for rule in rules}


def test_what_the_own_block_does_is_certain() -> None:
    assert loud(PEER.replace("fence.proxy.async.shared::cta;\n", "")) == {("error", "bulk-store-fence")}
    assert loud(PEER.replace("bar.sync 0;\n", "")) == {("error", UNORDERED)}


ROOT = f"{ROW} setp.eq.u32 %p6,%r2,0;"  # %p6: the block is the cluster's first
ONE_SENDS = (
    PEER.replace(".pred %p<4>", ".pred %p<8>")
    .replace(ROW, ROOT)
    .replace("cp.async.bulk", "@%p6 cp.async.bulk")
    .replace("mbarrier.arrive.expect_tx", "@!%p6 mbarrier.arrive.expect_tx")
    .replace(PARITY, f"@%p6 bra SKIP;\n{PARITY}")
    .replace(ADD, f"{ADD}SKIP:\n")
)


@pytest.mark.parametrize(
    "text",
    [
        PEER,
        REMOTE,
        PEER.replace("reqnctapercluster 2", "reqnctapercluster 4")
        .replace("xor.b32 %r3,%r2,1;", "add.u32 %r3,%r2,1; and.b32 %r3,%r3,3;"),  # round a ring
        ONE_SENDS,
        ONE_SENDS.replace("setp.eq.u32 %p6,%r2,0;", "setp.ne.u32 %p6,%r2,0;"),
        ONE_SENDS.replace("setp.eq.u32 %p6,%r2,0;", "setp.ne.u32 %p6,%r2,0;").replace("xor.b32 %r3,%r2,1;", "mov.u32 %r3,0;"),
    ],
)  # fmt: skip
def test_right_copies_between_blocks_are_let_pass(text: str) -> None:
    assert loud(text) == set()


def test_blocks_that_do_not_do_alike_are_executed_together() -> None:
    """Who sends where is followed by the ranks; where the PTX does not say how many blocks there are, nothing
    is told, and nothing made up.
    """
    fewer = ONE_SENDS.replace("[%r6],2048;", "[%r6],1024;")
    assert loud(fewer) == {("likely", "barrier-stuck")}
    assert loud(fewer.replace(".reqnctapercluster 2, 1, 1\n", "")) == set()
