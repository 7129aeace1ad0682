"""Work that the first block with assumed numbers passes by, and waits that threads may come to too late.

What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

from .test_phases import NEXT, RING, STAGE

KERNEL = """
.version 8.3
.target sm_90
.address_size 64
.shared .align 16 .b8 smem[4096];
.visible .entry k(.param .u64 in, .param .u64 list)
.reqntid 128, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<16>; .reg .b32 %r<64>;
ld.param.u64 %d1,[list]; mov.u32 %r1,%tid.x; mov.u32 %r9,%ctaid.x; mov.u32 %r2,smem;
shl.b32 %r3,%r1,2; add.u32 %r3,%r3,%r2; xor.b32 %r4,%r3,128;
BEFORE
st.shared.b32 [%r3],%r1;
SYNC
ld.shared.b32 %r5,[%r4];
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r5,%r5},{%r5},{%f0,%f1,%f2,%f3};
DONE: ret;
}
"""
WORD = "ld.global.b32 %r6,[%d1]; setp.eq.s32 %p1,%r6,-1; @%p1 bra DONE;"
MEET = "bar.sync 0;"
# Threads from 64 on leave whatever memory holds, and the others for some words; only 0 to 63 meet.
HALF = """
mul.wide.u32 %d2,%r1,4; add.u64 %d2,%d2,%d1; ld.global.b32 %r6,[%d2]; setp.eq.s32 %p1,%r6,-1;
setp.ge.u32 %p2,%r1,64; or.pred %p1,%p1,%p2; @%p1 bra DONE;
"""
# Both ways lead to work: which one is taken is not shown.
EITHER = "ld.global.b32 %r6,[%d1]; setp.eq.s32 %p1,%r6,-1; @%p1 bra OTHER; bar.sync 0; OTHER:"
# A flag in memory that other threads write is waited for.
FLAG = "POLL: ld.acquire.gpu.global.b32 %r6,[%d1]; setp.eq.s32 %p1,%r6,-1; @%p1 bra POLL;"
# An exchange that every block has, then one that the first blocks of the grid have not.
LATER = """
st.shared.b32 [%r3],%r1; bar.sync 0; ld.shared.b32 %r5,[%r4]; bar.sync 0;
shr.u32 %r7,%r9,2; setp.eq.u32 %p1,%r7,0; @%p1 bra DONE;
"""


def found(text: str) -> list[tuple[str, str]]:
    """The loud findings in a file: tier and rule."""
    findings = check_text(text, "k.ptx").findings
    return [(one.tier, one.rule) for one in findings if one.tier in (ERROR, LIKELY)]


@pytest.mark.parametrize("before", [WORD, LATER], ids=["a word in memory", "the place in the grid"])
def test_what_the_first_block_passes_by_is_judged(before: str) -> None:
    text = KERNEL.replace("BEFORE", before)
    assert found(text.replace("SYNC", "")) == [(LIKELY, "shared-unsynchronised")]
    assert found(text.replace("SYNC", MEET)) == []


def test_threads_that_surely_leave_do_not_work() -> None:
    apart = KERNEL.replace("BEFORE", HALF).replace("xor.b32 %r4,%r3,128", "xor.b32 %r4,%r3,256")
    assert found(apart.replace("SYNC", "")) == []  # they would have written what threads 0 to 63 read
    near = KERNEL.replace("BEFORE", HALF)
    assert found(near.replace("SYNC", "")) == [(LIKELY, "shared-unsynchronised")]
    assert found(near.replace("SYNC", "bar.sync 1,64;")) == []


def test_no_way_is_taken_that_memory_may_not_allow() -> None:
    assert found(KERNEL.replace("BEFORE", EITHER).replace("SYNC", "")) == []


def test_a_flag_that_is_waited_for_before_orders_nothing_later() -> None:
    """All threads pass it, whoever sets it: what they store and load behind it needs a barrier."""
    text = KERNEL.replace("BEFORE", FLAG)
    assert [rule for _, rule in found(text.replace("SYNC", ""))] == ["shared-unsynchronised"]
    assert found(text.replace("SYNC", MEET)) == []


# The producer waits at its end until both stages are free, as CUTLASS has it.
_FREE = """
xor.b32 %r14,%r12,1;
TAIL{0}: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24],%r14; @!%p3 bra TAIL{0};
"""
_AT = "@%p15 bra PL;\n"
_FILLS, _USES = RING.split(_AT)
TAIL = f"{STAGE}{_FREE.format(0)}{NEXT}{STAGE}{_FREE.format(1)}".replace("%p15", "%p14")
WITH_TAIL = f"{_FILLS}{_AT}{TAIL}{_USES.replace('%p15', '%p13')}"
# Threads 128 to 255 wait for free stages, of which only 128 fills them.
IN_STEP = (
    WITH_TAIL.replace(".reqntid 160", ".reqntid 256")
    .replace("setp.ne.u32 %p2,%r1,128;\n@%p2 bra DONE;\n", "setp.ne.u32 %p2,%r1,128;\n")
    .replace("mbarrier.arrive.expect_tx", "@%p2 bra PN;\nmbarrier.arrive.expect_tx")
    .replace("[%r41],[%d3],1024,[%r23];\n", "[%r41],[%d3],1024,[%r23];\nPN:\n")
)


def test_a_wait_at_the_end_is_for_the_phase_that_ends() -> None:
    assert found(WITH_TAIL) == []
    first, second = _FREE.format(0), _FREE.format(1)
    for tail in (first, second):
        flipped = WITH_TAIL.replace(tail, tail.replace("xor.b32 %r14,%r12,1", "mov.u32 %r14,%r12"))
        assert found(flipped) == [(LIKELY, "barrier-stuck")]


def test_warps_that_wait_for_nothing_of_their_own_keep_step() -> None:
    assert "@%p2 bra PN" in IN_STEP and "PN:" in IN_STEP
    assert found(IN_STEP) == []


# A parameter says which threads multiply; with 128 of them the ring is right.
COUNTED = (
    RING.replace(".param .u32 n)", ".param .u32 n, .param .u32 m)")
    .replace("ld.param.u32 %r0,[n];", "ld.param.u32 %r0,[n]; ld.param.u32 %r50,[m];")
    .replace("setp.lt.u32 %p1,%r1,128;", "setp.lt.u32 %p1,%r1,%r50;")
)
OTHERS = COUNTED.replace("setp.lt.u32 %p1", "sub.u32 %r51,160,%r50;\nsetp.lt.u32 %p1").replace(
    "%p1,%r1,%r50", "%p1,%r1,%r51"
)


@pytest.mark.parametrize("kernel", [COUNTED, OTHERS], ids=["those that multiply", "those that do not"])
def test_a_parameter_decides_which_threads_do_what(kernel: str) -> None:
    """With the assumed number all threads multiply, and nobody copies."""
    assert "%r50;" in kernel
    assert found(kernel) == []


def test_what_no_number_of_threads_brings_is_found() -> None:
    unmade = COUNTED.replace("mbarrier.init.shared::cta.b64 [%r30],1;\n", "")
    assert found(unmade) == [(LIKELY, "barrier-uninitialised")]
