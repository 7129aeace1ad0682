"""Shared memory of other blocks of a cluster: right kernels, and wrong by one slip."""

from __future__ import annotations

import pytest

from .test_phases import tiers

# Each thread stores four bytes, loads what the same thread of the other block has stored; and once more.
HEAD = """
.version 8.3
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[1024];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<8>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; shl.b32 %r3,%r1,2; add.u32 %r3,%r2,%r3;
mov.u32 %r4,%cluster_ctarank; xor.b32 %r5,%r4,1; mov.u32 %r6,bar; setp.eq.u32 %p1,%r1,0;
"""
MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
LOADS = (
    HEAD
    + """
mapa.shared::cluster.u32 %r7,%r3,%r5;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+512];
st.shared.b32 [%r3],%r1;
// STORED
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
// FIRST
ld.shared::cluster.b32 %r8,[%r7];
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
// SECOND
st.shared.b32 [%r3],%r8;
barrier.cluster.arrive.aligned;  barrier.cluster.wait.aligned;
ld.shared::cluster.b32 %r9,[%r7];
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
"""
)
ONE = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
TWO = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
THREE = "barrier.cluster.arrive.aligned;  barrier.cluster.wait.aligned;\n"
LAST = "barrier.cluster.arrive; barrier.cluster.wait;\n"
RACE, ENDED = ("likely", "shared-unsynchronised"), ("likely", "cluster-ended")
WRONG = {
    "the other block may not have stored": ((ONE, ""), RACE),
    "only this block meets": ((ONE, "bar.sync 0;\n"), RACE),
    "the other block may not have loaded": ((TWO, ""), RACE),
    "nor so at the second store": ((THREE, "bar.sync 0;\n"), RACE),
    "what a relaxed arrival makes known": ((ONE, ONE.replace("arrive.", "arrive.relaxed.")), RACE),
    "this block may end": ((LAST, ""), ENDED),
    "only this block meets at the end": ((LAST, "bar.sync 0;\n"), ENDED),
    "nobody waits at the end": ((LAST, "barrier.cluster.arrive;\n"), ENDED),
    # It meets the other one a time less, and so loads while that stores.
    "one block passes a barrier by": (
        ("// FIRST", "setp.eq.u32 %p3,%r4,1;\n@%p3 bra SKIP;\n", "// SECOND", "SKIP:\n", LAST, ""),
        RACE,
    ),
}
RIGHT = {
    "as it is": ("", ""),
    "its own memory": ("%r7,%r3,%r5;", "%r7,%r3,%r4;", ONE, "", TWO, "", LAST, ""),
    "a relaxed arrival at the end": (LAST, LAST.replace("arrive;", "arrive.relaxed;")),
    "it is not known whose": ("%r7,%r3,%r5;", "%r7,%r3,%r20;", ONE, "", LAST, ""),
    "other bytes": ("add.u32 %r3,%r2,%r3;", "add.u32 %r3,%r2,%r3; add.u32 %r10,%r3,512;",
                    "%r7,%r3,%r5;", "%r7,%r10,%r5;", ONE, "", TWO, "", THREE, ""),
    "threads wait in memory": (ONE, "W:\nld.acquire.cluster.global.u32 %r11,[%d1];\n"
                                    "setp.eq.u32 %p2,%r11,0;\n@%p2 bra W;\n", LAST, ""),
}  # fmt: skip
# One thread of each warp arrives at the other block's mbarrier; thread 0 waits for the four arrivals.
ARRIVALS = (
    HEAD
    + """
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+512];
@%p1 mbarrier.init.shared::cta.b64 [%r6],4;
@%p1 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
and.b32 %r10,%r1,31; setp.ne.u32 %p2,%r10,0;
@%p2 bra SENT;
mapa.shared::cluster.u32 %r7,%r6,%r5;
mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r7];
SENT:
@!%p1 bra DONE;
W:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4,[%r6],0;
@!%p4 bra W;
DONE:
st.shared.b32 [%r3],%r1;
ret;
}
"""
)


def slipped(text: str, changes: tuple[str, ...]) -> str:
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert not old or text.count(old) == 1, old
        text = text.replace(old, new) if old else text
    return text


@pytest.mark.parametrize("slip", WRONG)
def test_a_slip_is_found(slip: str) -> None:
    changes, found = WRONG[slip]
    assert found in tiers(slipped(LOADS, changes))


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_ordered_or_not_known_is_not_found(case: str) -> None:
    assert tiers(slipped(LOADS, RIGHT[case])) == set()


def test_arrivals_that_a_thread_of_the_block_waits_for() -> None:
    assert tiers(ARRIVALS) == set()
    unwaited = ARRIVALS.replace("@!%p1 bra DONE;", "bra DONE;")
    assert tiers(unwaited) == {ENDED}
    assert tiers(unwaited.replace("ret;", MEET + "ret;")) == set()
