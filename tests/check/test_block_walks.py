"""Copies and bulk stores against what the text says of them: right kernels, and each of them one slip away."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.7
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .align 64 .b8 map[128])
.maxntid {threads}, 1, 1
{{
.reg .b32 %r<64>;
.reg .b32 %a<16>;
.reg .f32 %f<8>;
.reg .b64 %d<16>;
.reg .pred %p<8>;
ld.param.u64 %d3, [in];
ld.param.u64 %d4, [out];
ld.param.u32 %r0, [n];
mov.u32 %r1, %tid.x;
mov.u32 %r2, smem;
shl.b32 %r4, %r1, 4;
"""
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%a0,%a1,%a2,%a3}, {%a4,%a5}, {%f0,%f1,%f2,%f3};\n"
FILL = (
    "shl.b32 %r20, %r10, 13;\nadd.u32 %r21, %r2, %r20;\nadd.u32 %r21, %r21, %r4;\n"
    "cp.async.cg.shared.global [%r21], [%d3], 16;\n"
    "cp.async.cg.shared.global [%r21+4096], [%d3], 16;\n"
)
COMMIT = "cp.async.commit_group;\n"
# Three stages of 8 KiB, each thread copies two rows of 16 bytes; two groups are on their way.
RING = (
    "mov.u32 %r10, 0;\n" + FILL + COMMIT + "mov.u32 %r10, 1;\n" + FILL + COMMIT + "mov.u32 %r11, 0;\n"
    "mov.u32 %r10, 2;\nmov.u32 %r12, 0;\n"
    "L:\n"
    "cp.async.wait_group 1;\n"
    "bar.sync 0;\n"
    "shl.b32 %r22, %r11, 13;\nadd.u32 %r23, %r2, %r22;\nand.b32 %r24, %r4, 511;\nadd.u32 %r23, %r23, %r24;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0,%a1,%a2,%a3}, [%r23];\n"
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a4,%a5}, [%r23+4096];\n"
    + MMA
    + "bar.sync 0;\n"
    + FILL
    + COMMIT
    + "add.u32 %r11, %r11, 1;\nsetp.gt.s32 %p1, %r11, 2;\nselp.b32 %r11, 0, %r11, %p1;\n"
    "add.u32 %r10, %r10, 1;\nsetp.gt.s32 %p1, %r10, 2;\nselp.b32 %r10, 0, %r10, %p1;\n"
    "add.u32 %r12, %r12, 1;\nsetp.lt.u32 %p2, %r12, %r0;\n@%p2 bra L;\n"
    "cp.async.wait_group 0;\nret;\n}\n"
)
# All threads store, one of them starts the bulk store and waits, all meet, and store again.
STORE = (
    "add.u32 %r5, %r2, %r4;\n"
    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%a0,%a1,%a2,%a3};\n"
    "fence.proxy.async.shared::cta;\n"
    "bar.sync 0;\n"
    "setp.ne.u32 %p1, %r1, 0;\n"
    "@%p1 bra S;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {%r6, %r7}], [%r2];\n"
    "cp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group.read 0;\n"
    "S:\n"
    "bar.sync 0; // again\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n"
    "ret;\n}\n"
)
REDUCE = STORE.replace(
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {%r6, %r7}], [%r2]",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d4], [%r2], 2048",
)
# A bulk copy fills what threads then read.
LOAD = (
    "add.u32 %r8, %r2, 16384;\n"
    "setp.ne.u32 %p1, %r1, 0;\n"
    "@%p1 bra I;\n"
    "mbarrier.init.shared::cta.b64 [%r8], 1;\n"
    "I:\n"
    "bar.sync 0;\n"
    "@%p1 bra S;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 2048;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d3], 2048, [%r8];\n"
    "S:\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8], 0;\n@!%p3 bra W;\n"
    "add.u32 %r5, %r2, %r4;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0,%a1,%a2,%a3}, [%r5];\n"
    "ret;\n}\n"
)
# Each warp stores a part of its own, and the first one starts a bulk store of it.
PARTS = (
    "shr.u32 %r9, %r1, 5;\nshl.b32 %r10, %r9, 11;\nadd.u32 %r11, %r2, %r10;\nand.b32 %r12, %r4, 511;\n"
    "add.u32 %r5, %r11, %r12;\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n"
    "fence.proxy.async.shared::cta;\n"
    "bar.warp.sync -1;\n"
    "elect.sync _|%p1, -1;\n"
    "setp.ge.u32 %p3, %r9, 1;\n"
    "@!%p1 bra S;\n@%p3 bra S;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {%r6, %r7}], [%r11];\n"
    "cp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group.read 0;\n"
    "S:\n"
    "bar.warp.sync -1;\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n"
    "ret;\n}\n"
)
# Two buffers: threads of the first warp store them, by a flag from memory that is 0 in all other warps.
TWO = (
    "mov.u32 %r30, 0;\nsetp.gt.u32 %p4, %r1, 31;\n@%p4 bra E;\n"
    "ld.global.u32 %r30, [%d3];\n"
    "E:\nsetp.eq.u32 %p6, %r30, 0;\nadd.u32 %r5, %r2, %r4;\n"
    + "".join(
        f"st.shared.v4.b32 [%r5+{at}], {{%a0,%a1,%a2,%a3}};\n"
        "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
        f"@%p6 bra S{at};\nadd.u32 %r6, %r2, {at};\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {%r7, %r7}], [%r6];\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 1;\n"
        f"S{at}:\nbar.sync 0;\n"
        for at in (0, 4096)
    )
    + "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\nret;\n}\n"
)
ELECTED = "mov.u32 %r32, -1;\nelect.sync _|%p5, %r32;\nselp.u32 %r30, 1, 0, %p5;\n"
MAYBE = "likely shared-unsynchronised"  # the size of a tensor's box is not in the PTX
TMA, RACE, PART = "error bulk-store-fence", "error shared-unsynchronised", "error copy-incomplete"


