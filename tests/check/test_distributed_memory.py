"""Shared memory of other blocks, in kernels that do nothing else that is judged: that is said aloud."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[512];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 out)
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<8>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; shl.b32 %r3,%r1,2; add.u32 %r2,%r2,%r3;
mov.u32 %r4,%cluster_ctarank; xor.b32 %r4,%r4,1; cvt.u64.u32 %d1,%r2; cvta.shared.u64 %d1,%d1;
BODY
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ld.shared.u32 %r6,[%r2];
ret;
}
"""
FAR = "mapa.shared::cluster.u32 %r5,%r2,%r4; st.shared::cluster.u32 [%r5],%r1; ld.shared::cluster.u32 %r7,[%r5];"
GENERIC = "mapa.u64 %d2,%d1,%r4; st.u32 [%d2],%r1;"


def said(body: str) -> list[tuple[str, int]]:
    report = check_text(KERNEL.replace("BODY", body), "k.ptx")
    assert all("was not judged" in one.message for one in report.not_judged)
    return [(one.instruction, one.statements) for one in report.not_judged]


@pytest.mark.parametrize(("body", "statements"), [(FAR, 2), (GENERIC, 1)])
def test_accesses_of_other_blocks_are_not_judged(body: str, statements: int) -> None:
    assert said(body) == [("distributed shared memory of k", statements)]


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.u32 [%r2],%r1;",
        "mapa.u64 %d2,%d1,%r4;",  # and no access by it
        FAR + "cp.async.ca.shared.global [%r2],[%d3],16; cp.async.wait_all;",
        FAR + "mbarrier.init.shared::cta.b64 [bar],1;",
        FAR + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7},[tile];",
    ],
)
def test_nothing_is_said_where_there_are_none_or_they_are_looked_at(body: str) -> None:
    assert said(body) == []
