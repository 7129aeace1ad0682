"""Masks of lanes: the behaviour is undefined where the executing thread is not among the lanes that the mask of
bar.warp.sync, shfl.sync, vote.sync, match.sync, redux.sync or elect.sync names (9.7.13.2, and of each of the others).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u32 n)
BLOCK
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>; .reg .f32 %f<8>;
ld.param.u32 %r9,[n]; ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; and.b32 %r2,%r1,31; setp.gt.u32 %p1,%r2,15; setp.gt.u32 %p2,%r9,7;
ld.global.u32 %r8,[%d1]; setp.gt.u32 %p3,%r8,%r2;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
BODY
DONE: ret;
}
"""
LOW, HIGH = "0x0000ffff", "0xffff0000"
EXACT, MOST = ".reqntid 64, 1, 1", ".maxntid 64, 1, 1"
SOME = {
    "barrier": "bar.warp.sync MASK;",
    "shuffle": "shfl.sync.down.b32 %r5,%r1,8,31,MASK;",
    "vote": "vote.sync.ballot.b32 %r5,%p1,MASK;",
    "match": "match.any.sync.b32 %r5,%r1,MASK;",
    "redux": "redux.sync.add.s32 %r5,%r1,MASK;",
    "elect": "elect.sync _|%p5,MASK;",
}


def tiers(body: str, block: str = EXACT) -> set[tuple[str, str]]:
    report = check_text(KERNEL.replace("BODY", body).replace("BLOCK", block), "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("statement", SOME.values(), ids=SOME)
def test_a_thread_outside_its_mask(statement: str) -> None:
    low = statement.replace("MASK", LOW)
    assert tiers(low) == {("error", "warp-mask")}
    assert tiers(statement.replace("MASK", "-1")) == set()
    assert tiers(f"@%p1 bra DONE; {low}") == set()  # the other lanes go past it
    assert tiers(f"@!%p1 bra DONE; {low}") == {("error", "warp-mask")}
    assert tiers(f"@!%p1 {low}") == set() and tiers(f"@%p1 {low}") == {("error", "warp-mask")}


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        # Each half names itself.
        (f"selp.b32 %r4,{HIGH},{LOW},%p1; bar.warp.sync %r4;", False),
        (f"selp.b32 %r4,{LOW},{HIGH},%p1; bar.warp.sync %r4;", True),
        ("mov.u32 %r3,1; shl.b32 %r4,%r3,%r2; bar.warp.sync %r4;", False),
        ("mov.u32 %r3,2; shl.b32 %r4,%r3,%r2; bar.warp.sync %r4;", True),
        ("mov.b32 %r4,-1; bar.warp.sync %r4;", False),
        ("activemask.b32 %r4; bar.warp.sync %r4;", False),
        # What numbers in memory decide, nobody knows; a parameter is the same in all threads.
        (f"@%p3 bra DONE; bar.warp.sync {LOW};", False),
        (f"@%p2 bra DONE; bar.warp.sync {LOW};", True),
        (f"@%p3 bar.warp.sync {LOW};", False),
        ("ld.global.u32 %r4,[%d1+4]; bar.warp.sync %r4;", False),
    ],
    ids=[
        "halves", "halves exchanged", "own lane", "next lane", "all", "active", "unknown branch", "uniform branch",
        "unknown guard", "unknown mask",
    ],
)  # fmt: skip
def test_masks_in_registers_and_ways_past_them(body: str, wrong: bool) -> None:
    assert tiers(body) == ({("error", "warp-mask")} if wrong else set())


@pytest.mark.parametrize("block", [MOST, "", ".reqntid 8, 8, 1"], ids=["at most", "any", "plane"])
def test_the_shape_of_a_block_that_is_not_shown_makes_it_likely(block: str) -> None:
    assert tiers(f"bar.warp.sync {LOW};", block) == {("likely", "warp-mask")}
