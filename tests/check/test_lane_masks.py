"""Masks of lanes: the behaviour is undefined where the executing thread is not among the lanes that the mask of
bar.warp.sync, shfl.sync, vote.sync, match.sync, redux.sync or elect.sync names (9.7.13.2, and of each of the others).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.5
.target sm_90
.address_size 64
.func (.param .b32 r) of_thread(.param .b32 a)
{
.reg .b32 %r<4>; .reg .pred %p<2>;
ld.param.b32 %r1,[a]; setp.gt.u32 %p1,%r1,15; @%p1 exit; st.param.b32 [r],%r1; ret;
}
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
    return loud(KERNEL.replace("BODY", body).replace("BLOCK", block))


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


CALL = "{.param .b32 r; .param .b32 a; st.param.b32 [a],%r2; call (r),of_thread,(a); ld.param.b32 %r5,[r];}"
STATE = "mov.u32 %r5,0; @!%p1 bra X; mov.u32 %r5,1; X: setp.eq.u32 %p6,%r5,STATE;"
COUNT = """
mov.u32 %r6,0;
NEXT: setp.ge.u32 %p6,%r6,%r2; @%p6 bra FOUND; add.u32 %r6,%r6,1; bra NEXT;
FOUND: setp.lt.u32 %p7,%r6,16;
"""


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        # A table of jumps by a bit of the lane's number: each half comes to its own mask. One by a parameter.
        (
            "shr.u32 %r5,%r2,4; T: .branchtargets L0,L1; brx.idx %r5,T;"
            f"L0: bar.warp.sync {LOW}; bra DONE; L1: bar.warp.sync {HIGH};",
            False,
        ),
        (
            "and.b32 %r5,%r9,1; T: .branchtargets L0,L1; brx.idx %r5,T;"
            f"L0: bar.warp.sync {LOW}; bra DONE; L1: bar.warp.sync -1;",
            True,
        ),
        # What a call returns is each thread's own; and some threads may not come back.
        (f"{CALL} setp.gt.u32 %p6,%r5,15; @%p6 bra DONE; bar.warp.sync {LOW};", False),
        (f"{CALL} bar.warp.sync {LOW};", False),
        (f"bar.warp.sync {LOW}; bra X; X: {CALL}", True),
        # Each half writes a number of its own, which decides the way later; or a parameter decides.
        (f"{STATE.replace('STATE', '1')} @%p6 bra DONE; bar.warp.sync {LOW};", False),
        (f"{STATE.replace('%p1', '%p2').replace('STATE', '1')} @%p6 bra DONE; bar.warp.sync {LOW};", True),
        # Each lane counts as far as its number.
        (f"{COUNT} @!%p7 bra DONE; bar.warp.sync {LOW};", False),
        (f"{COUNT.replace('%r6,%r2', '%r6,%r9')} @!%p7 bra DONE; bar.warp.sync {LOW};", True),
        # The size of a block is known: nobody comes there.
        (f"mov.u32 %r5,%ntid.x; setp.eq.u32 %p6,%r5,64; @%p6 bra DONE; bar.warp.sync {LOW};", False),
        (f"mov.u32 %r5,%ntid.x; setp.eq.u32 %p6,%r5,32; @%p6 bra DONE; bar.warp.sync {LOW};", True),
        # Which lane is elected depends on the mask.
        (f"@!%p1 bra DONE; elect.sync _|%p6,{HIGH}; @%p6 bra DONE; bar.warp.sync 0xfffe0000;", False),
    ],
    ids=[
        "table by lane", "table by parameter", "returned", "not returned", "before a call", "state by lane",
        "state by parameter", "count by lane", "count by parameter", "no block", "this block", "elected",
    ],
)  # fmt: skip
def test_ways_that_lanes_may_take(body: str, wrong: bool) -> None:
    assert tiers(body) == ({("error", "warp-mask")} if wrong else set())


@pytest.mark.parametrize("block", [MOST, ""], ids=["at most", "any"])
def test_a_block_may_have_fewer_threads_than_a_warp(block: str) -> None:
    few = f"mov.u32 %r5,%ntid.x; setp.gt.u32 %p6,%r5,16; @%p6 bra DONE; bar.warp.sync {LOW};"
    assert tiers(few, block) == set()
    assert tiers(few.replace("%p6,%r5,16", "%p6,%r9,16"), block) == {("likely", "warp-mask")}
    head, _, rest = KERNEL.partition("mma.sync")
    text = (head + rest.partition(";")[2]).replace("BLOCK", block).replace("BODY", f"bar.warp.sync {LOW};")
    assert {one.rule for one in check_text(text, "k.ptx").findings} == set()  # 16 threads do right


@pytest.mark.parametrize("block", [MOST, ""], ids=["at most", "any"])
def test_the_last_warp_may_be_short(block: str) -> None:
    second = "setp.lt.u32 %p6,%r1,32; @%p6 bra DONE; bar.warp.sync MASK;"
    assert tiers(second.replace("MASK", LOW), block) == set()  # a block of 48 threads does right
    assert tiers(second.replace("MASK", HIGH), block) == {("likely", "warp-mask")}
    assert tiers(second.replace("MASK", LOW), EXACT) == {("error", "warp-mask")}


def test_a_device_function_is_called_by_threads_that_its_text_does_not_name() -> None:
    function = f".func half() {{ bar.warp.sync {LOW}; ret; }}\n"
    text = KERNEL.replace("BLOCK", EXACT).replace("BODY", "@%p1 bra DONE; call half;")
    report = check_text(text.replace(".visible", function + ".visible", 1), "k.ptx")
    assert not report.faults and not [one for one in report.findings if one.rule == "warp-mask"]
