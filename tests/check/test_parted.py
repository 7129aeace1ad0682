"""A descriptor that differs by thread is an error also where its base is not known."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/operands/parted_terms.py",)

KERNEL = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 dA,.param .u64 dB)
.maxntid 256, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<32>; .reg .pred %p<4>; .reg .b32 %r<16>;
ld.param.u64 %d0,[dA]; ld.param.u64 %d1,[dB]; mov.u32 %r1,%tid.x;
BODY
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""


def rules(body: str, kernel: str = KERNEL) -> list[tuple[str, str]]:
    report = check_text(kernel.replace("BODY", body), "k.ptx")
    assert not report.faults
    return [(f.tier, f.rule) for f in report.findings if f.tier in ("error", "likely")]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cvt.u64.u32 %d2,%r1; add.u64 %d0,%d0,%d2;", "cvt.u64.u32 %d2,%r1; add.u64 %d3,%d0,%d2;"),
        (
            "shr.u32 %r2,%r1,5; cvt.u64.u32 %d2,%r2; add.u64 %d0,%d0,%d2;",
            "shr.u32 %r2,%r1,7; cvt.u64.u32 %d2,%r2; add.u64 %d0,%d0,%d2;",
        ),
        (
            "and.b32 %r2,%r1,1; cvt.u64.u32 %d2,%r2; xor.b64 %d0,%d0,%d2;",
            "and.b32 %r2,%r1,128; cvt.u64.u32 %d2,%r2; xor.b64 %d0,%d0,%d2;",
        ),
        (
            "mul.wide.u32 %d2,%r1,64; sub.u64 %d0,%d0,%d2;",
            "shfl.sync.idx.b32 %r2,%r1,0,31,-1; shr.u32 %r2,%r2,7; mul.wide.u32 %d2,%r2,64; sub.u64 %d0,%d0,%d2;",
        ),
    ],
)
def test_a_base_plus_the_thread(wrong: str, right: str) -> None:
    assert rules(wrong) == [("error", "descriptor-divergent")]
    assert rules(right) == []


def test_bits_that_a_base_may_hide_are_no_proof() -> None:
    """Or-ed to a base that may have all of these bits, the thread's number may change nothing."""
    assert rules("cvt.u64.u32 %d2,%r1; or.b64 %d0,%d0,%d2;") == []


def test_a_block_whose_shape_is_open_is_doubt() -> None:
    body = "cvt.u64.u32 %d2,%r1; add.u64 %d0,%d0,%d2;"
    assert rules(body, KERNEL.replace(".maxntid 256, 1, 1\n", "")) == [("likely", "descriptor-divergent")]


def test_a_definition_that_need_not_reach_is_no_proof() -> None:
    body = "cvt.u64.u32 %d2,%r1; setp.eq.u64 %p1,%d1,0; @%p1 add.u64 %d0,%d0,%d2;"
    assert rules(body) == []


CONSUMERS = (
    "shr.u32 %r2,%r1,7; shfl.sync.idx.b32 %r8,%r2,0,31,-1; setp.eq.u32 %p1,%r8,0; @%p1 ret;"
    "add.s32 %r3,%r1,-128; shr.s32 %r4,%r3,31; shr.u32 %r9,%r4,25; add.s32 %r5,%r3,%r9; shr.s32 %r10,%r5,7;"
    "mul.wide.s32 %d2,%r10,64; "
)


@pytest.mark.parametrize("base", ["ld.param.u64 %d4,[dA]; add.u64 %d0,%d4,%d2;", "mov.b64 %d0,%d2;"])
def test_only_threads_that_come_there_count(base: str) -> None:
    """FlashInfer's consumers divide %tid.x - 128 by 128, rounding to zero: -128 to -1 give -1 and 0."""
    assert rules(CONSUMERS + base) == []
    other = CONSUMERS.replace("%r8,0; @", "%r8,1; @")
    assert rules(other + base) == [("error", "descriptor-divergent")]
    negated = CONSUMERS.replace("%r8,0; @%p1", "%r8,1; @!%p1")
    assert rules(negated + base) == []
