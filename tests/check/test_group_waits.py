"""What one warp's wait for a product tells of the others' ordinary accesses: a reading of wait-scope."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Four warps load, multiply and wait; then one thread of them releases, and another warp stores what they loaded.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[32768];
.shared .align 8 .b64 full;
.visible .entry k(.param .u64 out)
.reqntid 160, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<16>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; and.b32 %r3,%r1,31; shl.b32 %r3,%r3,2; add.u32 %r3,%r2,%r3;
setp.eq.u32 %p1,%r1,0;
@%p1 mbarrier.init.shared::cta.b64 [full],1;
bar.sync 0;
shr.u32 %r4,%r2,4; add.u32 %r4,%r4,64; and.b32 %r4,%r4,16383; cvt.u64.u32 %d1,%r4;
setp.ge.u32 %p2,%r1,128;
@%p2 bra STORE;
EARLY
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d1,%d1,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
LATE
@%p1 mbarrier.arrive.shared::cta.b64 _,[full];
bra DONE;
STORE:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[full],0;
@!%p3 bra STORE;
st.shared.b32 [%r3],%r1;
DONE:
ret;
}
"""
LOAD = "ld.shared.b32 %r5,[%r3];"


def found(
    early: str = "", late: str = "", product: bool = True, chosen: dict[str, str] | None = None
) -> set[tuple[str, str]]:
    text = KERNEL.replace("EARLY", early).replace("LATE", late)
    if not product:
        text = "".join(line for line in text.splitlines(True) if not line.startswith("wgmma.mma"))
    report = check_text(text, "k.ptx", readings=chosen)
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier != "info"}


def test_loads_in_front_of_a_product_that_one_warp_has_waited_for() -> None:
    assert found(LOAD) == {("reading", "shared-unsynchronised")}
    assert found(LOAD, chosen={"wait-scope": "warpgroup"}) == set()
    assert found(LOAD, chosen={"wait-scope": "warp"}) == {("error", "shared-unsynchronised")}


@pytest.mark.parametrize("wait", ["bar.sync 1,128;", "barrier.sync.aligned 2,128;"])
def test_a_barrier_orders_them_under_every_reading(wait: str) -> None:
    assert found(LOAD, wait) == set()


def test_loads_behind_the_wait_are_not_covered_by_it() -> None:
    assert found(late=LOAD) == {("error", "shared-unsynchronised")}


def test_without_a_product_the_wait_covers_nothing() -> None:
    assert found(LOAD, product=False) == {("error", "shared-unsynchronised")}