def told(body: str, target: str = "sm_90a", threads: int = 128) -> set[str]:
    """Tier and rule of what is found in a kernel, its end aside: test_unwaited_stores looks at ends."""
    text = HEAD.format(target=target, threads=threads) + body
    report = check_text(text, "k.ptx")
    assert not report.faults
    found = {f"{finding.tier} {finding.rule}" for finding in report.findings}
    return found - {"reading bulk-store-unwaited"}


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a", "sm_120a"])
def test_a_pipeline_of_copies(target: str) -> None:
    assert told(RING, target) == set()


@pytest.mark.parametrize("body", [STORE, REDUCE, LOAD, PARTS, TWO])
def test_bulk_copies_that_are_waited_for(body: str) -> None:
    assert told(body) == set()


@pytest.mark.parametrize(
    ("body", "old", "new", "expected"),
    [
        # The mask of elect.sync is written where only the first warp comes.
        (TWO, "ld.global.u32 %r30, [%d3];\n", ELECTED, set()),
        (
            TWO.replace("read 1;\nS4096", "read 2;\nS4096"),
            "ld.global.u32 %r30, [%d3];\n",
            ELECTED,
            {"error bulk-store-pending"},
        ),
        (TWO, "read 1;\nS4096", "read 2;\nS4096", {"likely bulk-store-pending"}),
        # cp.async: the wait, the commit, the barriers
        (RING, "wait_group 1;", "wait_group 2;", {PART}),
        (RING, "cp.async.wait_group 1;\n", "", {PART}),
        (RING, "wait_group 1;\nbar.sync 0;", "wait_group 1;", {RACE}),
        (RING, "wait_group 1;\nbar.sync 0;", "wait_group 1;\nbar.warp.sync -1;", {RACE}),
        (RING, "wait_group 1;\nbar.sync 0;", "bar.sync 0;\ncp.async.wait_group 1;", {RACE}),
        (RING, COMMIT + "mov.u32 %r11", "mov.u32 %r11", {PART}),
        (RING, MMA + "bar.sync 0;\n", MMA, set()),  # the stage was read before the barrier above
        (RING, "setp.gt.s32 %p1, %r10, 2", "setp.gt.s32 %p1, %r10, 1", {PART}),
        (RING.replace(MMA + "bar.sync 0;\n", MMA), "mov.u32 %r10, 2", "mov.u32 %r10, 0", {RACE}),
        # bulk stores
        (STORE, "fence.proxy.async.shared::cta;\n", "", {TMA}),
        (STORE, "fence.proxy.async.shared::cta", "fence.proxy.async.global", {TMA}),
        (STORE, "fence.proxy.async.shared::cta", "fence.acq_rel.cta", {TMA}),
        (STORE, "fence.proxy.async.shared::cta;\nbar.sync 0;", "fence.proxy.async.shared::cta;", {MAYBE}),
        (REDUCE, "fence.proxy.async.shared::cta;\nbar.sync 0;", "fence.proxy.async.shared::cta;", {RACE}),
        (STORE, "cp.async.bulk.wait_group.read 0;\n", "", {"error bulk-store-pending"}),
        (STORE, "wait_group.read 0", "wait_group.read 1", {"error bulk-store-pending"}),
        (STORE, "cp.async.bulk.commit_group;\n", "", {"error bulk-store-pending"}),
        (STORE, "wait_group.read 0", "wait_group 0", set()),
        (STORE, "bar.sync 0; // again\n", "", {MAYBE}),
        (REDUCE, "bar.sync 0; // again\n", "", {RACE}),
        (
            STORE,
            "fence.proxy.async.shared::cta;\nbar.sync 0;",
            "bar.sync 0;\nfence.proxy.async.shared::cta;",
            {"reading bulk-store-fence"},
        ),
        (REDUCE, "fence.proxy.async.shared::cta;\n", "", {TMA}),
        (REDUCE, "cp.async.bulk.wait_group.read 0;\n", "", {"error bulk-store-pending"}),
        # bulk copies
        (LOAD, "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8], 0;\n@!%p3 bra W;\n", "", {PART}),
        (
            LOAD,
            "try_wait.parity.shared::cta.b64 %p3, [%r8]",
            "try_wait.parity.shared::cta.b64 %p3, [%r8+8]",
            {PART, "error barrier-uninitialised"},
        ),
    ],
)
def test_one_slip(body: str, old: str, new: str, expected: set[str]) -> None:
    assert body.count(old) >= 1
    assert told(body.replace(old, new, 1)) == expected


