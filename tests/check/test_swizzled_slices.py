"""A product reads a slice of a swizzled matrix, between the bytes of others: what is written there is no matter.

B has 8 rows of 128 bytes, swizzled, and each product takes 32 bytes of every row: granule c of row r lies at
granule c xor r. The first and the last bytes of a slice have most of the other slices between them. Verdicts are
written from the text of the swizzling modes (9.7.15.5.1) and of the rules for accesses (9.7.15.6.3, 9.7.15.7.1).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

_HEAD = """.version 8.7
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[2048];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>;
.reg .f32 %f<4>;
.reg .b64 %d<8>;
.reg .pred %p<4>;
ld.param.u64 %d0, [in];
ld.param.u32 %r9, [n];
mov.u32 %r0, %tid.x;
mov.u32 %r1, smem;
and.b32 %r2, %r0, 7; // the row
bfe.u32 %r3, %r0, 3, 1; // the granule of its slice
shl.b32 %r4, %r2, 7;
add.u32 %r4, %r4, %r1;
setp.lt.u32 %p0, %r0, 16;
shr.u32 %r5, %r1, 4;
cvt.u64.u32 %d1, %r5;
or.b64 %d1, %d1, 0x4000004000010000;
"""
_END = "wgmma.wait_group.sync.aligned 0;\nret;\n}\n"
_STORE = "st.shared.v4.b32 [%r7], {%r9,%r9,%r9,%r9};\n"
_COPY = "cp.async.cg.shared.global [%r7], [%d0], 16;\ncp.async.commit_group;\n"
_LANDED = "cp.async.wait_group 0;\n"
_FENCE = "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
_WAIT = "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n"


def _write(slice_: int, how: str = _STORE, swizzle: str = "xor.b32 %r6, %r6, %r2;\n") -> str:
    """Sixteen threads write a granule each of a slice."""
    first, *rest = how.splitlines(keepends=True)
    place = f"add.u32 %r6, %r3, {2 * slice_};\n{swizzle}shl.b32 %r6, %r6, 4;\nadd.u32 %r7, %r4, %r6;\n"
    return f"{place}@%p0 {first}{''.join(rest)}"


def _multiply(slice_: int) -> str:
    """A product of registers and a slice."""
    return (
        f"add.u64 %d2, %d1, {2 * slice_};\nwgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%f0,%f1,%f2,%f3}, {%r9,%r9,%r9,%r9}, %d2, 1, 1, 1, 0;\n"
        "wgmma.commit_group.sync.aligned;\n"
    )


def _loud(body: str) -> set[str]:
    report = check_text(_HEAD + body + _END, "k.ptx")
    assert report.error is None and not report.faults
    return {finding.rule for finding in report.findings if finding.tier in ("error", "likely")}


# 64 threads write all of the matrix, a row by eight of them: the first one a granule of the first slice.
_ROWS = (
    "setp.lt.u32 %p1, %r0, 64;\nshr.u32 %r8, %r0, 3;\nand.b32 %r6, %r0, 7;\nxor.b32 %r6, %r6, %r8;\n"
    "shl.b32 %r6, %r6, 4;\nshl.b32 %r8, %r8, 7;\nadd.u32 %r7, %r1, %r8;\nadd.u32 %r7, %r7, %r6;\n@%p1 "
    + _STORE
)
_FIRST = _write(0) + _FENCE + _multiply(0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(_FIRST + _write(1) + _FENCE + _multiply(1), set(), id="the-next-slice"),
        pytest.param(_FIRST + _write(3) + _FENCE + _multiply(3), set(), id="the-last-slice"),
        pytest.param(_FIRST + _write(0) + _FENCE + _multiply(0), {"shared-overwritten"}, id="the-same-slice"),
        pytest.param(_ROWS + _FENCE + _multiply(2) + _ROWS, {"shared-overwritten"}, id="whole-rows"),
        pytest.param(_ROWS + _FENCE + _multiply(2) + _WAIT + _ROWS, set(), id="whole-rows-later"),
        pytest.param(_FIRST + _WAIT + _write(0) + _FENCE + _multiply(0), set(), id="the-same-slice-later"),
        pytest.param(_FIRST + _write(1, _COPY) + _LANDED + _FENCE + _multiply(1), set(), id="copied"),
        pytest.param(
            _FIRST + _write(0, _COPY) + _LANDED + _FENCE + _multiply(0), {"shared-overwritten"}, id="same-copied"
        ),
        pytest.param(
            _write(1, _COPY) + _FIRST + _LANDED + _FENCE + _multiply(1), set(), id="a-copy-into-the-next-on-its-way"
        ),
        pytest.param(
            _write(0, _COPY) + _FENCE + _multiply(0) + _LANDED, {"copy-incomplete"}, id="a-copy-on-its-way"
        ),
    ],
)  # fmt: skip
def test_slices(body: str, expected: set[str]) -> None:
    assert _loud(body) >= expected and bool(_loud(body)) == bool(expected)
