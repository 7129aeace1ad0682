"""Threads of a warp that store, and others of the warp that load, with no barrier of the warp between the two.

An instruction that all lanes execute together makes them wait for one another; whether that orders memory is a
reading of warp-sync (ldmatrix, 9.7.14.5.15; bar.warp.sync, 9.7.13.2). Nothing at all orders the others.
"""

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


# Each lane stores 16 bytes at %r3 and loads those of its neighbour at %r13; `out` is in global memory.
NEIGHBOUR = "xor.b32 %r13,%r1,1; shl.b32 %r13,%r13,4; add.u32 %r13,%r2,%r13;\n"
PLAIN = "ld.shared.v4.b32 {%r14,%r15,%r16,%r17},[%r13];\n"
OWN = PLAIN.replace("%r13", "%r3")
USED = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};\n"
)
COPY = "cp.async.cg.shared.global [%r3],[%d1],16;\ncp.async.wait_all;\n"
TILE = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r2],{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7},16;\n"
MEET = "bar.warp.sync -1;\n"
LIKELY = ("likely", "warp-unsynchronised")
READING = ("reading", "warp-unsynchronised")
TOGETHER = {
    "a shuffle": "shfl.sync.idx.b32 %r20,%r1,0,31,-1;\n",
    "a vote": "vote.sync.any.pred %p2,%p1,-1;\n",
    "a product": USED,
    "a load of the warp": APART,
}
HALF = "shr.u32 %r21,%r1,4; and.b32 %r21,%r21,1; shl.b32 %r21,%r21,4; shl.b32 %r22,65535,%r21;\n"


def lanes(body: str, threads: int = 64) -> set[tuple[str, str]]:
    """What is found of a kernel that multiplies first."""
    return {(one.tier, one.rule) for one in found(USED + NEIGHBOUR + body, threads)}


LOOP = "mov.u32 %r5,0;\nLOOP:\nBODYadd.u32 %r5,%r5,1; setp.lt.u32 %p3,%r5,4;\n@%p3 bra LOOP;\n"
WRONG = {
    "stored": STORE + PLAIN,
    "by one lane": STORE.replace("st.", "@%p1 st.") + PLAIN,
    "copied and waited for": COPY + PLAIN,
    "a tile of the warp": TILE + OWN,
    "the barrier comes too late": STORE + PLAIN + MEET,
    "the barrier comes too early": MEET + STORE + PLAIN,
    "too few lanes meet": STORE
    + HALF
    + "bar.warp.sync 1;\n".replace("1;", "%r22;")
    + PLAIN.replace("%r13", "%r23"),
    "stored over": PLAIN + STORE,
    "copied over": PLAIN + COPY,
    "stored over in the next round": LOOP.replace("BODY", STORE + MEET + PLAIN),
    "on ways of their own": (
        "setp.ne.u32 %p4,%r4,0;\n@%p4 bra OTHERS;\n" + STORE + "bra ON;\nOTHERS:\n" + PLAIN + "ON:\n"
    ),
}
RIGHT = {
    "they meet": STORE + MEET + PLAIN,
    "the block meets": STORE + "bar.sync 0;\n" + PLAIN,
    "what each has stored": STORE + OWN,
    "what each has copied": COPY + OWN,
    "they meet behind the copy": COPY + MEET + PLAIN,
    "they meet behind the tile": TILE + MEET + OWN,
    "they have loaded the same": PLAIN + PLAIN,
    "what all have stored": STORE.replace("%r3", "%r2") + PLAIN.replace("%r13", "%r2"),
    "both halves meet apart": STORE + HALF + "bar.warp.sync %r22;\n" + PLAIN,
    "a mask that is not known": STORE + "ld.global.u32 %r21,[%d1];\nbar.warp.sync %r21;\n" + PLAIN,
    "they meet before they store over": PLAIN + MEET + STORE,
    "they meet twice a round": LOOP.replace("BODY", STORE + MEET + PLAIN + MEET),
    "a fence, and others may know": STORE + "membar.cta;\n" + PLAIN,
    "an address that is not known": STORE + "ld.global.u32 %r13,[%d1];\n" + PLAIN,
    "they meet from two places": (
        "setp.ne.u32 %p4,%r4,0;\n@%p4 bra OTHERS;\n"
        + STORE
        + MEET
        + "bra ON;\nOTHERS:\n"
        + MEET
        + PLAIN
        + "ON:\n"
    ),
    "they meet from two places, the load first": (
        "setp.eq.u32 %p4,%r4,0;\n@%p4 bra OTHERS;\n"
        + PLAIN
        + MEET
        + "bra ON;\nOTHERS:\n"
        + MEET
        + STORE
        + "ON:\n"
    ),
}


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("case", WRONG)
def test_nothing_stands_between_the_lanes(case: str, threads: int) -> None:
    across = "xor.b32 %r23,%r1,16; shl.b32 %r23,%r23,4; add.u32 %r23,%r2,%r23;\n"
    assert lanes(across + WRONG[case], threads) == {LIKELY}


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("case", RIGHT)
def test_lanes_that_meet_or_know(case: str, threads: int) -> None:
    assert lanes(RIGHT[case], threads) == set()


@pytest.mark.parametrize("between", TOGETHER)
def test_lanes_that_execute_something_together_between_the_two(between: str) -> None:
    assert lanes(STORE + TOGETHER[between] + PLAIN) == {READING}
    assert lanes(PLAIN + TOGETHER[between] + STORE) == {READING}
    assert lanes(TOGETHER[between] + STORE + PLAIN + TOGETHER[between]) == {LIKELY}


def test_a_copy_that_is_waited_for_and_loaded_by_the_warp_is_a_reading() -> None:
    assert {(one.tier, one.rule) for one in found(COPY + LOAD, 64)} == {READING}
    assert not found(COPY + MEET + LOAD, 64)
    assert not found(COPY + APART, 64)


def test_the_lanes_are_named() -> None:
    (finding,) = found(USED + NEIGHBOUR + STORE + PLAIN)
    assert [moment.says for moment in finding.witness] == [
        "lane 1 of warp 0 writes bytes 16 to 31 of tile",
        "lane 0 of warp 0 reads bytes 16 to 31 of tile",
    ]