def test_a_call_may_do_anything() -> None:
    call = "call.uni helper, ();\n"
    head = HEAD.replace(".visible .entry", ".extern .func helper();\n.visible .entry")
    body = RING.replace("wait_group 1;\nbar.sync 0;", f"wait_group 1;\n{call}")
    report = check_text(head.format(target="sm_80", threads=128) + body, "k.ptx")
    assert [finding.rule for finding in report.findings if finding.tier == "error"] == []


def test_one_warp_needs_no_barrier() -> None:
    assert told(RING.replace("bar.sync 0;\n", "bar.warp.sync -1;\n"), threads=32) == set()


def test_threads_of_a_block_of_unknown_size_differ() -> None:
    """Each thread may read what it has copied itself: %tid.x tells threads apart, also without .maxntid."""
    head = HEAD.replace(".maxntid {threads}, 1, 1\n", "").format(target="sm_80")
    copied = "add.u32 %r5, %r2, %r4;\ncp.async.cg.shared.global [%r5], [%d3], 16;\n" + COMMIT
    own = copied + "cp.async.wait_group 0;\nld.shared.b32 %a0, [%r5];\nbar.sync 0;\n" + MMA + "ret;\n}\n"
    other = own.replace("%a0, [%r5]", "%a0, [%r2]")
    rules = [[finding.rule for finding in check_text(head + body, "k.ptx").findings] for body in (own, other)]
    assert rules == [[], ["shared-unsynchronised"]]


def told_of(text: str) -> set[str]:
    """Tier and rule of what is found in a file."""
    return {f"{finding.tier} {finding.rule}" for finding in check_text(text, "k.ptx").findings}


def test_a_block_whose_size_is_not_given_has_one_thread_of_each_number() -> None:
    """Thread 0 alone stores in bulk, waits, and copies again: thread 32 is another one."""
    head = HEAD.format(target="sm_90a", threads=128).replace(".maxntid 128, 1, 1", "")
    body = (
        "setp.ne.u32 %p4, %r1, 0;\nadd.u32 %r8, %r2, 8192;\nmov.u32 %r12, 0;\n@%p4 bra MADE;\n"
        "mbarrier.init.shared::cta.b64 [%r8], 1;\nMADE:\nbar.sync 0;\n"
        "L:\n@%p4 bra W;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 2048;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d3], 2048, [%r8];\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8], %r12;\n@!%p3 bra W;\n"
        "add.u32 %r5, %r2, %r4;\nbar.sync 0;\n"
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%a0,%a1,%a2,%a3};\n"
        "fence.proxy.async.shared::cta;\nbar.sync 0;\n@%p4 bra STORED;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d4], [%r2], 2048;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nSTORED:\n"
        "xor.b32 %r12, %r12, 1;\nadd.u32 %r13, %r13, 1;\nsetp.lt.u32 %p2, %r13, %r0;\n@%p2 bra L;\nret;\n}\n"
    )
    assert told_of(head + body) == set()
    assert told_of(head + body.replace("wait_group.read 0", "wait_group.read 1")) != set()


