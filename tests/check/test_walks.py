"""Walks of threads, against values typed by hand: bytes written, rounds of loops, barriers met."""

from __future__ import annotations

from typing import Any

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY
from ptxmma.check.walks.thread_walk import Walked, short_walks, walks
from ptxmma.check.walks.walk_plan import WalkPlan
from ptxmma.check.walks.walk_steps import WalkSteps

TID = "mov.u32 %r1, %tid.x;\nmov.u32 %r3, tile;\n"  # the tile lies at address 0
AT_TID = f"{TID}shl.b32 %r2, %r1, 2;\nadd.u32 %r4, %r3, %r2;\n"
COUNT = "ld.param.u32 %r9, [count];\nmov.u32 %r6, 0;\n"
NEXT = "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r9;\n@%p1 bra L;\n"
STORE = "st.shared.u32 [%r3], %r5;\n"
MMA = (
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd2, %rd3, 1, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
)
# Swizzled by 128 bytes; eight rows are 1024 bytes on. A begins at byte 512, B at 1024.
DESCRIPTORS = "mov.u64 %rd2, 0x4000004000000020;\nmov.u64 %rd3, 0x4000004000000040;\n"


def plan_of(kernel: Any, body: str, **more: str) -> WalkPlan:
    made = kernel(body + "ret;", **more)
    return WalkPlan(WalkSteps(made.module, made.code, made.flow))


def written(walk: Walked) -> list[tuple[int, int]]:
    """The bytes of every store and copy, in order."""
    kinds = ("store", "copy", "bulk")
    return [(region.low, region.high) for act in walk.acts if act.kind in kinds for region in act.regions]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # the first thread of each warpgroup, 4 bytes a thread
        (f"{AT_TID}st.shared.u32 [%r4+8], %r5;\n", {0: [(8, 12)], 128: [(520, 524)]}),
        (f"{AT_TID}st.shared.v2.u32 [%r4], {{%r5, %r5}};\n", {0: [(0, 8)], 128: [(512, 520)]}),
        # both do the same: one walk stands for them
        (f"{TID}{STORE}", {0: [(0, 4)]}),
        # only the second warpgroup stores
        (f"{TID}setp.lt.u32 %p1, %r1, 128;\n@%p1 bra END;\n{STORE}END: ", {0: [], 128: [(0, 4)]}),
        (f"{TID}setp.ge.u32 %p1, %r1, 128;\n@%p1 {STORE}", {0: [], 128: [(0, 4)]}),
        (f"{TID}setp.ge.u32 %p1, %r1, 128;\n@!%p1 {STORE}", {0: [(0, 4)], 128: []}),
        # the third source of setp is a negated predicate: the first warpgroup stores
        (
            f"{TID}setp.ge.u32 %p2, %r1, 128;\nsetp.ge.and.u32 %p1, %r1, 0, !%p2;\n@%p1 {STORE}",
            {0: [(0, 4)], 128: []},
        ),
        # a loop whose numbers are known
        (
            f"{TID}mov.u32 %r6, 0;\nL: shl.b32 %r2, %r6, 4;\nadd.u32 %r4, %r3, %r2;\n"
            "st.shared.v4.u32 [%r4], {%r5,%r5,%r5,%r5};\nadd.u32 %r6, %r6, 1;\n"
            "setp.lt.u32 %p1, %r6, 3;\n@%p1 bra L;\n",
            {0: [(0, 16), (16, 32), (32, 48)]},
        ),
        # what is loaded from memory is not known, and neither is what is written there
        (f"{TID}ld.global.u32 %r4, [%rd1];\nadd.u32 %r4, %r3, %r4;\nst.shared.u32 [%r4], %r5;\n", {0: []}),
        # a copy of 16 bytes, and one by cp.async.bulk, of which 16 bytes are counted
        (f"{TID}cp.async.ca.shared.global [%r3+32], [%rd1], 16;\n", {0: [(32, 48)]}),
        (
            f"{TID}cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%r3+256], [%rd1], 64, [%r3+8];\n",
            {0: [(256, 272)]},
        ),
        # a copy out of shared memory writes none of it
        (f"{TID}cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 64;\n", {0: []}),
        # the lowest lane is elected
        (f"{TID}elect.sync %r7|%p1, -1;\n@%p1 {STORE}", {0: [(0, 4)]}),
        (f"{TID}elect.sync %r7|%p1, -1;\n@!%p1 {STORE}", {0: []}),
    ],
)
def test_which_bytes_each_thread_writes(
    kernel: Any, body: str, expected: dict[int, list[tuple[int, int]]]
) -> None:
    assert {walk.thread: written(walk) for walk in walks(plan_of(kernel, body))} == expected


