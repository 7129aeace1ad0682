"""A vector of destinations may hold `_`, which takes an element and keeps nothing of it (9.7.9.3, 9.7.9.8).

One warp stores where the number says that is taken from a vector, and another one loads beside it, or there.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """.version 8.8
.target sm_100a
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u64 out)
.reqntid 64, 1, 1
{
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
.reg .pred %p<4>;
mov.u32 %r1, %tid.x;
ld.param.u64 %rd2, [out];
mov.b64 %rd1, 0x0000008000000040;
mov.b32 %r2, 64;
mov.b32 %r3, 128;
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 32;
mov.u32 %r8, tile;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r8+768];
@%p1 st.shared.v2.b32 [tile+512], {%r2, %r3};
bar.sync 0;
TAKEN
mov.u32 %r6, tile;
add.u32 %r6, %r6, %r5;
@%p1 st.shared.b32 [%r6], %r1;
@%p2 ld.shared.b32 %r7, [tile+PLACE];
@%p2 st.global.b32 [%rd2], %r7;
ret;
}
"""
TAKEN = {  # what is taken, and the number
    "the lower half of a word": ("mov.b64 {%r5, _}, %rd1;", 64),
    "the upper half of a word": ("mov.b64 {_, %r5}, %rd1;", 128),
    "both halves": ("mov.b64 {%r4, %r5}, %rd1;", 128),
    "the first of two words that are loaded": ("ld.shared.v2.b32 {%r5, _}, [tile+512];", 64),
    "the second of two words that are loaded": ("ld.shared.v2.b32 {_, %r5}, [tile+512];", 128),
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("beside", [False, True], ids=["there", "beside"])
def test_an_element_is_taken_by_its_place(name: str, beside: bool) -> None:
    taken, number = TAKEN[name]
    place = 192 - number if beside else number
    report = check_text(KERNEL.replace("TAKEN", taken).replace("PLACE", str(place)), "k.ptx")
    assert not report.faults
    found = [(one.tier, one.rule) for one in report.findings]
    assert found == ([] if beside else [("error", "shared-unsynchronised")])