GUARDED = (
    "ld.global.u32 %r0, [%d3];\nsetp.lt.u32 %p1, %r1, %r0;\nadd.u32 %r5, %r2, %r4;\n"
    "@%p1 cp.async.cg.shared.global [%r5], [%d3], 16;\n"
    "@%p1 bra COPIED;\nst.shared.v4.b32 [%r5], {%r1,%r1,%r1,%r1};\nCOPIED:\n"
    "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0,%a1,%a2,%a3}, [%r5];\nret;\n}\n"
)


def test_a_walk_takes_one_value_of_a_predicate() -> None:
    assert told(GUARDED) == set()
    assert told(GUARDED.replace("@%p1 bra COPIED", "@!%p1 bra COPIED")) == {"likely copy-incomplete"}


# A loop unrolled by two, as nvcc writes it: its odd last round starts a copy only if one more round followed.
ODD = (
    "ld.global.nc.u32 %r30, [%d3];\nsetp.lt.s32 %p1, %r30, 1;\n@%p1 bra Y;\n"
    "and.b32 %r31, %r30, 2147483646;\nand.b32 %r32, %r30, 1;\n"
    "setp.eq.s32 %p2, %r32, 0;\n@%p2 bra Y;\n"
    "add.s32 %r33, %r31, 1;\nsetp.ge.s32 %p3, %r33, %r30;\n@%p3 bra X;\n"
    "add.u32 %r21, %r2, %r4;\ncp.async.cg.shared.global [%r21], [%d3], 16;\ncp.async.commit_group;\n"
    "X:\nadd.u32 %r5, %r2, %r4;\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%a0,%a1,%a2,%a3};\nY:\nret;\n}\n"
)


@pytest.mark.parametrize(("compare", "expected"), [("ge.s32", set()), ("gt.s32", {"likely copy-incomplete"})])
def test_a_race_is_on_a_path_that_can_happen(compare: str, expected: set[str]) -> None:
    """A walk assumes predicates over what is loaded; no number of rounds is odd and one more than itself."""
    found = told(ODD.replace("setp.ge.s32", f"setp.{compare}"))
    assert {one for one in found if not one.startswith("info")} == expected


# A ring of four stages, unrolled as Marlin has it: a round starts the copy for the round four further on, if there
# will be one. Behind the last round the stages are overwritten. Many conditions decide how many rounds there are.
_STAGE = (
    "cp.async.wait_group 2;\nbar.sync 0;\nsetp.lt.s32 %p2, %r30, {least};\n@%p2 bra N{at};\n"
    "cp.async.cg.shared.global [%r21+{place}], [%d3], 16;\nN{at}:\n"
    + COMMIT
    + "ld.shared.b32 %a0, [%r23+{read}];\n"
)
_LEAVE = "mov.u32 %r31, 0;\nsetp.eq.s32 %p3, %r30, {last};\n@%p3 bra X;\n"
LAST = (
    "mov.u32 %r0, %nsmid;\n"
    + "".join(
        f"ld.param.u32 %r{40 + i}, [n];\nsetp.gt.s32 %p1, %r{40 + i}, {i};\n@%p1 bra D{i};\n"
        f"xor.b32 %r0, %r0, %r{40 + i};\nD{i}:\nmul.lo.s32 %r0, %r0, 3;\n"
        for i in range(14)
    )
    + "add.u32 %r21, %r2, %r4;\nxor.b32 %r22, %r4, 1024;\nadd.u32 %r23, %r2, %r22;\nmov.u32 %r30, %r0;\nM:\n"
    + "".join(
        _STAGE.format(at=at, least=4 + at, place=8192 * ((at + 3) % 4), read=8192 * at)
        + _LEAVE.format(last=1 + at)
        for at in range(3)
    )
    + _STAGE.format(at=3, least=7, place=16384, read=24576)
    + "add.s32 %r31, %r30, -4;\nX:\nmov.u32 %r30, %r31;\nsetp.ne.s32 %p4, %r30, 0;\n@%p4 bra E;\n"
    "st.shared.b32 [%r23+16384], %r1;\nbar.sync 0;\nmov.u32 %r30, %r0;\nE:\n"
    "add.u32 %r12, %r12, 1;\nsetp.lt.u32 %p5, %r12, %r0;\n@%p5 bra M;\nret;\n}\n"
)


