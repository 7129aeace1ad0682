"""An mbarrier that was invalidated (9.7.13.15.11) is used again only behind another init, and none is initialised
again while others use it (9.7.13.15.9).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k()
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+8],64;
bar.sync 0;
mbarrier.arrive.shared::cta.b64 _,[%r2];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0; @!%p2 bra W;
bar.sync 0;
@!%p1 mbarrier.inval.shared::cta.b64 [%r2];
bar.sync 0;
THEN
ret;
}
"""
INIT = "@!%p1 mbarrier.init.shared::cta.b64 [%r2],64; bar.sync 0;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,[%r2];"
WAIT = "V: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],0; @!%p3 bra V;"


@pytest.mark.parametrize(
    ("then", "rules"),
    [
        ("", set()),
        (ARRIVE, {"barrier-uninitialised"}),
        (WAIT, {"barrier-uninitialised"}),
        (INIT + ARRIVE + WAIT, set()),
        (INIT + WAIT, {"barrier-stuck"}),  # it counts anew
        ((ARRIVE + WAIT).replace("[%r2]", "[%r2+8]"), set()),
    ],
    ids=["none", "arrival", "wait", "again", "again, without arrivals", "another one"],
)
def test_an_invalidated_mbarrier(then: str, rules: set[str]) -> None:
    findings = check_text(KERNEL.replace("THEN", then), "k.ptx").findings
    assert {one.rule for one in findings} == rules
    assert all(one.tier == "likely" for one in findings if one.rule == "barrier-uninitialised")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;", {"barrier-uninitialised"}),  # others may wait still
        ("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;\nbar.warp.sync -1;", {"barrier-uninitialised"}),
        # Only the invalidating warp waits, and the phase tells it of all arrivals.
        ("W: mbarrier", "setp.ge.u32 %p4,%r1,32; @%p4 bra E; W: mbarrier", set()),
    ],
    ids=["no barrier", "one warp's barrier", "one waits"],
)
def test_an_mbarrier_is_invalidated_too_early(old: str, new: str, found: set[str]) -> None:
    text = KERNEL.replace("THEN", "")
    text = text.replace(old, new)
    if "bra E" in new:
        text = text.replace("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;").replace(
            "bar.sync 0;\n\nret", "E: ret"
        )
    assert {one.rule for one in check_text(text, "k.ptx").findings} == found


@pytest.mark.parametrize(
    "ends", ["mbarrier.inval.shared::cta.b64 [%r2]", "mbarrier.init.shared::cta.b64 [%r2],64"]
)
@pytest.mark.parametrize(("barrier", "early"), [("bar.sync 0;", False), ("", True)])
def test_an_mbarrier_is_initialised_again_too_early(ends: str, barrier: str, early: bool) -> None:
    """The other warp may wait still: a barrier must stand between."""
    text = KERNEL.replace("THEN", "").replace("mbarrier.inval.shared::cta.b64 [%r2]", ends)
    text = text.replace("@!%p2 bra W;\nbar.sync 0;", f"@!%p2 bra W;\n{barrier}")
    found = [one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-uninitialised"]
    assert len(found) == early
    again = "initialised again" if ".init" in ends else "invalidated"
    assert all(f"it is {again}, and no barrier stands between" in one.message for one in found)
