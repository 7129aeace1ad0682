"""Addresses of shared memory, one for each thread, that are no multiples of what they must be.

A row of ldmatrix and stmatrix begins at a multiple of 16 bytes (9.7.14.5.15, 9.7.14.5.16). Every other access
begins at a multiple of its size (6.4.1). Rows of 72 or 40 bytes are the usual slip: a padding of 4 or 8 bytes.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[8192];
.visible .entry k(.param .u64 in, .param .u32 pitch)
.reqntid 64, 1, 1
{
.reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<8>;
ld.param.u64 %d1,[in]; ld.param.u32 %r9,[pitch]; mov.u32 %r1,%tid.x; mov.u32 %r2,tile; and.b32 %r3,%r1,31; mad.lo.u32 %r4,%r3,PITCH,%r2;
setp.eq.u32 %p0,%r1,0; @%p0 st.shared.b32 [%r2+4096],%r1; bar.sync 0; ld.shared.b32 %r10,[%r2+4096]; bar.sync 0;
BODY
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
ret;
}
"""
FOUR = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11,%r12,%r13,%r14},[%r4];"
TWO = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11,%r12},[%r4];"
STORED = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4],{%r1,%r1,%r1,%r1};"
COPY = "cp.async.cg.shared.global [%r4],[%d1],16;"
COPY8 = "cp.async.ca.shared.global [%r4],[%d1],8;"
VECTOR = "ld.shared.v4.b32 {%r11,%r12,%r13,%r14},[%r4];"
WORD = "ld.shared.b32 %r11,[%r4];"


def loud(body: str, pitch: str) -> set[tuple[str, str]]:
    report = check_text(KERNEL.replace("PITCH", pitch).replace("BODY", body), "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}


ROW, OTHER = {("likely", "matrix-alignment")}, {("likely", "operand-multiple")}


@pytest.mark.parametrize(
    ("body", "pitch", "wrong"),
    [
        (FOUR, "80", set()),
        (FOUR, "72", ROW),
        (FOUR, "40", ROW),
        (TWO, "72", ROW),
        (STORED, "144", set()),
        (STORED, "136", ROW),
        (COPY, "80", set()),
        (COPY, "72", OTHER),
        (COPY8, "72", set()),
        (COPY8, "68", OTHER),
        (VECTOR, "80", set()),
        (VECTOR, "68", OTHER),
        (WORD, "68", set()),
        (WORD, "66", OTHER),
    ],
)
def test_each_thread_begins_at_a_multiple(body: str, pitch: str, wrong: set[tuple[str, str]]) -> None:
    assert loud(body, pitch) == wrong


def test_lanes_without_a_row_give_any_address() -> None:
    """The rows of .x2 are those of lanes 0 to 15 (on sm_80 and later)."""
    shifted = "setp.gt.u32 %p1,%r3,15; @%p1 add.u32 %r4,%r4,8;\n"
    assert not loud(shifted + TWO, "80")
    assert loud(shifted + FOUR, "80") == ROW


@pytest.mark.parametrize("body", [FOUR, COPY, VECTOR])
def test_a_pitch_that_the_host_gives_is_not_judged(body: str) -> None:
    assert not loud(body, "%r9")


def test_a_guarded_access_is_that_of_some_threads() -> None:
    even = "and.b32 %r15,%r1,1; setp.eq.u32 %p2,%r15,0;\n"
    assert not loud(even + "@%p2 " + VECTOR, "72")
    assert loud(even + "@!%p2 " + VECTOR, "72") == OTHER
