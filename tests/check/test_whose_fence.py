"""Whose proxy fence covers a generic write before a bulk store (9.7.15.4): the writer's own, certainly; another
thread's behind the synchronisation, under one reading; one that precedes the synchronisation, never.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/ordering/switches.yaml",)
KERNEL = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 96, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
.shared .align 128 .b8 tile[512];
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; mad.lo.u32 %r3,%r1,4,%r2; ld.param.u64 %rd1,[out];
setp.eq.u32 %p1,%r1,0; setp.lt.u32 %p2,%r1,32; setp.ge.u32 %p3,%r1,64;
st.shared.u32 [%r3],%r1;
BEFORE
bar.sync 0;
BETWEEN
@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1],[%r2],384;
@%p1 cp.async.bulk.commit_group;
@%p1 cp.async.bulk.wait_group 0;
ret;
}
"""
FENCE = "fence.proxy.async.shared::cta;"


@pytest.mark.parametrize(
    ("before", "between", "tiers"),
    [
        (FENCE, "", []),
        ("", "", ["error"]),
        ("@%p1 " + FENCE, "", ["error"]),
        ("@%p2 " + FENCE, "", ["error"]),
        ("@%p3 " + FENCE, "", ["error"]),
        ("", FENCE, ["reading"]),
        ("", "@%p1 " + FENCE, ["reading"]),
        ("@%p2 " + FENCE, "@%p1 " + FENCE, ["reading"]),
        (FENCE, "@%p1 " + FENCE, []),
    ],
    ids=[
        "all writers",
        "none",
        "one thread, before",
        "its warp, before",
        "another warp, before",
        "all, behind",
        "the thread that stores, behind",
        "its warp, before, and it again, behind",
        "all writers, and it again",
    ],
)
def test_whose_fence(before: str, between: str, tiers: list[str]) -> None:
    findings = check_text(KERNEL.replace("BEFORE", before).replace("BETWEEN", between), "k.ptx").findings
    assert [(one.tier, one.rule) for one in findings] == [(tier, "bulk-store-fence") for tier in tiers]
    settled = check_text(
        KERNEL.replace("BEFORE", before).replace("BETWEEN", between),
        "k.ptx",
        readings={"proxy-fence-side": "either"},
    ).findings
    assert [one.tier for one in settled] == [tier for tier in tiers if tier == "error"]
