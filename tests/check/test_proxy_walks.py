"""Which bytes a store writes, thread by thread, and whether a product reads them: pairs one slip apart."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding

HEAD = """.version 8.5
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
.maxntid THREADS, 1, 1
{
.reg .f32 %f<9>; .reg .b64 %d<40>; .reg .pred %p<9>; .reg .b32 %r<64>;
.local .align 16 .b8 stack[64];
ld.param.u64 %d2, [out]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, smem;
"""
TAIL = "ret;\n}\n"
FENCE = "fence.proxy.async.shared::cta;\n"
BAR = "bar.sync 0;\n"
# A and B of 64 rows and 8 columns of 32 bytes in lines of 128: bytes 0..8191 and 8192..9215 of the variable.
DESCRIPTORS = """shr.u32 %r3, %r2, 4; and.b32 %r3, %r3, 16383; cvt.u64.u32 %d3, %r3; or.b64 %d0, %d3, 0x4000004000010000;
add.u32 %r4, %r2, 8192; shr.u32 %r4, %r4, 4; and.b32 %r4, %r4, 16383; cvt.u64.u32 %d4, %r4; or.b64 %d1, %d4, 0x4000004000010000;
"""
MMA = """wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
ROW = "shl.b32 %r5, %r1, 6; add.u32 %r5, %r2, %r5;\n"  # 64 bytes a thread: all of A
STORE = "st.shared.v4.b32 [%r5], {%r1,%r1,%r1,%r1};\n"


def findings(body: str, threads: int = 128) -> list[Finding]:
    report = check_text(HEAD.replace("THREADS", str(threads)) + body + TAIL, "k.ptx")
    assert not report.faults
    return [one for one in report.findings if one.tier in ("error", "likely") and "proxy" in one.rule]


def tiers(body: str, threads: int = 128) -> list[str]:
    return [one.tier for one in findings(body, threads)]


def test_a_store_without_a_fence_and_the_bytes_that_meet() -> None:
    body = DESCRIPTORS + ROW + STORE
    (found,) = findings(body + BAR + MMA)
    assert found.tier == "error"
    assert "line 14 writes bytes 0..8143 of dynamic shared memory, the matrix is 0..8191" in found.message
    assert [(one.what, one.first, one.last) for one in found.ranges] == [
        ("written", 0, 8143),
        ("read", 0, 8191),
    ]
    assert tiers(body + FENCE + BAR + MMA) == []


@pytest.mark.parametrize(("guard", "tier"), [("@%p1 ", ["error"]), ("", [])])
def test_a_fence_that_a_parameter_decides(guard: str, tier: list[str]) -> None:
    """With n = 0 no fence is executed; the store is."""
    decides = "setp.ne.u32 %p1, %r0, 0;\n"
    assert tiers(DESCRIPTORS + ROW + decides + STORE + guard + FENCE + BAR + MMA) == tier
    assert tiers(DESCRIPTORS + ROW + decides + "@%p1 " + STORE + "@%p1 " + FENCE + BAR + MMA) == []


def test_a_store_behind_many_others_is_told_apart() -> None:
    """Sixty stores behind the matrices, and one among them that lies inside."""
    others = "".join(f"st.shared.b32 [%r6+{16384 + 512 * at}], %r1;\n" for at in range(60))
    body = DESCRIPTORS + ROW + "shl.b32 %r6, %r1, 2; add.u32 %r6, %r2, %r6;\n"
    assert tiers(body + others + BAR + MMA) == []
    (found,) = findings(body + others + STORE + BAR + MMA)
    assert found.tier == "error" and found.witness[0].statement == "st.shared.v4.b32"


def loop(stages: int) -> str:
    """A loop that stores into a ring of stages behind the matrices; its index is carried by the loop."""
    return (
        "mov.u32 %r10, 0; mov.u32 %r11, 0;\nL:\n"
        f"shl.b32 %r12, %r11, {14}; add.u32 %r13, %r5, %r12;\n"
        + STORE.replace("%r5", "%r13+BASE")
        + BAR
        + MMA
        + f"add.u32 %r11, %r11, 1; setp.eq.u32 %p2, %r11, {stages}; selp.u32 %r11, 0, %r11, %p2;\n"
        "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r0; @%p1 bra L;\n"
    )


def test_a_stage_index_that_a_loop_carries() -> None:
    body = DESCRIPTORS + ROW
    assert tiers(body + loop(4).replace("BASE", "16384")) == []
    assert tiers(body + loop(4).replace("BASE", "0")) == ["error"]


@pytest.mark.parametrize(("first", "tier"), [(128, []), (64, ["error"])])
def test_a_branch_narrows_the_threads(first: int, tier: list[str]) -> None:
    """Threads from 128 on store behind A and B; threads from 64 on also into A."""
    store = f"setp.lt.u32 %p1, %r1, {first};\n@%p1 bra L;\n" + STORE.replace("%r5", "%r5+1024") + "L:\n"
    group = "setp.ge.u32 %p3, %r1, 128;\n@%p3 bra DONE;\n" + MMA + "DONE:\n"
    assert tiers(DESCRIPTORS + ROW + store + BAR + group, 256) == tier


@pytest.mark.parametrize(("offset", "tier"), [(0, ["error"]), (16384, [])])
def test_an_address_that_is_aligned_at_run_time(offset: int, tier: list[str]) -> None:
    aligned = (
        "cvt.u64.u32 %d10, %r2; add.u64 %d10, %d10, 1023; and.b64 %d10, %d10, -1024; cvt.u32.u64 %r2, %d10;\n"
    )
    body = aligned + DESCRIPTORS + ROW + STORE.replace("%r5", f"%r5+{offset}")
    assert tiers(body + BAR + MMA) == tier
    assert tiers(body + FENCE + BAR + MMA) == []


@pytest.mark.parametrize(("offset", "tier"), [(0, ["error"]), (16384, [])])
def test_a_swizzled_address_of_64_bits(offset: int, tier: list[str]) -> None:
    """The chunk of 16 bytes is xor-ed with the row, as the 128-byte swizzle does it, on a generic address."""
    swizzled = (
        "cvt.u64.u32 %d10, %r2; cvta.shared.u64 %d11, %d10;\n"
        "cvt.u64.u32 %d12, %r1; shl.b64 %d13, %d12, 4; and.b64 %d14, %d13, 0x780; shr.u64 %d15, %d14, 3;\n"
        "xor.b64 %d16, %d13, %d15; add.u64 %d17, %d11, %d16;\n"
    )
    store = f"st.v4.b32 [%d17+{offset}], {{%r1,%r1,%r1,%r1}};\n"
    assert tiers(swizzled + DESCRIPTORS + store + BAR + MMA) == tier
    assert tiers(swizzled + DESCRIPTORS + store + FENCE + BAR + MMA) == []


def test_other_memory_is_not_shared_memory() -> None:
    pointer = "mul.wide.u32 %d20, %r1, 16; add.u64 %d21, %d2, %d20;\n"
    stack = "mov.u64 %d22, stack; cvta.local.u64 %d23, %d22;\n"
    for store in (pointer + "st.b32 [%d21], %r1;\n", stack + "st.b32 [%d23], %r1;\n"):
        assert tiers(DESCRIPTORS + store + BAR + MMA) == []


def test_an_unknown_address_is_not_accused() -> None:
    """The offset comes from memory: it may lie anywhere."""
    loaded = "ld.global.b32 %r20, [%d2]; add.u32 %r21, %r2, %r20;\n"
    assert tiers(DESCRIPTORS + loaded + STORE.replace("%r5", "%r21") + BAR + MMA) == []


def test_an_elected_fence_covers_its_own_thread_alone() -> None:
    elected = "elect.sync _|%p1, -1;\n"
    body = DESCRIPTORS + ROW + elected
    assert tiers(body + STORE + "@%p1 " + FENCE + BAR + MMA) == ["error"]
    assert tiers(body + "@%p1 " + STORE + "@%p1 " + FENCE + BAR + MMA) == []


def test_a_copy_that_is_waited_for_needs_a_fence() -> None:
    copy = "cp.async.cg.shared.global [%r5], [%d2], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
    assert tiers(DESCRIPTORS + ROW + copy + BAR + MMA) == ["error"]
    assert tiers(DESCRIPTORS + ROW + copy + FENCE + BAR + MMA) == []


def test_one_missing_fence_is_one_finding() -> None:
    stores = STORE + STORE.replace("%r5", "%r5+16") + STORE.replace("%r5", "%r5+32")
    (found,) = findings(DESCRIPTORS + ROW + stores + BAR + MMA + MMA)
    assert found.more == 1  # the second product


@pytest.mark.parametrize(("count", "tier"), [("x1", []), ("x2", ["error"])])
def test_lanes_that_supply_no_row_write_nothing(count: str, tier: list[str]) -> None:
    """Of 32 lanes the first 8 or 16 supply rows; from lane 8 on their addresses lie in A."""
    row = (
        "and.b32 %r7, %r1, 8; setp.eq.u32 %p1, %r7, 0; selp.u32 %r8, 16384, 0, %p1; add.u32 %r9, %r5, %r8;\n"
    )
    first = "setp.ge.u32 %p2, %r1, 16;\nselp.u32 %r9, %r2, %r9, %p2;\n"
    registers = "{%r1}" if count == "x1" else "{%r1,%r1}"
    store = f"stmatrix.sync.aligned.m8n8.{count}.shared.b16 [%r9], {registers};\n"
    body = DESCRIPTORS + ROW + row + first + "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra L;\n" + store + "L:\n"
    assert tiers(body + BAR + MMA) == tier
    assert tiers(body + FENCE + BAR + MMA) == []


@pytest.mark.parametrize(
    ("where", "tier"),
    [
        ("mapa.shared::cluster.u32 %r9, %r5, 1;\n", []),
        (
            "mov.u32 %r7, %cluster_ctarank; xor.b32 %r7, %r7, 1;\nmapa.shared::cluster.u32 %r9, %r5, %r7;\n",
            [],
        ),
        ("mov.u32 %r9, %r5;\n", ["error"]),
    ],
)
def test_a_store_into_another_block_is_none_of_this_one(where: str, tier: list[str]) -> None:
    meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
    store = STORE.replace("st.shared", "st.shared::cluster").replace("%r5", "%r9")
    assert tiers(DESCRIPTORS + ROW + where + store + meet + MMA) == tier