def test_the_first_thread_of_every_warp_walks_where_threads_arrive_at_mbarriers(kernel: Any) -> None:
    body = f"{AT_TID}mbarrier.arrive.shared::cta.b64 _, [%r3];\nst.shared.u32 [%r4], %r5;\n"
    found = walks(plan_of(kernel, body))
    assert {walk.thread: written(walk) for walk in found} == {
        32 * warp: [(128 * warp, 128 * warp + 4)] for warp in range(8)
    }


def test_acts_and_their_numbers(kernel: Any) -> None:
    body = (
        f"{TID}cp.async.commit_group;\ncp.async.wait_group 1;\ncp.async.wait_all;\nbar.sync 2;\n"
        "fence.proxy.async;\nmbarrier.arrive.shared::cta.b64 _, [%r3+16];\n"
        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3+8], 1;\n"
    )
    (walk,) = walks(plan_of(kernel, body))
    assert [(act.kind, act.barrier, act.n) for act in walk.acts] == [
        ("copy-commit", None, 0),
        ("copy-wait", None, 1),
        ("copy-wait", None, -1),
        ("meet", -3, 0),  # −1 less the number of the barrier
        ("proxy-fence", None, 0),
        ("arrive", 16, 0),
        ("await", 8, 1),
    ]


def test_a_product_reads_the_bytes_that_its_descriptors_say(kernel: Any) -> None:
    (walk,) = walks(plan_of(kernel, f"{DESCRIPTORS}{MMA}wgmma.wait_group.sync.aligned 2;\n"))
    assert [(act.kind, act.n) for act in walk.acts] == [("mma", 0), ("commit", 0), ("wait", 2)]
    # A: 64 rows, 8 lines of 128 bytes in each of 8 blocks of 1024; B: 8 rows, one block
    assert [(region.low, region.high) for region in walk.acts[0].regions] == [(512, 8704), (1024, 2048)]


WAIT_3 = "cp.async.wait_group 3;\n"
RING = "add.u32 %r3, %r3, 64;\nsetp.eq.u32 %p2, %r3, 320;\nselp.b32 %r3, 0, %r3, %p2;\n"


@pytest.mark.parametrize(
    ("body", "rounds"),
    [
        (f"{TID}{COUNT}L: {STORE}{NEXT}", 18),  # its end is the caller's: 17 rounds more than the first
        (f"{TID}mov.u32 %r9, 5;\nmov.u32 %r6, 0;\nL: {STORE}{NEXT}", 5),
        # after the first, which is certain, each round does the same, and no wait leaves more than 0, or 3, groups in flight
        (f"{TID}ld.global.u32 %r9, [%rd1];\nmov.u32 %r6, 0;\nL: {STORE}{NEXT}", 5),
        (f"{TID}ld.global.u32 %r9, [%rd1];\nmov.u32 %r6, 0;\nL: {STORE}{WAIT_3}{NEXT}", 8),
        # the stages of a ring of five come round again; without a ring, none does
        (f"{TID}ld.global.u32 %r9, [%rd1];\nmov.u32 %r6, 0;\nL: {STORE}{RING}{NEXT}", 12),
        (f"{TID}ld.global.u32 %r9, [%rd1];\nmov.u32 %r6, 0;\nL: {STORE}add.u32 %r3, %r3, 64;\n{NEXT}", 18),
    ],
)
def test_how_often_a_loop_is_walked(kernel: Any, body: str, rounds: int) -> None:
    walk = walks(plan_of(kernel, body))[0]
    assert sum(act.kind == "store" for act in walk.acts) == rounds
    assert {act.loops for act in walk.acts if act.kind == "store"} == {(1,)}


