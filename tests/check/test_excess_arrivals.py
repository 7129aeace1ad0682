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


DROPS = KERNEL.replace(
    "ARRIVE", "setp.lt.u32 %p3,%r1,SOME; @%p3 mbarrier.arrive_drop.shared::cta.b64 _,[bar];"
)
LATER = DROPS.replace("ret;", "V: mbarrier.try_wait.parity.shared::cta.b64 %p2,[bar],1; @!%p2 bra V;\nret;")


def test_as_many_drop_out_as_are_counted() -> None:
    assert not check_text(DROPS.replace("COUNT", "2").replace("SOME", "2"), "k.ptx").findings
    (one,) = check_text(LATER.replace("COUNT", "2").replace("SOME", "2"), "k.ptx").findings
    assert one.rule == "barrier-stuck" and "lacks an arrival that would end it, since none" in one.message


@pytest.mark.parametrize("text", [DROPS, LATER], ids=["one wait", "another wait"])
@pytest.mark.parametrize("some", [3, 4, 33])
def test_more_drop_out_than_are_counted(text: str, some: int) -> None:
    found = check_text(text.replace("COUNT", "2").replace("SOME", str(some)), "k.ptx").findings
    (one,) = (one for one in found if one.rule == "barrier-count")
    assert one.tier == "error" and "than the mbarrier counts a phase have dropped out of it" in one.message
    assert not any("lacks -" in one.message for one in found)
