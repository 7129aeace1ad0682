"""A wait that does not end with the numbers that are assumed for parameters, and may with others: it is said that it was
not judged. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
.shared .align 16 .b8 tile[256]; .shared .align 8 .b64 mb;
ld.param.u64 %d1,[out]; ld.param.u32 %r9,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,mb; mov.u32 %r3,tile; setp.ne.u32 %p1,%r1,0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r2],COUNT;
READY: bar.sync 0;
shl.b32 %r4,%r1,2; add.u32 %r4,%r4,%r3; st.shared.u32 [%r4],%r1;
setp.eq.u32 %p2,%r9,3;
ARRIVE
L: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],0; @!%p3 bra L;
xor.b32 %r5,%r4,128; ld.shared.u32 %r6,[%r5];
mul.wide.u32 %d3,%r1,4; add.s64 %d4,%d1,%d3; st.global.u32 [%d4],%r6;
ret;
}
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,[%r2];"


def found(arrive: str, count: int = 64) -> tuple[set[tuple[str, str]], list[str]]:
    """The rules that are broken, and why barriers were not judged."""
    report = check_text(KERNEL.replace("ARRIVE", arrive).replace("COUNT", str(count)), "k.ptx")
    assert not report.faults
    rules = {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}
    return rules, [one.why for one in report.not_judged if one.instruction == "barriers of k"]


@pytest.mark.parametrize(
    ("arrive", "count"),
    [(ARRIVE, 64), (f"@%p2 {ARRIVE} @!%p2 {ARRIVE}", 64), (f"{ARRIVE} {ARRIVE}", 128)],
    ids=["each thread", "each in one of two ways", "each twice"],
)
def test_a_wait_that_ends_is_judged(arrive: str, count: int) -> None:
    assert found(arrive, count) == (set(), [])
    rules, why = found(arrive, count + 1)
    assert rules == {("error", "barrier-stuck")} if "%p2" not in arrive else why


@pytest.mark.parametrize(
    ("arrive", "count"),
    [(f"@%p2 {ARRIVE}", 64), (f"{ARRIVE} @%p2 {ARRIVE}", 128)],
    ids=["some numbers", "a second time"],
)
def test_a_wait_that_other_numbers_may_end_is_not_judged(arrive: str, count: int) -> None:
    rules, why = found(arrive, count)
    assert not rules
    assert len(why) == 1 and "numbers that were assumed" in why[0]
