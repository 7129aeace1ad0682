"""A wait that another block of the cluster may end, in a kernel that does not say how many blocks a cluster has: it
is said that it was not judged. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Each block tells the next one of a ring, and reads what that has written (an example of CuTe DSL, with the
# meeting at its end that it lacks).
KERNEL = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 32, 1, 1
CLUSTER
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
.shared .align 8 .b64 mb; .shared .align 16 .b8 word[16];
ld.param.u64 %d1,[out];
mov.u32 %r1,%tid.x; mov.u32 %r2,mb; mov.u32 %r3,word; setp.ne.u32 %p1,%r1,0; mov.u32 %r4,%cluster_ctarank;
add.u32 %r5,%r4,1; and.b32 %r5,%r5,1;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r2],COUNT;
READY:
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait;
@%p1 bra TOLD;
st.shared.u32 [%r3],%r4;
TELLS
TOLD:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2,[%r2],PARITY; @!%p2 bra TOLD;
@%p1 bra DONE;
mapa.shared::cluster.u32 %r7,%r3,%r5; ld.shared::cluster.u32 %r8,[%r7];
mul.wide.u32 %d3,%r4,4; add.s64 %d4,%d1,%d3; st.global.u32 [%d4],%r8;
DONE:
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
"""
TELLS = "mapa.shared::cluster.u32 %r6,%r2,%r5; mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r6];"
TWO = ".explicitcluster .reqnctapercluster 2, 1, 1"


def found(cluster: str, count: int = 1, parity: int = 0, tells: str = TELLS) -> tuple[set[str], set[str]]:
    """The rules that are broken, and what was not judged."""
    text = KERNEL.replace("CLUSTER", cluster).replace("COUNT", str(count)).replace("PARITY", str(parity))
    report = check_text(text.replace("TELLS", tells), "k.ptx")
    assert not report.faults
    rules = {one.rule for one in report.findings if one.tier in ("error", "likely")}
    return rules, {one.why for one in report.not_judged if one.instruction == "barriers of k"}


@pytest.mark.parametrize("cluster", ["", TWO], ids=["of unknown size", "of two blocks"])
def test_a_right_ring_is_judged(cluster: str) -> None:
    assert found(cluster) == (set(), set())


def test_a_wait_that_other_blocks_may_end() -> None:
    assert found(TWO, 2) == ({"barrier-stuck"}, set())
    rules, why = found("", 2)
    assert not rules
    assert "how many blocks a cluster has" in why.pop() and not why


@pytest.mark.parametrize("cluster", ["", TWO], ids=["of unknown size", "of two blocks"])
@pytest.mark.parametrize("parity", [0, 1])
def test_blocks_that_only_load_from_each_other_end_no_waits(cluster: str, parity: int) -> None:
    rules, why = found(cluster, tells="", parity=parity)
    assert "barrier-stuck" in rules if not parity else rules == {"shared-unsynchronised"}
    assert not why