def test_a_loop_that_is_left_early_is_cut_and_a_short_walk_comes_to_its_end(kernel: Any) -> None:
    """Three rounds a unit of `count`: 24 with the least number of a long walk, 9 with that of a short one."""
    plan = plan_of(kernel, f"{DESCRIPTORS}{COUNT}mul.lo.u32 %r9, %r9, 3;\nL: {MMA}{NEXT}")
    (long,) = walks(plan)
    assert [act.kind for act in long.acts].count("mma") == 18
    assert long.acts[-1].kind == "cut"
    (short,) = short_walks(plan, [long])
    assert [act.kind for act in short.acts].count("mma") == 9
    assert "cut" not in {act.kind for act in short.acts}


def test_a_loop_that_multiplies_is_walked_to_its_end_where_one_of_the_numbers_leads_there(
    kernel: Any,
) -> None:
    plan = plan_of(kernel, f"{DESCRIPTORS}{COUNT}L: {MMA}{NEXT}")
    (long,) = walks(plan)
    assert [act.kind for act in long.acts].count("mma") == 8
    assert short_walks(plan, [long]) == []


def test_a_branch_that_is_not_known_leads_to_where_more_happens(kernel: Any) -> None:
    body = f"{TID}ld.global.u32 %r9, [%rd1];\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra END;\n{STORE}{STORE}END: "
    assert written(walks(plan_of(kernel, body))[0]) == [(0, 4), (0, 4)]


def test_a_walk_ends_although_a_loop_does_not(kernel: Any) -> None:
    (walk,) = walks(plan_of(kernel, f"{TID}L: {STORE}bra L;\n"))
    assert len(written(walk)) == 129  # the first round, and as many more as a walk may come back


def test_only_a_number_that_is_known_in_every_thread_is_used(kernel: Any) -> None:
    """Without .reqntid a block has 128 threads for the walk; all of a warpgroup do what its first thread does."""
    found = walks(plan_of(kernel, f"{AT_TID}st.shared.u32 [%r4], %r5;\n", threads=""))
    assert {walk.thread: written(walk) for walk in found} == {0: [(0, 4)]}


GUESSED = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{{
.shared .align 1024 .b8 tile[8192];
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .f32 %f<4>;
.reg .pred %p<4>;
ld.param.u64 %rd1, [out];
ld.global.u32 %r1, [%rd1];
setp.gt.s32 %p1, %r1, 3;
mov.u32 %r2, tile;
mov.u64 %rd2, 0x4000004000000020;
mov.u64 %rd3, 0x4000004000000040;
@!%p1 bra BEHIND;
{product}BEHIND:
@{sense}%p1 bra WAIT;
st.shared.u32 [%r2+4096], %r1;
st.shared.u32 [%r2+4100], %r1;
st.shared.u32 [%r2+4104], %r1;
bra COPY;
WAIT:
wgmma.wait_group.sync.aligned 0;
COPY:
cp.async.cg.shared.global [%r2+512], [%rd1], 16;
cp.async.wait_all;
ret;
}}
"""


@pytest.mark.parametrize(("sense", "told"), [("", []), ("!", ["shared-overwritten"])])
def test_a_walk_never_takes_both_sides_of_one_predicate(sense: str, told: list[str]) -> None:
    """The wait stands where the product does; or, one `!` away, only where it does not."""
    report = check_text(GUESSED.format(product=MMA, sense=sense), "k.ptx")
    loud = [finding for finding in report.findings if finding.tier in (ERROR, LIKELY)]
    assert sorted({finding.rule for finding in loud}) == told
