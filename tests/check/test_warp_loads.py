"""Threads of a warp that store, and load as a warp what others of them have stored: a reading of warp-sync."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 1024 .b8 tile[4096];
.visible .entry k(.param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<32>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; shl.b32 %r3,%r1,4; add.u32 %r3,%r2,%r3; and.b32 %r4,%r1,31; setp.eq.u32 %p1,%r4,0;
BODY
ret;
}
"""
STORE = "st.shared.v4.b32 [%r3],{%r5,%r6,%r7,%r8};\n"
LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9,%r10,%r11,%r12},[%r3];\n"
APART = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9,%r10,%r11,%r12},[%r3+2048];\n"


def found(body: str, threads: int = 32, chosen: dict[str, str] | None = None) -> list[Finding]:
    text = KERNEL.replace("THREADS", str(threads)).replace("BODY", body)
    report = check_text(text, "k.ptx", readings=chosen)
    assert not report.faults
    return [one for one in report.findings if one.tier != "info"]


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("store", [STORE, STORE.replace("st.", "@%p1 st."), STORE + "bar.sync 0;\n" + STORE])
def test_a_load_of_the_warp_behind_its_stores_is_a_reading(threads: int, store: str) -> None:
    (finding,) = found(store + LOAD, threads)
    assert (finding.tier, finding.rule) == ("reading", "warp-unsynchronised")
    assert finding.readings == ((("warp-sync", "waits"),),)
    assert [moment.says.split()[:2] for moment in finding.witness] == [["warp", "0"], ["warp", "0"]]


def test_the_readings_settle_it() -> None:
    assert not found(STORE + LOAD, chosen={"warp-sync": "orders"})
    (finding,) = found(STORE + LOAD, chosen={"warp-sync": "waits"})
    assert finding.tier == "error"


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    "body",
    [
        STORE + "bar.warp.sync -1;\n" + LOAD,
        STORE + "bar.sync 0;\n" + LOAD,
        STORE + APART,
        LOAD + STORE,
        LOAD + LOAD,
    ],
)
def test_barriers_order_them_and_other_bytes_are_no_matter(body: str, threads: int) -> None:
    assert not found(body, threads)


def test_stores_of_other_warps_are_another_fault() -> None:
    other = LOAD.replace("[%r3]", "[%r13]")
    body = (
        "xor.b32 %r13,%r1,32; shl.b32 %r13,%r13,4; add.u32 %r13,%r2,%r13;\n"
        + STORE
        + "bar.warp.sync -1;\n"
        + other
    )
    assert {(one.tier, one.rule) for one in found(body, 64)} == {("error", "shared-unsynchronised")}


def test_it_is_told_once_a_place() -> None:
    assert len(found(STORE + LOAD + LOAD)) == 1