def test_the_last_rounds_start_no_copy() -> None:
    """Too many paths lead to the loop to follow each; its last round alone shows that no copy is left."""
    assert told(LAST) == set()
    assert told(LAST.replace("%p2, %r30, 7", "%p2, %r30, 4")) == {"likely copy-incomplete"}


# Each thread of a block of 32 x 4 copies its own 16 bytes, and stores to them.
PLANE = (
    "mov.u32 %r30, %tid.y;\nand.b32 %r31, %r1, 31;\nshl.b32 %r32, %r30, 5;\nadd.u32 %r33, %r31, %r32;\n"
    "shl.b32 %r33, %r33, 4;\nadd.u32 %r5, %r2, %r33;\n"
    "cp.async.cg.shared.global [%r5], [%d3], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n" + MMA + "ret;\n}\n"
)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (".maxntid 128, 1, 1", set()),
        (".reqntid 32, 4, 1", set()),
        (".reqntid 128, 1, 1", {RACE}),
    ],
)
def test_a_limit_of_threads_is_no_shape(shape: str, expected: set[str]) -> None:
    """`.maxntid 128, 1, 1` allows blocks of 32 x 4 threads; only `.reqntid` says which a block has."""
    text = HEAD.format(target="sm_80", threads=128).replace(".maxntid 128, 1, 1", shape) + PLANE
    found = {f"{f.tier} {f.rule}" for f in check_text(text, "k.ptx").findings if f.tier != "info"}
    assert found == expected


# Thread 0 fills a stage once all warps have released it; lane 0 releases it for its warp.
RELEASED = """.version 8.5
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[8192];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<16>; .reg .b64 %d<4>; .reg .pred %p<8>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; and.b32 %r3,%r1,31; shl.b32 %r4,%r1,2; add.u32 %r4,%r2,%r4;
ld.param.u64 %d1,[in]; ld.param.u32 %r5,[n];
setp.ne.u32 %p0,%r1,0; setp.ne.u32 %p1,%r3,0;
@%p0 bra MADE;
mbarrier.init.shared::cta.b64 [%r2+4096],1;
mbarrier.init.shared::cta.b64 [%r2+4104],4;
MADE: bar.sync 0;
mov.u32 %r6,0; mov.u32 %r7,0;
ROUND:
@%p0 bra FULL;
xor.b32 %r8,%r6,1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2+4104],%r8;
@!%p2 bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+4096],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d1],1024,[%r2+4096];
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2+4096],%r6;
@!%p2 bra FULL;
ld.shared.b32 %r9,[%r4];
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@!%p1 mbarrier.arrive.shared::cta.b64 _,[%r2+4104];
xor.b32 %r6,%r6,1; add.u32 %r7,%r7,1;
setp.lt.u32 %p3,%r7,%r5;
@%p3 bra ROUND;
ret;
}
"""


def test_a_lane_releases_for_its_warp() -> None:
    assert told_of(RELEASED) == set()
    release = "@!%p1 mbarrier.arrive.shared::cta.b64 _,[%r2+4104];\n"
    waits = RELEASED[RELEASED.index("FREE:") : RELEASED.index("mbarrier.arrive.expect")]
    assert told_of(RELEASED.replace(release, "").replace(waits, ""))


# Each of two warpgroups stores a half, meets, and one of its threads starts a bulk store of it.
HALVES = (
    "shr.u32 %r9, %r1, 7;\nshl.b32 %r10, %r9, 11;\nadd.u32 %r11, %r2, %r10;\nadd.u32 %r13, %r9, 1;\n"
    "add.u32 %r5, %r2, %r4;\nand.b32 %r14, %r1, 127;\nsetp.ne.u32 %p1, %r14, 0;\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n"
    "fence.proxy.async.shared::cta;\n"
    "bar.sync %r13, 128; // stored\n"
    "@%p1 bra S;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {%r6, %r7}], [%r11];\n"
    "cp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group.read 0;\n"
    "S:\n"
    "bar.sync %r13, 128; // again\n"
    "st.shared.v4.b32 [%r5], {%a0,%a1,%a2,%a3};\n"
    "ret;\n}\n"
)


def test_several_warps_each_start_a_bulk_store_for_others() -> None:
    """The bytes of each reach to where the next one begins."""
    assert told(HALVES, threads=256) == set()
    for barrier in ("bar.sync %r13, 128; // stored\n", "bar.sync %r13, 128; // again\n"):
        assert told(HALVES.replace(barrier, ""), threads=256) == {MAYBE}
    every = PARTS.replace("@%p3 bra S;\n", "")
    assert every != PARTS and told(every) == set()  # each warp starts one of its own part
