"""More arrivals than an mbarrier counts are undefined (9.7.13.15.2): they are followed no further than one phase a
thread, so that the checker comes to an end.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/execution/barriers.py",)
KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k()
.reqntid 128, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<4>;
.shared .align 8 .b8 bar[8];
mov.u32 %r1,%tid.x; setp.ne.u32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [bar],COUNT;
bar.sync 0;
ARRIVE
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[bar],0; @!%p2 bra W;
ret;
}
"""


@pytest.mark.parametrize(
    ("count", "arrive", "is_right"),
    [
        ("128", "mbarrier.arrive_drop.shared::cta.b64 _,[bar];", True),
        ("1", "mbarrier.arrive_drop.shared::cta.b64 _,[bar];", False),
        ("1", "@!%p1 mbarrier.arrive_drop.shared::cta.b64 _,[bar],3;", False),
        ("1", "@!%p1 mbarrier.arrive.shared::cta.b64 _,[bar],4294967295;", False),
    ],
)
def test_the_checker_ends(count: str, arrive: str, is_right: bool) -> None:
    report = check_text(KERNEL.replace("COUNT", count).replace("ARRIVE", arrive), "k.ptx")
    assert not report.faults
    assert not is_right or not report.findings
